/* SPDX-License-Identifier: Apache-2.0
 * process_config.c - ProcessStatsConfig with its defaults and limits.
 *
 * The configuration comes from any process that may start tracing. It is decoded with the generated
 * tables, and each setting is applied, raised to a minimum, or refused with a message that names
 * the field. Rejected: failing a session because a number is too small, since recording something
 * is better than recording nothing.
 */
#include "base/arena.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/process_stats/process_stats.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/process_stats_config.pb.h"

static uint32_t ttl_polls(uint32_t ttl_ms, uint32_t poll_ms)
{
	if (poll_ms == 0)
		return 1;
	if (ttl_ms % poll_ms != 0)
		orma_base_log(
			ORMA_LOG_WARNING,
			"linux.process_stats: proc_stats_cache_ttl_ms: %u is not a multiple of "
			"proc_stats_poll_ms (%u); %u is used",
			ttl_ms, poll_ms, ORMA_MAX(ttl_ms / poll_ms, 1u) * poll_ms);
	return ORMA_MAX(ttl_ms / poll_ms, 1u);
}

static uint32_t poll_ms(uint32_t wanted)
{
	if (wanted == 0 || wanted >= ORMA_PROBES_PROCESS_POLL_MS_MIN)
		return wanted;
	orma_base_log(
		ORMA_LOG_INFO,
		"linux.process_stats: proc_stats_poll_ms: %u is below the minimum; %u is used",
		wanted, ORMA_PROBES_PROCESS_POLL_MS_MIN);
	return ORMA_PROBES_PROCESS_POLL_MS_MIN;
}

int orma_probes_process_config_parse(const void *config, size_t size,
				     struct orma_probes_process_config *ret)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_data_source_config *source;
	*ret = (struct orma_probes_process_config){.cache_ttl_polls = 1, .on_demand = true};
	int r = orma_pb_data_source_config_decode(config, size, &arena, &source);
	if (r < 0)
		return r;
	const struct orma_pb_process_stats_config *wanted = source->process_stats_config;
	ret->session_id = source->tracing_session_id;
	if (!wanted)
		return 0;
	/* The other quirk, DISABLE_INITIAL_DUMP, is the default. */
	for (size_t i = 0; i < wanted->quirks.count; i++)
		if (wanted->quirks.items[i] ==
		    ORMA_PB_PROCESS_STATS_CONFIG_QUIRKS_DISABLE_ON_DEMAND)
			ret->on_demand = false;
	ret->scan_on_start = wanted->scan_all_processes_on_start;
	ret->thread_names = wanted->record_thread_names;
	ret->fds = wanted->resolve_process_fds;
	ret->smaps_rollup = wanted->scan_smaps_rollup;
	ret->age = wanted->record_process_age;
	ret->runtime = wanted->record_process_runtime;
	ret->dmabuf_rss = wanted->record_process_dmabuf_rss;
	ret->skip_main_thread = wanted->skip_main_thread_message;
	ret->poll_ms = poll_ms(wanted->proc_stats_poll_ms);
	ret->cache_ttl_polls = ttl_polls(wanted->proc_stats_cache_ttl_ms, ret->poll_ms);
	return 0;
}
