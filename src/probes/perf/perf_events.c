/* SPDX-License-Identifier: Apache-2.0
 * perf_events.c - opens the events of an instance, and maps their rings.
 *
 * Owns the descriptors, the rings and their watches. There are two forms:
 *
 *   whole CPUs:    one group of events for each CPU; its leader owns the CPU's ring.
 *   single tasks:  one event for each task and CPU, which the children of the task inherit.
 *
 * The kernel maps no ring for an inherited event of all CPUs. Therefore the events of single tasks write to one ring for each
 * CPU. A dummy event of this process, which never happens, owns that ring. A ring of a profiled task would report a hang-up for
 * ever after the end of the task.
 *
 * If the kernel does not support or permit one attribute of an event, it refuses the whole event. So the event is opened again with
 * fewer features: first without those that older kernels lack, one after the other, and then without those that need more rights.
 * `can` has the features with which the kernel has accepted it.
 *
 * A ring has room for half a second at the rate of the session. Its records have a fixed size, because the kernel reserves the
 * whole copy of the stack. The kernel wakes this process when a quarter is full, so an idle machine causes no wake-ups. A user
 * with a limit of locked memory gets smaller rings.
 */
#include "probes/perf/perf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe_files.h"
#include "schema/gen/perf_events.pb.h"

#define RING_BYTES_MIN (256u << 10)
#define RING_BYTES_MAX (16u << 20)
#define RING_PARTS     2u /* a ring has room for the samples of 1 / RING_PARTS seconds */
#define WAKEUP_PARTS   4u
#define RECORDS_LEAST  2u /* in the smallest ring */
#define FDS_MAX        65536u

/* ---- descriptors ---- */

static int add_fd(struct orma_perf_events *events, struct orma_perf_cpu *cpu, int fd)
{
	if (fd < 0)
		return fd;
	if (cpu->fd_count == cpu->fd_capacity) {
		size_t capacity = ORMA_MAX(cpu->fd_capacity * 2, (size_t)8);
		int32_t *fds = capacity <= FDS_MAX
				       ? orma_base_realloc_array(cpu->fds, capacity, sizeof(*fds))
				       : NULL;
		if (!fds) {
			events->kernel->close(events->kernel->ctx, fd);
			return capacity <= FDS_MAX ? -ENOMEM : -EMFILE;
		}
		cpu->fds = fds;
		cpu->fd_capacity = capacity;
	}
	cpu->fds[cpu->fd_count++] = fd;
	return fd;
}

static int open_event(struct orma_perf_events *events, struct orma_perf_cpu *cpu,
		      const struct perf_event_attr *attr, pid_t pid, int group_fd,
		      unsigned long flags)
{
	const struct orma_perf_kernel *kernel = events->kernel;

	return add_fd(events, cpu,
		      kernel->open(kernel->ctx, attr, pid, (int)cpu->cpu, group_fd, flags));
}

static int set_filter(struct orma_perf_events *events, int fd, const struct orma_perf_event *event)
{
	if (event->kind != ORMA_PERF_EVENT_TRACEPOINT || !event->filter || !event->filter[0])
		return 0;
	return events->kernel->control(events->kernel->ctx, fd, PERF_EVENT_IOC_SET_FILTER,
				       (unsigned long)(uintptr_t)event->filter);
}

/* ---- one group ---- */

/* The attributes of all events of a group. */
struct group {
	struct perf_event_attr leader, followers[ORMA_PERF_FOLLOWERS_MAX], dummy;
	uint32_t follower_count;
};

static const struct orma_perf_event off_cpu_event = {
	.kind = ORMA_PERF_EVENT_COUNTER,
	.counter = ORMA_PB_PERF_EVENTS_COUNTER_SW_CONTEXT_SWITCHES};

static int make_group(const struct orma_perf_open *open,
		      const struct orma_perf_attr_options *options, struct group *ret)
{
	const struct orma_perf_config *config = open->config;
	int r = orma_perf_attr_find(
		&open->paths, config->off_cpu ? &off_cpu_event : &config->timebase, &ret->leader);

	if (r < 0)
		return r;
	if (config->poll_ms > 0) {
		orma_perf_attr_count(options, &config->timebase, &ret->leader);
		ret->leader.disabled = 1;
	} else {
		orma_perf_attr_sample(options, &ret->leader);
	}
	/* The counts of followers are only seen in reads. */
	bool reads = config->poll_ms > 0 || (ret->leader.sample_type & PERF_SAMPLE_READ);
	ret->follower_count = reads && !config->off_cpu ? config->follower_count : 0;
	for (uint32_t i = 0; i < ret->follower_count && r == 0; i++) {
		r = orma_perf_attr_find(&open->paths, &config->followers[i], &ret->followers[i]);
		orma_perf_attr_count(options, &config->followers[i], &ret->followers[i]);
	}
	orma_perf_attr_dummy(options, &ret->dummy);
	return r;
}

static int open_group(struct orma_perf_events *events, struct orma_perf_cpu *cpu,
		      const struct group *group, pid_t pid, unsigned long flags)
{
	const struct orma_perf_config *config = events->config;
	int leader = open_event(events, cpu, &group->leader, pid, -1, flags), r = leader;

	if (r >= 0)
		r = set_filter(events, leader, &config->timebase);
	for (uint32_t i = 0; i < group->follower_count && r >= 0; i++) {
		r = open_event(events, cpu, &group->followers[i], pid, leader, flags);
		if (r >= 0)
			r = set_filter(events, r, &config->followers[i]);
	}
	return r < 0 ? r : leader;
}

/* ---- rings ---- */

static size_t pick_ring_bytes(const struct orma_perf_config *config, uint32_t stack_bytes)
{
	uint64_t hz = orma_perf_config_rate(config);
	uint64_t record = ORMA_PERF_RECORD_BYTES;
	size_t size = RING_BYTES_MIN;

	if (config->ring_pages > 0)
		return (size_t)config->ring_pages * (size_t)getpagesize();
	if (config->wants_stacks && (config->user_frames == ORMA_PERF_USER_DWARF ||
				     config->user_frames == ORMA_PERF_USER_FP))
		record += stack_bytes;
	uint64_t wanted = ORMA_MIN(hz, UINT64_C(1000000)) * record / RING_PARTS;
	while (size < wanted && size < RING_BYTES_MAX)
		size *= 2;
	return size;
}

/* -ENOBUFS: this user may not lock so much memory. The kernel says EPERM, which would read as a lack of rights. */
static int map_ring(struct orma_perf_events *events, struct orma_perf_cpu *cpu)
{
	const struct orma_perf_kernel *kernel = events->kernel;
	size_t page_size = (size_t)getpagesize();
	int r = kernel->map(kernel->ctx, cpu->fds[0], page_size + events->ring_bytes, &cpu->memory);

	if (r < 0)
		return r == -EPERM ? -ENOBUFS : r;
	cpu->memory_bytes = page_size + events->ring_bytes;
	orma_perf_ring_init(&cpu->ring, cpu->memory, page_size, events->ring_bytes);
	return 0;
}

static void on_ready(struct orma_watch *watch, unsigned ready)
{
	struct orma_perf_cpu *cpu = ORMA_CONTAINER_OF(watch, struct orma_perf_cpu, watch);

	/* After a hang-up, the descriptor would be ready for ever. */
	if (ready & ORMA_LOOP_HANGUP)
		orma_base_watch_remove(watch);
	cpu->events->on_ready(cpu->events->ctx);
}

/* ---- CPUs and tasks ---- */

static int open_cgroup(const struct orma_perf_paths *paths, struct orma_str group)
{
	char name[4096];

	if (group.size == 0 || memchr(group.data, '\0', group.size))
		return -EINVAL;
	int size = snprintf(name, sizeof(name), "%s/fs/cgroup/%.*s", paths->sys, (int)group.size,
			    group.data);
	if (size < 0 || (size_t)size >= sizeof(name) || strstr(name, ".."))
		return -EINVAL;
	return orma_probes_dir_open(AT_FDCWD, name);
}

/* Opens one group of events for each control group. A dummy event owns the ring. */
static int open_cgroups(const struct orma_perf_open *open, struct orma_perf_events *events,
			struct orma_perf_cpu *cpu, const struct group *group)
{
	int owner = open_event(events, cpu, &group->dummy, 0, -1, 0), r = owner;

	if (r >= 0)
		r = map_ring(events, cpu);
	for (size_t i = 0; i < open->config->cgroup_count && r >= 0; i++) {
		ORMA_AUTO(orma_base_fd_closep)
		int fd = open_cgroup(&open->paths, open->config->cgroups[i]);
		r = fd;
		if (r >= 0)
			r = open_group(events, cpu, group, fd, PERF_FLAG_PID_CGROUP);
		if (r >= 0)
			r = events->kernel->control(events->kernel->ctx, r,
						    PERF_EVENT_IOC_SET_OUTPUT,
						    (unsigned long)owner);
	}
	return r < 0 ? r : 0;
}

static int open_cpu(const struct orma_perf_open *open, struct orma_perf_events *events,
		    struct orma_perf_cpu *cpu, const struct group *group)
{
	if (open->config->cgroup_count > 0)
		return open_cgroups(open, events, cpu, group);
	int r = open_group(events, cpu, group, -1, 0);
	if (r < 0 || open->config->poll_ms > 0)
		return r < 0 ? r : 0;
	return map_ring(events, cpu);
}

static void close_cpu(struct orma_perf_events *events, struct orma_perf_cpu *cpu)
{
	const struct orma_perf_kernel *kernel = events->kernel;

	orma_base_watch_remove(&cpu->watch);
	orma_perf_ring_done(&cpu->ring);
	if (cpu->memory)
		kernel->unmap(kernel->ctx, cpu->memory, cpu->memory_bytes);
	cpu->memory = NULL;
	/* The members of a group are closed before its leader. */
	while (cpu->fd_count > 0)
		kernel->close(kernel->ctx, cpu->fds[--cpu->fd_count]);
	orma_base_free(cpu->fds);
	cpu->fds = NULL;
	cpu->fd_capacity = 0;
}

/* True if this CPU lacks the event, and a CPU of another kind may have it. */
static bool is_for_other_cpus(int error)
{
	return error == -ENOENT || error == -ENODEV || error == -EOPNOTSUPP || error == -EINVAL;
}

/* Opens the events of all CPUs. If the session wants it, CPUs that lack the event are skipped, unless all
 * lack it. */
static int open_cpus(const struct orma_perf_open *open, struct orma_perf_events *events,
		     const struct group *group)
{
	size_t open_count = 0;
	int r = 0, skipped = 0;

	for (size_t i = 0; i < events->cpu_count && r == 0; i++) {
		r = open_cpu(open, events, &events->cpus[i], group);
		open_count += r == 0;
		if (r < 0 && open->config->ignore_open_failure && is_for_other_cpus(r)) {
			close_cpu(events, &events->cpus[i]);
			skipped = r;
			r = 0;
		}
	}
	return r < 0 || open_count > 0 ? r : skipped;
}

static int open_task(struct orma_perf_events *events, struct orma_perf_cpu *cpu,
		     const struct group *group, uint32_t tid)
{
	int r = open_group(events, cpu, group, (pid_t)tid, 0);

	if (r < 0)
		return r;
	return events->kernel->control(events->kernel->ctx, r, PERF_EVENT_IOC_SET_OUTPUT,
				       (unsigned long)cpu->fds[0]);
}

static int open_tasks(const struct orma_perf_open *open, struct orma_perf_events *events,
		      const struct group *group)
{
	int r = 0;

	for (size_t i = 0; i < events->cpu_count && r >= 0; i++) {
		r = open_event(events, &events->cpus[i], &group->dummy, 0, -1, 0);
		if (r >= 0)
			r = map_ring(events, &events->cpus[i]);
	}
	for (size_t i = 0; i < open->tid_count && r >= 0; i++) {
		bool is_open = true;
		for (size_t k = 0; k < events->cpu_count && r >= 0 && is_open; k++) {
			r = open_task(events, &events->cpus[k], group, open->tids[i]);
			/* The task may have ended since it was listed. A task may also belong to another
			 * user. */
			if (r == -ESRCH ||
			    ((r == -EACCES || r == -EPERM) && events->task_count > 0)) {
				is_open = false;
				r = 0;
			}
		}
		events->task_count += is_open && r >= 0;
	}
	if (r < 0)
		return r;
	return events->task_count > 0 ? 0 : -ENODATA;
}

/* ---- granted features ---- */

static int try_open(const struct orma_perf_open *open, struct orma_perf_events *events,
		    unsigned can, size_t ring_bytes)
{
	struct orma_perf_attr_options options = {.config = open->config,
						 .is_per_task = open->is_per_task,
						 .may_watch = open->may_watch,
						 .can = can,
						 .stack_bytes = open->stack_bytes,
						 .wakeup_bytes =
							 (uint32_t)(ring_bytes / WAKEUP_PARTS)};
	struct group group = {0};

	*events = (struct orma_perf_events){.kernel = open->kernel,
					    .config = open->config,
					    .is_per_task = open->is_per_task,
					    .can = can,
					    .stack_bytes = open->stack_bytes,
					    .ring_bytes = ring_bytes,
					    .on_ready = open->on_ready,
					    .ctx = open->ctx};
	int r = make_group(open, &options, &group);
	if (r < 0)
		return r;
	orma_perf_attr_layout(&group.leader, &events->layout);
	events->cpus = orma_base_alloc_array(open->cpu_count, sizeof(*events->cpus));
	if (!events->cpus)
		return -ENOMEM;
	events->cpu_count = open->cpu_count;
	for (size_t i = 0; i < open->cpu_count; i++)
		events->cpus[i] = (struct orma_perf_cpu){
			.events = events,
			.cpu = open->cpus[i],
			.period_max = ORMA_MAX(open->config->period, UINT64_C(1)),
			.next_time = ORMA_PERF_NO_RECORD};
	if (open->is_per_task)
		return open_tasks(open, events, &group);
	return open_cpus(open, events, &group);
}

/* Removes one feature after the kernel has refused. False if none is left. */
static bool take_back(int error, unsigned *can, size_t *ring_bytes,
		      const struct orma_perf_open *open)
{
	if ((error == -EINVAL || error == -E2BIG) && *can & ORMA_PERF_CAN_INHERIT_THREAD) {
		*can &= ~(unsigned)ORMA_PERF_CAN_INHERIT_THREAD;
		return true;
	}
	if ((error == -EACCES || error == -EPERM) && *can & ORMA_PERF_CAN_KERNEL) {
		*can &= ~(unsigned)ORMA_PERF_CAN_KERNEL;
		return true;
	}
	if ((error == -ENOBUFS || error == -ENOMEM) && open->config->ring_pages == 0 &&
	    *ring_bytes / 2 >=
		    RECORDS_LEAST * ((size_t)open->stack_bytes + ORMA_PERF_RECORD_BYTES)) {
		*ring_bytes /= 2;
		return true;
	}
	return false;
}

static int watch_rings(const struct orma_perf_open *open, struct orma_perf_events *events)
{
	int r = 0;

	for (size_t i = 0; i < events->cpu_count && r == 0 && open->loop; i++)
		if (events->cpus[i].memory)
			r = orma_base_loop_watch(open->loop, &events->cpus[i].watch,
						 events->cpus[i].fds[0], ORMA_LOOP_READ, on_ready);
	return r;
}

int orma_perf_events_open(const struct orma_perf_open *open, struct orma_perf_events *events)
{
	unsigned can = ORMA_PERF_CAN_ALL;
	size_t ring_bytes = pick_ring_bytes(open->config, open->stack_bytes);
	int r;

	do {
		r = try_open(open, events, can, ring_bytes);
		if (r < 0)
			orma_perf_events_close(events);
	} while (r < 0 && take_back(r, &can, &ring_bytes, open));
	if (r == 0)
		r = watch_rings(open, events);
	if (r < 0)
		orma_perf_events_close(events);
	return r == -EPERM ? -EACCES : r;
}

bool orma_perf_events_may_watch(const struct orma_perf_open *open)
{
	const struct orma_perf_kernel *kernel = open->kernel;
	const struct orma_perf_attr_options options = {.config = open->config};
	struct perf_event_attr attr;

	orma_perf_attr_dummy(&options, &attr);
	int fd = open->cpu_count > 0
			 ? kernel->open(kernel->ctx, &attr, -1, (int)open->cpus[0], -1, 0)
			 : -ENODATA;
	if (fd >= 0)
		kernel->close(kernel->ctx, fd);
	return fd >= 0;
}

void orma_perf_events_close(struct orma_perf_events *events)
{
	for (size_t i = 0; i < events->cpu_count; i++)
		close_cpu(events, &events->cpus[i]);
	orma_base_free(events->cpus);
	events->cpus = NULL;
	events->cpu_count = 0;
}

static void control_all(struct orma_perf_events *events, unsigned long request)
{
	for (size_t i = 0; i < events->cpu_count; i++)
		for (size_t k = 0; k < events->cpus[i].fd_count; k++)
			(void)events->kernel->control(events->kernel->ctx, events->cpus[i].fds[k],
						      request, 0);
}

void orma_perf_events_enable(struct orma_perf_events *events)
{
	control_all(events, PERF_EVENT_IOC_ENABLE);
}

void orma_perf_events_disable(struct orma_perf_events *events)
{
	control_all(events, PERF_EVENT_IOC_DISABLE);
}

/* ---- counts ---- */

int orma_perf_events_read(struct orma_perf_events *events, const struct orma_perf_cpu *cpu,
			  uint64_t *ret_counts, size_t max)
{
	uint64_t words[2 + ORMA_PERF_FOLLOWERS_MAX] = {0};
	bool is_group = events->config->follower_count > 0;
	ssize_t r = cpu->fd_count > 0 ? events->kernel->read(events->kernel->ctx, cpu->fds[0],
							     words, sizeof(words))
				      : -ENODATA;

	if (r < (ssize_t)sizeof(words[0]))
		return r < 0 ? (int)r : -EBADMSG;
	size_t count = is_group ? (size_t)words[0] : 1, first = is_group ? 1 : 0;
	max = ORMA_MIN(max, (size_t)r / sizeof(words[0]) - first);
	count = ORMA_MIN(count, max);
	memcpy(ret_counts, words + first, count * sizeof(words[0]));
	return (int)count;
}
