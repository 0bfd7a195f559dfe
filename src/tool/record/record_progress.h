/* SPDX-License-Identifier: Apache-2.0
 * record_progress.h - the line that shows a recording on a terminal while it goes on.
 */
#ifndef ORMA_TOOL_RECORD_PROGRESS_H
#define ORMA_TOOL_RECORD_PROGRESS_H

#include <orma/session.h>

#include "tool/trace/trace_file.h"

struct orma_record_amount {
	uint64_t bytes, packets;
};

struct orma_record_progress {
	bool is_shown; /* there is a terminal, and the recording has not begun to end */
	bool is_asked; /* the service is about to answer */
	struct orma_tool_summary stats; /* its last answer; has_stats is false before the first */
	uint64_t earlier_discarded;     /* losses from before the session */
	uint64_t next_ns;               /* when the line is shown anew */
	uint64_t rate_begin_ns;         /* where the rate is measured from */
	struct orma_record_amount rate_begin, written;
	struct orma_record_amount rate; /* per second */
};

/* Shows the line anew, and asks the service for its next numbers. `duration_ms` 0 = without end. */
void orma_record_progress_show(struct orma_record_progress *progress, struct orma_session *session,
			       double seconds, uint32_t duration_ms);
/* Removes the line, so that a message has the place. */
void orma_record_progress_clear(const struct orma_record_progress *progress);

#endif
