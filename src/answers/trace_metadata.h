/* SPDX-License-Identifier: Apache-2.0
 * trace_metadata.h - single values of the table metadata.
 *
 * Threads: that of the database.
 */
#ifndef ORMA_ANSWERS_TRACE_METADATA_H
#define ORMA_ANSWERS_TRACE_METADATA_H

#include "answers/trace_database.h"

/* The first value of a name. The text is valid as long as the database; .data = NULL if there is none. The number is 0 if there is none. */
struct orma_str orma_trace_metadata_text(const struct orma_trace_database *database,
					 const char *name);
int64_t orma_trace_metadata_number(const struct orma_trace_database *database, const char *name);
/*
 * Returns the time that the trace is about, on the trace's clock: that of its events, or that of the recording if all events are of one
 * moment. A heap profile has only sums, which were made when it ended.
 */
void orma_trace_recorded_time(const struct orma_trace_database *database, int64_t *ret_start_ns,
			      int64_t *ret_end_ns);

#endif
