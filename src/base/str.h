/* SPDX-License-Identifier: Apache-2.0
 * str.h - a borrowed run of bytes with its length. It has no NUL at its end, and may hold any byte.
 */
#ifndef ORMA_BASE_STR_H
#define ORMA_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct orma_str {
	const char *data;
	size_t size;
};

#define ORMA_STR(literal) ((struct orma_str){(literal), sizeof(literal) - 1})

static inline struct orma_str orma_base_str(const char *text)
{
	return (struct orma_str){text, text ? strlen(text) : 0};
}

static inline bool orma_base_str_is_equal(struct orma_str a, struct orma_str b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool orma_base_str_is(struct orma_str a, const char *text)
{
	return orma_base_str_is_equal(a, orma_base_str(text));
}

/* The noun that follows a count in a message: "1 chunk", "2 chunks". */
static inline const char *orma_base_noun(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* Returns a NUL-terminated copy, which the caller frees with orma_base_free(), or NULL when out of
 * memory. */
char *orma_base_str_dup(struct orma_str text);

/* The whole string is a number; base 0 allows the prefixes of C. 0, -EINVAL (not a number) or
 * -ERANGE. */
int orma_base_parse_u64(const char *text, int base, uint64_t *ret);

#endif
