/* SPDX-License-Identifier: Apache-2.0
 * native_lookup.c - `slice c join slice p on c.parent_id = p.id` is a table like `c`, with more columns: those of the row that
 * each parent_id names.
 *
 * An id is the number of a row, so its cells are looked up. The columns of the first table come first, and keep their
 * numbers; filters of both tables are filters of the whole.
 */
#include "sql/native_lookup.h"

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/relation.h"

struct side {
	struct orma_str alias;
	const struct orma_relation *relation;
	struct orma_select_name names[ORMA_SELECT_NAMES_MAX];
	size_t name_count;
	struct orma_filter filters[ORMA_NATIVE_FILTERS_MAX];
	size_t filter_count;
};

/* The relation owns this. */
struct lookup {
	const struct orma_relation *relation, *other;
	size_t key;
	uint64_t first; /* the rows that `keys` are of */
	size_t count;
	int64_t keys[ORMA_BLOCK_ROWS];
	struct lookup_column {
		struct lookup *lookup;
		size_t column;
	} columns[];
};

static int read_keys(struct lookup *lookup, uint64_t first, size_t count)
{
	int r = 0;
	if (lookup->first == first && lookup->count == count)
		return 0;
	lookup->count = 0;
	if (count == 1)
		r = orma_sql_relation_get(lookup->relation, lookup->key, first, lookup->keys);
	else
		r = orma_sql_relation_read(lookup->relation, lookup->key, first / ORMA_BLOCK_ROWS,
					   lookup->keys);
	if (r < 0)
		return r;
	lookup->first = first;
	lookup->count = count;
	return 0;
}

/* Rows are read a block at a time, or one at a time. */
static int read_column(void *ctx, uint64_t first, size_t count, int64_t *ret)
{
	const struct lookup_column *column = ctx;
	const struct orma_relation *other = column->lookup->other;
	const struct orma_relation_column *source = &other->columns[column->column];
	uint64_t rows = orma_sql_relation_rows(other);
	int64_t null = orma_store_null_of(source->type);
	int r = read_keys(column->lookup, first, count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint64_t row = (uint64_t)column->lookup->keys[i];
		ret[i] = null;
		if (row < rows && source->stored)
			ret[i] = orma_store_column_get(source->stored, row);
		else if (row < rows)
			r = orma_sql_relation_get(other, column->column, row, &ret[i]);
	}
	return r;
}

static int new_relation(const struct side *side, const struct side *other, size_t key,
			struct orma_relation **ret)
{
	size_t count = side->relation->column_count, more = other->relation->column_count;
	struct lookup *lookup =
		orma_base_zalloc(sizeof(*lookup) + more * sizeof(lookup->columns[0]));
	struct orma_relation *relation = orma_base_zalloc(sizeof(*relation));
	if (relation)
		relation->columns = orma_base_alloc_array(count + more, sizeof(*relation->columns));
	if (!lookup || !relation || !relation->columns) {
		if (relation)
			orma_base_free(relation->columns);
		orma_base_free(relation);
		orma_base_free(lookup);
		return -ENOMEM;
	}
	lookup->relation = side->relation;
	lookup->other = other->relation;
	lookup->key = key;
	for (size_t i = 0; i < count + more; i++) {
		bool is_own = i < count;
		struct orma_relation_column *column = &relation->columns[i];
		*column = is_own ? side->relation->columns[i] : other->relation->columns[i - count];
		column->index = NULL;
		if (is_own)
			continue;
		lookup->columns[i - count] = (struct lookup_column){lookup, i - count};
		column->values = column->stored;
		column->stored = NULL;
		column->flags = 0;
		column->read = read_column;
		column->ctx = &lookup->columns[i - count];
	}
	relation->refs = 1;
	relation->column_count = relation->column_capacity = count + more;
	relation->table = side->relation->table;
	relation->row_count = side->relation->row_count;
	relation->pool = side->relation->pool;
	relation->release = orma_base_free;
	relation->release_ctx = lookup;
	*ret = relation;
	return 0;
}

/* Resolves a table, whose names and filters become the side's. */
static int take_side(struct orma_select *select, const struct orma_join_table *table,
		     struct orma_arena *arena, struct side *ret)
{
	struct orma_native_query *query = select->query;
	select->table = table->name;
	select->alias = ret->alias = table->alias;
	select->name_count = 0;
	int r = orma_sql_select_resolve(select, arena);
	ret->relation = query->relation;
	ret->name_count = select->name_count;
	ret->filter_count = query->filter_count;
	memcpy(ret->names, select->names, select->name_count * sizeof(*ret->names));
	memcpy(ret->filters, query->filters, query->filter_count * sizeof(*ret->filters));
	query->relation = NULL;
	query->filter_count = select->name_count = 0;
	return r;
}

/* `table.column` of one of the sides; moves behind it. */
static int take_column(const struct orma_select *select, size_t *at, struct side *const sides[2],
		       size_t *retside)
{
	size_t i = *at;
	if (i + 2 >= select->token_count || !orma_select_is_sign(select, i + 1, '.'))
		return -1;
	for (*retside = 0; *retside < 2; ++*retside) {
		const struct side *side = sides[*retside];
		if (!orma_select_is_same(orma_select_text(&select->tokens[i]), side->alias))
			continue;
		*at = i + 3;
		for (size_t n = 0; n < side->name_count; n++)
			if (orma_select_is_same(orma_select_text(&select->tokens[i + 2]),
						side->names[n].name))
				return side->names[n].column;
	}
	return -1;
}

static bool is_id(const struct side *side, int column)
{
	return side->relation->columns[column].flags & ORMA_RELATION_ROW;
}

/* Reads `a.column = b.id`: sets the side that is looked up in the other, and its column. */
static int read_condition(const struct orma_select *select, const struct orma_join *join,
			  struct side *const sides[2], size_t *retside, size_t *retkey)
{
	const struct orma_join_table *table = &join->tables[1];
	size_t at = table->on_begin, first, second;
	int column = take_column(select, &at, sides, &first);
	if (column < 0 || !orma_select_is_sign(select, at, '='))
		return ORMA_NO_MATCH;
	at += orma_select_is_sign(select, at + 1, '=') ? 2 : 1;
	int other = take_column(select, &at, sides, &second);
	if (other < 0 || first == second || at != table->on_end)
		return ORMA_NO_MATCH;
	bool is_first = is_id(sides[second], other) && !(table->is_left && first == 1);
	if (!is_first && (!is_id(sides[first], column) || (table->is_left && second == 1)))
		return ORMA_NO_MATCH;
	*retside = is_first ? first : second;
	*retkey = (size_t)(is_first ? column : other);
	return sides[*retside]->relation->columns[*retkey].type == ORMA_COLUMN_INT ? 0
										   : ORMA_NO_MATCH;
}

/* Adds names and filters of a side, whose columns begin at `offset`. */
static int add_side(struct orma_select *select, struct side *side, size_t offset)
{
	struct orma_native_query *query = select->query;
	if (select->name_count + side->name_count > ORMA_SELECT_NAMES_MAX ||
	    query->filter_count + side->filter_count > ORMA_NATIVE_FILTERS_MAX)
		return ORMA_NO_MATCH;
	for (size_t i = 0; i < side->name_count; i++) {
		struct orma_select_name *name = &select->names[select->name_count++];
		*name = side->names[i];
		name->table = side->alias;
		name->column += name->column >= 0 ? (int)offset : 0;
	}
	for (; side->filter_count > 0; side->filter_count--) {
		struct orma_filter *filter = &query->filters[query->filter_count++];
		*filter = side->filters[side->filter_count - 1];
		filter->column_idx += offset;
	}
	return 0;
}

static int join_sides(struct orma_select *select, const struct orma_join *join,
		      struct side *const sides[2])
{
	struct orma_native_query *query = select->query;
	size_t own = 0, key = 0;
	int r = read_condition(select, join, sides, &own, &key);
	if (r < 0)
		return r;
	struct side *side = sides[own], *other = sides[1 - own];
	bool is_left = join->tables[1].is_left;
	/* Rows that the other table's view leaves out would have to become NULLs. */
	if (is_left && other->filter_count > 0)
		return ORMA_NO_MATCH;
	r = new_relation(side, other, key, &query->joined);
	if (r < 0)
		return r;
	query->relation = query->joined;
	r = add_side(select, side, 0);
	if (r == 0)
		r = add_side(select, other, side->relation->column_count);
	if (r < 0 || is_left)
		return r;
	if (query->filter_count == ORMA_NATIVE_FILTERS_MAX)
		return ORMA_NO_MATCH;
	query->filters[query->filter_count++] =
		(struct orma_filter){.kind = ORMA_FILTER_RANGE,
				     .column_idx = key,
				     .high = (int64_t)orma_sql_relation_rows(other->relation) - 1};
	return 0;
}

int orma_sql_lookup_resolve(struct orma_select *select, struct orma_arena *arena)
{
	struct orma_join join = {.table_count = 0};
	struct side *sides[2] = {NULL, NULL};
	int r = orma_sql_join_tables(select, &join);
	if (r < 0 || join.table_count != 2 || select->is_distinct)
		return r < 0 ? r : ORMA_NO_MATCH;
	for (size_t i = 0; r == 0 && i < 2; i++) {
		sides[i] = orma_base_zalloc(sizeof(*sides[i]));
		r = sides[i] ? take_side(select, &join.tables[i], arena, sides[i]) : -ENOMEM;
	}
	if (r == 0)
		r = join_sides(select, &join, sides);
	for (size_t i = 0; i < 2 && sides[i]; i++) {
		for (size_t n = 0; n < sides[i]->filter_count; n++)
			orma_sql_filter_done(&sides[i]->filters[n]);
		orma_base_free(sides[i]);
	}
	return r;
}
