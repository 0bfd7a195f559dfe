/* SPDX-License-Identifier: Apache-2.0
 * top_traffic.c - counts of packets, bytes, events and losses, per interval and in total, for each producer.
 *
 * Owns the producers, which are values of a map by pid + 1. Invariants: there are at most ORMA_TOP_PRODUCERS_MAX; a producer without
 * a packet in ORMA_TOP_QUIET_MAX intervals is removed at the end of an interval; `all` is the sum of the intervals that have ended.
 */
#include "tool/top/top_traffic.h"

#include "base/alloc.h"

void orma_top_traffic_end_interval(struct orma_top_traffic *running, struct orma_top_traffic *last,
				   struct orma_top_traffic *all)
{
	all->packets += running->packets;
	all->bytes += running->bytes;
	all->events += running->events;
	all->undecoded += running->undecoded;
	for (size_t i = 0; i < ORMA_TOOL_GAP_KINDS; i++)
		all->losses[i] += running->losses[i];
	*last = *running;
	*running = (struct orma_top_traffic){0};
}

struct orma_top_producer *orma_top_producers_get(struct orma_map *producers, int32_t pid)
{
	uint64_t key = (uint64_t)(uint32_t)pid + 1;
	struct orma_top_producer *producer = orma_base_map_get(producers, key);

	if (producer || producers->count >= ORMA_TOP_PRODUCERS_MAX)
		return producer;
	producer = orma_base_zalloc(sizeof(*producer));
	if (!producer)
		return NULL;
	producer->pid = pid;
	if (orma_base_map_put(producers, key, producer) < 0) {
		orma_base_free(producer);
		return NULL;
	}
	return producer;
}

void orma_top_producers_end_interval(struct orma_map *producers)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(producers, &position))) {
		struct orma_top_producer *producer = slot->value;

		producer->quiet = producer->running.packets > 0 ? 0 : producer->quiet + 1;
		orma_top_traffic_end_interval(&producer->running, &producer->last, &producer->all);
	}
	position = 0;
	while ((slot = orma_base_map_next(producers, &position))) {
		struct orma_top_producer *producer = slot->value;

		if (producer->quiet < ORMA_TOP_QUIET_MAX)
			continue;
		(void)orma_base_map_remove(producers, slot->key);
		orma_base_free(producer);
		position--; /* Another one may have moved into the slot. */
	}
}

void orma_top_producers_zero(struct orma_map *producers)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(producers, &position))) {
		struct orma_top_producer *producer = slot->value;

		producer->running = producer->last = producer->all = (struct orma_top_traffic){0};
	}
}

void orma_top_producers_done(struct orma_map *producers)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(producers, &position)))
		orma_base_free(slot->value);
	orma_base_map_done(producers);
}
