/* SPDX-License-Identifier: Apache-2.0
 * alloc.h - the one layer that every allocation goes through, so that a test can make the n-th
 * allocation fail.
 */
#ifndef ORMA_BASE_ALLOC_H
#define ORMA_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* All return NULL when there is no memory, and when the size overflows. */
void *orma_base_alloc(size_t size) __attribute__((malloc));
void *orma_base_zalloc(size_t size) __attribute__((malloc));
void *orma_base_alloc_array(size_t count, size_t item_size) __attribute__((malloc)); /* zeroed */
void *orma_base_realloc(void *old, size_t size);
void *orma_base_realloc_array(void *old, size_t count, size_t item_size);
void *orma_base_memdup(const void *data, size_t size) __attribute__((malloc));
char *orma_base_strdup(const char *text) __attribute__((malloc));
void orma_base_free(void *memory);
/* For ORMA_AUTO on a pointer: frees what it points to. */
void orma_base_freep(void *pointer_to_pointer);

/* Lets the n-th allocation from now on fail (1 = the next one, 0 = none). Only tests call this. */
void orma_base_alloc_fail_nth(uint64_t nth);
bool orma_base_alloc_has_failed(void);

#endif
