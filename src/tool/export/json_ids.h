/* SPDX-License-Identifier: Apache-2.0
 * json_ids.h - process and thread ids for Chrome's JSON, where each is that of one process or thread.
 */
#ifndef ORMA_TOOL_JSON_IDS_H
#define ORMA_TOOL_JSON_IDS_H

#include "answers/trace_database.h"

struct orma_json_thread {
	int64_t pid, tid;
};

/* {0} is empty. */
struct orma_json_ids {
	int64_t *pids; /* by upid */
	size_t process_count;
	struct orma_json_thread *threads; /* by utid */
	size_t thread_count;
};

/* Returns 0 or the exit status. */
int orma_json_ids_read(struct orma_trace_database *database, struct orma_json_ids *ret);
void orma_json_ids_done(struct orma_json_ids *ids);
/* An id that the trace does not have is 0. */
int64_t orma_json_pid(const struct orma_json_ids *ids, int64_t upid);
struct orma_json_thread orma_json_thread(const struct orma_json_ids *ids, int64_t utid);

#endif
