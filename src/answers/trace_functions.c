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
	const char *key = (const char *)sqlite3_value_text(argv[1]);
	size_t key_size = (size_t)sqlite3_value_bytes(argv[1]);
	/* Reading the set may add strings, but the key's own can only be there if some argument has it. */
	int r = orma_trace_database_args(database, sqlite3_value_int64(argv[0]), &list);
	if (r < 0) {
		sqlite3_result_error_code(context, r == -ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR);
		return;
	}
	uint32_t id =
		orma_store_pool_find(&database->tables.strings, (struct orma_str){key, key_size});
	for (uint32_t i = 0; i < list->count && id != 0; i++)
		if (list->args[i].key == id) {
			return_arg(database, context, &list->args[i]);
			return;
		}
}

/* extract_metadata(name), extract_metadata_for_machine(machine, name) */
static void extract_metadata(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_trace_database *database = sqlite3_user_data(context);
	struct orma_table *table = &database->tables.all[ORMA_TABLE_METADATA];
	sqlite3_value *text_value = argv[argc - 1];
	if (sqlite3_value_type(text_value) != SQLITE_TEXT)
		return;
	struct orma_str name = {(const char *)sqlite3_value_text(text_value),
				(size_t)sqlite3_value_bytes(text_value)};
	uint32_t id = orma_store_pool_find(&database->tables.strings, name);
	for (uint64_t row = 0; row < orma_store_table_rows(table) && id != 0; row++) {
		if (orma_store_column_get(&table->columns[ORMA_METADATA_NAME], row) != id)
			continue;
		if (argc == 2 && orma_store_column_get(&table->columns[ORMA_METADATA_MACHINE_ID],
						       row) != sqlite3_value_int64(argv[0]))
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
	sqlite3 *db = orma_sql_db(database->sql);
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int r = sqlite3_create_function(db, "extract_arg", 2, flags, database, extract_arg, NULL,
					NULL);
	if (r == SQLITE_OK)
		r = sqlite3_create_function(db, "extract_metadata", 1, flags, database,
					    extract_metadata, NULL, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_create_function(db, "extract_metadata_for_machine", 2, flags, database,
					    extract_metadata, NULL, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_create_function(db, "import", 1, SQLITE_UTF8, database, import, NULL,
					    NULL);
	return r == SQLITE_OK ? 0 : -ENOMEM;
}
