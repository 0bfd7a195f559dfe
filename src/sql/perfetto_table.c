/* SPDX-License-Identifier: Apache-2.0
 * perfetto_table.c - the rows of a query become packed columns, whose types are those of the values.
 *
 * A column is taken for integers until a value says otherwise. A column of integers that meets a real number becomes one
 * of real numbers. Numbers and texts in one column are a fault, as they are for Perfetto.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native.h"
#include "sql/perfetto_define.h"
#include "sql/scan.h"
#include "sql/sqlite_error.h"

struct made_column {
	struct orma_column cells;
	char *name;
	bool has_type;
	bool is_sorted, is_ascending; /* integers without NULL; without equal ones */
	int64_t last;
};

/* The relation that shows the rows owns this. */
struct made_table {
	struct orma_extents extents;
	struct made_column *columns;
	size_t column_count;
	uint64_t row_count;
};

static void free_table(void *ctx)
{
	struct made_table *table = ctx;
	if (!table)
		return;
	for (size_t i = 0; table->columns && i < table->column_count; i++) {
		orma_store_column_done(&table->columns[i].cells);
		orma_base_free(table->columns[i].name);
	}
	orma_store_extents_done(&table->extents);
	orma_base_free(table->columns);
	orma_base_free(table);
}

static bool is_word(const char *name)
{
	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static bool is_declared(const struct orma_perfetto_statement *statement, const char *name)
{
	for (size_t i = 0; i < statement->column_count; i++)
		if (strcasecmp(statement->columns[i].name, name) == 0)
			return true;
	return false;
}

static bool is_column(sqlite3_stmt *query, const char *name)
{
	for (int i = 0; i < sqlite3_column_count(query); i++)
		if (strcasecmp(sqlite3_column_name(query, i), name) == 0)
			return true;
	return false;
}

static int check_declared(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  sqlite3_stmt *query, struct orma_error *reterr)
{
	for (size_t i = 0; i < statement->column_count; i++) {
		sql->fault = statement->columns[i].place;
		if (!is_column(query, statement->columns[i].name))
			return orma_base_error_set(
				reterr, -EINVAL,
				"%s: the column %s is declared in the schema, but does not exist",
				statement->name, statement->columns[i].name);
	}
	sql->fault = statement->name_place;
	for (int i = 0; statement->column_count > 0 && i < sqlite3_column_count(query); i++)
		if (!is_declared(statement, sqlite3_column_name(query, i)))
			return orma_base_error_set(reterr, -EINVAL,
						   "%s: the column %s is missing from the schema",
						   statement->name, sqlite3_column_name(query, i));
	return 0;
}

int orma_sql_check_names(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			 sqlite3_stmt *query, struct orma_error *reterr)
{
	int count = query ? sqlite3_column_count(query) : 0;
	sql->fault = statement->body.data;
	if (count == 0)
		return orma_base_error_set(reterr, -EINVAL, "%s: the query has no columns",
					   statement->name);
	for (int i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(query, i);
		if (!name)
			return -ENOMEM;
		if (!is_word(name))
			return orma_base_error_set(
				reterr, -EINVAL,
				"%s: column %d has the name `%s`; a name begins with a letter or "
				"underscore and "
				"has only letters, digits and underscores: use `AS`",
				statement->name, i, name);
		for (int j = 0; j < i; j++)
			if (strcasecmp(name, sqlite3_column_name(query, j)) == 0)
				return orma_base_error_set(reterr, -EINVAL,
							   "%s: multiple columns are named: %s",
							   statement->name, name);
	}
	return check_declared(sql, statement, query, reterr);
}

static int new_table(struct orma_sql *sql, sqlite3_stmt *query, struct made_table **ret)
{
	size_t count = (size_t)sqlite3_column_count(query);
	struct made_table *table = orma_base_zalloc(sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->extents = (struct orma_extents){.fd = -1, .budget = sql->options.budget};
	table->columns = orma_base_alloc_array(count, sizeof(*table->columns));
	if (!table->columns) {
		free_table(table);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct made_column *column = &table->columns[table->column_count++];
		orma_store_column_init(&column->cells, ORMA_COLUMN_INT, &table->extents, 0);
		column->is_sorted = column->is_ascending = true;
		column->last = INT64_MIN;
		column->name = orma_base_strdup(sqlite3_column_name(query, (int)i));
		if (!column->name) {
			free_table(table);
			return -ENOMEM;
		}
	}
	*ret = table;
	return 0;
}

/* Makes doubles of the integers and NULLs that are there. */
static int become_doubles(struct made_table *table, struct made_column *column)
{
	struct orma_column doubles;
	int64_t cells[ORMA_BLOCK_ROWS];
	int r = 0;
	orma_store_column_init(&doubles, ORMA_COLUMN_DOUBLE, &table->extents, 0);
	for (size_t block = 0; r == 0 && block < orma_store_column_blocks(&column->cells);
	     block++) {
		size_t count = orma_store_column_read(&column->cells, block, cells);
		for (size_t i = 0; r == 0 && i < count; i++)
			r = orma_store_column_append(
				&doubles, cells[i] == ORMA_CELL_NULL
						  ? ORMA_DOUBLE_NULL
						  : orma_store_cell_of_double((double)cells[i]));
	}
	if (r < 0) {
		orma_store_column_done(&doubles);
		return r;
	}
	orma_store_column_done(&column->cells);
	column->cells = doubles;
	column->is_sorted = column->is_ascending = false;
	return 0;
}

static const char *type_words(enum orma_column_type type)
{
	if (type == ORMA_COLUMN_STRING)
		return "STRING";
	return type == ORMA_COLUMN_DOUBLE ? "DOUBLE" : "LONG";
}

/* Brings the column to a type that holds this one as well. */
static int use_type(const struct orma_perfetto_statement *statement, struct made_table *table,
		    struct made_column *column, enum orma_column_type type,
		    struct orma_error *reterr)
{
	enum orma_column_type old = column->cells.type;
	if (column->has_type && old == type)
		return 0;
	if (column->has_type && old == ORMA_COLUMN_DOUBLE && type == ORMA_COLUMN_INT)
		return 0;
	bool is_mixed =
		column->has_type && (old == ORMA_COLUMN_STRING || type == ORMA_COLUMN_STRING);
	if (is_mixed)
		return orma_base_error_set(reterr, -EINVAL,
					   "%s: column %s was inferred to be %s, but later "
					   "received a value of type %s",
					   statement->name, column->name, type_words(old),
					   type_words(type));
	column->has_type = true;
	if (type == ORMA_COLUMN_DOUBLE)
		return become_doubles(table, column);
	/* The NULLs of strings are those of integers. */
	column->cells.type = type;
	return 0;
}

static int add_int(struct made_column *column, int64_t value)
{
	if (column->cells.type == ORMA_COLUMN_DOUBLE)
		return orma_store_column_append(&column->cells,
						orma_store_cell_of_double((double)value));
	column->is_sorted = column->is_sorted && value >= column->last && value != ORMA_CELL_NULL;
	column->is_ascending = column->is_ascending && column->is_sorted &&
			       (value > column->last || column->last == INT64_MIN);
	column->last = value;
	return orma_store_column_append(&column->cells, value);
}

static int add_null(struct made_column *column)
{
	column->is_sorted = column->is_ascending = false;
	return orma_store_column_append(&column->cells, orma_store_null_of(column->cells.type));
}

static int add_text(struct orma_sql *sql, struct made_column *column, sqlite3_stmt *query, int i)
{
	uint32_t id;
	/* As a blob, because that needs no NUL at the end, which would be a copy. */
	const char *text = sqlite3_column_blob(query, i);
	size_t size = (size_t)sqlite3_column_bytes(query, i);
	if (!text && size > 0)
		return -ENOMEM;
	int r = orma_store_pool_add(sql->options.pool, (struct orma_str){text ? text : "", size},
				    &id);
	return r < 0 ? r : orma_store_column_append(&column->cells, id);
}

static int add_value(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
		     struct made_table *table, sqlite3_stmt *query, int i,
		     struct orma_error *reterr)
{
	struct made_column *column = &table->columns[i];
	int r;
	switch (sqlite3_column_type(query, i)) {
	case SQLITE_INTEGER:
		r = use_type(statement, table, column, ORMA_COLUMN_INT, reterr);
		return r < 0 ? r : add_int(column, sqlite3_column_int64(query, i));
	case SQLITE_FLOAT:
		r = use_type(statement, table, column, ORMA_COLUMN_DOUBLE, reterr);
		if (r == 0)
			r = orma_store_column_append(
				&column->cells,
				orma_store_cell_of_double(sqlite3_column_double(query, i)));
		return r;
	case SQLITE_TEXT:
		r = use_type(statement, table, column, ORMA_COLUMN_STRING, reterr);
		return r < 0 ? r : add_text(sql, column, query, i);
	case SQLITE_BLOB:
		return orma_base_error_set(reterr, -EINVAL,
					   "%s: column %s has blobs, which tables cannot hold",
					   statement->name, column->name);
	default:
		return add_null(column);
	}
}

/* Copies the chosen cells of a block. The type of a column shows with its first value that is not NULL. */
static int copy_cells(const struct orma_perfetto_statement *statement, struct made_table *table,
		      struct orma_scan *scan, size_t source, struct made_column *column,
		      struct orma_error *reterr)
{
	enum orma_column_type type = scan->relation->columns[source].type;
	int r = 0;
	for (size_t i = 0; r == 0 && i < scan->chosen_count; i++) {
		int64_t cell;
		r = orma_sql_scan_cell(scan, source, scan->chosen[i], &cell);
		if (r < 0)
			return r;
		bool is_null = type == ORMA_COLUMN_DOUBLE
				       ? isnan(orma_store_double_of_cell(cell)) != 0
				       : cell == ORMA_CELL_NULL;
		if (!is_null && (!column->has_type || column->cells.type != type))
			r = use_type(statement, table, column, type, reterr);
		if (is_null)
			r = add_null(column);
		else if (r == 0 && type == ORMA_COLUMN_INT)
			r = add_int(column, cell);
		else if (r == 0)
			r = orma_store_column_append(&column->cells, cell);
	}
	return r;
}

/* Copies rows of a relation, a block at a time. */
static int copy_rows(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
		     struct made_table *table, const struct orma_native_rows *rows,
		     struct orma_error *reterr)
{
	struct orma_scan scan;
	int r = orma_sql_scan_init(&scan, rows->query.relation, &sql->interrupt);
	if (r < 0)
		return r;
	orma_sql_scan_begin(&scan, rows->query.filters, rows->query.filter_count, false);
	while ((r = orma_sql_scan_next(&scan)) > 0) {
		for (size_t i = 0; r >= 0 && i < table->column_count; i++)
			r = copy_cells(statement, table, &scan, rows->columns[i],
				       &table->columns[i], reterr);
		if (r < 0)
			break;
		table->row_count += scan.chosen_count;
	}
	orma_sql_scan_done(&scan);
	return r == -ECANCELED ? orma_sql_describe(sql, SQLITE_INTERRUPT, reterr) : r;
}

static int step_rows(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
		     struct made_table *table, sqlite3_stmt *query, struct orma_error *reterr)
{
	int code, r = 0;
	while ((code = sqlite3_step(query)) == SQLITE_ROW) {
		for (size_t i = 0; r == 0 && i < table->column_count; i++)
			r = add_value(sql, statement, table, query, (int)i, reterr);
		if (r < 0)
			return r;
		table->row_count++;
	}
	return code == SQLITE_DONE ? 0 : orma_sql_describe(sql, code, reterr);
}

static int fill(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
		struct made_table *table, sqlite3_stmt *query, struct orma_error *reterr)
{
	struct orma_native_rows rows;
	int r = orma_sql_native_rows(sql, statement->body, &rows);
	/* Ids of strings are copied as they are, so they have to be of the same pool. */
	bool can_copy = r > 0 && rows.column_count == table->column_count &&
			rows.query.relation->pool == sql->options.pool;
	if (r >= 0)
		r = can_copy ? copy_rows(sql, statement, table, &rows, reterr)
			     : step_rows(sql, statement, table, query, reterr);
	sql->native_made += can_copy;
	orma_sql_native_done(&rows.query);
	for (size_t i = 0; r == 0 && i < table->column_count; i++)
		r = orma_store_column_seal(&table->columns[i].cells);
	return r;
}

int orma_sql_check_types(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			 sqlite3_stmt *query, struct orma_error *reterr)
{
	static const enum orma_column_type types[] = {[SQLITE_INTEGER] = ORMA_COLUMN_INT,
						      [SQLITE_FLOAT] = ORMA_COLUMN_DOUBLE,
						      [SQLITE_TEXT] = ORMA_COLUMN_STRING};
	struct made_table *table;
	int code = SQLITE_DONE, r = new_table(sql, query, &table);
	if (r < 0)
		return r;
	while (r == 0 && (code = sqlite3_step(query)) == SQLITE_ROW)
		for (size_t i = 0; r == 0 && i < table->column_count; i++) {
			int type = sqlite3_column_type(query, (int)i);
			if (type != SQLITE_NULL && type != SQLITE_BLOB)
				r = use_type(statement, table, &table->columns[i], types[type],
					     reterr);
		}
	if (r == 0 && code != SQLITE_DONE)
		r = orma_sql_describe(sql, code, reterr);
	free_table(table);
	return r;
}

/* Makes the relation that owns the table. */
static int show(struct orma_sql *sql, const char *name, struct made_table *table,
		struct orma_relation **ret)
{
	struct orma_relation *relation;
	int r = orma_sql_relation_new(name, NULL, sql->options.pool, &relation);
	if (r < 0)
		return r;
	relation->row_count = table->row_count;
	for (size_t i = 0; r == 0 && i < table->column_count; i++) {
		struct made_column *column = &table->columns[i];
		bool is_int = column->cells.type == ORMA_COLUMN_INT;
		r = orma_sql_relation_add(
			relation,
			&(struct orma_relation_column){
				.name = column->name,
				.type = column->cells.type,
				.flags = (is_int && column->is_sorted ? (unsigned)ORMA_COLUMN_SORTED
								      : 0u) |
					 (is_int && column->is_ascending
						  ? (unsigned)ORMA_RELATION_DISTINCT_ROWS
						  : 0u),
				.stored = &column->cells,
			});
	}
	if (r < 0) {
		orma_sql_relation_unref(relation);
		return r;
	}
	relation->release = free_table;
	relation->release_ctx = table;
	*ret = relation;
	return 0;
}

/* The query may read the table that is replaced, so that one goes only now. */
static int publish(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
		   struct orma_relation *relation, struct orma_error *reterr)
{
	int r = 0;
	if (statement->replaces)
		r = orma_sql_exec_format(sql, reterr, "drop table if exists \"%w\"",
					 statement->name);
	else if (orma_sql_find_relation(sql, statement->name))
		r = orma_base_error_set(reterr, -EINVAL, "table %s already exists",
					statement->name);
	if (r == 0)
		r = orma_sql_keep_relation(sql, relation);
	if (r < 0)
		return r;
	r = orma_sql_exec_format(sql, reterr,
				 "create virtual table \"%w\" using " ORMA_SQL_TABLE_MODULE,
				 statement->name);
	if (r < 0)
		orma_sql_forget_relation(sql, statement->name);
	return r;
}

int orma_sql_create_table(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  struct orma_error *reterr)
{
	sqlite3_stmt *query;
	struct made_table *table = NULL;
	struct orma_relation *relation = NULL;
	struct orma_native_tables groups = {.count = 0};
	int r = orma_sql_native_prepare(sql, statement->body, &groups, &query, reterr);
	if (r < 0)
		return r;
	r = orma_sql_check_names(sql, statement, query, reterr);
	if (r == 0)
		r = new_table(sql, query, &table);
	if (r == 0)
		r = fill(sql, statement, table, query, reterr);
	sqlite3_finalize(query);
	orma_sql_native_drop(sql, &groups);
	if (r == 0)
		r = show(sql, statement->name, table, &relation);
	if (!relation)
		free_table(table);
	if (r == 0)
		r = publish(sql, statement, relation, reterr);
	orma_sql_relation_unref(relation);
	return r;
}
