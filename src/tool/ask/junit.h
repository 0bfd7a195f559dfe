/* SPDX-License-Identifier: Apache-2.0
 * junit.h - results of checks as JUnit's XML, which systems for continuous integration show.
 */
#ifndef ORMA_TOOL_JUNIT_H
#define ORMA_TOOL_JUNIT_H

#include "base/buf.h"
#include "base/str.h"

enum orma_check_result { ORMA_CHECK_PASSED, ORMA_CHECK_FAILED, ORMA_CHECK_BROKEN };

/* {0} is empty. */
struct orma_junit {
	struct orma_buf xml;                 /* suites that are done */
	struct orma_buf cases;               /* the suite that is not */
	unsigned counts[3], suite_counts[3]; /* by result */
	double seconds, suite_seconds;
	int error;
};

void orma_junit_done(struct orma_junit *junit);
/* Adds a check. `message` is a line, and `text` has lines about it. */
void orma_junit_add(struct orma_junit *junit, struct orma_str file, struct orma_str name,
		    enum orma_check_result result, double seconds, struct orma_str message,
		    struct orma_str text);
/* Ends the suite of one trace. */
void orma_junit_end_suite(struct orma_junit *junit, struct orma_str name);
/* Makes the whole document of all suites, in `junit->xml`. 0 or -ENOMEM. */
int orma_junit_finish(struct orma_junit *junit);

#endif
