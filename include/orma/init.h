/* SPDX-License-Identifier: Apache-2.0
 * orma/init.h - connecting to the tracing system as a producer: once per process.
 *
 * After orma_init() the library keeps a connection to the tracing daemon: it connects, retries
 * while no daemon runs, and reconnects when the daemon restarts. It does so on one background
 * thread of its own (all signals blocked), or, with caller_drives, on the thread that calls
 * orma_dispatch().
 *
 * Threads: every function is MT-safe unless it says otherwise. No function of the library is a
 *          cancellation point: if pthread_cancel() hits a thread inside the library, the function
 *          completes first. A thread may emit until its last destructor has run, and the program
 *          until its last atexit() handler; main() may return while other threads emit.
 * dlclose: the module that contains this library (liborma.so, or a module with liborma.a or orma.c
 *          inside) stays loaded after orma_init(). Modules that are linked with liborma.so share
 *          one client. A module with its own copy has its own client, thread and connection. A
 *          module must unregister its data sources before it is unloaded.
 * fork:    the child of a fork emits nothing at first. It holds no connection, memory or lock of
 *          its parent, and packets that were open are discarded. At its next event it becomes a
 *          producer of its own, with a new thread and connection, its parent's data sources and
 *          categories, and the same options; that event itself is lost. In traces it is a process
 *          with its own track, and process_tree names its parent. orma_init() in the child
 *          does the same at once, with other options if you like, and returns 0. Handles of data
 *          sources stay valid. The parent's instances and sessions do not, nor, with
 *          caller_drives, does orma_poll_fd(). Packets that are open in the child must be ended
 *          there. If a callback of the library forks, it must not return in the child. vfork() and
 *          posix_spawn() need no care. Do not trace after _Fork() or a bare clone().
 * descriptors: descriptors of the library are closed by exec and are never 0, 1 or 2, even if the
 *          program has closed those. So output of the program cannot reach a connection. A program
 *          may close all descriptors while it traces, as daemons do. The library's thread connects
 *          anew within a second; events of that time are lost. A file that the program opens under
 *          a number of the library is neither written nor closed. With caller_drives or
 *          ORMA_BACKEND_IN_PROCESS, nothing is connected again.
 * stderr:  the library writes nothing there, unless ORMA_LOG is debug, info or warn in the
 *          environment when orma_init() is called. Then each message of orma/log.h of that level or
 *          above becomes a line "orma[PID]: LEVEL: ...". With info it logs when it is connected and
 *          why it is not; with debug also each attempt to connect, each data source that it
 *          registers, and when instances start and stop. The library ignores ORMA_LOG in a
 *          program that is setuid or setgid, or that gets capabilities from its file. Emitting
 *          an event never writes a line. A line that stderr does not take at once is dropped.
 */
#ifndef ORMA_INIT_H
#define ORMA_INIT_H

#include <orma/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum orma_backend {
	ORMA_BACKEND_SYSTEM = 1, /* the tracing daemon, through its producer socket */
	/* a tracing service inside this process, for orma_session_new() with in_process. A library
	 * that was built with ORMA_WITHOUT_SERVICE has neither this service nor the functions of
	 * orma/service.h; orma_init() and orma_session_new() then return -ENOTSUP. */
	ORMA_BACKEND_IN_PROCESS = 2,
	/* a service over the program's own transport: see orma/transport.h */
	ORMA_BACKEND_CUSTOM = 4,
};

/* The clock of track events. ORMA_CLOCK=auto, tsc, boottime, monotonic or monotonic_raw in the
 * environment replaces ORMA_CLOCK_AUTO. */
enum orma_clock {
	/* CLOCK_BOOTTIME, derived from the processor's cycle counter where that is safe and faster
	 */
	ORMA_CLOCK_AUTO = 0,
	/* the same, even if the kernel does not consider the counter reliable */
	ORMA_CLOCK_TSC = 1,
	ORMA_CLOCK_BOOTTIME = 2,
	ORMA_CLOCK_MONOTONIC = 3,
	ORMA_CLOCK_MONOTONIC_RAW = 4,
};

struct orma_transport_ops; /* orma/transport.h */

struct orma_init_options {
	size_t struct_size;        /* sizeof(struct orma_init_options) */
	unsigned backends;         /* ORMA_BACKEND_... bits; 0 = ORMA_BACKEND_SYSTEM */
	const char *producer_name; /* NULL = the program's name */
	/* NULL = the value of $PERFETTO_PRODUCER_SOCK_NAME at this call, or the default */
	const char *producer_socket;
	/* requested size of the shared memory; 0 = the service's default (256 KiB) */
	uint32_t shm_size_bytes;
	/* 4096 to 32768, a power of two; 0 = the service's default (4 KiB) */
	uint32_t page_size_bytes;
	bool caller_drives; /* no background thread: see orma_poll_fd() */
	/* forbids the service to read unfinished chunks from the shared memory */
	bool disable_scraping;
	/* Required by ORMA_BACKEND_CUSTOM; copied. The context must live until orma_shutdown() has
	 * returned. */
	const struct orma_transport_ops *transport;
	void *transport_ctx;
	enum orma_clock clock;
	/* The policy of track events when the session's config has none: enum
	 * orma_exhausted_policy, and the longest wait (orma/data_source.h). */
	uint32_t event_policy;
	uint32_t event_stall_timeout_ms; /* 0 = 30 s */
	/*
	 * The users whose services may receive what this program records. The library asks the
	 * kernel which user listens at the address. It trusts the program's own user, root, and a
	 * system user (id 999 at most) whose socket is below /run. It sends nothing to services of
	 * other users, and waits until another service listens.
	 * NULL: it also trusts the users that ORMA_TRUST_SERVICE lists (setuid programs ignore that
	 * variable). It trusts every user at the address in producer_socket, and at the address in
	 * PERFETTO_PRODUCER_SOCK_NAME unless the program is setuid or runs as root.
	 * A list of user ids ("1000,1001", at most 32): it trusts these in addition, and no user
	 * because of an address. "any": it trusts every user, as Perfetto's own library does.
	 */
	const char *trusted_services;
};

/**
 * orma_init() - make this process a producer.
 * @options: may be NULL; borrowed for this call.
 *
 * Returns 0 (also if no daemon runs yet, or if the socket's address is malformed, which is logged:
 * see orma/log.h), -EALREADY (a second call; the options of the first stay), -EINVAL (struct_size,
 * unknown backends, clock or policy, page size, trusted_services, a transport that is missing or
 * not asked for), -ENOTSUP (in-process, in a library without the service), -ENOMEM, -EAGAIN (no
 * thread could be created).
 */
ORMA_API int orma_init(const struct orma_init_options *options);

/**
 * orma_shutdown() - commit what was emitted, disconnect, and free everything.
 *
 * No other thread may be inside the library. Data sources and categories must be registered again
 * after another orma_init().
 */
ORMA_API void orma_shutdown(void);

/** True while a daemon or a transport's service is connected, or the in-process service runs. */
ORMA_API bool orma_is_connected(void);

/**
 * orma_sync() - wait until the service knows everything that was registered so far.
 *
 * Returns 0, -ETIMEDOUT, -ENOTCONN (not initialised, or the program has closed the library's
 * descriptors), -ENOMEM. Do not call it from callbacks. With caller_drives it dispatches while it
 * waits.
 */
ORMA_API int orma_sync(uint32_t timeout_ms);

struct orma_startup_options {
	size_t struct_size;
	/* A serialized TraceConfig: see orma_config_parse(). Only its data_sources are used. */
	const void *config;
	size_t config_size;
	uint32_t timeout_ms; /* how long to wait for a session that adopts it; 0 = 10 s */
};

/**
 * orma_startup_tracing() - record from now on, for a session that begins later.
 * @options: borrowed for this call.
 *
 * Starts an instance of each registered data source that the config names, as a session would.
 * Events wait in shared memory (of orma_init_options.shm_size_bytes). The first session of the
 * system's daemon that wants the same data source with the same config adopts the instance and
 * receives the waiting events; on_setup and on_start are not called again. Configs are compared by
 * upstream's rule: fields that services fill in are ignored, and of track events only categories
 * and tags are compared. An instance that no session adopts before the timeout is stopped, and its
 * events are discarded. The same happens if the daemon does not accept memory from producers (over
 * a network, or before v8). Such instances drop events when the memory is full, whatever their
 * policy.
 *
 * Call it after orma_init() and the registrations, before anything of interest happens.
 *
 * Returns the number of instances, -EINVAL, -ENOENT (no data source of the config is registered),
 * -EBUSY (an earlier one is still waiting), -ENOTSUP (no ORMA_BACKEND_SYSTEM), -ENOTCONN (not
 * initialised), -ENOMEM, or the error of creating a memory file. Do not call it from callbacks.
 */
ORMA_API int orma_startup_tracing(const struct orma_startup_options *options);

/**
 * orma_activate_triggers() - activate triggers, for which sessions with a trigger_config wait.
 * @names: borrowed for this call; at most 16 KiB in total.
 * @ttl_ms: services that connect within this time also receive the triggers; 0 = none.
 *
 * Sends the triggers to every connected service, without waiting. Returns 0, -EINVAL (no name, or
 * an empty one), -EMSGSIZE, -ENOMEM, -ENOTCONN (not initialised).
 */
ORMA_API int orma_activate_triggers(const char *const *names, size_t count, uint32_t ttl_ms);

/**
 * orma_poll_fd(), orma_dispatch() - with caller_drives: when the descriptor is readable, call
 * orma_dispatch().
 *
 * All callbacks of data sources then run inside orma_dispatch(). The descriptor belongs to the
 * library. It is -1 without caller_drives or before orma_init(). orma_dispatch() never blocks; it
 * returns 0 or -ENOTCONN (not initialised, no caller_drives, or the program has closed the
 * descriptors). Any thread may dispatch, but only
 * one at a time; orma_sync(), orma_startup_tracing() and orma_shutdown() dispatch too.
 */
ORMA_API int orma_poll_fd(void);
ORMA_API int orma_dispatch(void);

/** The library's version, "MAJOR.MINOR.PATCH". */
ORMA_API const char *orma_version(void);

#ifdef __cplusplus
}
#endif
#endif
