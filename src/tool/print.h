/* SPDX-License-Identifier: Apache-2.0
 * print.h - prints text that another process or user may have chosen.
 *
 * Names of sessions, categories, files and options, and messages of a service come from other
 * processes, from files and from the command line, and a terminal obeys control characters in them.
 * So every text that is not a literal is printed by these functions; tools/check-calls refuses
 * printf() and similar functions in src/tool.
 */
#ifndef ORMA_TOOL_PRINT_H
#define ORMA_TOOL_PRINT_H

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/macros.h"

/*
 * Prints like fprintf(), but the output stays within one line and every character is visible. Bytes
 * that are not UTF-8 and ASCII control characters, including the line feed, are printed as \x1b.
 * Other characters that orma_base_utf8_visible_size() refuses are printed as \u202e.
 */
void orma_tool_print(FILE *out, const char *format, ...) ORMA_PRINTF(2, 3);
/* Does the same with a line feed at the end. */
void orma_tool_print_line(FILE *out, const char *format, ...) ORMA_PRINTF(2, 3);
/* Prints "name: text" as such a line. */
void orma_tool_print_message(FILE *out, const char *name, const char *format, va_list args)
	ORMA_PRINTF(3, 0);

/* Appends text to a buffer, escaped like that. 0 or -ENOMEM. */
int orma_tool_append_visible(struct orma_buf *out, struct orma_str text);

/* Writes bytes unchanged: text with escapes of its own, or data for programs. 0 or -errno. */
int orma_tool_write_raw(FILE *out, const void *data, size_t size);

#endif
