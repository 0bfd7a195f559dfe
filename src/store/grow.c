/* SPDX-License-Identifier: Apache-2.0
 * grow.c - doubling, so that appending is constant time per item.
 */
#include "store/grow.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_ITEMS = 8 };

int orma_store_grow(void *array_pointer, uint64_t wanted, uint32_t *capacity, size_t item_size)
{
	void *array;
	if (wanted <= *capacity)
		return 0;
	if (wanted > UINT32_MAX)
		return -EOVERFLOW;
	uint64_t bigger = *capacity > FIRST_ITEMS ? *capacity : FIRST_ITEMS;
	while (bigger < wanted)
		bigger *= 2;
	bigger = bigger > UINT32_MAX ? UINT32_MAX : bigger;
	/* The pointer may be of any type, so it is copied as bytes. */
	memcpy(&array, array_pointer, sizeof(array));
	array = orma_base_realloc_array(array, (size_t)bigger, item_size);
	if (!array)
		return -ENOMEM;
	memcpy(array_pointer, &array, sizeof(array));
	*capacity = (uint32_t)bigger;
	return 0;
}
