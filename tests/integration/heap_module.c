/* SPDX-License-Identifier: Apache-2.0
 * heap_module.c - a library that heap_subject loads and unloads.
 */
#include <stdlib.h>

void *allocate(void);

__attribute__((visibility("default"))) void *allocate(void)
{
	return malloc(7801);
}
