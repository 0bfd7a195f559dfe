/* SPDX-License-Identifier: Apache-2.0
 * perf_config.c - PerfEventConfig with its defaults and limits.
 *
 * Owns nothing. Strings and lists of the result lie in the caller's arena. Any process that may start tracing can send a config,
 * so numbers are limited and contradictions are refused. Older fields are read if `timebase` or `callstack_sampling` is absent.
 * Fields about Android (target_installed_by, remote_descriptor_timeout_ms) and about a queue that orma does not have
 * (max_enqueued_footprint_kb) have no meaning. A log line says so.
 */
#include "probes/perf/perf_config.h"

#include <errno.h>
#include <unistd.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/perf_event_config.pb.h"
#include "schema/gen/perf_events.pb.h"

#define STACK_ALIGN 8u

static int refuse(const char *why)
{
	orma_base_log(ORMA_LOG_ERROR, "linux.perf: %s", why);
	return -EINVAL;
}

/* ---- events ---- */

static int read_tracepoint(const struct orma_pb_perf_events_tracepoint *from,
			   struct orma_arena *arena, struct orma_perf_event *ret)
{
	ret->kind = ORMA_PERF_EVENT_TRACEPOINT;
	ret->tracepoint = from->name;
	ret->filter = orma_base_arena_strdup(arena, from->filter);
	if (!ret->filter)
		return -ENOMEM;
	const char *slash = from->name.size ? memchr(from->name.data, '/', from->name.size) : NULL;
	const char *colon = from->name.size ? memchr(from->name.data, ':', from->name.size) : NULL;
	if (!slash && !colon)
		return refuse("a tracepoint is named group:name");
	return 0;
}

static int read_raw(const struct orma_pb_perf_events_raw_event *from, struct orma_perf_event *ret)
{
	ret->kind = ORMA_PERF_EVENT_RAW;
	ret->raw_type = from->type;
	ret->raw_config = from->config;
	ret->raw_config1 = from->config1;
	ret->raw_config2 = from->config2;
	ret->pmu_name = from->pmu_name;
	if (orma_pb_perf_events_raw_event_has_type(from) && from->pmu_name.size > 0)
		return refuse("a raw event has a type or a pmu_name, and not both");
	/* The name becomes a part of a path. */
	if (from->pmu_name.size > 64 ||
	    (from->pmu_name.size > 0 && (memchr(from->pmu_name.data, '/', from->pmu_name.size) ||
					 from->pmu_name.data[0] == '.')))
		return refuse("pmu_name is not the name of a PMU");
	return 0;
}

/* The modifiers name what is counted. Without any, everything is counted. */
static void read_modifiers(const int32_t *items, size_t count, struct orma_perf_event *ret)
{
	bool user = false, kernel = false, hypervisor = false;

	for (size_t i = 0; i < count; i++) {
		user |= items[i] ==
			ORMA_PB_PERF_EVENTS_EVENT_MODIFIER_EVENT_MODIFIER_COUNT_USERSPACE;
		kernel |=
			items[i] == ORMA_PB_PERF_EVENTS_EVENT_MODIFIER_EVENT_MODIFIER_COUNT_KERNEL;
		hypervisor |= items[i] ==
			      ORMA_PB_PERF_EVENTS_EVENT_MODIFIER_EVENT_MODIFIER_COUNT_HYPERVISOR;
	}
	if (!user && !kernel && !hypervisor)
		return;
	ret->exclude_user = !user;
	ret->exclude_kernel = !kernel;
	ret->exclude_hv = !hypervisor;
}

static int read_counter(int32_t counter, struct orma_perf_event *ret)
{
	ret->kind = ORMA_PERF_EVENT_COUNTER;
	ret->counter = counter;
	if (counter <= ORMA_PB_PERF_EVENTS_COUNTER_UNKNOWN_COUNTER ||
	    counter > ORMA_PB_PERF_EVENTS_COUNTER_SW_DUMMY)
		return refuse("a counter is not known");
	return 0;
}

static int read_timebase(const struct orma_pb_perf_events_timebase *from, struct orma_arena *arena,
			 struct orma_perf_config *ret)
{
	int r = read_counter(ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_CLOCK, &ret->timebase);

	if (!from)
		return r;
	if (from->tracepoint)
		r = read_tracepoint(from->tracepoint, arena, &ret->timebase);
	else if (from->raw_event)
		r = read_raw(from->raw_event, &ret->timebase);
	else if (orma_pb_perf_events_timebase_has_counter(from))
		r = read_counter(from->counter, &ret->timebase);
	read_modifiers(from->modifiers.items, from->modifiers.count, &ret->timebase);
	return r;
}

static int read_followers(const struct orma_pb_perf_event_config *from, struct orma_arena *arena,
			  struct orma_perf_config *ret)
{
	if (from->followers.count > ORMA_PERF_FOLLOWERS_MAX)
		return refuse("there are more than 16 followers");
	for (size_t i = 0; i < from->followers.count; i++) {
		const struct orma_pb_follower_event *follower = from->followers.items[i];
		struct orma_perf_event *event = &ret->followers[i];
		int r;
		if (follower->tracepoint)
			r = read_tracepoint(follower->tracepoint, arena, event);
		else if (follower->raw_event)
			r = read_raw(follower->raw_event, event);
		else
			r = read_counter(follower->counter, event);
		if (r < 0)
			return r;
		read_modifiers(follower->modifiers.items, follower->modifiers.count, event);
	}
	ret->follower_count = (uint32_t)from->followers.count;
	return 0;
}

/* ---- when ---- */

static void set_clock(int32_t wanted, struct orma_perf_config *ret)
{
	switch (wanted) {
	case ORMA_PB_PERF_EVENTS_PERF_CLOCK_PERF_CLOCK_REALTIME:
		ret->clock = CLOCK_REALTIME;
		ret->clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_REALTIME;
		break;
	case ORMA_PB_PERF_EVENTS_PERF_CLOCK_PERF_CLOCK_MONOTONIC:
		ret->clock = CLOCK_MONOTONIC;
		ret->clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC;
		break;
	case ORMA_PB_PERF_EVENTS_PERF_CLOCK_PERF_CLOCK_BOOTTIME:
		ret->clock = CLOCK_BOOTTIME;
		ret->clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
		break;
	default:
		ret->clock = CLOCK_MONOTONIC_RAW;
		ret->clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_RAW;
	}
}

static int read_interval(const struct orma_pb_perf_event_config *from, struct orma_perf_config *ret)
{
	const struct orma_pb_perf_events_timebase *timebase = from->timebase;

	if (timebase)
		set_clock(timebase->timestamp_clock, ret);
	else
		set_clock(0, ret);
	if (timebase && timebase->poll_period_ms > 0) {
		if (from->callstack_sampling || from->ring_buffer_read_period_ms > 0)
			return refuse("poll_period_ms excludes callstack_sampling and "
				      "ring_buffer_read_period_ms");
		ret->poll_ms = ORMA_MAX(timebase->poll_period_ms, ORMA_PERF_POLL_MS_MIN);
	} else if (timebase && timebase->period > 0) {
		ret->period = timebase->period;
	} else if (timebase && timebase->frequency > 0) {
		ret->hz = timebase->frequency;
		ret->is_hz_chosen = true;
	} else {
		uint32_t usual = from->off_cpu ? ORMA_PERF_WAITS_HZ_DEFAULT : ORMA_PERF_HZ_DEFAULT;
		ret->hz = from->sampling_frequency > 0 ? from->sampling_frequency : usual;
	}
	return 0;
}

/* ---- call stacks ---- */

static int set_user_frames(int32_t wanted, struct orma_perf_config *ret)
{
	switch (wanted) {
	case ORMA_PB_PERF_EVENT_CONFIG_UNWIND_MODE_UNWIND_UNKNOWN:
	case ORMA_PB_PERF_EVENT_CONFIG_UNWIND_MODE_UNWIND_DWARF:
		ret->user_frames = ORMA_PERF_USER_DWARF;
		return 0;
	case ORMA_PB_PERF_EVENT_CONFIG_UNWIND_MODE_UNWIND_SKIP:
		ret->user_frames = ORMA_PERF_USER_SKIP;
		return 0;
	case ORMA_PB_PERF_EVENT_CONFIG_UNWIND_MODE_UNWIND_FRAME_POINTER:
		ret->user_frames = ORMA_PERF_USER_FP;
		return 0;
	case ORMA_PB_PERF_EVENT_CONFIG_UNWIND_MODE_UNWIND_KERNEL_FRAME_POINTER:
		ret->user_frames = ORMA_PERF_USER_KERNEL_FP;
		return 0;
	default:
		return refuse("user_frames is not known");
	}
}

static int read_stacks(const struct orma_pb_perf_event_config *from, struct orma_perf_config *ret)
{
	const struct orma_pb_perf_event_config_callstack_sampling *stacks =
		from->callstack_sampling;
	struct orma_perf_scope_config *scope = &ret->scope;

	ret->wants_stacks = stacks || from->all_cpus || from->off_cpu;
	ret->kernel_frames = stacks ? stacks->kernel_frames : from->kernel_frames;
	if (stacks && stacks->scope) {
		const struct orma_pb_perf_event_config_scope *wanted = stacks->scope;
		*scope = (struct orma_perf_scope_config){
			wanted->target_pid.items,         wanted->exclude_pid.items,
			wanted->target_pid.count,         wanted->exclude_pid.count,
			wanted->target_cmdline.items,     wanted->exclude_cmdline.items,
			wanted->target_cmdline.count,     wanted->exclude_cmdline.count,
			wanted->additional_cmdline_count, wanted->process_shard_count,
		};
	} else {
		*scope = (struct orma_perf_scope_config){
			from->target_pid.items,         from->exclude_pid.items,
			from->target_pid.count,         from->exclude_pid.count,
			from->target_cmdline.items,     from->exclude_cmdline.items,
			from->target_cmdline.count,     from->exclude_cmdline.count,
			from->additional_cmdline_count, 0,
		};
	}
	return set_user_frames(stacks ? stacks->user_frames : 0, ret);
}

/* ---- all of it ---- */

static bool is_power_of_two(uint32_t number)
{
	return number > 0 && (number & (number - 1)) == 0;
}

static int read_limits(const struct orma_pb_perf_event_config *from, struct orma_perf_config *ret)
{
	if (from->ring_buffer_pages > 0 && (!is_power_of_two(from->ring_buffer_pages) ||
					    from->ring_buffer_pages > ORMA_PERF_RING_PAGES_MAX))
		return refuse("ring_buffer_pages is a power of two up to 65536");
	ret->ring_pages = from->ring_buffer_pages;
	if (from->ring_buffer_read_period_ms > 0)
		ret->read_ms = ORMA_MAX(from->ring_buffer_read_period_ms, ORMA_PERF_READ_MS_MIN);
	ret->stack_bytes = from->stack_bytes > 0 ? ORMA_MIN(from->stack_bytes & ~(STACK_ALIGN - 1),
							    ORMA_PERF_STACK_BYTES_MAX)
						 : ORMA_PERF_STACK_BYTES_DEFAULT;
	ret->stack_bytes = ORMA_MAX(ret->stack_bytes, STACK_ALIGN);
	ret->memory_kb_max = from->max_daemon_memory_kb;
	ret->clear_period_ms = from->unwind_state_clear_period_ms;
	ret->ignore_open_failure = from->ignore_open_failure;
	ret->cpus = from->target_cpu.items;
	ret->cpu_count = from->target_cpu.count;
	ret->cpuids = from->cpuid.items;
	ret->cpuid_count = from->cpuid.count;
	if (from->cgroup.count > ORMA_PERF_CGROUPS_MAX)
		return refuse("there are more than 32 control groups");
	ret->cgroups = from->cgroup.items;
	ret->cgroup_count = from->cgroup.count;
	ret->follow_children = from->follow_children;
	ret->off_cpu = from->off_cpu;
	if (ret->off_cpu && ret->poll_ms > 0)
		return refuse("off_cpu excludes poll_period_ms");
	return 0;
}

static void warn_of_ignored(const struct orma_pb_perf_event_config *from)
{
	if (from->target_installed_by.count > 0)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.perf: target_installed_by is ignored, because programs of "
			      "Linux have no installer; target_cmdline names programs");
	if (from->remote_descriptor_timeout_ms > 0)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.perf: remote_descriptor_timeout_ms is ignored, because /proc "
			      "is read at once");
	if (from->max_enqueued_footprint_kb > 0)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.perf: max_enqueued_footprint_kb is ignored, because samples "
			      "are not enqueued; max_daemon_memory_kb limits the memory");
}

int orma_perf_config_parse(const void *config, size_t size, struct orma_arena *arena,
			   struct orma_perf_config *ret)
{
	struct orma_pb_data_source_config *source;
	int r = orma_proto_decode_copy(&orma_pb_data_source_config_desc, config, size, arena,
				       &source);

	if (r < 0)
		return r;
	const struct orma_pb_perf_event_config *from = source->perf_event_config;
	if (!from)
		from = orma_pb_perf_event_config_new(arena);
	if (!from)
		return -ENOMEM;
	struct orma_perf_config parsed = {.source = from,
					  .stop_timeout_ms = source->stop_timeout_ms};
	r = read_timebase(from->timebase, arena, &parsed);
	if (r == 0)
		r = read_followers(from, arena, &parsed);
	if (r == 0)
		r = read_interval(from, &parsed);
	if (r == 0)
		r = read_stacks(from, &parsed);
	if (r == 0)
		r = read_limits(from, &parsed);
	if (r < 0)
		return r;
	warn_of_ignored(from);
	*ret = parsed;
	return 0;
}
