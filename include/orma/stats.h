/* SPDX-License-Identifier: Apache-2.0
 * orma/stats.h - counts of a session's data: sizes, and every loss with its reason.
 *
 * orma_session_read_stats() returns the struct. orma_trace_stats_parse() makes it from a serialized
 * TraceStats message, which orma_session_get_stats() and orma_consumer_port_get_stats() return and
 * the trace itself contains (TracePacket.trace_stats). A number that a service does not count is 0.
 * All numbers are totals since the session began.
 *
 * Threads: plain data; the functions are MT-safe.
 * Builds:  a library that was built with ORMA_PRODUCER_ONLY has none of these functions.
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
	uint64_t overwritten_bytes;  /* in a ring buffer, overwritten before they were read */
	uint64_t chunks_overwritten; /* the same in chunks */
	uint64_t chunks_discarded;   /* dropped because a buffer with the policy DISCARD was full */
	uint64_t packets_not_written; /* dropped by producers whose shared memory was full */
	uint64_t patches_failed;      /* for a chunk that was gone already */
	uint64_t chunks_malformed;    /* violated the layout of the shared memory */
	/* Other counts: */
	uint64_t wraps;            /* times that writing reached the end and began at the start */
	uint64_t patches_applied;  /* completed a chunk after it was copied */
	uint64_t chunks_rewritten; /* copied again, with more packets than the first time */
	uint64_t chunks_relocated; /* rewritten at the end of the ring instead of in place */
	uint64_t chunks_out_of_order;   /* arrived after a later chunk of their thread */
	uint64_t packets_joined;        /* packets of several chunks that were read whole */
	uint64_t packets_waited_for;    /* packets that were incomplete when they were to be read */
	uint64_t padding_bytes_written; /* bytes of chunks beyond their content */
	uint64_t padding_bytes_released; /* such bytes that were overwritten */
};

enum orma_final_flush {
	ORMA_FINAL_FLUSH_UNKNOWN = 0, /* the session still runs, or the service does not tell */
	ORMA_FINAL_FLUSH_SUCCEEDED = 1,
	ORMA_FINAL_FLUSH_FAILED = 2, /* a producer did not answer in time */
};

struct orma_trace_stats {
	size_t struct_size; /* set by the library: members beyond it do not exist */
	/* All losses. If both are 0, everything that was committed is in the trace. */
	uint64_t lost_packets; /* dropped because the shared memory was full, or invalid */
	uint64_t
		lost_chunks; /* overwritten, discarded or malformed; a chunk can hold many packets */

	uint64_t chunks_refused;  /* committed to a buffer that the producer may not write to */
	uint64_t patches_refused; /* the same for patches */
	uint64_t packets_invalid; /* contained fields that only the service may set */
	uint64_t flushes_requested, flushes_succeeded, flushes_failed;
	enum orma_final_flush final_flush;

	/* These count the whole service, not only this session. */
	uint32_t producers_connected, data_sources_registered, sessions, buffers_in_all;
	uint64_t producers_seen, data_sources_seen; /* since the service began */

	/* The trace filter; all 0 without one. */
	uint64_t filter_packets_in, filter_bytes_in, filter_bytes_out, filter_errors;
	uint64_t filter_time_ns;

	size_t buffer_count;
	const struct orma_buffer_stats *const *buffers; /* in the order of the config */
};

/**
 * orma_trace_stats_parse() - decode a serialized TraceStats message.
 * @ret: set on success only; owned by the caller, see orma_trace_stats_free().
 *
 * Returns 0, -EBADMSG (`data` does not decode), -EMSGSIZE (more than 4,096 buffers), -EINVAL,
 * -ENOMEM.
 */
ORMA_API int orma_trace_stats_parse(const void *data, size_t size, struct orma_trace_stats **ret);
/** orma_trace_stats_free() - free the struct and its buffers. NULL is fine. */
ORMA_API void orma_trace_stats_free(struct orma_trace_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
