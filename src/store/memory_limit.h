/* SPDX-License-Identifier: Apache-2.0
 * memory_limit.h - how much memory this process may use.
 */
#ifndef ORMA_STORE_MEMORY_LIMIT_H
#define ORMA_STORE_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * Returns the memory of the machine, or less when a control group that the process is in, such as that of a container,
 * may use less. 0 when neither is known. `root` is where proc and sys are: "" but in tests.
 */
uint64_t orma_store_memory_limit(const char *root);

#endif
