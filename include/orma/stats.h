/* SPDX-License-Identifier: Apache-2.0
 * orma/stats.h - what became of a session's data: sizes, and every loss with its reason.
 *
 * Where the numbers come from: orma_session_read_stats(), or orma_trace_stats_parse() for a
 * serialized TraceStats message, which orma_session_get_stats(), orma_consumer_port_get_stats() and
 * the trace itself (TracePacket.trace_stats) have. What a service does not count is 0. All numbers
 * are totals since the session began.
 *
 * Threads: plain data; the functions are MT-safe.
 */
#ifndef ORMA_STATS_H
#define ORMA_STATS_H

#include <orma/api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One trace buffer of the config. A chunk is the part of a page that one thread fills. */
struct orma_buffer_stats {
	size_t struct_size;
	uint64_t size_bytes;
	uint64_t written_bytes, read_bytes;
	uint64_t chunks_written, chunks_read;
	/* Lost: */
	uint64_t overwritten_bytes;   /* of a ring buffer: the oldest, before anybody read them */
	uint64_t chunks_overwritten;  /* the same in chunks */
	uint64_t chunks_discarded;    /* of a buffer with the policy DISCARD: it was full */
	uint64_t packets_not_written; /* producers found no room in the shared memory */
	uint64_t patches_failed;      /* the chunk to be completed was gone already */
	uint64_t chunks_malformed;    /* broke the layout of the shared memory */
	/* How it went otherwise: */
	uint64_t wraps;                  /* writing began again at the start */
	uint64_t patches_applied;        /* chunks completed after they were copied */
	uint64_t chunks_rewritten;       /* copied again, with more packets than the first time */
	uint64_t chunks_relocated;       /* of those: to the end instead of in place */
	uint64_t chunks_out_of_order;    /* arrived after a later one of their thread */
	uint64_t packets_joined;         /* of several chunks, and read whole */
	uint64_t packets_waited_for;     /* the same, not whole yet when they were to be read */
	uint64_t padding_bytes_written;  /* by which chunks were larger than their content */
	uint64_t padding_bytes_released; /* overwritten of those */
};

enum orma_final_flush {
	ORMA_FINAL_FLUSH_UNKNOWN = 0, /* the session goes on, or the service does not say */
	ORMA_FINAL_FLUSH_SUCCEEDED = 1,
	ORMA_FINAL_FLUSH_FAILED = 2, /* somebody did not answer in time */
};

struct orma_trace_stats {
	size_t struct_size; /* set by the library: members beyond it do not exist */
	/* Losses in all: 0 and 0 say that everything that was committed is in the trace. */
	uint64_t lost_packets; /* not written for want of shared memory, or not valid */
	uint64_t lost_chunks;  /* overwritten, discarded, malformed; each may hold many packets */

	uint64_t chunks_refused;  /* committed to a buffer that the producer has no right to */
	uint64_t patches_refused; /* the same for patches */
	uint64_t packets_invalid; /* set fields that only the service may set */
	uint64_t flushes_requested, flushes_succeeded, flushes_failed;
	enum orma_final_flush final_flush;

	/* The service as a whole, not this session alone. */
	uint32_t producers_connected, data_sources_registered, sessions, buffers_in_all;
	uint64_t producers_seen, data_sources_seen; /* since the service began */

	/* The trace filter; all 0 without one. */
	uint64_t filter_packets_in, filter_bytes_in, filter_bytes_out, filter_errors;
	uint64_t filter_time_ns;

	size_t buffer_count;
	const struct orma_buffer_stats *const *buffers; /* in the order of the config */
};

/**
 * orma_trace_stats_parse() - a serialized TraceStats message as a struct.
 * @ret: set on success only; owned by the caller, see orma_trace_stats_free().
 *
 * Returns 0, -EBADMSG (`data` does not decode), -EMSGSIZE (more than 4,096 buffers), -EINVAL,
 * -ENOMEM.
 */
ORMA_API int orma_trace_stats_parse(const void *data, size_t size, struct orma_trace_stats **ret);
/** orma_trace_stats_free() - frees the struct and its buffers. NULL is fine. */
ORMA_API void orma_trace_stats_free(struct orma_trace_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
