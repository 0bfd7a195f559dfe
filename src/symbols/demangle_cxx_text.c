/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx_text.c - the input and the texts of a name of C++, both bounded.
 *
 * Invariants: reading never passes `end`. `scratch` never has more than ORMA_CXX_SCRATCH_MAX bytes, and `depth` never exceeds
 * ORMA_CXX_DEPTH_MAX without an error. After the first error, reading gives 0 and false, and texts are empty; so the grammar
 * ends by itself and checks the error once.
 */
#include <errno.h>
#include <string.h>

#include "symbols/demangle_cxx.h"

void orma_cxx_refuse(struct orma_cxx *cxx)
{
	if (cxx->error == 0)
		cxx->error = -EBADMSG;
}

bool orma_cxx_eat(struct orma_cxx *cxx, const char *wanted)
{
	size_t size = strlen(wanted);

	if (cxx->error || (size_t)(cxx->end - cxx->at) < size || memcmp(cxx->at, wanted, size) != 0)
		return false;
	cxx->at += size;
	return true;
}

struct orma_cxx_text orma_cxx_put(struct orma_cxx *cxx, const char *text, size_t size)
{
	struct orma_cxx_text ret = {(uint32_t)cxx->scratch->size, (uint32_t)size};

	if (cxx->scratch->size + size > ORMA_CXX_SCRATCH_MAX)
		orma_cxx_refuse(cxx);
	if (cxx->error == 0)
		cxx->error = orma_base_buf_append(cxx->scratch, text, size);
	return cxx->error ? (struct orma_cxx_text){0, 0} : ret;
}

struct orma_cxx_text orma_cxx_str(struct orma_cxx *cxx, const char *text)
{
	return orma_cxx_put(cxx, text, strlen(text));
}

struct orma_cxx_text orma_cxx_join(struct orma_cxx *cxx, struct orma_cxx_text a,
				   struct orma_cxx_text b)
{
	if (cxx->error || a.size == 0 || b.size == 0)
		return a.size == 0 ? b : a;
	uint32_t at = (uint32_t)cxx->scratch->size;
	if (cxx->scratch->size + a.size + b.size > ORMA_CXX_SCRATCH_MAX)
		orma_cxx_refuse(cxx);
	else if (orma_base_buf_reserve(cxx->scratch, a.size + b.size) < 0)
		cxx->error = -ENOMEM;
	if (cxx->error)
		return (struct orma_cxx_text){0, 0};
	memcpy(cxx->scratch->data + at, cxx->scratch->data + a.at, a.size);
	memcpy(cxx->scratch->data + at + a.size, cxx->scratch->data + b.at, b.size);
	cxx->scratch->size += a.size + b.size;
	return (struct orma_cxx_text){at, a.size + b.size};
}

struct orma_cxx_text orma_cxx_join3(struct orma_cxx *cxx, struct orma_cxx_text a, const char *b,
				    struct orma_cxx_text c)
{
	struct orma_cxx_text ab = orma_cxx_join(cxx, a, orma_cxx_str(cxx, b));

	return orma_cxx_join(cxx, ab, c);
}

struct orma_cxx_text orma_cxx_append_item(struct orma_cxx *cxx, struct orma_cxx_text list,
					  struct orma_cxx_text item)
{
	return list.size > 0 && item.size > 0 ? orma_cxx_join3(cxx, list, ", ", item)
					      : orma_cxx_join(cxx, list, item);
}

char orma_cxx_last(const struct orma_cxx *cxx, struct orma_cxx_text text)
{
	if (text.size == 0)
		return 0;
	return (char)cxx->scratch->data[text.at + text.size - 1];
}

int64_t orma_cxx_number(struct orma_cxx *cxx)
{
	int64_t value = 0;

	if (orma_cxx_peek(cxx) < '0' || orma_cxx_peek(cxx) > '9')
		return -1;
	while (orma_cxx_peek(cxx) >= '0' && orma_cxx_peek(cxx) <= '9') {
		value = value * 10 + (*cxx->at++ - '0');
		if (value > UINT32_MAX)
			orma_cxx_refuse(cxx);
	}
	return value;
}

bool orma_cxx_enter(struct orma_cxx *cxx)
{
	if (++cxx->depth > ORMA_CXX_DEPTH_MAX)
		orma_cxx_refuse(cxx);
	return cxx->error == 0;
}
