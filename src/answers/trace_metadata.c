/* SPDX-License-Identifier: Apache-2.0
 * trace_metadata.c - searches the table metadata, which has a few dozen rows.
 *
 * Rejected: SQL, because summaries of a trace need no statement otherwise; the bounds of the trace for the time of a recording without
 * events in between, because Trace Processor's bounds do not count the service's own events either, and queries rely on them.
 */
#include "answers/trace_metadata.h"

#include "base/macros.h"

static int64_t find(const struct orma_trace_database *database, const char *name, size_t column)
{
	const struct orma_table *table = &database->tables.all[ORMA_TABLE_METADATA];
	uint32_t id = orma_store_pool_find(&database->tables.strings, orma_base_str(name));
	for (uint64_t row = 0; id > 0 && row < orma_store_table_rows(table); row++)
		if (orma_store_column_get(&table->columns[ORMA_METADATA_NAME], row) == id)
			return orma_store_column_get(&table->columns[column], row);
	return ORMA_CELL_NULL;
}

struct orma_str orma_trace_metadata_text(const struct orma_trace_database *database,
					 const char *name)
{
	return orma_trace_database_text(database, find(database, name, ORMA_METADATA_STR_VALUE));
}

int64_t orma_trace_metadata_number(const struct orma_trace_database *database, const char *name)
{
	int64_t number = find(database, name, ORMA_METADATA_INT_VALUE);
	return number == ORMA_CELL_NULL ? 0 : number;
}

void orma_trace_recorded_time(const struct orma_trace_database *database, int64_t *ret_start_ns,
			      int64_t *ret_end_ns)
{
	int64_t started = orma_trace_metadata_number(database, "tracing_started_ns");
	int64_t ended = orma_trace_metadata_number(database, "tracing_disabled_ns");
	*ret_start_ns = database->start_ns;
	*ret_end_ns = database->end_ns;
	/* The bounds of events of one moment are a nanosecond apart. */
	if (database->end_ns - database->start_ns != 1)
		return;
	if (started > 0)
		*ret_start_ns = ORMA_MIN(started, database->start_ns);
	*ret_end_ns = ORMA_MAX(ended, database->end_ns);
}
