/* SPDX-License-Identifier: Apache-2.0
 * record_groups.h - the groups that `orma record` knows by a word, as in `orma record sched freq`.
 */
#ifndef ORMA_TOOL_RECORD_GROUPS_H
#define ORMA_TOOL_RECORD_GROUPS_H

#include <stddef.h>

struct orma_record_group {
	const char *name;
	const char *about;
	const char *events;    /* ftrace events "group/name", with spaces between */
	const char *ftrace;    /* lines inside ftrace_config { ... }; "" = none */
	const char *sys_stats; /* lines inside sys_stats_config { ... }; "" = none */
	const char *source;    /* a data source that is recorded as well; NULL = none */
};

extern const struct orma_record_group orma_record_groups[];
extern const size_t orma_record_group_count;

/* Returns NULL when there is no group of that name. */
const struct orma_record_group *orma_record_group_find(const char *name);

#endif
