/* SPDX-License-Identifier: Apache-2.0
 * perfetto_statement.c - recursive descent without recursion: the statements nest nothing but types and bodies, which
 * are taken as they are.
 */
#include "sql/perfetto_statement.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "sql/sql_token.h"

enum { COLUMNS_MAX = 1000 };

struct parser {
	struct orma_str sql;
	size_t offset;
	struct orma_arena *arena;
	struct orma_error *reterr;
	size_t *reterr_offset;
};

static int expected(struct parser *parser, const char *what)
{
	struct orma_token next = orma_sql_token_next(parser->sql, parser->offset);
	*parser->reterr_offset = next.offset;
	if (next.kind == ORMA_TOKEN_END)
		return orma_base_error_set(parser->reterr, -EINVAL,
					   "the statement ends where %s should be", what);
	return orma_base_error_set(parser->reterr, -EINVAL, "expected %s, not `%.*s`", what,
				   (int)ORMA_MIN(next.text.size, (size_t)60), next.text.data);
}

static bool take_word(struct parser *parser, const char *keyword)
{
	return orma_sql_token_accept(parser->sql, &parser->offset, keyword);
}

static bool take_sign(struct parser *parser, char sign)
{
	return orma_sql_token_accept_sign(parser->sql, &parser->offset, sign);
}

static bool peek_sign(const struct parser *parser, char sign)
{
	struct orma_token next = orma_sql_token_next(parser->sql, parser->offset);
	return orma_sql_token_is_sign(&next, sign);
}

/* Where the next token begins. */
static const char *place_of_next(const struct parser *parser)
{
	return parser->sql.data + orma_sql_token_next(parser->sql, parser->offset).offset;
}

/* Copies a word, or a name without its quotes. */
static int parse_name(struct parser *parser, const char *what, const char **ret)
{
	struct orma_token next = orma_sql_token_next(parser->sql, parser->offset);
	struct orma_str text = next.text;
	if (next.kind == ORMA_TOKEN_NAME)
		text = (struct orma_str){text.data + 1, text.size - 2};
	else if (next.kind != ORMA_TOKEN_WORD)
		return expected(parser, what);
	*ret = orma_base_arena_strdup(parser->arena, text);
	parser->offset = orma_sql_token_end(&next);
	return *ret ? 0 : -ENOMEM;
}

static const struct {
	const char *name;
	enum orma_perfetto_type type;
} type_names[] = {
	{"LONG", ORMA_PERFETTO_LONG},     {"INT", ORMA_PERFETTO_LONG},
	{"INTEGER", ORMA_PERFETTO_LONG},  {"UINT", ORMA_PERFETTO_LONG},
	{"BIGINT", ORMA_PERFETTO_LONG},   {"TIMESTAMP", ORMA_PERFETTO_LONG},
	{"DURATION", ORMA_PERFETTO_LONG}, {"ARGSETID", ORMA_PERFETTO_LONG},
	{"ID", ORMA_PERFETTO_LONG},       {"JOINID", ORMA_PERFETTO_LONG},
	{"DOUBLE", ORMA_PERFETTO_DOUBLE}, {"FLOAT", ORMA_PERFETTO_DOUBLE},
	{"REAL", ORMA_PERFETTO_DOUBLE},   {"BOOL", ORMA_PERFETTO_BOOL},
	{"STRING", ORMA_PERFETTO_STRING}, {"TEXT", ORMA_PERFETTO_STRING},
	{"BYTES", ORMA_PERFETTO_BYTES},   {"PROTO", ORMA_PERFETTO_BYTES},
	{"ANY", ORMA_PERFETTO_ANY},
};

/* `TYPE`, `TYPE(table.column)`. */
static int parse_type(struct parser *parser, struct orma_perfetto_column *ret)
{
	size_t begin = parser->offset;
	int r = parse_name(parser, "a type", &ret->type_name);
	if (r < 0 || !ret->type_name)
		return r;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(type_names); i++) {
		if (strcasecmp(ret->type_name, type_names[i].name) != 0)
			continue;
		ret->type = type_names[i].type;
		if (take_sign(parser, '(') &&
		    !orma_sql_token_skip_parentheses(parser->sql, &parser->offset))
			return expected(parser, "`)`");
		return 0;
	}
	parser->offset = begin;
	return expected(parser, "a type");
}

static bool take_dots(struct parser *parser)
{
	size_t before = parser->offset;
	if (take_sign(parser, '.') && take_sign(parser, '.') && take_sign(parser, '.'))
		return true;
	parser->offset = before;
	return false;
}

static int add_column(struct parser *parser, struct orma_perfetto_column **columns, size_t *count,
		      struct orma_perfetto_column column)
{
	if (*count == COLUMNS_MAX)
		return expected(parser, "fewer columns");
	struct orma_perfetto_column *bigger = orma_base_arena_grow(
		parser->arena, *columns, *count * sizeof(column), (*count + 1) * sizeof(column));
	if (!bigger)
		return -ENOMEM;
	bigger[(*count)++] = column;
	*columns = bigger;
	return 0;
}

enum list_kind { LIST_TYPED, LIST_MACRO, LIST_NAMES };

/* `name TYPE, ...)` behind the opening parenthesis. */
static int parse_list(struct parser *parser, enum list_kind kind,
		      struct orma_perfetto_column **columns, size_t *count, bool *retvariadic)
{
	if (take_sign(parser, ')'))
		return 0;
	for (;;) {
		struct orma_perfetto_column column = {.place = place_of_next(parser)};
		int r = parse_name(parser, "a name", &column.name);
		if (r == 0 && kind == LIST_TYPED)
			r = parse_type(parser, &column);
		else if (r == 0 && kind == LIST_MACRO)
			r = parse_name(parser, "a type", &column.type_name);
		if (r == 0)
			r = add_column(parser, columns, count, column);
		if (r < 0)
			return r;
		if (retvariadic && take_dots(parser))
			*retvariadic = true;
		if (take_sign(parser, ')'))
			return 0;
		if ((retvariadic && *retvariadic) || !take_sign(parser, ','))
			return expected(parser, "`,` or `)`");
	}
}

/* The body is the rest of the statement. */
static int parse_body(struct parser *parser, struct orma_perfetto_statement *ret)
{
	if (!take_word(parser, "as"))
		return expected(parser, "`AS`");
	struct orma_token first = orma_sql_token_next(parser->sql, parser->offset);
	if (first.kind == ORMA_TOKEN_END)
		return expected(parser, "a query");
	ret->body =
		(struct orma_str){parser->sql.data + first.offset, parser->sql.size - first.offset};
	return 0;
}

static int parse_table(struct parser *parser, struct orma_perfetto_statement *ret)
{
	ret->name_place = place_of_next(parser);
	int r = parse_name(parser, "a name", &ret->name);
	/* `USING ...`, an older form, chose a way of storing. */
	if (r == 0 && take_sign(parser, '('))
		r = parse_list(parser, LIST_TYPED, &ret->columns, &ret->column_count, NULL);
	return r < 0 ? r : parse_body(parser, ret);
}

static int parse_returns(struct parser *parser, struct orma_perfetto_statement *ret)
{
	if (!take_word(parser, "returns"))
		return expected(parser, "`RETURNS`");
	if (!take_word(parser, "table"))
		return parse_type(parser, &ret->result);
	ret->returns_table = true;
	if (!take_sign(parser, '('))
		return expected(parser, "`(`");
	return parse_list(parser, LIST_TYPED, &ret->result_columns, &ret->result_column_count,
			  NULL);
}

static int parse_prototype(struct parser *parser, struct orma_perfetto_statement *ret)
{
	ret->name_place = place_of_next(parser);
	int r = parse_name(parser, "a name", &ret->name);
	if (r < 0)
		return r;
	if (!take_sign(parser, '('))
		return expected(parser, "`(`");
	return parse_list(parser, LIST_TYPED, &ret->columns, &ret->column_count, &ret->is_variadic);
}

static int parse_function(struct parser *parser, struct orma_perfetto_statement *ret)
{
	int r = parse_prototype(parser, ret);
	if (r == 0)
		r = parse_returns(parser, ret);
	if (r < 0)
		return r;
	if (!take_word(parser, "delegates"))
		return parse_body(parser, ret);
	if (!take_word(parser, "to"))
		return expected(parser, "`TO`");
	return parse_name(parser, "a function", &ret->delegate);
}

static int parse_macro(struct parser *parser, struct orma_perfetto_statement *ret)
{
	ret->name_place = place_of_next(parser);
	int r = parse_name(parser, "a name", &ret->name);
	if (r < 0)
		return r;
	if (!take_sign(parser, '('))
		return expected(parser, "`(`");
	r = parse_list(parser, LIST_MACRO, &ret->columns, &ret->column_count, NULL);
	if (r < 0)
		return r;
	if (!take_word(parser, "returns"))
		return expected(parser, "`RETURNS`");
	r = parse_name(parser, "a type", &ret->result.type_name);
	return r < 0 ? r : parse_body(parser, ret);
}

static int parse_index(struct parser *parser, struct orma_perfetto_statement *ret)
{
	ret->name_place = place_of_next(parser);
	int r = parse_name(parser, "a name", &ret->name);
	if (r < 0)
		return r;
	if (!take_word(parser, "on"))
		return expected(parser, "`ON`");
	ret->table_place = place_of_next(parser);
	r = parse_name(parser, "a table", &ret->table);
	if (r < 0 || ret->kind == ORMA_PERFETTO_DROP_INDEX)
		return r;
	if (!take_sign(parser, '('))
		return expected(parser, "`(`");
	return parse_list(parser, LIST_NAMES, &ret->columns, &ret->column_count, NULL);
}

/* `a.b.c`, `a.*`, `*`. */
static int parse_module(struct parser *parser, const char **ret)
{
	struct orma_token next = orma_sql_token_next(parser->sql, parser->offset);
	size_t begin = next.offset;
	for (;;) {
		if (next.kind == ORMA_TOKEN_WORD) {
			parser->offset = orma_sql_token_end(&next);
			if (peek_sign(parser, '.')) {
				take_sign(parser, '.');
				next = orma_sql_token_next(parser->sql, parser->offset);
				continue;
			}
		} else if (!take_sign(parser, '*')) {
			return expected(parser, "a module");
		}
		break;
	}
	*ret = orma_base_arena_strdup(
		parser->arena, (struct orma_str){parser->sql.data + begin, parser->offset - begin});
	return *ret ? 0 : -ENOMEM;
}

static int parse_include(struct parser *parser, struct orma_perfetto_statement *ret)
{
	if (!take_word(parser, "module"))
		return expected(parser, "`MODULE`");
	do {
		struct orma_perfetto_column module = {.place = place_of_next(parser)};
		int r = parse_module(parser, &module.name);
		if (r == 0)
			r = add_column(parser, &ret->columns, &ret->column_count, module);
		if (r < 0)
			return r;
	} while (take_sign(parser, ','));
	return 0;
}

static int parse_end(struct parser *parser, int r)
{
	if (r < 0)
		return r;
	struct orma_token next = orma_sql_token_next(parser->sql, parser->offset);
	return next.kind == ORMA_TOKEN_END ? 0 : expected(parser, "the end of the statement");
}

static int parse_create(struct parser *parser, struct orma_perfetto_statement *ret)
{
	if (take_word(parser, "table")) {
		ret->kind = ORMA_PERFETTO_TABLE;
		return parse_table(parser, ret);
	}
	if (take_word(parser, "view")) {
		ret->kind = ORMA_PERFETTO_VIEW;
		return parse_table(parser, ret);
	}
	if (take_word(parser, "function")) {
		ret->kind = ORMA_PERFETTO_FUNCTION;
		int r = parse_function(parser, ret);
		return ret->delegate ? parse_end(parser, r) : r;
	}
	if (take_word(parser, "macro")) {
		ret->kind = ORMA_PERFETTO_MACRO;
		return parse_macro(parser, ret);
	}
	if (take_word(parser, "index")) {
		ret->kind = ORMA_PERFETTO_INDEX;
		return parse_end(parser, parse_index(parser, ret));
	}
	return expected(parser, "`TABLE`, `VIEW`, `FUNCTION`, `MACRO` or `INDEX`");
}

static bool take_create(struct orma_str sql, size_t *offset, bool *ret_replaces)
{
	if (!orma_sql_token_accept(sql, offset, "create"))
		return false;
	*ret_replaces = orma_sql_token_accept(sql, offset, "or");
	if (*ret_replaces && !orma_sql_token_accept(sql, offset, "replace"))
		return false;
	return orma_sql_token_accept(sql, offset, "perfetto");
}

bool orma_sql_perfetto_is_macro(struct orma_str sql)
{
	size_t offset = 0;
	bool replaces;
	return take_create(sql, &offset, &replaces) && orma_sql_token_accept(sql, &offset, "macro");
}

int orma_sql_perfetto_parse(struct orma_str sql, struct orma_arena *arena,
			    struct orma_perfetto_statement *ret, size_t *reterr_offset,
			    struct orma_error *reterr)
{
	struct parser parser = {
		.sql = sql, .arena = arena, .reterr = reterr, .reterr_offset = reterr_offset};
	*ret = (struct orma_perfetto_statement){.kind = ORMA_PERFETTO_NONE};
	*reterr_offset = 0;
	if (take_create(sql, &parser.offset, &ret->replaces))
		return parse_create(&parser, ret);
	parser.offset = 0;
	if (take_word(&parser, "include") && take_word(&parser, "perfetto")) {
		ret->kind = ORMA_PERFETTO_INCLUDE;
		return parse_end(&parser, parse_include(&parser, ret));
	}
	parser.offset = 0;
	if (take_word(&parser, "drop") && take_word(&parser, "perfetto")) {
		if (!take_word(&parser, "index"))
			return expected(&parser, "`INDEX`");
		ret->kind = ORMA_PERFETTO_DROP_INDEX;
		return parse_end(&parser, parse_index(&parser, ret));
	}
	return 0;
}
