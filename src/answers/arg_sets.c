/* SPDX-License-Identifier: Apache-2.0
 * arg_sets.c - reads the arguments of a set by its id.
 *
 * The id says where the arguments are. A set of a slice or of a kernel event is its row number with a bit above it; the arguments
 * are read from the trace's packets, or from what was kept of them when the trace was loaded. Every other set is stored as rows of
 * the table of arguments, and its id is the number of its first row.
 *
 * Invariant: `database->args` is the set `database->args_set`, or empty when that is ORMA_CELL_NULL. So a second question about
 * the same set reads nothing.
 */
#include "answers/trace_database.h"

/* Reads a set that is rows of the table. */
static void read_stored(struct orma_trace_database *database, int64_t set)
{
	static const struct {
		char first;
		enum orma_arg_type type;
	} types[] = {{'n', ORMA_ARG_NULL},   {'i', ORMA_ARG_INT},  {'u', ORMA_ARG_UINT},
		     {'s', ORMA_ARG_STRING}, {'r', ORMA_ARG_REAL}, {'p', ORMA_ARG_POINTER},
		     {'b', ORMA_ARG_BOOL},   {'j', ORMA_ARG_JSON}};
	struct orma_table *table = &database->tables.all[ORMA_TABLE_ARGS];
	const struct orma_column *columns = table->columns;
	for (uint64_t row = (uint64_t)set; row < orma_store_table_rows(table); row++) {
		if (orma_store_column_get(&columns[ORMA_ARGS_ARG_SET_ID], row) != set)
			break;
		int64_t type_cell = orma_store_column_get(&columns[ORMA_ARGS_VALUE_TYPE], row);
		const char *type =
			orma_store_pool_get(&database->tables.strings, (uint32_t)type_cell).data;
		enum orma_arg_type kind = ORMA_ARG_NULL;
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			kind = types[i].first == type[0] ? types[i].type : kind;
		size_t column = kind == ORMA_ARG_REAL ? ORMA_ARGS_REAL_VALUE
				: kind == ORMA_ARG_STRING || kind == ORMA_ARG_JSON
					? ORMA_ARGS_STRING_VALUE
					: ORMA_ARGS_INT_VALUE;
		int64_t flat_key = orma_store_column_get(&columns[ORMA_ARGS_FLAT_KEY], row);
		int64_t key = orma_store_column_get(&columns[ORMA_ARGS_KEY], row);
		orma_arg_list_add(
			&database->args,
			orma_store_pool_get(&database->tables.strings, (uint32_t)flat_key),
			orma_store_pool_get(&database->tables.strings, (uint32_t)key), kind,
			orma_store_column_get(&columns[column], row));
	}
}

/* The thread that made an event of somebody else's track stands behind what the begin of the slice says. */
static void add_passed_thread(struct orma_trace_database *database, uint64_t row)
{
	static const struct orma_str key = {"legacy_event.passthrough_utid", 29};
	int64_t utid = orma_store_column_get(
		orma_tables_column(&database->tables, ORMA_TABLE_SLICE, ORMA_SLICE_PASSED_UTID),
		row);
	if (utid != ORMA_CELL_NULL)
		orma_arg_list_add(&database->args, key, key, ORMA_ARG_UINT, utid);
}

/* Takes the arguments that were kept when the trace was loaded. False when the packets have more, or other values. */
static bool read_kept(struct orma_trace_database *database, uint64_t row)
{
	const struct orma_kept_args *kept = &database->importer.kept_args;
	const struct orma_arg_shape *shape = orma_kept_args_shape(kept, row);
	int64_t values[ORMA_KEPT_ARGS_MAX];
	/* The keys of the list would be in another pool. */
	if (!shape || database->tables.passing)
		return false;
	for (uint32_t i = 0; i < shape->count; i++) {
		values[i] = orma_kept_args_value(kept, shape, i, row);
		if (values[i] == ORMA_CELL_NULL)
			return false;
	}
	for (uint32_t i = 0; i < shape->count; i++)
		orma_arg_list_add_key(&database->args, shape->keys[i], shape->keys[i],
				      (enum orma_arg_type)shape->types[i], values[i]);
	return true;
}

static int read_slice(struct orma_trace_database *database, uint64_t row)
{
	static const size_t ends[] = {ORMA_SLICE_BEGIN_PACKET, ORMA_SLICE_END_PACKET};
	struct orma_table *table = &database->tables.all[ORMA_TABLE_SLICE];
	int r = 0;
	if (row >= orma_store_table_rows(table) || read_kept(database, row))
		return 0;
	for (size_t i = 0; i < 2 && r == 0; i++) {
		int64_t entry = orma_store_column_get(&table->columns[ends[i]], row);
		if (entry != ORMA_CELL_NULL && entry & ORMA_KERNEL_EVENT_BIT)
			r = orma_kernel_args_add_slice(&database->kernel_args, entry,
						       &database->args);
		else if (entry != ORMA_CELL_NULL)
			r = orma_event_args_add(&database->event_args, (uint64_t)entry,
						&database->args);
		if (i == 0)
			add_passed_thread(database, row);
	}
	return r;
}

static int read_event(struct orma_trace_database *database, uint64_t row)
{
	const struct orma_table *table = &database->tables.all[ORMA_TABLE_FTRACE_EVENT];
	int r = orma_raw_events_finish(&database->importer.system.raw_events);
	return r == 0 && row < orma_store_table_rows(table)
		       ? orma_kernel_args_add(&database->kernel_args, row, &database->args)
		       : r;
}

int orma_trace_database_args(struct orma_trace_database *database, int64_t set,
			     const struct orma_arg_list **ret)
{
	*ret = &database->args;
	if (set == database->args_set)
		return 0;
	orma_arg_list_clear(&database->args);
	database->args_set = ORMA_CELL_NULL;
	int r = 0;
	if (set >= 0 && set & ORMA_ARG_SET_OF_SLICE)
		r = read_slice(database, (uint64_t)(set & ~ORMA_ARG_SET_OF_SLICE));
	else if (set >= 0 && set & ORMA_ARG_SET_OF_FTRACE_EVENT)
		r = read_event(database, (uint64_t)(set & ~ORMA_ARG_SET_OF_FTRACE_EVENT));
	else if (set >= 0)
		read_stored(database, set);
	if (r == 0)
		r = database->args.error;
	if (r == 0)
		database->args_set = set;
	else
		orma_arg_list_clear(&database->args);
	return r;
}
