/* SPDX-License-Identifier: Apache-2.0
 * import_log.h - single events that made no sense: what statistics count, with the time and the names.
 */
#ifndef ORMA_TRACE_IMPORT_LOG_H
#define ORMA_TRACE_IMPORT_LOG_H

#include "trace/system.h"

/* Entries beyond are only counted. */
#define ORMA_IMPORT_LOG_MAX 10000

/* Adds an entry about a slice that was not taken as it is; `other` is the row of the slice in its way. 0 or a negative errno
 * value. */
int orma_import_log_overlap(struct orma_system *system, enum orma_stat stat,
			    const struct orma_slice_begin *slice, int64_t other);
int orma_import_log_depth(struct orma_system *system, const struct orma_slice_begin *slice,
			  int64_t other);
/* Adds what is known of times in which data are missing: entries with the begin of each, the arguments `dur` and, if known,
 * `utid` or `ucpu`. */
int orma_import_log_gaps(struct orma_system *system);
/* The statistic that counts losses by a bit of TracePacket.previous_packet_dropped; ORMA_STATS = none does. */
enum orma_stat orma_import_log_cause(unsigned bit);

#endif
