/* SPDX-License-Identifier: Apache-2.0
 * trace_relations.c - the tables as SQL sees them: with ids, and with the columns that are computed.
 */
#include <errno.h>

#include "answers/trace_database.h"

/* Returns the table's number of a relation's column by its name. */
static size_t find_column(const struct orma_table *table, const char *name)
{
	size_t i = 0;
	while (strcmp(table->specs[i].name, name) != 0)
		i++;
	return i;
}

bool orma_slice_has_args(const struct orma_column *columns, uint64_t row)
{
	static const size_t sources[] = {ORMA_SLICE_BEGIN_PACKET, ORMA_SLICE_END_PACKET,
					 ORMA_SLICE_PASSED_UTID};
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (orma_store_column_get(&columns[sources[i]], row) != ORMA_CELL_NULL)
			return true;
	return false;
}

/* A slice's arguments are those of its set, or those of the packets that it began and ended with. */
static int read_slice_sets(void *ctx, uint64_t first, size_t count, int64_t *ret)
{
	struct orma_tables *tables = ctx;
	const struct orma_column *columns = tables->all[ORMA_TABLE_SLICE].columns;
	for (size_t i = 0; i < count; i++) {
		uint64_t row = first + i;
		ret[i] = orma_store_column_get(&columns[ORMA_SLICE_ARG_SET_ID], row);
		if (ret[i] == ORMA_CELL_NULL && orma_slice_has_args(columns, row))
			ret[i] = ORMA_ARG_SET_OF_SLICE | (int64_t)row;
	}
	return 0;
}

/* A kernel event's arguments are its fields. */
static int read_event_sets(void *ctx, uint64_t first, size_t count, int64_t *ret)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		ret[i] = ORMA_ARG_SET_OF_FTRACE_EVENT | (int64_t)(first + i);
	return 0;
}

static int fill_states(void *ctx)
{
	return orma_thread_states_finish(
		&((struct orma_trace_database *)ctx)->importer.sched.states);
}

static int fill_events(void *ctx)
{
	return orma_raw_events_finish(
		&((struct orma_trace_database *)ctx)->importer.system.raw_events);
}

static int add_table(struct orma_trace_database *database, enum orma_table_id id)
{
	struct orma_table *table = &database->tables.all[id];
	struct orma_relation *relation;
	int r = orma_sql_relation_new(table->name, "id", &database->tables.strings, &relation);
	if (r < 0)
		return r;
	bool has_computed = id == ORMA_TABLE_SLICE || id == ORMA_TABLE_FTRACE_EVENT;
	if (!has_computed)
		r = orma_sql_relation_add_table(relation, table);
	for (size_t i = 0; i < table->column_count && r == 0 && has_computed; i++) {
		struct orma_relation_column column = {.name = table->specs[i].name,
						      .type = table->specs[i].type,
						      .flags = table->specs[i].flags,
						      .stored = &table->columns[i]};
		bool is_slice = id == ORMA_TABLE_SLICE;
		if ((is_slice || id == ORMA_TABLE_FTRACE_EVENT) &&
		    i == find_column(table, "arg_set_id")) {
			column.stored = NULL;
			column.read = is_slice ? read_slice_sets : read_event_sets;
			column.ctx = &database->tables;
		}
		r = orma_sql_relation_add(relation, &column);
	}
	relation->table = table;
	if (id == ORMA_TABLE_SLICE) {
		relation->call_name = "extract_arg";
		relation->call_column = (size_t)orma_sql_relation_find(relation, "arg_set_id");
		relation->call = orma_arg_column_find;
		relation->call_ctx = database;
	}
	if (id == ORMA_TABLE_THREAD_STATE || id == ORMA_TABLE_SPURIOUS_WAKEUP) {
		relation->fill = fill_states;
		relation->fill_ctx = database;
	}
	if (id == ORMA_TABLE_FTRACE_EVENT) {
		relation->fill = fill_events;
		relation->fill_ctx = database;
	}
	if (r == 0)
		r = orma_sql_add_relation(database->sql, relation);
	orma_sql_relation_unref(relation);
	return r;
}

int orma_trace_relations_add(struct orma_trace_database *database)
{
	int r = 0;
	for (int id = 0; id < ORMA_TABLES && r == 0; id++)
		/* The table of args is more than its rows; see args_table.c. */
		r = id == ORMA_TABLE_ARGS || id == ORMA_TABLE_ARG_SHAPE
			    ? 0
			    : add_table(database, (enum orma_table_id)id);
	return r;
}
