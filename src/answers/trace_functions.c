/* SPDX-License-Identifier: Apache-2.0
 * trace_functions.c - SQL functions that look into the trace.
 */
#include <errno.h>

#include "answers/trace_database.h"
#include "base/buf.h"
#include "base/macros.h"
#include "sql/functions.h"
#include "sql/sqlite_error.h"

static void return_arg(struct orma_trace_database *database, sqlite3_context *context,
		       const struct orma_arg *arg)
{
	struct orma_str text;
	switch (arg->type) {
	case ORMA_ARG_NULL:
		break;
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		text = orma_store_pool_get(&database->tables.strings, (uint32_t)arg->value);
		sqlite3_result_text64(context, text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
		break;
	case ORMA_ARG_REAL:
		sqlite3_result_double(context, orma_store_double_of_cell(arg->value));
		break;
	case ORMA_ARG_INT:
	case ORMA_ARG_UINT:
	case ORMA_ARG_POINTER:
	case ORMA_ARG_BOOL:
		sqlite3_result_int64(context, arg->value);
		break;
	}
}

/*
 * Returns the id of the key, 0 when no argument has it. A key that is the same for all rows is looked up once: SQLite keeps
 * its id with the statement.
 */
static uint32_t find_key(struct orma_trace_database *database, sqlite3_context *context,
			 sqlite3_value *key)
{
	uint32_t id = (uint32_t)(uintptr_t)sqlite3_get_auxdata(context, 1);
	if (id > 0)
		return id;
	const char *text = (const char *)sqlite3_value_text(key);
	id = orma_store_pool_find(&database->tables.strings,
				  (struct orma_str){text, (size_t)sqlite3_value_bytes(key)});
	if (id > 0)
		sqlite3_set_auxdata(context, 1, (void *)(uintptr_t)id, NULL);
	return id;
}

/* extract_arg(set, key) */
static void extract_arg(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_trace_database *database = sqlite3_user_data(context);
	const struct orma_arg_list *list;
	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER ||
	    sqlite3_value_type(argv[1]) != SQLITE_TEXT) {
		sqlite3_result_error(context, "EXTRACT_ARG: takes the id of a set and a key", -1);
		return;
	}
	/* Reading the set may add strings, but the key's own can only be there if some argument has it. */
	int r = orma_trace_database_args(database, sqlite3_value_int64(argv[0]), &list);
	if (r < 0) {
		sqlite3_result_error_code(context, r == -ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR);
		return;
	}
	uint32_t id = find_key(database, context, argv[1]);
	for (uint32_t i = 0; i < list->count && id != 0; i++)
		if (list->args[i].key == id) {
			return_arg(database, context, &list->args[i]);
			return;
		}
}

static bool is_wanted(struct orma_table *table, size_t column, uint64_t row, sqlite3_value *wanted)
{
	return !wanted ||
	       orma_store_column_get(&table->columns[column], row) == sqlite3_value_int64(wanted);
}

/* Returns the first value of this name, and of this machine and this trace unless they are NULL. */
static void find_metadata(sqlite3_context *context, sqlite3_value *machine, sqlite3_value *trace,
			  sqlite3_value *name_value)
{
	struct orma_trace_database *database = sqlite3_user_data(context);
	struct orma_table *table = &database->tables.all[ORMA_TABLE_METADATA];
	if (sqlite3_value_type(name_value) != SQLITE_TEXT ||
	    (machine && sqlite3_value_type(machine) == SQLITE_NULL) ||
	    (trace && sqlite3_value_type(trace) == SQLITE_NULL))
		return;
	struct orma_str name = {(const char *)sqlite3_value_text(name_value),
				(size_t)sqlite3_value_bytes(name_value)};
	uint32_t id = orma_store_pool_find(&database->tables.strings, name);
	for (uint64_t row = 0; row < orma_store_table_rows(table) && id != 0; row++) {
		if (orma_store_column_get(&table->columns[ORMA_METADATA_NAME], row) != id ||
		    !is_wanted(table, ORMA_METADATA_MACHINE_ID, row, machine) ||
		    !is_wanted(table, ORMA_METADATA_TRACE_ID, row, trace))
			continue;
		int64_t text = orma_store_column_get(&table->columns[ORMA_METADATA_STR_VALUE], row);
		int64_t number =
			orma_store_column_get(&table->columns[ORMA_METADATA_INT_VALUE], row);
		if (text != ORMA_CELL_NULL) {
			struct orma_arg arg = {.type = ORMA_ARG_STRING, .value = text};
			return_arg(database, context, &arg);
		} else if (number != ORMA_CELL_NULL) {
			sqlite3_result_int64(context, number);
		}
		return;
	}
}

static void extract_metadata(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	find_metadata(context, NULL, NULL, argv[0]);
}

static void extract_metadata_for_machine(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	find_metadata(context, argv[0], NULL, argv[1]);
}

static void extract_metadata_for_trace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	find_metadata(context, NULL, argv[0], argv[1]);
}

static void extract_exact_metadata(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	find_metadata(context, argv[0], argv[1], argv[2]);
}

/* import(module), an older form of the statement */
static void import(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_trace_database *database = sqlite3_user_data(context);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_error error = {0};
	const char *module = (const char *)sqlite3_value_text(argv[0]);
	(void)argc;
	int r = orma_base_buf_printf(&text, "include perfetto module %s", module ? module : "");
	if (r == 0)
		r = orma_sql_execute(database->sql,
				     (struct orma_str){(const char *)text.data, text.size}, &error);
	if (r < 0)
		orma_sql_result_refuse(context, r, &error);
	else
		orma_sql_result_void(context);
}

int orma_trace_functions_add(struct orma_trace_database *database)
{
	static const struct {
		const char *name;
		int arg_count, flags;
		void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
	} functions[] = {
		{"extract_arg", 2, SQLITE_DETERMINISTIC, extract_arg},
		{"extract_metadata", 1, SQLITE_DETERMINISTIC, extract_metadata},
		{"extract_metadata_for_machine", 2, SQLITE_DETERMINISTIC,
		 extract_metadata_for_machine},
		{"extract_metadata_for_trace", 2, SQLITE_DETERMINISTIC, extract_metadata_for_trace},
		{"extract_exact_metadata", 3, SQLITE_DETERMINISTIC, extract_exact_metadata},
		{"import", 1, 0, import},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(functions); i++)
		if (sqlite3_create_function(orma_sql_db(database->sql), functions[i].name,
					    functions[i].arg_count,
					    SQLITE_UTF8 | functions[i].flags, database,
					    functions[i].call, NULL, NULL) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}
