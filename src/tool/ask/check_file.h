/* SPDX-License-Identifier: Apache-2.0
 * check_file.h - the checks of `orma assert`: SQL with names in comments.
 *
 *   include perfetto module slices.with_context;     -- before the first check: run first, for all checks
 *
 *   -- check: no request takes longer than 20 ms
 *   select ts, dur from slice where name = 'request' and dur > 20e6;
 */
#ifndef ORMA_TOOL_CHECK_FILE_H
#define ORMA_TOOL_CHECK_FILE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct orma_check {
	struct orma_str name, sql;
	unsigned line; /* where the SQL begins in the file, from 1 */
};

/* {0} is empty. Texts are parts of `text`. */
struct orma_check_file {
	struct orma_buf text;
	struct orma_str preamble;
	struct orma_check *checks;
	size_t check_count;
};

/* Finds the checks in `file->text`. 0 or -ENOMEM. */
int orma_check_file_parse(struct orma_check_file *file);
void orma_check_file_done(struct orma_check_file *file);

#endif
