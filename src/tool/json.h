/* SPDX-License-Identifier: Apache-2.0
 * json.h - writes values of JSON (RFC 8259) into a buffer.
 */
#ifndef ORMA_TOOL_JSON_H
#define ORMA_TOOL_JSON_H

#include "base/buf.h"
#include "base/str.h"

/* Appends a string with its quotes. Characters that are not visible are escaped, for terminals, and bytes
 * that are not UTF-8 become U+FFFD. 0 or -ENOMEM. */
int orma_json_append_string(struct orma_buf *json, struct orma_str text);
/* Appends `,"name":`, without the comma behind an opening brace or bracket. 0 or -ENOMEM. */
int orma_json_append_key(struct orma_buf *json, const char *name);
/* Appends a key with a string, or with a number. */
int orma_json_append_text(struct orma_buf *json, const char *name, struct orma_str text);
int orma_json_append_number(struct orma_buf *json, const char *name, uint64_t number);
/* Appends an opening brace, with a comma before it if another value precedes. */
int orma_json_begin_element(struct orma_buf *json);

#endif
