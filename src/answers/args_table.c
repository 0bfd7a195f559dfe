/* SPDX-License-Identifier: Apache-2.0
 * args_table.c - the virtual table of arguments. Its cursor visits argument sets, which arg_sets.c reads.
 *
 * A query that names the set, as a join with a slice does, reads one packet. A query without a set visits the stored sets first,
 * then the slices with arguments, then the kernel events with arguments. Rows have numbers only as long as the cursor lives.
 *
 * A query for the distinct keys alone gets one row for each key, because SQLite would look each text up among those before it.
 * It visits one slice of each shape (trace/kept_args.h), and all slices whose arguments were not kept.
 */
#include <errno.h>
#include <stdarg.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"

enum {
	COLUMN_ID,
	COLUMN_SET,
	COLUMN_FLAT_KEY,
	COLUMN_KEY,
	COLUMN_INT,
	COLUMN_STRING,
	COLUMN_REAL,
	COLUMN_TYPE,
	COLUMN_DISPLAY
};

/* Rows that are skipped between two looks at whether the query was interrupted. */
enum { STOP_ROWS = 4096 };

enum plan { ALL_ROWS, ONE_SET, DISTINCT_KEYS, DISTINCT_FLAT_KEYS };

struct args_vtab {
	sqlite3_vtab base;
	struct orma_trace_database *database;
};

struct args_cursor {
	sqlite3_vtab_cursor base;
	struct orma_arg_list list; /* a copy of the set that is visited */
	int64_t set;
	uint32_t idx;
	uint64_t next_row; /* counts the stored rows, then the slices, then the kernel events */
	enum plan plan;
	bool is_end;
	uint64_t *
		seen; /* a bit for each key, by its number in the pool; used if keys are distinct */
	size_t seen_words;
	bool seen_shapes[ORMA_ARG_SHAPES_MAX]; /* the keys of these are seen */
	int64_t *
		shapes; /* the shapes of a block of slices, when keys are distinct; NULL = none yet */
	size_t shapes_block; /* the number of that block plus 1; 0 = no block was read */
	enum { IN_STORED, IN_SLICES, IN_EVENTS } place;
	sqlite3_int64 rowid;
};

static int connect_args(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **reterr)
{
	struct args_vtab *vtab = sqlite3_malloc(sizeof(*vtab));
	(void)argc;
	(void)argv;
	(void)reterr;
	if (!vtab)
		return SQLITE_NOMEM;
	*vtab = (struct args_vtab){.database = aux};
	*ret = &vtab->base;
	return sqlite3_declare_vtab(
		db,
		"create table x(id int, arg_set_id int, flat_key text, key text, int_value int, "
		"string_value text, real_value real, value_type text, display_value text)");
}

static int disconnect_args(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

/* True when the query reads no other column, and rows that are equal in it may be left out. */
static bool wants_distinct(sqlite3_index_info *info, int column)
{
	enum { DISTINCT_ONLY = 2 };
	return info->nOrderBy == 1 && info->aOrderBy[0].iColumn == column &&
	       info->colUsed == UINT64_C(1) << column &&
	       sqlite3_vtab_distinct(info) == DISTINCT_ONLY;
}

static int plan_args(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	info->estimatedCost = 1e9;
	info->estimatedRows = 10000000;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		if (!constraint->usable || constraint->iColumn != COLUMN_SET ||
		    constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = ONE_SET;
		info->estimatedCost = 20;
		info->estimatedRows = 4;
		return SQLITE_OK;
	}
	if (wants_distinct(info, COLUMN_KEY))
		info->idxNum = DISTINCT_KEYS;
	else if (wants_distinct(info, COLUMN_FLAT_KEY))
		info->idxNum = DISTINCT_FLAT_KEYS;
	info->orderByConsumed = info->idxNum != ALL_ROWS;
	return SQLITE_OK;
}

static int open_args(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct args_cursor *cursor = sqlite3_malloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct args_cursor){
		.list = {.tables = &((struct args_vtab *)vtab)->database->tables}};
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_args(sqlite3_vtab_cursor *base)
{
	struct args_cursor *cursor = (struct args_cursor *)base;
	orma_arg_list_done(&cursor->list);
	orma_base_free(cursor->seen);
	orma_base_free(cursor->shapes);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static struct orma_trace_database *database_of(const struct args_cursor *cursor)
{
	return ((struct args_vtab *)cursor->base.pVtab)->database;
}

/* Copies a set, because the database keeps only the last one. */
static int load_set(struct args_cursor *cursor, int64_t set)
{
	const struct orma_arg_list *list;
	int r = orma_trace_database_args(database_of(cursor), set, &list);
	if (r < 0)
		return r == -ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR;
	struct orma_arg *args =
		orma_base_realloc_array(cursor->list.args, list->count + 1, sizeof(*args));
	if (!args)
		return SQLITE_NOMEM;
	if (list->count > 0)
		memcpy(args, list->args, list->count * sizeof(*args));
	cursor->list.args = args;
	cursor->list.count = list->count;
	cursor->set = set;
	cursor->idx = 0;
	return SQLITE_OK;
}

static bool has_set(const struct orma_tables *tables, const struct args_cursor *cursor)
{
	const struct orma_column *columns = tables->all[ORMA_TABLE_SLICE].columns;
	return cursor->place == IN_EVENTS || orma_slice_has_args(columns, cursor->next_row);
}

static bool is_distinct(const struct args_cursor *cursor)
{
	return cursor->plan == DISTINCT_KEYS || cursor->plan == DISTINCT_FLAT_KEYS;
}

static bool is_stopped(const struct args_cursor *cursor)
{
	return orma_sql_is_interrupted(&database_of(cursor)->sql->interrupt);
}

/* Skips slices of a block whose keys were seen, from the next row on; the row that remains may have others. 0 or -ENOMEM. */
static int skip_shapes(struct args_cursor *cursor, uint64_t rows)
{
	const struct orma_kept_args *kept = &database_of(cursor)->importer.kept_args;
	if (!cursor->shapes)
		cursor->shapes = orma_base_alloc_array(ORMA_BLOCK_ROWS, sizeof(*cursor->shapes));
	if (!cursor->shapes)
		return -ENOMEM;
	size_t block = (size_t)(cursor->next_row >> ORMA_BLOCK_SHIFT);
	uint64_t begin = (uint64_t)block << ORMA_BLOCK_SHIFT;
	uint64_t end = ORMA_MIN(begin + ORMA_BLOCK_ROWS, rows);
	if (cursor->shapes_block != block + 1) {
		enum orma_kept_block kind = orma_kept_args_read_block(kept, block, cursor->shapes);
		int64_t shape = cursor->shapes[0];
		if (kind == ORMA_KEPT_NO_ARGS ||
		    (kind == ORMA_KEPT_ONE_SHAPE && cursor->seen_shapes[shape])) {
			cursor->next_row = end;
			return 0;
		}
		for (size_t i = 0; kind == ORMA_KEPT_ONE_SHAPE && i < end - begin; i++)
			cursor->shapes[i] = shape;
		cursor->shapes_block = block + 1;
	}
	for (; cursor->next_row < end; cursor->next_row++) {
		int64_t shape = cursor->shapes[cursor->next_row - begin];
		if (shape == ORMA_CELL_NULL)
			return 0;
		if (!cursor->seen_shapes[shape]) {
			cursor->seen_shapes[shape] = true;
			return 0;
		}
	}
	return 0;
}

/* Goes to the next slice or kernel event that has arguments. */
static int next_read_set(struct args_cursor *cursor)
{
	struct orma_tables *tables = &database_of(cursor)->tables;
	for (;;) {
		bool is_slice = cursor->place == IN_SLICES;
		uint64_t rows = orma_store_table_rows(
			&tables->all[is_slice ? ORMA_TABLE_SLICE : ORMA_TABLE_FTRACE_EVENT]);
		for (; cursor->next_row < rows; cursor->next_row++) {
			if (is_slice && is_distinct(cursor) && skip_shapes(cursor, rows) < 0)
				return SQLITE_NOMEM;
			if (cursor->next_row % STOP_ROWS == 0 && is_stopped(cursor))
				return SQLITE_INTERRUPT;
			if (cursor->next_row == rows)
				break;
			if (!has_set(tables, cursor))
				continue;
			int r = load_set(cursor, (is_slice ? ORMA_ARG_SET_OF_SLICE
							   : ORMA_ARG_SET_OF_FTRACE_EVENT) |
							 (int64_t)cursor->next_row);
			if (r != SQLITE_OK || cursor->list.count > 0) {
				cursor->next_row++;
				return r;
			}
		}
		cursor->is_end = !is_slice;
		if (!is_slice)
			return SQLITE_OK;
		int r = orma_raw_events_finish(&database_of(cursor)->importer.system.raw_events);
		if (r < 0)
			return r == -ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR;
		cursor->place = IN_EVENTS;
		cursor->next_row = 0;
	}
}

/* Goes to the next set that has arguments. */
static int next_set(struct args_cursor *cursor)
{
	const struct orma_table *stored = &database_of(cursor)->tables.all[ORMA_TABLE_ARGS];
	if (cursor->place == IN_STORED && cursor->next_row < orma_store_table_rows(stored)) {
		int r = load_set(cursor, (int64_t)cursor->next_row);
		cursor->next_row += cursor->list.count;
		return r;
	}
	if (cursor->place == IN_STORED) {
		cursor->place = IN_SLICES;
		cursor->next_row = 0;
	}
	return next_read_set(cursor);
}

/* Notes that there is a row with the key. 1, 0 = there was one before, or -ENOMEM. */
static int note_key(struct args_cursor *cursor, uint32_t key)
{
	size_t word = key / 64;
	if (word >= cursor->seen_words) {
		size_t words = word + 1 + cursor->seen_words;
		uint64_t *bigger =
			orma_base_realloc_array(cursor->seen, words, sizeof(*cursor->seen));
		if (!bigger)
			return -ENOMEM;
		memset(bigger + cursor->seen_words, 0,
		       (words - cursor->seen_words) * sizeof(*bigger));
		cursor->seen = bigger;
		cursor->seen_words = words;
	}
	uint64_t bit = UINT64_C(1) << key % 64;
	bool is_new = !(cursor->seen[word] & bit);
	cursor->seen[word] |= bit;
	return is_new;
}

/* Goes on to the first argument, from the current one, whose key no argument before has. */
static int skip_seen(struct args_cursor *cursor)
{
	while (!cursor->is_end) {
		for (; cursor->idx < cursor->list.count; cursor->idx++) {
			const struct orma_arg *arg = &cursor->list.args[cursor->idx];
			int r = note_key(cursor,
					 cursor->plan == DISTINCT_KEYS ? arg->key : arg->flat_key);
			if (r != 0)
				return r < 0 ? SQLITE_NOMEM : SQLITE_OK;
		}
		int r = next_set(cursor);
		if (r != SQLITE_OK)
			return r;
	}
	return SQLITE_OK;
}

static int filter_args(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
		       sqlite3_value **argv)
{
	struct args_cursor *cursor = (struct args_cursor *)base;
	(void)text;
	(void)argc;
	cursor->plan = (enum plan)plan;
	cursor->is_end = false;
	cursor->place = IN_STORED;
	cursor->next_row = 0;
	cursor->rowid = 0;
	cursor->idx = cursor->list.count = 0;
	if (cursor->plan == ALL_ROWS)
		return next_set(cursor);
	if (cursor->plan != ONE_SET) {
		if (cursor->seen_words > 0)
			memset(cursor->seen, 0, cursor->seen_words * sizeof(*cursor->seen));
		memset(cursor->seen_shapes, 0, sizeof(cursor->seen_shapes));
		cursor->shapes_block = 0;
		return skip_seen(cursor);
	}
	/* A comparison with something else than an integer is never true. */
	cursor->is_end = sqlite3_value_type(argv[0]) != SQLITE_INTEGER;
	int r = cursor->is_end ? SQLITE_OK : load_set(cursor, sqlite3_value_int64(argv[0]));
	cursor->is_end = cursor->is_end || cursor->list.count == 0;
	return r;
}

static int next_arg(sqlite3_vtab_cursor *base)
{
	struct args_cursor *cursor = (struct args_cursor *)base;
	cursor->rowid++;
	cursor->idx++;
	if (is_distinct(cursor))
		return skip_seen(cursor);
	if (cursor->idx < cursor->list.count)
		return SQLITE_OK;
	if (cursor->plan == ALL_ROWS)
		return next_set(cursor);
	cursor->is_end = true;
	return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
	return ((struct args_cursor *)base)->is_end;
}

static void return_string(const struct args_cursor *cursor, sqlite3_context *context, int64_t cell)
{
	struct orma_str text =
		orma_store_pool_get(&database_of(cursor)->tables.strings, (uint32_t)cell);
	sqlite3_result_text64(context, text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
}

static void return_printed(sqlite3_context *context, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	char *text = sqlite3_vmprintf(format, values);
	va_end(values);
	if (text)
		sqlite3_result_text(context, text, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(context);
}

/* Any value as text. */
static void return_display(const struct args_cursor *cursor, sqlite3_context *context)
{
	const struct orma_arg *arg = &cursor->list.args[cursor->idx];
	switch (arg->type) {
	case ORMA_ARG_NULL:
		break;
	case ORMA_ARG_INT:
		return_printed(context, "%lld", (long long)arg->value);
		break;
	case ORMA_ARG_UINT:
		return_printed(context, "%llu", (unsigned long long)arg->value);
		break;
	case ORMA_ARG_POINTER:
		return_printed(context, "0x%llx", (unsigned long long)arg->value);
		break;
	case ORMA_ARG_BOOL:
		sqlite3_result_text(context, arg->value ? "true" : "false", -1, SQLITE_STATIC);
		break;
	case ORMA_ARG_REAL:
		/* A cast of SQLite gives this. */
		return_printed(context, "%!.15g", orma_store_double_of_cell(arg->value));
		break;
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		return_string(cursor, context, arg->value);
		break;
	}
}

static int return_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	static const char *const types[] = {"null", "int",     "uint", "string",
					    "real", "pointer", "bool", "json"};
	const struct args_cursor *cursor = (const struct args_cursor *)base;
	const struct orma_arg *arg = &cursor->list.args[cursor->idx];
	bool is_string = arg->type == ORMA_ARG_STRING || arg->type == ORMA_ARG_JSON;
	bool is_real = arg->type == ORMA_ARG_REAL;
	if (column == COLUMN_ID)
		sqlite3_result_int64(context, cursor->set & (ORMA_ARG_SET_OF_SLICE |
							     ORMA_ARG_SET_OF_FTRACE_EVENT)
						      ? cursor->rowid
						      : cursor->set + cursor->idx);
	else if (column == COLUMN_SET)
		sqlite3_result_int64(context, cursor->set);
	else if (column == COLUMN_FLAT_KEY)
		return_string(cursor, context, arg->flat_key);
	else if (column == COLUMN_KEY)
		return_string(cursor, context, arg->key);
	else if (column == COLUMN_TYPE)
		sqlite3_result_text(context, types[arg->type], -1, SQLITE_STATIC);
	else if (column == COLUMN_DISPLAY)
		return_display(cursor, context);
	else if (column == COLUMN_STRING && is_string)
		return_string(cursor, context, arg->value);
	else if (column == COLUMN_REAL && is_real)
		sqlite3_result_double(context, orma_store_double_of_cell(arg->value));
	else if (column == COLUMN_INT && !is_string && !is_real && arg->type != ORMA_ARG_NULL)
		sqlite3_result_int64(context, arg->value);
	return SQLITE_OK;
}

static int return_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct args_cursor *)base)->rowid;
	return SQLITE_OK;
}

static const sqlite3_module args_module = {
	.xCreate = connect_args,
	.xConnect = connect_args,
	.xBestIndex = plan_args,
	.xDisconnect = disconnect_args,
	.xDestroy = disconnect_args,
	.xOpen = open_args,
	.xClose = close_args,
	.xFilter = filter_args,
	.xNext = next_arg,
	.xEof = is_at_end,
	.xColumn = return_column,
	.xRowid = return_rowid,
};

int orma_args_table_add(struct orma_trace_database *database)
{
	/* A module that creates tables as it connects to them is a table of its own name, too. */
	int r = sqlite3_create_module(orma_sql_db(database->sql), "__intrinsic_args", &args_module,
				      database);
	return r == SQLITE_OK ? 0 : -ENOMEM;
}
