/* SPDX-License-Identifier: Apache-2.0
 * recorder.h - one recording in progress, as the files record*.c share it.
 */
#ifndef ORMA_TOOL_RECORDER_H
#define ORMA_TOOL_RECORDER_H

#include "tool/record/last_resort.h"
#include "tool/record/record.h"
#include "tool/record/record_app.h"
#include "tool/record/record_categories.h"
#include "tool/record/record_progress.h"
#include "tool/record/record_targets.h"
#include "tool/record/snapshot.h"
#include "tool/record/trace_output.h"

struct orma_recorder {
	const struct orma_record_options *options;
	struct orma_embedded *embedded;
	struct orma_session *session;
	struct orma_trace_output output;
	int signal_fd;
	int parent_fd;         /* gets the status of ready_fd, for the waiting parent; -1 = none */
	unsigned signal_count; /* signals that ask for the end of the recording */
	bool has_signal, has_told_app;
	uint64_t signal_ns; /* when the last signal was counted */
	bool is_ending;     /* the last flush was asked for */
	struct orma_record_app app;
	struct orma_record_targets targets;
	uint64_t begin_ns, end_ns; /* begin and end of the recording; end 0 = not ended */
	struct orma_record_progress progress;
	bool is_ready;
	bool was_read_back;   /* the recorder wrote the trace itself, and counted it */
	ino_t old_inode;      /* the file at output_path before the session; 0 = none */
	int stop_error;       /* the result of asking for the stop */
	bool makes_snapshots; /* the service reports triggers that want a snapshot */
	struct orma_snapshots snapshots;
	struct orma_record_categories categories;
	struct orma_last_resort last_resort;
	char error[512]; /* why the service ended or refused the session */
	bool is_refused; /* the error is a refusal: the session never began */
	bool is_accepted;
};

/* Blocks the signals, and prepares the program to record. Called before any thread starts, so that
 * all of them have the signals blocked. Returns the exit status. */
int orma_recorder_block_signals(struct orma_recorder *recorder);
/* Reads and counts pending signals. */
void orma_recorder_count_signals(struct orma_recorder *recorder);
#define ORMA_RECORD_INTERRUPTED "interrupted before the recording began; nothing was recorded"

/* Connects to the daemon, to another recorder, or to a service of its own. Returns the exit status. */
int orma_recorder_connect(struct orma_recorder *recorder);
bool orma_recorder_is_clone(const struct orma_recorder *recorder);
/* Returns 0 when a session is detached under this key, -ENOENT when none is, or another error;
 * `reterr` is set when no service can be asked. */
int orma_recorder_find_detached(const char *key, struct orma_error *reterr);
/* Waits until the session has stopped. Returns 0, -EINTR after a second signal, which means not to
 * wait any longer, or the error of the session (-errno). */
int orma_recorder_wait(struct orma_recorder *recorder);
/* After -EINTR: stops the session without a flush, and waits for a file that the service writes. 0
 * or -errno. */
int orma_recorder_cut_short(struct orma_recorder *recorder);
/* Waits for the end of the recorded program, whose exit status the recorder passes on. */
void orma_recorder_await_app(struct orma_recorder *recorder);
/* For a recorder with a service of its own: waits while other recorders use it. A signal ends their
 * recordings, which they still write; one more signal ends the wait. */
void orma_recorder_await_others(struct orma_recorder *recorder);
/* Remembers the losses that the service counted before the session. */
void orma_recorder_note_losses(struct orma_recorder *recorder);
/* Reports what is in the trace, or what is wrong, when the recording has ended with `result`.
 * Returns the exit status. */
int orma_recorder_report(struct orma_recorder *recorder, int result, double seconds);

#endif
