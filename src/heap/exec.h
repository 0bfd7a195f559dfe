/* SPDX-License-Identifier: Apache-2.0
 * exec.h - programs that the profiled process executes in its own place.
 */
#ifndef ORMA_HEAP_EXEC_H
#define ORMA_HEAP_EXEC_H

#include <stdbool.h>

/* Keeps what a program that is executed has to be told, if the environment says that it is profiled. False: the environment is
 * that of another process, so this one is not to be profiled. */
bool orma_heap_exec_init(void);

#endif
