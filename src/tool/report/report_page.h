/* SPDX-License-Identifier: Apache-2.0
 * report_page.h - the page that draws the timeline of a report: its scripts, its styles and its elements.
 */
#ifndef ORMA_TOOL_REPORT_PAGE_H
#define ORMA_TOOL_REPORT_PAGE_H

#include "base/buf.h"

/* Appends the policy that lets a browser run this script only, load nothing and send nothing. 0 or -ENOMEM. */
int orma_report_page_append_policy(struct orma_buf *html);
/* Appends the style of the tables. 0 or -ENOMEM. */
int orma_report_page_append_style(struct orma_buf *html);
/* Appends the script alone, which draws the flame graphs of a report without a timeline. 0 or -ENOMEM. */
int orma_report_page_append_script(struct orma_buf *html);
/* Appends the page, which shows the data in the elements before it. 0 or -ENOMEM. */
int orma_report_page_append(struct orma_buf *html);

#endif
