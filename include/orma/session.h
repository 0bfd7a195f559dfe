/* SPDX-License-Identifier: Apache-2.0
 * orma/session.h - being a consumer: configure, start, stop and read back one tracing session.
 *
 * A session object is one connection to a service, a daemon's or the one of this process, and at
 * most one tracing session of it.
 *
 *	new -> enable -> (start) -> running -> stop or duration over -> stopped -> read -> free
 *	  \-> attach ------^   \-> detach
 *	  \-> clone -> read -> free
 *
 * Two forms: what needs the service's answer comes as a function that waits for it, and as one
 * with the suffix _async that returns at once and calls back when the answer is there. The callback
 * runs exactly once, unless the session is freed before.
 *
 * Blocking:  the functions without suffix wait as long as they say, else timeout_ms of the options
 *            at most (-ETIMEDOUT); nothing else here blocks. Long answers may take longer in all:
 *            each part of one starts the time anew.
 * Polled:    poll orma_session_poll_fd() for reading, then call orma_session_dispatch(): all
 *            callbacks run in there (or inside functions that wait).
 * Callbacks: run on the thread that dispatches or waits. They must not free the session, and
 *            functions that wait return -EBUSY in them; the _async ones are fine.
 * Threads:   one at a time, whichever: no locks inside. orma_session_request_stop() is the
 *            exception: any thread at any time.
 * In process: with caller_drives (orma/init.h), use such sessions on the thread that dispatches;
 *            waits dispatch meanwhile.
 * Ownership: arguments are borrowed for the call, except contexts, which are merely handed back.
 * fork:      a session is its creator's process's, and goes on there. In a child its functions
 *            return -ECONNRESET, and orma_session_free() does nothing.
 * Cancelling: no function here is a cancellation point of pthread_cancel().
 * Errors:    -EINVAL stands for NULL, or no number of anything, where there has to be something.
 *            Every function that talks to the service may also return -ECONNRESET (the connection
 *            is lost, now or before), -ENOTCONN (connects_later, and not connected yet), -ENOMEM,
 *            -EBUSY (inside a callback, or too many calls under way), -ENOTSUP (an old service does
 *            not know the call), and those that wait -ETIMEDOUT.
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

/* A data source of a producer began or ended to record for the session. */
struct orma_instance_event {
	size_t struct_size;
	const char *producer_name, *data_source_name;
	bool is_started;
};

/* A trigger that a CLONE_SNAPSHOT config waits for: whoever observes may clone the session. The
 * members go into orma_session_clone_options as they are. */
struct orma_trigger_event {
	size_t struct_size;
	uint64_t session_id;
	const char *trigger_name, *producer_name;
	uint32_t producer_uid;
	uint64_t boot_time_ns; /* CLOCK_BOOTTIME of the service's machine */
	uint64_t delay_ms;     /* that the config asked for; it has passed */
};

struct orma_session_options {
	size_t struct_size;          /* sizeof(struct orma_session_options) */
	const char *consumer_socket; /* NULL = $PERFETTO_CONSUMER_SOCK_NAME or the default */
	/* the service inside this process (orma_init() with ORMA_BACKEND_IN_PROCESS) */
	bool in_process;
	uint32_t timeout_ms; /* for each wait and each answer; 0 = 10 s */
	void *ctx;           /* first argument of the callbacks below; each may be NULL */
	/*
	 * The session ended (duration over, stopped, or refused by the service); error is NULL or
	 * says why. Once per enabled or attached session.
	 */
	void (*on_stopped)(void *ctx, const char *error);
	/* A serialized ObservableEvents message; see orma_session_observe(). */
	void (*on_events)(void *ctx, const void *events, size_t size);
	/* Every data source has started. Once per enabled session at most; services before 2021 do
	 * not say so. */
	void (*on_started)(void *ctx);
	/*
	 * The service refused the session (-EPROTO; before on_stopped), or the connection was lost
	 * (-ECONNRESET; before on_stopped when a session was running). Not for what a function or
	 * its callback reports.
	 */
	void (*on_error)(void *ctx, const struct orma_error *error);
	/* orma_session_new() does not wait; on_connected tells when the session can be used. */
	bool connects_later;
	/* With connects_later, once: error is NULL or says why there is no connection. */
	void (*on_connected)(void *ctx, const struct orma_error *error);
	/* What on_events is told, event by event, as structs; valid during the call. */
	void (*on_instance)(void *ctx, const struct orma_instance_event *event);
	void (*on_trigger)(void *ctx, const struct orma_trigger_event *event);
	/* Whose service the session talks to, as orma_init_options.trusted_services says; NULL:
	 * also at addresses that consumer_socket or PERFETTO_CONSUMER_SOCK_NAME names. */
	const char *trusted_services;
};

/**
 * orma_session_new() - connect to a service as a consumer.
 * @options: may be NULL: the daemon's default socket.
 * @ret: set on success only; owned by the caller, see orma_session_free().
 * @reterr: may be NULL; says the error in words.
 *
 * Waits until connected, unless connects_later is set. Returns 0, -ECONNREFUSED or -ENOENT (no
 * service there), -EACCES, -EPERM (a user that trusted_services does not cover runs it), -EPROTO
 * (something else answers), -ETIMEDOUT, -ENOTCONN (in_process without that backend), -ENOTSUP
 * (in_process, in a library without the service), -EINVAL (options; the address), -ENOMEM.
 */
ORMA_API int orma_session_new(const struct orma_session_options *options, struct orma_session **ret,
			      struct orma_error *reterr);
/**
 * orma_session_free() - leave; a session that still runs is ended by the service, and what is in
 * its buffers is gone. NULL is fine.
 */
ORMA_API void orma_session_free(struct orma_session *session);

/* --- the config ------------------------------------------------------------------------------- */

/**
 * orma_config_parse() - a TraceConfig in text form to its serialized form.
 * @name: what to call the text in errors, e.g. the file's name; NULL = "config".
 * @ret_config: owned by the caller, to be freed with orma_config_free().
 *
 * Returns 0, -EBADMSG (`reterr` has line, column and the offending text), -EINVAL, -ENOMEM.
 * Thread-safety: MT-safe.
 */
ORMA_API int orma_config_parse(const char *name, const char *text, size_t size, void **ret_config,
			       size_t *ret_size, struct orma_error *reterr);
/** orma_config_free() - frees what this header hands out as `void **`. NULL is fine. MT-safe. */
ORMA_API void orma_config_free(void *config);

/* --- one session's life ----------------------------------------------------------------------- */

/**
 * orma_session_enable() - configure the session, and start it unless the config says
 * deferred_start.
 * @config: a serialized TraceConfig.
 * @file_fd: output of a write_into_file config, -1 = none; duplicated.
 *
 * Does not wait: a refusal arrives through on_error and on_stopped, or from any later call as its
 * error. Returns 0, -EBUSY (enabled before), -EMSGSIZE (config too large for a frame, about 128
 * KiB).
 */
ORMA_API int orma_session_enable(struct orma_session *session, const void *config, size_t size,
				 int file_fd);
/**
 * orma_session_enable_text() - the same from a config in text form.
 * @name: NULL = "config"; as in orma_config_parse(), whose errors it may also return.
 */
ORMA_API int orma_session_enable_text(struct orma_session *session, const char *name,
				      const char *text, size_t size, int file_fd,
				      struct orma_error *reterr);
/**
 * orma_session_start() - start a session with deferred_start; waits for the service's answer.
 *
 * Returns 0, -EPROTO (the service refuses; `reterr` says why).
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
 * What can be changed are the producers that a data source admits (producer_name_filter and
 * producer_name_regex_filter); names can be added. Everything else in the config is ignored. Waits
 * until the service has seen it; the protocol has no way to say that it did not take it. Returns 0,
 * -ESTALE (not enabled, or ended), -EMSGSIZE.
 */
ORMA_API int orma_session_change_config(struct orma_session *session, const void *config,
					size_t size);
/**
 * orma_session_flush() - ask all data sources for what they have.
 * @timeout_ms: for the data sources; 0 = the service's default (5 s).
 * @flags: 0 = as a consumer's explicit flush; otherwise the protocol's flush flags.
 *
 * Waits for the service timeout_ms and then as for any answer. Returns 0, -EIO (some data source
 * did not answer in time, or nothing is enabled).
 */
ORMA_API int orma_session_flush(struct orma_session *session, uint32_t timeout_ms, uint64_t flags);
/**
 * orma_session_stop() - ask the service to stop; on_stopped follows. Does not wait.
 *
 * What a thread's last, unfinished chunk holds may be missing, of producers that are not scraped:
 * orma_session_flush() before it makes sure. A session that ends with its duration is flushed by
 * the service.
 */
ORMA_API int orma_session_stop(struct orma_session *session);
/**
 * orma_session_request_stop() - the same, from any thread and from signal handlers.
 *
 * It is done when the session is dispatched or waited for next; a wait that is under way, and a
 * poll of the session's descriptor, notice at once. Not while the session is being freed.
 */
ORMA_API void orma_session_request_stop(struct orma_session *session);
/**
 * orma_session_wait_stopped() - wait until the session has ended.
 *
 * Returns 0, -ETIMEDOUT (it goes on), -ESTALE (there is none), -EPROTO (it was refused; the
 * service's own words are in `reterr`).
 */
ORMA_API int orma_session_wait_stopped(struct orma_session *session, uint32_t timeout_ms,
				       struct orma_error *reterr);
/** orma_session_is_stopped() - whether an enabled session has ended. Asks nobody. */
ORMA_API bool orma_session_is_stopped(const struct orma_session *session);

/* --- reading ---------------------------------------------------------------------------------- */

/*
 * One whole packet, serialized TracePacket, valid during the call; a negative return ends the
 * reading and is passed on.
 */
typedef int orma_packet_fn(void *ctx, const void *packet, size_t size);
/**
 * orma_session_read() - read what is in the buffers now, to the end. What was read is gone.
 *
 * Returns 0, the callback's error, -ESTALE (nothing to read from: not enabled, or the session
 * writes into a file), -EMSGSIZE (a packet of more than 256 MiB), -EBADMSG.
 */
ORMA_API int orma_session_read(struct orma_session *session, orma_packet_fn *fn, void *ctx);
/**
 * orma_session_read_into_fd() - the same into a descriptor, as a trace file.
 * @ret_bytes: how many were written; may be NULL.
 *
 * Waits for the descriptor as write() does; one that is O_NONBLOCK may take nothing for timeout_ms
 * of the options. SIGPIPE is not raised. Returns what orma_session_read() returns, or the error of
 * write(). After an error of write() the packets that were not written are lost. A program that
 * wants to write them elsewhere reads them with orma_session_read().
 */
ORMA_API int orma_session_read_into_fd(struct orma_session *session, int fd, uint64_t *ret_bytes);
/** orma_session_free_buffers() - end the session and give its buffers back, unread. */
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
 * orma_session_read_state() - who is connected to the service, and what it has to do.
 * @sessions_only: leaves producers and data sources out.
 * @ret: owned by the caller, see orma_service_state_free().
 *
 * Returns 0, -ENOTSUP (services before 2020), -EBADMSG.
 */
ORMA_API int orma_session_read_state(struct orma_session *session, bool sessions_only,
				     struct orma_service_state **ret);
/**
 * orma_session_get_stats(), orma_session_query_state(), orma_session_query_capabilities() -
 * serialized TraceStats, TracingServiceState, TracingServiceCapabilities.
 * @ret_data: owned by the caller, freed with orma_config_free().
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
	ORMA_OBSERVE_CLONE_TRIGGER = 4, /* a trigger of a CLONE_SNAPSHOT config was hit */
};
/**
 * orma_session_observe() - choose the events that on_events, on_instance and on_trigger are told.
 * @event_types: ORMA_OBSERVE_... bits; 0 = none any more.
 *
 * Does not wait.
 */
ORMA_API int orma_session_observe(struct orma_session *session, uint32_t event_types);

/* --- leaving a session and taking one over ---------------------------------------------------- */

/**
 * orma_session_detach() - leave a running session to itself under a key; the object is then without
 * one. No on_stopped follows.
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
	/* Takes the clone of a session that writes into a file; 0 or -1 = none. Borrowed. */
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
 * @ret: its struct_size is set by the caller, and no more than that is filled; may be NULL.
 *
 * The other session goes on. Waits for the service's answer, which comes after a flush. Returns 0,
 * -EBUSY (enabled before), -EINVAL, -EPROTO (refused; the service's own text is in `reterr`).
 */
ORMA_API int orma_session_clone(struct orma_session *session,
				const struct orma_session_clone_options *options,
				struct orma_session_clone_result *ret, struct orma_error *reterr);

/* --- polled ----------------------------------------------------------------------------------- */

/**
 * orma_session_poll_fd() - the descriptor to poll for reading; it belongs to the session.
 * orma_session_dispatch() - do what is to be done; never blocks. 0 or -ECONNRESET.
 */
ORMA_API int orma_session_poll_fd(struct orma_session *session);
ORMA_API int orma_session_dispatch(struct orma_session *session);

/*
 * The end of an _async call: error is NULL on success, else what the waiting form would have
 * returned, with words; -ETIMEDOUT included. Valid during the call.
 */
typedef void orma_session_done_fn(void *ctx, const struct orma_error *error);
/* The same with a serialized message, which is valid during the call; NULL on errors. */
typedef void orma_session_data_fn(void *ctx, const struct orma_error *error, const void *data,
				  size_t size);
/* The same with how many bytes were written, in any case. */
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
 * The _async forms. Each returns 0, and then the callback runs once from orma_session_dispatch() or
 * a wait, or a negative errno value (those above that need no answer), and then it never runs. The
 * packet callback of a read runs in between, many times. The result of a clone has the library's
 * struct_size.
 */
ORMA_API int orma_session_start_async(struct orma_session *session, orma_session_done_fn *done,
				      void *ctx);
ORMA_API int orma_session_flush_async(struct orma_session *session, uint32_t timeout_ms,
				      uint64_t flags, orma_session_done_fn *done, void *ctx);
ORMA_API int orma_session_read_async(struct orma_session *session, orma_packet_fn *packet,
				     orma_session_done_fn *done, void *ctx);
/* The descriptor must stay open until the end. It may be a pipe, a socket, or whatever else takes
 * nothing for a while: dispatching does not wait for it, and nothing is lost. Meanwhile the session
 * receives no other answers either; a service of ours gives up on a session that has received
 * nothing for 10 s. The poll descriptor tells when it goes on. */
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
