/* SPDX-License-Identifier: Apache-2.0
 * native_scope.c - most tables that people name are views that give a relation's columns other names, and leave out rows.
 *
 * The chain of views is read from the statement inwards, down to the relation. Then names go outwards: each view's items
 * are the names of the table of the statement around it. An item that is no plain column is a name without a column, so
 * that what uses it is left to SQLite.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_select.h"

/* Smaller tables are not worth it, and SQLite's own way is the reference. */
enum { ROWS_MIN = 20000, VIEWS_MAX = 4 };

struct view {
	char *text;
	struct orma_select select;
};

/*
 * Looks the name up in the schema, which goes before relations of the same name. Returns 1 and the view's text, which is to
 * be freed; 0 when the name means a relation; -ENOMEM or ORMA_NO_MATCH.
 */
static int find_view(struct orma_sql *sql, struct orma_str name, char **ret)
{
	static const char lookup[] =
		"select type, sql, sql like 'create virtual table %using " ORMA_SQL_TABLE_MODULE
		"' from (select * from sqlite_temp_schema union all select * from sqlite_schema) "
		"where name = ?1 collate nocase and type in ('table', 'view')";
	sqlite3_stmt *query;
	int r = ORMA_NO_MATCH;
	if (sqlite3_prepare_v2(sql->db, lookup, -1, &query, NULL) != SQLITE_OK)
		return r;
	if (sqlite3_bind_text(query, 1, name.data, (int)name.size, SQLITE_STATIC) == SQLITE_OK) {
		int code = sqlite3_step(query);
		if (code == SQLITE_DONE || (code == SQLITE_ROW && sqlite3_column_int(query, 2))) {
			r = 0;
		} else if (code == SQLITE_ROW && sqlite3_column_bytes(query, 0) == 4) {
			*ret = orma_base_strdup((const char *)sqlite3_column_text(query, 1));
			r = *ret ? 1 : -ENOMEM;
		}
	}
	sqlite3_finalize(query);
	return r;
}

/* Reads what is behind `create view NAME as`. */
static int read_view(struct view *view)
{
	struct orma_str text = orma_base_str(view->text);
	size_t offset = 0;
	if (!orma_sql_token_accept(text, &offset, "create"))
		return ORMA_NO_MATCH;
	(void)(orma_sql_token_accept(text, &offset, "temp") ||
	       orma_sql_token_accept(text, &offset, "temporary"));
	if (!orma_sql_token_accept(text, &offset, "view"))
		return ORMA_NO_MATCH;
	struct orma_token name = orma_sql_token_next(text, offset);
	offset = orma_sql_token_end(&name);
	if (!orma_sql_token_accept(text, &offset, "as"))
		return ORMA_NO_MATCH;
	int r = orma_sql_select_read((struct orma_str){text.data + offset, text.size - offset},
				     &view->select);
	const struct orma_select *select = &view->select;
	bool is_simple = r == 0 && !select->is_join && !select->is_distinct &&
			 select->group == SIZE_MAX && select->having == SIZE_MAX &&
			 select->order == SIZE_MAX && select->limit == SIZE_MAX;
	return is_simple ? 0 : ORMA_NO_MATCH;
}

static int add_name(struct orma_select *select, struct orma_str name, int column)
{
	if (select->name_count == ORMA_SELECT_NAMES_MAX)
		return ORMA_NO_MATCH;
	select->names[select->name_count++] =
		(struct orma_select_name){.name = name, .column = column};
	return 0;
}

static int use_relation(struct orma_select *select)
{
	char name[200];
	if (select->table.size >= sizeof(name))
		return ORMA_NO_MATCH;
	memcpy(name, select->table.data, select->table.size);
	name[select->table.size] = '\0';
	struct orma_relation *relation = orma_sql_find_relation(select->sql, name);
	if (!relation || orma_sql_relation_fill(relation) < 0 ||
	    orma_sql_relation_rows(relation) < ROWS_MIN)
		return ORMA_NO_MATCH;
	select->query->relation = relation;
	int r = 0;
	for (size_t i = 0; r == 0 && i < relation->column_count; i++)
		r = add_name(select, orma_base_str(relation->columns[i].name), (int)i);
	return r;
}

static bool is_star(const struct orma_select *view, const struct orma_select_item *item)
{
	return item->end == item->begin + 1 && orma_select_is_sign(view, item->begin, '*');
}

/* The view's items are the names of the columns of the statement's table. */
static int use_view(const struct orma_select *view, struct orma_select *select)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < view->item_count; i++) {
		const struct orma_select_item *item = &view->items[i];
		/* Hidden columns of a relation are not among `*`. */
		for (size_t n = 0; is_star(view, item) && r == 0 && n < view->name_count; n++) {
			int column = view->names[n].column;
			bool is_hidden =
				column >= 0 &&
				view->query->relation->columns[column].flags & ORMA_COLUMN_HIDDEN;
			if (!is_hidden)
				r = add_name(select, view->names[n].name, column);
		}
		if (is_star(view, item))
			continue;
		struct orma_str name = item->alias;
		if (!name.data)
			name = orma_select_text(&view->tokens[item->end - 1]);
		r = add_name(select, name,
			     orma_sql_select_plain_column(view, item->begin, item->end));
	}
	return r;
}

static int resolve(struct orma_select *select, struct view **views)
{
	struct orma_select *innermost = select;
	size_t count = 0;
	char *text;
	int r;
	while ((r = find_view(select->sql, innermost->table, &text)) > 0) {
		struct view *view = count < VIEWS_MAX ? orma_base_alloc(sizeof(*view)) : NULL;
		if (!view) {
			orma_base_free(text);
			return count < VIEWS_MAX ? -ENOMEM : ORMA_NO_MATCH;
		}
		views[count++] = view;
		view->text = text;
		view->select.sql = select->sql;
		view->select.query = select->query;
		r = read_view(view);
		if (r < 0)
			return r;
		innermost = &view->select;
	}
	if (r == 0)
		r = use_relation(innermost);
	for (size_t i = count; r == 0 && i > 0; i--) {
		r = orma_sql_select_add_filters(&views[i - 1]->select);
		if (r == 0)
			r = use_view(&views[i - 1]->select, i > 1 ? &views[i - 2]->select : select);
	}
	return r;
}

int orma_sql_select_resolve(struct orma_select *select, struct orma_arena *arena)
{
	struct view *views[VIEWS_MAX] = {NULL};
	int r = resolve(select, views);
	/* The names outlive the views' texts. */
	for (size_t i = 0; r == 0 && i < select->name_count; i++) {
		struct orma_select_name *name = &select->names[i];
		name->name.data = orma_base_arena_strdup(arena, name->name);
		r = name->name.data ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < VIEWS_MAX && views[i]; i++) {
		orma_base_free(views[i]->text);
		orma_base_free(views[i]);
	}
	return r;
}
