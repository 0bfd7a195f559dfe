/* SPDX-License-Identifier: Apache-2.0
 * event_batch.h - some thousand events on their way from the merge to the importer, with all that they refer to.
 *
 * The merge fills a batch while the importer works through the one before. So both run on a thread of their own where there are
 * two CPUs, and nothing that an event points to belongs to the other thread.
 */
#ifndef ORMA_TRACE_EVENT_BATCH_H
#define ORMA_TRACE_EVENT_BATCH_H

#include "base/buf.h"
#include "trace/open_bundle.h"
#include "trace/ordered_read.h"

enum { ORMA_BATCH_EVENTS = 2048, ORMA_BATCH_BYTES = 256 << 10, ORMA_SMALL_PACKET_BYTES = 29 };

/* `data` and `content` of a packet are places in the batch's bytes. */
struct orma_batched_event {
	int64_t ns;
	uint64_t address; /* the packet's, or that of the bundle's packet */
	uint32_t source;  /* index of the sequence, of the lane, or among the untimed packets */
	uint32_t header;  /* the packet's */
	uint8_t kind;     /* enum orma_ordered_kind */
	bool is_untimed;
	bool is_usual;  /* a packet with a time, a sequence and a track event, and nothing else */
	bool is_plain;  /* the event of a usual packet */
	bool is_small;  /* a usual packet whose event is read by the importer */
	bool is_record; /* a usual packet with a record, of which only the numbers are copied */
	union {
		struct {
			uint32_t data, size;
			uint32_t content, content_size; /* for a usual packet */
		} packet;
		struct orma_plain_event plain;
		struct {
			uint8_t size, content, content_size; /* `content` is a place in `bytes` */
			char bytes[ORMA_SMALL_PACKET_BYTES];
		} small;
		/* In a bundle that this batch or a later one owns. */
		const struct orma_kernel_event *kernel_event;
		const struct orma_compact_switch *compact_switch;
		const struct orma_compact_waking *compact_waking;
	};
};

/* {0} is empty; orma_event_batch_init() makes room. */
struct orma_event_batch {
	struct orma_batched_event *events;
	size_t count;
	struct orma_noted_arg *args; /* room for those of all events */
	size_t arg_count;
	struct orma_buf bytes;
	struct orma_open_bundle *bundles; /* they have their last event in this batch */
	uint64_t read_bytes;              /* how much of the trace was read for it */
	bool needs_bytes;                 /* no packet is plain, as the bytes of all are needed */
	bool leaves_reading;              /* small packets are read by the importer */
};

/* 0 or -ENOMEM. */
int orma_event_batch_init(struct orma_event_batch *batch);
void orma_event_batch_done(struct orma_event_batch *batch);
static inline void orma_event_batch_clear(struct orma_event_batch *batch)
{
	batch->count = batch->arg_count = batch->bytes.size = 0;
}

static inline bool orma_event_batch_is_full(const struct orma_event_batch *batch)
{
	return batch->count == ORMA_BATCH_EVENTS || batch->bytes.size >= ORMA_BATCH_BYTES;
}

/* Adds an event to a batch that is not full, and copies its bytes, unless it is plain. 0 or -ENOMEM. */
int orma_event_batch_add_packet(struct orma_event_batch *batch, const struct orma_packet *packet,
				int64_t ns, uint32_t source, bool is_untimed);
/* Adds an event of a bundle to a batch that is not full; the caller says which. */
static inline struct orma_batched_event *orma_event_batch_add(struct orma_event_batch *batch,
							      enum orma_ordered_kind kind,
							      int64_t ns, uint64_t bundle,
							      uint32_t lane)
{
	struct orma_batched_event *event = &batch->events[batch->count++];
	event->ns = ns;
	event->address = bundle;
	event->source = lane;
	event->kind = (uint8_t)kind;
	return event;
}

/* Gives the events of batches to a function, with the states of the sequences that they are of. */
struct orma_batch_reader {
	const struct orma_packet_index *index;
	orma_ordered_fn *fn;
	void *ctx;
	struct orma_sequence_state *states; /* by sequence */
	struct orma_sequence_state untimed; /* the state at the last untimed packet */
	struct orma_packet plain, usual,
		record; /* the packets of the last plain event, the last other of a usual packet, and the last record */
	struct orma_noted_arg noted[ORMA_KEPT_ARGS_MAX]; /* arguments of the last small packet */
};

/* `index`, `fn` and `ctx` are set, all else is 0. 0 or -ENOMEM. */
int orma_batch_reader_init(struct orma_batch_reader *reader);
void orma_batch_reader_done(struct orma_batch_reader *reader);
/* Gives all events of a batch to the function. 0, or its negative value, or an error of reading. */
int orma_batch_reader_take(struct orma_batch_reader *reader, const struct orma_event_batch *batch);

#endif
