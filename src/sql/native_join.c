/* SPDX-License-Identifier: Apache-2.0
 * native_join.c - `select thread.name, sum(dur) from sched join thread using (utid) group by thread.name` becomes a join of
 * the groups of `sched` by utid.
 *
 * The keys are those columns of the large table that the statement uses outside of aggregates. Two rows with equal keys
 * are joined with the same rows of the other tables. Therefore the large table is first grouped by its keys, and SQLite
 * then joins one row for each group. It combines the aggregates of the groups: a sum, for example, is the sum of their
 * sums. A condition on another table may exclude some keys. In that case the statement first runs without its items over
 * the values of the key, and only rows with the keys that remain are grouped.
 */
#include "sql/native_join.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"

/* Values that may be keys; to look at more of them costs more than it spares. */
enum { KEYS_MAX = 4096 };

static int write_name(const char *format, struct orma_str name, struct orma_buf *out)
{
	char *text = sqlite3_mprintf(format, (int)name.size, name.data);
	int r = text ? orma_base_buf_append_str(out, text) : -ENOMEM;
	sqlite3_free(text);
	return r;
}

/* Writes the names that the large table has for its keys, of groups or of `x`. */
static int write_keys(const struct orma_select *select, bool is_group, struct orma_buf *out)
{
	const struct orma_native_query *query = select->query;
	int r = 0;
	for (size_t i = 0; r == 0 && i < select->name_count; i++)
		for (size_t key = 0; r == 0 && key < query->group_count; key++) {
			struct orma_str name = select->names[i].name;
			if ((int)query->groups[key] != select->names[i].column)
				continue;
			r = is_group ? orma_base_buf_printf(out, "g%zu", key)
				     : orma_base_buf_append_str(out, "x");
			if (r == 0)
				r = write_name(" as \"%.*w\", ", name, out);
		}
	return r;
}

/* The whole statement, with the groups in the place of the large table. */
static int put_together(const struct orma_join *join, const char *table)
{
	const struct orma_select *select = join->select;
	struct orma_buf *sql = &select->query->sql;
	int r = orma_base_buf_append(sql, join->before.data, join->before.size);
	if (r == 0)
		r = orma_base_buf_append_str(sql, " (select ");
	if (r == 0)
		r = write_keys(select, true, sql);
	for (size_t i = 0; r == 0 && i < select->query->aggregate_count; i++)
		r = orma_base_buf_printf(sql, "a%zu as __orma_a%zu, ", i, i);
	if (r == 0)
		r = orma_base_buf_printf(sql, "0 from \"%s\") as", table);
	if (r == 0)
		r = write_name(" \"%.*w\"", select->alias, sql);
	return r < 0 ? r : orma_base_buf_append(sql, join->after.data, join->after.size);
}

/* The statement that finds the keys whose rows are needed. It has the values that may be keys as the large table. */
static int write_key_query(const struct orma_join *join)
{
	const struct orma_select *select = join->select;
	struct orma_native_query *query = select->query;
	struct orma_buf *sql = &query->key_sql;
	int64_t min, max;
	if (!join->is_narrowed || query->group_count != 1 ||
	    query->relation->columns[query->groups[0]].type != ORMA_COLUMN_INT ||
	    !orma_sql_relation_range(query->relation, query->groups[0], &min, &max) ||
	    (uint64_t)max - (uint64_t)min >= KEYS_MAX)
		return 0;
	int r = write_name("select distinct \"%.*w\".__orma_key", select->alias, sql);
	if (r == 0)
		r = orma_base_buf_append(sql, join->before.data + join->from_offset,
					 join->before.size - join->from_offset);
	if (r == 0)
		r = orma_base_buf_printf(
			sql,
			" (with recursive __orma_keys(x) as (select null union all "
			"select ifnull(x + 1, %" PRId64 ") from __orma_keys where "
			"ifnull(x < %" PRId64 ", 1)) select ",
			min, max);
	if (r == 0)
		r = write_keys(select, false, sql);
	if (r == 0)
		r = orma_base_buf_append_str(sql, "x as __orma_key from __orma_keys) as");
	if (r == 0)
		r = write_name(" \"%.*w\"", select->alias, sql);
	return r < 0 ? r : orma_base_buf_append(sql, join->after.data, join->where_end);
}

int orma_sql_join_match(struct orma_select *select, const char *table, struct orma_arena *arena)
{
	struct orma_join join = {.table_count = 0};
	int r = select->is_distinct ? ORMA_NO_MATCH : orma_sql_join_read(select, arena, &join);
	if (r == 0)
		r = orma_sql_join_write(&join);
	if (r == 0 && select->query->aggregate_count == 0)
		r = ORMA_NO_MATCH;
	if (r == 0)
		r = put_together(&join, table);
	if (r == 0)
		r = write_key_query(&join);
	orma_base_buf_done(&join.before);
	orma_base_buf_done(&join.after);
	return r;
}

/* Reads the keys, which become the filter's. 1, 0 = the filter cannot say which rows are needed, or an error. */
static int read_keys(sqlite3_stmt *statement, struct orma_filter *ret)
{
	int64_t *keys = orma_base_alloc_array(KEYS_MAX + 1, sizeof(*keys));
	size_t count = 0;
	bool has_null = false;
	int code = keys ? SQLITE_ROW : SQLITE_NOMEM;
	while (code == SQLITE_ROW && count <= KEYS_MAX) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		has_null = has_null || sqlite3_column_type(statement, 0) == SQLITE_NULL;
		keys[count++] = sqlite3_column_int64(statement, 0);
	}
	if (code != SQLITE_DONE || has_null) {
		orma_base_free(keys);
		return code == SQLITE_INTERRUPT ? -ECANCELED : code == SQLITE_NOMEM ? -ENOMEM : 0;
	}
	int r = orma_sql_filter_use_set(ret, keys, count);
	return r < 0 ? r : 1;
}

int orma_sql_join_narrow(struct orma_sql *sql, struct orma_native_query *query)
{
	sqlite3_stmt *statement = NULL;
	if (query->key_sql.size == 0 || query->filter_count == ORMA_NATIVE_FILTERS_MAX ||
	    sqlite3_prepare_v2(sql->db, (const char *)query->key_sql.data, (int)query->key_sql.size,
			       &statement, NULL) != SQLITE_OK)
		return 0;
	struct orma_filter *filter = &query->filters[query->filter_count++];
	*filter = (struct orma_filter){.column_idx = query->groups[0]};
	int r = read_keys(statement, filter);
	sqlite3_finalize(statement);
	return ORMA_MIN(r, 0);
}
