/* SPDX-License-Identifier: Apache-2.0
 * ftrace_config.c - FtraceConfig with its defaults and limits.
 *
 * Owns the arena of a decoded config. The config comes from any process that may start tracing. A field of Android (atrace)
 * has no meaning here; it is refused by name, and the session records the rest: a config for many machines stays usable.
 * Names that go to tracefs are checked where they are written.
 *
 * A page that cannot be parsed has addresses of the kernel, which are hidden otherwise, and events of other sessions. So
 * debug_ftrace_abi needs the consent of the user who starts the probes, and not only of the session's. Upstream's comment
 * limits it to Android builds for developers.
 */
#include "probes/ftrace/ftrace_config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "schema/gen/data_source_config.pb.h"

#define HIGH_RAM_BYTES     (UINT64_C(7) << 30) /* a machine of 8 GiB reports less */
#define LOW_RAM_BUFFER_KB  2048
#define HIGH_RAM_BUFFER_KB 8192

uint64_t orma_ftrace_config_buffer_kb(const struct orma_pb_ftrace_config *wanted,
				      uint64_t total_ram_bytes)
{
	uint64_t usual_kb =
		total_ram_bytes >= HIGH_RAM_BYTES ? HIGH_RAM_BUFFER_KB : LOW_RAM_BUFFER_KB;

	if (wanted->buffer_size_kb == 0)
		return usual_kb;
	return wanted->buffer_size_lower_bound ? ORMA_MAX(wanted->buffer_size_kb, usual_kb)
					       : wanted->buffer_size_kb;
}

static void refuse_android(const struct orma_pb_ftrace_config *wanted,
			   struct orma_ftrace_report *report)
{
	const struct {
		const char *field;
		bool is_set;
	} fields[] = {
		{"atrace_categories", wanted->atrace_categories.count > 0},
		{"atrace_apps", wanted->atrace_apps.count > 0},
		{"atrace_categories_prefer_sdk", wanted->atrace_categories_prefer_sdk.count > 0},
		{"atrace_userspace_only", wanted->atrace_userspace_only},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++)
		if (fields[i].is_set)
			orma_ftrace_report_problem(
				report,
				"%s: only Android has atrace; name kernel events "
				"in ftrace_events",
				fields[i].field);
}

/* Cuts lists that would take too long to set up. */
static void limit_lists(struct orma_pb_ftrace_config *wanted, struct orma_ftrace_report *report)
{
	const struct {
		const char *field;
		size_t *count, max;
	} lists[] = {
		{"ftrace_events", &wanted->ftrace_events.count, ORMA_FTRACE_EVENTS_MAX},
		{"kprobe_events", &wanted->kprobe_events.count, ORMA_FTRACE_PROBES_MAX},
		{"function_filters", &wanted->function_filters.count, ORMA_FTRACE_FILTERS_MAX},
		{"function_graph_roots", &wanted->function_graph_roots.count,
		 ORMA_FTRACE_FILTERS_MAX},
		{"tracefs_options", &wanted->tracefs_options.count, ORMA_FTRACE_OPTIONS_MAX},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lists); i++) {
		if (*lists[i].count <= lists[i].max)
			continue;
		orma_ftrace_report_problem(report, "%s: one config may have %zu; ignored: %zu",
					   lists[i].field, lists[i].max,
					   *lists[i].count - lists[i].max);
		*lists[i].count = lists[i].max;
	}
}

static uint32_t check_period(const struct orma_pb_ftrace_config *wanted,
			     struct orma_ftrace_report *report)
{
	if (!orma_pb_ftrace_config_has_drain_period_ms(wanted))
		return 0;
	if (wanted->drain_period_ms >= 1 && wanted->drain_period_ms <= ORMA_FTRACE_PERIOD_MS_MAX)
		return wanted->drain_period_ms;
	orma_ftrace_report_problem(
		report, "drain_period_ms: %u is not between 1 and %u; %u is used",
		wanted->drain_period_ms, ORMA_FTRACE_PERIOD_MS_MAX, ORMA_FTRACE_PERIOD_MS_DEFAULT);
	return 0;
}

static uint32_t check_percent(const struct orma_pb_ftrace_config *wanted,
			      struct orma_ftrace_report *report)
{
	if (wanted->drain_buffer_percent <= 100)
		return wanted->drain_buffer_percent;
	orma_ftrace_report_problem(report,
				   "drain_buffer_percent: %u is more than 100; it is ignored",
				   wanted->drain_buffer_percent);
	return 0;
}

static bool may_keep_pages(const struct orma_pb_ftrace_config *wanted,
			   struct orma_ftrace_report *report)
{
	const char *consent = getenv("ORMA_FTRACE_RAW_PAGES");

	if (!wanted->debug_ftrace_abi || (consent && strcmp(consent, "1") == 0))
		return wanted->debug_ftrace_abi;
	orma_ftrace_report_problem(report, "debug_ftrace_abi: pages have addresses of the kernel; "
					   "they are not recorded, unless the probes are started "
					   "with ORMA_FTRACE_RAW_PAGES=1");
	return false;
}

int orma_ftrace_config_parse(const void *config, size_t size, struct orma_ftrace_config *ret,
			     struct orma_ftrace_report *report)
{
	struct orma_pb_data_source_config *source;

	*ret = (struct orma_ftrace_config){.compact_sched = true, .describe_generic = true};
	/* The decoded strings point into the text that was decoded. */
	const void *copy = orma_base_arena_memdup(&ret->arena, config, size);
	if (!copy)
		return -ENOMEM;
	int r = orma_pb_data_source_config_decode(copy, size, &ret->arena, &source);
	if (r < 0)
		return r;
	ret->session_id = source->tracing_session_id;
	struct orma_pb_ftrace_config *wanted = source->ftrace_config
						       ? source->ftrace_config
						       : orma_pb_ftrace_config_new(&ret->arena);
	if (!wanted)
		return -ENOMEM;
	ret->wanted = wanted;
	limit_lists(wanted, report);
	const struct orma_pb_ftrace_config_compact_sched_config *compact = wanted->compact_sched;
	if (compact && orma_pb_ftrace_config_compact_sched_config_has_enabled(compact))
		ret->compact_sched = compact->enabled;
	if (orma_pb_ftrace_config_has_denser_generic_event_encoding(wanted))
		ret->describe_generic = wanted->denser_generic_event_encoding;
	ret->has_exclusive_features = wanted->tids_to_trace.count > 0 ||
				      wanted->tracefs_options.count > 0 ||
				      wanted->tracing_cpumask.size > 0;
	ret->drain_period_ms = check_period(wanted, report);
	ret->drain_buffer_percent = check_percent(wanted, report);
	ret->keep_broken_pages = may_keep_pages(wanted, report);
	refuse_android(wanted, report);
	return 0;
}

void orma_ftrace_config_done(struct orma_ftrace_config *config)
{
	orma_base_arena_done(&config->arena);
	config->wanted = NULL;
}
