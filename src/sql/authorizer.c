/* SPDX-License-Identifier: Apache-2.0
 * authorizer.c - statements come from notebooks and modules of others: they must not reach files, and they must leave the
 * trace's own tables and views as they are, because the same engine answers later queries.
 *
 * Files are opened by `attach`, which `vacuum into` uses as well, by extensions, and by pragmas that name folders.
 */
#include "sql/authorizer.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"

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

static const struct orma_sql_protected *find_protected(const struct orma_sql_rules *rules,
						       const char *name)
{
	for (size_t i = 0; i < rules->count && !rules->is_own; i++)
		if (sqlite3_stricmp(name, rules->all[i].name) == 0)
			return &rules->all[i];
	return NULL;
}

static int refuse(struct orma_sql_rules *rules, const struct orma_sql_protected *found)
{
	rules->refused = found->name;
	return SQLITE_DENY;
}

/* A temporary table hides each table of its name. SQLite itself refuses a second one of the same schema. */
static int check_new_name(struct orma_sql_rules *rules, const char *name, bool is_temporary)
{
	const struct orma_sql_protected *found = find_protected(rules, name);
	return found && (is_temporary || found->is_outside) ? refuse(rules, found) : SQLITE_OK;
}

static int check_old_name(struct orma_sql_rules *rules, const char *name)
{
	const struct orma_sql_protected *found = find_protected(rules, name);
	return found ? refuse(rules, found) : SQLITE_OK;
}

int orma_sql_authorize(void *ctx, int action, const char *first, const char *second,
		       const char *database, const char *trigger)
{
	struct orma_sql_rules *rules = ctx;
	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_DROP_TABLE:
	case SQLITE_DROP_VIEW:
	case SQLITE_DROP_VTABLE:
		return check_old_name(rules, first);
	case SQLITE_ALTER_TABLE:
		return check_old_name(rules, second);
	case SQLITE_CREATE_TABLE:
	case SQLITE_CREATE_VIEW:
	case SQLITE_CREATE_VTABLE:
		return check_new_name(rules, first, false);
	case SQLITE_CREATE_TEMP_TABLE:
	case SQLITE_CREATE_TEMP_VIEW:
		return check_new_name(rules, first, true);
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return rules->allows_files ? SQLITE_OK : SQLITE_DENY;
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

int orma_sql_rules_protect(struct orma_sql_rules *rules, const char *name, bool is_outside)
{
	int r = orma_sql_grow((void **)&rules->all, sizeof(*rules->all), rules->count,
			      &rules->capacity);
	char *copy = r == 0 ? orma_base_strdup(name) : NULL;
	if (!copy)
		return -ENOMEM;
	rules->all[rules->count++] = (struct orma_sql_protected){copy, is_outside};
	return 0;
}

void orma_sql_rules_done(struct orma_sql_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		orma_base_free(rules->all[i].name);
	orma_base_free(rules->all);
	*rules = (struct orma_sql_rules){0};
}
