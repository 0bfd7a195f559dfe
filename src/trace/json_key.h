/* SPDX-License-Identifier: Apache-2.0
 * json_key.h - the parts of a scan that run for each member, inline: blanks, strings, keys.
 */
#ifndef ORMA_TRACE_JSON_KEY_H
#define ORMA_TRACE_JSON_KEY_H

#include "trace/json_block.h"
#include "trace/json_scan.h"

static inline bool orma_json_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The same as orma_json_skip_blanks(). */
static inline void orma_json_pass_blanks(struct orma_json_scan *scan)
{
	while (scan->at < scan->end && orma_json_is_blank(*scan->at))
		scan->at++;
}

/* Reads the string that begins here. MEMBER or CUT. */
static inline enum orma_json_next orma_json_read_string(struct orma_json_scan *scan,
							struct orma_json_value *ret)
{
	const char *begin = scan->at + 1;
	const char *end = orma_json_find_quote(begin, scan->end, &ret->has_escapes);
	if (!end)
		return ORMA_JSON_CUT;
	ret->kind = ORMA_JSON_STRING;
	ret->text = (struct orma_str){begin, (size_t)(end - begin)};
	scan->at = end + 1;
	return ORMA_JSON_MEMBER;
}

/* Goes to the next member. MEMBER, END, or CUT. */
static inline enum orma_json_next orma_json_next_member(struct orma_json_scan *scan, char close)
{
	while (scan->at < scan->end && (orma_json_is_blank(*scan->at) || *scan->at == ','))
		scan->at++;
	if (scan->at == scan->end)
		return scan->is_inner ? ORMA_JSON_END : ORMA_JSON_CUT;
	if (*scan->at != close || scan->is_inner)
		return ORMA_JSON_MEMBER;
	scan->at++;
	return ORMA_JSON_END;
}

/* Reads the key of the next member of an object, up to the value's first character, blanks before it aside. MEMBER, END, CUT or DAMAGED. */
static inline enum orma_json_next orma_json_read_key(struct orma_json_scan *scan,
						     struct orma_json_value *ret)
{
	enum orma_json_next next = orma_json_next_member(scan, '}');
	if (next != ORMA_JSON_MEMBER)
		return next;
	if (*scan->at != '"')
		return ORMA_JSON_DAMAGED;
	next = orma_json_read_string(scan, ret);
	if (next != ORMA_JSON_MEMBER)
		return next;
	orma_json_pass_blanks(scan);
	if (scan->at == scan->end)
		return ORMA_JSON_CUT;
	return *scan->at++ == ':' ? ORMA_JSON_MEMBER : ORMA_JSON_DAMAGED;
}

#endif
