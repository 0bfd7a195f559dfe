/* SPDX-License-Identifier: Apache-2.0
 * top_session.h - the session that `orma top` reads: at the daemon, at another recorder, or at a service of its own.
 */
#ifndef ORMA_TOOL_TOP_SESSION_H
#define ORMA_TOOL_TOP_SESSION_H

#include <orma/session.h>

#include "tool/record/recorder.h"
#include "tool/top/top_decoder.h"
#include "tool/top/top_keep.h"

enum { ORMA_TOP_BUFFER_KB = 16384 };

struct orma_top_session {
	struct orma_record_options record_options;
	struct orma_recorder recorder; /* connects; its session is ours */
	struct orma_top_decoder *decoder;
	struct orma_top_keep *keep; /* NULL = nothing is kept */
	/* The service's last answers. */
	uint64_t buffer_bytes, waiting_bytes; /* the buffers' size, and what waited to be read */
	uint32_t producer_count;              /* that can be recorded */
	bool has_kernel;                      /* some producer offers ftrace */
	/* The round that runs: flush, ask, read. */
	bool is_busy, asks_state;
	uint64_t read_bytes; /* by the last round */
	int error;           /* why it ended */
};

/* Connects, or starts a service, and begins the session. `signal_fd` ends the attempts. Returns the exit status, after a
 * message. */
int orma_top_session_open(struct orma_top_session *session, struct orma_top_decoder *decoder,
			  struct orma_top_keep *keep, int signal_fd);
/* Ends the session and begins one for the decoder's rows. 0 or -errno. */
int orma_top_session_restart(struct orma_top_session *session);
/* Ends the session. If others use the service, waits for them, until a signal. */
void orma_top_session_close(struct orma_top_session *session);
int orma_top_session_fd(const struct orma_top_session *session);
/* Begins a round: data that programs hold is asked for and read. is_busy until it is done. 0 or -errno. */
int orma_top_session_begin_round(struct orma_top_session *session);
/* Processes what has arrived. 0, or -errno when the session has ended; the reason is in recorder.error. */
int orma_top_session_dispatch(struct orma_top_session *session);

#endif
