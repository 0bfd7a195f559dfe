/* SPDX-License-Identifier: Apache-2.0
 * orma/data_source.h - custom data sources: packets of your own format, recorded when a session
 * asks for them.
 *
 * A data source is registered once. Each session that names it creates an *instance* of it, which
 * is set up, started and later stopped. While it exists, an instance has an index between 0 and
 * ORMA_INSTANCES_MAX-1.
 *
 *	ORMA_FOR_EACH_INSTANCE(my_source, idx) {
 *		struct orma_packet *packet = orma_packet_begin(my_source, idx);
 *		if (!packet)
 *			continue;
 *		orma_packet_varint(packet, ORMA_PACKET_TIMESTAMP, timestamp_ns);
 *		...
 *		orma_packet_end(packet);
 *	}
 *
 * An instance stops when its session stops or the service disconnects: the library calls on_stop,
 * and at the end on_destroy. Packets may be written in between. A process can register at most
 * ORMA_DATA_SOURCES_MAX (32) data sources.
 *
 * Threads: callbacks run on the library's thread (or inside orma_dispatch()), one at a time.
 *          Emitting is MT-safe and takes no lock; each thread writes to its own sequence.
 */
#ifndef ORMA_DATA_SOURCE_H
#define ORMA_DATA_SOURCE_H

#include <orma/api.h>
#include <orma/packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORMA_INSTANCES_MAX 8 /* per data source, at the same time */

struct orma_data_source;

enum orma_exhausted_policy {
	/* when the shared memory is full, drop the packet, count it, and mark the gap in the trace
	 */
	ORMA_EXHAUSTED_DROP = 0,
	/* wait for room up to stall_timeout_ms, then drop until there is room. The library never
	 * aborts, even if a config asks for that. */
	ORMA_EXHAUSTED_STALL = 1,
};

/* Describes the instance to a callback. Valid during the callback. */
struct orma_instance {
	size_t struct_size;
	struct orma_data_source *source;
	uint32_t idx;
	void *instance_ctx; /* the value that on_setup stored */
	/* serialized DataSourceConfig, readable with orma/field.h; setup and start only */
	const void *config;
	size_t config_size;
	uint64_t flush_flags; /* flush only */
	/* start, stop and flush only: the argument of orma_data_source_complete() after ORMA_POSTPONE */
	uint64_t completion;
};

enum orma_completion {
	ORMA_COMPLETE = 0, /* complete when the callback returns */
	ORMA_POSTPONE = 1, /* complete when orma_data_source_complete() is called */
};

struct orma_data_source_options {
	size_t struct_size;
	const char *name;
	/*
	 * Further fields of the DataSourceDescriptor, serialized (e.g. track_event_descriptor); may
	 * be NULL.
	 */
	const void *descriptor;
	size_t descriptor_size;
	enum orma_exhausted_policy policy;
	uint32_t stall_timeout_ms; /* 0 = 30 s */
	/* DataSourceConfig.buffer_exhausted_policy overrides the policy */
	bool allow_policy_in_config;
	void *ctx; /* first argument of all callbacks; every callback may be NULL */
	void (*on_setup)(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx);
	void (*on_start)(void *ctx, const struct orma_instance *instance);
	enum orma_completion (*on_stop)(void *ctx, const struct orma_instance *instance);
	enum orma_completion (*on_flush)(void *ctx, const struct orma_instance *instance);
	/* The service asks at intervals, or each time a share of a ring buffer was written. If this
	 * callback writes, it should write little or limit its rate, because the bytes that it
	 * writes count towards the next call. */
	void (*on_clear_incremental_state)(void *ctx, const struct orma_instance *instance);
	void (*on_destroy)(void *ctx, const struct orma_instance *instance);
	/* The service neither waits for an instance to stop nor hears that it has stopped. */
	bool no_stop_notice;
	/*
	 * State that each thread keeps for an instance. It is created on that thread, by the first
	 * orma_packet_thread_state() or orma_packet_incremental_state(). It is deleted, on any
	 * thread, after the instance has stopped or the thread has ended, and no later than the
	 * source itself. (A packet that never ends keeps its state alive.) The incremental state
	 * describes what a reader of the sequence knows. It is cleared when the service asks for
	 * that and after each loss; if clear_incremental_state is NULL or returns false, it is
	 * deleted and created again. These functions must not call the library.
	 */
	void *(*create_thread_state)(void *ctx, struct orma_data_source *source, uint32_t idx);
	void (*delete_thread_state)(void *ctx, void *state);
	void *(*create_incremental_state)(void *ctx, struct orma_data_source *source, uint32_t idx);
	bool (*clear_incremental_state)(void *ctx, void *state);
	void (*delete_incremental_state)(void *ctx, void *state);
	/*
	 * Decides if a session with `config` may adopt an instance that orma_startup_tracing()
	 * began with `startup_config` (serialized DataSourceConfigs). NULL = it may if the two are
	 * equal except for fields that the service fills in.
	 */
	bool (*may_adopt)(void *ctx, const void *startup_config, size_t startup_size,
			  const void *config, size_t size);
	/*
	 * If set, it is called instead of on_start. Until the start is complete, the service does
	 * not tell the session that this source has started. The instance accepts packets from
	 * before this call, and may be flushed and stopped before its start is complete. A stop
	 * completes the start. Version 0.2 added this member.
	 */
	enum orma_completion (*on_start_postponable)(void *ctx,
						     const struct orma_instance *instance);
};

/**
 * orma_data_source_register() - offer a data source to all present and future connections.
 *
 * Returns 0, -EINVAL (no name, struct_size), -EEXIST, -ENOSPC (ORMA_DATA_SOURCES_MAX),
 * -EMSGSIZE (name and descriptor exceed 126 KiB, the size of a frame), -ENOMEM, -ENOTCONN (before
 * orma_init()). The handle is valid until orma_data_source_unregister() or orma_shutdown().
 */
ORMA_API int orma_data_source_register(const struct orma_data_source_options *options,
				       struct orma_data_source **ret);
/**
 * orma_data_source_unregister() - stop its instances (on_stop, on_destroy) and withdraw it.
 *
 * Other threads may emit to it or exit meanwhile. The call waits for open packets, and for
 * functions that delete state, for at most 200 ms; later packets are ignored. The handle stays
 * usable in this way until 32 sources of other names have been unregistered, or until
 * orma_shutdown(). Registering the same name again returns the same handle. Unregistering NULL or
 * an unregistered handle does nothing.
 * Starts, stops and flushes that callbacks have postponed count as complete; do not call
 * orma_data_source_complete() for them any more. Do not call this from callbacks or inside a
 * packet. With caller_drives, call it on the thread that dispatches. Where the kernel or a system
 * call filter does not allow membarrier(), no other thread may emit during the call.
 */
ORMA_API void orma_data_source_unregister(struct orma_data_source *source);
/** Replaces the further descriptor fields. Returns 0, -EINVAL (also if unregistered), -EMSGSIZE (as
 * at registration), -ENOTCONN, -ENOMEM. */
ORMA_API int orma_data_source_update(struct orma_data_source *source, const void *descriptor,
				     size_t size);
/**
 * Completes a postponed start, stop or flush. MT-safe; may be called inside the callback. Unknown
 * numbers are ignored.
 */
ORMA_API void orma_data_source_complete(struct orma_data_source *source, uint64_t completion);

/** Bit i set = instance i is started; 0 for NULL. One relaxed load. */
ORMA_API uint32_t orma_data_source_started(const struct orma_data_source *source);
/* A single `for`, so that an `else` after its body belongs to an `if` before it. */
/* NOLINTBEGIN(bugprone-macro-parentheses): the index is a name, declared here */
#define ORMA_FOR_EACH_INSTANCE(source, idx)                                                        \
	for (uint32_t orma_bits_of_##idx = orma_data_source_started(source), idx = 0;              \
	     orma_bits_of_##idx                                                                    \
		     ? ((idx) = ORMA_CAST_(uint32_t, __builtin_ctz(orma_bits_of_##idx)), 1)        \
		     : 0;                                                                          \
	     orma_bits_of_##idx &= orma_bits_of_##idx - 1)
/* NOLINTEND(bugprone-macro-parentheses) */

/**
 * orma_packet_begin(), orma_packet_end() - write one packet to the calling thread's sequence of an
 * instance.
 *
 * Returns NULL if the instance is not started, or if a packet of it is open on this thread.
 * Preserves errno.
 */
ORMA_API struct orma_packet *orma_packet_begin(struct orma_data_source *source, uint32_t idx);
ORMA_API void orma_packet_end(struct orma_packet *packet);
/**
 * True once after the sequence began, and once after each loss or clearing of incremental state.
 * Then the caller has to emit its interned data and descriptors again, and to set
 * ORMA_PACKET_SEQUENCE_FLAGS of that packet to ORMA_SEQUENCE_STATE_CLEARED.
 */
ORMA_API bool orma_packet_take_needs_state(struct orma_packet *packet);
/**
 * orma_packet_thread_state(), orma_packet_incremental_state() - this thread's state for the
 * packet's instance.
 *
 * Creates the state if there is none. Returns what the create callback returned, or NULL without
 * such a callback. Valid until the packet ends. If the incremental state is new, the caller has to
 * emit what it describes, and to set ORMA_PACKET_SEQUENCE_FLAGS of that packet to
 * ORMA_SEQUENCE_STATE_CLEARED.
 */
ORMA_API void *orma_packet_thread_state(struct orma_packet *packet);
ORMA_API void *orma_packet_incremental_state(struct orma_packet *packet);
/**
 * orma_data_source_lock_instance() - get the instance's context (stored by on_setup), which is
 * valid until orma_data_source_unlock_instance().
 *
 * While it is locked, other threads that lock it wait, and so does on_destroy: keep that short.
 * Returns false if there is no such instance. Do not lock twice on one thread, nor in on_setup or
 * on_destroy.
 */
ORMA_API bool orma_data_source_lock_instance(struct orma_data_source *source, uint32_t idx,
					     void **ret_ctx);
ORMA_API void orma_data_source_unlock_instance(struct orma_data_source *source, uint32_t idx);
/** Commits the calling thread's unfinished chunk to the service. */
ORMA_API void orma_data_source_flush_thread(struct orma_data_source *source, uint32_t idx);
/** Packets that this process dropped for this instance since it started. */
ORMA_API uint64_t orma_data_source_dropped(const struct orma_data_source *source, uint32_t idx);

#ifdef __cplusplus
}
#endif
#endif
