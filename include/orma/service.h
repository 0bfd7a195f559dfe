/* SPDX-License-Identifier: Apache-2.0
 * orma/service.h - the tracing service without a transport, for embedders: `orma traced` binds it
 * to sockets, the in-process backend of the library to itself, a test to a fake clock.
 *
 * The service meets each producer and each consumer as a *port*: functions that the peer's side
 * calls, and a struct of callbacks that the service calls. Configurations, descriptors and events
 * cross as serialized protobuf messages. The embedder decides how these travel; it binds ports to
 * its connections, and says who is at the other end (uid, pid): that word is what rights rest on.
 *
 *	producer's side                     | the service
 *	orma/transport.h, or by hand  --->  | orma_producer_port_...()
 *	                              <---  | struct orma_producer_callbacks
 *	a consumer                    --->  | orma_consumer_port_...()
 *	                              <---  | struct orma_consumer_callbacks
 *
 * examples/own_transport.c is such an embedder.
 *
 * Threads:   a service and all its ports are used by one thread at a time. Nothing here blocks, but
 *            without file_ops of its own the service writes to files.
 * Callbacks: run inside calls of the functions below; they must not call back into the service or
 *            any port (defer that). Each may be NULL.
 * Time:      the service never sleeps. After any call, orma_service_next_deadline_ns() says when
 *            orma_service_run() wants to be called; to be early is harmless, to be late makes
 *            timeouts longer.
 * Memory:    arguments are borrowed for the call, option and callback structs included. Structs
 *            that begin with struct_size may be shorter (of an older program: the rest is 0) or
 *            longer (of a newer one: the rest has to be 0, else -EINVAL).
 * Trust:     of what peers send nothing is believed: bytes of messages, commits and memory may be
 *            passed on as they came. uid, pid, is_unverified and cannot_pass_fds are the embedder's
 *            word and are believed.
 * Errors:    negative errno values; see each function. Every function that takes a message may
 *            return -EBADMSG (it does not decode) and -ENOMEM. -EINVAL also stands for NULL where
 *            there has to be something; functions that return void then do nothing.
 * Builds:    a library that was built with ORMA_WITHOUT_SERVICE has none of these functions.
 */
#ifndef ORMA_SERVICE_H
#define ORMA_SERVICE_H

#include <orma/api.h>
#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orma_service;
struct orma_producer_port;
struct orma_relay_port;
struct orma_consumer_port;

/* --- the service ------------------------------------------------------------------------------ */

/* The file that a consumer other than root and the service's own user names in output_path. */
struct orma_file_request {
	size_t struct_size;
	const char *path;
	uint32_t count;      /* as in create() */
	uint64_t session_id; /* as in create() */
	uid_t uid;           /* the consumer's */
};

/*
 * Output files of write_into_file sessions. With NULL ops the service writes synchronously.
 * `file` is what open() returned; `session_id` is handed back in orma_service_file_event().
 */
struct orma_service_file_ops {
	size_t struct_size;
	/* Takes over `fd`, also on failure. */
	int (*open)(void *ctx, int fd, uint64_t session_id, void **ret_file);
	/* Copies or writes all of it and returns 0; -EAGAIN = queue full, nothing taken, an event
	 * follows; other errors end the session. */
	int (*write)(void *ctx, void *file, const struct iovec *iov, int iov_count);
	/* Makes what was written durable when asked, then closes; an event follows when done. */
	void (*close)(void *ctx, void *file, bool sync);
	/* Makes what was written durable (TraceConfig.fflush_post_write); may be NULL. */
	void (*sync)(void *ctx, void *file);
	/* Appends the first `size` bytes that were or will be written to `source`, another open
	 * file, in order with the writes. A failure comes as an event or as the result. May be
	 * NULL: sessions that write into files cannot be cloned. */
	int (*copy)(void *ctx, void *file, void *source, uint64_t size);
	/* Goes on in a new file called `path`, after what was written so far: what has that name is
	 * called path.1 then, path.1 becomes path.2 and so on; only `count` files are kept. Files
	 * that were not made so are left alone: -EEXIST. A failure comes as an event or as the
	 * result. May be NULL: configs with max_file_count are refused. */
	int (*rotate)(void *ctx, void *file, const char *path, uint32_t count);
	/* Creates the file of TraceConfig.output_path, which must not exist, and path.1 up to
	 * path.(count - 1) neither (count is 0 without max_file_count), somewhere else than on the
	 * service's thread. An embedder that recognises files of an earlier session with the same
	 * output_path and a max_file_count may put them aside as rotate() does. An event follows:
	 * it is created, or a negative errno: -ENOTUNIQ = one of those with numbers exists, -EBUSY =
	 * another session writes into `path`. close() may come before it, and is to remove what is
	 * created then; as without `sync` it always removes a file that nothing was written to. May
	 * be NULL: the service creates files itself, which takes as long as their file system
	 * takes. */
	int (*create)(void *ctx, const char *path, uint32_t count, uint64_t session_id,
		      void **ret_file);
	/* The same for a consumer other than root and the service's own user. The file is created
	 * with rights that this consumer does not have, so this function decides where that is
	 * allowed: -EACCES = nowhere; `reterr` may say more. rotate() gets the same path. May be
	 * NULL: nowhere. */
	int (*create_for_other)(void *ctx, const struct orma_file_request *request, void **ret_file,
				struct orma_error *reterr);
};

/* Where a part of a text begins and ends; begin is SIZE_MAX when it took no part in the match. */
struct orma_regex_group {
	size_t begin, end;
};

/*
 * The regular expressions of configs: producer_name_regex_filter, triggers, string rules of
 * filters. With NULL ops the service takes POSIX extended ones.
 */
struct orma_regex_ops {
	size_t struct_size;
	/* The number of capturing groups (*ret is set), -EINVAL (`reterr` says why), -ENOMEM.
	 * is_whole: only whole texts match. */
	int (*compile)(void *ctx, const char *pattern, size_t size, bool is_whole, void **ret,
		       struct orma_error *reterr);
	/* Looks for the first match in text[offset..size), of which text[0..offset) is the past.
	 * 1 = groups[0] is the match, and the following ones its capturing groups (group_max may be
	 * 0); 0 = there is none; -EOVERFLOW = about `step_limit` steps were not enough to tell;
	 * -EMSGSIZE = not a text for this engine (too long, a NUL); -ENOMEM. */
	int (*match)(void *regex, const char *text, size_t size, size_t offset, uint32_t step_limit,
		     struct orma_regex_group *groups, size_t group_max);
	void (*free)(void *regex);
};

/* By their numbers in TraceConfig.compression. */
enum orma_codec {
	ORMA_CODEC_DEFLATE = 1, /* a zlib stream */
	ORMA_CODEC_ZSTD = 2,
};

/* Blocks of one stream that were submitted and not taken are never more than this. */
#define ORMA_COMPRESSOR_BLOCKS_MAX 4

/*
 * Compression of what leaves a session whose config asks for it. With NULL ops such configs are
 * refused. A stream is one session's; each of its blocks is compressed by itself, somewhere else
 * than on the service's thread, and taken in the order in which they were submitted.
 */
struct orma_compressor_ops {
	size_t struct_size;
	uint32_t codecs; /* those it has: bits 1 << ORMA_CODEC_... */
	/* `level` means what the codec says; 0 = its default. */
	int (*open)(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		    void **ret_stream);
	/* Copies the block and returns 0; orma_service_compressor_event() follows. */
	int (*submit)(void *ctx, void *stream, const void *data, size_t size);
	/* 1 = the oldest block, compressed; the memory stays valid until the next take or close. 0 =
	 * it is not finished. Negative = it cannot be compressed, and is dropped. */
	int (*take)(void *ctx, void *stream, const void **ret_data, size_t *ret_size);
	/* Forgets its blocks; waits for nothing. */
	void (*close)(void *ctx, void *stream);
};

/* What a session's priority_boost asks of the thread that runs the service. */
enum orma_priority_policy {
	ORMA_PRIORITY_INITIAL = 0, /* as it was before the first one */
	ORMA_PRIORITY_OTHER = 1,   /* SCHED_OTHER, nice -priority: 0 to 20 */
	ORMA_PRIORITY_FIFO = 2,    /* SCHED_FIFO: 1 to 99 */
};

struct orma_service_options {
	size_t struct_size;
	void *ctx;
	/* Nanoseconds of a CLOCK_... id; NULL = clock_gettime(). */
	uint64_t (*now_ns)(void *ctx, int clock_id);
	/* Fills with random bytes; NULL = getrandom(). */
	void (*random)(void *ctx, void *data, size_t size);
	const struct orma_service_file_ops *file_ops;
	/* Scrape the shared memory of producers that do not say whether they want it (the
	 * in-process default). */
	bool scrape_by_default;
	const char *version; /* shown by queries; NULL = orma's own */
	const struct orma_regex_ops *regex_ops;
	/* Whose the service's own packets are, and who passes a lockdown; without has_uid, the
	 * effective user of now. */
	bool has_uid;
	uid_t uid;
	const struct orma_compressor_ops *compressor_ops;
	void *compressor_ctx; /* of compressor_ops, instead of ctx */
	/* Changes the scheduling of the calling thread; 0, -EPERM, or another error. NULL: configs
	 * with priority_boost are refused. */
	int (*set_priority)(void *ctx, enum orma_priority_policy policy, uint32_t priority);
	/* Closes a duplicate of a descriptor that a consumer of user `owner` brought, which may wait
	 * for its file system, somewhere else than on the service's thread. NULL = close(2). */
	void (*close_fd)(void *ctx, int fd, uid_t owner);
};

/**
 * orma_service_new() - a service without producers, consumers and sessions.
 * @options: may be NULL: real time, real randomness, files written at once.
 * @ret: set on success only; owned by the caller.
 *
 * Strings and structs of functions are copied; contexts must live as long as the service. Returns
 * 0, -EINVAL (struct_size; ops without a function that they must have), -ENOMEM.
 */
ORMA_API int orma_service_new(const struct orma_service_options *options,
			      struct orma_service **ret);
/** Closes all ports that are still open: their callbacks do not run any more. NULL is fine. */
ORMA_API void orma_service_free(struct orma_service *service);
/** When orma_service_run() wants to be called: CLOCK_MONOTONIC ns by now_ns; 0 = at once;
 * UINT64_MAX = not at all, also for NULL. */
ORMA_API uint64_t orma_service_next_deadline_ns(const struct orma_service *service);
/** Does what is due, a bounded amount of it: the next deadline says whether that was all. */
ORMA_API void orma_service_run(struct orma_service *service);
enum orma_file_status {
	ORMA_FILE_READY = 0, /* it answered -EAGAIN, and takes more now */
	ORMA_FILE_CLOSED = 1,
	ORMA_FILE_CREATED = 2,
};
/** What became of a file: orma_file_status, or a negative errno when it failed. Of a session that is
 * gone: ignored. */
ORMA_API void orma_service_file_event(struct orma_service *service, uint64_t session_id,
				      int status);
/** A block of a session's stream is compressed, or failed to be. */
ORMA_API void orma_service_compressor_event(struct orma_service *service, uint64_t session_id);

/**
 * The end of the service, before orma_service_free(): sessions that write into files are flushed,
 * stopped (each for timeout_ms at most) and their files completed; no session begins any more. Run
 * the service until orma_service_has_open_files() says no.
 */
ORMA_API void orma_service_shut_down(struct orma_service *service, uint32_t timeout_ms);
ORMA_API bool orma_service_has_open_files(const struct orma_service *service);

/* --- producers -------------------------------------------------------------------------------- */

enum orma_scraping_mode {
	ORMA_SCRAPING_UNSPECIFIED = 0,
	ORMA_SCRAPING_ENABLED = 1,
	ORMA_SCRAPING_DISABLED = 2
};

struct orma_producer_info {
	size_t struct_size;
	uid_t uid; /* trusted: from the transport */
	pid_t pid;
	const char *name;
	const char *sdk_version;       /* NULL = unknown */
	uint32_t page_size_hint_bytes; /* 0 = no wish */
	uint32_t shm_size_hint_bytes;
	enum orma_scraping_mode scraping_mode;
	int shm_fd; /* memory that the producer brings, -1 = none; borrowed, checked, mapped */
	bool is_in_process;       /* shares the service's address space */
	bool cannot_pass_fds;     /* chunks come inside commits (emulated shared memory) */
	uint32_t machine_id;      /* 0 = this machine */
	const char *machine_name; /* for machine_name_filter; NULL = unknown */
	/* uid and pid are the peer's own claim, which names it in traces and gives it no rights. */
	bool is_unverified;
};

/* The memory that producer and service share. */
struct orma_shared_memory {
	int fd; /* for a peer process; -1 when the producer brought it or fds cannot be passed */
	void *start; /* the service's mapping, for an in-process producer */
	size_t size_bytes;
	uint32_t page_size_bytes;
};

struct orma_producer_callbacks {
	size_t struct_size;
	/* Once, before the first setup_data_source. */
	void (*setup_tracing)(void *ctx, const struct orma_shared_memory *memory);
	void (*setup_data_source)(void *ctx, uint64_t instance_id, const void *config, size_t size);
	void (*start_data_source)(void *ctx, uint64_t instance_id, const void *config, size_t size);
	void (*stop_data_source)(void *ctx, uint64_t instance_id);
	/* Acknowledged by a commit with that request id. */
	void (*flush)(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		      uint64_t flags);
	void (*clear_incremental_state)(void *ctx, const uint64_t *instance_ids, size_t count);
};

struct orma_chunk_move {
	uint32_t page_idx, chunk_idx;
	uint32_t target_buffer;
	bool is_incomplete;
	/* Emulated shared memory: the whole chunk with its header; NULL otherwise. */
	const void *data;
	size_t size;
};

struct orma_patch {
	uint32_t offset; /* in the chunk's payload */
	uint8_t data[4];
};

struct orma_chunk_patch {
	uint32_t target_buffer;
	uint32_t writer_id;
	uint32_t chunk_id;
	const struct orma_patch *patches;
	size_t count;
	bool has_more_patches;
};

struct orma_commit {
	const struct orma_chunk_move *moves;
	size_t move_count;
	const struct orma_chunk_patch *patches;
	size_t patch_count;
	uint64_t flush_request_id; /* 0 = none */
};

/**
 * orma_producer_port_open() - a producer has connected.
 * @ctx: first argument of the callbacks.
 * @ret_uses_own_memory: whether info->shm_fd was taken (duplicated). It is taken when it is sealed
 *                       memory of a size that the protocol allows, and the producers of that user
 *                       share no more than 128 MiB with it, or it has at most 256 KiB. May be NULL.
 *
 * No callback of this port runs inside the call. Returns 0, -EACCES (lockdown), -ENOSPC (no
 * producer id left), -EINVAL (struct_size; a name of more than 1,024 bytes), -ENOMEM.
 */
ORMA_API int orma_producer_port_open(struct orma_service *service,
				     const struct orma_producer_info *info,
				     const struct orma_producer_callbacks *callbacks, void *ctx,
				     bool *ret_uses_own_memory, struct orma_producer_port **ret);
/** The producer is gone: what it committed or what can be scraped stays in the buffers. No callback
 * runs afterwards. NULL is fine. */
ORMA_API void orma_producer_port_close(struct orma_producer_port *port);
/**
 * What the producer offers. Sessions that wait for it are set up inside the call. Descriptors are
 * serialized DataSourceDescriptors. -EBADMSG, -EINVAL (no name, or too long, too
 * many), -EEXIST (the id), -ENOENT, -ENOMEM. Updates need the id and keep the name.
 */
ORMA_API int orma_producer_port_register_data_source(struct orma_producer_port *port,
						     const void *descriptor, size_t size);
ORMA_API int orma_producer_port_update_data_source(struct orma_producer_port *port,
						   const void *descriptor, size_t size);
ORMA_API int orma_producer_port_unregister_data_source(struct orma_producer_port *port,
						       const char *name);
/**
 * Chunks that are complete, and patches for some that were committed before. Nothing in it is
 * trusted; what is wrong is skipped and counted. With flush_request_id: the producer has answered
 * that flush, and all before it.
 */
ORMA_API void orma_producer_port_commit(struct orma_producer_port *port,
					const struct orma_commit *commit);
/** The same from a serialized CommitDataRequest, as orma_commit_encode() makes it. -EBADMSG (does
 * not decode: nothing was committed), -ENOMEM. */
ORMA_API int orma_producer_port_commit_encoded(struct orma_producer_port *port, const void *data,
					       size_t size);
/** Into which buffer a writer writes: needed to find its chunks without a commit (scraping). Ids of
 * writers are 1 to 32,767; others, and buffers that are not the producer's, are ignored. */
ORMA_API void orma_producer_port_register_writer(struct orma_producer_port *port,
						 uint32_t writer_id, uint32_t target_buffer);
ORMA_API void orma_producer_port_unregister_writer(struct orma_producer_port *port,
						   uint32_t writer_id);
/** Acknowledgements, for data sources whose descriptor promised them (will_notify_on_start, _stop).
 * Unknown instances are ignored. */
ORMA_API void orma_producer_port_data_source_started(struct orma_producer_port *port,
						     uint64_t instance_id);
ORMA_API void orma_producer_port_data_source_stopped(struct orma_producer_port *port,
						     uint64_t instance_id);
/** Names of triggers that sessions may be waiting for; at most 64 of one call are looked at. */
ORMA_API void orma_producer_port_activate_triggers(struct orma_producer_port *port,
						   const char *const *names, size_t count);

/* --- relays ----------------------------------------------------------------------------------- */

/*
 * What passes the connections of another machine's producers on, speaking for that machine: what
 * system it is, and what its clocks show. Both go into the traces of sessions that are read while
 * the port is open; of several relays of one machine the oldest speaks.
 */
struct orma_relay_info {
	size_t struct_size;
	uint32_t machine_id; /* as that of its producers */
};

enum orma_relay_phase {
	ORMA_RELAY_PING = 1,   /* begins a measurement */
	ORMA_RELAY_UPDATE = 2, /* ends it; comes after the answer to the other */
};

struct orma_relay_clock {
	uint32_t clock_id; /* BuiltinClock */
	uint64_t timestamp;
};

/* -EINVAL (struct_size, this machine), -ENOSPC (too many relays), -ENOMEM. */
ORMA_API int orma_relay_port_open(struct orma_service *service, const struct orma_relay_info *info,
				  struct orma_relay_port **ret);
/* The relay is gone, and what it said forgotten. */
ORMA_API void orma_relay_port_close(struct orma_relay_port *port);
/* A serialized SystemInfo, which takes the place of an earlier one. -EBADMSG, -EMSGSIZE, -ENOMEM. */
ORMA_API int orma_relay_port_set_system_info(struct orma_relay_port *port, const void *system_info,
					     size_t size);
/* What the machine's clocks showed when the call was sent; the service reads its own at once. A
 * PING that follows a PING takes its place. -EPROTO (no phase, an UPDATE without a PING, no clocks,
 * a clock twice or without a meaning for others), -EMSGSIZE (too many). */
ORMA_API int orma_relay_port_sync_clocks(struct orma_relay_port *port, enum orma_relay_phase phase,
					 const struct orma_relay_clock *clocks, size_t count);

/* --- consumers -------------------------------------------------------------------------------- */

struct orma_consumer_info {
	size_t struct_size;
	uid_t uid; /* trusted: from the transport */
	pid_t pid;
	/* Nobody vouches for uid and pid: the consumer is never taken for root or the service's own
	 * user. */
	bool is_unverified;
};

struct orma_consumer_callbacks {
	size_t struct_size;
	/* The session ended; error is NULL or says why. Once per enabled session. */
	void (*tracing_disabled)(void *ctx, const char *error);
	/* A serialized ObservableEvents message. */
	void (*events)(void *ctx, const void *events, size_t size);
	/* orma_consumer_port_read() said -EAGAIN and would not now. May be NULL. */
	void (*readable)(void *ctx);
};

/* Part of a packet. It stays valid until the next call of any function of this service. */
struct orma_trace_slice {
	const void *data;
	size_t size;
	bool ends_packet; /* the last slice of its packet */
};

struct orma_trace_batch {
	const struct orma_trace_slice
		*slices; /* whole packets only, without the Trace.packet tag and length */
	size_t count;
	bool has_more;
};

typedef void orma_flush_done_fn(void *ctx, bool is_complete);

struct orma_clone_request {
	size_t struct_size;
	/* 0 = by name; UINT64_MAX = the started session with the highest bugreport_score. */
	uint64_t session_id;
	const char *unique_session_name;
	bool skips_trace_filter, is_for_bugreport;
	/* Where the clone of a write_into_file session goes, -1 = none; duplicated. Clones of other
	 * sessions ignore it. */
	int file_fd;
	/* What made the consumer clone, for the trace; NULL = nothing. */
	const char *trigger_name, *trigger_producer_name;
	uid_t trigger_producer_uid;
	uint64_t trigger_boot_time_ns, trigger_delay_ms;
};
/* `error` is NULL on success. */
struct orma_clone_result {
	const char *error;
	uint64_t uuid_msb, uuid_lsb;
	bool was_write_into_file;
};
typedef void orma_clone_done_fn(void *ctx, const struct orma_clone_result *result);

/**
 * orma_consumer_port_open() - a consumer has connected; it has no session yet.
 * @ctx: first argument of the callbacks.
 *
 * Who may connect is the embedder's decision: a consumer of the service's own user or root may do
 * more (name files in output_path, lock the service down, be exclusive), and root sees and clones
 * the sessions of other users. Returns 0, -EINVAL (struct_size), -ENOSPC (too many
 * consumers), -ENOMEM.
 */
ORMA_API int orma_consumer_port_open(struct orma_service *service,
				     const struct orma_consumer_info *info,
				     const struct orma_consumer_callbacks *callbacks, void *ctx,
				     struct orma_consumer_port **ret);
/** Frees the port's session unless it was detached. No callback runs afterwards. NULL is fine. */
ORMA_API void orma_consumer_port_close(struct orma_consumer_port *port);
/**
 * orma_consumer_port_enable() - configure a session and, without deferred_start, start it.
 * @config: a serialized TraceConfig; orma_config_parse() makes it from text.
 * @file_fd: the output of write_into_file, -1 = none; duplicated.
 * @reterr: on failure, the text that the consumer should see. May be NULL.
 *
 * With output_path and file_ops.create() the session begins when its file is there; if that fails,
 * or takes more than 10 s, nothing has changed either, and tracing_disabled says why.
 *
 * On failure nothing has changed. Returns 0, -EBUSY (the consumer has a session; too many
 * sessions), -EINVAL (the text names the field), -ENOTSUP (it asks for what the options do not
 * bring, or nobody can), -ENOSPC (too many buffers), -EBADMSG, -EMSGSIZE, -EACCES, -ENOMEM and what
 * opening a file may say.
 */
ORMA_API int orma_consumer_port_enable(struct orma_consumer_port *port, const void *config,
				       size_t size, int file_fd, struct orma_error *reterr);
/** Starts a session with deferred_start. 0, -ENOENT (no session), -EBUSY (it has started). */
ORMA_API int orma_consumer_port_start(struct orma_consumer_port *port, struct orma_error *reterr);
/** Stops the session: producers are given time to stop, then tracing_disabled is called. Without a
 * session, or with one that has ended, nothing happens. */
ORMA_API void orma_consumer_port_disable(struct orma_consumer_port *port);
/** Admits further producers to a running session's data sources (producer_name_filter); the rest of
 * the config is ignored. 0, -ENOENT, -ESTALE (ended), -EMSGSIZE, -EBADMSG, -ENOMEM. */
ORMA_API int orma_consumer_port_change_config(struct orma_consumer_port *port, const void *config,
					      size_t size);
/**
 * orma_consumer_port_flush() - ask the session's producers for what they have.
 * @timeout_ms: 0 = the session's own.
 * @flags: the protocol's flush flags, handed to the producers.
 * @done: runs exactly once, maybe before this returns, unless the port is closed first; false =
 *        somebody did not answer in time, or there is no session. May be NULL.
 *
 * Returns 0, -ENOMEM (`done` does not run).
 */
ORMA_API int orma_consumer_port_flush(struct orma_consumer_port *port, uint32_t timeout_ms,
				      uint64_t flags, orma_flush_done_fn *done, void *done_ctx);
/**
 * Takes the next packets, about max_bytes of them, out of the session's buffers. 0 (maybe none:
 * with has_more, time is up and the next call goes on), -ENOENT (no session), -EBUSY
 * (write_into_file), -EAGAIN (they are being compressed: callbacks.readable follows), -ENOMEM.
 */
ORMA_API int orma_consumer_port_read(struct orma_consumer_port *port, size_t max_bytes,
				     struct orma_trace_batch *ret);
/** Ends the session at once; what was not read is gone. */
ORMA_API void orma_consumer_port_free_buffers(struct orma_consumer_port *port);
/**
 * Leaves the session to itself under a key, and takes it over again (the same user). -ENOENT,
 * -EEXIST (the key is in use; there is a session already), -EINVAL (no key), -ESTALE (the session
 * has ended), -ENOMEM. Flushes that are pending have failed.
 */
ORMA_API int orma_consumer_port_detach(struct orma_consumer_port *port, const char *key);
ORMA_API int orma_consumer_port_attach(struct orma_consumer_port *port, const char *key);
/**
 * Makes this consumer the owner of a copy of a session of the same user (root: of any user), to be
 * read. The session goes on. `done` runs exactly once, maybe before this returns, unless the port
 * is closed first; it may be NULL. With was_write_into_file the whole trace is in the file then.
 */
ORMA_API void orma_consumer_port_clone(struct orma_consumer_port *port,
				       const struct orma_clone_request *request,
				       orma_clone_done_fn *done, void *done_ctx);
/** Bit set of ObservableEvents.Type (ORMA_OBSERVE_..., orma/session.h); 0 stops. Returns 0. */
ORMA_API int orma_consumer_port_observe(struct orma_consumer_port *port, uint32_t event_types);
/**
 * Queries: the serialized message in memory that stays valid until the next call of any function of
 * this service. config = the session's TraceConfig, stats = TraceStats, state =
 * TracingServiceState, capabilities = TracingServiceCapabilities. 0, -ENOENT (config and stats: no
 * session), -ENOMEM.
 */
ORMA_API int orma_consumer_port_get_config(struct orma_consumer_port *port, const void **ret_data,
					   size_t *ret_size);
ORMA_API int orma_consumer_port_get_stats(struct orma_consumer_port *port, const void **ret_data,
					  size_t *ret_size);
ORMA_API int orma_consumer_port_query_state(struct orma_consumer_port *port, bool sessions_only,
					    const void **ret_data, size_t *ret_size);
ORMA_API int orma_consumer_port_query_capabilities(struct orma_consumer_port *port,
						   const void **ret_data, size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
