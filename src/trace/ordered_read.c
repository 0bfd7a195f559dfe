/* SPDX-License-Identifier: Apache-2.0
 * ordered_read.c - merges the cursors of all sequences and lanes with a tree of losers.
 *
 * Each source is ascending by itself, so the tree has one leaf a source: its next event's key, (time, rank, address). Invariants: a
 * node other than the first holds the loser of the match between its two sides, and the first one the winner of all; a source without
 * more events has the largest key of all. After the winner has moved on, it is matched against the losers on its way up, which
 * is one comparison a level. Threads of a busy trace take turns at random, so the comparison is done without a branch: a node
 * keeps the time and the source as one number.
 *
 * Events of one time come in the order of their ranks, but those of the CPU and kind that were read last come first. Perfetto
 * sorts so, and what an event means may depend on the event before it.
 *
 * Memory is a window of some kilobytes for each source, blocks for those that take turns packet by packet, and one unpacked
 * bundle for each lane, besides those that are on their way. Rejected: a sorter for all
 * events, which needs memory for each; see packet_index.c. Also rejected: a heap, which compares twice a level.
 */
#include "trace/ordered_read.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "trace/open_bundle.h"
#include "trace/packet_cursor.h"
#include "trace/read_ahead.h"

enum {
	WINDOW_MAX_BYTES = 64 << 10,
	WINDOW_MIN_BYTES = 4 << 10,
	WINDOWS_BYTES = 16 << 20, /* all sources together */
	THREAD_BYTES = 2 << 20,   /* less takes less time than starting a thread is worth */
};

/* The kernel events of a lane; one bundle is unpacked at a time. */
struct lane_cursor {
	const struct orma_lane *lane;
	uint32_t bundle_idx; /* the next bundle */
	uint32_t machine_idx;
	struct orma_open_bundle *bundle; /* the one at hand; NULL = none yet */
	uint32_t event_idx, switch_idx, waking_idx;
	int64_t other_ns; /* the first event at hand that is not a switch; INT64_MAX = there is none */
	uint64_t address;
};

/* All untimed packets of the trace, which are ascending. */
struct untimed_cursor {
	uint32_t idx;
	struct orma_trace_window window;
	struct orma_packet packet;
};

enum source_kind { SOURCE_SEQUENCE, SOURCE_LANE, SOURCE_UNTIMED };

struct source {
	enum source_kind kind;
	uint32_t idx; /* the sequence's or the lane's */
	union {
		struct orma_packet_cursor *packets;
		struct lane_cursor *lane;
		struct untimed_cursor *untimed;
	};
};

struct key {
	int64_t ns;
	uint64_t address;
	uint32_t rank;
};

static const struct key last_key = {INT64_MAX, UINT64_MAX, UINT32_MAX};

struct merge {
	struct orma_packet_index *index;
	struct source *sources;
	uint32_t source_count;
	struct key *keys; /* by source; leaves without a source have the last key */
	uint64_t *tree;   /* codes of sources: the winner, and the losers of the nodes from 1 on */
	uint32_t leaf_count; /* 2 or more; leaf N is below the node (N + leaf_count) / 2 */
	unsigned source_bits;
	int64_t base_ns;     /* the first event of all */
	uint64_t read_bytes; /* since the last batch */
	struct orma_trace_blocks blocks;
	struct orma_open_bundle *closed; /* the batch at hand has their last events */
	struct orma_open_bundle *spare;
};

/* The time of a source's next event since the first of all, as large as fits, and the source. Codes with different times are
 * ordered as their keys are; if times are equal, the keys say which event is first. */
static inline uint64_t code_of(const struct merge *merge, uint32_t source)
{
	int64_t ns = merge->keys[source].ns;
	uint64_t since = ns > merge->base_ns ? (uint64_t)ns - (uint64_t)merge->base_ns : 0;
	return ORMA_MIN(since, UINT64_MAX >> merge->source_bits) << merge->source_bits | source;
}

static inline uint32_t source_of(const struct merge *merge, uint64_t code)
{
	return (uint32_t)(code & ((UINT64_C(1) << merge->source_bits) - 1));
}

static bool is_before(const struct key *a, const struct key *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	return a->rank != b->rank ? a->rank < b->rank : a->address < b->address;
}

/* True when the CPU that has won before goes on with events of the same kind, because none of the other sources is earlier. */
static bool goes_on(const struct merge *merge, uint32_t source, uint32_t last_rank)
{
	const struct key *key = &merge->keys[source];
	if (key->rank != last_rank || last_rank < ORMA_RANK_FTRACE)
		return false;
	for (uint32_t node = (source + merge->leaf_count) / 2; node > 0; node /= 2)
		if (merge->keys[source_of(merge, merge->tree[node])].ns < key->ns)
			return false;
	return true;
}

/* Goes on with play() from a node whose source has the winner's time. */
static __attribute__((noinline)) void play_on(struct merge *merge, uint32_t source,
					      uint32_t last_rank, uint32_t node, uint64_t winner)
{
	uint64_t *tree = merge->tree;
	for (; node > 0; node /= 2) {
		const struct key *kept = &merge->keys[source_of(merge, tree[node])];
		const struct key *best = &merge->keys[source_of(merge, winner)];
		bool is_tied = kept->ns == best->ns;
		/* As long as it has won all matches, the losers are as they were. */
		if (is_tied && source_of(merge, winner) == source &&
		    goes_on(merge, source, last_rank))
			break;
		if (is_before(kept, best)) {
			uint64_t loser = winner;
			winner = tree[node];
			tree[node] = loser;
		}
	}
	tree[0] = winner;
}

/* Matches a source whose key has changed against the losers above it. `last_rank` is the rank that it won with before. */
static void play(struct merge *merge, uint32_t source, uint32_t last_rank)
{
	uint64_t *tree = merge->tree, winner = code_of(merge, source);
	const unsigned source_bits = merge->source_bits;
	for (uint32_t node = (source + merge->leaf_count) / 2; node > 0; node /= 2) {
		uint64_t other = tree[node];
		if (ORMA_UNLIKELY((other ^ winner) >> source_bits == 0)) {
			play_on(merge, source, last_rank, node, winner);
			return;
		}
		tree[node] = ORMA_MAX(other, winner);
		winner = ORMA_MIN(other, winner);
	}
	tree[0] = winner;
}

/* Unpacks a bundle. 0 or a negative errno value. */
static int unpack_bundle(struct merge *merge, const struct lane_cursor *cursor,
			 const struct orma_bundle *bundle)
{
	struct orma_packet packet;
	const uint8_t *data;
	int r = orma_trace_window_read(&cursor->bundle->window, merge->index->input,
				       bundle->address, bundle->size, bundle->size, &data);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	if (orma_trace_packet_read(data, bundle->size, &packet) < 0)
		return -EIO;
	uint64_t key = (uint64_t)cursor->machine_idx << 32 | packet.sequence;
	const struct orma_sequence *sequence = orma_base_map_get(&merge->index->sequence_map, key);
	return sequence ? orma_bundle_events_read(&cursor->bundle->events, &merge->index->clocks,
						  sequence, &packet, bundle->snapshots)
			: -EIO;
}

/* Goes to the next bundle that has events. 1, 0 (there is none), or a negative errno value. */
static int open_bundle(struct merge *merge, struct lane_cursor *cursor)
{
	if (cursor->bundle)
		orma_open_bundle_put(&merge->closed, cursor->bundle);
	cursor->bundle = NULL;
	while (cursor->bundle_idx < cursor->lane->bundle_count) {
		const struct orma_bundle *bundle = &cursor->lane->bundles[cursor->bundle_idx++];
		if (!cursor->bundle)
			cursor->bundle = orma_open_bundle_new(&merge->spare);
		if (!cursor->bundle)
			return -ENOMEM;
		cursor->bundle->window.read_bytes = &merge->read_bytes;
		int r = unpack_bundle(merge, cursor, bundle);
		if (r < 0)
			return r;
		const struct orma_bundle_events *events = &cursor->bundle->events;
		cursor->address = bundle->address;
		cursor->event_idx = cursor->switch_idx = cursor->waking_idx = 0;
		if (events->event_count + events->switch_count + events->waking_count > 0)
			return 1;
	}
	return 0;
}

static bool is_at_end(const struct lane_cursor *cursor)
{
	const struct orma_bundle_events *events = &cursor->bundle->events;
	return cursor->event_idx == events->event_count &&
	       cursor->switch_idx == events->switch_count &&
	       cursor->waking_idx == events->waking_count;
}

/* Finds the lane's next event. When times are equal, plain events come first, then switches, then wakings. */
static int next_of_lane(struct merge *merge, const struct source *source, struct key *ret)
{
	struct lane_cursor *cursor = source->lane;
	if (!cursor->bundle || is_at_end(cursor)) {
		int r = open_bundle(merge, cursor);
		if (r <= 0)
			return r;
	}
	const struct orma_bundle_events *events = &cursor->bundle->events;
	ret->ns = cursor->other_ns = INT64_MAX;
	uint32_t kind = 3;
	if (cursor->waking_idx < events->waking_count) {
		ret->ns = cursor->other_ns = events->wakings[cursor->waking_idx].ns;
		kind = 2;
	}
	if (cursor->switch_idx < events->switch_count &&
	    events->switches[cursor->switch_idx].ns <= ret->ns) {
		ret->ns = events->switches[cursor->switch_idx].ns;
		kind = 1;
	}
	if (cursor->event_idx < events->event_count) {
		int64_t ns = events->events[cursor->event_idx].ns;
		cursor->other_ns = ORMA_MIN(cursor->other_ns, ns);
		kind = ns <= ret->ns ? 0 : kind;
		ret->ns = ORMA_MIN(ret->ns, ns);
	}
	ret->rank = ORMA_RANK_FTRACE + source->idx * 3 + kind;
	ret->address = cursor->address;
	return 1;
}

static int next_untimed(struct merge *merge, struct untimed_cursor *cursor, struct key *ret)
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
	ret->ns = untimed->ns;
	ret->rank = ORMA_RANK_PACKET;
	ret->address = untimed->address;
	return 1;
}

/* Goes to the source's next event. 0 or a negative errno value. */
static int next_of_source(struct merge *merge, uint32_t idx)
{
	struct source *source = &merge->sources[idx];
	struct key *key = &merge->keys[idx];
	int r;
	if (source->kind == SOURCE_SEQUENCE) {
		r = orma_packet_cursor_next(source->packets);
		key->ns = source->packets->ns;
		key->rank = source->packets->rank;
		key->address = source->packets->packet.address;
	} else if (source->kind == SOURCE_LANE) {
		r = next_of_lane(merge, source, key);
	} else {
		r = next_untimed(merge, source->untimed, key);
	}
	if (r <= 0)
		*key = last_key;
	return ORMA_MIN(r, 0);
}

/* 0 = a plain event, 1 = a switch, 2 = a waking. */
static uint32_t kind_of(const struct source *source, const struct key *key)
{
	return key->rank - ORMA_RANK_FTRACE - source->idx * 3;
}

static int add_of_lane(struct orma_event_batch *batch, const struct source *source,
		       const struct key *key)
{
	struct lane_cursor *cursor = source->lane;
	const struct orma_bundle_events *events = &cursor->bundle->events;
	uint32_t kind = kind_of(source, key);
	struct orma_batched_event *event = orma_event_batch_add(
		batch, (enum orma_ordered_kind)(ORMA_ORDERED_KERNEL_EVENT + kind), key->ns,
		cursor->address, source->idx);
	if (kind == 0)
		event->kernel_event = &events->events[cursor->event_idx++];
	else if (kind == 1)
		event->compact_switch = &events->switches[cursor->switch_idx++];
	else
		event->compact_waking = &events->wakings[cursor->waking_idx++];
	return 0;
}

/* Adds the switch that is the first event of a lane. True when a switch is the next one too, as nearly always where only switches
 * are recorded: then the source has it, and its rank is as before. */
static bool add_switch(struct orma_event_batch *batch, const struct source *source, struct key *key)
{
	struct lane_cursor *cursor = source->lane;
	const struct orma_bundle_events *events = &cursor->bundle->events;
	if (kind_of(source, key) != 1 || cursor->switch_idx + 1 >= events->switch_count ||
	    events->switches[cursor->switch_idx + 1].ns >= cursor->other_ns)
		return false;
	struct orma_batched_event *event = orma_event_batch_add(batch, ORMA_ORDERED_SWITCH, key->ns,
								cursor->address, source->idx);
	event->compact_switch = &events->switches[cursor->switch_idx++];
	key->ns = event->compact_switch[1].ns;
	return true;
}

/* The kind of events that a lane gave last goes on before others of the same time, as long as no other source is earlier. */
static void keep_kind(struct merge *merge, uint32_t idx, uint32_t last_rank)
{
	const struct lane_cursor *cursor = merge->sources[idx].lane;
	const struct orma_bundle_events *events = &cursor->bundle->events;
	struct key *key = &merge->keys[idx];
	uint32_t rank = key->rank, kind = (last_rank - ORMA_RANK_FTRACE) % 3;
	bool is_tied = kind == 1 ? cursor->switch_idx < events->switch_count &&
					   events->switches[cursor->switch_idx].ns == key->ns
				 : cursor->waking_idx < events->waking_count &&
					   events->wakings[cursor->waking_idx].ns == key->ns;
	if (!is_tied)
		return;
	key->rank = last_rank;
	if (!goes_on(merge, idx, last_rank))
		key->rank = rank;
}

/* Adds the first event of a source to the batch. 0 or -ENOMEM. */
static int add_event(const struct merge *merge, struct orma_event_batch *batch, uint32_t idx)
{
	const struct source *source = &merge->sources[idx];
	const struct key *key = &merge->keys[idx];
	if (source->kind == SOURCE_SEQUENCE)
		return orma_event_batch_add_packet(batch, &source->packets->packet, key->ns,
						   source->idx, false);
	if (source->kind == SOURCE_LANE)
		return add_of_lane(batch, source, key);
	return orma_event_batch_add_packet(batch, &source->untimed->packet, key->ns,
					   source->untimed->idx - 1, true);
}

static int fill_batch(void *ctx, struct orma_event_batch *batch)
{
	struct merge *merge = ctx;
	int r = 0;
	bool is_end = false;
	orma_open_bundles_recycle(&batch->bundles, &merge->spare);
	/* The content of packets is counted by their bytes. */
	batch->needs_bytes = merge->index->each != NULL;
	while (r == 0 && !orma_event_batch_is_full(batch)) {
		uint32_t first = source_of(merge, merge->tree[0]), rank = merge->keys[first].rank;
		is_end = rank == last_key.rank;
		if (is_end)
			break;
		bool is_lane = merge->sources[first].kind == SOURCE_LANE;
		if (is_lane && add_switch(batch, &merge->sources[first], &merge->keys[first])) {
			play(merge, first, rank);
			continue;
		}
		r = add_event(merge, batch, first);
		if (r == 0)
			r = next_of_source(merge, first);
		if (is_lane && merge->keys[first].rank < rank)
			keep_kind(merge, first, rank);
		play(merge, first, rank);
	}
	batch->read_bytes = merge->read_bytes;
	merge->read_bytes = 0;
	batch->bundles = merge->closed;
	merge->closed = NULL;
	return r < 0 ? r : !is_end;
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
		if (source)
			source->idx = i;
		int r = source ? orma_packet_cursor_init(source->packets, index,
							 index->sequences[i], ahead, &merge->blocks,
							 &merge->read_bytes)
			       : -ENOMEM;
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < index->lane_count; i++) {
		struct source *source = add_source(merge, SOURCE_LANE, sizeof(struct lane_cursor));
		if (!source)
			return -ENOMEM;
		source->idx = i;
		source->lane->lane = index->lanes[i];
		source->lane->machine_idx = index->lanes[i]->machine_idx;
	}
	struct source *source = add_source(merge, SOURCE_UNTIMED, sizeof(struct untimed_cursor));
	if (!source)
		return -ENOMEM;
	source->untimed->window.blocks = &merge->blocks;
	source->untimed->window.read_bytes = &merge->read_bytes;
	return 0;
}

/* Returns the code of the source that wins the matches below a node, whose children have winners. */
static uint64_t winner_of(const struct merge *merge, uint32_t node)
{
	return node < merge->leaf_count ? merge->tree[node]
					: code_of(merge, node - merge->leaf_count);
}

/* Plays all matches: winners upwards first, and then each node keeps the loser of its two. */
static void play_all(struct merge *merge)
{
	merge->base_ns = merge->keys[0].ns;
	for (uint32_t i = 1; i < merge->source_count; i++)
		merge->base_ns = ORMA_MIN(merge->base_ns, merge->keys[i].ns);
	for (uint32_t node = merge->leaf_count - 1; node > 0; node--) {
		uint64_t left = winner_of(merge, node * 2), right = winner_of(merge, node * 2 + 1);
		bool is_right = is_before(&merge->keys[source_of(merge, right)],
					  &merge->keys[source_of(merge, left)]);
		merge->tree[node] = is_right ? right : left;
	}
	merge->tree[0] = merge->tree[1];
	for (uint32_t node = 1; node < merge->leaf_count; node++)
		merge->tree[node] ^= winner_of(merge, node * 2) ^ winner_of(merge, node * 2 + 1);
}

static void close_source(struct source *source)
{
	switch (source->kind) {
	case SOURCE_SEQUENCE:
		orma_packet_cursor_done(source->packets);
		break;
	case SOURCE_LANE:
		orma_open_bundles_done(&source->lane->bundle);
		break;
	case SOURCE_UNTIMED:
		orma_trace_window_done(&source->untimed->window);
		break;
	}
	orma_base_free(source->packets);
}

/* Goes to the first event of each source, and closes those that have none: each would take part in the matches. */
static int open_events(struct merge *merge)
{
	int r = 0;
	for (uint32_t i = 0; i < merge->source_count && r == 0;) {
		r = next_of_source(merge, i);
		bool is_empty = r == 0 && merge->keys[i].rank == last_key.rank;
		if (is_empty) {
			close_source(&merge->sources[i]);
			merge->sources[i] = merge->sources[--merge->source_count];
		}
		i += !is_empty;
	}
	return r;
}

/* Makes the tree. */
static int begin(struct merge *merge)
{
	/* A tree has two leaves or more. */
	merge->leaf_count = ORMA_MAX(merge->source_count, 2u);
	merge->keys = orma_base_alloc_array(merge->leaf_count, sizeof(*merge->keys));
	merge->tree = orma_base_alloc_array(merge->leaf_count, sizeof(*merge->tree));
	if (!merge->keys || !merge->tree)
		return -ENOMEM;
	int r = open_events(merge);
	merge->leaf_count = ORMA_MAX(merge->source_count, 2u);
	for (uint32_t i = merge->source_count; i < merge->leaf_count; i++)
		merge->keys[i] = last_key;
	while (merge->leaf_count > UINT64_C(1) << merge->source_bits)
		merge->source_bits++;
	play_all(merge);
	return r;
}

static int run(struct merge *merge, orma_ordered_fn *fn, void *ctx)
{
	const struct orma_packet_index *index = merge->index;
	struct orma_batch_reader reader = {.index = index, .fn = fn, .ctx = ctx};
	bool has_thread = index->threads == ORMA_THREADS_TWO ||
			  (index->threads == ORMA_THREADS_AUTO && index->bytes >= THREAD_BYTES &&
			   orma_read_ahead_has_cpus());
	int r = orma_batch_reader_init(&reader);
	if (r == 0)
		r = orma_read_ahead(fill_batch, merge, &reader, has_thread);
	orma_batch_reader_done(&reader);
	return r;
}

int orma_ordered_read(struct orma_packet_index *index, orma_ordered_fn *fn, void *ctx)
{
	struct merge merge = {.index = index};
	size_t count = (size_t)index->sequence_count + index->lane_count + 1;
	merge.sources = orma_base_alloc_array(count, sizeof(*merge.sources));
	int r = merge.sources ? open_sources(&merge) : -ENOMEM;
	if (r == 0)
		r = begin(&merge);
	if (r == 0)
		r = run(&merge, fn, ctx);
	for (uint32_t i = 0; i < merge.source_count; i++)
		close_source(&merge.sources[i]);
	orma_open_bundles_done(&merge.closed);
	orma_open_bundles_done(&merge.spare);
	orma_trace_blocks_done(&merge.blocks);
	orma_base_free(merge.sources);
	orma_base_free(merge.keys);
	orma_base_free(merge.tree);
	return r;
}
