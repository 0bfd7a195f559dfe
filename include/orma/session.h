/* SPDX-License-Identifier: Apache-2.0
 * orma/session.h - being a consumer: configure, start, stop and read back one tracing session.
 *
 * A session object is one connection to a service (a daemon, or the service of this process) with
 * at most one tracing session.
 *
 *	new -> enable -> (start) -> running -> stop or duration over -> stopped -> read -> free
 *	  \-> attach ------^   \-> detach
 *	  \-> clone -> read -> free
 *
 * A function that needs the service's answer comes in two forms. One waits for the answer. The
 * other has the suffix _async: it returns at once and calls back when the answer is there. The
 * callback runs exactly once, unless the session is freed before.
 *
 * Blocking:  a function without the suffix waits as long as its page says. If its page says nothing,
 *            it waits for options.timeout_ms and then returns -ETIMEDOUT. The timeout restarts with
 *            each part of an answer, so a long answer may take longer in total. Other functions do
 *            not block.
 * Polling:   poll orma_session_poll_fd() for reading, then call orma_session_dispatch(). Callbacks
 *            run inside it, or inside functions that wait.
 * Callbacks: run on the thread that dispatches or waits. They must not free the session. Functions
 *            that wait return -EBUSY in callbacks; _async functions are allowed.
 * Threads:   any thread may use a session, but only one at a time; there are no locks inside. The
 *            exception is orma_session_request_stop(), which any thread may call at any time.
 * In process: with caller_drives (orma/init.h), use such sessions on the thread that dispatches;
 *            functions that wait dispatch meanwhile.
 * Ownership: arguments are borrowed for the call, except contexts, which callbacks receive.
 * fork:      a session belongs to the process that created it, and continues there. In a child its
 *            functions return -ECONNRESET, and orma_session_free() does nothing.
 * Cancelling: no function here is a cancellation point of pthread_cancel().
 * Errors:    -EINVAL means NULL, or a count of 0, where a value is required. Every function that
 *            talks to the service may also return -ECONNRESET (the connection is lost), -ENOTCONN
 *            (connects_later, and not connected yet), -ENOMEM, -EBUSY (inside a callback, or too
 *            many calls under way), -ENOTSUP (an old service does not know the call), and, if it
 *            waits, -ETIMEDOUT.
 * Builds:    a library that was built with ORMA_PRODUCER_ONLY has none of these functions except
 *            orma_config_free(), nor those of orma/state.h and orma/stats.h.
 */
#ifndef ORMA_SESSION_H
#define ORMA_SESSION_H

#include <orma/api.h>
#include <orma/error.h>
#include <orma/state.h>
#include <orma/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orma_session;

/* --- connecting ------------------------------------------------------------------------------- */

/* A data source of a producer started or stopped recording for the session. */
struct orma_instance_event {
	size_t struct_size;
	const char *producer_name, *data_source_name;
	bool is_started;
};

/* A trigger of a CLONE_SNAPSHOT config was activated, so this consumer may clone the session. Pass
 * the members to orma_session_clone_options. */
struct orma_trigger_event {
	size_t struct_size;
	uint64_t session_id;
	const char *trigger_name, *producer_name;
	uint32_t producer_uid;
	uint64_t boot_time_ns; /* CLOCK_BOOTTIME of the service's machine */
	uint64_t delay_ms;     /* the delay in the config, which has passed */
};

struct orma_session_options {
	size_t struct_size;          /* sizeof(struct orma_session_options) */
	const char *consumer_socket; /* NULL = $PERFETTO_CONSUMER_SOCK_NAME or the default */
	/* the service inside this process (orma_init() with ORMA_BACKEND_IN_PROCESS) */
	bool in_process;
	uint32_t timeout_ms; /* for each wait and each answer; 0 = 10 s */
	void *ctx;           /* first argument of the callbacks below; each may be NULL */
	/*
	 * The session ended: its duration is over, it was stopped, or the service refused it. error
	 * is NULL or names the reason. Called once per enabled or attached session.
	 */
	void (*on_stopped)(void *ctx, const char *error);
	/* A serialized ObservableEvents message; see orma_session_observe(). */
	void (*on_events)(void *ctx, const void *events, size_t size);
	/* Every data source has started. Called at most once per enabled session; services before
	 * 2021 do not report it. */
	void (*on_started)(void *ctx);
	/*
	 * The service refused the session (-EPROTO; before on_stopped), or the connection was lost
	 * (-ECONNRESET; before on_stopped if a session was running). Errors that a function returns
	 * or its callback receives are not reported here.
	 */
	void (*on_error)(void *ctx, const struct orma_error *error);
	/* orma_session_new() does not wait; on_connected runs when the session can be used. */
	bool connects_later;
	/* Called once if connects_later is set. `error` is NULL, or says why there is no
	 * connection. */
	void (*on_connected)(void *ctx, const struct orma_error *error);
	/* The events of on_events as structs, one by one; valid during the call. */
	void (*on_instance)(void *ctx, const struct orma_instance_event *event);
	void (*on_trigger)(void *ctx, const struct orma_trigger_event *event);
	/* The users whose services the session may connect to, as in
	 * orma_init_options.trusted_services; with NULL, also the user of a service at the address
	 * in consumer_socket or PERFETTO_CONSUMER_SOCK_NAME. */
	const char *trusted_services;
};

/**
 * orma_session_new() - connect to a service as a consumer.
 * @options: may be NULL: the daemon's default socket.
 * @ret: set on success only; owned by the caller, see orma_session_free().
 * @reterr: may be NULL; describes the error in words.
 *
 * Waits until connected, unless connects_later is set. Returns 0, -ECONNREFUSED or -ENOENT (no
 * service there), -EACCES, -EPERM (trusted_services does not cover the user who runs it), -EPROTO
 * (the peer does not speak the protocol), -ETIMEDOUT, -ENOTCONN (in_process without that backend),
 * -ENOTSUP (in_process, in a library without the service), -EINVAL (options; the address), -ENOMEM.
 */
ORMA_API int orma_session_new(const struct orma_session_options *options, struct orma_session **ret,
			      struct orma_error *reterr);
/**
 * orma_session_free() - disconnect and free. If the session still runs, the service ends it and
 * discards its buffers. NULL is fine.
 */
ORMA_API void orma_session_free(struct orma_session *session);

/* --- the config ------------------------------------------------------------------------------- */

/**
 * orma_config_parse() - convert a TraceConfig from text form to its serialized form.
 * @name: the name of the text in errors, for example the file's name; NULL = "config".
 * @ret_config: owned by the caller; free it with orma_config_free().
 *
 * Returns 0, -EBADMSG (`reterr` has line, column and the offending text), -EINVAL, -ENOMEM.
 * Thread-safety: MT-safe.
 */
ORMA_API int orma_config_parse(const char *name, const char *text, size_t size, void **ret_config,
			       size_t *ret_size, struct orma_error *reterr);
/** orma_config_free() - free data that this header returns as `void **`. NULL is fine. MT-safe. */
ORMA_API void orma_config_free(void *config);

/* --- one session's life ----------------------------------------------------------------------- */

/**
 * orma_session_enable() - configure the session, and start it unless the config says
 * deferred_start.
 * @config: a serialized TraceConfig.
 * @file_fd: output of a write_into_file config, -1 = none; duplicated.
 *
 * Does not wait. If the service refuses the config, on_error and on_stopped run, and later calls
 * return the error. Returns 0, -EBUSY (enabled before), -EMSGSIZE (the config exceeds a frame,
 * about 128 KiB).
 */
ORMA_API int orma_session_enable(struct orma_session *session, const void *config, size_t size,
				 int file_fd);
/**
 * orma_session_enable_text() - the same with a config in text form.
 * @name: NULL = "config"; as in orma_config_parse(), whose errors it may also return.
 */
ORMA_API int orma_session_enable_text(struct orma_session *session, const char *name,
				      const char *text, size_t size, int file_fd,
				      struct orma_error *reterr);
/**
 * orma_session_start() - start a session with deferred_start; waits for the service's answer.
 *
 * Returns 0, -EPROTO (the service refuses; `reterr` has its reason).
 */
ORMA_API int orma_session_start(struct orma_session *session, struct orma_error *reterr);
/**
 * orma_session_wait_started() - wait until every data source has started.
 *
 * Returns 0, -ETIMEDOUT, -ESTALE (the session ended, or there is none), -ENOTSUP (old service).
 */
ORMA_API int orma_session_wait_started(struct orma_session *session, uint32_t timeout_ms);
/**
 * orma_session_change_config() - change a session that was enabled.
 *
 * Only the producers that a data source admits can be changed (producer_name_filter and
 * producer_name_regex_filter), by adding names. Everything else in the config is ignored. Waits
 * until the service has received the config; the protocol cannot report a refusal. Returns 0,
 * -ESTALE (not enabled, or ended), -EMSGSIZE.
 */
ORMA_API int orma_session_change_config(struct orma_session *session, const void *config,
					size_t size);
/**
 * orma_session_flush() - ask all data sources to commit the data that they hold.
 * @timeout_ms: for the data sources; 0 = the service's default (5 s).
 * @flags: 0 = an explicit flush of a consumer; otherwise the protocol's flush flags.
 *
 * Waits timeout_ms in addition to the usual timeout of an answer. Returns 0, -EIO (some data source
 * did not answer in time, or nothing is enabled).
 */
ORMA_API int orma_session_flush(struct orma_session *session, uint32_t timeout_ms, uint64_t flags);
/**
 * orma_session_stop() - ask the service to stop; on_stopped follows. Does not wait.
 *
 * For producers that are not scraped, the content of each thread's last, unfinished chunk may be
 * missing from the trace unless orma_session_flush() is called before. When the duration of a
 * session is over, the service itself flushes.
 */
ORMA_API int orma_session_stop(struct orma_session *session);
/**
 * orma_session_request_stop() - the same, from any thread and from signal handlers.
 *
 * This function only notes the request; the next dispatch or wait sends it. If a thread waits in
 * this session or polls its descriptor, that thread wakes up. Do not call this function while the
 * session is being freed.
 */
ORMA_API void orma_session_request_stop(struct orma_session *session);
/**
 * orma_session_wait_stopped() - wait until the session has ended.
 *
 * Returns 0, -ETIMEDOUT (it still runs), -ESTALE (there is none), -EPROTO (the service refused it;
 * its reason is in `reterr`).
 */
ORMA_API int orma_session_wait_stopped(struct orma_session *session, uint32_t timeout_ms,
				       struct orma_error *reterr);
/** orma_session_is_stopped() - tell if an enabled session has ended, as far as the library knows.
 */
ORMA_API bool orma_session_is_stopped(const struct orma_session *session);

/* --- reading ---------------------------------------------------------------------------------- */

/*
 * Receives one whole packet, a serialized TracePacket, valid during the call. A negative return
 * value ends the reading and becomes its result.
 */
typedef int orma_packet_fn(void *ctx, const void *packet, size_t size);
/**
 * orma_session_read() - read and remove everything that is in the buffers now.
 *
 * Returns 0, the callback's error, -ESTALE (not enabled, or the session writes into a file),
 * -EMSGSIZE (a packet of more than 256 MiB), -EBADMSG.
 */
ORMA_API int orma_session_read(struct orma_session *session, orma_packet_fn *fn, void *ctx);
/**
 * orma_session_read_into_fd() - the same into a descriptor, as a trace file.
 * @ret_bytes: the number of bytes written; may be NULL.
 *
 * Waits for the descriptor as write() does; if it is O_NONBLOCK, waits at most timeout_ms of the
 * options for it to take more. Never raises SIGPIPE. Returns what orma_session_read() returns, or
 * the error of write(). After an error of write() the packets that were not written are lost. A
 * program that wants to write them elsewhere reads them with orma_session_read().
 */
ORMA_API int orma_session_read_into_fd(struct orma_session *session, int fd, uint64_t *ret_bytes);
/** orma_session_free_buffers() - end the session and discard its buffers. */
ORMA_API int orma_session_free_buffers(struct orma_session *session);

/* --- asking ----------------------------------------------------------------------------------- */

/**
 * orma_session_read_stats() - sizes and losses of the session's buffers.
 * @ret: owned by the caller, see orma_trace_stats_free().
 *
 * Returns 0, -ESTALE (not enabled), -EBADMSG.
 */
ORMA_API int orma_session_read_stats(struct orma_session *session, struct orma_trace_stats **ret);
/**
 * orma_session_read_state() - read the service's producers, data sources and sessions.
 * @sessions_only: leave producers and data sources out.
 * @ret: owned by the caller, see orma_service_state_free().
 *
 * Returns 0, -ENOTSUP (services before 2020), -EBADMSG.
 */
ORMA_API int orma_session_read_state(struct orma_session *session, bool sessions_only,
				     struct orma_service_state **ret);
/**
 * orma_session_get_stats(), orma_session_query_state(), orma_session_query_capabilities() -
 * serialized TraceStats, TracingServiceState, TracingServiceCapabilities.
 * @ret_data: owned by the caller; free it with orma_config_free().
 *
 * Returns 0, -ESTALE (stats: not enabled), -EMSGSIZE.
 */
ORMA_API int orma_session_get_stats(struct orma_session *session, void **ret_data,
				    size_t *ret_size);
ORMA_API int orma_session_query_state(struct orma_session *session, bool sessions_only,
				      void **ret_data, size_t *ret_size);
ORMA_API int orma_session_query_capabilities(struct orma_session *session, void **ret_data,
					     size_t *ret_size);

/* Bits of ObservableEvents.Type. */
enum {
	ORMA_OBSERVE_INSTANCES = 1,     /* each data source instance that starts or stops */
	ORMA_OBSERVE_ALL_STARTED = 2,   /* all data sources have started */
	ORMA_OBSERVE_CLONE_TRIGGER = 4, /* a trigger of a CLONE_SNAPSHOT config was activated */
};
/**
 * orma_session_observe() - choose the events that on_events, on_instance and on_trigger receive.
 * @event_types: ORMA_OBSERVE_... bits; 0 = none.
 *
 * Does not wait.
 */
ORMA_API int orma_session_observe(struct orma_session *session, uint32_t event_types);

/* --- leaving a session and taking one over ---------------------------------------------------- */

/**
 * orma_session_detach() - let a running session continue without this object, which has no session
 * afterwards. The key identifies the session for orma_session_attach(). on_stopped does not run.
 *
 * Returns 0, -ESTALE (not enabled, or ended), -EEXIST (the service refuses: the key is in use),
 * -EINVAL (no key).
 */
ORMA_API int orma_session_detach(struct orma_session *session, const char *key);
/**
 * orma_session_attach() - take over a detached session of the same user.
 *
 * Returns 0, -EBUSY (enabled before), -ENOENT, -EINVAL (no key).
 */
ORMA_API int orma_session_attach(struct orma_session *session, const char *key);

struct orma_session_clone_options {
	size_t struct_size;
	/* 0 = by name; UINT64_MAX = the running session with the highest bugreport_score. */
	uint64_t session_id;
	const char *unique_session_name;
	bool skips_trace_filter;
	bool is_for_bugreport;
	/* The file for the clone if the session writes into a file; 0 or -1 = none. Borrowed. */
	int file_fd;
	/* The trigger that is the reason for the clone, copied from a CLONE_TRIGGER_HIT event into
	 * the trace; NULL = none. */
	const char *trigger_name;
	const char *trigger_producer_name;
	uint32_t trigger_producer_uid;
	uint64_t trigger_boot_time_ns;
	uint64_t trigger_delay_ms;
};

struct orma_session_clone_result {
	size_t struct_size;
	uint64_t uuid_msb, uuid_lsb; /* uuid of the clone's trace */
	/* The whole trace is in file_fd already, so there is nothing to read. */
	bool was_write_into_file;
};

/**
 * orma_session_clone() - make this session, which must not be enabled, a readable copy of another.
 * @ret: the caller sets struct_size, and only that many bytes are filled; may be NULL.
 *
 * The other session continues. Waits for the service's answer, which comes after a flush.
 *
 * Returns 0, -EBUSY (enabled before), -EINVAL, -EPROTO (the service refuses; `reterr` has its
 * reason).
 */
ORMA_API int orma_session_clone(struct orma_session *session,
				const struct orma_session_clone_options *options,
				struct orma_session_clone_result *ret, struct orma_error *reterr);

/* --- polled ----------------------------------------------------------------------------------- */

/**
 * orma_session_poll_fd() - the descriptor to poll for reading; it belongs to the session.
 * orma_session_dispatch() - process what has arrived. Never blocks. Returns 0 or -ECONNRESET.
 */
ORMA_API int orma_session_poll_fd(struct orma_session *session);
ORMA_API int orma_session_dispatch(struct orma_session *session);

/*
 * Called at the end of an _async call. error is NULL on success, otherwise it has the code that the
 * waiting form would have returned (-ETIMEDOUT too) and a text. Valid during the call.
 */
typedef void orma_session_done_fn(void *ctx, const struct orma_error *error);
/* The same with a serialized message, which is valid during the call; NULL on errors. */
typedef void orma_session_data_fn(void *ctx, const struct orma_error *error, const void *data,
				  size_t size);
/* The same with the number of bytes that were written, also on errors. */
typedef void orma_session_file_fn(void *ctx, const struct orma_error *error, uint64_t bytes);
typedef void orma_session_clone_fn(void *ctx, const struct orma_error *error,
				   const struct orma_session_clone_result *result);

enum orma_session_query {
	ORMA_SESSION_QUERY_STATS = 1,        /* TraceStats */
	ORMA_SESSION_QUERY_STATE = 2,        /* TracingServiceState */
	ORMA_SESSION_QUERY_SESSIONS = 3,     /* the same, with sessions_only */
	ORMA_SESSION_QUERY_CAPABILITIES = 4, /* TracingServiceCapabilities */
};

/**
 * The _async forms. If the function returns 0, the callback runs once, inside
 * orma_session_dispatch() or a wait. If it returns a negative errno value (one of those above that
 * need no answer), the callback never runs. The packet callback of a read runs many times in
 * between. The result of a clone has the library's struct_size.
 */
ORMA_API int orma_session_start_async(struct orma_session *session, orma_session_done_fn *done,
				      void *ctx);
ORMA_API int orma_session_flush_async(struct orma_session *session, uint32_t timeout_ms,
				      uint64_t flags, orma_session_done_fn *done, void *ctx);
ORMA_API int orma_session_read_async(struct orma_session *session, orma_packet_fn *packet,
				     orma_session_done_fn *done, void *ctx);
/* The descriptor must stay open until the callback runs. It may be a pipe, a socket, or anything
 * else that takes nothing for a while: dispatching does not wait for it, and no data is lost.
 * Meanwhile the session receives no other answers either, and orma's daemon disconnects a session
 * that has received nothing for 10 s. The poll descriptor becomes readable when writing can
 * continue. */
ORMA_API int orma_session_read_into_fd_async(struct orma_session *session, int fd,
					     orma_session_file_fn *done, void *ctx);
ORMA_API int orma_session_query_async(struct orma_session *session, enum orma_session_query what,
				      orma_session_data_fn *done, void *ctx);
ORMA_API int orma_session_clone_async(struct orma_session *session,
				      const struct orma_session_clone_options *options,
				      orma_session_clone_fn *done, void *ctx);
ORMA_API int orma_session_change_config_async(struct orma_session *session, const void *config,
					      size_t size, orma_session_done_fn *done, void *ctx);
ORMA_API int orma_session_free_buffers_async(struct orma_session *session,
					     orma_session_done_fn *done, void *ctx);
ORMA_API int orma_session_detach_async(struct orma_session *session, const char *key,
				       orma_session_done_fn *done, void *ctx);
ORMA_API int orma_session_attach_async(struct orma_session *session, const char *key,
				       orma_session_done_fn *done, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
