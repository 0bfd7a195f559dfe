/* SPDX-License-Identifier: Apache-2.0
 * summary_samples.c - in which functions the samples of profilers are.
 */
#include <errno.h>
#include <sqlite3.h>

#include "base/macros.h"
#include "tool/ask/summary_facts.h"

static const struct orma_fact_column columns[] = {
	{"function", "function", ORMA_FACT_TEXT},
	{"samples", "samples", ORMA_FACT_COUNT},
	{"share", "share", ORMA_FACT_SHARE},
};

/* A profile that has counted already has weights, of which the first one counts. */
static const char query[] =
	"select coalesce(f.deobfuscated_name, nullif(f.name, ''), "
	"iif(m.name glob '[[]*', m.name, '[' || m.name || ']'), '[unknown]'), "
	"sum(n), sum(sum(n)) over () from ("
	"select callsite_id, sum(coalesce(value, 1)) as n from stack_sample s left join ("
	"select stack_sample_id, value from stack_sample_counter "
	"join stack_sample_counter_track k on k.id = track_id "
	"where k.type = 'stack_sample_session_counter' and k.is_timebase) w "
	"on w.stack_sample_id = s.id group by 1) "
	"join stack_profile_callsite c on c.id = callsite_id "
	"join stack_profile_frame f on f.id = c.frame_id "
	"left join stack_profile_mapping m on m.id = f.mapping "
	"group by 1 order by 2 desc, 1 limit ?";

static int add_row(struct orma_summary *summary, sqlite3_stmt *row)
{
	const char *text = (const char *)sqlite3_column_text(row, 0);
	struct orma_str name = {text, (size_t)sqlite3_column_bytes(row, 0)};
	const char *copy = text ? orma_base_arena_strdup(&summary->arena, name) : NULL;
	struct orma_fact *cells = copy ? orma_fact_table_add(&summary->samples) : NULL;
	if (!cells)
		return -ENOMEM;
	double count = sqlite3_column_double(row, 1), all = sqlite3_column_double(row, 2);
	cells[0] = orma_fact_text((struct orma_str){copy, name.size});
	cells[1] = orma_fact_integer(sqlite3_column_int64(row, 1));
	cells[2] = orma_fact_number(all > 0 ? count / all : 0);
	return 0;
}

int orma_summary_find_samples(struct orma_summary *summary)
{
	struct orma_trace_database *database = summary->database;
	sqlite3_stmt *row = NULL;
	summary->samples =
		(struct orma_fact_table){.key = "samples_by_function",
					 .title = "Samples by function (the innermost one of each "
						  "stack)",
					 .columns = columns,
					 .column_count = ORMA_ARRAY_SIZE(columns),
					 .arena = &summary->arena};
	if (orma_store_table_rows(&database->tables.all[ORMA_TABLE_PROFILER_SAMPLE]) == 0)
		return 0;
	int r = orma_sql_prepare(database->sql, ORMA_STR(query), &row, NULL);
	if (r == 0)
		sqlite3_bind_int64(row, 1, (sqlite3_int64)summary->top);
	int code = SQLITE_DONE;
	while (r == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
		r = add_row(summary, row);
	if (r == 0 && code != SQLITE_DONE)
		r = code == SQLITE_NOMEM ? -ENOMEM : -EIO;
	sqlite3_finalize(row);
	return r;
}
