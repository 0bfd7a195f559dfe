/* SPDX-License-Identifier: Apache-2.0
 * span_join.c - both sides go forward in order of partition and time; the one that ends first moves.
 *
 * With one side partitioned, the other one is started anew for each partition.
 */
#include "sql/span_join.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/span_vtab.h"
#include "sql/sqlite_error.h"

struct span_cursor {
	sqlite3_vtab_cursor base;
	struct orma_span_source sides[2];
	struct orma_span_source *next;
	int64_t partition; /* the current one, when one side has partitions */
	bool has_partition;
	int64_t row;
};

static struct orma_span_vtab *vtab_of(sqlite3_vtab_cursor *cursor)
{
	return (struct orma_span_vtab *)(void *)cursor->pVtab;
}

static bool is_special(const struct orma_span_vtab *vtab, int side, int column)
{
	const struct orma_span_table *table = &vtab->tables[side];
	return column == table->ts_column || column == table->dur_column ||
	       column == table->partition_column;
}

static const char *partition_name(const struct orma_span_vtab *vtab)
{
	return vtab->tables[0].partition ? vtab->tables[0].partition : vtab->tables[1].partition;
}

static int find_partitioning(struct orma_span_vtab *vtab, struct orma_error *reterr)
{
	const struct orma_span_table *a = &vtab->tables[0], *b = &vtab->tables[1];
	if (a->partition && b->partition) {
		vtab->partitioning = ORMA_SPAN_PARTITIONED_BOTH;
		if (strcasecmp(a->partition, b->partition) != 0)
			return orma_base_error_set(reterr, -EINVAL,
						   "SPAN_JOIN: mismatching partitions between the "
						   "two tables; (partition %s in "
						   "table %s, partition %s in table %s)",
						   a->partition, a->name, b->partition, b->name);
	} else {
		vtab->partitioning = a->partition || b->partition ? ORMA_SPAN_PARTITIONED_ONE
								  : ORMA_SPAN_PARTITIONED_NONE;
	}
	if (a->dur_column < 0 && b->dur_column < 0)
		return orma_base_error_set(
			reterr, -EINVAL,
			"SPAN_JOIN: column dur must be present in at least one of "
			"tables %s and %s",
			a->name, b->name);
	return 0;
}

/* A left join shows what the second side lacks, an outer join also what the first one lacks. */
static void choose_shadows(struct orma_span_vtab *vtab, const char *module)
{
	bool is_outer = strcasecmp(module, "span_outer_join") == 0;
	bool shows[2] = {is_outer, is_outer || strcasecmp(module, "span_left_join") == 0};
	for (int side = 0; side < 2; side++) {
		struct orma_span_table *table = &vtab->tables[side];
		bool is_only_one =
			vtab->partitioning == ORMA_SPAN_PARTITIONED_ONE && table->partition;
		table->shows_gaps = shows[side];
		table->shows_absent = shows[side] && !is_only_one &&
				      vtab->partitioning != ORMA_SPAN_PARTITIONED_NONE;
		table->is_shadow_when_empty = shows[side] && !is_only_one;
	}
}

static int append_column(struct orma_span_vtab *vtab, int side, int column, struct orma_buf *text,
			 struct orma_error *reterr)
{
	const struct orma_span_column *added = &vtab->tables[side].columns[column];
	const char *partition = partition_name(vtab);
	bool is_taken = partition && strcasecmp(added->name, partition) == 0;
	for (int i = vtab->special_count; i < vtab->column_count; i++) {
		const struct orma_span_place *place = &vtab->places[i];
		is_taken = is_taken ||
			   strcasecmp(vtab->tables[place->side].columns[place->column].name,
				      added->name) == 0;
	}
	if (is_taken)
		return orma_base_error_set(reterr, -EINVAL,
					   "SPAN_JOIN: column %s present in both tables %s and %s",
					   added->name, vtab->tables[0].name, vtab->tables[1].name);
	vtab->places[vtab->column_count++] = (struct orma_span_place){side, column};
	char *item = sqlite3_mprintf(", \"%w\" %s", added->name, added->type);
	int r = item ? orma_base_buf_append_str(text, item) : -ENOMEM;
	sqlite3_free(item);
	return r;
}

static int declare(sqlite3 *db, struct orma_span_vtab *vtab, struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	size_t most = vtab->tables[0].column_count + vtab->tables[1].column_count + 3;
	vtab->places = orma_base_alloc_array(most, sizeof(*vtab->places));
	if (!vtab->places)
		return -ENOMEM;
	for (int i = 0; i < 3; i++)
		vtab->places[i].side = -1;
	const char *partition = partition_name(vtab);
	vtab->special_count = vtab->column_count = partition ? 3 : 2;
	int r = orma_base_buf_append_str(&text, "create table x(ts bigint, dur bigint");
	if (r == 0 && partition)
		r = orma_base_buf_printf(&text, ", \"%s\" bigint", partition);
	for (int side = 0; side < 2; side++)
		for (int i = 0; r == 0 && i < (int)vtab->tables[side].column_count; i++)
			if (!is_special(vtab, side, i))
				r = append_column(vtab, side, i, &text, reterr);
	if (r == 0)
		r = orma_base_buf_append(&text, ")", 1);
	const char *sql = r == 0 ? orma_base_buf_cstr(&text) : NULL;
	if (r < 0 || !sql)
		return r < 0 ? r : -ENOMEM;
	int code = sqlite3_declare_vtab(db, sql);
	return code == SQLITE_OK ? 0 : orma_sql_describe(vtab->sql, code, reterr);
}

static int vtab_disconnect(sqlite3_vtab *base)
{
	struct orma_span_vtab *vtab = (struct orma_span_vtab *)(void *)base;
	orma_sql_span_table_done(&vtab->tables[0]);
	orma_sql_span_table_done(&vtab->tables[1]);
	orma_base_free(vtab->places);
	orma_base_free(vtab);
	return SQLITE_OK;
}

static int vtab_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **reterr)
{
	struct orma_error error = {0};
	struct orma_span_vtab *vtab = orma_base_zalloc(sizeof(*vtab));
	if (!vtab)
		return SQLITE_NOMEM;
	vtab->sql = aux;
	int r = argc == 5 ? 0
			  : orma_base_error_set(&error, -EINVAL,
						"SPAN_JOIN: expected exactly two arguments");
	for (int side = 0; r == 0 && side < 2; side++)
		r = orma_sql_span_table_init(aux, argv[3 + side], &vtab->tables[side], &error);
	if (r == 0)
		r = find_partitioning(vtab, &error);
	if (r == 0) {
		choose_shadows(vtab, argv[0]);
		r = declare(db, vtab, &error);
	}
	if (r < 0) {
		vtab_disconnect(&vtab->base);
		return orma_sql_refuse(reterr, r, &error);
	}
	*ret = &vtab->base;
	return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct orma_span_vtab *vtab = (struct orma_span_vtab *)(void *)base;
	struct span_cursor *cursor = orma_base_zalloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	for (int side = 0; side < 2; side++) {
		cursor->sides[side].sql = vtab->sql;
		cursor->sides[side].table = &vtab->tables[side];
		cursor->sides[side].state = ORMA_SPAN_END;
	}
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	struct span_cursor *cursor = (struct span_cursor *)(void *)base;
	sqlite3_finalize(cursor->sides[0].rows);
	sqlite3_finalize(cursor->sides[1].rows);
	orma_base_free(cursor);
	return SQLITE_OK;
}

static int refuse(sqlite3_vtab_cursor *base, int r, const struct orma_error *error)
{
	struct span_cursor *cursor = (struct span_cursor *)(void *)base;
	cursor->sides[0].state = cursor->sides[1].state = ORMA_SPAN_END;
	return orma_sql_vtab_refuse(base->pVtab, r, error);
}

static int prepare_side(struct span_cursor *cursor, int side, const char *plan,
			sqlite3_value **values, struct orma_error *reterr)
{
	const struct orma_span_vtab *vtab = vtab_of(&cursor->base);
	const struct orma_span_table *table = &vtab->tables[side];
	struct orma_span_source *source = &cursor->sides[side];
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	char *begin = sqlite3_mprintf("select * from \"%w\"", table->name);
	char *order = table->partition ? sqlite3_mprintf(" order by \"%w\", ts", table->partition)
				       : sqlite3_mprintf(" order by ts");
	int r = begin && order ? orma_base_buf_append_str(&text, begin) : -ENOMEM;
	if (r == 0)
		r = orma_sql_span_apply_plan(vtab, side, plan, &text, NULL, NULL);
	if (r == 0)
		r = orma_base_buf_append_str(&text, order);
	sqlite3_free(begin);
	sqlite3_free(order);
	sqlite3_finalize(source->rows);
	source->rows = NULL;
	if (r == 0)
		r = orma_sql_prepare(vtab->sql,
				     (struct orma_str){(const char *)text.data, text.size},
				     &source->rows, reterr);
	if (r == 0 && sqlite3_column_count(source->rows) != (int)table->column_count)
		r = orma_base_error_set(reterr, -EINVAL, "SPAN_JOIN: table %s has changed",
					table->name);
	return r < 0 ? r : orma_sql_span_apply_plan(vtab, side, plan, NULL, source->rows, values);
}

static int64_t first_partition(const struct orma_span_source *source)
{
	return source->state == ORMA_SPAN_ABSENT ? source->absent_from : source->partition;
}

static int64_t last_partition(const struct orma_span_source *source)
{
	return source->state == ORMA_SPAN_ABSENT ? source->absent_to - 1 : source->partition;
}

static bool overlap(const struct orma_span_vtab *vtab, const struct orma_span_source *a,
		    const struct orma_span_source *b)
{
	if (a->state != ORMA_SPAN_ROW && b->state != ORMA_SPAN_ROW)
		return false;
	if (vtab->partitioning == ORMA_SPAN_PARTITIONED_BOTH &&
	    (first_partition(a) > last_partition(b) || first_partition(b) > last_partition(a)))
		return false;
	if (a->ts == b->ts && a->state == ORMA_SPAN_ROW && b->state == ORMA_SPAN_ROW)
		return true;
	return a->ts >= b->ts ? a->ts < orma_sql_span_end(b) : b->ts < orma_sql_span_end(a);
}

/* True when the first one has to move: it is in an earlier partition, ends earlier, or is a shadow that ends as early. */
static bool is_earlier(const struct orma_span_vtab *vtab, const struct orma_span_source *a,
		       const struct orma_span_source *b)
{
	if (vtab->partitioning == ORMA_SPAN_PARTITIONED_BOTH &&
	    last_partition(a) != last_partition(b))
		return last_partition(a) < last_partition(b);
	if (orma_sql_span_end(a) != orma_sql_span_end(b))
		return orma_sql_span_end(a) < orma_sql_span_end(b);
	return a->state != ORMA_SPAN_ROW && b->state == ORMA_SPAN_ROW;
}

/* An empty side may still be one shadow. */
static int start_side(struct orma_span_source *source, struct orma_error *reterr)
{
	int r = orma_sql_span_start(source, reterr);
	if (r == 0 && source->state == ORMA_SPAN_END && source->table->is_shadow_when_empty)
		source->state = ORMA_SPAN_ABSENT;
	return r;
}

/* When the partitioned side comes to another partition, the other side begins anew. */
static int follow_partition(struct span_cursor *cursor, bool *ret_is_end, struct orma_error *reterr)
{
	int side = cursor->sides[0].table->partition ? 0 : 1;
	const struct orma_span_source *partitioned = &cursor->sides[side];
	*ret_is_end = partitioned->state == ORMA_SPAN_END;
	if (*ret_is_end || (cursor->has_partition && cursor->partition == partitioned->partition))
		return 0;
	cursor->has_partition = true;
	cursor->partition = partitioned->partition;
	return start_side(&cursor->sides[1 - side], reterr);
}

static struct orma_span_source *choose_next(struct span_cursor *cursor)
{
	struct orma_span_source *a = &cursor->sides[0], *b = &cursor->sides[1];
	if (a->state == ORMA_SPAN_END)
		return b;
	if (b->state == ORMA_SPAN_END)
		return a;
	return is_earlier(vtab_of(&cursor->base), a, b) ? a : b;
}

static int find_overlap(struct span_cursor *cursor, struct orma_error *reterr)
{
	const struct orma_span_vtab *vtab = vtab_of(&cursor->base);
	struct orma_span_source *a = &cursor->sides[0], *b = &cursor->sides[1];
	for (;;) {
		bool is_end = a->state == ORMA_SPAN_END || b->state == ORMA_SPAN_END;
		int r = 0;
		if (vtab->partitioning == ORMA_SPAN_PARTITIONED_ONE)
			r = follow_partition(cursor, &is_end, reterr);
		if (r < 0 || is_end)
			return r;
		cursor->next = choose_next(cursor);
		bool are_there = a->state != ORMA_SPAN_END && b->state != ORMA_SPAN_END;
		if (are_there && overlap(vtab, a, b))
			return 0;
		r = orma_sql_span_next(cursor->next, reterr);
		if (r < 0)
			return r;
	}
}

static int cursor_filter(sqlite3_vtab_cursor *base, int plan_number, const char *plan, int argc,
			 sqlite3_value **argv)
{
	struct span_cursor *cursor = (struct span_cursor *)(void *)base;
	struct orma_error error = {0};
	int r = 0;
	(void)plan_number, (void)argc;
	cursor->row = 0;
	cursor->has_partition = false;
	for (int side = 0; r == 0 && side < 2; side++) {
		r = prepare_side(cursor, side, plan, argv, &error);
		if (r == 0)
			r = start_side(&cursor->sides[side], &error);
	}
	if (r == 0)
		r = find_overlap(cursor, &error);
	return r < 0 ? refuse(base, r, &error) : SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct span_cursor *cursor = (struct span_cursor *)(void *)base;
	struct orma_error error = {0};
	cursor->row++;
	int r = orma_sql_span_next(cursor->next, &error);
	if (r == 0)
		r = find_overlap(cursor, &error);
	return r < 0 ? refuse(base, r, &error) : SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	const struct span_cursor *cursor = (const struct span_cursor *)(void *)base;
	return cursor->sides[0].state == ORMA_SPAN_END || cursor->sides[1].state == ORMA_SPAN_END;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct span_cursor *cursor = (struct span_cursor *)(void *)base;
	const struct orma_span_vtab *vtab = vtab_of(base);
	const struct orma_span_source *a = &cursor->sides[0], *b = &cursor->sides[1];
	int64_t start = ORMA_MAX(a->ts, b->ts);
	if (column == 0) {
		sqlite3_result_int64(context, start);
	} else if (column == 1) {
		sqlite3_result_int64(
			context, (int64_t)((uint64_t)ORMA_MIN(a->end, b->end) - (uint64_t)start));
	} else if (column < vtab->special_count) {
		if (vtab->partitioning == ORMA_SPAN_PARTITIONED_ONE)
			sqlite3_result_int64(context, cursor->partition);
		else
			sqlite3_result_int64(context, a->state == ORMA_SPAN_ROW ? a->partition
										: b->partition);
	} else {
		const struct orma_span_place *place = &vtab->places[column];
		const struct orma_span_source *side = &cursor->sides[place->side];
		if (side->state == ORMA_SPAN_ROW)
			sqlite3_result_value(context,
					     sqlite3_column_value(side->rows, place->column));
	}
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct span_cursor *)(void *)base)->row;
	return SQLITE_OK;
}

static const sqlite3_module methods = {
	.iVersion = 1,
	.xCreate = vtab_connect,
	.xConnect = vtab_connect,
	.xBestIndex = orma_sql_span_best_index,
	.xDisconnect = vtab_disconnect,
	.xDestroy = vtab_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

int orma_sql_add_span_joins(struct orma_sql *sql)
{
	static const char *const names[] = {"span_join", "span_left_join", "span_outer_join"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		if (sqlite3_create_module_v2(sql->db, names[i], &methods, sql, NULL) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}
