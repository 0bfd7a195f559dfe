/* SPDX-License-Identifier: Apache-2.0
 * top_open.h - shows saved traces in a browser while the table goes on.
 */
#ifndef ORMA_TOOL_TOP_OPEN_H
#define ORMA_TOOL_TOP_OPEN_H

#include <sys/types.h>

#include "tool/top/top_view.h"

enum { ORMA_TOP_PAGES_MAX = 4 };

/* Servers of pages, which are our children. {0} is empty. */
struct orma_top_pages {
	struct {
		pid_t pid;
		int fd; /* standard output of the server */
	} items[ORMA_TOP_PAGES_MAX];
	size_t count;
};

/* Starts `orma view` for a trace, and opens its page if there is a desktop. Says in `message` where the page is, or which command shows
 * the trace when no server could be started. The oldest of many servers ends. */
void orma_top_open(struct orma_top_pages *pages, const char *path,
		   char message[ORMA_TOP_TEXT_BYTES]);
/* Ends all servers. */
void orma_top_pages_done(struct orma_top_pages *pages);

#endif
