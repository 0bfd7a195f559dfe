/* SPDX-License-Identifier: Apache-2.0
 * ftrace_event_text.h - text that grows, for the lines of ftrace_text.
 */
#ifndef ORMA_TESTS_KERNEL_FTRACE_EVENT_TEXT_H
#define ORMA_TESTS_KERNEL_FTRACE_EVENT_TEXT_H

#include "../interop/trace_packet.h"

struct text {
	char *bytes; /* NUL-terminated; owned */
	size_t size, capacity;
};

void text_append(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends bytes in quotes. Quotes, backslashes and bytes that are not printable ASCII become \xNN. */
void text_append_string(struct text *text, struct wire_span string);

#endif
