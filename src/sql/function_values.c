/* SPDX-License-Identifier: Apache-2.0
 * function_values.c - arguments and results of functions.
 */
#include "sql/functions.h"

struct orma_str orma_sql_text_of(sqlite3_value *value)
{
	const char *data = (const char *)sqlite3_value_text(value);
	return (struct orma_str){data, data ? (size_t)sqlite3_value_bytes(value) : 0};
}

void orma_sql_result_void(sqlite3_context *context)
{
	static char nothing;
	sqlite3_result_pointer(context, &nothing, ORMA_SQL_VOID, NULL);
}
