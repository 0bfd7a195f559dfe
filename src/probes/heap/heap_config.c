/* SPDX-License-Identifier: Apache-2.0
 * heap_config.c - reads the config of android.heapprofd.
 *
 * Owns nothing. The processes get the same HeapprofdConfig, and decide which of them and of their heaps are sampled (src/heap). An
 * invalid config is refused here, because the profiler has a log that somebody reads.
 *
 * Some of upstream's fields have no meaning on Linux: target_installed_by, because there is no installer; disable_fork_teardown and
 * disable_vfork_detection, because the child of a fork never disturbs the profile of its parent. A log line says so.
 */
#include "probes/heap/heap_config.h"

#include <errno.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/heapprofd_config.pb.h"

#define HEAPS_MAX            64u
#define DUMP_INTERVAL_MS_MIN 100u
#define SHM_BYTES_DEFAULT    (8u << 20)
#define SHM_BYTES_MIN        (128u << 10)
#define SHM_BYTES_MAX        (32u << 20)
#define BUFFERS_PER_SHM      4u
#define BUFFER_KB_MIN        (32u << 10)

static int refuse(const char *why)
{
	orma_base_log(ORMA_LOG_ERROR, "android.heapprofd: %s; nothing is recorded", why);
	return -EINVAL;
}

static int check(const struct orma_pb_heapprofd_config *wanted)
{
	size_t interval_count = wanted->heap_sampling_intervals.count;

	if (wanted->sampling_interval_bytes == 0 && interval_count == 0)
		return refuse("sampling_interval_bytes is not set (4096 is usual, and 1 records "
			      "every allocation)");
	if (wanted->heaps.count > HEAPS_MAX || wanted->exclude_heaps.count > HEAPS_MAX)
		return refuse("heaps and exclude_heaps have at most 64 names each");
	if (interval_count > 0 && interval_count != wanted->heaps.count)
		return refuse("heap_sampling_intervals needs as many numbers as heaps has names");
	for (size_t i = 0; i < interval_count; i++)
		if (wanted->heap_sampling_intervals.items[i] == 0)
			return refuse("heap_sampling_intervals contains 0");
	if (wanted->pid.count == 0 && wanted->process_cmdline.count == 0 && !wanted->all)
		orma_base_log(ORMA_LOG_WARNING,
			      "android.heapprofd: the configuration names no process; add pid, "
			      "process_cmdline or all");
	return 0;
}

static void warn_of_ignored(const struct orma_pb_heapprofd_config *wanted)
{
	if (wanted->target_installed_by.count > 0)
		orma_base_log(
			ORMA_LOG_WARNING,
			"android.heapprofd: target_installed_by is ignored, because programs of "
			"Linux have no installer; process_cmdline names programs");
	if (wanted->disable_fork_teardown || wanted->disable_vfork_detection)
		orma_base_log(
			ORMA_LOG_WARNING,
			"android.heapprofd: disable_fork_teardown and disable_vfork_detection "
			"are ignored, because a child never ends the profile of its parent");
	if (wanted->shmem_size_bytes > 0)
		orma_base_log(ORMA_LOG_INFO,
			      "android.heapprofd: shmem_size_bytes is the size of the profiler's "
			      "buffer; the shared memory of a process has 2 MiB");
}

/* A power of two, as upstream's ring is. */
static uint32_t shm_kb(uint64_t wanted)
{
	uint64_t bytes = SHM_BYTES_MIN;

	if (wanted == 0)
		wanted = SHM_BYTES_DEFAULT;
	while (bytes < wanted && bytes < SHM_BYTES_MAX)
		bytes *= 2;
	return (uint32_t)(bytes >> 10);
}

static void set_dumps(struct orma_heap_config *config,
		      const struct orma_pb_heapprofd_config_continuous_dump_config *wanted)
{
	if (!wanted || wanted->dump_interval_ms == 0)
		return;
	config->dump_phase_ms = wanted->dump_phase_ms;
	config->dump_interval_ms = ORMA_MAX(wanted->dump_interval_ms, DUMP_INTERVAL_MS_MIN);
	if (wanted->dump_interval_ms < DUMP_INTERVAL_MS_MIN)
		orma_base_log(
			ORMA_LOG_INFO,
			"android.heapprofd: dump_interval_ms: %u is below the minimum; %u is used",
			wanted->dump_interval_ms, DUMP_INTERVAL_MS_MIN);
}

static int encode(const struct orma_pb_heapprofd_config *wanted, struct orma_arena *arena,
		  struct orma_str *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	int r = orma_proto_encode(wanted, &bytes);

	if (r < 0)
		return r;
	ret->data = orma_base_arena_memdup(arena, bytes.data, bytes.size);
	ret->size = bytes.size;
	return ret->data || bytes.size == 0 ? 0 : -ENOMEM;
}

int orma_heap_config_parse(const void *config, size_t size, struct orma_arena *arena,
			   struct orma_heap_config *ret)
{
	struct orma_pb_data_source_config *source;
	int r = orma_proto_decode_copy(&orma_pb_data_source_config_desc, config, size, arena,
				       &source);

	if (r < 0)
		return r;
	const struct orma_pb_heapprofd_config *wanted = source->heapprofd_config;
	if (!wanted)
		return refuse("heapprofd_config is missing");
	r = check(wanted);
	if (r < 0)
		return r;
	warn_of_ignored(wanted);
	*ret = (struct orma_heap_config){
		.interval_bytes = wanted->sampling_interval_bytes,
		.stop_timeout_ms = source->stop_timeout_ms,
		.dumps_at_max = wanted->dump_at_max,
		.streams = wanted->stream_allocations,
		.waits_for_room = wanted->block_client,
		.shm_kb = shm_kb(wanted->shmem_size_bytes),
		.min_anonymous_kb = wanted->min_anonymous_memory_kb,
		.max_memory_kb = wanted->max_heapprofd_memory_kb,
		.max_cpu_secs = wanted->max_heapprofd_cpu_secs,
		.skipped_prefixes = wanted->skip_symbol_prefix.items,
		.skipped_prefix_count = wanted->skip_symbol_prefix.count,
	};
	ret->buffer_kb = ORMA_MAX(ret->shm_kb * BUFFERS_PER_SHM, BUFFER_KB_MIN);
	set_dumps(ret, wanted->continuous_dump_config);
	return encode(wanted, arena, &ret->bytes);
}
