/* SPDX-License-Identifier: Apache-2.0
 * descriptors.h - functions that close descriptors, but keep those of the library open.
 */
#ifndef ORMA_HEAP_DESCRIPTORS_H
#define ORMA_HEAP_DESCRIPTORS_H

/* Finds the C library's close(). Call it once, in the constructor. */
void orma_heap_descriptors_init(void);

#endif
