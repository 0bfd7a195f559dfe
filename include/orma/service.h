/* SPDX-License-Identifier: Apache-2.0
 * orma/service.h - the tracing service without a transport, for embedders. `orma traced` binds it
 * to sockets, and the in-process backend of the library binds it to the library itself.
 *
 * Each producer and each consumer has a *port* of the service: functions that the peer's side
 * calls, and a struct of callbacks that the service calls. Configurations, descriptors and events
 * are passed as serialized protobuf messages. The embedder transports the calls. It binds ports to
 * its connections, and tells the service which user and process each peer is (uid, pid); the
 * service decides the peer's rights from that.
 *
 *	producer's side                     | the service
 *	orma/transport.h, or your own --->  | orma_producer_port_...()
 *	                              <---  | struct orma_producer_callbacks
 *	a consumer                    --->  | orma_consumer_port_...()
 *	                              <---  | struct orma_consumer_callbacks
 *
 * examples/own_transport.c is such an embedder.
 *
 * Threads:   a service and all its ports are used by one thread at a time. Nothing here blocks,
 *            except that the service writes to files itself if there are no file_ops.
 * Callbacks: run inside calls of the functions below; they must not call back into the service or
 *            any port (defer that). Each callback may be NULL.
 * Time:      the service never sleeps. After any call, orma_service_next_deadline_ns() returns the
 *            time at which to call orma_service_run(). An early call is harmless; a late call makes
 *            timeouts longer.
 * Memory:    arguments are borrowed for the call, including option and callback structs. Structs
 *            that begin with struct_size may be shorter (from an older program: the rest counts as
 *            0) or longer (from a newer program: the rest must be 0, otherwise -EINVAL).
 * Trust:     the service trusts nothing that peers send, so the embedder may pass bytes of
 *            messages, commits and memory on unchecked. It trusts the embedder's uid, pid,
 *            is_unverified and cannot_pass_fds.
 * Errors:    negative errno values; see each function. Every function that takes a message may
 *            return -EBADMSG (it does not decode) and -ENOMEM. -EINVAL also means NULL where a
 *            value is required; functions that return void do nothing then.
 * Builds:    a library that was built with ORMA_WITHOUT_SERVICE or ORMA_PRODUCER_ONLY has none of
 *            these functions.
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

/* A file that is named in output_path by a consumer other than root and the service's own user. */
struct orma_file_request {
	size_t struct_size;
	const char *path;
	uint32_t count;      /* as in create() */
	uint64_t session_id; /* as in create() */
	uid_t uid;           /* the consumer's */
};

/*
 * Output files of write_into_file sessions. If ops is NULL, the service writes synchronously.
 * `file` is the value that open() or create() returned; `session_id` goes into
 * orma_service_file_event().
 */
struct orma_service_file_ops {
	size_t struct_size;
	/* Takes ownership of `fd`, also on failure. */
	int (*open)(void *ctx, int fd, uint64_t session_id, void **ret_file);
	/* Copies or writes all the data and returns 0. -EAGAIN = the queue is full and nothing was
	 * taken; an event follows. Other errors end the session. */
	int (*write)(void *ctx, void *file, const struct iovec *iov, int iov_count);
	/* Closes the file, after making its data durable if `sync` is set; an event follows. */
	void (*close)(void *ctx, void *file, bool sync);
	/* Makes the data that was written durable (TraceConfig.fflush_post_write); may be NULL. */
	void (*sync)(void *ctx, void *file);
	/* Appends the first `size` bytes of `source`, another open file, whether they are already
	 * written or still queued there. Copies and writes keep their order. A failure is returned
	 * or follows as an event. May be NULL; sessions that write into files cannot be cloned
	 * then. */
	int (*copy)(void *ctx, void *file, void *source, uint64_t size);
	/* Continues in a new file at `path`, after everything that was written so far. The file
	 * that had that name is renamed to path.1, path.1 to path.2 and so on; only `count` files
	 * are kept. Files of other origin are left alone: -EEXIST. A failure is returned or follows
	 * as an event. May be NULL: then configs with max_file_count are refused. */
	int (*rotate)(void *ctx, void *file, const char *path, uint32_t count);
	/* Creates the file of TraceConfig.output_path on a thread other than the service's. Neither
	 * that file nor path.1 to path.(count - 1) may exist (count is 0 without max_file_count).
	 * An embedder that recognises files of an earlier session with the same output_path and a
	 * max_file_count may rename them as rotate() does. An event follows: ORMA_FILE_CREATED, or
	 * a negative errno: -ENOTUNIQ = a file with a number exists, -EBUSY = another session
	 * writes into `path`. The service may call close() before that event; close() must then
	 * remove the file once it is created. If nothing was written to the
	 * file, close() without `sync` removes it. This function may be NULL. The service then
	 * creates files itself, on its own thread, and waits for the file system. */
	int (*create)(void *ctx, const char *path, uint32_t count, uint64_t session_id,
		      void **ret_file);
	/* The same for a consumer other than root and the service's own user. The file is created
	 * with rights that this consumer does not have, so this function decides where that is
	 * allowed. -EACCES = it is not; `reterr` may give the reason. rotate() gets the same path.
	 * May be NULL: then it is never allowed. */
	int (*create_for_other)(void *ctx, const struct orma_file_request *request, void **ret_file,
				struct orma_error *reterr);
};

/* The begin and end of a part of a text; begin is SIZE_MAX if the group took no part in the match.
 */
struct orma_regex_group {
	size_t begin, end;
};

/*
 * The regular expressions of configs: producer_name_regex_filter, triggers, string rules of
 * filters. With NULL ops the service uses POSIX extended expressions.
 */
struct orma_regex_ops {
	size_t struct_size;
	/* Returns the number of capturing groups and sets *ret, or returns -EINVAL (`reterr` has
	 * the reason) or -ENOMEM. If `is_whole` is set, only whole texts match. */
	int (*compile)(void *ctx, const char *pattern, size_t size, bool is_whole, void **ret,
		       struct orma_error *reterr);
	/* Finds the first match in text[offset..size); text[0..offset) is context for look-behind.
	 * 1 = groups[0] is the match, and the following groups its capturing groups (group_max may
	 * be 0). 0 = no match. -EOVERFLOW = undecided after about `step_limit` steps. -EMSGSIZE =
	 * the engine cannot handle the text (too long, or contains NUL). -ENOMEM. */
	int (*match)(void *regex, const char *text, size_t size, size_t offset, uint32_t step_limit,
		     struct orma_regex_group *groups, size_t group_max);
	void (*free)(void *regex);
};

/* The numbers are those of TraceConfig.compression. */
enum orma_codec {
	ORMA_CODEC_DEFLATE = 1, /* a zlib stream */
	ORMA_CODEC_ZSTD = 2,
};

/* The largest number of blocks of one stream that are submitted and not yet taken. */
#define ORMA_COMPRESSOR_BLOCKS_MAX 4

/*
 * Compression of the packets that leave a session, if its config asks for it. With NULL ops such
 * configs are refused. A stream belongs to one session. Each of its blocks is compressed by itself,
 * on a thread other than the service's, and blocks are taken in the order of their submission.
 */
struct orma_compressor_ops {
	size_t struct_size;
	uint32_t codecs; /* available codecs: bits 1 << ORMA_CODEC_... */
	/* `level` has the codec's own scale; 0 = its default. */
	int (*open)(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		    void **ret_stream);
	/* Copies the block and returns 0; orma_service_compressor_event() follows. */
	int (*submit)(void *ctx, void *stream, const void *data, size_t size);
	/* 1 = returns the oldest block, compressed; the memory stays valid until the next take or
	 * close. 0 = that block is not finished. Negative = it could not be compressed and is
	 * dropped. */
	int (*take)(void *ctx, void *stream, const void **ret_data, size_t *ret_size);
	/* Discards its blocks, without waiting. */
	void (*close)(void *ctx, void *stream);
};

/* The scheduling that a session's priority_boost requests for the thread that runs the service. */
enum orma_priority_policy {
	ORMA_PRIORITY_INITIAL = 0, /* as it was before the first boost */
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
	/* Scrape the shared memory of producers whose scraping_mode is unspecified (the in-process
	 * default). */
	bool scrape_by_default;
	const char *version; /* shown by queries; NULL = orma's own */
	const struct orma_regex_ops *regex_ops;
	/* The user of the service's own packets, who is also exempt from a lockdown; without
	 * has_uid, the effective user at this call. */
	bool has_uid;
	uid_t uid;
	const struct orma_compressor_ops *compressor_ops;
	void *compressor_ctx; /* context of compressor_ops, instead of ctx */
	/* Changes the scheduling of the calling thread; 0, -EPERM, or another error. NULL: configs
	 * with priority_boost are refused. */
	int (*set_priority)(void *ctx, enum orma_priority_policy policy, uint32_t priority);
	/* Closes a duplicate of a descriptor that a consumer of user `owner` has passed, on a
	 * thread other than the service's, because closing may wait for a file system. NULL =
	 * close(2). */
	void (*close_fd)(void *ctx, int fd, uid_t owner);
};

/**
 * orma_service_new() - make a service without producers, consumers and sessions.
 * @options: may be NULL: real time, real randomness, files written synchronously.
 * @ret: set on success only; owned by the caller.
 *
 * Strings and structs of functions are copied; contexts must live as long as the service. Returns
 * 0, -EINVAL (struct_size; a required function is missing in ops), -ENOMEM.
 */
ORMA_API int orma_service_new(const struct orma_service_options *options,
			      struct orma_service **ret);
/** Frees the service and closes all open ports; their callbacks do not run any more. NULL is fine.
 */
ORMA_API void orma_service_free(struct orma_service *service);
/** Returns the time at which to call orma_service_run(), in CLOCK_MONOTONIC ns as of now_ns. 0 = at
 * once; UINT64_MAX = nothing is scheduled, also for NULL. */
ORMA_API uint64_t orma_service_next_deadline_ns(const struct orma_service *service);
/** Does a bounded amount of the work that is due. The next deadline is 0 if some is left. */
ORMA_API void orma_service_run(struct orma_service *service);
enum orma_file_status {
	ORMA_FILE_READY = 0, /* takes more data again after -EAGAIN */
	ORMA_FILE_CLOSED = 1,
	ORMA_FILE_CREATED = 2,
};
/** Reports an event of a file: an orma_file_status, or a negative errno when it failed. Ignored if
 * the session is gone. */
ORMA_API void orma_service_file_event(struct orma_service *service, uint64_t session_id,
				      int status);
/** Reports that a block of a session's stream is compressed, or could not be compressed. */
ORMA_API void orma_service_compressor_event(struct orma_service *service, uint64_t session_id);

/**
 * Begins the end of the service, before orma_service_free(). Sessions that write into files or have
 * a consumer are flushed and stopped (each within timeout_ms), and their files completed. No new
 * session begins. Run the service until orma_service_has_open_files() returns false, and for as
 * long as consumers may take to read the packets that are in memory.
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
	uint32_t page_size_hint_bytes; /* 0 = no preference */
	uint32_t shm_size_hint_bytes;
	enum orma_scraping_mode scraping_mode;
	int shm_fd; /* memory that the producer provides, -1 = none; borrowed, checked, mapped */
	bool is_in_process;       /* shares the service's address space */
	bool cannot_pass_fds;     /* chunks come inside commits (emulated shared memory) */
	uint32_t machine_id;      /* 0 = this machine */
	const char *machine_name; /* for machine_name_filter; NULL = unknown */
	/* uid and pid are only claimed by the peer. Traces show them; they give no rights. */
	bool is_unverified;
};

/* The memory that producer and service share. */
struct orma_shared_memory {
	int fd; /* for a peer process; -1 if the producer provided it or fds cannot be passed */
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
 * @ret_uses_own_memory: true if the service uses info->shm_fd (which it duplicates). It uses sealed
 *                       memory of a size that the protocol allows, unless the producers of that
 *                       user would then share more than 128 MiB. Memory of at most 256 KiB is
 *                       exempt from that limit. May be NULL.
 *
 * No callback of this port runs inside the call. Returns 0, -EACCES (lockdown), -ENOSPC (no
 * producer id left), -EINVAL (struct_size; a name of more than 1,024 bytes), -ENOMEM.
 */
ORMA_API int orma_producer_port_open(struct orma_service *service,
				     const struct orma_producer_info *info,
				     const struct orma_producer_callbacks *callbacks, void *ctx,
				     bool *ret_uses_own_memory, struct orma_producer_port **ret);
/** The producer has disconnected. Data that it has committed, or that can be scraped, stays in the
 * buffers. No callback runs afterwards. NULL is fine. */
ORMA_API void orma_producer_port_close(struct orma_producer_port *port);
/**
 * Data sources that the producer offers. Sessions that wait for them are set up inside the call.
 * Descriptors are serialized DataSourceDescriptors. An update needs the id and keeps the name.
 * Returns 0, -EBADMSG, -EINVAL (no name, a name that is too long, or too many data sources),
 * -EEXIST (the id), -ENOENT, -ENOMEM.
 */
ORMA_API int orma_producer_port_register_data_source(struct orma_producer_port *port,
						     const void *descriptor, size_t size);
ORMA_API int orma_producer_port_update_data_source(struct orma_producer_port *port,
						   const void *descriptor, size_t size);
ORMA_API int orma_producer_port_unregister_data_source(struct orma_producer_port *port,
						       const char *name);
/**
 * Commits complete chunks, and patches for chunks that were committed before. Nothing in the commit
 * is trusted; invalid entries are skipped and counted. A flush_request_id acknowledges that flush
 * and all earlier ones.
 */
ORMA_API void orma_producer_port_commit(struct orma_producer_port *port,
					const struct orma_commit *commit);
/** The same with a serialized CommitDataRequest, which orma_commit_encode() makes. Returns 0,
 * -EBADMSG (it does not decode; nothing was committed), -ENOMEM. */
ORMA_API int orma_producer_port_commit_encoded(struct orma_producer_port *port, const void *data,
					       size_t size);
/** Tells which buffer a writer writes into, which scraping needs for chunks without a commit.
 * Writer ids are 1 to 32,767; others, and buffers that the producer may not use, are ignored. */
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
/** Activates triggers by name; the names beyond the 64th of a call are ignored. */
ORMA_API void orma_producer_port_activate_triggers(struct orma_producer_port *port,
						   const char *const *names, size_t count);

/* --- relays ----------------------------------------------------------------------------------- */

/*
 * A relay forwards the connections of another machine's producers. It also reports that machine's
 * system and clocks, which go into the traces of sessions that are read while the port is open. If
 * a machine has several relays, the oldest one counts.
 */
struct orma_relay_info {
	size_t struct_size;
	uint32_t machine_id; /* the same as that of its producers */
};

enum orma_relay_phase {
	ORMA_RELAY_PING = 1,   /* begins a measurement */
	ORMA_RELAY_UPDATE = 2, /* ends it; sent after the answer to the PING */
};

struct orma_relay_clock {
	uint32_t clock_id; /* BuiltinClock */
	uint64_t timestamp;
};

/* Returns 0, -EINVAL (struct_size, or the id of this machine), -ENOSPC (too many relays), -ENOMEM.
 */
ORMA_API int orma_relay_port_open(struct orma_service *service, const struct orma_relay_info *info,
				  struct orma_relay_port **ret);
/* The relay has disconnected; its reports are discarded. */
ORMA_API void orma_relay_port_close(struct orma_relay_port *port);
/* A serialized SystemInfo, which replaces an earlier one. Returns 0, -EBADMSG, -EMSGSIZE, -ENOMEM.
 */
ORMA_API int orma_relay_port_set_system_info(struct orma_relay_port *port, const void *system_info,
					     size_t size);
/* The readings of the machine's clocks when the call was sent; the service reads its own clocks at
 * once. A PING replaces an earlier PING. Returns 0, -EPROTO (no phase, an UPDATE without a PING, no
 * clocks, a clock twice, or a clock that means nothing on another machine), -EMSGSIZE (too many).
 */
ORMA_API int orma_relay_port_sync_clocks(struct orma_relay_port *port, enum orma_relay_phase phase,
					 const struct orma_relay_clock *clocks, size_t count);

/* --- consumers -------------------------------------------------------------------------------- */

struct orma_consumer_info {
	size_t struct_size;
	uid_t uid; /* trusted: from the transport */
	pid_t pid;
	/* uid and pid are only claimed by the peer, so the consumer never counts as root or as the
	 * service's own user. */
	bool is_unverified;
};

struct orma_consumer_callbacks {
	size_t struct_size;
	/* The session ended; error is NULL or names the reason. Called once per enabled session. */
	void (*tracing_disabled)(void *ctx, const char *error);
	/* A serialized ObservableEvents message. */
	void (*events)(void *ctx, const void *events, size_t size);
	/* orma_consumer_port_read() can continue after -EAGAIN. May be NULL. */
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
	/* The file for the clone of a write_into_file session, -1 = none; duplicated. Clones of
	 * other sessions ignore it. */
	int file_fd;
	/* The trigger that is the reason for the clone, recorded in the trace; NULL = none. */
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
 * The embedder decides who may connect. A consumer of the service's own user or of root has more
 * rights: it may name files in output_path, lock the service down, and be exclusive. Root also sees
 * and clones the sessions of other users. Returns 0, -EINVAL (struct_size), -ENOSPC (too many
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
 * With output_path and file_ops.create() the session begins when its file exists. If creating it
 * fails, or takes more than 10 s, tracing_disabled reports the reason and nothing has changed.
 *
 * On failure nothing has changed. Returns 0, -EBUSY (the consumer has a session; too many
 * sessions), -EINVAL (the text names the field), -ENOTSUP (the config needs ops that the service's
 * options lack, or a feature that orma does not have), -ENOSPC (too many buffers), -EBADMSG,
 * -EMSGSIZE, -EACCES, -ENOMEM, and errors of opening a file.
 */
ORMA_API int orma_consumer_port_enable(struct orma_consumer_port *port, const void *config,
				       size_t size, int file_fd, struct orma_error *reterr);
/** Starts a session with deferred_start. Returns 0, -ENOENT (no session), -EBUSY (it has started).
 */
ORMA_API int orma_consumer_port_start(struct orma_consumer_port *port, struct orma_error *reterr);
/** Stops the session: producers get time to stop, then tracing_disabled is called. Does nothing if
 * there is no session or it has ended. */
ORMA_API void orma_consumer_port_disable(struct orma_consumer_port *port);
/** Admits further producers to a running session's data sources (producer_name_filter); the rest of
 * the config is ignored. Returns 0, -ENOENT, -ESTALE (ended), -EMSGSIZE, -EBADMSG, -ENOMEM. */
ORMA_API int orma_consumer_port_change_config(struct orma_consumer_port *port, const void *config,
					      size_t size);
/**
 * orma_consumer_port_flush() - ask the session's producers to commit the data that they hold.
 * @timeout_ms: 0 = the session's own.
 * @flags: the protocol's flush flags, passed to the producers.
 * @done: runs exactly once, maybe before this returns, unless the port is closed first; false = a
 *        producer did not answer in time, or there is no session. May be NULL.
 *
 * Returns 0, -ENOMEM (`done` does not run).
 */
ORMA_API int orma_consumer_port_flush(struct orma_consumer_port *port, uint32_t timeout_ms,
				      uint64_t flags, orma_flush_done_fn *done, void *done_ctx);
/**
 * Takes the next packets, about max_bytes, out of the session's buffers. Returns 0 (the batch may
 * be empty; with has_more, this call's time is used up and the next call continues), -ENOENT (no
 * session), -EBUSY (write_into_file), -EAGAIN (packets are being compressed; callbacks.readable
 * follows), -ENOMEM.
 */
ORMA_API int orma_consumer_port_read(struct orma_consumer_port *port, size_t max_bytes,
				     struct orma_trace_batch *ret);
/** Ends the session at once and discards packets that were not read. */
ORMA_API void orma_consumer_port_free_buffers(struct orma_consumer_port *port);
/**
 * Detach lets the session continue without this consumer; attach makes a consumer of the same user
 * its owner again. The key identifies the session. Pending flushes fail. Returns 0, -ENOENT,
 * -EEXIST (the key is in use; the consumer has a session already), -EINVAL (no key), -ESTALE (the
 * session has ended, and its file is complete), -ENOMEM.
 */
ORMA_API int orma_consumer_port_detach(struct orma_consumer_port *port, const char *key);
ORMA_API int orma_consumer_port_attach(struct orma_consumer_port *port, const char *key);
/**
 * Makes this consumer the owner of a readable copy of a session of the same user (for root, of any
 * user). The session continues. `done` runs exactly once, maybe before this returns, unless the
 * port is closed first; it may be NULL. With was_write_into_file the whole trace is in the file by
 * then.
 */
ORMA_API void orma_consumer_port_clone(struct orma_consumer_port *port,
				       const struct orma_clone_request *request,
				       orma_clone_done_fn *done, void *done_ctx);
/** Bit set of ObservableEvents.Type (ORMA_OBSERVE_..., orma/session.h); 0 stops. Returns 0. */
ORMA_API int orma_consumer_port_observe(struct orma_consumer_port *port, uint32_t event_types);
/**
 * Queries. Each returns a serialized message in memory that stays valid until the next call of any
 * function of this service: config the session's TraceConfig, stats TraceStats, state
 * TracingServiceState, capabilities TracingServiceCapabilities. Returns 0, -ENOENT (config and
 * stats: no session), -ENOMEM.
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
