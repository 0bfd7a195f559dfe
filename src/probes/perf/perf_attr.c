/* SPDX-License-Identifier: Apache-2.0
 * perf_attr.c - the attributes of perf events: from the config to the kernel's numbers.
 *
 * Owns nothing. A sample has its time, task and CPU, so that the records of several CPUs can be merged. The walk needs three user
 * registers (four on arm64), so no others are copied.
 *
 * Records of mappings have device and inode. Rejected: build ids in their place (attr.build_id). They would name the content, but
 * perf_event_mmap_output() of Linux 5.12 to 6.18 then leaves PERF_RECORD_MISC_MMAP_BUILD_ID set in the records that it writes for
 * other events, which have an inode in that place. Debian's perf 6.1 aborted on each of them while orma sampled.
 *
 * perf_budget.c chooses the period of waits on whole CPUs. The period of events that children inherit cannot be changed, so these
 * events sample each wait. If whole CPUs must not be watched and the session has chosen a frequency, the kernel keeps that
 * frequency for each thread.
 *
 * A sample of a fixed period does not contain the period. If it did, the kernel would sample each software event, whatever the
 * period.
 *
 * The idle task is not sampled. Its samples say nothing, and would wake this process on an idle machine.
 */
#include "probes/perf/perf_attr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/macros.h"
#include "probes/probe_files.h"
#include "schema/gen/perf_events.pb.h"

/* The stack pointer, the frame pointer and the program counter; on arm64 also the link register. */
#if defined(__aarch64__)
#define USER_REGS (UINT64_C(1) << 29 | UINT64_C(1) << 30 | UINT64_C(1) << 31 | UINT64_C(1) << 32)
#else
#define USER_REGS (UINT64_C(1) << 6 | UINT64_C(1) << 7 | UINT64_C(1) << 8) /* bp, sp, ip */
#endif

/* ---- the numbers ---- */

static const struct {
	uint32_t type;
	uint64_t config;
} counters[] = {
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_CLOCK] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE,
							PERF_COUNT_SW_PAGE_FAULTS},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_TASK_CLOCK] = {PERF_TYPE_SOFTWARE,
						       PERF_COUNT_SW_TASK_CLOCK},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_CONTEXT_SWITCHES] = {PERF_TYPE_SOFTWARE,
							     PERF_COUNT_SW_CONTEXT_SWITCHES},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_MIGRATIONS] = {PERF_TYPE_SOFTWARE,
							   PERF_COUNT_SW_CPU_MIGRATIONS},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS_MIN] = {PERF_TYPE_SOFTWARE,
							    PERF_COUNT_SW_PAGE_FAULTS_MIN},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS_MAJ] = {PERF_TYPE_SOFTWARE,
							    PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_ALIGNMENT_FAULTS] = {PERF_TYPE_SOFTWARE,
							     PERF_COUNT_SW_ALIGNMENT_FAULTS},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_EMULATION_FAULTS] = {PERF_TYPE_SOFTWARE,
							     PERF_COUNT_SW_EMULATION_FAULTS},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_CPU_CYCLES] = {PERF_TYPE_HARDWARE,
						       PERF_COUNT_HW_CPU_CYCLES},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_INSTRUCTIONS] = {PERF_TYPE_HARDWARE,
							 PERF_COUNT_HW_INSTRUCTIONS},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_CACHE_REFERENCES] = {PERF_TYPE_HARDWARE,
							     PERF_COUNT_HW_CACHE_REFERENCES},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_CACHE_MISSES] = {PERF_TYPE_HARDWARE,
							 PERF_COUNT_HW_CACHE_MISSES},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_BRANCH_INSTRUCTIONS] = {PERF_TYPE_HARDWARE,
								PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_BRANCH_MISSES] = {PERF_TYPE_HARDWARE,
							  PERF_COUNT_HW_BRANCH_MISSES},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_BUS_CYCLES] = {PERF_TYPE_HARDWARE,
						       PERF_COUNT_HW_BUS_CYCLES},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_STALLED_CYCLES_FRONTEND] =
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_STALLED_CYCLES_BACKEND] =
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	[ORMA_PB_PERF_EVENTS_COUNTER_HW_REF_CPU_CYCLES] = {PERF_TYPE_HARDWARE,
							   PERF_COUNT_HW_REF_CPU_CYCLES},
	[ORMA_PB_PERF_EVENTS_COUNTER_SW_DUMMY] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
};

/* Reads the number in "<root><folder><name><file>". */
static int read_number(const char *root, const char *folder, struct orma_str name, const char *file,
		       uint64_t *ret)
{
	char path[512];
	int written = snprintf(path, sizeof(path), "%s%s%.*s%s", root, folder, (int)name.size,
			       name.data, file);

	if (written < 0 || (size_t)written >= sizeof(path))
		return -ENAMETOOLONG;
	return orma_probes_file_read_u64(AT_FDCWD, path, ret);
}

/* Reads the number of a tracepoint. Tracefs has a folder for each group. The name comes from a config, so it
 * must not lead elsewhere. */
static int find_tracepoint(const struct orma_perf_paths *paths, struct orma_str name, uint64_t *ret)
{
	static const char *const usual[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char folder[160];
	int r = -ENOENT;

	if (name.size == 0 || name.size >= sizeof(folder))
		return -ENOENT;
	memcpy(folder, name.data, name.size);
	folder[name.size] = '\0';
	char *colon = strpbrk(folder, ":/");
	if (!colon || strchr(folder, '.') || strlen(folder) != name.size)
		return -ENOENT;
	*colon = '/';
	if (strchr(colon + 1, '/'))
		return -ENOENT;
	struct orma_str part = {folder, name.size};
	if (paths->tracefs)
		return read_number(paths->tracefs, "/events/", part, "/id", ret);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(usual) && r < 0; i++)
		r = read_number(usual[i], "/events/", part, "/id", ret);
	return r;
}

int orma_perf_attr_find(const struct orma_perf_paths *paths, const struct orma_perf_event *event,
			struct perf_event_attr *ret)
{
	uint64_t number;
	int r;

	*ret = (struct perf_event_attr){.size = sizeof(*ret)};
	switch (event->kind) {
	case ORMA_PERF_EVENT_TRACEPOINT:
		r = find_tracepoint(paths, event->tracepoint, &number);
		if (r < 0)
			return r;
		ret->type = PERF_TYPE_TRACEPOINT;
		ret->config = number;
		return 0;
	case ORMA_PERF_EVENT_RAW:
		number = event->raw_type;
		r = event->pmu_name.size == 0
			    ? 0
			    : read_number(paths->sys, "/bus/event_source/devices/", event->pmu_name,
					  "/type", &number);
		if (r < 0)
			return r;
		ret->type = (uint32_t)number;
		ret->config = event->raw_config;
		ret->config1 = event->raw_config1;
		ret->config2 = event->raw_config2;
		return 0;
	default:
		ret->type = counters[event->counter].type;
		ret->config = counters[event->counter].config;
		return 0;
	}
}

/* ---- the rest ---- */

static void set_common(const struct orma_perf_attr_options *options,
		       const struct orma_perf_event *event, struct perf_event_attr *attr)
{
	attr->disabled = 1;
	attr->exclude_user = event->exclude_user;
	attr->exclude_kernel = event->exclude_kernel || !(options->can & ORMA_PERF_CAN_KERNEL);
	attr->exclude_hv = event->exclude_hv || !(options->can & ORMA_PERF_CAN_KERNEL);
	attr->use_clockid = 1;
	attr->clockid = options->config->clock;
	attr->inherit = options->is_per_task;
	if (options->is_per_task && !options->config->follow_children &&
	    options->can & ORMA_PERF_CAN_INHERIT_THREAD)
		attr->inherit_thread = 1;
	if (!options->is_per_task)
		attr->read_format = options->config->follower_count > 0 ? PERF_FORMAT_GROUP : 0;
}

static void set_stacks(const struct orma_perf_attr_options *options, struct perf_event_attr *attr)
{
	const struct orma_perf_config *config = options->config;
	bool wants_kernel = config->kernel_frames && options->can & ORMA_PERF_CAN_KERNEL;
	bool wants_chain = config->user_frames == ORMA_PERF_USER_KERNEL_FP;

	if (config->user_frames == ORMA_PERF_USER_DWARF ||
	    config->user_frames == ORMA_PERF_USER_FP) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = USER_REGS;
		attr->sample_stack_user = options->stack_bytes;
	}
	if (wants_kernel || wants_chain) {
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr->exclude_callchain_kernel = !wants_kernel;
		attr->exclude_callchain_user = !wants_chain;
	}
}

/* Asks for records of mappings and names, and of the beginning and end of tasks. */
static void set_side_records(struct perf_event_attr *attr)
{
	attr->sample_id_all = 1;
	attr->mmap = attr->mmap2 = 1;
	attr->comm = attr->comm_exec = 1;
	attr->task = 1;
}

static void set_wakeup(const struct orma_perf_attr_options *options, struct perf_event_attr *attr)
{
	attr->watermark = 1;
	attr->wakeup_watermark = options->wakeup_bytes;
}

bool orma_perf_attr_has_budget(const struct orma_perf_config *config)
{
	/* The events of control groups have one count for each group. */
	return config->off_cpu && config->period == 0 && config->cgroup_count == 0;
}

void orma_perf_attr_sample(const struct orma_perf_attr_options *options,
			   struct perf_event_attr *attr)
{
	const struct orma_perf_config *config = options->config;

	set_common(options, &config->timebase, attr);
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	/* The count of an inherited event is that of a single thread, if the kernel reads it at all. */
	if (!options->is_per_task)
		attr->sample_type |= PERF_SAMPLE_READ;
	attr->exclude_idle = 1;
	attr->context_switch = config->off_cpu;
	if (config->period > 0) {
		attr->sample_period = config->period;
	} else if (orma_perf_attr_has_budget(config) && !options->is_per_task) {
		attr->sample_period = ORMA_PERF_WAITS_PERIOD_FIRST;
	} else if (config->off_cpu &&
		   (!options->is_per_task || options->may_watch || !config->is_hz_chosen)) {
		attr->sample_period = 1;
	} else {
		attr->sample_type |= PERF_SAMPLE_PERIOD;
		attr->freq = 1;
		attr->sample_freq = config->hz;
	}
	set_wakeup(options, attr);
	if (!config->wants_stacks)
		return;
	set_side_records(attr);
	set_stacks(options, attr);
}

void orma_perf_attr_count(const struct orma_perf_attr_options *options,
			  const struct orma_perf_event *event, struct perf_event_attr *attr)
{
	set_common(options, event, attr);
	/* A follower is enabled with its leader. */
	attr->disabled = 0;
}

void orma_perf_attr_dummy(const struct orma_perf_attr_options *options, struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){.size = sizeof(*ret),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.use_clockid = 1,
					.clockid = options->config->clock,
					.exclude_kernel = 1,
					.exclude_hv = 1};
	set_wakeup(options, ret);
}

void orma_perf_attr_layout(const struct perf_event_attr *attr, struct orma_perf_layout *ret)
{
	*ret = (struct orma_perf_layout){.sample_type = attr->sample_type,
					 .user_regs = attr->sample_regs_user,
					 .is_group = (attr->read_format & PERF_FORMAT_GROUP) != 0};
}
