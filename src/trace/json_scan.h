/* SPDX-License-Identifier: Apache-2.0
 * json_scan.h - values of a JSON text in memory, one after the other, without a tree.
 *
 * It is lenient where traces are sloppy: a comma may be missing, doubled or last, and any byte may stand in a string.
 */
#ifndef ORMA_TRACE_JSON_SCAN_H
#define ORMA_TRACE_JSON_SCAN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum orma_json_kind {
	ORMA_JSON_NULL,
	ORMA_JSON_FALSE,
	ORMA_JSON_TRUE,
	ORMA_JSON_INTEGER, /* a number without a fraction and an exponent */
	ORMA_JSON_REAL,
	ORMA_JSON_STRING,
	ORMA_JSON_OBJECT,
	ORMA_JSON_ARRAY,
};

struct orma_json_value {
	enum orma_json_kind kind;
	bool has_escapes; /* a string has to go through orma_json_unescape() */
	/* A number or a word as it stands there, a string without its quotes, what is between the brackets. */
	struct orma_str text;
	/* A number of up to 19 digits without an exponent: its digits without the point, and how many are behind it. */
	bool is_plain, is_negative;
	uint8_t decimals;
	uint64_t digits;
};

/* Says what the next part of an object or an array is. */
enum orma_json_next {
	ORMA_JSON_DAMAGED = -1,
	ORMA_JSON_CUT, /* the text ends in it */
	ORMA_JSON_MEMBER,
	ORMA_JSON_END, /* behind the closing bracket, or at the end of the text between brackets */
};

/* A text that is read. `is_inner` is for what is between the brackets of a value, which has no closing bracket. */
struct orma_json_scan {
	const char *at, *end;
	bool is_inner;
};

void orma_json_skip_blanks(struct orma_json_scan *scan);
/* Reads one value: MEMBER, CUT (a number may go on behind the end), or DAMAGED. */
enum orma_json_next orma_json_read_value(struct orma_json_scan *scan, struct orma_json_value *ret);
/* Reads the next member of an object: its key, and its value. */
enum orma_json_next orma_json_read_field(struct orma_json_scan *scan,
					 struct orma_json_value *ret_key,
					 struct orma_json_value *ret);
/* Finds the bracket that closes an object or an array, from behind the one that opens it; NULL when the text ends before. Brackets of the
 * other kind need no attention, because those of a well-formed value are balanced. */
const char *orma_json_find_close(const char *at, const char *end, char open, char close);
/* Reads the next member of an array. */
enum orma_json_next orma_json_read_item(struct orma_json_scan *scan, struct orma_json_value *ret);

/* Returns the text of a value; that of a string is copied into the arena if it has escapes. A text without data: out of memory. */
struct orma_str orma_json_unescape(const struct orma_json_value *value, struct orma_arena *arena);
/* False when the value is no integer that fits. */
bool orma_json_value_i64(const struct orma_json_value *value, int64_t *ret);
/* Reads a number, or a string that is one. False when it is none. */
bool orma_json_value_double(const struct orma_json_value *value, double *ret);
/* The same of microseconds with a fraction, as nanoseconds, rounded. False too when it does not fit. */
bool orma_json_value_us(const struct orma_json_value *value, int64_t *ret_ns);

#endif
