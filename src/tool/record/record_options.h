/* SPDX-License-Identifier: Apache-2.0
 * record_options.h - the options that the command lines of `orma record` and `perfetto` share.
 */
#ifndef ORMA_TOOL_RECORD_OPTIONS_H
#define ORMA_TOOL_RECORD_OPTIONS_H

#include <limits.h>

#include "tool/option.h"
#include "tool/record/record.h"

/* Options of both tables that have no letter; the numbers of a command's own begin behind them. */
enum {
	ORMA_OPTION_TXT = ORMA_OPTION_FIRST_OWN,
	ORMA_OPTION_NO_CLOBBER,
	ORMA_OPTION_OTHERS,
};

#define ORMA_RECORD_DEFAULT_PATH "trace.pftrace"

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

/* The following return -1 to go on, else the exit status. */

/* Refuses options that contradict each other. */
int orma_record_check(const struct orma_record_line *line, bool has_program);
/* Takes the program to record and its arguments. */
int orma_record_take_program(struct orma_record_line *line, char **argv);
/* Takes the value of --rotate. */
int orma_record_take_rotation(struct orma_record_wish *wish, char *value);
/* Gives the files of a rotation an absolute name, because the service, which writes them, may have
 * another working directory. */
int orma_record_name_rotation(struct orma_record_line *line, char absolute[PATH_MAX]);

/* Makes one word of "--rotate SIZE x N". Returns the new number of words. */
int orma_record_join_rotation(int argc, char **argv, char *joined, size_t size);

#endif
