/* SPDX-License-Identifier: Apache-2.0
 * engine_fixture.c - rows as `a,b;c,d;`.
 */
#include "engine_fixture.h"

#include "base/buf.h"
#include "harness.h"
#include "sql/script.h"

struct orma_sql *fixture_sql;
static struct orma_string_pool pool;

void engine_open(const struct orma_sql_options *options)
{
	struct orma_sql_options with_pool = *options;
	struct orma_error error = {0};
	pool = (struct orma_string_pool){.text = {.fd = -1}};
	with_pool.pool = &pool;
	if (orma_sql_new(&with_pool, &fixture_sql, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
}

void engine_close(void)
{
	orma_sql_free(fixture_sql);
	orma_store_pool_done(&pool);
}

const char *engine_run(const char *text)
{
	static struct orma_buf out;
	struct orma_error error = {0};
	struct orma_sql_script *script;
	out.size = 0;
	CHECK_INT(orma_sql_script_new(fixture_sql, orma_base_str(text), &script), 0);
	int r;
	while ((r = orma_sql_script_next(script, &error)) > 0) {
		sqlite3_stmt *statement = orma_sql_script_statement(script);
		while ((r = orma_sql_script_step(script, &error)) > 0)
			for (int i = 0; i < sqlite3_column_count(statement); i++) {
				const char *value = (const char *)sqlite3_column_text(statement, i);
				orma_base_buf_printf(&out, "%s%s", value ? value : "NULL",
						     i + 1 < sqlite3_column_count(statement) ? ","
											     : ";");
			}
		if (r < 0)
			break;
	}
	orma_sql_script_free(script);
	if (r < 0) {
		out.size = 0;
		orma_base_buf_printf(&out, "error: %s", error.message);
	}
	return orma_base_buf_cstr(&out);
}

void engine_check_error(const char *text, const char *part)
{
	const char *actual = engine_run(text);
	if (strncmp(actual, "error: ", 7) != 0 || !strstr(actual, part))
		orma_test_fail(__FILE__, __LINE__, "%s\n-- is\n%s\n-- expected an error with\n%s",
			       text, actual, part);
}
