/* SPDX-License-Identifier: Apache-2.0
 * window_table.c - `create virtual table w using __intrinsic_window(start, dur, quantum)`: spans of a quantum each, the
 * whole window when it is 0. An older way to give a span join one side.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "sql/engine_state.h"
#include "sql/span_join.h"

/* So many columns are hidden: row, quantum, start and duration of the window. */
enum { ROW, QUANTUM, START, DUR_OF_ALL, TS, DUR, QUANTUM_TS };

struct window {
	sqlite3_vtab base;
	int64_t start, dur, quantum;
};

struct window_cursor {
	sqlite3_vtab_cursor base;
	int64_t row;
};

static bool parse(const char *text, int64_t *ret)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	while (*end == ' ')
		end++;
	*ret = value;
	return errno == 0 && end != text && *end == '\0';
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
		   char **reterr)
{
	struct window window = {.quantum = 0};
	(void)aux;
	if (argc != 6) {
		*reterr =
			sqlite3_mprintf("__intrinsic_window: takes 3 arguments, not %d", argc - 3);
		return SQLITE_ERROR;
	}
	if (!parse(argv[3], &window.start) || !parse(argv[4], &window.dur) ||
	    !parse(argv[5], &window.quantum) || window.dur < 0 || window.quantum < 0) {
		*reterr = sqlite3_mprintf("__intrinsic_window: not numbers: %s, %s, %s", argv[3],
					  argv[4], argv[5]);
		return SQLITE_ERROR;
	}
	int code = sqlite3_declare_vtab(
		db, "create table x(rowid bigint hidden, quantum bigint hidden, "
		    "window_start bigint hidden, window_dur bigint hidden, "
		    "ts bigint, dur bigint, quantum_ts bigint)");
	if (code != SQLITE_OK)
		return code;
	struct window *copy = orma_base_memdup(&window, sizeof(window));
	*ret = copy ? &copy->base : NULL;
	return copy ? SQLITE_OK : SQLITE_NOMEM;
}

static int disconnect(sqlite3_vtab *vtab)
{
	orma_base_free(vtab);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	info->orderByConsumed =
		info->nOrderBy == 1 && info->aOrderBy[0].iColumn == TS && !info->aOrderBy[0].desc;
	info->estimatedRows = 1000;
	info->estimatedCost = 1000;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	(void)vtab;
	struct window_cursor *cursor = orma_base_zalloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	orma_base_free(cursor);
	return SQLITE_OK;
}

static int64_t *row_of(sqlite3_vtab_cursor *cursor)
{
	return &((struct window_cursor *)(void *)cursor)->row;
}

static const struct window *window_of(sqlite3_vtab_cursor *cursor)
{
	return (const struct window *)(void *)cursor->pVtab;
}

static int64_t step_of(const struct window *window)
{
	return window->quantum == 0 ? window->dur : window->quantum;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	(void)number, (void)plan, (void)argc, (void)argv;
	*row_of(cursor) = 0;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
	(*row_of(cursor))++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *cursor)
{
	const struct window *window = window_of(cursor);
	/* The last span may reach beyond the window. */
	return window->dur == 0 || *row_of(cursor) > (window->dur - 1) / step_of(window);
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column_idx)
{
	const struct window *window = window_of(cursor);
	int64_t row = *row_of(cursor);
	uint64_t offset = (uint64_t)row * (uint64_t)step_of(window);
	const int64_t values[] = {
		[ROW] = row,
		[QUANTUM] = window->quantum,
		[START] = window->start,
		[DUR_OF_ALL] = window->dur,
		[TS] = (int64_t)((uint64_t)window->start + offset),
		[DUR] = step_of(window),
		[QUANTUM_TS] = row,
	};
	sqlite3_result_int64(context, values[column_idx]);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = *row_of(cursor);
	return SQLITE_OK;
}

static const sqlite3_module methods = {
	.iVersion = 1,
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

int orma_sql_add_window(struct orma_sql *sql)
{
	return sqlite3_create_module_v2(sql->db, "__intrinsic_window", &methods, NULL, NULL) ==
			       SQLITE_OK
		       ? 0
		       : -ENOMEM;
}
