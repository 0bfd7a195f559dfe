/* SPDX-License-Identifier: Apache-2.0
 * top.h - the options of `orma top`, and what its files share.
 */
#ifndef ORMA_TOOL_TOP_H
#define ORMA_TOOL_TOP_H

#include "tool/top/top_table.h"

struct orma_top_options {
	struct orma_top_choice choice;
	uint32_t interval_ms;
	uint64_t limit;             /* intervals; 0 = none */
	uint32_t keep_ms;           /* how much `s` saves */
	const char *histogram_name; /* NULL = the table */
	bool is_batch, is_json;
};

/* Runs until a signal, the limit or a key ends it. Returns the exit status. */
int orma_top_run(const struct orma_top_options *options);

#endif
