/* SPDX-License-Identifier: Apache-2.0
 * print_filter.h - which texts of ftrace/print a session keeps.
 */
#ifndef ORMA_PROBES_PRINT_FILTER_H
#define ORMA_PROBES_PRINT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "schema/gen/ftrace_config.pb.h"

struct orma_print_rule {
	/* "B" for texts "B|1234|prefix..."; data is NULL for a rule about the beginning of the text. */
	struct orma_str atrace_type;
	struct orma_str prefix;
	bool allow;
};

/* {0} has no rules, and keeps everything. */
struct orma_print_filter {
	struct orma_print_rule *rules; /* owned, like their strings */
	uint32_t rule_count;
};

/* 0 or -ENOMEM, which leaves it empty. */
int orma_print_filter_init(struct orma_print_filter *filter,
			   const struct orma_pb_ftrace_config_print_filter *config);
void orma_print_filter_done(struct orma_print_filter *filter);
/* The first rule that matches decides; a text that none matches is kept. */
bool orma_print_filter_allows(const struct orma_print_filter *filter, struct orma_str text);

#endif
