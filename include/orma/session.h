/* SPDX-License-Identifier: Apache-2.0
 * orma/session.h - being a consumer: configure, start, stop and read back one tracing session.
 *
 * A session is one connection to a service. Calls that need the service's answer wait for it, at
 * most timeout_ms of the options; in between, orma_session_poll_fd() and orma_session_dispatch()
 * serve event-driven programs.
 *
 * Threads:   a session belongs to the thread that created it.
 * Blocking:  as said at each function; never longer than the options' timeout_ms.
 * Callbacks: run inside calls of this header, on the caller's thread. They must not free the
 *            session, and calls that wait return -EBUSY in them.
 * In process: with caller_drives, use such sessions on the thread that dispatches; waits dispatch
 *            meanwhile.
 */
#ifndef ORMA_SESSION_H
#define ORMA_SESSION_H

#include <orma/api.h>
#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orma_session;

struct orma_session_options {
	size_t struct_size;
	const char *consumer_socket; /* NULL = $PERFETTO_CONSUMER_SOCK_NAME or the default */
	/* the service inside this process (orma_init() with ORMA_BACKEND_IN_PROCESS) */
	bool in_process;
	uint32_t timeout_ms; /* for each wait; 0 = 10 s */
	void *ctx;
	/*
	 * The session ended (duration over, stopped, or refused by the service); error is NULL or
	 * says why.
	 */
	void (*on_stopped)(void *ctx, const char *error);
	/* A serialized ObservableEvents message; see orma_session_observe(). */
	void (*on_events)(void *ctx, const void *events, size_t size);
};

/**
 * orma_session_new() - connect to a service as a consumer. Blocks until connected.
 *
 * Returns 0, -ECONNREFUSED or -ENOENT (no service there), -EPROTO (something else answers),
 * -ETIMEDOUT, -ENOTCONN (in_process without that backend), -EINVAL, -ENOMEM; `reterr` (may be NULL)
 * then says it in words.
 */
ORMA_API int orma_session_new(const struct orma_session_options *options, struct orma_session **ret,
			      struct orma_error *reterr);
/** Leaves; a session that still runs is ended by the service. NULL is fine. */
ORMA_API void orma_session_free(struct orma_session *session);

/**
 * orma_config_parse() - a TraceConfig in text form to its serialized form.
 * @name: what to call the text in errors, e.g. the file's name.
 * @ret_config: owned by the caller, to be freed with orma_config_free().
 *
 * Returns 0, -EBADMSG (`reterr` has line, column and the offending text), -ENOMEM.
 */
ORMA_API int orma_config_parse(const char *name, const char *text, size_t size, void **ret_config,
			       size_t *ret_size, struct orma_error *reterr);
ORMA_API void orma_config_free(void *config);

/**
 * orma_session_enable() - configure the session, and start it unless the config says
 * deferred_start.
 * @file_fd: output of a write_into_file config, -1 = none; borrowed.
 *
 * Does not wait: a refusal arrives through on_stopped, or from any later call as its error.
 * Returns 0, -EBUSY (enabled before), -EMSGSIZE (config too large for a frame), -ECONNRESET.
 */
ORMA_API int orma_session_enable(struct orma_session *session, const void *config, size_t size,
				 int file_fd);
/** Starts a deferred session; waits for the service's answer. */
ORMA_API int orma_session_start(struct orma_session *session, struct orma_error *reterr);
/**
 * Waits until every data source has started: 0, -ETIMEDOUT, -ESTALE (the session ended), -ENOTSUP
 * (old service).
 */
ORMA_API int orma_session_wait_started(struct orma_session *session, uint32_t timeout_ms);
/**
 * Asks all data sources for what they have: 0, -EIO (some did not answer in time), -ETIMEDOUT,
 * -ECONNRESET.
 */
ORMA_API int orma_session_flush(struct orma_session *session, uint32_t timeout_ms, uint64_t flags);
/** Asks the service to stop; on_stopped follows. Does not wait. */
ORMA_API int orma_session_stop(struct orma_session *session);
/**
 * Waits until the session has ended: 0, -ETIMEDOUT, -ECONNRESET, -EPROTO with the service's own
 * error in `reterr`.
 */
ORMA_API int orma_session_wait_stopped(struct orma_session *session, uint32_t timeout_ms,
				       struct orma_error *reterr);
ORMA_API bool orma_session_is_stopped(const struct orma_session *session);

/*
 * One whole packet, serialized TracePacket, valid during the call; a negative return ends the
 * reading and is passed on.
 */
typedef int orma_packet_fn(void *ctx, const void *packet, size_t size);
/**
 * Reads what is in the buffers now, to the end. 0, the callback's error, -ECONNRESET, -ETIMEDOUT,
 * -EMSGSIZE.
 */
ORMA_API int orma_session_read(struct orma_session *session, orma_packet_fn *fn, void *ctx);
/** The same into a descriptor as a trace file. */
ORMA_API int orma_session_read_into_fd(struct orma_session *session, int fd, uint64_t *ret_bytes);

/**
 * Serialized TraceStats, TracingServiceState, TracingServiceCapabilities; freed with
 * orma_config_free().
 */
ORMA_API int orma_session_get_stats(struct orma_session *session, void **ret_data,
				    size_t *ret_size);
ORMA_API int orma_session_query_state(struct orma_session *session, bool sessions_only,
				      void **ret_data, size_t *ret_size);
ORMA_API int orma_session_query_capabilities(struct orma_session *session, void **ret_data,
					     size_t *ret_size);
/**
 * Bit set of ObservableEvents.Type: 1 instances, 2 all data sources started, 4 clone trigger hit.
 */
ORMA_API int orma_session_observe(struct orma_session *session, uint32_t event_types);
/** Leaves a running session to itself under a key; the session object is then without one. */
ORMA_API int orma_session_detach(struct orma_session *session, const char *key);
/** Takes over a detached session. */
ORMA_API int orma_session_attach(struct orma_session *session, const char *key);

struct orma_session_clone_options {
	size_t struct_size;
	/* 0 = by name; UINT64_MAX = the running session with the highest bugreport_score. */
	uint64_t session_id;
	const char *unique_session_name;
	bool skips_trace_filter;
	bool is_for_bugreport;
	/* Takes the clone of a session that writes into a file; -1 = none. Borrowed. */
	int file_fd;
	/* The trigger that was the reason, for the trace, as a CLONE_TRIGGER_HIT event tells it;
	 * NULL = none. */
	const char *trigger_name;
	const char *trigger_producer_name;
	uint32_t trigger_producer_uid;
	uint64_t trigger_boot_time_ns;
	uint64_t trigger_delay_ms;
};

struct orma_session_clone_result {
	size_t struct_size;
	uint64_t uuid_msb, uuid_lsb; /* of the clone's trace */
	/* The whole trace is in file_fd already, and there is nothing to read. */
	bool was_write_into_file;
};

/**
 * orma_session_clone() - make this session, not enabled so far, a copy of another one, to be read.
 * @ret: its struct_size is set by the caller; may be NULL.
 *
 * The other session goes on. Waits for the service's answer, which comes after a flush. Returns 0,
 * -EBUSY (enabled before), -EINVAL, -ENOTSUP (old service), -EPROTO (refused; the service's own
 * text is in `reterr`), -ETIMEDOUT, -ECONNRESET.
 */
ORMA_API int orma_session_clone(struct orma_session *session,
				const struct orma_session_clone_options *options,
				struct orma_session_clone_result *ret, struct orma_error *reterr);

/**
 * Event-driven use: poll the descriptor for reading (it belongs to the session), then dispatch;
 * dispatch never blocks.
 */
ORMA_API int orma_session_poll_fd(struct orma_session *session);
ORMA_API int orma_session_dispatch(struct orma_session *session);

#ifdef __cplusplus
}
#endif
#endif
