/* SPDX-License-Identifier: Apache-2.0
 * diff_rows.c - collects the numbers of one trace after the other, so that only one is loaded at a time.
 *
 * Slices and delays are compared by their mean length, which does not depend on how long a trace is. The effect of a
 * change is the change of the mean, times how many there are in a trace: a name that got a little slower and is called a
 * million times comes before one that got much slower once.
 */
#include "tool/ask/diff_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "answers/counter_groups.h"
#include "answers/slice_groups.h"
#include "answers/task_names.h"
#include "answers/task_times.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

void orma_diff_done(struct orma_diff *diff)
{
	for (uint32_t i = 0; i < diff->row_count; i++)
		for (size_t side = 0; side < 2; side++)
			orma_sample_done(&diff->rows[i]->sides[side].sample);
	orma_base_free(diff->rows);
	orma_base_map_done(&diff->by_key);
	orma_base_arena_done(&diff->arena);
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, struct orma_str text)
{
	uint64_t size = text.data ? text.size : UINT64_MAX;
	hash = orma_base_fnv1a(hash, &size, sizeof(size));
	return text.size > 0 ? orma_base_fnv1a(hash, text.data, text.size) : hash;
}

static uint64_t hash_key(const struct orma_diff_key *key)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &key->kind, sizeof(key->kind));
	hash = hash_text(hash, key->name);
	hash = hash_text(hash, key->category);
	return hash_text(hash_text(hash, key->process), key->unit);
}

static struct orma_str copy_text(struct orma_diff *diff, struct orma_str text)
{
	if (!text.data)
		return text;
	return (struct orma_str){orma_base_arena_strdup(&diff->arena, text), text.size};
}

static struct orma_diff_row *make_row(struct orma_diff *diff, const struct orma_diff_key *key,
				      uint64_t hash)
{
	struct orma_diff_row *row = orma_base_arena_alloc(&diff->arena, sizeof(*row));
	if (!row || orma_store_grow(&diff->rows, (uint64_t)diff->row_count + 1, &diff->row_capacity,
				    sizeof(struct orma_diff_row *)) < 0)
		return NULL;
	*row = (struct orma_diff_row){.kind = key->kind,
				      .name = copy_text(diff, key->name),
				      .category = copy_text(diff, key->category),
				      .process = copy_text(diff, key->process),
				      .unit = copy_text(diff, key->unit)};
	for (size_t side = 0; side < 2; side++) {
		size_t count = diff->run_counts[side];
		double *figures = orma_base_arena_alloc(&diff->arena, 2 * count * sizeof(*figures));
		if (!figures)
			return NULL;
		row->sides[side].figures = figures;
		row->sides[side].weights = figures + count;
	}
	bool is_whole = (row->name.data || !key->name.data) &&
			(row->category.data || !key->category.data) &&
			(row->process.data || !key->process.data) &&
			(row->unit.data || !key->unit.data);
	if (!is_whole || orma_base_map_put(&diff->by_key, hash, row) < 0)
		return NULL;
	diff->rows[diff->row_count++] = row;
	return row;
}

struct orma_diff_row *orma_diff_use_row(struct orma_diff *diff, const struct orma_diff_key *key)
{
	uint64_t hash = hash_key(key);
	struct orma_diff_row *row = orma_base_map_get(&diff->by_key, hash);
	return row ? row : make_row(diff, key, hash);
}

/* --- one trace -------------------------------------------------------------------------------- */

struct run {
	struct orma_diff *diff;
	struct orma_trace_database *database;
	size_t side, idx;
};

/* Tracks and threads with one name in a run share its figure: the mean of all they have. */
static void add_figure(struct orma_diff_side *side, size_t run, double sum, double weight)
{
	side->figures[run] += sum;
	side->weights[run] += weight;
}

static int add_slice_group(const struct run *run, struct orma_slice_group *group)
{
	const struct orma_trace_database *database = run->database;
	struct orma_diff_key key = {.kind = ORMA_DIFF_SLICES,
				    .name = orma_trace_database_text(database, group->name),
				    .category =
					    orma_trace_database_text(database, group->category)};
	uint64_t finished = group->count - group->unfinished;
	struct orma_diff_row *row = orma_diff_use_row(run->diff, &key);
	if (!row)
		return -ENOMEM;
	struct orma_diff_side *side = &row->sides[run->side];
	side->count += (double)group->count;
	side->weight += (double)finished;
	side->total += (double)group->total_ns;
	side->max = fmax(side->max, (double)group->max_ns);
	add_figure(side, run->idx, (double)group->total_ns, (double)finished);
	int r = 0;
	for (uint32_t i = 0; i < group->lengths.kept && r == 0; i++)
		r = orma_sample_add(&side->sample, group->lengths.values[i]);
	return r;
}

static int add_slices(const struct run *run)
{
	struct orma_slice_groups groups;
	int r = orma_slice_groups_read(run->database, &groups);
	for (uint32_t i = 0; i < groups.count; i++)
		groups.items[i].is_chosen = true;
	if (r == 0)
		r = orma_slice_groups_measure(run->database, &groups);
	for (uint32_t i = 0; i < groups.count && r == 0; i++)
		r = add_slice_group(run, &groups.items[i]);
	orma_slice_groups_done(&groups);
	return r;
}

/* Threads with the same names count together: their ids differ from run to run. */
static struct orma_diff_row *use_thread_row(const struct run *run, enum orma_diff_kind kind,
					    size_t utid)
{
	const struct orma_trace_database *database = run->database;
	struct orma_task_name thread = orma_thread_name(database, (int64_t)utid);
	struct orma_task_name process =
		orma_process_name(database, orma_thread_process(database, (int64_t)utid));
	struct orma_diff_key key = {.kind = kind, .name = thread.name, .process = process.name};
	return orma_diff_use_row(run->diff, &key);
}

static int add_thread(const struct run *run, const struct orma_task_times *times, size_t utid)
{
	const struct orma_task_time *time = &times->threads[utid];
	double length = (double)ORMA_MAX(times->end_ns - times->first_ns, (int64_t)1);
	struct orma_diff_row *cpu = use_thread_row(run, ORMA_DIFF_CPU, utid);
	struct orma_diff_row *delay = use_thread_row(run, ORMA_DIFF_DELAYS, utid);
	if (!cpu || !delay)
		return -ENOMEM;
	struct orma_diff_side *side = &cpu->sides[run->side];
	side->count += (double)time->runs;
	side->total += (double)time->running_ns;
	side->weight = 1;
	side->weights[run->idx] = 1;
	add_figure(side, run->idx, (double)time->running_ns / length, 0);
	side = &delay->sides[run->side];
	side->count += (double)time->runs;
	side->weight += (double)time->runs;
	side->total += (double)time->runnable_ns;
	side->max = fmax(side->max, (double)time->max_delay_ns);
	add_figure(side, run->idx, (double)time->runnable_ns, (double)time->runs);
	return 0;
}

static int add_tasks(const struct run *run)
{
	struct orma_task_times times;
	int r = orma_task_times_read(run->database, 0, &times);
	for (size_t i = 0; i < times.thread_count && r == 0; i++)
		if (times.threads[i].runs > 0 &&
		    orma_trace_database_cell(run->database, ORMA_TABLE_THREAD, ORMA_THREAD_IS_IDLE,
					     i) != 1)
			r = add_thread(run, &times, i);
	orma_task_times_done(&times);
	return r;
}

static int add_counter(const struct run *run, uint64_t track,
		       const struct orma_counter_group *group)
{
	const struct orma_trace_database *database = run->database;
	int64_t utid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, track);
	int64_t upid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UPID, track);
	struct orma_diff_key key = {.kind = ORMA_DIFF_COUNTERS};
	key.name = orma_trace_database_text(
		database,
		orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_NAME, track));
	key.unit = orma_trace_database_text(
		database, orma_trace_database_cell(database, ORMA_TABLE_TRACK,
						   ORMA_TRACK_COUNTER_UNIT, track));
	key.process = utid >= 0   ? orma_thread_name(database, utid).name
		      : upid >= 0 ? orma_process_name(database, upid).name
				  : (struct orma_str){NULL, 0};
	struct orma_diff_row *row = orma_diff_use_row(run->diff, &key);
	if (!row)
		return -ENOMEM;
	struct orma_diff_side *side = &row->sides[run->side];
	side->max = side->count > 0 ? fmax(side->max, group->max) : group->max;
	side->count += (double)group->count;
	side->total += group->last - group->first;
	side->weight = 1;
	add_figure(side, run->idx, group->sum, (double)group->count);
	return 0;
}

static int add_counters(const struct run *run)
{
	struct orma_counter_groups groups;
	int r = orma_counter_groups_read(run->database, &groups);
	for (uint64_t i = 0; i < groups.track_count && r == 0; i++)
		if (groups.tracks[i].count > 0)
			r = add_counter(run, i, &groups.tracks[i]);
	orma_counter_groups_done(&groups);
	return r;
}

int orma_diff_add(struct orma_diff *diff, size_t side, size_t run_idx,
		  struct orma_trace_database *database)
{
	struct run run = {diff, database, side, run_idx};
	int r = add_slices(&run);
	if (r == 0)
		r = add_tasks(&run);
	return r == 0 ? add_counters(&run) : r;
}

/* --- the comparison --------------------------------------------------------------------------- */

/* Copies the figures of the runs that have one, and returns how many there are. */
static size_t collect(const struct orma_diff *diff, const struct orma_diff_row *row, size_t side,
		      double *ret, double *ret_mean)
{
	size_t count = 0;
	double sum = 0;
	for (size_t run = 0; run < diff->run_counts[side]; run++) {
		bool is_profile = diff->has_profile[row->kind][side][run];
		double weight = is_profile ? 1 : row->sides[side].weights[run];
		if (weight > 0) {
			ret[count] = row->sides[side].figures[run] / weight;
			sum += ret[count++];
		}
	}
	*ret_mean = count > 0 ? sum / (double)count : NAN;
	return count;
}

static double effect_of(const struct orma_diff *diff, const struct orma_diff_row *row)
{
	double a = isnan(row->figures[0]) ? 0 : row->figures[0],
	       b = isnan(row->figures[1]) ? 0 : row->figures[1];
	double change = fabs(b - a);
	if (row->kind == ORMA_DIFF_CPU)
		return change;
	/* Costs of callees, and memory that was freed again, only decide between rows that are equal otherwise. */
	if (row->kind == ORMA_DIFF_FUNCTIONS || row->kind == ORMA_DIFF_HEAP)
		return change + 1e-6 * fabs(row->sides[1].total / (double)diff->run_counts[1] -
					    row->sides[0].total / (double)diff->run_counts[0]);
	if (row->kind == ORMA_DIFF_COUNTERS)
		return change > 0 ? change / fmax(fabs(a), fabs(b)) : 0;
	double a_weight = row->sides[0].weight / (double)diff->run_counts[0];
	double b_weight = row->sides[1].weight / (double)diff->run_counts[1];
	return change * fmax(a_weight, b_weight);
}

static int compare_rows(const void *a, const void *b)
{
	const struct orma_diff_row *x = *(struct orma_diff_row *const *)a,
				   *y = *(struct orma_diff_row *const *)b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->effect > y->effect || x->effect < y->effect)
		return x->effect > y->effect ? -1 : 1;
	size_t size = ORMA_MIN(x->name.size, y->name.size);
	int order = size > 0 ? memcmp(x->name.data, y->name.data, size) : 0;
	return order ? order : x->name.size < y->name.size ? -1 : x->name.size > y->name.size;
}

void orma_diff_finish(struct orma_diff *diff)
{
	double a[ORMA_RUNS_MAX], b[ORMA_RUNS_MAX];
	for (uint32_t i = 0; i < diff->row_count; i++) {
		struct orma_diff_row *row = diff->rows[i];
		size_t a_count = collect(diff, row, 0, a, &row->figures[0]);
		size_t b_count = collect(diff, row, 1, b, &row->figures[1]);
		row->p = orma_mann_whitney(a, a_count, b, b_count);
		row->effect = effect_of(diff, row);
	}
	if (diff->row_count > 0)
		qsort(diff->rows, diff->row_count, sizeof(struct orma_diff_row *), compare_rows);
}
