/* SPDX-License-Identifier: Apache-2.0
 * print.h - how the binary prints text that somebody else may have chosen.
 *
 * Names of sessions, categories, files and options, and messages of a service come from other
 * processes, from files and from the command line, and a terminal obeys control characters in
 * them. So every text that is not a literal is printed by these functions; tools/check-calls
 * refuses printf() and its like in src/tool.
 */
#ifndef ORMA_TOOL_PRINT_H
#define ORMA_TOOL_PRINT_H

#include <stdarg.h>
#include <stdio.h>

#include "base/macros.h"

/*
 * As fprintf(), but what comes out is one piece of a line and shows all that is in it: a byte that
 * is no UTF-8 and a control character of ASCII, line feed included, as \x1b; the other characters
 * that orma_base_utf8_visible_size() refuses as \u202e.
 */
void orma_tool_print(FILE *out, const char *format, ...) ORMA_PRINTF(2, 3);
/* The same with a line feed at the end. */
void orma_tool_print_line(FILE *out, const char *format, ...) ORMA_PRINTF(2, 3);
/* "name: text" as such a line. */
void orma_tool_print_message(FILE *out, const char *name, const char *format, va_list args)
	ORMA_PRINTF(3, 0);

/* As it is: what has escapes of its own, or is for programs. 0 or -errno. */
int orma_tool_write_raw(FILE *out, const void *data, size_t size);

#endif
