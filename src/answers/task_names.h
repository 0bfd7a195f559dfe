/* SPDX-License-Identifier: Apache-2.0
 * task_names.h - names of threads and processes.
 */
#ifndef ORMA_ANSWERS_TASK_NAMES_H
#define ORMA_ANSWERS_TASK_NAMES_H

#include "answers/trace_database.h"
#include "base/buf.h"

/* The name of a thread or process. A process without one has its main thread's. */
struct orma_task_name {
	struct orma_str name; /* .data = NULL: it has none */
	int64_t id;           /* tid or pid; -1 = not known */
};

/* utid and upid are -1 or ORMA_CELL_NULL for none. */
struct orma_task_name orma_thread_name(const struct orma_trace_database *database, int64_t utid);
struct orma_task_name orma_process_name(const struct orma_trace_database *database, int64_t upid);
/* The process of a thread, or -1. */
int64_t orma_thread_process(const struct orma_trace_database *database, int64_t utid);
/* Appends "name (id)". 0 or -ENOMEM. */
int orma_task_name_append(const struct orma_task_name *name, struct orma_buf *out);

#endif
