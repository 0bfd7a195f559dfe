/* SPDX-License-Identifier: Apache-2.0
 * perfetto_function.c - a body is prepared at the first call, since most functions of a module are never called, and kept
 * for the next one. A call within a call of the same function prepares another one.
 */
#include "sql/perfetto_function.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/perfetto_define.h"
#include "sql/sql_token.h"
#include "sql/sqlite_error.h"

/* A call within a call takes about 2 KB of the stack. */
enum { CALL_DEPTH_MAX = 1000, RESULTS_MAX = 10 << 20 };

static void drop_content(struct orma_sql_function *function)
{
	sqlite3_finalize(ORMA_TAKE(function->idle));
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&function->results, &position)))
		sqlite3_value_free(slot->value);
	orma_base_map_done(&function->results);
	orma_base_arena_done(&function->arena);
}

void orma_sql_function_free(void *ctx)
{
	struct orma_sql_function *function = ctx;
	if (!function)
		return;
	if (function->previous)
		function->previous->next = function->next;
	else if (function->sql->functions == function)
		function->sql->functions = function->next;
	if (function->next)
		function->next->previous = function->previous;
	drop_content(function);
	orma_base_free(function);
}

void orma_sql_functions_release(struct orma_sql *sql)
{
	for (struct orma_sql_function *function = sql->functions; function;
	     function = function->next) {
		sqlite3_finalize(function->idle);
		function->idle = NULL;
	}
}

static int copy_columns(struct orma_arena *arena, struct orma_perfetto_column **columns,
			size_t count)
{
	if (count == 0)
		return 0;
	struct orma_perfetto_column *copy =
		orma_base_arena_memdup(arena, *columns, count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		copy[i].place = NULL;
		copy[i].name = orma_base_arena_strdup(arena, orma_base_str(copy[i].name));
		copy[i].type_name = orma_base_arena_strdup(
			arena, orma_base_str(copy[i].type_name ? copy[i].type_name : ""));
		if (!copy[i].name || !copy[i].type_name)
			return -ENOMEM;
	}
	*columns = copy;
	return 0;
}

/* `select g($x)`, or `select * from g($x)`. */
static int write_delegation(const struct orma_perfetto_statement *prototype, size_t arg_count,
			    struct orma_buf *ret)
{
	int r = orma_base_buf_printf(ret, "select %s%s(", prototype->returns_table ? "* from " : "",
				     prototype->delegate);
	for (size_t i = 0; r == 0 && i < arg_count; i++) {
		if (prototype->is_variadic)
			r = orma_base_buf_printf(ret, "%s?%zu", i > 0 ? ", " : "", i + 1);
		else
			r = orma_base_buf_printf(ret, "%s$%s", i > 0 ? ", " : "",
						 prototype->columns[i].name);
	}
	return r == 0 ? orma_base_buf_append(ret, ")", 1) : r;
}

static int copy_prototype(struct orma_sql_function *function,
			  const struct orma_perfetto_statement *prototype)
{
	struct orma_arena *arena = &function->arena;
	struct orma_perfetto_statement *own = &function->prototype;
	*own = *prototype;
	own->name_place = own->table_place = NULL;
	own->name = orma_base_arena_strdup(arena, orma_base_str(prototype->name));
	int r = own->name ? copy_columns(arena, &own->columns, own->column_count) : -ENOMEM;
	if (r == 0)
		r = copy_columns(arena, &own->result_columns, own->result_column_count);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf delegation = {0};
	if (r == 0 && prototype->delegate) {
		own->delegate = orma_base_arena_strdup(arena, orma_base_str(prototype->delegate));
		r = own->delegate ? 0 : -ENOMEM;
		if (r == 0 && !own->is_variadic)
			r = write_delegation(own, own->column_count, &delegation);
		own->body = (struct orma_str){(const char *)delegation.data, delegation.size};
	}
	if (r < 0)
		return r;
	function->body =
		(struct orma_str){orma_base_arena_strdup(arena, own->body), own->body.size};
	function->parameters = orma_base_arena_alloc(arena, (own->column_count + 1) * sizeof(int));
	return function->body.data && function->parameters ? 0 : -ENOMEM;
}

int orma_sql_function_new(struct orma_sql *sql, const struct orma_perfetto_statement *prototype,
			  struct orma_sql_function **ret)
{
	struct orma_sql_function *function = orma_base_zalloc(sizeof(*function));
	if (!function)
		return -ENOMEM;
	function->sql = sql;
	int r = copy_prototype(function, prototype);
	if (r < 0) {
		orma_sql_function_free(function);
		return r;
	}
	function->next = sql->functions;
	if (sql->functions)
		sql->functions->previous = function;
	sql->functions = function;
	*ret = function;
	return 0;
}

static bool has_type(sqlite3_value *value, enum orma_perfetto_type type)
{
	int actual = sqlite3_value_type(value);
	if (actual == SQLITE_NULL)
		return true;
	switch (type) {
	case ORMA_PERFETTO_LONG:
	case ORMA_PERFETTO_BOOL:
		return actual == SQLITE_INTEGER;
	case ORMA_PERFETTO_DOUBLE:
		return actual == SQLITE_FLOAT || actual == SQLITE_INTEGER;
	case ORMA_PERFETTO_STRING:
		return actual == SQLITE_TEXT;
	case ORMA_PERFETTO_BYTES:
		return actual == SQLITE_BLOB;
	default:
		return true;
	}
}

static const char *type_words(int type)
{
	switch (type) {
	case SQLITE_INTEGER:
		return "LONG";
	case SQLITE_FLOAT:
		return "DOUBLE";
	case SQLITE_TEXT:
		return "STRING";
	default:
		return "BYTES";
	}
}

static int check_types(const struct orma_sql_function *function, int argc, sqlite3_value **argv,
		       struct orma_error *reterr)
{
	const struct orma_perfetto_statement *prototype = &function->prototype;
	for (int i = 0; i < argc && prototype->column_count > 0; i++) {
		size_t at = ORMA_MIN((size_t)i, prototype->column_count - 1);
		const struct orma_perfetto_column *column = &prototype->columns[at];
		if (!has_type(argv[i], column->type))
			return orma_base_error_set(reterr, -EINVAL,
						   "%s: argument %d, %s, does not have expected "
						   "type: expected %s, actual %s",
						   prototype->name, i + 1, column->name,
						   column->type_name,
						   type_words(sqlite3_value_type(argv[i])));
	}
	return 0;
}

/* Finds the number of each `$name`; a name that is no argument is a fault. */
static int find_parameters(struct orma_sql_function *function, sqlite3_stmt *statement,
			   struct orma_error *reterr)
{
	const struct orma_perfetto_statement *prototype = &function->prototype;
	if (prototype->is_variadic)
		return 0;
	for (int n = 1; n <= sqlite3_bind_parameter_count(statement); n++) {
		const char *name = sqlite3_bind_parameter_name(statement, n);
		size_t i = 0;
		while (name && i < prototype->column_count &&
		       strcasecmp(name + 1, prototype->columns[i].name) != 0)
			i++;
		if (!name || i == prototype->column_count)
			return orma_base_error_set(reterr, -EINVAL,
						   "the body uses %s, which is not an argument",
						   name ? name : "?");
		function->parameters[i] = n;
	}
	return 0;
}

/* The fault is in the text that defined the function; it is called somewhere else. */
static void say_where(struct orma_sql_function *function, struct orma_str body,
		      struct orma_error *reterr)
{
	const struct orma_perfetto_statement *prototype = &function->prototype;
	const char *fault = function->sql->fault;
	unsigned line, column;
	if (!fault || fault < body.data || fault > body.data + body.size ||
	    prototype->body_line == 0) {
		orma_base_error_prefix(reterr, "%s", prototype->name);
		return;
	}
	orma_sql_token_position(body, (size_t)(fault - body.data), &line, &column);
	column += line == 1 ? prototype->body_column - 1 : 0;
	orma_base_error_prefix(reterr, "%s, line %u, column %u of its definition", prototype->name,
			       line + prototype->body_line - 1, column);
}

static int prepare_body(struct orma_sql_function *function, int argc, sqlite3_stmt **ret,
			struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf delegation = {0};
	struct orma_str body = function->body;
	if (function->prototype.is_variadic && function->prototype.delegate) {
		int r = write_delegation(&function->prototype, (size_t)argc, &delegation);
		if (r < 0)
			return r;
		body = (struct orma_str){(const char *)delegation.data, delegation.size};
	}
	sqlite3_stmt *statement = NULL;
	int r = orma_sql_prepare(function->sql, body, &statement, reterr);
	if (r == 0 && !statement)
		r = orma_base_error_set(reterr, -EINVAL, "the body is empty");
	if (r == 0)
		r = find_parameters(function, statement, reterr);
	if (r == -EINVAL)
		say_where(function, body, reterr);
	if (r < 0) {
		sqlite3_finalize(statement);
		return r;
	}
	*ret = statement;
	return 0;
}

int orma_sql_function_take(struct orma_sql_function *function, int argc, sqlite3_value **argv,
			   sqlite3_stmt **ret, struct orma_error *reterr)
{
	if (function->sql->call_depth >= CALL_DEPTH_MAX)
		return orma_base_error_set(reterr, -EINVAL,
					   "%s: functions call each other too deeply",
					   function->prototype.name);
	/* SQLite asks this after many steps of one statement, and recursive functions are many short statements. */
	if (orma_sql_is_interrupted(&function->sql->interrupt))
		return -ECANCELED;
	int r = check_types(function, argc, argv, reterr);
	if (r < 0)
		return r;
	sqlite3_stmt *statement = ORMA_TAKE(function->idle);
	if (!statement)
		r = prepare_body(function, argc, &statement, reterr);
	if (r < 0)
		return r;
	for (int i = 0; i < argc; i++) {
		int n = function->prototype.is_variadic ? i + 1 : function->parameters[i];
		if (n > 0 && sqlite3_bind_value(statement, n, argv[i]) != SQLITE_OK)
			r = -ENOMEM;
	}
	if (r < 0) {
		sqlite3_finalize(statement);
		return r;
	}
	function->sql->call_depth++;
	function->running++;
	*ret = statement;
	return 0;
}

void orma_sql_function_put(struct orma_sql_function *function, sqlite3_stmt *statement)
{
	function->sql->call_depth--;
	function->running--;
	sqlite3_reset(statement);
	if (function->idle || function->prototype.is_variadic) {
		sqlite3_finalize(statement);
		return;
	}
	sqlite3_clear_bindings(statement);
	function->idle = statement;
}

/* Runs the body, and gives its only value to SQLite. */
static void evaluate(struct orma_sql_function *function, sqlite3_context *context,
		     sqlite3_stmt *statement)
{
	struct orma_error error = {0};
	int code = sqlite3_step(statement);
	if (code == SQLITE_ROW && sqlite3_column_count(statement) != 1) {
		orma_base_error_set(&error, -EINVAL, "%s: the body has more than one column",
				    function->prototype.name);
	} else if (code == SQLITE_ROW) {
		sqlite3_result_value(context, sqlite3_column_value(statement, 0));
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW)
			orma_base_error_set(
				&error, -EINVAL,
				"%s: multiple values were returned when executing function body",
				function->prototype.name);
	}
	int r = code == SQLITE_DONE ? 0 : error.code;
	if (code != SQLITE_DONE && code != SQLITE_ROW)
		r = orma_sql_describe(function->sql, code, &error);
	if (r < 0)
		orma_sql_result_refuse(context, r, &error);
}

static bool use_kept_result(const struct orma_sql_function *function, sqlite3_context *context,
			    sqlite3_value **argv)
{
	sqlite3_value *kept =
		orma_base_map_get(&function->results, (uint64_t)sqlite3_value_int64(argv[0]));
	if (kept)
		sqlite3_result_value(context, kept);
	return kept != NULL;
}

/* Evaluates the body and keeps its value. */
static void keep_result(struct orma_sql_function *function, sqlite3_value **argv,
			sqlite3_stmt *statement)
{
	if (function->results.count >= RESULTS_MAX || sqlite3_step(statement) != SQLITE_ROW) {
		sqlite3_reset(statement);
		return;
	}
	sqlite3_value *copy = sqlite3_value_dup(sqlite3_column_value(statement, 0));
	sqlite3_reset(statement);
	if (copy &&
	    orma_base_map_put(&function->results, (uint64_t)sqlite3_value_int64(argv[0]), copy) < 0)
		sqlite3_value_free(copy);
}

static void call(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_sql_function *function = sqlite3_user_data(context);
	struct orma_error error = {0};
	sqlite3_stmt *statement;
	bool is_memoized =
		function->is_memoized && argc == 1 && sqlite3_value_type(argv[0]) == SQLITE_INTEGER;
	if (is_memoized && use_kept_result(function, context, argv))
		return;
	int r = orma_sql_function_take(function, argc, argv, &statement, &error);
	if (r < 0) {
		orma_sql_result_refuse(context, r, &error);
		return;
	}
	if (is_memoized)
		keep_result(function, argv, statement);
	if (!is_memoized || !use_kept_result(function, context, argv))
		evaluate(function, context, statement);
	orma_sql_function_put(function, statement);
}

static bool is_function(const struct orma_sql_function *function, const char *name, size_t args)
{
	return strcasecmp(function->prototype.name, name) == 0 &&
	       function->prototype.column_count == args && !function->prototype.returns_table;
}

static struct orma_sql_function *find_function(const struct orma_sql *sql, const char *name,
					       size_t args)
{
	struct orma_sql_function *function = sql->functions;
	while (function && !is_function(function, name, args))
		function = function->next;
	return function;
}

/* SQLite changes no function while a statement runs, and the statement that runs may be the one that replaces it. */
static int replace_content(struct orma_sql_function *function,
			   const struct orma_perfetto_statement *statement,
			   struct orma_error *reterr)
{
	struct orma_sql_function other = {.sql = function->sql};
	if (function->running > 0)
		return orma_base_error_set(reterr, -EINVAL,
					   "function %s cannot be replaced while it runs",
					   statement->name);
	int r = copy_prototype(&other, statement);
	if (r < 0) {
		drop_content(&other);
		return r;
	}
	drop_content(function);
	other.next = function->next;
	other.previous = function->previous;
	*function = other;
	return 0;
}

int orma_sql_function_memoize(struct orma_sql *sql, const char *name, struct orma_error *reterr)
{
	struct orma_sql_function *function = find_function(sql, name, 1);
	if (!function || function->prototype.columns[0].type != ORMA_PERFETTO_LONG)
		return orma_base_error_set(reterr, -EINVAL,
					   "experimental_memoize: there is no function %s with one "
					   "argument of type LONG",
					   name);
	function->is_memoized = true;
	return 0;
}

int orma_sql_create_function(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			     struct orma_error *reterr)
{
	struct orma_sql_function *function =
		find_function(sql, statement->name, statement->column_count);
	sql->fault = statement->name_place;
	if (function && !statement->replaces)
		return orma_base_error_set(reterr, -EINVAL, "function %s already exists",
					   statement->name);
	if (function && function->prototype.is_variadic == statement->is_variadic)
		return replace_content(function, statement, reterr);
	int r = orma_sql_function_new(sql, statement, &function);
	if (r < 0)
		return r;
	int args = statement->is_variadic ? -1 : (int)statement->column_count;
	/* This frees the function also when it fails. */
	int code = sqlite3_create_function_v2(sql->db, statement->name, args,
					      SQLITE_UTF8 | SQLITE_INNOCUOUS, function, call, NULL,
					      NULL, orma_sql_function_free);
	return code == SQLITE_OK ? 0 : orma_sql_describe(sql, code, reterr);
}
