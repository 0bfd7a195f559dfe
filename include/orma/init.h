/* SPDX-License-Identifier: Apache-2.0
 * orma/init.h - joining the tracing system as a producer: once per process.
 *
 * After orma_init() the library keeps a connection to the tracing daemon: it connects, retries
 * while there is none, and comes back when the daemon restarts. It does so on one background thread
 * of its own (all signals blocked), or, with caller_drives, on the thread that calls
 * orma_dispatch().
 *
 * Threads: every function is MT-safe unless it says otherwise. No function of the library is a
 *          cancellation point: a thread that pthread_cancel() meets inside of one comes out first.
 *          Threads may emit until their last destructor, the program until its last atexit()
 *          handler; main() may return while others emit.
 * dlclose: the module that contains this library (liborma.so, or one with liborma.a or orma.c inside)
 *          stays loaded once orma_init() was called. Modules that are linked with liborma.so share
 *          one client; one that has it inside has a client, a thread and a connection of its own. A
 *          module that is unloaded unregisters its data sources before.
 * fork:    the child of a fork is silent at once: it holds no connection, no memory and no lock of
 *          its parent, and packets that were open go nowhere. At its next event it becomes a
 *          producer of its own with a new thread and connection, the data sources and categories
 *          that its parent had registered, and the same options; that event itself is lost. In
 *          traces it is a process with a track of its own whose parent is named (process_tree).
 *          orma_init() in the silent child does the same at once, with other options if wanted, and
 *          returns 0. Handles of data sources stay valid; instances, sessions of the parent and, with
 *          caller_drives, orma_poll_fd() do not. Packets that are open in the child must be ended
 *          there. A callback of the library that forks must not return in the child. After vfork()
 *          and posix_spawn() there is nothing to do; _Fork() and bare clone() are not for programs
 *          that go on to trace.
 * descriptors: none that the library opens survives an exec, and none is 0, 1 or 2, not even in a
 *          program that has closed these: what it prints cannot end up in a connection.
 * stderr:  nothing is written there, unless ORMA_LOG=debug, info or warn is in the environment when
 *          orma_init() is called: then each message of orma/log.h of that level or above is a line
 *          "orma[PID]: LEVEL: ...". With info it says when there is a connection and why there is
 *          none, with debug also each attempt, which data sources are registered, and when
 *          instances start and stop. It is ignored in setuid and setgid programs and in those with
 *          capabilities of their file. No line is written by an event, and lines that stderr does
 *          not take at once are dropped.
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
	 * that was built with ORMA_WITHOUT_SERVICE has none, and none of the functions of
	 * orma/service.h: orma_init() and orma_session_new() then return -ENOTSUP. */
	ORMA_BACKEND_IN_PROCESS = 2,
	/* a service over a transport of the program's own: see orma/transport.h */
	ORMA_BACKEND_CUSTOM = 4,
};

/* What time track events have. ORMA_CLOCK=auto, tsc, boottime, monotonic or monotonic_raw in the
 * environment replaces ORMA_CLOCK_AUTO. */
enum orma_clock {
	/* CLOCK_BOOTTIME, read from the processor's counter where that is safe and faster */
	ORMA_CLOCK_AUTO = 0,
	ORMA_CLOCK_TSC = 1, /* the same; also where the kernel does not trust the counter */
	ORMA_CLOCK_BOOTTIME = 2,
	ORMA_CLOCK_MONOTONIC = 3,
	ORMA_CLOCK_MONOTONIC_RAW = 4,
};

struct orma_transport_ops; /* orma/transport.h */

struct orma_init_options {
	size_t struct_size;        /* sizeof(struct orma_init_options) */
	unsigned backends;         /* ORMA_BACKEND_... bits; 0 = ORMA_BACKEND_SYSTEM */
	const char *producer_name; /* NULL = the program's name */
	/* NULL = $PERFETTO_PRODUCER_SOCK_NAME, as it is now, or the default */
	const char *producer_socket;
	/* wished size of the shared memory; 0 = the service's default (256 KiB) */
	uint32_t shm_size_bytes;
	/* 4096 to 32768, a power of two; 0 = the service's default (4 KiB) */
	uint32_t page_size_bytes;
	bool caller_drives; /* no background thread: see orma_poll_fd() */
	/* the service shall not read unfinished chunks from the shared memory */
	bool disable_scraping;
	/* With ORMA_BACKEND_CUSTOM: copied; the context must live until orma_shutdown() returned. */
	const struct orma_transport_ops *transport;
	void *transport_ctx;
	enum orma_clock clock;
	/* Of track events, where the session's config does not say: enum orma_exhausted_policy, and how
	 * long to wait (orma/data_source.h). */
	uint32_t event_policy;
	uint32_t event_stall_timeout_ms; /* 0 = 30 s */
	/*
	 * Whose service gets what this program records. The library asks the kernel which user
	 * listens at the address. It trusts the program's own user, root, and a system user (999 at
	 * most) whose socket is below /run. It sends nothing to other users' services, and waits
	 * until another one listens.
	 * NULL: it also trusts the users that ORMA_TRUST_SERVICE lists (setuid programs ignore that
	 * variable), and every user at an address that producer_socket names, or that
	 * PERFETTO_PRODUCER_SOCK_NAME names to a program that is neither setuid nor root's.
	 * A list of user ids ("1000,1001", 32 at most): it trusts these too, and no address for its
	 * name. "any": it trusts every user, as Perfetto's own library does.
	 */
	const char *trusted_services;
};

/**
 * orma_init() - start being a producer.
 * @options: may be NULL; borrowed for this call.
 *
 * Returns 0 (also when no daemon is there yet, or the socket's address makes no sense: see
 * orma/log.h), -EALREADY (a second call: the first one's options stay), -EINVAL (struct_size,
 * unknown backends, clock or policy, page size, trusted_services, a transport that is missing or not
 * asked for),
 * -ENOTSUP (in-process, in a library without the service), -ENOMEM, -EAGAIN (no thread to be had).
 */
ORMA_API int orma_init(const struct orma_init_options *options);

/**
 * orma_shutdown() - hand over what was emitted, leave, and free everything.
 *
 * No other thread may be inside the library. Data sources and categories have to be registered anew
 * after another orma_init().
 */
ORMA_API void orma_shutdown(void);

/** True while a daemon, or a transport's service, is connected, or the in-process service runs. */
ORMA_API bool orma_is_connected(void);

/**
 * orma_sync() - wait until the service has seen everything that was registered so far.
 *
 * Returns 0, -ETIMEDOUT, -ENOTCONN (not initialised), -ENOMEM. Not from callbacks. With
 * caller_drives it dispatches meanwhile.
 */
ORMA_API int orma_sync(uint32_t timeout_ms);

struct orma_startup_options {
	size_t struct_size;
	/* A serialized TraceConfig: see orma_config_parse(). Only its data_sources count. */
	const void *config;
	size_t config_size;
	uint32_t timeout_ms; /* until a session has to have adopted it; 0 = 10 s */
};

/**
 * orma_startup_tracing() - record from now on, for a session that is still to come.
 * @options: borrowed for this call.
 *
 * Starts an instance of each data source of the config that is registered, as a session would;
 * events go into shared memory (orma_init_options.shm_size_bytes of it) and wait there. The first
 * session of the system's daemon that wants the same data source with the same config (by
 * upstream's rule: what services fill in does not count, and of track events only categories and
 * tags) adopts the instance, which goes on without another on_setup or on_start, and gets what
 * waits. What no session has adopted at the timeout is stopped, and what it recorded is gone; the
 * same if the daemon does not take memory of producers (over a network, or before v8). Such
 * instances drop events when the memory is full, whatever their policy.
 *
 * Best called after orma_init() and the registrations, before anything of interest happens.
 *
 * Returns the number of instances, -EINVAL, -ENOENT (no data source of the config is registered),
 * -EBUSY (the one before is waiting still), -ENOTSUP (no ORMA_BACKEND_SYSTEM), -ENOTCONN (not
 * initialised), -ENOMEM, or what a new file of memory failed with. Not from callbacks.
 */
ORMA_API int orma_startup_tracing(const struct orma_startup_options *options);

/**
 * orma_activate_triggers() - what sessions with a trigger_config wait for.
 * @names: borrowed for this call; 16 KiB together.
 * @ttl_ms: services that connect later, but within this time, are told as well; 0 = none.
 *
 * Told to every service that is connected, without waiting. Returns 0, -EINVAL (no name, an empty
 * one), -EMSGSIZE, -ENOMEM, -ENOTCONN (not initialised).
 */
ORMA_API int orma_activate_triggers(const char *const *names, size_t count, uint32_t ttl_ms);

/**
 * orma_poll_fd(), orma_dispatch() - with caller_drives: when the descriptor is readable, call
 * orma_dispatch().
 *
 * All callbacks of data sources then run inside orma_dispatch(). The descriptor belongs to the
 * library, and is -1 without caller_drives or orma_init(). orma_dispatch() never blocks; it returns
 * 0 or -ENOTCONN (not initialised, or no caller_drives). One thread dispatches at a time,
 * whichever; orma_sync(), orma_startup_tracing() and orma_shutdown() count as that.
 */
ORMA_API int orma_poll_fd(void);
ORMA_API int orma_dispatch(void);

/** The library's version, "MAJOR.MINOR.PATCH". */
ORMA_API const char *orma_version(void);

#ifdef __cplusplus
}
#endif
#endif
