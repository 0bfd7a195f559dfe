/* SPDX-License-Identifier: Apache-2.0
 * pager.h - passes output that is longer than the terminal to a program that shows it page by page.
 */
#ifndef ORMA_TOOL_PAGER_H
#define ORMA_TOOL_PAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* {.is_off} says whether output goes to standard output as it comes; then {0} is ready. */
struct orma_pager {
	bool is_off;
	bool is_direct; /* the output is longer than the terminal, but no program shows it */
	struct orma_buf waiting; /* the output while it fits the terminal */
	size_t rows;
	pid_t pid; /* 0 = not started */
	int fd;
};

/* Takes a piece of the output. 0 or -errno; -EPIPE when the user has left the program. */
int orma_pager_write(void *pager, const void *data, size_t size);
/* Ends one output, and waits for the program. */
void orma_pager_finish(struct orma_pager *pager);

#endif
