/* SPDX-License-Identifier: Apache-2.0
 * converted_packets.h - packets that a conversion has just written, for an index that does not read them again.
 */
#ifndef ORMA_TRACE_CONVERTED_PACKETS_H
#define ORMA_TRACE_CONVERTED_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The time of an event, and its order among those of one time; see conversion_fields.h. */
struct orma_event_place {
	int64_t ns;
	uint32_t order;
};

/* Neighbouring packets of one sequence, each of them a record and nothing else; see event_record.h. */
struct orma_record_run {
	size_t offset; /* in the packets' bytes */
	size_t size;
	uint32_t sequence, count;
	struct orma_event_place first, last;
	int64_t max_ns;
	bool is_disordered; /* a place is before the one before it */
};

/* Whole packets, which are in the spool at `address`. `runs` are in their order, and need not be all. */
struct orma_converted_packets {
	const uint8_t *data;
	size_t size;
	uint64_t address;
	const struct orma_record_run *runs;
	size_t run_count;
};

/* 0 or a negative errno value, which ends the conversion. */
typedef int orma_converted_fn(void *ctx, const struct orma_converted_packets *packets);

static inline bool orma_event_place_is_before(const struct orma_event_place *a,
					      const struct orma_event_place *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

#endif
