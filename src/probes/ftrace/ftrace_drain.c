/* SPDX-License-Identifier: Apache-2.0
 * ftrace_drain.c - when the kernel's buffers are read, and how much at a time.
 *
 * A round lasts until each CPU has caught up. A turn of the loop reads a bounded number of pages of each CPU, and of all
 * together; the next turn continues with the next CPU, after everything else that waits in the loop. Rounds begin
 *
 *   - at multiples of the period on CLOCK_MONOTONIC; the smallest period of the started sessions counts,
 *   - when a CPU is filled past the watermark, if a session asked for one and the kernel can (6.9),
 *   - at once for a request: a flush, or the last drain of a session that stops.
 *
 *	request --> waiting --all before are complete--> served: each CPU owes its buffer_pages --nothing is owed--> on_drained
 *
 * INVARIANT: requests wait only while the drainer is paused or serves others. A CPU owes nothing more when the kernel has
 * nothing for it, or when as many pages were read as its buffer holds: all that it held when the request came is out then,
 * however fast the kernel writes. A CPU that owes pages is behind.
 *
 * All sessions of the buffer share each round, so one session's flush serves the others too. A CPU that is offline has
 * nothing to read; its reader stays, because the CPU may return. Its descriptor may report a hang-up for ever, and that of
 * a CPU whose reads fail may stay readable, so the watch is removed then, and the period alone serves the CPU. A failed
 * read is reported once for each CPU and session.
 *
 * Rejected: a thread for reading (packets would come from a second sequence, and the loop has nothing better to do);
 * draining everything in one turn, as upstream's flush does, which stalls the connection for as long as it takes.
 */
#include "probes/ftrace/ftrace_drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/self_trace/self_trace.h"
#include "schema/gen/ftrace_event_bundle.pb.h"

#define WATERMARK_PERIOD_MS 1000 /* when every session relies on the watermark */

static void on_tick(struct orma_timer *timer);
static void on_continue(struct orma_task *task);

/* --- reading ---------------------------------------------------------------------------------- */

static struct orma_ftrace_buffer *to_buffer(struct orma_ftrace_drainer *drainer)
{
	return ORMA_CONTAINER_OF(drainer, struct orma_ftrace_buffer, drainer);
}

/* The trace clock and CLOCK_BOOTTIME at about the same time. The pair before stays true if the clock cannot be read. */
static void read_clocks(struct orma_ftrace_drainer *drainer)
{
	struct orma_ftrace_cpu_stats stats = {0};
	char text[1024];

	if (drainer->clock_fd < 0)
		return;
	ssize_t size = pread(drainer->clock_fd, text, sizeof(text), 0);
	orma_ftrace_cpu_stats_parse((struct orma_str){text, size > 0 ? (size_t)size : 0}, &stats);
	if (stats.now_s <= 0)
		return;
	drainer->state.clock.boot_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	drainer->state.clock.ftrace_ns = (uint64_t)(stats.now_s * (double)ORMA_NS_PER_SEC);
}

static void gather_sinks(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drain *state = &buffer->drainer.state;
	struct orma_ftrace_session *session;

	state->sink_count = 0;
	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link) {
		if (!session->is_started)
			continue;
		ORMA_ASSERT(state->sink_count < ORMA_ARRAY_SIZE(state->sinks));
		state->sinks[state->sink_count++] = session->sink;
	}
}

static void on_error(struct orma_ftrace_buffer *buffer, struct orma_ftrace_cpu *cpu, int error)
{
	struct orma_ftrace_session *session;

	orma_base_watch_remove(&cpu->watch);
	/* A CPU that was never online has nothing to lose. */
	if (error == -ENODEV && !cpu->has_delivered)
		return;
	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link)
		if (session->is_started)
			orma_ftrace_report_cpu(&session->report,
					       orma_ftrace_cpu_reader_cpu(cpu->reader), error);
}

/* Returns the number of pages. */
static uint32_t drain_cpu(struct orma_ftrace_buffer *buffer, struct orma_ftrace_cpu *cpu,
			  uint32_t max)
{
	bool is_owing = cpu->owed_pages > 0;
	uint32_t limit = is_owing ? ORMA_MIN(max, cpu->owed_pages) : max;
	struct orma_ftrace_drained drained =
		orma_ftrace_cpu_reader_drain(cpu->reader, &buffer->drainer.state, limit, is_owing);

	/* Each visit counts, so that a kernel without memory cannot hold a request up for ever. */
	if (is_owing)
		cpu->owed_pages -= drained.is_done ? cpu->owed_pages : ORMA_MAX(drained.pages, 1u);
	cpu->is_behind = !drained.is_done;
	cpu->has_delivered = cpu->has_delivered || drained.pages > 0;
	if (drained.error < 0)
		on_error(buffer, cpu, drained.error);
	return drained.pages;
}

static void read_turn(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	uint32_t page_count = 0;
	uint64_t begin_ns = orma_self_begin(buffer->machine->self);

	gather_sinks(buffer);
	read_clocks(drainer);
	for (uint32_t i = 0; i < drainer->cpu_count && page_count < ORMA_FTRACE_TURN_PAGES; i++) {
		struct orma_ftrace_cpu *cpu = &drainer->cpus[drainer->next_cpu];

		drainer->next_cpu = (drainer->next_cpu + 1) % drainer->cpu_count;
		if (cpu->is_behind)
			page_count += drain_cpu(buffer, cpu,
						ORMA_MIN(ORMA_FTRACE_CPU_PAGES,
							 ORMA_FTRACE_TURN_PAGES - page_count));
	}
	orma_self_end(buffer->machine->self, "drain ftrace", begin_ns);
	orma_self_counter(buffer->machine->self, "ftrace pages", page_count);
	struct orma_ftrace_session *session;
	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link)
		orma_sightings_deliver(session->seen);
}

static bool has_behind(const struct orma_ftrace_drainer *drainer)
{
	for (uint32_t i = 0; i < drainer->cpu_count; i++)
		if (drainer->cpus[i].is_behind)
			return true;
	return false;
}

static bool owes_pages(const struct orma_ftrace_drainer *drainer)
{
	for (uint32_t i = 0; i < drainer->cpu_count; i++)
		if (drainer->cpus[i].owed_pages > 0)
			return true;
	return false;
}

static void begin_round(struct orma_ftrace_drainer *drainer)
{
	for (uint32_t i = 0; i < drainer->cpu_count; i++)
		drainer->cpus[i].is_behind = true;
}

/* --- requests --------------------------------------------------------------------------------- */

static void move_requests(struct orma_list *from, struct orma_list *to)
{
	while (!orma_base_list_is_empty(from)) {
		struct orma_list *first = from->next;

		orma_base_list_remove(first);
		orma_base_list_append(to, first);
	}
}

/* Begins a round for the requests that wait, if there are any. */
static void serve_waiting(struct orma_ftrace_drainer *drainer)
{
	if (orma_base_list_is_empty(&drainer->waiting) ||
	    !orma_base_list_is_empty(&drainer->served))
		return;
	move_requests(&drainer->waiting, &drainer->served);
	begin_round(drainer);
	for (uint32_t i = 0; i < drainer->cpu_count; i++)
		drainer->cpus[i].owed_pages = drainer->cpus[i].buffer_pages;
}

/* A callback may end its session, and with it the buffer, so nothing is touched after the last. */
static void complete_requests(struct orma_list *done)
{
	while (!orma_base_list_is_empty(done)) {
		struct orma_ftrace_drain_request *request =
			ORMA_CONTAINER_OF(done->next, struct orma_ftrace_drain_request, link);

		orma_base_list_remove(&request->link);
		request->on_drained(request);
	}
}

/* --- turns ------------------------------------------------------------------------------------ */

static uint32_t period_ms(const struct orma_ftrace_buffer *buffer)
{
	const struct orma_ftrace_session *session;
	uint32_t smallest_ms = 0;
	bool all_watch = true;

	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link) {
		uint32_t ms = session->config.drain_period_ms;

		if (!session->is_started)
			continue;
		if (ms > 0 && (smallest_ms == 0 || ms < smallest_ms))
			smallest_ms = ms;
		all_watch = all_watch && session->config.drain_buffer_percent > 0;
	}
	if (smallest_ms > 0)
		return smallest_ms;
	return all_watch && buffer->drainer.is_watching ? WATERMARK_PERIOD_MS
							: ORMA_FTRACE_PERIOD_MS_DEFAULT;
}

static void plan_next_turn(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	struct orma_loop *loop = buffer->machine->loop;

	if (has_behind(drainer)) {
		orma_base_loop_defer(loop, &drainer->task, on_continue);
		return;
	}
	uint64_t next_ns =
		orma_probe_next_run_ns(orma_base_clock_ns(CLOCK_MONOTONIC), period_ms(buffer));
	if (orma_base_loop_arm(loop, &drainer->timer, next_ns, on_tick) < 0)
		orma_base_log(ORMA_LOG_ERROR, "linux.ftrace: no memory for a timer");
}

static void run_turn(struct orma_ftrace_drainer *drainer)
{
	struct orma_list done;

	orma_base_list_init(&done);
	read_turn(to_buffer(drainer));
	if (!owes_pages(drainer)) {
		move_requests(&drainer->served, &done);
		serve_waiting(drainer);
	}
	plan_next_turn(to_buffer(drainer));
	complete_requests(&done);
}

static void on_tick(struct orma_timer *timer)
{
	struct orma_ftrace_drainer *drainer =
		ORMA_CONTAINER_OF(timer, struct orma_ftrace_drainer, timer);

	begin_round(drainer);
	run_turn(drainer);
}

static void on_continue(struct orma_task *task)
{
	run_turn(ORMA_CONTAINER_OF(task, struct orma_ftrace_drainer, task));
}

bool orma_ftrace_drain_request(struct orma_ftrace_buffer *buffer,
			       struct orma_ftrace_drain_request *request)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	orma_base_list_init(&request->link);
	orma_base_list_append(&drainer->waiting, &request->link);
	if (drainer->is_paused || !orma_base_list_is_empty(&drainer->served))
		return false;
	serve_waiting(drainer);
	read_turn(buffer);
	if (has_behind(drainer))
		orma_base_loop_defer(buffer->machine->loop, &drainer->task, on_continue);
	if (owes_pages(drainer))
		return false;
	orma_base_list_remove(&request->link);
	return true;
}

void orma_ftrace_drain_cancel(struct orma_ftrace_drain_request *request)
{
	if (request->link.next)
		orma_base_list_remove(&request->link);
}

/* --- the watermark ---------------------------------------------------------------------------- */

/* Earlier kernels count the filled pages wrongly, and wake too early or never. */
static bool can_poll(void)
{
	struct utsname name;
	unsigned major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 9));
}

/* With the option "block" an empty buffer can be read too, as far as poll() says. */
static bool is_always_ready(const struct orma_ftrace_buffer *buffer)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str value;

	return orma_tracefs_value(&buffer->fs, "options/block", &buf, &value) == 0 &&
	       orma_base_str_is(value, "1");
}

static void on_watermark(struct orma_watch *watch, unsigned ready)
{
	struct orma_ftrace_cpu *cpu = ORMA_CONTAINER_OF(watch, struct orma_ftrace_cpu, watch);

	if (!(ready & ORMA_LOOP_READ)) {
		orma_base_watch_remove(watch);
		return;
	}
	/* The other CPUs follow, so that the ends of their data in the trace are close together. */
	begin_round(&cpu->buffer->drainer);
	orma_base_loop_defer(cpu->buffer->machine->loop, &cpu->buffer->drainer.task, on_continue);
}

static uint32_t smallest_percent(const struct orma_ftrace_buffer *buffer)
{
	const struct orma_ftrace_session *session;
	uint32_t smallest = 0;

	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link) {
		uint32_t percent = session->config.drain_buffer_percent;

		if (session->is_started && percent > 0 && (smallest == 0 || percent < smallest))
			smallest = percent;
	}
	return smallest;
}

static void stop_watching(struct orma_ftrace_drainer *drainer)
{
	for (uint32_t i = 0; i < drainer->cpu_count; i++)
		orma_base_watch_remove(&drainer->cpus[i].watch);
	drainer->is_watching = false;
}

static int watch_cpus(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	int r = 0;

	for (uint32_t i = 0; i < drainer->cpu_count && r == 0; i++)
		r = orma_base_loop_watch(buffer->machine->loop, &drainer->cpus[i].watch,
					 orma_ftrace_cpu_reader_fd(drainer->cpus[i].reader),
					 ORMA_LOOP_READ, on_watermark);
	drainer->is_watching = r == 0;
	return r;
}

/* Without a watermark the period drains the buffer, so a failure is a message and no more. */
static void update_watermark(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	uint32_t percent = smallest_percent(buffer);
	char text[16];

	/* During a pause the kernel would report its events in every turn of the loop. */
	if (percent == 0 || drainer->is_paused || !can_poll() || is_always_ready(buffer)) {
		stop_watching(drainer);
		return;
	}
	snprintf(text, sizeof(text), "%u", percent);
	int r = orma_tracefs_journal_set(&buffer->journal, "buffer_percent", orma_base_str(text));
	if (r == 0 && !drainer->is_watching)
		r = watch_cpus(buffer);
	if (r < 0) {
		stop_watching(drainer);
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: drain_buffer_percent has no effect: %s",
			      orma_base_error_words(r));
	}
}

/* --- pauses ----------------------------------------------------------------------------------- */

void orma_ftrace_drain_pause(struct orma_ftrace_buffer *buffer, bool is_paused)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	drainer->is_paused = is_paused;
	if (!drainer->cpus)
		return;
	update_watermark(buffer);
	if (is_paused) {
		orma_base_timer_disarm(&drainer->timer);
		orma_base_task_cancel(&drainer->task);
		return;
	}
	begin_round(drainer);
	serve_waiting(drainer);
	orma_base_loop_defer(buffer->machine->loop, &drainer->task, on_continue);
}

/* --- beginning and end ------------------------------------------------------------------------- */

static int open_readers(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	int r = buffer->cpu_count > 0 ? 0 : -ENODEV;

	drainer->cpus = orma_base_alloc_array(buffer->cpu_count, sizeof(*drainer->cpus));
	if (!drainer->cpus)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < buffer->cpu_count && r == 0; cpu++) {
		struct orma_ftrace_cpu *at = &drainer->cpus[drainer->cpu_count];

		at->buffer = buffer;
		r = orma_ftrace_cpu_reader_new(buffer->fs.path, cpu, &at->reader);
		/* The numbers of the CPUs may have gaps. */
		if (r == -ENOENT && cpu + 1 < buffer->cpu_count) {
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		at->buffer_pages = orma_ftrace_cpu_reader_buffer_pages(at->reader, &drainer->state,
								       &buffer->fs);
		drainer->cpu_count++;
	}
	return r;
}

static void open_clock(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	drainer->state.clock = (struct orma_ftrace_clock_pair){.clock = buffer->clock};
	if (buffer->clock != ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_UNSPECIFIED)
		drainer->clock_fd = orma_base_fd_avoid_standard(
			openat(buffer->fs.fd, "per_cpu/cpu0/stats", O_RDONLY | O_CLOEXEC));
}

int orma_ftrace_drain_start(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	ORMA_ASSERT(!drainer->cpus);
	int r = orma_ftrace_drain_init(&drainer->state, buffer->fs.path);
	if (r == 0)
		r = open_readers(buffer);
	if (r < 0) {
		orma_ftrace_drain_stop(buffer);
		return r;
	}
	open_clock(buffer);
	plan_next_turn(buffer);
	return 0;
}

void orma_ftrace_drain_update(struct orma_ftrace_buffer *buffer)
{
	update_watermark(buffer);
	/* A new session may want a shorter period. */
	if (!buffer->drainer.is_paused && !buffer->drainer.task.is_queued)
		plan_next_turn(buffer);
}

void orma_ftrace_drain_stop(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	ORMA_ASSERT(orma_base_list_is_empty(&drainer->served) &&
		    orma_base_list_is_empty(&drainer->waiting));
	orma_base_timer_disarm(&drainer->timer);
	orma_base_task_cancel(&drainer->task);
	stop_watching(drainer);
	for (uint32_t i = 0; i < drainer->cpu_count; i++)
		orma_ftrace_cpu_reader_free(drainer->cpus[i].reader);
	orma_base_free(drainer->cpus);
	drainer->cpus = NULL;
	drainer->cpu_count = drainer->next_cpu = 0;
	drainer->clock_fd = orma_base_fd_close(drainer->clock_fd);
	orma_ftrace_drain_done(&drainer->state);
	drainer->state = (struct orma_ftrace_drain){0};
	drainer->is_paused = false;
}
