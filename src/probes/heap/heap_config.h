/* SPDX-License-Identifier: Apache-2.0
 * heap_config.h - HeapprofdConfig with its defaults and limits.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_CONFIG_H
#define ORMA_PROBES_HEAP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct orma_heap_config {
	struct orma_str bytes; /* the HeapprofdConfig, for the processes; in the arena */
	uint64_t interval_bytes;
	uint32_t dump_phase_ms, dump_interval_ms; /* interval 0 = one dump, at the end */
	bool dumps_at_max, streams, waits_for_room;
	uint32_t shm_kb, buffer_kb;
	uint32_t min_anonymous_kb; /* 0 = no limits */
	uint32_t max_memory_kb;
	uint64_t max_cpu_secs;
	uint32_t stop_timeout_ms; /* 0 = the service's default */
	const struct orma_str *skipped_prefixes;
	size_t skipped_prefix_count;
};

/* Reads a DataSourceConfig. 0, -EINVAL (and the log says why), -EBADMSG or -ENOMEM. */
int orma_heap_config_parse(const void *config, size_t size, struct orma_arena *arena,
			   struct orma_heap_config *ret);

#endif
