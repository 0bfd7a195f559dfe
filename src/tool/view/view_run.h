/* SPDX-License-Identifier: Apache-2.0
 * view_run.h - what `orma view` does with its options.
 */
#ifndef ORMA_TOOL_VIEW_RUN_H
#define ORMA_TOOL_VIEW_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/ask/ask.h"

enum { ORMA_VIEW_RECORDER_MAX = 256 }; /* arguments */

struct orma_view_options {
	struct orma_ask_options ask;
	const char
		*address; /* an address of IPv4 or IPv6, for other machines too; NULL = loopback */
	uint16_t port;    /* 0 = any that is free */
	bool opens_no_browser, ends_when_idle;
	/* The trace is being recorded: the only path is - for standard input, or `recorder` records it. */
	bool is_live;
	uint64_t live_keep_ns; /* how much of it is kept; 0 = a minute */
	char **recorder;       /* arguments of `orma record`, ended by NULL; NULL = none */
};

/* Serves the page until it is stopped. Returns the exit status. A binary without SQLite says that it cannot. */
int orma_view_run(const struct orma_view_options *options, const char *const *paths, size_t count);

#endif
