/* SPDX-License-Identifier: Apache-2.0
 * answer.h - the commands that answer questions nobody has to write in SQL: their options, and what runs them.
 *
 * Each returns the exit status. A binary without SQLite says that it cannot, see without_sql.c.
 */
#ifndef ORMA_TOOL_ANSWER_H
#define ORMA_TOOL_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/ask/ask.h"

enum { ORMA_SUMMARY_ROWS_MAX = 100 };

struct orma_summary_options {
	struct orma_ask_options ask;
	uint64_t top;
	bool is_json;
};

int orma_summary_run(const struct orma_summary_options *options, const char *path);

#endif
