/* SPDX-License-Identifier: Apache-2.0
 * exec.h - programs that replace the profiled one by exec.
 */
#ifndef ORMA_HEAP_EXEC_H
#define ORMA_HEAP_EXEC_H

#include <stdbool.h>

/* Keeps the variables for a program that replaces this one, if the environment says that it is to be profiled. False if the environment
 * was meant for another process, so that this one is not to be profiled. */
bool orma_heap_exec_init(void);

#endif
