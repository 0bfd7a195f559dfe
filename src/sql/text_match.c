/* SPDX-License-Identifier: Apache-2.0
 * text_match.c - the answer for each string is kept, because a trace has few names and many rows with each.
 *
 * The matchers go back to the last star only: what an earlier star took can always be left as it is. So they need no
 * recursion, and at most pattern times text steps.
 */
#include "sql/text_match.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/query_regex.h"
#include "store/string_pool.h"

enum { UNKNOWN, MISSES, FITS };

/* A join that asks for one row at a time should not pay for a list of all strings. */
enum { ASKED_WITHOUT_ANSWERS = 64 };

struct orma_text_match {
	const struct orma_string_pool *pool;
	struct orma_regex *regex;
	enum orma_text_match_kind kind;
	uint32_t asked_count;
	uint32_t known_count; /* answers */
	struct orma_str text;
	uint8_t *answers; /* by id; NULL until many are asked for */
};

int orma_sql_text_match_new(enum orma_text_match_kind kind, struct orma_str text,
			    const struct orma_string_pool *pool, struct orma_text_match **ret,
			    struct orma_error *reterr)
{
	struct orma_text_match *match = orma_base_zalloc(sizeof(*match));
	if (!match)
		return -ENOMEM;
	match->kind = kind;
	match->pool = pool;
	match->text = (struct orma_str){orma_base_str_dup(text), text.size};
	int r = match->text.data ? 0 : -ENOMEM;
	if (r == 0 && kind == ORMA_MATCH_REGEXP)
		r = orma_sql_regex_new(text, false, &match->regex, reterr);
	if (r < 0) {
		orma_sql_text_match_free(match);
		return r;
	}
	*ret = match;
	return 0;
}

void orma_sql_text_match_free(struct orma_text_match *match)
{
	if (!match)
		return;
	orma_sql_regex_free(match->regex);
	orma_base_free((char *)(uintptr_t)match->text.data);
	orma_base_free(match->answers);
	orma_base_free(match);
}

bool orma_sql_text_match_is(const struct orma_text_match *match, struct orma_str text)
{
	return orma_base_str_is_equal(match->text, text);
}

static int compare(struct orma_str a, struct orma_str b)
{
	size_t shared = ORMA_MIN(a.size, b.size);
	int order = shared > 0 ? memcmp(a.data, b.data, shared) : 0;
	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Reads a character of UTF-8 leniently, as SQLite does; `*at` is below the size. */
static uint32_t read_char(struct orma_str text, size_t *at)
{
	uint32_t code = (uint8_t)text.data[(*at)++];
	if (code < 0xc0)
		return code;
	while (*at < text.size && ((uint8_t)text.data[*at] & 0xc0) == 0x80)
		code = code << 6 | ((uint8_t)text.data[(*at)++] & 0x3f);
	return code;
}

/*
 * Matches a character with the set behind a `[` at `*at`, and moves `*at` behind the set. Returns false also when the set
 * does not end.
 */
static bool matches_set(struct orma_str pattern, size_t *at, uint32_t code)
{
	bool is_inverted = false, is_in = false;
	if (*at < pattern.size && pattern.data[*at] == '^') {
		is_inverted = true;
		(*at)++;
	}
	for (bool is_first = true; *at < pattern.size; is_first = false) {
		uint32_t low = read_char(pattern, at), high = low;
		if (low == ']' && !is_first)
			return is_in != is_inverted;
		if (*at + 1 < pattern.size && pattern.data[*at] == '-' &&
		    pattern.data[*at + 1] != ']') {
			(*at)++;
			high = read_char(pattern, at);
		}
		is_in |= code >= low && code <= high;
	}
	return false;
}

static uint32_t fold(uint32_t code)
{
	return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
}

/* Matches one character of the text with the next item of the pattern, which is not `*`. */
static bool matches_glob_item(struct orma_str pattern, size_t *at, uint32_t code)
{
	uint32_t wanted = read_char(pattern, at);
	if (wanted == '[')
		return matches_set(pattern, at, code);
	return wanted == '?' || wanted == code;
}

static bool matches_like_item(struct orma_str pattern, size_t *at, uint32_t code)
{
	uint32_t wanted = read_char(pattern, at);
	return wanted == '_' || fold(wanted) == fold(code);
}

static bool matches(struct orma_str pattern, struct orma_str text, char star,
		    bool (*matches_item)(struct orma_str, size_t *, uint32_t))
{
	size_t at = 0, in_text = 0, behind_star = SIZE_MAX, star_end = 0;
	while (in_text < text.size) {
		size_t next = at, text_next = in_text;
		if (at < pattern.size && pattern.data[at] == star) {
			behind_star = ++at;
			star_end = in_text;
			continue;
		}
		uint32_t code = read_char(text, &text_next);
		if (at < pattern.size && matches_item(pattern, &next, code)) {
			at = next;
			in_text = text_next;
			continue;
		}
		if (behind_star == SIZE_MAX)
			return false;
		/* The last star takes one character more. */
		read_char(text, &star_end);
		in_text = star_end;
		at = behind_star;
	}
	while (at < pattern.size && pattern.data[at] == star)
		at++;
	return at == pattern.size;
}

bool orma_sql_glob(struct orma_str pattern, struct orma_str text)
{
	return matches(pattern, text, '*', matches_glob_item);
}

static bool fits_like(struct orma_str pattern, struct orma_str text)
{
	return matches(pattern, text, '%', matches_like_item);
}

static int evaluate(const struct orma_text_match *match, struct orma_str text)
{
	int order;
	switch (match->kind) {
	case ORMA_MATCH_GLOB:
		return orma_sql_glob(match->text, text);
	case ORMA_MATCH_LIKE:
		return fits_like(match->text, text);
	case ORMA_MATCH_REGEXP:
		return orma_sql_regex_search(match->regex, text, 0, NULL, 0);
	default:
		order = compare(text, match->text);
		break;
	}
	if (match->kind == ORMA_MATCH_LESS)
		return order < 0;
	if (match->kind == ORMA_MATCH_LESS_OR_EQUAL)
		return order <= 0;
	return match->kind == ORMA_MATCH_GREATER ? order > 0 : order >= 0;
}

int orma_sql_text_match_id(struct orma_text_match *match, uint32_t id)
{
	if (!match->answers && ++match->asked_count > ASKED_WITHOUT_ANSWERS) {
		match->known_count = match->pool->count + 1;
		match->answers = orma_base_alloc_array(match->known_count, 1);
		if (!match->answers)
			return -ENOMEM;
	}
	/* A computed column may have added strings since. */
	if (!match->answers || id >= match->known_count)
		return evaluate(match, orma_store_pool_get(match->pool, id));
	if (match->answers[id] == UNKNOWN) {
		int fits = evaluate(match, orma_store_pool_get(match->pool, id));
		if (fits < 0)
			return fits;
		match->answers[id] = fits ? FITS : MISSES;
	}
	return match->answers[id] == FITS;
}
