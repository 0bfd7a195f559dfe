/* SPDX-License-Identifier: Apache-2.0
 * script.c - statements are cut at semicolons, their macros expanded, and PerfettoSQL's own ones carried out.
 *
 * An included module's text goes on a stack of texts, so that modules including modules need no recursion. A module is
 * marked as included when its text begins, which ends a cycle, and loses the mark when a statement in it fails.
 */
#include "sql/script.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native.h"
#include "sql/perfetto_define.h"
#include "sql/perfetto_statement.h"
#include "sql/sql_token.h"

enum { TEXTS_MAX = 64 };

struct script_text {
	char *owned; /* NULL = the text is borrowed from the module */
	struct orma_str sql;
	size_t offset;
	char *module; /* NULL = the script itself */
};

struct orma_sql_script {
	struct orma_sql *sql;
	struct script_text texts[TEXTS_MAX];
	size_t depth;
	/* The current statement: where it is in its text, and itself with macros expanded. */
	size_t begin;
	struct orma_buf expanded;
	struct orma_macro_calls calls; /* that were expanded in it */
	bool is_placed;                /* the error tells its place */
	struct orma_arena arena;
	sqlite3_stmt *statement;
	unsigned fault_line,
		fault_column; /* in the script's own text; 0 = the last error has no place there */
	struct orma_native_tables groups; /* that the statement reads */
};

int orma_sql_script_new(struct orma_sql *sql, struct orma_str text, struct orma_sql_script **ret)
{
	struct orma_sql_script *script = orma_base_zalloc(sizeof(*script));
	char *copy = orma_base_str_dup(text);
	if (!script || !copy) {
		orma_base_free(script);
		orma_base_free(copy);
		return -ENOMEM;
	}
	/* A script that was asked to stop is over; one within a script shares its fate. */
	if (sql->script_count++ == 0)
		atomic_store_explicit(&sql->interrupt.is_set, false, memory_order_relaxed);
	script->sql = sql;
	script->texts[0] = (struct script_text){.owned = copy, .sql = {copy, text.size}};
	script->depth = 1;
	*ret = script;
	return 0;
}

static void forget_module(struct orma_sql *sql, const char *name)
{
	for (size_t i = 0; i < sql->module_count; i++)
		if (strcmp(sql->modules[i], name) == 0) {
			orma_base_free(sql->modules[i]);
			sql->modules[i] = sql->modules[--sql->module_count];
			return;
		}
}

static void pop_text(struct orma_sql_script *script, bool has_failed)
{
	struct script_text *text = &script->texts[--script->depth];
	if (has_failed && text->module)
		forget_module(script->sql, text->module);
	orma_base_free(text->owned);
	orma_base_free(text->module);
}

static int end_statement(struct orma_sql_script *script)
{
	int code = sqlite3_finalize(script->statement);
	script->statement = NULL;
	orma_sql_native_drop(script->sql, &script->groups);
	return code;
}

void orma_sql_script_free(struct orma_sql_script *script)
{
	if (!script)
		return;
	end_statement(script);
	while (script->depth > 0)
		pop_text(script, true);
	script->sql->script_count--;
	orma_base_buf_done(&script->expanded);
	orma_sql_macro_calls_done(&script->calls);
	orma_base_arena_done(&script->arena);
	orma_base_free(script);
}

void orma_sql_script_fault(const struct orma_sql_script *script, uint32_t *retline,
			   uint32_t *retcolumn)
{
	*retline = script->fault_line;
	*retcolumn = script->fault_column;
}

sqlite3_stmt *orma_sql_script_statement(struct orma_sql_script *script)
{
	return script->statement;
}

/* Leaves the script at its end; says which module the fault is in. */
static int fail(struct orma_sql_script *script, int r, struct orma_error *reterr)
{
	for (size_t i = script->depth; i > 1; i--)
		if (script->texts[i - 1].module && reterr && reterr->message[0])
			orma_base_error_prefix(reterr, "module %s", script->texts[i - 1].module);
	end_statement(script);
	while (script->depth > 0)
		pop_text(script, true);
	return r;
}

/* Says where in the current text the fault is. */
static void point_at(struct orma_sql_script *script, size_t offset, struct orma_error *reterr)
{
	struct orma_str text = script->texts[script->depth - 1].sql;
	if (script->depth == 1)
		orma_sql_token_position(text, offset, &script->fault_line, &script->fault_column);
	orma_sql_point_at(reterr, text, offset);
}

/* Says where the fault is, and shows the text that a macro became if the fault is in it. */
static void point_at_fault(struct orma_sql_script *script, struct orma_error *reterr)
{
	const char *expanded = (const char *)script->expanded.data, *fault = script->sql->fault;
	size_t size = script->expanded.size;
	uintptr_t offset = (uintptr_t)fault - (uintptr_t)expanded;
	bool is_in_call = false;
	if (!fault || offset > size)
		offset = 0;
	size_t place = fault ? orma_sql_macro_calls_find(&script->calls, offset, &is_in_call) : 0;
	if (reterr && is_in_call) {
		struct orma_error plain = *reterr;
		orma_base_error_set(reterr, plain.code, "%.300s, near `%.*s`", plain.message,
				    (int)ORMA_MIN(size - offset, (size_t)40), expanded + offset);
	}
	point_at(script, script->begin + place, reterr);
}

/* The macro that cannot be expanded is the last one. */
static void point_at_macro(struct orma_sql_script *script, struct orma_error *reterr)
{
	size_t count = script->calls.count;
	point_at(script, script->begin + (count > 0 ? script->calls.calls[count - 1].begin : 0),
		 reterr);
}

/* The end of the statement that begins at `begin`: its semicolon, or the end of the text. */
static int find_end(struct orma_sql_script *script, size_t begin, size_t *ret,
		    struct orma_error *reterr)
{
	struct orma_str sql = script->texts[script->depth - 1].sql;
	size_t offset = begin, words = 0;
	bool creates = false, is_trigger = false, was_end = false;
	for (;;) {
		struct orma_token next = orma_sql_token_next(sql, offset);
		if (next.kind == ORMA_TOKEN_UNFINISHED) {
			orma_base_error_set(reterr, -EINVAL, "this has no end");
			point_at(script, next.offset, reterr);
			return -EINVAL;
		}
		/* The statements in a trigger have semicolons of their own; it ends with `end;`. */
		if (next.kind == ORMA_TOKEN_END ||
		    (orma_sql_token_is_sign(&next, ';') && (!is_trigger || was_end))) {
			*ret = next.offset;
			return 0;
		}
		if (next.kind == ORMA_TOKEN_WORD && words < 3) {
			creates = creates || (words == 0 && orma_sql_token_is(&next, "create"));
			is_trigger = is_trigger || (creates && orma_sql_token_is(&next, "trigger"));
			words++;
		}
		was_end = orma_sql_token_is(&next, "end");
		offset = orma_sql_token_end(&next);
	}
}

/* Copies the statement with macros expanded, and no-break spaces made spaces. */
static int expand(struct orma_sql_script *script, struct orma_str text, struct orma_error *reterr)
{
	struct orma_buf *out = &script->expanded;
	out->size = 0;
	script->calls.count = 0;
	if (orma_sql_perfetto_is_macro(text))
		return orma_base_buf_append(out, text.data, text.size);
	int r = orma_sql_macros_expand(&script->sql->macros, text, out, &script->calls, reterr);
	if (r < 0)
		return r;
	struct orma_str sql = {(const char *)out->data, out->size};
	struct orma_token token = orma_sql_token_read(sql, 0);
	for (; token.kind != ORMA_TOKEN_END;
	     token = orma_sql_token_read(sql, orma_sql_token_end(&token)))
		for (size_t i = token.offset;
		     token.kind == ORMA_TOKEN_SPACE && i < orma_sql_token_end(&token); i++)
			if (out->data[i] >= 0x80)
				out->data[i] = ' ';
	return 0;
}

static bool has_module(const struct orma_sql *sql, const char *name)
{
	for (size_t i = 0; i < sql->module_count; i++)
		if (strcmp(sql->modules[i], name) == 0)
			return true;
	return false;
}

/* Puts a module's text on the stack, unless it is included already. */
static int push_module(struct orma_sql_script *script, const char *name, struct orma_error *reterr)
{
	struct orma_sql *sql = script->sql;
	if (has_module(sql, name))
		return 0;
	struct orma_str text = {NULL, 0};
	if (sql->options.module_text)
		text = sql->options.module_text(sql->options.ctx, name);
	if (!text.data)
		return orma_base_error_set(reterr, -EINVAL, "INCLUDE: there is no module %s", name);
	if (script->depth == TEXTS_MAX)
		return orma_base_error_set(reterr, -EINVAL,
					   "modules include each other too deeply");
	int r = orma_sql_grow((void **)&sql->modules, sizeof(char *), sql->module_count,
			      &sql->module_capacity);
	char *mark = orma_base_strdup(name), *module = orma_base_strdup(name);
	if (r < 0 || !mark || !module) {
		orma_base_free(mark);
		orma_base_free(module);
		return -ENOMEM;
	}
	sql->modules[sql->module_count++] = mark;
	script->texts[script->depth++] = (struct script_text){.sql = text, .module = module};
	return 0;
}

/* `*` and `a.*` stand for all modules, and for all below a. */
static int include(struct orma_sql_script *script, const char *pattern, struct orma_error *reterr)
{
	const struct orma_sql_options *options = &script->sql->options;
	size_t size = strlen(pattern);
	bool is_found = false;
	if (pattern[size - 1] != '*')
		return push_module(script, pattern, reterr);
	for (size_t i = 0; options->module_name; i++) {
		const char *name = options->module_name(options->ctx, i);
		if (!name)
			break;
		if (strncmp(name, pattern, size - 1) != 0)
			continue;
		is_found = true;
		/* One at a time: a stack for all of them could be deep. */
		if (!has_module(script->sql, name))
			return push_module(script, name, reterr);
	}
	return is_found ? 0
			: orma_base_error_set(reterr, -EINVAL, "INCLUDE: there are no modules %s",
					      pattern);
}

static int include_all(struct orma_sql_script *script,
		       const struct orma_perfetto_statement *statement, struct orma_error *reterr)
{
	size_t depth = script->depth;
	/* A statement that includes several is run again for each, until all are there. */
	for (size_t i = 0; i < statement->column_count; i++) {
		script->sql->fault = statement->columns[i].place;
		int r = include(script, statement->columns[i].name, reterr);
		if (r < 0)
			return r;
		if (script->depth > depth) {
			script->texts[depth - 1].offset = script->begin;
			return 0;
		}
	}
	return 0;
}

static int carry_out(struct orma_sql_script *script,
		     const struct orma_perfetto_statement *statement, struct orma_error *reterr)
{
	switch (statement->kind) {
	case ORMA_PERFETTO_TABLE:
		return orma_sql_create_table(script->sql, statement, reterr);
	case ORMA_PERFETTO_VIEW:
		return orma_sql_create_view(script->sql, statement, reterr);
	case ORMA_PERFETTO_FUNCTION:
		return statement->returns_table
			       ? orma_sql_create_table_function(script->sql, statement, reterr)
			       : orma_sql_create_function(script->sql, statement, reterr);
	case ORMA_PERFETTO_MACRO:
		return orma_sql_create_macro(script->sql, statement, reterr);
	case ORMA_PERFETTO_INDEX:
	case ORMA_PERFETTO_DROP_INDEX:
		return orma_sql_change_index(script->sql, statement, reterr);
	case ORMA_PERFETTO_INCLUDE:
		return include_all(script, statement, reterr);
	case ORMA_PERFETTO_NONE:
		break;
	}
	return 0;
}

static int step(struct orma_sql_script *script, struct orma_error *reterr)
{
	int code = sqlite3_step(script->statement);
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	script->sql->fault = NULL;
	return orma_sql_describe(script->sql, code, reterr);
}

/* Prepares a statement of SQLite. 1 when it has columns; without them it is run. */
static int start(struct orma_sql_script *script, struct orma_str text, struct orma_error *reterr)
{
	int r = orma_sql_native_prepare(script->sql, text, &script->groups, &script->statement,
					reterr);
	if (r < 0 || !script->statement)
		return r;
	if (sqlite3_column_count(script->statement) == 0) {
		r = step(script, reterr);
		end_statement(script);
		return r;
	}
	if (script->texts[script->depth - 1].module)
		return orma_base_error_set(reterr, -EINVAL,
					   "a module may not have statements that return rows");
	return 1;
}

/* Where the body of a function is in the text. Macros in it would make places behind them wrong. */
static void locate_body(const struct orma_sql_script *script,
			struct orma_perfetto_statement *statement)
{
	const struct orma_macro_calls *calls = &script->calls;
	if (statement->kind != ORMA_PERFETTO_FUNCTION || !statement->body.data)
		return;
	size_t offset = (size_t)(statement->body.data - (const char *)script->expanded.data);
	bool is_in_call;
	if (calls->count > 0 && calls->calls[calls->count - 1].result_end > offset)
		return;
	orma_sql_token_position(script->texts[script->depth - 1].sql,
				script->begin +
					orma_sql_macro_calls_find(calls, offset, &is_in_call),
				&statement->body_line, &statement->body_column);
}

static bool is_in_own_module(const struct orma_sql_script *script)
{
	const char *module = script->texts[script->depth - 1].module;
	const char *own = script->sql->options.own_modules;
	return module && own && strncmp(module, own, strlen(own)) == 0;
}

/* Runs one statement; 1 when it has rows to step through. */
static int run_statement(struct orma_sql_script *script, size_t end, struct orma_error *reterr)
{
	struct script_text *text = &script->texts[script->depth - 1];
	struct orma_perfetto_statement statement;
	size_t fault = 0;
	struct orma_str written = {text->sql.data + script->begin, end - script->begin};
	script->sql->fault = NULL;
	orma_base_arena_clear(&script->arena);
	int r = expand(script, written, reterr);
	if (r == -EINVAL) {
		point_at_macro(script, reterr);
		script->is_placed = true;
	}
	if (r < 0)
		return r;
	struct orma_str sql = {(const char *)script->expanded.data, script->expanded.size};
	r = orma_sql_perfetto_parse(sql, &script->arena, &statement, &fault, reterr);
	if (r < 0) {
		script->sql->fault = sql.data + fault;
		return r;
	}
	text->offset = end + 1;
	locate_body(script, &statement);
	/* A script may run within a statement of another one. */
	bool was_own = script->sql->rules.is_own;
	script->sql->rules.is_own = is_in_own_module(script);
	r = statement.kind == ORMA_PERFETTO_NONE ? start(script, sql, reterr)
						 : carry_out(script, &statement, reterr);
	script->sql->rules.is_own = was_own;
	return r;
}

int orma_sql_script_next(struct orma_sql_script *script, struct orma_error *reterr)
{
	script->fault_line = script->fault_column = 0;
	end_statement(script);
	while (script->depth > 0) {
		struct script_text *text = &script->texts[script->depth - 1];
		struct orma_token first = orma_sql_token_next(text->sql, text->offset);
		if (first.kind == ORMA_TOKEN_END) {
			pop_text(script, false);
			continue;
		}
		size_t end = SIZE_MAX;
		script->begin = first.offset;
		script->is_placed = false;
		int r = find_end(script, first.offset, &end, reterr);
		if (r == 0 && end == first.offset)
			text->offset = end + 1;
		else if (r == 0)
			r = run_statement(script, end, reterr);
		if (r < 0) {
			if (r == -EINVAL && end != SIZE_MAX && !script->is_placed)
				point_at_fault(script, reterr);
			return fail(script, r, reterr);
		}
		if (r > 0)
			return r;
	}
	return 0;
}

int orma_sql_script_step(struct orma_sql_script *script, struct orma_error *reterr)
{
	if (!script->statement)
		return 0;
	int r = step(script, reterr);
	if (r >= 0)
		return r;
	if (r == -EINVAL)
		point_at_fault(script, reterr);
	return fail(script, r, reterr);
}

int orma_sql_execute(struct orma_sql *sql, struct orma_str text, struct orma_error *reterr)
{
	struct orma_sql_script *script = NULL;
	int r = orma_sql_script_new(sql, text, &script);
	while (r == 0) {
		r = orma_sql_script_next(script, reterr);
		if (r == 0)
			break;
		while (r > 0)
			r = orma_sql_script_step(script, reterr);
	}
	orma_sql_script_free(script);
	return r;
}
