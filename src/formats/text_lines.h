/* SPDX-License-Identifier: Apache-2.0
 * text_lines.h - the lines of a file, whatever their length, and the fields of a line.
 */
#ifndef ORMA_FORMATS_TEXT_LINES_H
#define ORMA_FORMATS_TEXT_LINES_H

#include <stdbool.h>

#include "base/str.h"
#include "trace/trace_bytes.h"

/* A longer line is read as several. */
enum { ORMA_TEXT_LINE_MAX_BYTES = 16 << 20 };

/* {.input = ...} begins. */
struct orma_text_lines {
	const struct orma_trace_bytes *input;
	struct orma_trace_window window;
	uint64_t address; /* where the next line begins */
};

void orma_text_lines_done(struct orma_text_lines *lines);
/* Returns the next line without its end, which is \n or \r\n; it is valid until the next call. 1, 0 (there is none),
 * -ENOMEM or an error of reading. */
int orma_text_lines_next(struct orma_text_lines *lines, struct orma_str *ret);

/* Cuts the text at the first separator, which is in neither part. Returns what is before; without a separator that is all, and
 * *rest is empty with data NULL. */
struct orma_str orma_text_cut(struct orma_str *rest, char separator);
/* Removes blanks (space, tab, \r, \n) at both ends. */
struct orma_str orma_text_trim(struct orma_str text);
bool orma_text_starts_with(struct orma_str text, const char *prefix);
/* Reads a decimal number with an optional sign, of the whole text. False when it is none, or does not fit. */
bool orma_text_read_i64(struct orma_str text, int64_t *ret);
/* The same for digits of base 10 or 16, without a prefix or a sign. */
bool orma_text_read_u64(struct orma_str text, unsigned base, uint64_t *ret);
/* Reads seconds with a fraction as nanoseconds; digits behind the ninth are ignored. */
bool orma_text_read_seconds(struct orma_str text, int64_t *ret_ns);

#endif
