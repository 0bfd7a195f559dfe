/* SPDX-License-Identifier: Apache-2.0
 * stat_values.c - values are kept by machine, statistic and index while a trace is read, and become rows at its end.
 */
#include "trace/stat_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

enum { SINGLE, INDEXED };
enum { INFO, NOTICE, DATA_LOSS, ERROR };
enum { TRACE, ANALYSIS };
enum { GLOBAL, MACHINE };

static const char *const severities[] = {"info", "notice", "data_loss", "error"};
static const char *const sources[] = {"trace", "analysis"};

#define DEFINITION(name, key, type, severity, source, scope, text)                                 \
	{#name, text, key, type, severity, source, scope},
static const struct {
	const char *name, *description;
	uint16_t key;
	uint8_t type, severity, source, scope;
} definitions[ORMA_STATS] = {ORMA_STAT_LIST(DEFINITION)};

const char *orma_stat_name(enum orma_stat stat)
{
	return definitions[stat].name;
}

const char *orma_stat_severity(enum orma_stat stat)
{
	return severities[definitions[stat].severity];
}

const char *orma_stat_description(enum orma_stat stat)
{
	return definitions[stat].description;
}

bool orma_stats_find(struct orma_str name, enum orma_stat *ret)
{
	for (size_t i = 0; i < ORMA_STATS; i++)
		if (orma_base_str_is(name, definitions[i].name)) {
			*ret = (enum orma_stat)i;
			return true;
		}
	return false;
}

void orma_stats_done(struct orma_stats *stats)
{
	orma_base_free(stats->values);
	orma_base_map_done(&stats->places);
	*stats = (struct orma_stats){0};
}

static uint64_t key_of(const struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		       int32_t idx)
{
	uint64_t of_all = (uint64_t)stat << 32 ^ (uint32_t)idx;
	/* Files are few: a trace of archives has some thousand, and any other has one or two. */
	return definitions[stat].scope == GLOBAL
		       ? of_all
		       : of_all ^ (uint64_t)machine_idx << 44 ^
				 stats->trace_file * UINT64_C(0x9e3779b97f4a7c15);
}

/* Returns NULL when there is no room. */
static struct orma_stat_value *find(struct orma_stats *stats, uint32_t machine_idx,
				    enum orma_stat stat, int32_t idx)
{
	uint64_t key = key_of(stats, machine_idx, stat, idx);
	uintptr_t place = (uintptr_t)orma_base_map_get(&stats->places, key);
	if (place)
		return &stats->values[place - 1];
	if (stats->count == ORMA_STAT_VALUES_MAX)
		return NULL;
	int r = orma_store_grow(&stats->values, (uint64_t)stats->count + 1, &stats->capacity,
				sizeof(*stats->values));
	if (r == 0)
		r = orma_base_map_put(&stats->places, key, (void *)((uintptr_t)stats->count + 1));
	if (r < 0) {
		stats->error = r;
		return NULL;
	}
	struct orma_stat_value *value = &stats->values[stats->count++];
	bool is_global = definitions[stat].scope == GLOBAL;
	*value = (struct orma_stat_value){.machine_idx = is_global ? 0 : machine_idx,
					  .trace_file = is_global ? 0 : stats->trace_file,
					  .stat = stat,
					  .idx = idx};
	return value;
}

void orma_stats_set(struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		    int32_t idx, int64_t value)
{
	struct orma_stat_value *place = find(stats, machine_idx, stat, idx);
	if (place)
		place->value = value;
}

void orma_stats_add(struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		    int32_t idx, int64_t value)
{
	struct orma_stat_value *place = find(stats, machine_idx, stat, idx);
	if (place)
		place->value = (int64_t)((uint64_t)place->value + (uint64_t)value);
}

bool orma_stats_get(const struct orma_stats *stats, uint32_t machine_idx, enum orma_stat stat,
		    int32_t idx, int64_t *ret)
{
	uintptr_t place =
		(uintptr_t)orma_base_map_get(&stats->places, key_of(stats, machine_idx, stat, idx));
	if (place)
		*ret = stats->values[place - 1].value;
	return place != 0;
}

bool orma_stats_has_errors(const struct orma_stats *stats, const char *prefix)
{
	for (uint32_t i = 0; i < stats->count; i++)
		if (stats->values[i].value > 0 &&
		    definitions[stats->values[i].stat].severity == ERROR &&
		    strncmp(definitions[stats->values[i].stat].name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static int write_row(struct orma_tables *tables, const struct orma_stat_value *value)
{
	bool is_global = definitions[value->stat].scope == GLOBAL;
	int64_t cells[ORMA_STATS_COLUMNS] = {
		[ORMA_STATS_NAME] =
			orma_tables_string(tables, orma_base_str(definitions[value->stat].name)),
		[ORMA_STATS_KEY] = definitions[value->stat].key,
		[ORMA_STATS_IDX] =
			definitions[value->stat].type == INDEXED ? value->idx : ORMA_CELL_NULL,
		[ORMA_STATS_SEVERITY] = orma_tables_string(
			tables, orma_base_str(severities[definitions[value->stat].severity])),
		[ORMA_STATS_SOURCE] = orma_tables_string(
			tables, orma_base_str(sources[definitions[value->stat].source])),
		[ORMA_STATS_VALUE] = value->value,
		[ORMA_STATS_DESCRIPTION] = orma_tables_string(
			tables, orma_base_str(definitions[value->stat].description
						      ? definitions[value->stat].description
						      : "")),
		[ORMA_STATS_MACHINE_ID] = is_global ? ORMA_CELL_NULL : value->machine_idx,
		[ORMA_STATS_TRACE_ID] = is_global ? ORMA_CELL_NULL : value->trace_file,
	};
	return orma_store_table_append(&tables->all[ORMA_TABLE_STATS], cells);
}

static int compare(const void *a, const void *b)
{
	const struct orma_stat_value *x = a, *y = b;
	if (x->trace_file != y->trace_file)
		return x->trace_file < y->trace_file ? -1 : 1;
	if (x->machine_idx != y->machine_idx)
		return x->machine_idx < y->machine_idx ? -1 : 1;
	if (x->stat != y->stat)
		return x->stat < y->stat ? -1 : 1;
	return x->idx < y->idx ? -1 : x->idx > y->idx;
}

void orma_stats_fill(struct orma_stats *stats, uint32_t machine_idx)
{
	for (unsigned stat = 0; stat < ORMA_STATS; stat++)
		if (definitions[stat].type == SINGLE)
			orma_stats_add(stats, machine_idx, (enum orma_stat)stat, 0, 0);
}

int orma_stats_write(struct orma_stats *stats, struct orma_tables *tables)
{
	int r = stats->error;
	if (stats->count > 0)
		qsort(stats->values, stats->count, sizeof(*stats->values), compare);
	for (uint32_t i = 0; i < stats->count && r == 0; i++)
		r = write_row(tables, &stats->values[i]);
	return r;
}
