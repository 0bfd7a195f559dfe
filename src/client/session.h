/* SPDX-License-Identifier: Apache-2.0
 * session.h - what the files of the session object share.
 *
 * Threads: a session, its loop included, belongs to the thread that created it.
 */
#ifndef ORMA_CLIENT_SESSION_H
#define ORMA_CLIENT_SESSION_H

#include <orma/session.h>

#include "base/buf.h"
#include "base/loop.h"
#include "ipc/client.h"

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
};

struct orma_session {
	struct orma_session_options options;
	uint64_t timeout_ns;
	struct orma_loop *loop;
	struct orma_ipc_client *ipc;

	bool is_connected;
	int lost_error;  /* negative once the connection is gone */
	bool is_enabled; /* an EnableTracing was sent and its session not detached */
	bool is_stopped;
	bool are_sources_started;
	bool is_start_settled; /* they have, or the session ended before */
	bool has_all_started;  /* the service says that it tells so */
	uint32_t observed;     /* bits of ObservableEvents.Type that the service was asked for */
	uint32_t wished;       /* those that the caller wants to see */
	/* Why it ended: code 0 = as it should. */
	struct orma_error stop_error;
	char enable_ctx, observe_ctx; /* their addresses tell outstanding calls apart */
};

/* One call that somebody waits for; lives on the waiter's stack. */
struct orma_client_call {
	bool is_done;
	int error;
	/* Runs for each reply; a negative return ends the call with it. */
	int (*reply)(struct orma_client_call *call, const void *data_untrusted, size_t size);
	void *ctx;
	uint64_t replies; /* so far */
};

/* -ECONNRESET when the connection is gone, filling `reterr`. */
int orma_client_session_check(const struct orma_session *session, struct orma_error *reterr);
/* Turns the loop until *flag, the loss of the connection, or the deadline (-ETIMEDOUT). */
int orma_client_session_wait(struct orma_session *session, const bool *flag, uint64_t timeout_ns);
/*
 * Invokes a method and waits; each reply restarts the timeout. 0, -ETIMEDOUT, -ECONNRESET,
 * -EREMOTEIO (rejected), -ENOTSUP, -EMSGSIZE, -ENOMEM, or what call->reply returned.
 */
int orma_client_session_call(struct orma_session *session, enum orma_client_session_method method,
			     const struct orma_buf *args, uint64_t timeout_ns,
			     struct orma_client_call *call);

/* The same with a descriptor (borrowed, -1 = none). */
int orma_client_session_call_fd(struct orma_session *session,
				enum orma_client_session_method method, const struct orma_buf *args,
				int fd, uint64_t timeout_ns, struct orma_client_call *call);

/* ObservableEvents.TYPE_ALL_DATA_SOURCES_STARTED */
#define ORMA_CLIENT_ALL_STARTED 2u
/* Asks the service for these events, bits of ObservableEvents.Type. 0, -ENOTSUP, -ECONNRESET,
 * -EMSGSIZE, -ENOMEM. */
int orma_client_session_observe(struct orma_session *session, uint32_t types);

/* A connected socket whose other end the in-process service serves as a consumer. */
int orma_client_open_consumer(int *ret_fd);
/* With caller_drives, what a wait on the dispatching thread has to poll beside its own; -1 = none.
 */
int orma_client_driven_fd(void);

#endif
