/* SPDX-License-Identifier: Apache-2.0
 * ordered_read.c - merges the cursors of all sequences and lanes with a heap.
 *
 * Each source is ascending by itself, so the heap has one entry a source: its next event's key. The source at the top gives
 * events until one is later than the second of the heap, which is some hundred events for a busy thread; then it sinks to its
 * place. Invariant: heap[0] has the smallest key, (time, rank, address), and each parent's key is not larger than its
 * children's.
 *
 * Memory is a window of some kilobytes for each source, and one unpacked bundle for each lane. Rejected: a sorter for all
 * events, which needs memory for each; see packet_index.c.
 */
#include "trace/ordered_read.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "trace/packet_cursor.h"

enum {
	WINDOW_MAX_BYTES = 64 << 10,
	WINDOW_MIN_BYTES = 4 << 10,
	WINDOWS_BYTES = 16 << 20, /* all sources together */
};

/* The kernel events of a lane; one bundle is unpacked at a time. */
struct lane_cursor {
	const struct orma_lane *lane;
	uint32_t bundle_idx; /* the next bundle */
	uint32_t machine_idx;
	struct orma_bundle_events events;
	uint32_t event_idx, switch_idx, waking_idx;
	struct orma_trace_window window;
	uint64_t address;
};

/* All untimed packets of the trace, which are ascending. */
struct untimed_cursor {
	uint32_t idx;
	struct orma_trace_window window;
	struct orma_packet packet;
	struct orma_sequence_state state;
};

enum source_kind { SOURCE_SEQUENCE, SOURCE_LANE, SOURCE_UNTIMED };

struct source {
	enum source_kind kind;
	uint32_t lane_idx;
	union {
		struct orma_packet_cursor *packets;
		struct lane_cursor *lane;
		struct untimed_cursor *untimed;
	};
};

struct heap_entry {
	int64_t ns;
	uint64_t address;
	uint32_t rank;
	enum orma_ordered_kind event_kind;
	struct source *source;
};

struct merge {
	struct orma_packet_index *index;
	struct source *sources;
	struct heap_entry *heap;
	uint32_t source_count, heap_count;
	orma_ordered_fn *fn;
	void *ctx;
};

static bool is_before(const struct heap_entry *a, const struct heap_entry *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->address < b->address;
}

static void sink(struct merge *merge, uint32_t idx)
{
	if (merge->heap_count == 0)
		return;
	struct heap_entry entry = merge->heap[idx];
	for (;;) {
		uint32_t child = idx * 2 + 1;
		if (child >= merge->heap_count)
			break;
		if (child + 1 < merge->heap_count &&
		    is_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!is_before(&merge->heap[child], &entry))
			break;
		merge->heap[idx] = merge->heap[child];
		idx = child;
	}
	merge->heap[idx] = entry;
}

/* Unpacks the next bundle that has events. 1, 0 (there is none), or a negative errno value. */
static int open_bundle(struct merge *merge, struct lane_cursor *cursor)
{
	while (cursor->bundle_idx < cursor->lane->bundle_count) {
		const struct orma_bundle *bundle = &cursor->lane->bundles[cursor->bundle_idx++];
		struct orma_packet packet;
		const uint8_t *data;
		int r = orma_trace_window_read(&cursor->window, merge->index->input,
					       bundle->address, bundle->size, bundle->size, &data);
		if (r <= 0)
			return r < 0 ? r : -EIO;
		if (orma_trace_packet_read(data, bundle->size, &packet) < 0)
			return -EIO;
		uint64_t key = (uint64_t)cursor->machine_idx << 32 | packet.sequence;
		const struct orma_sequence *sequence =
			orma_base_map_get(&merge->index->sequence_map, key);
		if (!sequence)
			return -EIO;
		r = orma_bundle_events_read(&cursor->events, &merge->index->clocks, sequence,
					    &packet, bundle->snapshots);
		if (r < 0)
			return r;
		cursor->address = bundle->address;
		cursor->event_idx = cursor->switch_idx = cursor->waking_idx = 0;
		if (cursor->events.event_count + cursor->events.switch_count +
			    cursor->events.waking_count >
		    0)
			return 1;
	}
	return 0;
}

/* Finds the lane's next event. When times are equal, plain events come first, then switches, then wakings. */
static int next_of_lane(struct merge *merge, struct source *source, struct heap_entry *ret)
{
	struct lane_cursor *cursor = source->lane;
	const struct orma_bundle_events *events = &cursor->events;
	if (cursor->event_idx == events->event_count &&
	    cursor->switch_idx == events->switch_count &&
	    cursor->waking_idx == events->waking_count) {
		int r = open_bundle(merge, cursor);
		if (r <= 0)
			return r;
	}
	ret->ns = INT64_MAX;
	uint32_t kind = 3;
	if (cursor->waking_idx < events->waking_count) {
		ret->ns = events->wakings[cursor->waking_idx].ns;
		kind = 2;
	}
	if (cursor->switch_idx < events->switch_count &&
	    events->switches[cursor->switch_idx].ns <= ret->ns) {
		ret->ns = events->switches[cursor->switch_idx].ns;
		kind = 1;
	}
	if (cursor->event_idx < events->event_count &&
	    events->events[cursor->event_idx].ns <= ret->ns) {
		ret->ns = events->events[cursor->event_idx].ns;
		kind = 0;
	}
	ret->rank = ORMA_RANK_FTRACE + source->lane_idx * 3 + kind;
	ret->address = cursor->address;
	ret->event_kind = (enum orma_ordered_kind)(ORMA_ORDERED_KERNEL_EVENT + kind);
	return 1;
}

static int next_untimed(struct merge *merge, struct untimed_cursor *cursor, struct heap_entry *ret)
{
	if (cursor->idx == merge->index->untimed_count)
		return 0;
	const struct orma_untimed *untimed = &merge->index->untimed[cursor->idx++];
	const uint8_t *data;
	int r = orma_trace_window_read(&cursor->window, merge->index->input, untimed->address,
				       untimed->size, untimed->size, &data);
	if (r <= 0 || orma_trace_packet_read(data, untimed->size, &cursor->packet) < 0)
		return r < 0 ? r : -EIO;
	cursor->packet.address = untimed->address;
	if (cursor->state.sequence != untimed->sequence) {
		orma_sequence_state_done(&cursor->state);
		cursor->state = (struct orma_sequence_state){.input = merge->index->input,
							     .sequence = untimed->sequence};
	}
	ret->ns = untimed->ns;
	ret->rank = ORMA_RANK_PACKET;
	ret->address = untimed->address;
	ret->event_kind = ORMA_ORDERED_PACKET;
	return 1;
}

/* Goes to the source's next event. 1, 0 (there is none), or a negative errno value. */
static int next_of_source(struct merge *merge, struct source *source, struct heap_entry *ret)
{
	struct orma_packet_cursor *packets = source->packets;
	int r;
	ret->source = source;
	switch (source->kind) {
	case SOURCE_LANE:
		return next_of_lane(merge, source, ret);
	case SOURCE_UNTIMED:
		return next_untimed(merge, source->untimed, ret);
	case SOURCE_SEQUENCE:
		break;
	}
	r = orma_packet_cursor_next(packets);
	if (r <= 0)
		return r;
	ret->ns = packets->ns;
	ret->rank = packets->rank;
	ret->address = packets->packet.address;
	ret->event_kind = packets->rank == ORMA_RANK_TRACK_EVENT ? ORMA_ORDERED_TRACK_EVENT
								 : ORMA_ORDERED_PACKET;
	return 1;
}

static void take_from_lane(struct lane_cursor *cursor, struct orma_ordered_event *event)
{
	event->cpu = cursor->lane->cpu;
	event->machine_idx = cursor->lane->machine_idx;
	event->address = cursor->address;
	if (event->kind == ORMA_ORDERED_KERNEL_EVENT)
		event->kernel_event = &cursor->events.events[cursor->event_idx++];
	else if (event->kind == ORMA_ORDERED_SWITCH)
		event->compact_switch = &cursor->events.switches[cursor->switch_idx++];
	else
		event->compact_waking = &cursor->events.wakings[cursor->waking_idx++];
}

static int deliver(struct merge *merge, const struct heap_entry *entry)
{
	struct source *source = entry->source;
	struct orma_ordered_event event = {.kind = entry->event_kind, .ns = entry->ns};
	if (source->kind == SOURCE_LANE) {
		take_from_lane(source->lane, &event);
		return merge->fn(merge->ctx, &event);
	}
	bool is_untimed = source->kind == SOURCE_UNTIMED;
	event.packet = is_untimed ? &source->untimed->packet : &source->packets->packet;
	event.state = is_untimed ? &source->untimed->state : &source->packets->state;
	event.machine_idx = event.state->sequence->machine_idx;
	event.address = event.packet->address;
	int r = orma_sequence_state_move(event.state, event.address);
	return r < 0 ? r : merge->fn(merge->ctx, &event);
}

/* True when the heap's first entry is before all others. */
static bool is_first(const struct merge *merge)
{
	for (uint32_t child = 1; child < ORMA_MIN(merge->heap_count, 3u); child++)
		if (merge->heap[child].ns <= merge->heap[0].ns &&
		    is_before(&merge->heap[child], &merge->heap[0]))
			return false;
	return true;
}

static int run(struct merge *merge)
{
	while (merge->heap_count > 0) {
		int r = deliver(merge, &merge->heap[0]);
		if (r == 0)
			r = next_of_source(merge, merge->heap[0].source, &merge->heap[0]);
		if (r < 0)
			return r;
		if (r == 0)
			merge->heap[0] = merge->heap[--merge->heap_count];
		/* Most events are followed by another one of their source. */
		if (r == 0 || !is_first(merge))
			sink(merge, 0);
	}
	return 0;
}

static struct source *add_source(struct merge *merge, enum source_kind kind, size_t size)
{
	struct source *source = &merge->sources[merge->source_count];
	source->kind = kind;
	source->packets = orma_base_zalloc(size);
	if (!source->packets)
		return NULL;
	merge->source_count++;
	return source;
}

static int open_sources(struct merge *merge)
{
	struct orma_packet_index *index = merge->index;
	size_t ahead = WINDOWS_BYTES / ((size_t)index->sequence_count + 1);
	ahead = ORMA_MIN(ORMA_MAX(ahead, (size_t)WINDOW_MIN_BYTES), (size_t)WINDOW_MAX_BYTES);
	for (uint32_t i = 0; i < index->sequence_count; i++) {
		struct source *source =
			add_source(merge, SOURCE_SEQUENCE, sizeof(struct orma_packet_cursor));
		int r = source ? orma_packet_cursor_init(source->packets, index,
							 index->sequences[i], ahead)
			       : -ENOMEM;
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < index->lane_count; i++) {
		struct source *source = add_source(merge, SOURCE_LANE, sizeof(struct lane_cursor));
		if (!source)
			return -ENOMEM;
		source->lane_idx = i;
		source->lane->lane = index->lanes[i];
		source->lane->machine_idx = index->lanes[i]->machine_idx;
	}
	return add_source(merge, SOURCE_UNTIMED, sizeof(struct untimed_cursor)) ? 0 : -ENOMEM;
}

static int fill_heap(struct merge *merge)
{
	for (uint32_t i = 0; i < merge->source_count; i++) {
		int r = next_of_source(merge, &merge->sources[i], &merge->heap[merge->heap_count]);
		if (r < 0)
			return r;
		merge->heap_count += r > 0;
	}
	for (uint32_t i = merge->heap_count / 2; i-- > 0;)
		sink(merge, i);
	return 0;
}

static void close_source(struct source *source)
{
	switch (source->kind) {
	case SOURCE_SEQUENCE:
		orma_packet_cursor_done(source->packets);
		break;
	case SOURCE_LANE:
		orma_bundle_events_done(&source->lane->events);
		orma_trace_window_done(&source->lane->window);
		break;
	case SOURCE_UNTIMED:
		orma_sequence_state_done(&source->untimed->state);
		orma_trace_window_done(&source->untimed->window);
		break;
	}
	orma_base_free(source->packets);
}

int orma_ordered_read(struct orma_packet_index *index, orma_ordered_fn *fn, void *ctx)
{
	struct merge merge = {.index = index, .fn = fn, .ctx = ctx};
	size_t count = (size_t)index->sequence_count + index->lane_count + 1;
	merge.sources = orma_base_alloc_array(count, sizeof(*merge.sources));
	merge.heap = orma_base_alloc_array(count, sizeof(*merge.heap));
	int r = merge.sources && merge.heap ? open_sources(&merge) : -ENOMEM;
	if (r == 0)
		r = fill_heap(&merge);
	if (r == 0)
		r = run(&merge);
	for (uint32_t i = 0; i < merge.source_count; i++)
		close_source(&merge.sources[i]);
	orma_base_free(merge.sources);
	orma_base_free(merge.heap);
	return r;
}
