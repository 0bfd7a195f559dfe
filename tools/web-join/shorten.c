/* SPDX-License-Identifier: Apache-2.0
 * shorten.c - a script's names become one or two letters, which makes it a quarter smaller. Commas and semicolons before a closing
 * bracket go as well.
 *
 * Names at the top have two letters, the ones that are used most first. Names below have one, in the order in which a unit (js_script.h)
 * uses them, so that the units look alike to the packer. Properties keep their names: others know them.
 *
 * A name is declared in a region: from a function's parameters to the end of its body, or in a block. Outside of its regions it
 * is the browser's, and stays. A region never ends too early. It may end too late: that of an arrow function without braces is
 * the bracket around it, so that there no name of the browser's may be used that the function uses for its own. A name at the top
 * has one short name everywhere, also where another declaration hides it.
 */
#include "shorten.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "js_script.h"

/* The numbers of short names: first those of one letter. */
enum {
	LETTERS = 52,
	SHORT_COUNT = LETTERS + LETTERS * LETTERS,
	SHORT_BYTES = 3,
	TABLE_SLOTS = 1 << 14
};

struct name {
	struct orma_str text;
	uint32_t uses;
	uint32_t unit;   /* the last unit that gave it the local short name */
	uint32_t number; /* the short name's; JS_NONE = it has none yet */
	bool is_top;     /* declared at the top */
	bool stays;      /* somewhere, it is the browser's or a keyword */
};

struct shorter {
	struct js_script script;
	uint32_t *names;  /* by token; JS_NONE = it is no variable */
	bool *are_local;  /* by token: it is in a region of its name */
	struct name *all; /* by number, in the order of their first use */
	uint32_t *slots;  /* a hash table of the numbers of names and 1, or 0 */
	uint32_t name_count;
	uint32_t local_end; /* behind the numbers of short names that those at the top have */
};

/* --- names ------------------------------------------------------------------------------------ */

/* Finds a name, or the place for it. */
static uint32_t *find_slot(const struct shorter *shorter, struct orma_str text)
{
	uint32_t hash = 2166136261U;
	for (size_t i = 0; i < text.size; i++)
		hash = (hash ^ (unsigned char)text.data[i]) * 16777619U;
	for (;; hash++) {
		uint32_t *slot = &shorter->slots[hash % TABLE_SLOTS];
		if (*slot == 0 || orma_base_str_is_equal(shorter->all[*slot - 1].text, text))
			return slot;
	}
}

static bool collect_names(struct shorter *shorter)
{
	const struct js_script *script = &shorter->script;
	for (uint32_t i = 0; i < script->count; i++) {
		const struct js_script_token *token = &script->tokens[i];
		shorter->names[i] = JS_NONE;
		if (token->role != JS_VARIABLE && token->role != JS_SHORTHAND)
			continue;
		uint32_t *slot = find_slot(shorter, token->text);
		if (*slot == 0) {
			if (shorter->name_count == TABLE_SLOTS / 2)
				return false;
			shorter->all[shorter->name_count] = (struct name){
				.text = token->text, .unit = JS_NONE, .number = JS_NONE};
			*slot = ++shorter->name_count;
		}
		shorter->names[i] = *slot - 1;
		shorter->all[*slot - 1].uses++;
	}
	return true;
}

/* --- declarations ----------------------------------------------------------------------------- */

static bool is_sign(const struct shorter *shorter, uint32_t idx, const char *text)
{
	return js_script_is(&shorter->script, idx, text);
}

static bool is_arrow(const struct shorter *shorter, uint32_t idx)
{
	return is_sign(shorter, idx, "=") && is_sign(shorter, idx + 1, ">");
}

/* The end of what encloses a token. */
static uint32_t end_around(const struct shorter *shorter, uint32_t idx)
{
	const struct js_script_token *tokens = shorter->script.tokens;
	uint32_t open = tokens[idx].enclosing;
	return open == JS_NONE ? shorter->script.count : tokens[open].match;
}

/* Declares the name that is this token until `end`. */
static void declare(struct shorter *shorter, uint32_t idx, uint32_t from, uint32_t end)
{
	const struct js_script *script = &shorter->script;
	uint32_t name = shorter->names[idx];
	if (name == JS_NONE)
		return;
	for (uint32_t i = from; i < end && script->tokens[i].unit == script->tokens[idx].unit; i++)
		if (shorter->names[i] == name)
			shorter->are_local[i] = true;
}

/* Returns the end of a value: the comma, semicolon or bracket behind it. */
static uint32_t skip_value(const struct shorter *shorter, uint32_t idx)
{
	const struct js_script_token *tokens = shorter->script.tokens;
	uint32_t end = end_around(shorter, idx), open = tokens[idx].enclosing;
	for (; idx < end; idx++)
		if (tokens[idx].enclosing == open &&
		    (is_sign(shorter, idx, ",") || is_sign(shorter, idx, ";")))
			break;
	return idx;
}

/* Declares the names in a list of names and patterns. `from` and `end` are their region; JS_NONE = the top. */
static void declare_list(struct shorter *shorter, uint32_t idx, uint32_t behind, uint32_t from,
			 uint32_t end)
{
	uint32_t open = shorter->script.tokens[idx].enclosing;
	while (idx < behind) {
		const struct js_script_token *token = &shorter->script.tokens[idx];
		if (token->enclosing == open &&
		    (is_sign(shorter, idx, ";") || is_sign(shorter, idx, "of") ||
		     is_sign(shorter, idx, "in")))
			return;
		if (is_sign(shorter, idx, "=")) {
			idx = skip_value(shorter, idx);
			continue;
		}
		if (from == JS_NONE && shorter->names[idx] != JS_NONE)
			shorter->all[shorter->names[idx]].is_top = true;
		else if (from != JS_NONE)
			declare(shorter, idx, from, end);
		idx++;
	}
}

/* `const`, `let`, `function` or `class` at idx. */
static void declare_statement(struct shorter *shorter, uint32_t idx, bool is_list)
{
	const struct js_script_token *tokens = shorter->script.tokens;
	uint32_t open = tokens[idx].enclosing, from = open, end = end_around(shorter, idx);
	/* A name in the head of a loop is known until the loop ends. */
	if (open != JS_NONE && is_list && is_sign(shorter, open, "(")) {
		uint32_t body = tokens[open].match + 1;
		bool is_block = is_sign(shorter, body, "{");
		end = is_block ? tokens[body].match : end_around(shorter, open);
	}
	uint32_t behind = is_list ? end_around(shorter, idx) : idx + 2;
	declare_list(shorter, idx + 1, behind, from, end);
}

/* The bracket at idx, if parameters are in it. */
static void declare_parameters(struct shorter *shorter, uint32_t idx)
{
	const struct js_script_token *tokens = shorter->script.tokens;
	uint32_t behind = tokens[idx].match + 1, open = tokens[idx].enclosing;
	bool has_arrow = is_arrow(shorter, behind);
	uint32_t body = has_arrow ? behind + 2 : behind;
	bool is_block = is_sign(shorter, body, "{");
	bool is_method = open != JS_NONE &&
			 (tokens[open].role == JS_CLASS || tokens[open].role == JS_OBJECT);
	bool is_function = is_sign(shorter, idx - 1, "function") ||
			   is_sign(shorter, idx - 2, "function") ||
			   is_sign(shorter, idx - 1, "catch");
	if (has_arrow || (is_block && (is_method || is_function)))
		declare_list(shorter, idx + 1, behind - 1, idx,
			     is_block ? tokens[body].match : end_around(shorter, idx));
}

static void declare_names(struct shorter *shorter)
{
	for (uint32_t i = 0; i < shorter->script.count; i++) {
		if (is_sign(shorter, i, "const") || is_sign(shorter, i, "let"))
			declare_statement(shorter, i, true);
		else if ((is_sign(shorter, i, "function") || is_sign(shorter, i, "class")) &&
			 shorter->names[i + 1] != JS_NONE)
			declare_statement(shorter, i, false);
		else if (is_sign(shorter, i, "("))
			declare_parameters(shorter, i);
		else if (shorter->names[i] != JS_NONE && is_arrow(shorter, i + 1))
			declare(shorter, i, i, end_around(shorter, i));
	}
}

/* --- short names ------------------------------------------------------------------------------ */

static struct orma_str short_name(uint32_t number, char text[SHORT_BYTES])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t size = 0;
	if (number >= LETTERS)
		text[size++] = letters[(number - LETTERS) / LETTERS];
	text[size++] = letters[(number >= LETTERS ? number - LETTERS : number) % LETTERS];
	return (struct orma_str){text, size};
}

/* Returns the next number at `number` or behind whose short name means nothing else. */
static uint32_t next_free(const struct shorter *shorter, uint32_t number)
{
	for (; number < SHORT_COUNT; number++) {
		char text[SHORT_BYTES];
		struct orma_str name = short_name(number, text);
		uint32_t slot = *find_slot(shorter, name);
		bool is_keyword = orma_base_str_is(name, "do") || orma_base_str_is(name, "if") ||
				  orma_base_str_is(name, "in");
		if (!is_keyword && (slot == 0 || !shorter->all[slot - 1].stays))
			break;
	}
	return number;
}

/* The most used first; else in the order of their first use. */
static int compare_uses(const void *a_ptr, const void *b_ptr)
{
	const struct name *a = *(const struct name *const *)a_ptr,
			  *b = *(const struct name *const *)b_ptr;
	if (a->uses != b->uses)
		return a->uses > b->uses ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Gives those at the top their short names. */
static bool shorten_top(struct shorter *shorter)
{
	struct name **sorted =
		orma_base_alloc_array((size_t)shorter->name_count + 1, sizeof(struct name *));
	uint32_t count = 0, number = LETTERS;
	if (!sorted)
		return false;
	for (uint32_t i = 0; i < shorter->name_count; i++)
		if (shorter->all[i].is_top)
			sorted[count++] = &shorter->all[i];
	qsort(sorted, count, sizeof(*sorted), compare_uses);
	for (uint32_t i = 0; i < count; i++) {
		sorted[i]->number = number = next_free(shorter, number);
		number++;
	}
	shorter->local_end = number;
	orma_base_free(sorted);
	return number < SHORT_COUNT;
}

static bool append_name(struct shorter *shorter, uint32_t idx, uint32_t *number,
			struct orma_buf *ret)
{
	const struct js_script_token *token = &shorter->script.tokens[idx];
	struct name *name = &shorter->all[shorter->names[idx]];
	char text[SHORT_BYTES];
	if (!name->is_top && name->unit != token->unit) {
		name->unit = token->unit;
		*number = next_free(shorter, *number);
		if (*number == LETTERS)
			*number = next_free(shorter, shorter->local_end);
		name->number = (*number)++;
	}
	struct orma_str to = short_name(name->number, text);
	return name->number < SHORT_COUNT &&
	       (token->role != JS_SHORTHAND ||
		(orma_base_buf_append(ret, token->text.data, token->text.size) == 0 &&
		 orma_base_buf_append(ret, ":", 1) == 0)) &&
	       orma_base_buf_append(ret, to.data, to.size) == 0;
}

static bool is_own(const struct shorter *shorter, uint32_t idx)
{
	uint32_t name = shorter->names[idx];
	return name != JS_NONE && (shorter->all[name].is_top || shorter->are_local[idx]);
}

/* Whether a script means the same without this comma or semicolon, which is the last thing in a bracket. */
static bool is_spare(const struct shorter *shorter, uint32_t idx)
{
	static const char *const heads[] = {"if", "for", "while", "await", "with"};
	bool ends_brace = is_sign(shorter, idx + 1, "}");
	if (is_sign(shorter, idx, ","))
		return ends_brace || is_sign(shorter, idx + 1, ")");
	if (!is_sign(shorter, idx, ";") || !ends_brace || is_sign(shorter, idx - 1, "else"))
		return false;
	/* After a head, it is the statement. */
	uint32_t head = is_sign(shorter, idx - 1, ")") ? shorter->script.tokens[idx - 1].match - 1
						       : JS_NONE;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (is_sign(shorter, head, heads[i]))
			return false;
	return true;
}

static bool append_script(struct shorter *shorter, struct orma_str text, struct orma_buf *ret)
{
	const struct js_script *script = &shorter->script;
	const char *kept = text.data;
	uint32_t unit = JS_NONE, number = 0;
	for (uint32_t i = 0; i < script->count; i++) {
		struct js_script_token token = script->tokens[i];
		bool spare = is_spare(shorter, i);
		if (!is_own(shorter, i) && !spare)
			continue;
		if (token.unit != unit)
			number = 0;
		unit = token.unit;
		if (orma_base_buf_append(ret, kept, (size_t)(token.text.data - kept)) < 0 ||
		    (!spare && !append_name(shorter, i, &number, ret)))
			return false;
		kept = token.text.data + token.text.size;
	}
	return orma_base_buf_append(ret, kept, (size_t)(text.data + text.size - kept)) == 0;
}

bool shorten_names(struct orma_str script, struct orma_buf *ret)
{
	struct shorter shorter = {.name_count = 0};
	bool is_done = js_script_read(&shorter.script, script);
	size_t count = (size_t)shorter.script.count + 1;
	shorter.names = orma_base_alloc_array(count, sizeof(*shorter.names));
	shorter.are_local = orma_base_alloc_array(count, sizeof(*shorter.are_local));
	shorter.all = orma_base_alloc_array(TABLE_SLOTS, sizeof(*shorter.all));
	shorter.slots = orma_base_alloc_array(TABLE_SLOTS, sizeof(*shorter.slots));
	is_done = is_done && shorter.names && shorter.are_local && shorter.all && shorter.slots &&
		  collect_names(&shorter);
	if (is_done) {
		declare_names(&shorter);
		for (uint32_t i = 0; i < shorter.script.count; i++)
			if (shorter.names[i] != JS_NONE && !is_own(&shorter, i))
				shorter.all[shorter.names[i]].stays = true;
		is_done = shorten_top(&shorter) && append_script(&shorter, script, ret);
	}
	if (!is_done)
		fprintf(stderr, "web: the names cannot be shortened: memory ran out, or there are "
				"too many\n");
	orma_base_free(shorter.names);
	orma_base_free(shorter.are_local);
	orma_base_free(shorter.all);
	orma_base_free(shorter.slots);
	js_script_done(&shorter.script);
	return is_done;
}
