/* SPDX-License-Identifier: Apache-2.0
 * json_writer.h - writes values of JSON (RFC 8259) into a buffer.
 */
#ifndef ORMA_BASE_JSON_WRITER_H
#define ORMA_BASE_JSON_WRITER_H

#include "base/buf.h"
#include "base/str.h"

/* Appends a string with its quotes. Characters that are not visible are escaped, for terminals, and bytes
 * that are not UTF-8 become U+FFFD. 0 or -ENOMEM. */
int orma_json_append_string(struct orma_buf *json, struct orma_str text);
/* Appends the shortest decimal that reads back as the same double. An infinity or NaN becomes null. */
int orma_json_append_double(struct orma_buf *json, double value);
/* Appends an integer; as a string if it is beyond 2^53, because the readers of JSON may use doubles. */
int orma_json_append_integer(struct orma_buf *json, int64_t value);
/* Appends the comma before a value of a list, unless it is the first one. The functions above append none. */
int orma_json_begin_value(struct orma_buf *json);
/* Appends `,"name":`, without the comma behind an opening brace or bracket. 0 or -ENOMEM. */
int orma_json_append_key(struct orma_buf *json, const char *name);
/* Appends a key with a string, or with a number. */
int orma_json_append_text(struct orma_buf *json, const char *name, struct orma_str text);
int orma_json_append_number(struct orma_buf *json, const char *name, uint64_t number);
/* Appends an opening brace, with a comma before it if another value precedes. */
int orma_json_begin_element(struct orma_buf *json);

#endif
