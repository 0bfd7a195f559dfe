/* SPDX-License-Identifier: Apache-2.0
 * import_log.c - entries of the log have the name and the severity of the statistic that counts them.
 */
#include "trace/import_log.h"

#include "base/macros.h"

static int64_t slice_cell(struct orma_system *system, int64_t row, size_t column)
{
	return orma_store_column_get(orma_tables_column(system->tables, ORMA_TABLE_SLICE, column),
				     (uint64_t)row);
}

static void add_name(struct orma_arg_list *args, const char *key, int64_t name)
{
	if (name != ORMA_CELL_NULL)
		orma_arg_list_add(args, orma_base_str(key), orma_base_str(key), ORMA_ARG_STRING,
				  name);
}

static struct orma_arg_list *begin_args(struct orma_system *system)
{
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	return &system->args;
}

/* Adds an entry with the arguments that were made. */
static int add_entry(struct orma_system *system, enum orma_stat stat, int64_t ts)
{
	struct orma_table *log = &system->tables->all[ORMA_TABLE_IMPORT_LOG];
	int64_t cells[ORMA_IMPORT_LOG_COLUMNS] = {
		[ORMA_IMPORT_LOG_TRACE_ID] = 0,
		[ORMA_IMPORT_LOG_TS] = ts,
		[ORMA_IMPORT_LOG_BYTE_OFFSET] = ORMA_CELL_NULL,
		[ORMA_IMPORT_LOG_SEVERITY] =
			orma_tables_string(system->tables, orma_base_str(orma_stat_severity(stat))),
		[ORMA_IMPORT_LOG_NAME] =
			orma_tables_string(system->tables, orma_base_str(orma_stat_name(stat))),
		[ORMA_IMPORT_LOG_ARG_SET_ID] = orma_system_take_args(system)};
	return orma_store_table_append(log, cells);
}

static bool has_room(const struct orma_system *system)
{
	const struct orma_table *log = &system->tables->all[ORMA_TABLE_IMPORT_LOG];
	return system->has_log && orma_store_table_rows(log) < ORMA_IMPORT_LOG_MAX;
}

int orma_import_log_overlap(struct orma_system *system, enum orma_stat stat,
			    const struct orma_slice_begin *slice, int64_t other)
{
	if (!has_room(system))
		return 0;
	struct orma_arg_list *args = begin_args(system);
	int64_t ts = slice_cell(system, other, ORMA_SLICE_TS);
	int64_t dur = slice_cell(system, other, ORMA_SLICE_DUR);
	add_name(args, "event_name", slice->name);
	orma_arg_list_add_string(args, "event_phase", ORMA_STR("X"));
	orma_arg_list_add_int(args, "overlap_start", slice->ts);
	orma_arg_list_add_int(args, "overlap_end", ts + dur);
	add_name(args, "conflicting_slice_name", slice_cell(system, other, ORMA_SLICE_NAME));
	orma_arg_list_add_int(args, "conflicting_slice_ts", ts);
	orma_arg_list_add_int(args, "conflicting_slice_dur", dur);
	return add_entry(system, stat, slice->ts);
}

int orma_import_log_depth(struct orma_system *system, const struct orma_slice_begin *slice,
			  int64_t other)
{
	if (!has_room(system))
		return 0;
	struct orma_arg_list *args = begin_args(system);
	add_name(args, "parent_slice_name", slice_cell(system, other, ORMA_SLICE_NAME));
	add_name(args, "current_slice_name", slice->name);
	return add_entry(system, ORMA_STAT_slice_max_depth_exceeded, slice->ts);
}
