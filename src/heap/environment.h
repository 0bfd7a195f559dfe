/* SPDX-License-Identifier: Apache-2.0
 * environment.h - the variables for liborma-heap, which its constructor reads.
 *
 * Threads: the beginning of the profile (begin.h) calls all functions, before there is another thread.
 */
#ifndef ORMA_HEAP_ENVIRONMENT_H
#define ORMA_HEAP_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the value of a variable, or NULL. */
char *orma_heap_environment_value(const char *name);
/* True if the value is "1". */
bool orma_heap_environment_is_set(const char *name);
/* Returns the library's path in LD_PRELOAD, which has *ret_size bytes, or NULL. */
const char *orma_heap_environment_library(size_t *ret_size);
/* Removes all variables of the library, and the library from LD_PRELOAD. */
void orma_heap_environment_forget(void);

#endif
