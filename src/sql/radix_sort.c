/* SPDX-License-Identifier: Apache-2.0
 * radix_sort.c - a sort of 11 bits at a time from the least significant ones, which skips digits that all keys share.
 */
#include "sql/radix_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

enum { DIGIT_BITS = 11, DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS, VALUES = 1 << DIGIT_BITS };

static size_t digit_of(uint64_t key, unsigned digit)
{
	return (size_t)(key >> (digit * DIGIT_BITS)) & (VALUES - 1);
}

/* Turns the counts of the digit's values into the place of the first key with each. */
static void sum_counts(size_t *counts)
{
	size_t sum = 0;
	for (size_t value = 0; value < VALUES; value++) {
		size_t count = counts[value];
		counts[value] = sum;
		sum += count;
	}
}

int orma_sql_radix_sort(uint64_t *keys, uint32_t *rows, size_t count)
{
	uint64_t differ = 0;
	for (size_t i = 1; i < count; i++)
		differ |= keys[i] ^ keys[0];
	if (differ == 0)
		return 0;
	uint64_t *other_keys = orma_base_alloc(count * sizeof(*keys));
	uint32_t *other_rows = orma_base_alloc(count * sizeof(*rows));
	uint64_t *from_keys = keys, *to_keys = other_keys;
	uint32_t *from_rows = rows, *to_rows = other_rows;
	int r = other_keys && other_rows ? 0 : -ENOMEM;
	for (unsigned digit = 0; r == 0 && digit < DIGITS; digit++) {
		if (digit_of(differ, digit) == 0)
			continue;
		size_t places[VALUES] = {0};
		for (size_t i = 0; i < count; i++)
			places[digit_of(from_keys[i], digit)]++;
		sum_counts(places);
		for (size_t i = 0; i < count; i++) {
			size_t place = places[digit_of(from_keys[i], digit)]++;
			to_keys[place] = from_keys[i];
			to_rows[place] = from_rows[i];
		}
		uint64_t *keys_before = from_keys;
		uint32_t *rows_before = from_rows;
		from_keys = to_keys;
		from_rows = to_rows;
		to_keys = keys_before;
		to_rows = rows_before;
	}
	if (r == 0 && from_keys != keys) {
		memcpy(keys, from_keys, count * sizeof(*keys));
		memcpy(rows, from_rows, count * sizeof(*rows));
	}
	orma_base_free(other_keys);
	orma_base_free(other_rows);
	return r;
}
