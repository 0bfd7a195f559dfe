/* SPDX-License-Identifier: Apache-2.0
 * output.h - write_into_file: a session's packets go to a file; see output.c.
 */
#ifndef ORMA_SERVICE_OUTPUT_H
#define ORMA_SERVICE_OUTPUT_H

#include <orma/service.h>

#include "base/buf.h"
#include "base/map.h"
#include "service/service_limits.h"
#include "service/timer.h"

struct orma_service_session;

/* The file operations of the service, and memory for one step. */
struct orma_service_files {
	struct orma_service_file_ops ops;
	void *ctx;
	bool are_async; /* supplied by the embedder: completions come as events */
	struct iovec *iov;
	uint8_t (*preambles)[ORMA_SERVICE_PREAMBLE_BYTES];
};

/* The end of a file with max_file_count; see output_rotate.c. */
enum orma_service_cut {
	ORMA_SERVICE_CUT_NONE,
	ORMA_SERVICE_CUT_ASKED,     /* producers are to clear their state, then to flush */
	ORMA_SERVICE_CUT_ANSWERED,  /* the buffers are read once more, and packets
				      that were begun are completed */
	ORMA_SERVICE_CUT_TIMED_OUT, /* the answers or packets did not come in time */
};

struct orma_service_output {
	void *file; /* NULL = none, or closed */
	uint64_t written_bytes, max_bytes;
	uint32_t period_ms;
	bool is_synced;                        /* after each write */
	bool is_waiting;                       /* the file said -EAGAIN */
	bool is_draining;                      /* a write period is being read out */
	bool is_at_max;                        /* the maximum size is reached: no more is read */
	bool is_closing;                       /* close() was called, its event is awaited */
	bool is_sync_due;                      /* sync when the current drain is written */
	struct orma_buf refused;               /* data that the file has refused */
	struct orma_service_timer write_timer; /* the write period */
	struct orma_service_timer
		step_timer; /* the next step; while OPENING, the creation's timeout */
	/* See output_rotate.c. */
	const char *path;
	struct orma_buf carried; /* entries that found no room in the last file */
	size_t carried_at;       /* how much of them was written */
	uint32_t max_files;      /* 0 = the session ends at max_bytes */
	uint64_t reserve_bytes;  /* the cut of a file begins where only this much is left */
	uint64_t pass_bytes;     /* written, or held, in this pass over the buffers */
	uint64_t stored_bytes;   /* came into the session's buffers since the last drain began */
	struct orma_service_timer cut_timer;
	enum orma_service_cut cut;
	uint32_t cut_flush_count; /* flushes for cuts, not answered yet */
	uint64_t cut_bytes;       /* came into the session's buffers since the cut began */
	uint64_t cut_bytes_max;   /* how much of that may wait for the answer */
	/* See output_hold.c. */
	struct orma_map crossed; /* sequences that began a new state since the cut began */
	struct orma_buf held;    /* entries for the next file, until it begins */
	size_t held_at;          /* how much of them was read */
	bool is_held_readable;   /* the next file has begun */
};

/* Reads what the config says of the file; nothing is opened. */
int orma_service_output_init(struct orma_service_session *session, struct orma_error *reterr);
void orma_service_output_start(struct orma_service_session *session);
/* Writes what is left and closes; events->file_closed() reports the end. */
void orma_service_output_finish(struct orma_service_session *session);
/* The end of a file operation. May free the session. */
void orma_service_output_event(struct orma_service_session *session, int status);
/* The compressor has finished a block. May free the session. */
void orma_service_output_compressed(struct orma_service_session *session);
/* Writes the contents of the buffers soon, from a timer; may be called in the middle of a
 * commit. */
void orma_service_output_drain_soon(struct orma_service_session *session);
/* Bytes came into the session's buffers. */
void orma_service_output_stored(struct orma_service_session *session, size_t bytes);

#endif
