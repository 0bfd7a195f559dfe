/* SPDX-License-Identifier: Apache-2.0
 * authorizer.c - statements come from notebooks and modules of others: they must not reach files.
 *
 * Files are opened by `attach`, which `vacuum into` uses as well, by extensions, and by pragmas that name folders.
 */
#include "sql/authorizer.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/* Pragmas that only tell something. */
static const char *const harmless_pragmas[] = {
	"collation_list", "compile_options", "database_list", "foreign_key_list", "function_list",
	"index_info",     "index_list",      "index_xinfo",   "module_list",      "pragma_list",
	"table_info",     "table_list",      "table_xinfo",
};

/* The second one tells addresses of the program, and takes them. */
static const char *const denied_functions[] = {"load_extension", "fts3_tokenizer"};

static bool is_one_of(const char *name, size_t count, const char *const *names)
{
	for (size_t i = 0; i < count; i++)
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	return false;
}

int orma_sql_authorize(void *allows_files, int action, const char *first, const char *second,
		       const char *database, const char *trigger)
{
	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return *(const bool *)allows_files ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_FUNCTION:
		return is_one_of(second, ORMA_ARRAY_SIZE(denied_functions), denied_functions)
			       ? SQLITE_DENY
			       : SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_one_of(first, ORMA_ARRAY_SIZE(harmless_pragmas), harmless_pragmas)
			       ? SQLITE_OK
			       : SQLITE_DENY;
	default:
		return SQLITE_OK;
	}
}
