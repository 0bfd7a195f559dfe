/* SPDX-License-Identifier: Apache-2.0
 * trace_output.h - where a recorder writes its trace: a file, a pipe or a device.
 */
#ifndef ORMA_TOOL_TRACE_OUTPUT_H
#define ORMA_TOOL_TRACE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"
#include "tool/record/old_file.h"
#include "tool/record/trace_counter.h"
#include "tool/trace/file_write.h"

struct orma_session;

struct orma_trace_output {
	int fd;           /* owned; -1 = none */
	const char *path; /* "-" = standard output; borrowed, or in moved_to */
	bool is_new;      /* made here: removed again when nothing is written */
	/* With a part: `fd` is a new file beside the one of `path`, which `old_fd` keeps from other recorders. */
	struct orma_old_file old;
	int old_fd; /* owned */
	/* Limits the wait for a descriptor that takes no data; the fd in it is not used. {0} = no
	 * limit. */
	struct orma_file_writer writer;
	/* The user at the terminal may be asked for another file when this one takes no more. */
	bool may_ask;

	off_t begin; /* where the trace begins in a regular file; -1 = not a regular file */
	struct orma_buf batch;
	size_t begun;           /* bytes of the first packet in `batch` that a pipe has taken */
	uint32_t hold_after_ms; /* how long a reader may pause before the rest is kept; 0 = 3 s */
	bool is_held;           /* all the rest is kept in `batch`, to be written at the end */
	uint64_t written_bytes; /* whole packets */
	int error;              /* why writing has ended (-errno); 0 = it has not */
	bool keeps_rest;        /* after the error the rest is kept in `batch`, not dropped */
	struct orma_tool_counter all, lost;
	uint64_t lost_bytes;
	char moved_to[PATH_MAX];
};

/* Also keeps other recorders from the file until all copies of the descriptor are closed, among them
 * the service's. Reports what is wrong. Returns the exit status. `path` is borrowed. */
int orma_trace_output_open(struct orma_trace_output *output, const char *path, bool no_clobber);
/* If there is an older file: the trace goes into a new file, which replaces it with the second function. Without the second one,
 * orma_trace_output_done() removes the new file. The second function returns the exit status. */
void orma_trace_output_keep_old(struct orma_trace_output *output);
int orma_trace_output_replace_old(struct orma_trace_output *output);
/* Removes an older trace, which is everything behind the position of the file: a service that got
 * the descriptor may have begun to write. A file that exists keeps its content until the service
 * has accepted the session. Does nothing to standard output. */
void orma_trace_output_empty(const struct orma_trace_output *output);
/*
 * Writes all packets of a session. A write error stops the writing but not the reading: the file
 * keeps the packets that fit, `error` is set, and the other packets are counted as lost, or kept
 * for orma_trace_output_rescue(). Returns 0, the error of reading, or -ETIMEDOUT when the
 * descriptor took no data for too long.
 */
int orma_trace_output_read(struct orma_trace_output *output, struct orma_session *session);
/* Asks on the terminal for another file until the whole trace is in one, or the user gives up. */
void orma_trace_output_rescue(struct orma_trace_output *output);
/* Writes what is in `batch`; sets `error`. */
void orma_trace_output_flush(struct orma_trace_output *output);
/* Counts what is in `batch` as lost. */
void orma_trace_output_drop(struct orma_trace_output *output);
/* Returns true for a regular file, false for a pipe or a device. */
bool orma_trace_output_is_file(const struct orma_trace_output *output);
/* The name for messages. */
const char *orma_trace_output_name(const struct orma_trace_output *output);
/* Prints on stderr how much is written and how much is lost, and of which data sources. Returns the
 * exit status. */
int orma_trace_output_tell_loss(struct orma_trace_output *output);
/* Removes the file when it was made here and is empty, and closes it. */
void orma_trace_output_done(struct orma_trace_output *output);

#endif
