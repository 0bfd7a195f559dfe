/* SPDX-License-Identifier: Apache-2.0
 * session.h - what the files of the session object share.
 *
 * Threads: a session, its loop included, belongs to the thread that created it.
 */
#ifndef ORMA_CLIENT_SESSION_H
#define ORMA_CLIENT_SESSION_H

#include <orma/session.h>

#include <stdatomic.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/loop.h"
#include "ipc/ipc_client.h"

#define ORMA_CLIENT_QUERY_ARG_BYTES 24

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
	struct orma_loop *loop;
	struct orma_ipc_client *ipc;

	uint32_t fork_count; /* orma_client_fork_count when it was made */
	bool is_connected;
	bool has_told_loss; /* to on_error */
	int lost_error;     /* negative once the connection is gone */
	bool is_enabled;    /* an EnableTracing was sent and its session not detached */
	bool is_stopped;
	bool are_sources_started;
	bool is_start_settled; /* they have, or the session ended before */
	bool has_all_started;  /* the service says that it tells so */
	uint32_t observed;     /* bits of ObservableEvents.Type that the service was asked for */
	uint32_t wished;       /* those that the caller wants to see */
	/* Why it ended: code 0 = as it should. */
	struct orma_error stop_error;
	uint32_t hold_count;          /* calls on hold */
	char enable_ctx, observe_ctx; /* their addresses tell outstanding calls apart */
	struct orma_list calls;       /* struct orma_client_call: those that nobody waits for */
	/* Any thread sets it, then wakes the loop, whose handler takes it; the wake orders the two.
	 */
	_Atomic bool wants_stop;
};

/* One call under way: on the stack of whoever waits, or on the heap when nobody does. */
struct orma_client_call {
	bool is_done;
	int error;
	/* Runs for each reply; a negative return ends the call with it. */
	int (*reply)(struct orma_client_call *call, const void *data_untrusted, size_t size);
	uint64_t replies; /* so far */

	bool is_on_hold;

	/* When nobody waits; NULL otherwise. `finish` runs once it is done, and frees it; `discard`
	 * only frees it. */
	void (*finish)(struct orma_client_call *call);
	void (*discard)(struct orma_client_call *call);
	struct orma_session *session;
	struct orma_list item; /* in session->calls */
	struct orma_timer timer;
	uint64_t timeout_ns;
};

/* This is a child of the process that made it: there are no descriptors any more. */
bool orma_client_session_is_inherited(const struct orma_session *session);
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

/*
 * Invokes a method, for which nobody waits: 0 hands the call over (see `finish`), otherwise it
 * stays the caller's. The timeout counts from reply to reply; its end finishes with -ETIMEDOUT.
 */
int orma_client_session_begin(struct orma_session *session, enum orma_client_session_method method,
			      const struct orma_buf *args, int fd, uint64_t timeout_ns,
			      struct orma_client_call *call);
/* Of a call that nobody waits for. On hold: nothing is received over the session's connection, and the
 * call's time stands still. */
void orma_client_call_hold(struct orma_client_call *call, bool is_on_hold);
/* Before its time, with an error. */
void orma_client_call_end(struct orma_client_call *call, int error);
/* Frees the calls that are under way. */
void orma_client_session_discard_calls(struct orma_session *session);

/* Sends EnableTracing. */
int orma_client_session_send_enable(struct orma_session *session, const struct orma_buf *args,
				    int file_fd);

/* What the waiting and the other form of a call share: its arguments, what its replies do, and what
 * its errors are called. */
struct orma_client_read {
	struct orma_client_call call;
	orma_packet_fn *fn;
	void *ctx;
	struct orma_buf partial; /* the packet under way */
};
void orma_client_read_init(struct orma_client_read *read, orma_packet_fn *fn, void *ctx);
int orma_client_read_error(int error, struct orma_error *reterr);

/* Packets into a trace file, in larger pieces. */
struct orma_client_file {
	int fd;
	int timeout_ms; /* for one that is O_NONBLOCK */
	uint64_t bytes; /* written so far */
	struct orma_buf batch;
	size_t written; /* of `batch` */
};

struct orma_client_query {
	struct orma_client_call call;
	enum orma_client_session_method method;
	uint32_t field_id; /* of the answer in each reply; parts are merged by appending */
	uint8_t arg_bytes[ORMA_CLIENT_QUERY_ARG_BYTES];
	struct orma_buf args; /* in arg_bytes */
	struct orma_buf answer;
};
/* -EINVAL: there is no such question. */
int orma_client_query_init(struct orma_client_query *query, enum orma_session_query what);
int orma_client_query_error(int error, struct orma_error *reterr);

struct orma_client_clone {
	struct orma_client_call call;
	struct orma_session_clone_result result;
	struct orma_error error; /* what the service says; code 0 = nothing */
};
/* Checks the options and encodes them. -EINVAL, -EBUSY, -ENOMEM; fills `reterr`. */
int orma_client_clone_init(const struct orma_session *session,
			   const struct orma_session_clone_options *options,
			   struct orma_client_clone *clone, struct orma_buf *args, int *ret_fd,
			   struct orma_error *reterr);
int orma_client_clone_error(const struct orma_client_clone *clone, int error,
			    struct orma_error *reterr);

/* ObservableEvents.TYPE_ALL_DATA_SOURCES_STARTED */
#define ORMA_CLIENT_ALL_STARTED ((uint32_t)ORMA_OBSERVE_ALL_STARTED)
/* Asks the service for these events, bits of ObservableEvents.Type. 0, -ENOTSUP, -ECONNRESET,
 * -EMSGSIZE, -ENOMEM. */
int orma_client_session_observe(struct orma_session *session, uint32_t types);

/* A connected socket whose other end the in-process service serves as a consumer. */
int orma_client_open_consumer(int *ret_fd);

#endif
