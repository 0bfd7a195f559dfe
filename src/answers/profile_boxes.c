/* SPDX-License-Identifier: Apache-2.0
 * profile_boxes.c - boxes are found by a map of their parents and names, and are summed from the last one to the first.
 */
#include "answers/profile_boxes.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/interrupt.h"
#include "store/grow.h"

enum { FRAMES_BETWEEN_CHECKS = 1 << 16 };

void orma_profile_boxes_init(struct orma_profile_boxes *boxes,
			     const struct orma_trace_database *database, int64_t ts,
			     struct orma_interrupt *interrupt)
{
	*boxes =
		(struct orma_profile_boxes){.database = database, .ts = ts, .interrupt = interrupt};
	boxes->by_key.seed = database->options.seed;
}

void orma_profile_boxes_done(struct orma_profile_boxes *boxes)
{
	orma_base_map_done(&boxes->by_key);
	orma_base_free(boxes->all);
}

int orma_profile_boxes_find(struct orma_profile_boxes *boxes, const struct orma_profile_box *wanted,
			    uint32_t *ret)
{
	int64_t words[] = {wanted->parent, wanted->name, wanted->map_name};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&boxes->by_key, key);
	*ret = known ? (uint32_t)(known - 1) : boxes->count;
	if (boxes->frames++ % FRAMES_BETWEEN_CHECKS == 0 && boxes->interrupt &&
	    orma_sql_is_interrupted(boxes->interrupt))
		return -ECANCELED;
	if (known)
		return 0;
	int r = orma_store_grow(&boxes->all, (uint64_t)boxes->count + 1, &boxes->capacity,
				sizeof(*boxes->all));
	if (r == 0)
		r = orma_base_map_put(&boxes->by_key, key, (void *)((uintptr_t)*ret + 1));
	if (r < 0)
		return r;
	struct orma_profile_box *box = &boxes->all[boxes->count++];
	*box = *wanted;
	box->depth = box->parent == ORMA_PROFILE_ROOT ? 0 : boxes->all[box->parent].depth + 1;
	box->ts = boxes->ts;
	return 0;
}

void orma_profile_box_add(struct orma_profile_box *box, size_t weight, int64_t value)
{
	box->own[weight] = (int64_t)((uint64_t)box->own[weight] + (uint64_t)value);
}

enum focus { LEFT_OUT, SHOWN, SHOWN_WITH_ALL_BELOW };

static bool has_text(struct orma_str text, struct orma_str part)
{
	for (size_t i = 0; i + part.size <= text.size; i++)
		if (strncasecmp(text.data + i, part.data, part.size) == 0)
			return true;
	return false;
}

/* Says which boxes are shown: those with the text, all below them and all above them. */
static void focus(const struct orma_profile_boxes *boxes, struct orma_str part, uint8_t *states)
{
	for (uint32_t i = 0; i < boxes->count; i++) {
		uint32_t parent = boxes->all[i].parent;
		bool is_below =
			parent != ORMA_PROFILE_ROOT && states[parent] == SHOWN_WITH_ALL_BELOW;
		if (!is_below &&
		    !has_text(orma_trace_database_text(boxes->database, boxes->all[i].name), part))
			continue;
		states[i] = SHOWN_WITH_ALL_BELOW;
		for (; parent != ORMA_PROFILE_ROOT && states[parent] == LEFT_OUT;
		     parent = boxes->all[parent].parent)
			states[parent] = SHOWN;
	}
}

static void sum(struct orma_profile_boxes *boxes, const uint8_t *states)
{
	for (uint32_t i = boxes->count; i-- > 0;) {
		struct orma_profile_box *box = &boxes->all[i];
		for (size_t k = 0; k < ORMA_PROFILE_WEIGHTS && states[i] != LEFT_OUT; k++) {
			uint64_t all = (uint64_t)box->cumulative[k] + (uint64_t)box->own[k];
			box->cumulative[k] = (int64_t)all;
			if (box->parent != ORMA_PROFILE_ROOT) {
				int64_t *above = &boxes->all[box->parent].cumulative[k];
				*above = (int64_t)((uint64_t)*above + all);
			}
		}
	}
}

static void put(struct orma_row_set *rows, size_t column, int type, int64_t value)
{
	if (value != ORMA_CELL_NULL)
		orma_row_set_put(rows, column, type, value);
}

/* Boxes that are left out have no rows, so the others are numbered anew: `numbers` has a place for each box. */
static int write_rows(const struct orma_profile_boxes *boxes, const uint8_t *states,
		      uint32_t *numbers, struct orma_row_set *rows)
{
	int r = 0;
	for (uint32_t i = 0; i < boxes->count && r == 0; i++) {
		const struct orma_profile_box *box = &boxes->all[i];
		size_t column = 0;
		if (states[i] == LEFT_OUT)
			continue;
		numbers[i] = (uint32_t)rows->row_count;
		r = orma_row_set_add(rows);
		if (r < 0)
			return r;
		put(rows, column++, SQLITE_INTEGER, numbers[i]);
		put(rows, column++, SQLITE_INTEGER, box->ts);
		put(rows, column++, SQLITE_INTEGER, box->depth);
		put(rows, column++, SQLITE_TEXT, box->name);
		put(rows, column++, SQLITE_TEXT, box->map_name);
		for (size_t k = 0; k < ORMA_PROFILE_WEIGHTS; k++) {
			put(rows, column++, SQLITE_INTEGER, box->own[k]);
			put(rows, column++, SQLITE_INTEGER, box->cumulative[k]);
		}
		put(rows, column++, SQLITE_INTEGER,
		    box->parent == ORMA_PROFILE_ROOT ? ORMA_CELL_NULL
						     : (int64_t)numbers[box->parent]);
		put(rows, column++, SQLITE_TEXT, box->source_file);
		put(rows, column++, SQLITE_INTEGER, box->line);
	}
	return r;
}

int orma_profile_boxes_write(struct orma_profile_boxes *boxes, struct orma_str part,
			     struct orma_row_set *rows)
{
	ORMA_AUTO(orma_base_freep) uint8_t *states = orma_base_zalloc((size_t)boxes->count + 1);
	ORMA_AUTO(orma_base_freep)
	uint32_t *numbers = orma_base_alloc_array((size_t)boxes->count + 1, sizeof(*numbers));
	if (!states || !numbers)
		return -ENOMEM;
	focus(boxes, part, states);
	sum(boxes, states);
	return write_rows(boxes, states, numbers, rows);
}
