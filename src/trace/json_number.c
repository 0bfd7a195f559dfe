/* SPDX-License-Identifier: Apache-2.0
 * json_number.c - digits are read eight at a time while their end is looked for.
 *
 * Nearly all numbers of traces have up to 19 digits and no exponent. Their digits are one integer, which is all that times and
 * integers need; so is a double whose digits fit into its 53 bits, because one exact number divided by another is rounded once.
 * strtod() reads all others, from a copy.
 */
#include "trace/json_number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { NUMBER_MAX_BYTES = 400 };

const uint64_t orma_json_powers[ORMA_JSON_DIGITS_MAX + 1] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	UINT64_C(10000000000),
	UINT64_C(100000000000),
	UINT64_C(1000000000000),
	UINT64_C(10000000000000),
	UINT64_C(100000000000000),
	UINT64_C(1000000000000000),
	UINT64_C(10000000000000000),
	UINT64_C(100000000000000000),
	UINT64_C(1000000000000000000),
	UINT64_C(10000000000000000000),
};

static bool is_of_number(char c)
{
	return orma_json_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

enum orma_json_next orma_json_read_number(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	const char *end = scan->end, *begin = scan->at, *first = begin, *at;
	uint64_t digits = 0;
	ret->is_negative = first < end && *first == '-';
	first += ret->is_negative;
	at = orma_json_read_digits(first, end, &digits);
	size_t count = (size_t)(at - first), decimals = 0;
	ret->is_plain = count > 0;
	ret->kind = ORMA_JSON_INTEGER;
	if (at < end && *at == '.') {
		const char *point = at++;
		at = orma_json_read_digits(at, end, &digits);
		decimals = (size_t)(at - point - 1);
		ret->is_plain &= decimals > 0;
		ret->kind = ORMA_JSON_REAL;
	}
	for (; at < end && is_of_number(*at); at++) {
		ret->is_plain = false;
		if (*at == '.' || *at == 'e' || *at == 'E')
			ret->kind = ORMA_JSON_REAL;
	}
	if (at == end && !scan->is_inner)
		return ORMA_JSON_CUT;
	ret->is_plain &= count + decimals <= ORMA_JSON_DIGITS_MAX;
	ret->decimals = ret->is_plain ? (uint8_t)decimals : 0;
	ret->digits = digits;
	ret->text = (struct orma_str){begin, (size_t)(at - begin)};
	scan->at = at;
	return ret->text.size > 0 && ret->text.size < NUMBER_MAX_BYTES ? ORMA_JSON_MEMBER
								       : ORMA_JSON_DAMAGED;
}

bool orma_json_value_i64(const struct orma_json_value *value, int64_t *ret)
{
	uint64_t digits = value->digits;
	if (value->kind != ORMA_JSON_INTEGER || !value->is_plain ||
	    digits > (uint64_t)INT64_MAX + value->is_negative)
		return false;
	*ret = (int64_t)(value->is_negative ? 0 - digits : digits);
	return true;
}

/* Returns the number that a string is, into *room, or the value, which is a number; NULL when it is none. */
static const struct orma_json_value *number_of(const struct orma_json_value *value,
					       struct orma_json_value *room)
{
	if (value->kind == ORMA_JSON_INTEGER || value->kind == ORMA_JSON_REAL)
		return value;
	if (value->kind != ORMA_JSON_STRING)
		return NULL;
	struct orma_json_scan scan = {value->text.data, value->text.data + value->text.size, true};
	bool is_number =
		orma_json_read_number(&scan, room) == ORMA_JSON_MEMBER && scan.at == scan.end;
	return is_number ? room : NULL;
}

/* All characters are those of numbers; strtod() reads other texts as well. */
static bool read_text(struct orma_str number, double *ret)
{
	char text[NUMBER_MAX_BYTES];
	char *end;
	memcpy(text, number.data, number.size);
	text[number.size] = '\0';
	*ret = strtod(text, &end);
	return end == text + number.size && isfinite(*ret);
}

static bool read_double(const struct orma_json_value *number, double *ret)
{
	/* Wider registers would round a second time. */
	if (FLT_EVAL_METHOD != 0 || !number->is_plain ||
	    number->digits > UINT64_C(1) << DBL_MANT_DIG)
		return read_text(number->text, ret);
	double real = (double)number->digits / (double)orma_json_powers[number->decimals];
	*ret = number->is_negative ? -real : real;
	return true;
}

bool orma_json_value_double(const struct orma_json_value *value, double *ret)
{
	struct orma_json_value room;
	const struct orma_json_value *number = number_of(value, &room);
	return number && read_double(number, ret);
}

/* Leaves out the digits behind the nanoseconds when there are more than fit. */
static struct orma_json_value shorten(const struct orma_json_value *number, bool *ret_rounds_up)
{
	struct orma_json_value shorter = *number;
	const char *point = memchr(number->text.data, '.', number->text.size);
	const char *end = number->text.data + number->text.size;
	uint64_t digits = 0;
	*ret_rounds_up = false;
	if (number->is_plain || !point || end - point <= 4 ||
	    orma_json_read_digits(point + 1, end, &digits) != end)
		return shorter;
	struct orma_json_scan scan = {number->text.data, point + 4, true};
	orma_json_read_number(&scan, &shorter);
	*ret_rounds_up = point[4] >= '5';
	return shorter;
}

bool orma_json_value_us(const struct orma_json_value *value, int64_t *ret_ns)
{
	struct orma_json_value room;
	const struct orma_json_value *found = number_of(value, &room);
	bool rounds_up;
	double us;
	if (!found)
		return false;
	struct orma_json_value number = shorten(found, &rounds_up);
	uint64_t ns = number.digits, limit = INT64_MAX / 1000 * 1000;
	bool is_exact = number.is_plain;
	if (number.decimals > 3)
		ns = (ns + orma_json_powers[number.decimals - 3] / 2) /
		     orma_json_powers[number.decimals - 3];
	else
		is_exact &= !__builtin_mul_overflow(ns, orma_json_powers[3 - number.decimals], &ns);
	ns += rounds_up;
	if (is_exact && ns < limit) {
		*ret_ns = number.is_negative ? -(int64_t)ns : (int64_t)ns;
		return true;
	}
	if (!read_double(&number, &us) || fabs(us) > 9.2e15)
		return false;
	*ret_ns = llround(us * 1000.0);
	return true;
}
