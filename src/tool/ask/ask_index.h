/* SPDX-License-Identifier: Apache-2.0
 * ask_index.h - the index beside a trace, TRACE.orma-index.
 */
#ifndef ORMA_TOOL_ASK_INDEX_H
#define ORMA_TOOL_ASK_INDEX_H

#include "answers/trace_database.h"

/*
 * Opens the trace by its index, if there is one that is right. An index that is not is told of unless it is going to be
 * written anew. True when *ret is the trace.
 */
bool orma_ask_index_open(const char *path, int fd, const struct orma_trace_options *options,
			 bool is_rewritten, struct orma_trace_database **ret);
/* Writes the index of a trace that was read. A message says why there is none. */
void orma_ask_index_write(const char *path, int fd, struct orma_trace_database *database);

#endif
