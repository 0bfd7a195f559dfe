/* SPDX-License-Identifier: Apache-2.0
 * record_options.h - the options that the command lines of `orma record` and `perfetto` share.
 */
#ifndef ORMA_TOOL_RECORD_OPTIONS_H
#define ORMA_TOOL_RECORD_OPTIONS_H

#include "tool/option.h"
#include "tool/record/record.h"

/* Options of both tables that have no letter; the numbers of a command's own begin behind them. */
enum {
	ORMA_OPTION_TXT = ORMA_OPTION_FIRST_OWN,
	ORMA_OPTION_NO_CLOBBER,
	ORMA_OPTION_OTHERS,
};

struct orma_record_line {
	struct orma_record_wish wish;
	struct orma_record_options options;
};

/* Takes an option that both tables have. Returns 1 when it was one of them, 0 when it was not, or
 * -errno with `reterr` when its value is wrong. Values are borrowed. */
int orma_record_take_option(struct orma_record_line *line, int option, const char *value,
			    struct orma_error *reterr);
/* Records; returns the exit status. */
int orma_record_start(struct orma_record_line *line, struct orma_record_config *config);

#endif
