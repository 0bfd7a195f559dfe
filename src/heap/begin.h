/* SPDX-License-Identifier: Apache-2.0
 * begin.h - the beginning of the profile in a program.
 */
#ifndef ORMA_HEAP_BEGIN_H
#define ORMA_HEAP_BEGIN_H

#include <stdbool.h>

/* Connects to the profiler, in the first call. Called by the constructor and by the slow paths of the hooks. False while the C library
 * cannot be used yet, because its own constructor has not run. errno is preserved. */
bool orma_heap_begin(void);

#endif
