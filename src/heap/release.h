/* SPDX-License-Identifier: Apache-2.0
 * release.h - frees the blocks that the C library keeps until the end.
 */
#ifndef ORMA_HEAP_RELEASE_H
#define ORMA_HEAP_RELEASE_H

/* Frees what glibc and libstdc++ keep until the process ends, unless another thread of the program runs. The last destructor calls
 * it. */
void orma_heap_release(void);

#endif
