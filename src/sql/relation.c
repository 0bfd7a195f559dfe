/* SPDX-License-Identifier: Apache-2.0
 * relation.c - columns are looked up by name in an array, because queries name few.
 */
#include "sql/relation.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/index.h"

int orma_sql_relation_new(const char *name, const char *id_name,
			  const struct orma_string_pool *pool, struct orma_relation **ret)
{
	struct orma_relation *relation = orma_base_zalloc(sizeof(*relation));
	if (!relation)
		return -ENOMEM;
	relation->refs = 1;
	relation->pool = pool;
	relation->name = orma_base_strdup(name);
	int r = relation->name ? 0 : -ENOMEM;
	if (r == 0)
		r = orma_sql_relation_add(
			relation,
			&(struct orma_relation_column){
				.name = id_name ? id_name : "_auto_id",
				.type = ORMA_COLUMN_INT,
				.flags = ORMA_RELATION_ROW | (id_name ? 0u : ORMA_COLUMN_HIDDEN),
			});
	if (r < 0) {
		orma_sql_relation_unref(relation);
		return r;
	}
	*ret = relation;
	return 0;
}

struct orma_relation *orma_sql_relation_ref(struct orma_relation *relation)
{
	relation->refs++;
	return relation;
}

void orma_sql_relation_unref(struct orma_relation *relation)
{
	if (!relation || --relation->refs > 0)
		return;
	for (size_t i = 0; i < relation->column_count; i++)
		orma_sql_index_free(relation->columns[i].index);
	if (relation->release)
		relation->release(relation->release_ctx);
	orma_base_free(relation->columns);
	orma_base_free(relation->name);
	orma_base_free(relation);
}

int orma_sql_relation_find(const struct orma_relation *relation, const char *name)
{
	for (size_t i = 0; i < relation->column_count; i++)
		if (strcasecmp(relation->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

int orma_sql_relation_add(struct orma_relation *relation, const struct orma_relation_column *column)
{
	if (orma_sql_relation_find(relation, column->name) >= 0)
		return -EEXIST;
	if (relation->column_count == relation->column_capacity) {
		size_t capacity = ORMA_MAX(relation->column_capacity * 2, (size_t)8);
		struct orma_relation_column *columns =
			orma_base_realloc_array(relation->columns, capacity, sizeof(*columns));
		if (!columns)
			return -ENOMEM;
		relation->columns = columns;
		relation->column_capacity = capacity;
	}
	struct orma_relation_column *added = &relation->columns[relation->column_count++];
	*added = *column;
	if (added->flags & ORMA_RELATION_ROW)
		added->flags |= ORMA_COLUMN_SORTED | ORMA_RELATION_DISTINCT_ROWS;
	return 0;
}

int orma_sql_relation_add_table(struct orma_relation *relation, const struct orma_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		int r = orma_sql_relation_add(relation, &(struct orma_relation_column){
								.name = table->specs[i].name,
								.type = table->specs[i].type,
								.flags = table->specs[i].flags,
								.stored = &table->columns[i],
							});
		if (r < 0)
			return r;
	}
	relation->table = table;
	return 0;
}
