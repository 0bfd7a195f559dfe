/* SPDX-License-Identifier: Apache-2.0
 * top_terminal.h - the terminal while `orma top` has it: raw, on the alternate screen, without a cursor.
 */
#ifndef ORMA_TOOL_TOP_TERMINAL_H
#define ORMA_TOOL_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct orma_top_terminal {
	bool is_utf8, has_colour;
	unsigned columns, lines;
};

/* Tells whether standard input and output are a terminal on which a screen can be shown. */
bool orma_top_terminal_works(void);
/* Takes the terminal, until orma_top_terminal_leave(), exit() or a fatal signal. 0 or -errno. */
int orma_top_terminal_enter(struct orma_top_terminal *terminal);
/* Gives the terminal back as it was. May be called twice, and from signal handlers. */
void orma_top_terminal_leave(void);
/* Gives the terminal back, stops the process, and takes the terminal again when it continues. 0 or -errno. */
int orma_top_terminal_suspend(struct orma_top_terminal *terminal);
void orma_top_terminal_measure(struct orma_top_terminal *terminal);
/* Shows a frame, with one write(). 0 or -errno. */
int orma_top_terminal_show(const void *frame, size_t size);

#endif
