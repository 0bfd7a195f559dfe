/* SPDX-License-Identifier: Apache-2.0
 * record_options.h - the options that the command lines of `orma record` and `perfetto` share.
 */
#ifndef ORMA_TOOL_RECORD_OPTIONS_H
#define ORMA_TOOL_RECORD_OPTIONS_H

#include "tool/record/record.h"

/* Values of options that have no letter. */
enum { ORMA_OPTION_TXT = 256, ORMA_OPTION_NO_CLOBBER, ORMA_OPTION_OTHERS };

/* The options of both commands, for orma_tool_option(). */
#define ORMA_RECORD_LETTERS "c:o:t:b:s:dDh"
/* clang-format off */
#define ORMA_RECORD_OPTIONS                                                                        \
	{"config", required_argument, NULL, 'c'},                                                  \
	{"out", required_argument, NULL, 'o'},                                                     \
	{"txt", no_argument, NULL, ORMA_OPTION_TXT},                                               \
	{"no-clobber", no_argument, NULL, ORMA_OPTION_NO_CLOBBER},                                 \
	{"background", no_argument, NULL, 'd'},                                                    \
	{"background-wait", no_argument, NULL, 'D'},                                               \
	{"time", required_argument, NULL, 't'},                                                    \
	{"buffer", required_argument, NULL, 'b'},                                                  \
	{"size", required_argument, NULL, 's'},                                                    \
	{"help", no_argument, NULL, 'h'}
/* clang-format on */

struct orma_record_line {
	struct orma_record_wish wish;
	struct orma_record_options options;
};

/* Takes every option of ORMA_RECORD_OPTIONS but --help, whose text each command has. Returns 1 when
 * it was one of them, 0 when it was not, or -errno with `reterr` when its value is wrong. Values
 * are borrowed. */
int orma_record_take_option(struct orma_record_line *line, int option, const char *value,
			    struct orma_error *reterr);
/* Records; returns the exit status. */
int orma_record_start(struct orma_record_line *line, const struct orma_record_config *config);

#endif
