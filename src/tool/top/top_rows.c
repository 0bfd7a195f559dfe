/* SPDX-License-Identifier: Apache-2.0
 * top_rows.c - the aggregates: a hash table of names, each with three sets of figures.
 *
 *   running   the interval that has not ended; events are added here only
 *   last      the interval before, which is shown
 *   all       since the start, or since the figures were zeroed; gets `running` when the interval ends
 *
 * Always: the events of all rows together, `other` included, are the events that were added. So no row goes without its
 * figures: when the table is full, a row that was quiet for as long as the past is remembered is added to `other`, and its
 * place is free. If there is none, a new name is counted in `other` itself. A row that an open slice points to is held and
 * stays.
 *
 * Durations take 17 KB per row, and are allocated with the first of them; all rows together take 17 MB at most.
 *
 * Rejected: the tables of the engine (src/trace), which keep a row per event and every name for ever, and are 320 KB of
 * code, a third of the static binary.
 */
#include "tool/top/top_rows.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"

#define OTHER_NAME ORMA_STR("(other)")

static struct orma_top_row *new_row(struct orma_str name, uint64_t hash)
{
	struct orma_top_row *row = orma_base_zalloc(sizeof(*row) + name.size + 1);
	if (!row)
		return NULL;
	if (name.size > 0)
		memcpy(row->name, name.data, name.size);
	row->name_size = name.size;
	row->hash = hash;
	return row;
}

static void free_row(struct orma_top_row *row)
{
	orma_base_free(row->values);
	orma_base_free(row);
}

int orma_top_rows_init(struct orma_top_rows *rows, size_t max, uint64_t seed)
{
	*rows = (struct orma_top_rows){.max = max, .by_hash.seed = seed};
	rows->all = orma_base_alloc_array(max, sizeof(struct orma_top_row *));
	rows->other = rows->all ? new_row(OTHER_NAME, 0) : NULL;
	if (!rows->other)
		return -ENOMEM;
	rows->other->is_other = true;
	rows->all[rows->count++] = rows->other;
	return 0;
}

void orma_top_rows_done(struct orma_top_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free_row(rows->all[i]);
	orma_base_free(rows->all);
	orma_base_map_done(&rows->by_hash);
	*rows = (struct orma_top_rows){0};
}

/* --- adding ----------------------------------------------------------------------------------- */

void orma_top_row_add_value(struct orma_top_rows *rows, struct orma_top_row *row, uint64_t value)
{
	unsigned power = ORMA_MIN(orma_top_power(value), (unsigned)ORMA_TOP_HEAT_POWERS - 1);
	if (!row->values)
		row->values = orma_base_zalloc(sizeof(*row->values));
	if (!row->values) /* The event counts all the same, and shows no duration. */
		return;
	orma_top_histogram_add(&row->values->running, value);
	uint16_t *heat = &row->values->heat[rows->now][power];
	if (*heat < UINT16_MAX)
		++*heat;
}

static void add_figures(struct orma_top_figures *sum, const struct orma_top_figures *figures)
{
	sum->events += figures->events;
	sum->lost += figures->lost;
	sum->self_ns += figures->self_ns;
	sum->last_value = figures->last_value;
}

/* Adds all that is known of a row to `other`. */
static void fold(struct orma_top_rows *rows, const struct orma_top_row *row)
{
	struct orma_top_row *other = rows->other;
	add_figures(&other->running, &row->running);
	add_figures(&other->all, &row->all);
	rows->folded++;
	if (!row->values)
		return;
	if (!other->values)
		other->values = orma_base_zalloc(sizeof(*other->values));
	if (!other->values)
		return;
	orma_top_histogram_merge(&other->values->running, &row->values->running);
	orma_top_histogram_merge(&other->values->all, &row->values->all);
}

static void unlink_row(struct orma_top_rows *rows, const struct orma_top_row *row)
{
	struct orma_top_row *first = orma_base_map_get(&rows->by_hash, row->hash);
	if (first == row) {
		(void)orma_base_map_remove(&rows->by_hash, row->hash);
		/* There is room for it, as one was removed. */
		if (row->next_same)
			(void)orma_base_map_put(&rows->by_hash, row->hash, row->next_same);
		return;
	}
	while (first && first->next_same != row)
		first = first->next_same;
	if (first)
		first->next_same = row->next_same;
}

static void remove_at(struct orma_top_rows *rows, size_t place)
{
	struct orma_top_row *row = rows->all[place];
	rows->all[place] = rows->all[--rows->count];
	unlink_row(rows, row);
	free_row(row);
}

static bool is_idle(const struct orma_top_row *row)
{
	return !row->is_other && row->held == 0 && row->quiet >= ORMA_TOP_PAST &&
	       row->running.events == 0 && row->running.lost == 0;
}

/* Makes room by folding all rows that are idle. */
static void fold_idle(struct orma_top_rows *rows)
{
	for (size_t i = rows->count; i-- > 0;)
		if (is_idle(rows->all[i])) {
			fold(rows, rows->all[i]);
			remove_at(rows, i);
		}
}

static struct orma_str cut(struct orma_str name)
{
	size_t size = ORMA_MIN(name.size, (size_t)ORMA_TOP_NAME_MAX_BYTES);
	/* Not inside a character. */
	while (size < name.size && size > 0 && ((unsigned char)name.data[size] & 0xc0) == 0x80)
		size--;
	return (struct orma_str){name.data, size};
}

static struct orma_top_row *find(const struct orma_top_rows *rows, struct orma_str name,
				 uint64_t hash)
{
	struct orma_top_row *row = orma_base_map_get(&rows->by_hash, hash);
	while (row && !orma_base_str_is_equal((struct orma_str){row->name, row->name_size}, name))
		row = row->next_same;
	return row;
}

static uint64_t hash_of(const struct orma_top_rows *rows, struct orma_str name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT ^ rows->by_hash.seed, name.data, name.size);
}

struct orma_top_row *orma_top_rows_find(const struct orma_top_rows *rows, struct orma_str name)
{
	name = cut(name);
	if (orma_base_str_is_equal(name, OTHER_NAME))
		return rows->other;
	return find(rows, name, hash_of(rows, name));
}

struct orma_top_row *orma_top_rows_get(struct orma_top_rows *rows, struct orma_str name)
{
	name = cut(name);
	uint64_t hash = hash_of(rows, name);
	struct orma_top_row *row = find(rows, name, hash);
	if (row)
		return row;
	/* Only once per interval, because it looks at all rows. */
	if (rows->count == rows->max && rows->other->quiet > 0)
		fold_idle(rows);
	row = rows->count < rows->max ? new_row(name, hash) : NULL;
	if (!row) {
		rows->other->quiet = 0;
		return rows->other;
	}
	row->next_same = orma_base_map_get(&rows->by_hash, hash);
	if (orma_base_map_put(&rows->by_hash, hash, row) < 0) {
		free_row(row);
		return rows->other;
	}
	rows->all[rows->count++] = row;
	return row;
}

/* --- intervals -------------------------------------------------------------------------------- */

static void end_row(const struct orma_top_rows *rows, struct orma_top_row *row, unsigned next)
{
	bool is_quiet = row->running.events == 0 && row->running.lost == 0;
	row->past[rows->now] = (uint32_t)ORMA_MIN(row->running.events, (uint64_t)UINT32_MAX);
	row->past[next] = 0;
	row->quiet = is_quiet ? row->quiet + (row->quiet < ORMA_TOP_PAST) : 0;
	if (row->running.events == 0)
		row->running.last_value = row->last.last_value;
	add_figures(&row->all, &row->running);
	row->last = row->running;
	row->running = (struct orma_top_figures){0};
	if (!row->values)
		return;
	struct orma_top_values *values = row->values;
	/* Most rows of a large table are quiet, and need no copy of 4 KB. */
	if (values->running.count > 0 || values->last.count > 0) {
		orma_top_histogram_merge(&values->all, &values->running);
		values->last = values->running;
		values->running = (struct orma_top_histogram){0};
	}
	memset(values->heat[next], 0, sizeof(values->heat[next]));
}

void orma_top_rows_end_interval(struct orma_top_rows *rows)
{
	unsigned next = (rows->now + 1) % ORMA_TOP_PAST;
	for (size_t i = 0; i < rows->count; i++)
		end_row(rows, rows->all[i], next);
	rows->other->quiet += rows->other->quiet == 0; /* room may be looked for again */
	rows->now = next;
	rows->interval_count++;
}

void orma_top_rows_zero(struct orma_top_rows *rows)
{
	for (size_t i = rows->count; i-- > 0;) {
		struct orma_top_row *row = rows->all[i];
		if (!row->is_other && row->held == 0) {
			remove_at(rows, i);
			continue;
		}
		row->running = row->last = row->all = (struct orma_top_figures){0};
		row->quiet = ORMA_TOP_PAST;
		memset(row->past, 0, sizeof(row->past));
		orma_base_free(ORMA_TAKE(row->values));
	}
	rows->interval_count = rows->folded = 0;
}
