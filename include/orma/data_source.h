/* SPDX-License-Identifier: Apache-2.0
 * orma/data_source.h - custom data sources: packets of your own format, switched on by tracing
 * sessions.
 *
 * A data source is registered once. Each session that names it makes an *instance* of it: setup,
 * start, then stop. Instances have an index 0..ORMA_INSTANCES_MAX-1 for as long as they exist.
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
 * A session that is stopped, and a service that goes away, stop the instances: both start with
 * on_stop and end with on_destroy, and packets may be written in between. At most
 * ORMA_DATA_SOURCES_MAX (32) data sources per process.
 *
 * Threads: callbacks run on the library's thread (or inside orma_dispatch()), one at a time.
 *          Emitting is MT-safe and takes no lock; each thread writes to a sequence of its own.
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
	/* shared memory full: drop the packet, count it, mark the gap in the trace */
	ORMA_EXHAUSTED_DROP = 0,
	/* wait for room up to stall_timeout_ms, then drop until there is room; never abort, also when
	 * the config says so */
	ORMA_EXHAUSTED_STALL = 1,
};

/* What a callback is told about the instance. Valid during the callback. */
struct orma_instance {
	size_t struct_size;
	struct orma_data_source *source;
	uint32_t idx;
	void *instance_ctx; /* what on_setup stored */
	/* serialized DataSourceConfig, to be read with orma/field.h; setup and start only */
	const void *config;
	size_t config_size;
	uint64_t flush_flags; /* flush only */
	/* stop and flush only: hand it to orma_data_source_complete() after postponing */
	uint64_t completion;
};

enum orma_completion {
	ORMA_COMPLETE = 0, /* done when the callback returns */
	ORMA_POSTPONE = 1, /* done at orma_data_source_complete() */
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
	/* The service asks by time, or each time that a share of a ring buffer was written. So what
	 * this writes at once should be little, or limited in time: it may lead to the next call. */
	void (*on_clear_incremental_state)(void *ctx, const struct orma_instance *instance);
	void (*on_destroy)(void *ctx, const struct orma_instance *instance);
	/* Services are not told when an instance has stopped, and do not wait for that. */
	bool no_stop_notice;
	/*
	 * What each thread keeps for an instance: made when orma_packet_thread_state() or
	 * orma_packet_incremental_state() asks for it, on that thread; deleted when the instance
	 * has stopped or the thread ends, on any thread, and at the latest with the source, unless
	 * a packet of it never ends. The incremental state stands for what the reader of the
	 * sequence knows: it is cleared (false or no function: deleted and made anew) when the
	 * service asks for that and after each loss. They may call nothing of this library.
	 */
	void *(*create_thread_state)(void *ctx, struct orma_data_source *source, uint32_t idx);
	void (*delete_thread_state)(void *ctx, void *state);
	void *(*create_incremental_state)(void *ctx, struct orma_data_source *source, uint32_t idx);
	bool (*clear_incremental_state)(void *ctx, void *state);
	void (*delete_incremental_state)(void *ctx, void *state);
	/*
	 * May an instance that orma_startup_tracing() began with one DataSourceConfig go on as one
	 * of a session with another? NULL = if they are equal but for what the service fills in.
	 */
	bool (*may_adopt)(void *ctx, const void *startup_config, size_t startup_size,
			  const void *config, size_t size);
};

/**
 * orma_data_source_register() - offer a data source to all present and future connections.
 *
 * Returns 0, -EINVAL (no name, struct_size), -EEXIST, -ENOSPC (ORMA_DATA_SOURCES_MAX),
 * -EMSGSIZE (name and descriptor are more than 126 KiB: they travel in one frame), -ENOMEM,
 * -ENOTCONN (before orma_init()). The handle lives until orma_data_source_unregister() or
 * orma_shutdown().
 */
ORMA_API int orma_data_source_register(const struct orma_data_source_options *options,
				       struct orma_data_source **ret);
/**
 * orma_data_source_unregister() - stop its instances (on_stop, on_destroy) and withdraw it.
 *
 * Other threads may be emitting to it or exiting: packets that are open and the functions that
 * delete their states are waited for, at most 200 ms, and what comes later does nothing. The handle
 * may be used so until 32 sources of other names were unregistered, or orma_shutdown(); the same
 * name gets it again when it is registered. Until then unregistering it again does nothing, as with
 * NULL. Not from callbacks, nor inside a packet.
 * What callbacks postpone counts as complete, and orma_data_source_complete() must not be called
 * any more. With caller_drives: on the thread that dispatches. (Where the kernel or its filters
 * have no membarrier(), no other thread may be emitting.)
 */
ORMA_API void orma_data_source_unregister(struct orma_data_source *source);
/** Replaces the further descriptor fields. 0, -EINVAL (also: unregistered), -EMSGSIZE (as at
 * registration), -ENOTCONN, -ENOMEM. */
ORMA_API int orma_data_source_update(struct orma_data_source *source, const void *descriptor,
				     size_t size);
/**
 * Completes a postponed stop or flush; MT-safe, also from inside the callback. Unknown numbers are
 * ignored.
 */
ORMA_API void orma_data_source_complete(struct orma_data_source *source, uint64_t completion);

/** Bit i set = instance i is started; 0 for NULL. One relaxed load. */
ORMA_API uint32_t orma_data_source_started(const struct orma_data_source *source);
/* A loop and nothing else, so that an `else` behind its body belongs to the `if` in front of it. */
/* NOLINTBEGIN(bugprone-macro-parentheses): the index is a name, declared here */
#define ORMA_FOR_EACH_INSTANCE(source, idx)                                                        \
	for (uint32_t orma_bits_of_##idx = orma_data_source_started(source), idx = 0;              \
	     orma_bits_of_##idx                                                                    \
		     ? ((idx) = ORMA_CAST_(uint32_t, __builtin_ctz(orma_bits_of_##idx)), 1)        \
		     : 0;                                                                          \
	     orma_bits_of_##idx &= orma_bits_of_##idx - 1)
/* NOLINTEND(bugprone-macro-parentheses) */

/**
 * orma_packet_begin(), orma_packet_end() - one packet to the calling thread's sequence of an
 * instance.
 *
 * Returns NULL when the instance is not started or a packet of it is open on this thread. errno is
 * preserved.
 */
ORMA_API struct orma_packet *orma_packet_begin(struct orma_data_source *source, uint32_t idx);
ORMA_API void orma_packet_end(struct orma_packet *packet);
/**
 * True once after the instance started on this sequence and after each loss or clearing of
 * incremental state: the caller has to emit its interned data and descriptors anew, and set
 * ORMA_PACKET_SEQUENCE_FLAGS to ORMA_SEQUENCE_STATE_CLEARED on that packet.
 */
ORMA_API bool orma_packet_take_needs_state(struct orma_packet *packet);
/**
 * orma_packet_thread_state(), orma_packet_incremental_state() - what this thread keeps for the
 * packet's instance.
 *
 * What the callback returned that made it, which may be now; NULL without one. Valid until the
 * packet ends. When the incremental state is new, the caller has to emit what it stands for, and
 * set ORMA_PACKET_SEQUENCE_FLAGS to ORMA_SEQUENCE_STATE_CLEARED on that packet.
 */
ORMA_API void *orma_packet_thread_state(struct orma_packet *packet);
ORMA_API void *orma_packet_incremental_state(struct orma_packet *packet);
/**
 * orma_data_source_lock_instance() - the instance's context (on_setup's), safe to use until
 * orma_data_source_unlock_instance().
 *
 * Meanwhile no other thread gets it, and its on_destroy waits: keep that short. False when there is
 * no such instance. Not twice by one thread, and not from on_setup and on_destroy.
 */
ORMA_API bool orma_data_source_lock_instance(struct orma_data_source *source, uint32_t idx,
					     void **ret_ctx);
ORMA_API void orma_data_source_unlock_instance(struct orma_data_source *source, uint32_t idx);
/** Hands the calling thread's unfinished chunk to the service. */
ORMA_API void orma_data_source_flush_thread(struct orma_data_source *source, uint32_t idx);
/** Packets that this process dropped for this instance since it started. */
ORMA_API uint64_t orma_data_source_dropped(const struct orma_data_source *source, uint32_t idx);

#ifdef __cplusplus
}
#endif
#endif
