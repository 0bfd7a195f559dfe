/* SPDX-License-Identifier: Apache-2.0
 * task_names.c - finds names in the tables of threads and processes.
 *
 * A process without a name has its main thread's. Which thread that is, is noted for all processes when the trace has been loaded,
 * because a trace may have a million of either.
 */
#include "answers/task_names.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/macros.h"

int orma_main_threads_find(struct orma_trace_database *database)
{
	const struct orma_table *threads = &database->tables.all[ORMA_TABLE_THREAD];
	const struct orma_column *columns = threads->columns;
	uint64_t count = orma_store_table_rows(&database->tables.all[ORMA_TABLE_PROCESS]);
	uint64_t thread_count = ORMA_MIN(orma_store_table_rows(threads), (uint64_t)UINT32_MAX);
	uint32_t *main_threads = orma_base_alloc_array((size_t)count + 1, sizeof(*main_threads));
	if (!main_threads)
		return -ENOMEM;
	for (uint64_t utid = 0; utid < thread_count; utid++) {
		uint64_t upid = (uint64_t)orma_store_column_get(&columns[ORMA_THREAD_UPID], utid);
		if (upid < count && main_threads[upid] == 0 &&
		    orma_store_column_get(&columns[ORMA_THREAD_IS_MAIN_THREAD], utid) == 1)
			main_threads[upid] = (uint32_t)utid + 1;
	}
	database->main_threads = main_threads;
	database->main_thread_count = count;
	return 0;
}

struct orma_task_name orma_thread_name(const struct orma_trace_database *database, int64_t utid)
{
	const struct orma_table *threads = &database->tables.all[ORMA_TABLE_THREAD];
	if (utid < 0 || (uint64_t)utid >= orma_store_table_rows(threads))
		return (struct orma_task_name){.id = -1};
	int64_t tid = orma_store_column_get(&threads->columns[ORMA_THREAD_TID], (uint64_t)utid);
	int64_t name = orma_store_column_get(&threads->columns[ORMA_THREAD_NAME], (uint64_t)utid);
	return (struct orma_task_name){.name = orma_trace_database_text(database, name),
				       .id = ORMA_MAX(tid, (int64_t)-1)};
}

/* The name of the process's main thread. */
static struct orma_str main_thread_name(const struct orma_trace_database *database, int64_t upid)
{
	bool is_known = (uint64_t)upid < database->main_thread_count;
	int64_t utid = is_known ? (int64_t)database->main_threads[upid] - 1 : -1;
	return orma_thread_name(database, utid).name;
}

struct orma_task_name orma_process_name(const struct orma_trace_database *database, int64_t upid)
{
	const struct orma_table *processes = &database->tables.all[ORMA_TABLE_PROCESS];
	if (upid < 0 || (uint64_t)upid >= orma_store_table_rows(processes))
		return (struct orma_task_name){.id = -1};
	int64_t pid = orma_store_column_get(&processes->columns[ORMA_PROCESS_PID], (uint64_t)upid);
	int64_t name =
		orma_store_column_get(&processes->columns[ORMA_PROCESS_NAME], (uint64_t)upid);
	struct orma_task_name ret = {.name = orma_trace_database_text(database, name),
				     .id = ORMA_MAX(pid, (int64_t)-1)};
	if (ret.name.size == 0)
		ret.name = main_thread_name(database, upid);
	return ret;
}

int64_t orma_thread_process(const struct orma_trace_database *database, int64_t utid)
{
	if (utid < 0)
		return -1;
	int64_t upid = orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_UPID,
						(uint64_t)utid);
	return upid == ORMA_CELL_NULL ? -1 : upid;
}

int orma_task_name_append(const struct orma_task_name *name, struct orma_buf *out)
{
	int r = name->name.size > 0 ? orma_base_buf_append(out, name->name.data, name->name.size)
				    : 0;
	if (r == 0 && name->id >= 0)
		r = orma_base_buf_printf(out, "%s(%" PRId64 ")", name->name.size > 0 ? " " : "",
					 name->id);
	else if (r == 0 && name->name.size == 0)
		r = orma_base_buf_append_str(out, "?");
	return r;
}
