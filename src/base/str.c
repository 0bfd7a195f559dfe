/* SPDX-License-Identifier: Apache-2.0
 * str.c - copies strings and parses numbers.
 *
 * The parser accepts the digits of a number and nothing else. strtoull() alone would also accept
 * blanks and a minus sign before the digits, and any text after them. Rejected: a parser of our own,
 * because strtoull() handles overflow correctly; sscanf(), because it cannot report overflow.
 */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

char *orma_base_str_dup(struct orma_str text)
{
	size_t size;
	if (__builtin_add_overflow(text.size, 1, &size))
		return NULL;
	char *copy = orma_base_alloc(size);
	if (!copy)
		return NULL;
	if (text.size > 0)
		memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	return copy;
}

int orma_base_parse_u64(const char *text, int base, uint64_t *ret)
{
	if (!isalnum((unsigned char)text[0]))
		return -EINVAL;
	int saved_errno = errno;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, base);
	int parse_errno = errno;
	errno = saved_errno;
	if (end == text || *end != '\0')
		return -EINVAL;
	if (parse_errno != 0)
		return -parse_errno;
	*ret = value;
	return 0;
}
