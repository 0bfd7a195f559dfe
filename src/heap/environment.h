/* SPDX-License-Identifier: Apache-2.0
 * environment.h - the variables that tell liborma-heap what to do. The constructor reads them.
 */
#ifndef ORMA_HEAP_ENVIRONMENT_H
#define ORMA_HEAP_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a variable, or NULL. */
char *orma_heap_environment_value(const char *name);
/* True: the value is 1. */
bool orma_heap_environment_is_set(const char *name);
/* The library's path in LD_PRELOAD, which ends after *ret_size bytes, or NULL. */
const char *orma_heap_environment_library(size_t *ret_size);
/* Removes all variables of the library, and the library from LD_PRELOAD. */
void orma_heap_environment_forget(void);

#endif
