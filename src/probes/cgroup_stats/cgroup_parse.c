/* SPDX-License-Identifier: Apache-2.0
 * cgroup_parse.c - the files of control groups, version 2 and 1.
 *
 * Owns the tables that say which file of which tree has which counters. Version 2 is one tree in
 * which a folder has the files of all controllers. Version 1 has a tree per controller; the same
 * path in several trees is one group here. A machine may have both (the "hybrid" layout): then the
 * tree of version 2 has no controllers, but pressure. Every file has one of five forms, and the
 * table gives the form, the names of the values and their unit.
 *
 * A value that is missing or not a number is left out. Numbers of several devices are added up;
 * a sum that overflows wraps.
 */
#include "base/macros.h"
#include "probes/cgroup_stats/cgroup_stats.h"
#include "probes/probe_text.h"
#include "schema/gen/cgroup_stats_config.pb.h"

#define NS_PER_US   1000
#define NS_PER_TICK 0 /* known at run time */

#define KIND(name) ORMA_PB_CGROUP_STATS_CONFIG_COUNTERS_##name
/* clang-format off */
#define KEY(text, counter, factor) {{text, sizeof(text) - 1}, ORMA_CGROUP_##counter, factor}
#define PRESSURE(resource) {KEY("some", resource##_SOME, NS_PER_US), KEY("full", resource##_FULL, NS_PER_US)}

static const struct orma_cgroup_file unified_files[] = {
	{"cpu.stat", KIND(CPU), ORMA_CGROUP_KEYS, {
		KEY("usage_usec", CPU, NS_PER_US), KEY("user_usec", CPU_USER, NS_PER_US),
		KEY("system_usec", CPU_SYSTEM, NS_PER_US), KEY("throttled_usec", CPU_THROTTLED, NS_PER_US)}},
	{"memory.current", KIND(MEMORY), ORMA_CGROUP_VALUE, {KEY("", MEMORY, 1)}},
	{"memory.stat", KIND(MEMORY), ORMA_CGROUP_KEYS, {KEY("anon", MEMORY_ANON, 1), KEY("file", MEMORY_FILE, 1)}},
	{"memory.swap.current", KIND(MEMORY), ORMA_CGROUP_VALUE, {KEY("", SWAP, 1)}},
	{"io.stat", KIND(IO), ORMA_CGROUP_DEVICES, {KEY("rbytes", IO_READ, 1), KEY("wbytes", IO_WRITTEN, 1)}},
	{"pids.current", KIND(PIDS), ORMA_CGROUP_VALUE, {KEY("", PIDS, 1)}},
	{"cpu.pressure", KIND(PRESSURE), ORMA_CGROUP_PRESSURE, PRESSURE(CPU)},
	{"memory.pressure", KIND(PRESSURE), ORMA_CGROUP_PRESSURE, PRESSURE(MEMORY)},
	{"io.pressure", KIND(PRESSURE), ORMA_CGROUP_PRESSURE, PRESSURE(IO)},
};
static const struct orma_cgroup_file cpu_files[] = {
	{"cpu.stat", KIND(CPU), ORMA_CGROUP_KEYS, {KEY("throttled_time", CPU_THROTTLED, 1)}},
};
static const struct orma_cgroup_file cpuacct_files[] = {
	{"cpuacct.usage", KIND(CPU), ORMA_CGROUP_VALUE, {KEY("", CPU, 1)}},
	{"cpuacct.stat", KIND(CPU), ORMA_CGROUP_KEYS, {
		KEY("user", CPU_USER, NS_PER_TICK), KEY("system", CPU_SYSTEM, NS_PER_TICK)}},
};
static const struct orma_cgroup_file memory_files[] = {
	{"memory.usage_in_bytes", KIND(MEMORY), ORMA_CGROUP_VALUE, {KEY("", MEMORY, 1)}},
	{"memory.stat", KIND(MEMORY), ORMA_CGROUP_KEYS, {
		KEY("total_rss", MEMORY_ANON, 1), KEY("total_cache", MEMORY_FILE, 1), KEY("total_swap", SWAP, 1)}},
};
static const struct orma_cgroup_file pids_files[] = {
	{"pids.current", KIND(PIDS), ORMA_CGROUP_VALUE, {KEY("", PIDS, 1)}},
};
static const struct orma_cgroup_file blkio_files[] = {
	{"blkio.throttle.io_service_bytes_recursive", KIND(IO), ORMA_CGROUP_BLKIO, {
		KEY("Read", IO_READ, 1), KEY("Write", IO_WRITTEN, 1)}},
};

#define FILES(array) array, ORMA_ARRAY_SIZE(array)
const struct orma_cgroup_hierarchy orma_cgroup_hierarchies[ORMA_CGROUP_HIERARCHY_COUNT] = {
	{"fs/cgroup", "cgroup.controllers", true, FILES(unified_files)},
	{"fs/cgroup/unified", "cgroup.controllers", false, FILES(unified_files)},
	{"fs/cgroup/cpu", NULL, false, FILES(cpu_files)},
	{"fs/cgroup/cpuacct", NULL, false, FILES(cpuacct_files)},
	{"fs/cgroup/memory", NULL, false, FILES(memory_files)},
	{"fs/cgroup/pids", NULL, false, FILES(pids_files)},
	{"fs/cgroup/blkio", NULL, false, FILES(blkio_files)},
};
/* clang-format on */

struct parse {
	const struct orma_cgroup_file *file;
	struct orma_cgroup_sample *sample;
	uint64_t ns_per_tick;
	uint32_t added; /* bit per counter: has a value of this file */
};

/* Adds a value to the counter of this name, if the file has it. */
static void add_value(struct parse *parse, struct orma_str name, struct orma_str number)
{
	uint64_t value;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(parse->file->keys); i++) {
		const struct orma_cgroup_key *key = &parse->file->keys[i];
		if (!key->name.data || !orma_base_str_is_equal(key->name, name))
			continue;
		if (!orma_probes_text_u64(number, &value))
			return;
		uint32_t bit = UINT32_C(1) << key->counter;
		uint64_t *total = &parse->sample->values[key->counter];
		if (!(parse->added & bit))
			*total = 0;
		*total += value * (key->factor ? key->factor : parse->ns_per_tick);
		parse->added |= bit;
		return;
	}
}

/* Adds the value of each word "name=number". */
static void add_pairs(struct parse *parse, struct orma_str words)
{
	struct orma_str word, name;

	while (orma_probes_text_word(&words, &word))
		if (orma_probes_text_until(&word, '=', &name))
			add_value(parse, name, word);
}

static void add_pressure(struct parse *parse, struct orma_str name, struct orma_str words)
{
	struct orma_str word, key;

	while (orma_probes_text_word(&words, &word))
		if (orma_probes_text_until(&word, '=', &key) && orma_base_str_is(key, "total"))
			add_value(parse, name, word);
}

static void parse_line(struct parse *parse, struct orma_str line)
{
	struct orma_str first, second, third;

	if (!orma_probes_text_word(&line, &first))
		return;
	switch (parse->file->form) {
	case ORMA_CGROUP_VALUE:
		add_value(parse, ORMA_STR(""), first);
		break;
	case ORMA_CGROUP_KEYS:
		if (orma_probes_text_word(&line, &second))
			add_value(parse, first, second);
		break;
	case ORMA_CGROUP_DEVICES:
		add_pairs(parse, line);
		break;
	case ORMA_CGROUP_BLKIO:
		/* The line with the sum of all has two words. */
		if (orma_probes_text_word(&line, &second) && orma_probes_text_word(&line, &third))
			add_value(parse, second, third);
		break;
	case ORMA_CGROUP_PRESSURE:
		add_pressure(parse, first, line);
		break;
	}
}

void orma_cgroup_file_parse(const struct orma_cgroup_file *file, struct orma_str text,
			    uint64_t ns_per_tick, struct orma_cgroup_sample *sample)
{
	struct parse parse = {.file = file, .sample = sample, .ns_per_tick = ns_per_tick};
	struct orma_str line;

	while (orma_probes_text_line(&text, &line))
		parse_line(&parse, line);
	sample->present |= parse.added;
}

void orma_cgroup_files_read(const struct orma_cgroup_hierarchy *hierarchy, int dir, uint32_t kinds,
			    uint64_t ns_per_tick, struct orma_buf *buf,
			    struct orma_cgroup_sample *sample)
{
	for (size_t i = 0; i < hierarchy->file_count; i++) {
		const struct orma_cgroup_file *file = &hierarchy->files[i];
		struct orma_str text;
		if (kinds >> file->kind & 1 &&
		    orma_probes_file_read_record(dir, file->name, buf, &text) == 0)
			orma_cgroup_file_parse(file, text, ns_per_tick, sample);
	}
}
