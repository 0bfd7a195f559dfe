/* SPDX-License-Identifier: Apache-2.0
 * json_text.h - a text as a string of JSON.
 */
#ifndef ORMA_SQL_JSON_TEXT_H
#define ORMA_SQL_JSON_TEXT_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the text in quotes, escaped. Bytes that are not UTF-8 become U+FFFD. 0 or -ENOMEM. */
int orma_sql_append_json_text(struct orma_buf *out, struct orma_str text);

#endif
