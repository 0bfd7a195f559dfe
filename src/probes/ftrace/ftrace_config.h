/* SPDX-License-Identifier: Apache-2.0
 * ftrace_config.h - FtraceConfig, decoded and checked.
 */
#ifndef ORMA_PROBES_FTRACE_CONFIG_H
#define ORMA_PROBES_FTRACE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "probes/ftrace/ftrace_report.h"
#include "schema/gen/ftrace_config.pb.h"

#define ORMA_FTRACE_PERIOD_MS_DEFAULT 100
#define ORMA_FTRACE_PERIOD_MS_MAX     60000

/* Limits of one config, so that its set-up holds the probes up for a second or two and not for minutes. The kernel compares each
 * filter and root with all of its functions, and makes each probe while the rest of tracefs waits. */
#define ORMA_FTRACE_FILTERS_MAX 100 /* function_filters, and as many function_graph_roots */
#define ORMA_FTRACE_PROBES_MAX  256
#define ORMA_FTRACE_EVENTS_MAX  4096 /* names and patterns */
#define ORMA_FTRACE_OPTIONS_MAX 256

struct orma_ftrace_config {
	struct orma_arena arena;
	const struct orma_pb_ftrace_config *wanted; /* in the arena; all its names are checked */
	uint64_t session_id;                        /* 0 = not known */
	uint32_t drain_period_ms;                   /* 0 = the default */
	uint32_t drain_buffer_percent;              /* 0 = no watermark */
	bool compact_sched, describe_generic, keep_broken_pages;
	bool has_exclusive_features;
};

/*
 * Decodes a DataSourceConfig. Fields without a meaning on Linux, and values out of range, go to the report; the rest of
 * the config stays in force. 0, -EBADMSG or -ENOMEM. Free it with orma_ftrace_config_done() in every case.
 */
int orma_ftrace_config_parse(const void *config, size_t size, struct orma_ftrace_config *ret,
			     struct orma_ftrace_report *report);
void orma_ftrace_config_done(struct orma_ftrace_config *config);

/* The size of each CPU's buffer in KiB; `total_ram_bytes` decides the default. */
uint64_t orma_ftrace_config_buffer_kb(const struct orma_pb_ftrace_config *wanted,
				      uint64_t total_ram_bytes);

#endif
