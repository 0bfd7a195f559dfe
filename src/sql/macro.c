/* SPDX-License-Identifier: Apache-2.0
 * macro.c - texts are read from a stack: an expansion is pushed on it and read next, so macros in it are expanded too.
 *
 * Arguments are texts and are expanded where they were put. A macro that contains itself would never end, and one that
 * names its argument twice doubles it on each level, so the depth of the stack, the number of expansions, the texts that
 * they write and the size of the result have limits.
 */
#include "sql/macro.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/sql_token.h"

enum {
	DEPTH_MAX = 128,
	EXPANSIONS_MAX = 100000,
	RESULT_MAX_BYTES = 16 << 20,
	WRITTEN_MAX_BYTES = 32 << 20,
	ARGUMENTS_MAX = 64,
};

struct macro {
	struct orma_str name, body;
	struct orma_str *parameters;
	size_t parameter_count;
	char *text;         /* holds all of them */
	struct macro *next; /* another one with the same hash */
};

struct text_level {
	struct orma_buf owned;
	struct orma_str sql;
	size_t offset;
};

struct expansion {
	const struct orma_macro_set *set;
	struct text_level levels[DEPTH_MAX];
	size_t depth;
	size_t expansions;
	size_t written_bytes; /* by all levels so far */
	struct orma_buf *out;
	struct orma_macro_calls *calls;
	struct orma_error *reterr;
};

static uint64_t hash_name(struct orma_str name)
{
	uint64_t hash = ORMA_FNV1A_INIT;
	for (size_t i = 0; i < name.size; i++) {
		unsigned char c = (unsigned char)name.data[i];
		c = c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
		hash = orma_base_fnv1a(hash, &c, 1);
	}
	return hash;
}

static bool is_name(struct orma_str a, struct orma_str b)
{
	return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

static struct macro *find_macro(const struct orma_macro_set *set, struct orma_str name)
{
	struct macro *macro = orma_base_map_get(&set->by_name, hash_name(name));
	while (macro && !is_name(macro->name, name))
		macro = macro->next;
	return macro;
}

static void free_macro(struct macro *macro)
{
	if (!macro)
		return;
	orma_base_free(macro->parameters);
	orma_base_free(macro->text);
	orma_base_free(macro);
}

void orma_sql_macros_done(struct orma_macro_set *set)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&set->by_name, &position)))
		for (struct macro *macro = slot->value; macro;) {
			struct macro *next = macro->next;
			free_macro(macro);
			macro = next;
		}
	orma_base_map_done(&set->by_name);
}

static struct orma_str keep(char **at, struct orma_str text)
{
	struct orma_str kept = {*at, text.size};
	if (text.size > 0)
		memcpy(*at, text.data, text.size);
	*at += text.size;
	return kept;
}

static struct macro *new_macro(struct orma_str name, const struct orma_str *parameters,
			       size_t parameter_count, struct orma_str body)
{
	size_t size = name.size + body.size + 1;
	for (size_t i = 0; i < parameter_count; i++)
		size += parameters[i].size;
	struct macro *macro = orma_base_zalloc(sizeof(*macro));
	if (!macro)
		return NULL;
	macro->text = orma_base_alloc(size);
	macro->parameters = orma_base_alloc_array(parameter_count + 1, sizeof(*macro->parameters));
	if (!macro->text || !macro->parameters) {
		free_macro(macro);
		return NULL;
	}
	char *at = macro->text;
	macro->name = keep(&at, name);
	macro->body = keep(&at, body);
	for (size_t i = 0; i < parameter_count; i++)
		macro->parameters[i] = keep(&at, parameters[i]);
	macro->parameter_count = parameter_count;
	return macro;
}

int orma_sql_macros_add(struct orma_macro_set *set, struct orma_str name,
			const struct orma_str *parameters, size_t parameter_count,
			struct orma_str body, bool replaces)
{
	struct macro *old = find_macro(set, name);
	if (old && !replaces)
		return -EEXIST;
	struct macro *macro = new_macro(name, parameters, parameter_count, body);
	if (!macro)
		return -ENOMEM;
	if (old) {
		struct macro swapped = *old;
		macro->next = old->next;
		*old = *macro;
		*macro = swapped;
		free_macro(macro);
		return 0;
	}
	macro->next = orma_base_map_get(&set->by_name, hash_name(name));
	int r = orma_base_map_put(&set->by_name, hash_name(name), macro);
	if (r < 0)
		free_macro(macro);
	return r;
}

/*
 * Splits what is between parentheses at its commas. Returns how many parts there are, at most `max`, or -EINVAL. Blank
 * text has none.
 */
static int split(struct orma_str list, struct orma_str *ret, size_t max)
{
	size_t count = 0, begin = 0, offset = 0;
	if (orma_sql_token_trim(list).size == 0)
		return 0;
	for (;;) {
		struct orma_token next = orma_sql_token_next(list, offset);
		bool is_end = next.kind == ORMA_TOKEN_END;
		offset = orma_sql_token_end(&next);
		if (next.kind == ORMA_TOKEN_UNFINISHED)
			return -EINVAL;
		if (orma_sql_token_is_sign(&next, '(') &&
		    !orma_sql_token_skip_parentheses(list, &offset))
			return -EINVAL;
		if (!is_end && !orma_sql_token_is_sign(&next, ','))
			continue;
		if (count == max)
			return -EINVAL;
		ret[count++] = orma_sql_token_trim(
			(struct orma_str){list.data + begin, next.offset - begin});
		begin = offset;
		if (is_end)
			return (int)count;
	}
}

/* The parts of `(a, b)`. */
static int split_parenthesised(struct orma_str text, struct orma_str *ret, size_t max)
{
	if (text.size < 2 || text.data[0] != '(' || text.data[text.size - 1] != ')')
		return -EINVAL;
	return split((struct orma_str){text.data + 1, text.size - 2}, ret, max);
}

static int fail(struct expansion *expansion, struct orma_str name, const char *what)
{
	return orma_base_error_set(expansion->reterr, -EINVAL, "macro %.*s!: %s",
				   (int)ORMA_MIN(name.size, (size_t)100), name.data, what);
}

/* Appends a part of an expansion, unless all together are too long. */
static int append_part(struct expansion *expansion, struct orma_str name, struct orma_str part,
		       struct orma_buf *ret)
{
	if (expansion->written_bytes + ret->size + part.size > WRITTEN_MAX_BYTES)
		return fail(expansion, name, "its expansion is too long");
	return orma_base_buf_append(ret, part.data, part.size);
}

/* `__intrinsic_token_apply!(m, (a, b), (c, d))` is `m!(a, c), m!(b, d)`, with another joiner in its variants. */
static int apply(struct expansion *expansion, struct orma_str name, const struct orma_str *args,
		 size_t arg_count, struct orma_buf *ret)
{
	struct orma_str lists[2][ARGUMENTS_MAX];
	int counts[2] = {0, 0};
	bool joins_with_and = memmem(name.data, name.size, "_and", 4) != NULL;
	bool has_prefix = memmem(name.data, name.size, "_prefix", 7) != NULL;
	if (arg_count != 2 && arg_count != 3)
		return fail(expansion, name, "takes a macro and one or two lists");
	for (size_t i = 1; i < arg_count; i++) {
		counts[i - 1] = split_parenthesised(args[i], lists[i - 1], ARGUMENTS_MAX);
		if (counts[i - 1] < 0)
			return fail(expansion, name, "takes lists in parentheses");
	}
	int count = arg_count == 3 ? ORMA_MIN(counts[0], counts[1]) : counts[0], r = 0;
	for (int i = 0; r == 0 && i < count; i++) {
		if (i > 0 || has_prefix)
			r = orma_base_buf_append_str(ret, joins_with_and ? " AND " : ", ");
		if (r == 0)
			r = append_part(expansion, name, args[0], ret);
		if (r == 0)
			r = orma_base_buf_append_str(ret, "!(");
		if (r == 0)
			r = orma_base_buf_append(ret, lists[0][i].data, lists[0][i].size);
		if (r == 0 && arg_count == 3)
			r = orma_base_buf_append_str(ret, ", ");
		if (r == 0 && arg_count == 3)
			r = orma_base_buf_append(ret, lists[1][i].data, lists[1][i].size);
		if (r == 0)
			r = orma_base_buf_append_str(ret, ")");
	}
	return r;
}

static int substitute(struct expansion *expansion, const struct macro *macro,
		      const struct orma_str *args, struct orma_buf *ret)
{
	int r = 0;
	for (size_t offset = 0; r == 0;) {
		struct orma_token next = orma_sql_token_read(macro->body, offset);
		struct orma_str text = next.text;
		if (next.kind == ORMA_TOKEN_END)
			break;
		for (size_t i = 0; next.kind == ORMA_TOKEN_VARIABLE && i < macro->parameter_count;
		     i++)
			if (is_name((struct orma_str){next.text.data + 1, next.text.size - 1},
				    macro->parameters[i]))
				text = args[i];
		r = append_part(expansion, macro->name, text, ret);
		offset = orma_sql_token_end(&next);
	}
	return r;
}

/*
 * As Perfetto does, text that is a literal when quotes are put around it stays as it is: in `a''`, the two quotes stand for
 * one. Queries are always quoted, because a literal in them must remain one.
 */
static int write_quoted(struct orma_str text, bool is_query, struct orma_buf *ret)
{
	size_t begin = ret->size;
	int r = orma_base_buf_printf(ret, "'%.*s'", (int)text.size, text.data);
	if (r < 0)
		return r;
	struct orma_str plain = {(const char *)ret->data + begin, ret->size - begin};
	struct orma_token literal = orma_sql_token_read(plain, 0);
	if (!is_query && literal.kind == ORMA_TOKEN_STRING && literal.text.size == text.size + 2)
		return 0;
	ret->size = begin;
	r = orma_base_buf_append(ret, "'", 1);
	for (size_t i = 0; i < text.size && r == 0; i++)
		r = orma_base_buf_append(ret, text.data[i] == '\'' ? "''" : &text.data[i],
					 text.data[i] == '\'' ? 2 : 1);
	return r == 0 ? orma_base_buf_append(ret, "'", 1) : r;
}

/* Appends what the call stands for. */
static int write_expansion(struct expansion *expansion, struct orma_str name,
			   const struct orma_str *args, size_t arg_count, struct orma_buf *ret)
{
	const struct macro *macro = find_macro(expansion->set, name);
	bool is_query = is_name(name, ORMA_STR("__intrinsic_stringify_ignore_table"));
	if (!macro && (is_query || is_name(name, ORMA_STR("__intrinsic_stringify")))) {
		if (arg_count != 1)
			return fail(expansion, name, "takes one argument");
		return write_quoted(args[0], is_query, ret);
	}
	static const char apply_name[] = "__intrinsic_token_apply";
	if (!macro && name.size >= sizeof(apply_name) - 1 &&
	    strncasecmp(name.data, apply_name, sizeof(apply_name) - 1) == 0)
		return apply(expansion, name, args, arg_count, ret);
	if (!macro)
		return fail(expansion, name, "no such macro");
	if (macro->parameter_count == 1 && arg_count == 0)
		return substitute(expansion, macro, &ORMA_STR(""), ret);
	if (macro->parameter_count != arg_count)
		return orma_base_error_set(
			expansion->reterr, -EINVAL, "macro %.*s!: takes %zu %s, not %zu",
			(int)ORMA_MIN(name.size, (size_t)100), name.data, macro->parameter_count,
			orma_base_noun(macro->parameter_count, "argument", "arguments"), arg_count);
	return substitute(expansion, macro, args, ret);
}

/* Pushes the expansion of the call whose name and arguments, without parentheses, are given. */
static int push_call(struct expansion *expansion, struct orma_str name, struct orma_str list)
{
	struct orma_str args[ARGUMENTS_MAX];
	if (expansion->depth == DEPTH_MAX || ++expansion->expansions > EXPANSIONS_MAX)
		return fail(expansion, name, "its expansion does not end");
	int count = split(list, args, ARGUMENTS_MAX);
	if (count < 0)
		return fail(expansion, name, "its arguments cannot be told apart");
	struct text_level *level = &expansion->levels[expansion->depth];
	*level = (struct text_level){0};
	int r = write_expansion(expansion, name, args, (size_t)count, &level->owned);
	level->sql = (struct orma_str){(const char *)level->owned.data, level->owned.size};
	expansion->written_bytes += level->owned.size;
	if (r < 0)
		orma_base_buf_done(&level->owned);
	else
		expansion->depth++;
	return r;
}

/* If a call begins with this word, returns true and sets its list of arguments and its end. */
static bool is_call(struct orma_str sql, const struct orma_token *word, struct orma_str *retlist,
		    size_t *retend)
{
	size_t at = orma_sql_token_end(word);
	if (word->kind != ORMA_TOKEN_WORD || !orma_sql_token_accept_sign(sql, &at, '!') ||
	    !orma_sql_token_accept_sign(sql, &at, '('))
		return false;
	size_t begin = at;
	if (!orma_sql_token_skip_parentheses(sql, &at))
		return false;
	*retlist = (struct orma_str){sql.data + begin, at - 1 - begin};
	*retend = at;
	return true;
}

void orma_sql_macro_calls_done(struct orma_macro_calls *calls)
{
	orma_base_free(calls->calls);
	*calls = (struct orma_macro_calls){0};
}

size_t orma_sql_macro_calls_find(const struct orma_macro_calls *calls, size_t result_offset,
				 bool *ret_is_in_call)
{
	size_t end = 0, result_end = 0;
	*ret_is_in_call = false;
	for (size_t i = 0; i < calls->count && calls->calls[i].result_begin <= result_offset; i++) {
		*ret_is_in_call = result_offset < calls->calls[i].result_end;
		if (*ret_is_in_call)
			return calls->calls[i].begin;
		end = calls->calls[i].end;
		result_end = calls->calls[i].result_end;
	}
	return end + (result_offset - result_end);
}

/* Notes a call in the text itself. */
static int note_call(struct expansion *expansion, size_t begin, size_t end)
{
	struct orma_macro_calls *calls = expansion->calls;
	if (expansion->depth > 1)
		return 0;
	if (calls->count == calls->capacity) {
		size_t capacity = ORMA_MAX(calls->capacity * 2, (size_t)8);
		struct orma_macro_call *bigger =
			orma_base_realloc_array(calls->calls, capacity, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		calls->calls = bigger;
		calls->capacity = capacity;
	}
	size_t at = expansion->out->size;
	calls->calls[calls->count++] = (struct orma_macro_call){begin, end, at, at};
	return 0;
}

/* Copies the next token, or expands the call that begins with it. */
static int expand_next(struct expansion *expansion)
{
	struct text_level *level = &expansion->levels[expansion->depth - 1];
	struct orma_token next = orma_sql_token_read(level->sql, level->offset);
	struct orma_str list;
	size_t end;
	if (next.kind == ORMA_TOKEN_END) {
		orma_base_buf_done(&level->owned);
		if (--expansion->depth == 1)
			expansion->calls->calls[expansion->calls->count - 1].result_end =
				expansion->out->size;
		return 0;
	}
	if (is_call(level->sql, &next, &list, &end)) {
		level->offset = end;
		int r = note_call(expansion, next.offset, end);
		return r < 0 ? r : push_call(expansion, next.text, list);
	}
	level->offset = orma_sql_token_end(&next);
	if (expansion->out->size > RESULT_MAX_BYTES)
		return orma_base_error_set(expansion->reterr, -EINVAL,
					   "the expansion of macros has more than %d bytes",
					   RESULT_MAX_BYTES);
	return orma_base_buf_append(expansion->out, next.text.data, next.text.size);
}

int orma_sql_macros_expand(const struct orma_macro_set *set, struct orma_str sql,
			   struct orma_buf *ret, struct orma_macro_calls *ret_calls,
			   struct orma_error *reterr)
{
	struct expansion *expansion = orma_base_alloc(sizeof(*expansion));
	if (!expansion)
		return -ENOMEM;
	expansion->set = set;
	expansion->out = ret;
	expansion->calls = ret_calls;
	ret_calls->count = 0;
	expansion->reterr = reterr;
	expansion->expansions = 0;
	expansion->written_bytes = 0;
	expansion->levels[0] = (struct text_level){.sql = sql};
	expansion->depth = 1;
	int r = 0;
	while (r == 0 && expansion->depth > 0)
		r = expand_next(expansion);
	while (expansion->depth > 0)
		orma_base_buf_done(&expansion->levels[--expansion->depth].owned);
	orma_base_free(expansion);
	return r;
}
