/* SPDX-License-Identifier: Apache-2.0
 * perf_spaces.c - see perf_spaces.h.
 */
#include "formats/perf_spaces.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"

void orma_perf_spaces_done(struct orma_perf_spaces *spaces)
{
	size_t position = 0;
	struct orma_map_slot *slot;
	while ((slot = orma_base_map_next(&spaces->spaces, &position)))
		orma_base_free(((struct orma_perf_space *)slot->value)->mappings);
	orma_base_map_done(&spaces->spaces);
	orma_base_map_done(&spaces->texts);
	orma_base_arena_done(&spaces->arena);
}

static struct orma_perf_space *find_space(const struct orma_perf_spaces *spaces, int32_t pid)
{
	return orma_base_map_get(&spaces->spaces, (uint32_t)pid);
}

static struct orma_perf_space *get_space(struct orma_perf_spaces *spaces, int32_t pid)
{
	struct orma_perf_space *space = find_space(spaces, pid);
	if (space)
		return space;
	space = orma_base_arena_alloc(&spaces->arena, sizeof(*space));
	return space && orma_base_map_put(&spaces->spaces, (uint32_t)pid, space) == 0 ? space
										      : NULL;
}

/* Keeps a text as long as the spaces, and each one once. Data is NULL without memory. */
static struct orma_str keep(struct orma_perf_spaces *spaces, struct orma_str text)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, text.data, text.size);
	struct orma_str *known = orma_base_map_get(&spaces->texts, hash);
	if (known && orma_base_str_is_equal(*known, text))
		return *known;
	struct orma_str *kept = orma_base_arena_alloc(&spaces->arena, sizeof(*kept));
	if (!kept)
		return (struct orma_str){NULL, 0};
	*kept = (struct orma_str){orma_base_arena_strdup(&spaces->arena, text), text.size};
	if (kept->data && orma_base_map_put(&spaces->texts, hash, kept) < 0)
		kept->data = NULL;
	return *kept;
}

/* Returns the first mapping that ends behind an address. */
static uint32_t find_place(const struct orma_perf_space *space, uint64_t address)
{
	uint32_t low = 0, high = space->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (space->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct orma_perf_spaces *spaces, struct orma_perf_space *space, uint32_t place,
		  const struct orma_perf_mapping *mapping)
{
	uint32_t moves = space->count - place + 1;
	if (spaces->mapping_count == ORMA_PERF_MAPPINGS_MAX ||
	    moves > (uint32_t)ORMA_PERF_MOVES_MAX - spaces->moves)
		return -ENOSPC;
	spaces->moves += moves;
	int r = orma_store_grow(&space->mappings, (uint64_t)space->count + 1, &space->capacity,
				sizeof(*space->mappings));
	if (r < 0)
		return r;
	memmove(space->mappings + place + 1, space->mappings + place,
		(space->count - place) * sizeof(*space->mappings));
	space->mappings[place] = *mapping;
	space->count++;
	spaces->mapping_count++;
	return 0;
}

static void move_start(struct orma_perf_mapping *mapping, uint64_t start)
{
	mapping->offset += start - mapping->start;
	mapping->start = start;
}

/* Makes room for a mapping: cuts and removes what it overlaps. */
static int clear_place(struct orma_perf_spaces *spaces, struct orma_perf_space *space,
		       uint64_t start, uint64_t end)
{
	uint32_t first = find_place(space, start), last = first;
	struct orma_perf_mapping *mappings = space->mappings;
	if (first < space->count && mappings[first].start < start) {
		struct orma_perf_mapping rest = mappings[first];
		mappings[first].end = start;
		first = last = first + 1;
		if (rest.end > end) {
			move_start(&rest, end);
			return insert(spaces, space, first, &rest);
		}
	}
	while (last < space->count && mappings[last].end <= end)
		last++;
	if (last < space->count && mappings[last].start < end)
		move_start(&mappings[last], end);
	if (last > first) {
		memmove(mappings + first, mappings + last,
			(space->count - last) * sizeof(*mappings));
		space->count -= last - first;
		spaces->mapping_count -= last - first;
	}
	return 0;
}

int orma_perf_spaces_add(struct orma_perf_spaces *spaces, int32_t pid,
			 const struct orma_perf_mapping *mapping)
{
	struct orma_perf_space *space = get_space(spaces, pid);
	struct orma_perf_mapping added = *mapping;
	if (mapping->start >= mapping->end)
		return 0;
	added.name = keep(spaces, mapping->name);
	added.build_id =
		mapping->build_id.data ? keep(spaces, mapping->build_id) : mapping->build_id;
	if (!space || !added.name.data)
		return -ENOMEM;
	int r = clear_place(spaces, space, added.start, added.end);
	return r < 0 ? r : insert(spaces, space, find_place(space, added.start), &added);
}

int orma_perf_spaces_begin(struct orma_perf_spaces *spaces, int32_t pid, int32_t parent_pid)
{
	struct orma_perf_space *space = get_space(spaces, pid);
	const struct orma_perf_space *parent =
		parent_pid == -1 ? NULL : find_space(spaces, parent_pid);
	int r = 0;
	if (!space)
		return -ENOMEM;
	if (space == parent)
		return 0;
	spaces->mapping_count -= space->count;
	space->count = 0;
	for (uint32_t i = 0; parent && i < parent->count && r == 0; i++)
		r = insert(spaces, space, i, &parent->mappings[i]);
	return r;
}

const struct orma_perf_mapping *orma_perf_spaces_find(const struct orma_perf_spaces *spaces,
						      int32_t pid, uint64_t address)
{
	const struct orma_perf_space *space = find_space(spaces, pid);
	uint32_t place = space ? find_place(space, address) : 0;
	return space && place < space->count && space->mappings[place].start <= address
		       ? &space->mappings[place]
		       : NULL;
}
