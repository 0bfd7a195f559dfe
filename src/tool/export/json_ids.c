/* SPDX-License-Identifier: Apache-2.0
 * json_ids.c - the operating system uses a process id again; then the later process gets another one, which counts down
 * from 2^32 - 1 and is no process or thread of the trace. So does a thread.
 */
#include "tool/export/json_ids.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/map.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

struct reader {
	struct orma_map used;  /* pids, and pids with tids */
	struct orma_map known; /* the operating system's ids */
	int64_t next;          /* that may be given away */
};

static uint64_t key_of(int64_t pid, int64_t tid)
{
	return orma_base_fnv1a(orma_base_fnv1a(ORMA_FNV1A_INIT, &pid, sizeof(pid)), &tid,
			       sizeof(tid));
}

/* Returns the id, or another one when the place is taken; -ENOMEM. A hash may collide: then an id changes in vain. */
static int64_t take(struct reader *reader, int64_t pid, int64_t tid, bool is_process)
{
	int64_t *id = is_process ? &pid : &tid;
	if (orma_base_map_get(&reader->used, key_of(pid, tid))) {
		while (orma_base_map_get(&reader->known, (uint64_t)reader->next))
			reader->next--;
		*id = reader->next--;
	}
	int r = orma_base_map_put(&reader->used, key_of(pid, tid), reader);
	return r < 0 ? r : *id;
}

static int count_rows(struct orma_trace_database *database, const char *table, size_t *ret)
{
	sqlite3_stmt *rows = orma_export_prepare(database, "select count(*) from \"%w\"", table);
	int more = rows ? orma_export_step(rows) : -1;
	*ret = more > 0 ? (size_t)sqlite3_column_int64(rows, 0) : 0;
	sqlite3_finalize(rows);
	return more > 0 ? 0 : ORMA_EXIT_FAILURE;
}

static int read_known(struct orma_trace_database *database, struct reader *reader)
{
	int more, r = 0;
	sqlite3_stmt *rows = orma_export_prepare(
		database,
		"select pid from __intrinsic_process union select tid from __intrinsic_thread");
	if (!rows)
		return ORMA_EXIT_FAILURE;
	while (r == 0 && (more = orma_export_step(rows)) > 0)
		r = orma_base_map_put(&reader->known, (uint64_t)sqlite3_column_int64(rows, 0),
				      reader);
	sqlite3_finalize(rows);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : more < 0 ? ORMA_EXIT_FAILURE : 0;
}

/* Reads the rows of a query: the id, the process's upid or NULL, and the operating system's id. */
static int read_ids(struct orma_trace_database *database, struct reader *reader,
		    struct orma_json_ids *ids, const char *query, bool is_process)
{
	sqlite3_stmt *rows = orma_export_prepare(database, "%s", query);
	int more = -1;
	int64_t taken = 0;
	for (size_t i = 0; rows && taken >= 0 && (more = orma_export_step(rows)) > 0; i++) {
		int64_t id = sqlite3_column_int64(rows, 2);
		if (is_process && i < ids->process_count) {
			ORMA_ASSERT(ids->pids);
			taken = take(reader, id, -1, true);
			ids->pids[i] = taken;
		} else if (!is_process && i < ids->thread_count) {
			bool has_process = sqlite3_column_type(rows, 1) != SQLITE_NULL;
			int64_t pid =
				has_process ? orma_json_pid(ids, sqlite3_column_int64(rows, 1)) : 0;
			taken = take(reader, pid, id, false);
			ids->threads[i] = (struct orma_json_thread){pid, taken};
		}
	}
	sqlite3_finalize(rows);
	if (taken < 0)
		return orma_tool_fail("%s", strerror(ENOMEM));
	return more < 0 ? ORMA_EXIT_FAILURE : 0;
}

int orma_json_ids_read(struct orma_trace_database *database, struct orma_json_ids *ret)
{
	struct reader reader = {.next = UINT32_MAX};
	*ret = (struct orma_json_ids){0};
	int status = count_rows(database, "__intrinsic_process", &ret->process_count);
	if (status == 0)
		status = count_rows(database, "__intrinsic_thread", &ret->thread_count);
	ret->pids = orma_base_alloc_array(ret->process_count + 1, sizeof(*ret->pids));
	ret->threads = orma_base_alloc_array(ret->thread_count + 1, sizeof(*ret->threads));
	if (status == 0 && (!ret->pids || !ret->threads))
		status = orma_tool_fail("%s", strerror(ENOMEM));
	if (status == 0)
		status = read_known(database, &reader);
	if (status == 0)
		status =
			read_ids(database, &reader, ret,
				 "select id, null, pid from __intrinsic_process order by id", true);
	if (status == 0)
		status =
			read_ids(database, &reader, ret,
				 "select id, upid, tid from __intrinsic_thread order by id", false);
	orma_base_map_done(&reader.used);
	orma_base_map_done(&reader.known);
	return status;
}

void orma_json_ids_done(struct orma_json_ids *ids)
{
	orma_base_free(ids->pids);
	orma_base_free(ids->threads);
	*ids = (struct orma_json_ids){0};
}

int64_t orma_json_pid(const struct orma_json_ids *ids, int64_t upid)
{
	return upid >= 0 && (uint64_t)upid < ids->process_count ? ids->pids[upid] : 0;
}

struct orma_json_thread orma_json_thread(const struct orma_json_ids *ids, int64_t utid)
{
	return utid >= 0 && (uint64_t)utid < ids->thread_count ? ids->threads[utid]
							       : (struct orma_json_thread){0, 0};
}
