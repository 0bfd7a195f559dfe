/* SPDX-License-Identifier: Apache-2.0
 * json_text.c - escapes what JSON must not contain.
 */
#include "sql/json_text.h"

#include "base/utf8.h"

int orma_sql_append_json_text(struct orma_buf *out, struct orma_str text)
{
	int r = orma_base_buf_append(out, "\"", 1);
	for (size_t i = 0; r == 0 && i < text.size;) {
		unsigned char c = (unsigned char)text.data[i];
		size_t size = orma_base_utf8_size((struct orma_str){text.data + i, text.size - i});
		if (c == '"' || c == '\\')
			r = orma_base_buf_printf(out, "\\%c", c);
		else if (c == '\n')
			r = orma_base_buf_append_str(out, "\\n");
		else if (c == '\t')
			r = orma_base_buf_append_str(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			r = orma_base_buf_printf(out, "\\u%04x", c);
		else if (c == 0xc2 && size == 2 && (unsigned char)text.data[i + 1] < 0xa0)
			/* Terminals obey these control characters, too. */
			r = orma_base_buf_printf(out, "\\u%04x", (unsigned char)text.data[i + 1]);
		else if (size == 0)
			r = orma_base_buf_append_str(out, "\xef\xbf\xbd");
		else
			r = orma_base_buf_append(out, text.data + i, size);
		i += size > 0 ? size : 1;
	}
	return r == 0 ? orma_base_buf_append(out, "\"", 1) : r;
}
