/* SPDX-License-Identifier: Apache-2.0
 * record_options.h - what the command lines of `orma record` and `perfetto` have in common.
 */
#ifndef ORMA_TOOL_RECORD_OPTIONS_H
#define ORMA_TOOL_RECORD_OPTIONS_H

#include "tool/record/record.h"

/* Beside letters. */
enum { ORMA_OPTION_TXT = 256, ORMA_OPTION_NO_CLOBBER, ORMA_OPTION_OTHERS };

struct orma_record_line {
	struct orma_record_wish wish;
	struct orma_record_options options;
};

/* Takes -c, -o, -t, -b, -s, -d, -D, --txt and --no-clobber. 1 = it was one of them, 0 = it was not;
 * negative with `reterr`: its value is wrong. Values are borrowed. */
int orma_record_take_option(struct orma_record_line *line, int option, const char *value,
			    struct orma_error *reterr);
/* Records; the exit status. */
int orma_record_start(struct orma_record_line *line, const struct orma_record_config *config);

#endif
