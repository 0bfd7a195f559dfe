/* SPDX-License-Identifier: Apache-2.0
 * stat_values.h - what was lost, left out or wrong, by name.
 */
#ifndef ORMA_TRACE_STAT_VALUES_H
#define ORMA_TRACE_STAT_VALUES_H

#include "base/map.h"
#include "trace/stat_list.h"
#include "trace/tables.h"

#define ORMA_STAT_ENUM(name, key, type, severity, source, scope, text) ORMA_STAT_##name,
enum orma_stat { ORMA_STAT_LIST(ORMA_STAT_ENUM) ORMA_STATS };

/* One value of an indexed statistic, or the value of another. */
struct orma_stat_value {
	uint32_t machine_idx, trace_file;
	enum orma_stat stat;
	int32_t idx;
	int64_t value;
};

/* {0} is empty. If a trace has very many wrong indices, the first are kept. */
struct orma_stats {
	struct orma_stat_value *values;
	uint32_t count, capacity;
	struct orma_map places; /* index + 1 by machine, file, statistic and index */
	uint32_t trace_file;    /* the number of the file that the values are of now */
	int error;              /* the first failure */
};

#define ORMA_STAT_VALUES_MAX (1 << 16)

void orma_stats_done(struct orma_stats *stats);
/* `idx` is 0 for statistics that are not indexed. When memory is short, `stats->error` is set. */
void orma_stats_set(struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		    int32_t idx, int64_t value);
void orma_stats_add(struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		    int32_t idx, int64_t value);
const char *orma_stat_name(enum orma_stat stat);
const char *orma_stat_severity(enum orma_stat stat);
/* NULL = there is none. */
const char *orma_stat_description(enum orma_stat stat);
/* False when no statistic has this name. */
bool orma_stats_find(struct orma_str name, enum orma_stat *ret);
/* False when there is no value. */
bool orma_stats_get(const struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		    int32_t idx, int64_t *ret);
/* True when one of the errors whose names begin so has occurred. */
bool orma_stats_has_errors(const struct orma_stats *stats, const char *prefix);
/* Gives all single statistics of a machine, and of the file of now, a value. */
void orma_stats_fill(struct orma_stats *stats, uint32_t machine_idx);
/* Writes the table. 0 or a negative errno value. */
int orma_stats_write(struct orma_stats *stats, struct orma_tables *tables);

#endif
