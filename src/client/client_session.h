/* SPDX-License-Identifier: Apache-2.0
 * client_session.h - the consumer's half of one tracing session.
 *
 * A session, its loop included, belongs to the thread that created it. Invariants: is_stopped is set only
 * while is_enabled is; on_stopped has run exactly when it is set.
 */
#ifndef ORMA_CLIENT_SESSION_H
#define ORMA_CLIENT_SESSION_H

#include <orma/session.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/loop.h"
#include "ipc/ipc_client.h"

/* Positions in the table of method names. */
enum orma_client_session_method {
	ORMA_CLIENT_ENABLE_TRACING,
	ORMA_CLIENT_DISABLE_TRACING,
	ORMA_CLIENT_READ_BUFFERS,
	ORMA_CLIENT_FLUSH,
	ORMA_CLIENT_START_TRACING,
	ORMA_CLIENT_DETACH,
	ORMA_CLIENT_ATTACH,
	ORMA_CLIENT_GET_TRACE_STATS,
	ORMA_CLIENT_OBSERVE_EVENTS,
	ORMA_CLIENT_QUERY_SERVICE_STATE,
	ORMA_CLIENT_QUERY_CAPABILITIES,
	ORMA_CLIENT_CLONE_SESSION,
	ORMA_CLIENT_CHANGE_CONFIG,
	ORMA_CLIENT_FREE_BUFFERS,
};

struct orma_session {
	struct orma_session_options options;
	uint64_t timeout_ns;
	uint32_t fork_count; /* orma_client_fork_count when it was made */

	struct orma_loop *loop;
	struct orma_ipc_client *ipc;
	bool is_connected;
	int lost_error;     /* negative once the connection is gone */
	bool has_told_loss; /* on_error was called for the loss of the connection */

	bool is_enabled; /* an EnableTracing was sent and its session not detached */
	bool is_stopped;
	struct orma_error stop_error; /* why it ended; code 0 = normally */

	/* The start of its data sources. */
	bool are_sources_started;
	bool is_start_settled; /* they have started, or the session ended before */
	bool has_all_started;  /* the service says that it announces their start */
	uint32_t observed;     /* bits of ObservableEvents.Type that the service was asked for */
	uint32_t wished;       /* the caller's own choice among them */

	char enable_ctx, observe_ctx; /* their addresses tell outstanding calls apart */
	struct orma_list calls;       /* struct orma_client_call on the heap */
	uint32_t hold_count;          /* calls on hold */
	/* Set by any thread, which then wakes the loop; the wake's handler takes it. Relaxed: the wake
	 * orders the two. */
	_Atomic bool wants_stop;
};

/* session_wait.c: this is a child of the process that made the session: its descriptors are closed. */
bool orma_client_session_is_inherited(const struct orma_session *session);
/* session_wait.c: 0 when calls can be made; -ENOTCONN, -ECONNRESET, filling `reterr`. */
int orma_client_session_check(const struct orma_session *session, struct orma_error *reterr);
/* session_wait.c: runs the loop until *flag is set. 0, -ETIMEDOUT, -ECONNRESET, or -EBUSY (inside a
 * callback of the session). */
int orma_client_session_wait(struct orma_session *session, const bool *flag, uint64_t timeout_ns);

/* session_enable.c: sends EnableTracing. */
int orma_client_session_send_enable(struct orma_session *session, const struct orma_buf *args,
				    int file_fd);
/* session_enable.c: calls on_error, once for the loss of the connection. */
void orma_client_session_tell_error(struct orma_session *session, const struct orma_error *error);

/* ObservableEvents.TYPE_ALL_DATA_SOURCES_STARTED */
#define ORMA_CLIENT_ALL_STARTED ((uint32_t)ORMA_OBSERVE_ALL_STARTED)
/* session_events.c: asks the service for these events, bits of ObservableEvents.Type. 0, -ENOTSUP,
 * -ECONNRESET, -EMSGSIZE, -ENOMEM. */
int orma_client_session_observe(struct orma_session *session, uint32_t types);

/* local_consumer.c: a connected socket whose other end the in-process service serves as a consumer. */
int orma_client_local_consumer_open(int *ret_fd);

#endif
