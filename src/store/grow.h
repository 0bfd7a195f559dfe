/* SPDX-License-Identifier: Apache-2.0
 * grow.h - arrays that grow.
 */
#ifndef ORMA_STORE_GROW_H
#define ORMA_STORE_GROW_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for `wanted` items in the array that `array_pointer` points to, which doubles. The new items are not set. 0,
 * -ENOMEM or -EOVERFLOW (2^32 items). */
int orma_store_grow(void *array_pointer, uint64_t wanted, uint32_t *capacity, size_t item_size);

#endif
