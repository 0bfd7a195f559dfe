/* SPDX-License-Identifier: Apache-2.0
 * js_script.c - tells variables from properties without parsing expressions.
 *
 * A name is a property behind a dot, and where a member of an object, of a pattern or of a class begins. So it must be known what
 * each brace opens, which the token before it says: statements follow `)`, `=>`, `;`, other braces and words such as `else`; a class
 * follows its head; all else is an object or a pattern.
 *
 * A unit is a statement at the top, or a member of a class there. Two units share no names but those at the top.
 */
#include "js_script.h"

#include "base/alloc.h"

enum { TOKENS_FIRST = 4096 };

struct reader {
	struct js_script *script;
	uint32_t capacity;
	uint32_t open;      /* the bracket that is open, or JS_NONE */
	bool is_class_head; /* between `class` and its brace */
	bool begins_member; /* the next token is the first of a member, or follows a word such as `async` there */
	bool is_label;      /* between `case` and its colon */
	bool follows_label; /* the last token was that colon */
};

bool js_script_is(const struct js_script *script, uint32_t idx, const char *text)
{
	if (idx >= script->count)
		return false;
	const struct js_script_token *token = &script->tokens[idx];
	return (token->kind == JS_SIGN || (token->kind == JS_NAME && token->role != JS_PROPERTY)) &&
	       orma_base_str_is(token->text, text);
}

static bool is_one_of(const struct js_script *script, uint32_t idx, const char *const *words)
{
	for (; *words; words++)
		if (js_script_is(script, idx, *words))
			return true;
	return false;
}

static enum js_role role_of_opened(const struct reader *reader)
{
	return reader->open == JS_NONE ? JS_BLOCK : reader->script->tokens[reader->open].role;
}

static enum js_role role_of_open(const struct reader *reader)
{
	static const char *const before_block[] = {")",   ">",     ";",       "{",  "}", "else",
						   "try", "catch", "finally", "do", NULL};
	const struct js_script *script = reader->script;
	if (reader->is_class_head)
		return JS_CLASS;
	if (script->count == 0 || reader->follows_label)
		return JS_BLOCK;
	return is_one_of(script, script->count - 1, before_block) ? JS_BLOCK : JS_OBJECT;
}

static bool is_behind_dot(const struct js_script *script)
{
	uint32_t last = script->count - 1;
	if (js_script_is(script, last, "#"))
		return true;
	return js_script_is(script, last, ".") && !js_script_is(script, last - 1, ".");
}

/* Returns the role of a name at the beginning of a member, which depends on the text behind it. */
static enum js_role role_of_member(struct reader *reader, bool is_class, const struct js_scan *scan)
{
	struct js_scan ahead = *scan;
	struct js_token next = js_next(&ahead);
	bool is_name = next.kind == JS_NAME || next.kind == JS_STRING || js_is(&next, "[") ||
		       js_is(&next, "*");
	/* `async`, `get`, `set` or `static`: the name follows. */
	if (is_name)
		return JS_OTHER;
	reader->begins_member = false;
	return !is_class && (js_is(&next, ",") || js_is(&next, "}") || js_is(&next, "="))
		       ? JS_SHORTHAND
		       : JS_PROPERTY;
}

static enum js_role role_of_name(struct reader *reader, const struct js_scan *scan)
{
	const struct js_script *script = reader->script;
	enum js_role open = role_of_opened(reader);
	if (script->count > 0 && is_behind_dot(script))
		return JS_PROPERTY;
	if (reader->begins_member && (open == JS_CLASS || open == JS_OBJECT))
		return role_of_member(reader, open == JS_CLASS, scan);
	return JS_VARIABLE;
}

static bool add(struct reader *reader, struct js_script_token token)
{
	struct js_script *script = reader->script;
	if (script->count == reader->capacity) {
		uint32_t capacity = reader->capacity ? reader->capacity * 2 : TOKENS_FIRST;
		void *tokens =
			orma_base_realloc_array(script->tokens, capacity, sizeof(*script->tokens));
		if (!tokens)
			return false;
		script->tokens = tokens;
		reader->capacity = capacity;
	}
	script->tokens[script->count++] = token;
	return true;
}

/* Whether the token begins a statement at the top, or a member of a class there. */
static bool begins_unit(const struct reader *reader, bool begins_member)
{
	const struct js_script *script = reader->script;
	static const char *const words[] = {"const", "let", "function", "class", "async", NULL};
	uint32_t last = script->count - 1;
	if (reader->open == JS_NONE)
		return js_script_is(script, last - 1, ";") || is_one_of(script, last, words);
	const struct js_script_token *open = &script->tokens[reader->open];
	return open->role == JS_CLASS && open->enclosing == JS_NONE && begins_member;
}

static bool is_closing(const struct js_token *token)
{
	return js_is(token, "}") || js_is(token, "]") || js_is(token, ")") ||
	       (token->kind == JS_TEMPLATE && token->text.data[0] == '}');
}

static bool is_opening(const struct js_token *token)
{
	return js_is(token, "{") || js_is(token, "[") || js_is(token, "(") ||
	       (token->kind == JS_TEMPLATE && token->text.data[token->text.size - 1] == '{');
}

/* Notes what the token changes for those behind it. */
static void go_on(struct reader *reader, const struct js_token *token, enum js_role role)
{
	enum js_role open = role_of_opened(reader);
	bool is_word = token->kind == JS_NAME && role == JS_VARIABLE;
	reader->follows_label = reader->is_label && js_is(token, ":");
	if (is_word && (js_is(token, "case") || js_is(token, "default")))
		reader->is_label = true;
	else if (reader->follows_label)
		reader->is_label = false;
	if (is_word && js_is(token, "class"))
		reader->is_class_head = true;
	else if (role == JS_CLASS)
		reader->is_class_head = false;
	/* Words such as `async` and a star are before the name. */
	bool goes_on = reader->begins_member && role == JS_OTHER &&
		       (token->kind == JS_NAME || js_is(token, "*"));
	if (open == JS_CLASS)
		reader->begins_member =
			goes_on || js_is(token, "{") || js_is(token, "}") || js_is(token, ";");
	else
		reader->begins_member =
			open == JS_OBJECT && (goes_on || js_is(token, "{") || js_is(token, ","));
}

static bool take(struct reader *reader, const struct js_token *token, const struct js_scan *scan)
{
	struct js_script *script = reader->script;
	struct js_script_token added = {token->text, token->kind,  JS_OTHER,
					JS_NONE,     reader->open, 0};
	bool closes = is_closing(token), opens = is_opening(token),
	     begins_member = reader->begins_member;
	if (closes) {
		added.match = reader->open;
		added.enclosing = script->tokens[reader->open].enclosing;
		script->tokens[reader->open].match = script->count;
		reader->open = added.enclosing;
	}
	if (token->kind == JS_NAME)
		added.role = role_of_name(reader, scan);
	else if (js_is(token, "{"))
		added.role = role_of_open(reader);
	else if (js_is(token, "(") || js_is(token, "["))
		added.role = JS_BLOCK;
	if (!add(reader, added))
		return false;
	if (!closes && begins_unit(reader, begins_member))
		script->unit_count++;
	script->tokens[script->count - 1].unit = script->unit_count;
	if (opens)
		reader->open = script->count - 1;
	go_on(reader, token, added.role);
	return true;
}

bool js_script_read(struct js_script *script, struct orma_str text)
{
	struct js_scan scan = {.at = text.data, .end = text.data + text.size, .line = 1};
	struct reader reader = {.script = script, .open = JS_NONE};
	*script = (struct js_script){0};
	for (;;) {
		struct js_token token = js_next(&scan);
		if (token.kind == JS_END && reader.open == JS_NONE) {
			script->unit_count++;
			return true;
		}
		if (token.kind == JS_END || token.kind == JS_DAMAGED ||
		    !take(&reader, &token, &scan))
			return false;
	}
}

void js_script_done(struct js_script *script)
{
	orma_base_free(script->tokens);
	*script = (struct js_script){0};
}
