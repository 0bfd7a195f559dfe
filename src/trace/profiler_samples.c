/* SPDX-License-Identifier: Apache-2.0
 * profiler_samples.c - see profiler_samples.h.
 */
#include "trace/profiler_samples.h"

#include "base/macros.h"

void orma_profiler_done(struct orma_profiler *profiler)
{
	orma_base_map_done(&profiler->sessions);
	orma_base_map_done(&profiler->tasks);
	orma_base_map_done(&profiler->executions);
	orma_base_map_done(&profiler->asyncs);
	orma_base_map_done(&profiler->streams);
	orma_base_arena_done(&profiler->arena);
}

/* Returns the row of a table with these cells, which is added unless the map knows it. */
static int64_t find_or_add(struct orma_profiler *profiler, struct orma_map *map, uint64_t key,
			   enum orma_table_id id, const int64_t *cells)
{
	struct orma_table *table = &profiler->system->tables->all[id];
	uintptr_t known = (uintptr_t)orma_base_map_get(map, key);
	if (known)
		return (int64_t)known - 1;
	int64_t row = (int64_t)orma_store_table_rows(table);
	int r = orma_store_table_append(table, cells);
	if (r == 0)
		r = orma_base_map_put(map, key, (void *)((uintptr_t)row + 1));
	return r < 0 ? r : row;
}

int64_t orma_profiler_session(struct orma_profiler *profiler, const struct orma_sequence *sequence,
			      struct orma_str source)
{
	uint64_t key = (uint64_t)sequence->machine_idx << 32 | sequence->id;
	uintptr_t known = (uintptr_t)orma_base_map_get(&profiler->sessions, key);
	if (known)
		return (int64_t)known - 1;
	int64_t cells[ORMA_PROFILER_SESSION_COLUMNS] = {
		[ORMA_PROFILER_SESSION_SOURCE] =
			orma_tables_string(profiler->system->tables, source),
		[ORMA_PROFILER_SESSION_TIMEBASE_UNIT] = ORMA_CELL_NULL,
		[ORMA_PROFILER_SESSION_CMDLINE] = ORMA_CELL_NULL,
	};
	return find_or_add(profiler, &profiler->sessions, key, ORMA_TABLE_PROFILER_SESSION, cells);
}

int orma_profiler_set_unit(struct orma_profiler *profiler, int64_t session_id, int64_t unit)
{
	struct orma_column *column =
		orma_tables_column(profiler->system->tables, ORMA_TABLE_PROFILER_SESSION,
				   ORMA_PROFILER_SESSION_TIMEBASE_UNIT);
	if (unit == ORMA_CELL_NULL ||
	    orma_store_column_get(column, (uint64_t)session_id) != ORMA_CELL_NULL)
		return 0;
	return orma_store_column_set(column, (uint64_t)session_id, unit);
}

int64_t orma_profiler_task(struct orma_profiler *profiler, int64_t upid, int64_t utid,
			   int64_t async_id)
{
	int64_t cells[ORMA_PROFILER_TASK_CONTEXT_COLUMNS] = {
		[ORMA_PROFILER_TASK_CONTEXT_UPID] = upid,
		[ORMA_PROFILER_TASK_CONTEXT_UTID] = utid,
		[ORMA_PROFILER_TASK_CONTEXT_ASYNC_CONTEXT_ID] = async_id,
	};
	return find_or_add(profiler, &profiler->tasks,
			   orma_base_fnv1a(ORMA_FNV1A_INIT, cells, sizeof(cells)),
			   ORMA_TABLE_PROFILER_TASK_CONTEXT, cells);
}

int64_t orma_profiler_execution(struct orma_profiler *profiler, int64_t ucpu, const char *mode)
{
	int64_t cells[ORMA_PROFILER_EXECUTION_CONTEXT_COLUMNS] = {
		[ORMA_PROFILER_EXECUTION_CONTEXT_UCPU] = ucpu,
		[ORMA_PROFILER_EXECUTION_CONTEXT_CPU_MODE] =
			mode ? orma_tables_string(profiler->system->tables, orma_base_str(mode))
			     : ORMA_CELL_NULL,
	};
	return find_or_add(profiler, &profiler->executions,
			   orma_base_fnv1a(ORMA_FNV1A_INIT, cells, sizeof(cells)),
			   ORMA_TABLE_PROFILER_EXECUTION_CONTEXT, cells);
}

int orma_profiler_count(struct orma_profiler *profiler, int64_t ts, int64_t track_id, double value)
{
	struct orma_table *sets = &profiler->system->tables->all[ORMA_TABLE_PROFILER_COUNTER_SET];
	struct orma_table *counters = &profiler->system->tables->all[ORMA_TABLE_COUNTER];
	if (!profiler->has_set)
		profiler->set_id = (int64_t)orma_store_table_rows(sets);
	profiler->has_set = true;
	int64_t cells[ORMA_PROFILER_COUNTER_SET_COLUMNS] = {
		[ORMA_PROFILER_COUNTER_SET_COUNTER_SET_ID] = profiler->set_id,
		[ORMA_PROFILER_COUNTER_SET_COUNTER_ID] = (int64_t)orma_store_table_rows(counters),
	};
	int r = orma_counters_add(profiler->system->tables, ts, track_id, value, ORMA_CELL_NULL);
	return r < 0 ? r : orma_store_table_append(sets, cells);
}

int orma_profiler_add(struct orma_profiler *profiler, const struct orma_profiler_sample *sample)
{
	struct orma_tables *tables = profiler->system->tables;
	const int64_t ids[] = {sample->task_id, sample->execution_id, sample->callsite_id};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(ids); i++)
		if (orma_is_failure(ids[i]))
			return (int)ids[i];
	struct orma_str source =
		sample->source ? orma_base_str(sample->source) : sample->source_text;
	int64_t cells[ORMA_PROFILER_SAMPLE_COLUMNS] = {
		[ORMA_PROFILER_SAMPLE_TS] = sample->ts,
		[ORMA_PROFILER_SAMPLE_SOURCE] = orma_tables_string(tables, source),
		[ORMA_PROFILER_SAMPLE_TASK_CONTEXT_ID] = sample->task_id,
		[ORMA_PROFILER_SAMPLE_EXECUTION_CONTEXT_ID] = sample->execution_id,
		[ORMA_PROFILER_SAMPLE_CALLSITE_ID] = sample->callsite_id,
		[ORMA_PROFILER_SAMPLE_UNWIND_ERROR] =
			sample->unwind_error
				? orma_tables_string(tables, orma_base_str(sample->unwind_error))
				: ORMA_CELL_NULL,
		[ORMA_PROFILER_SAMPLE_SESSION_ID] = sample->session_id,
		[ORMA_PROFILER_SAMPLE_COUNTER_SET_ID] =
			profiler->has_set ? profiler->set_id : ORMA_CELL_NULL,
		[ORMA_PROFILER_SAMPLE_PROCESS_PRIORITY] = sample->priority,
	};
	profiler->has_set = false;
	return orma_store_table_append(&tables->all[ORMA_TABLE_PROFILER_SAMPLE], cells);
}
