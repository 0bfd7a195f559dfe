/* SPDX-License-Identifier: Apache-2.0
 * record_json.h - the report of a recording for scripts.
 */
#ifndef ORMA_TOOL_RECORD_JSON_H
#define ORMA_TOOL_RECORD_JSON_H

#include "tool/trace/trace_file.h"

struct orma_record_facts {
	const char *path;
	uint32_t files; /* 1 without a rotation */
	uint64_t bytes;
	double seconds;
	const struct orma_tool_summary *summary;
};

/* Prints one line with one object on standard output. 0 or -ENOMEM. */
int orma_record_print_json(const struct orma_record_facts *facts);

#endif
