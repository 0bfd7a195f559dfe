/* SPDX-License-Identifier: Apache-2.0
 * html.h - text and tables as HTML, which needs no script to be read.
 *
 * Texts come from traces, so none of them is markup. A failure to allocate stays in the buffer's owner: the functions
 * return it, and leave what was appended before.
 */
#ifndef ORMA_TOOL_HTML_H
#define ORMA_TOOL_HTML_H

#include "base/buf.h"
#include "tool/ask/fact_table.h"

/* Appends text as the content of an element or of an attribute in double quotes. Characters that are not visible are escaped as for
 * terminals, but for line feeds. 0 or -ENOMEM. */
int orma_html_append_text(struct orma_buf *html, struct orma_str text);
/* Appends `<table>` with its title as the caption; nothing when there are no rows. 0 or -ENOMEM. */
int orma_html_append_table(struct orma_buf *html, const struct orma_fact_table *table);
/* Appends JSON as the content of an element that no browser runs. No text in it can end the element. 0 or -ENOMEM. */
int orma_html_append_json(struct orma_buf *html, const char *id, struct orma_str json);

#endif
