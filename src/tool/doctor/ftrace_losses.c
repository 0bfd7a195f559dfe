/* SPDX-License-Identifier: Apache-2.0
 * ftrace_losses.c - counts lost events of ftrace.
 *
 * The kernel overwrites its oldest events when the reader is late, and counts them per CPU since it
 * was started (FtraceStats, at the begin and at the end of a session). The reader also marks the
 * first bundle after a loss (lost_events), which shows where the gap is, but not how many events it
 * has. A trace without the statistics of the begin cannot tell its losses from earlier ones.
 */
#include "tool/doctor/ftrace_losses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/ftrace_stats.pb.h"

#define PAGE_KB    4u
#define LISTED_MAX 16

struct cpu {
	uint64_t lost_bundles;
	uint64_t begin_lost,
		end_lost; /* overwritten and dropped events, as counted by the kernel */
	bool has_begin, has_end;
};

static struct cpu *get_cpu(struct orma_ftrace_losses *losses, uint64_t number)
{
	struct cpu *cpu = orma_base_map_get(&losses->cpus, number);

	if (cpu)
		return cpu;
	cpu = orma_base_zalloc(sizeof(*cpu));
	if (!cpu || orma_base_map_put(&losses->cpus, number, cpu)) {
		orma_base_free(cpu);
		return NULL;
	}
	return cpu;
}

int orma_ftrace_losses_add_bundle(struct orma_ftrace_losses *losses, struct orma_str bundle)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint64_t number = 0, is_lost = 0;
	int r;

	orma_proto_reader_init(&reader, bundle.data, bundle.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_CPU)
			number = field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS)
			is_lost = field.value;
	}
	if (r < 0 || is_lost == 0)
		return r;
	struct cpu *cpu = get_cpu(losses, number);
	if (!cpu)
		return -ENOMEM;
	cpu->lost_bundles++;
	return 0;
}

static int take_cpus(struct orma_ftrace_losses *losses, const struct orma_pb_ftrace_stats *stats)
{
	for (size_t i = 0; i < stats->cpu_stats.count; i++) {
		const struct orma_pb_ftrace_cpu_stats *from = stats->cpu_stats.items[i];
		struct cpu *cpu = get_cpu(losses, from->cpu);
		uint64_t lost = from->overrun + from->commit_overrun + from->dropped_events;
		if (!cpu)
			return -ENOMEM;
		if (stats->phase == ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE) {
			cpu->begin_lost = lost;
			cpu->has_begin = true;
		} else {
			cpu->end_lost = lost;
			cpu->has_end = true;
		}
	}
	return 0;
}

static int take_names(struct orma_ftrace_losses *losses, const struct orma_str *names, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = orma_base_buf_append(&losses->refused_events, names[i].data, names[i].size);
		r = r ? r : orma_base_buf_append(&losses->refused_events, "", 1);
	}
	return r;
}

int orma_ftrace_losses_add_stats(struct orma_ftrace_losses *losses, struct orma_str bytes)
{
	struct orma_arena arena = {0};
	struct orma_pb_ftrace_stats *stats;
	int r = orma_proto_decode(&orma_pb_ftrace_stats_desc, bytes.data, bytes.size, &arena,
				  &stats);

	if (r == 0) {
		losses->parse_errors += stats->ftrace_parse_errors.count;
		if (stats->cpu_buffer_size_pages)
			losses->buffer_pages = stats->cpu_buffer_size_pages;
		r = take_cpus(losses, stats);
	}
	if (r == 0 && stats->atrace_errors.size) {
		losses->problem.size = 0; /* it repeats the earlier ones */
		r = orma_base_buf_append(&losses->problem, stats->atrace_errors.data,
					 stats->atrace_errors.size);
	}
	if (r == 0)
		r = take_names(losses, stats->unknown_ftrace_events.items,
			       stats->unknown_ftrace_events.count);
	if (r == 0)
		r = take_names(losses, stats->failed_ftrace_events.items,
			       stats->failed_ftrace_events.count);
	orma_base_arena_done(&arena);
	return r;
}

/* Returns false when the CPU has lost nothing. */
static bool report_cpu(uint64_t number, const struct cpu *cpu, struct orma_findings *findings)
{
	if (cpu->has_begin && cpu->has_end && cpu->end_lost > cpu->begin_lost)
		orma_findings_add(findings, "ftrace_lost",
				  "CPU %" PRIu64 " lost %" PRIu64
				  " %s, because its ftrace buffer was full.",
				  number, cpu->end_lost - cpu->begin_lost,
				  orma_base_noun(cpu->end_lost - cpu->begin_lost, "kernel event",
						 "kernel events"));
	else if (cpu->lost_bundles)
		orma_findings_add(findings, "ftrace_lost",
				  "CPU %" PRIu64 " lost kernel events at %" PRIu64
				  " %s, because its ftrace buffer was full.",
				  number, cpu->lost_bundles,
				  orma_base_noun(cpu->lost_bundles, "place", "places"));
	else
		return false;
	return true;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void report_cpus(const struct orma_ftrace_losses *losses, struct orma_findings *findings)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_map_slot *slot;
	size_t position = 0, lossy = 0;

	while ((slot = orma_base_map_next(&losses->cpus, &position)))
		findings->is_out_of_memory |=
			orma_base_buf_append(&buf, &slot->key, sizeof(slot->key)) != 0;
	uint64_t *numbers = (void *)buf.data;
	size_t count = buf.size / sizeof(*numbers), i = 0;
	if (count > 0)
		qsort(numbers, count, sizeof(*numbers), compare_numbers);
	for (; i < count && lossy < LISTED_MAX; i++)
		lossy += report_cpu(numbers[i], orma_base_map_get(&losses->cpus, numbers[i]),
				    findings);
	if (lossy == LISTED_MAX && i < count)
		orma_findings_add_note(findings, "more_cpus",
				       "%zu more %s not listed; they may have lost events, too.",
				       count - i, orma_base_noun(count - i, "CPU is", "CPUs are"));
	if (lossy > 0)
		orma_findings_advise(
			findings,
			"Give ftrace_config a larger buffer_size_kb (it was %" PRIu64
			" KB per CPU) or a shorter drain_period_ms, or record fewer events.",
			losses->buffer_pages * PAGE_KB);
}

void orma_ftrace_losses_report(const struct orma_ftrace_losses *losses,
			       struct orma_findings *findings)
{
	const char *name = (const char *)losses->refused_events.data;

	report_cpus(losses, findings);
	if (losses->problem.size)
		orma_findings_add(findings, "ftrace_problem",
				  "Events of the kernel are missing: %.*s.",
				  (int)losses->problem.size, (const char *)losses->problem.data);
	for (size_t at = 0; at < losses->refused_events.size; at += strlen(name + at) + 1) {
		orma_findings_add(findings, "ftrace_event_refused",
				  "The ftrace event \"%s\" of the config was not recorded: this "
				  "kernel does not have it, or refused to enable it.",
				  name + at);
		orma_findings_advise(findings, "`orma doctor --config FILE` suggests names.");
	}
	if (losses->parse_errors)
		orma_findings_add(
			findings, "ftrace_parse_errors",
			"Pages of the kernel could not be parsed: %" PRIu64 " %s.",
			losses->parse_errors,
			orma_base_noun(losses->parse_errors, "kind of error", "kinds of errors"));
}

void orma_ftrace_losses_done(struct orma_ftrace_losses *losses)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&losses->cpus, &position)))
		orma_base_free(slot->value);
	orma_base_map_done(&losses->cpus);
	orma_base_buf_done(&losses->refused_events);
	orma_base_buf_done(&losses->problem);
}
