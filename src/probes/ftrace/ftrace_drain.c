/* SPDX-License-Identifier: Apache-2.0
 * ftrace_drain.c - when the kernel's buffers are read, and how much at a time.
 *
 * A round reads every CPU up to ORMA_FTRACE_ROUND_PAGES pages. It is caught up when no CPU reached that limit; otherwise
 * the next round follows in the next turn of the loop, after everything else that waits there. Rounds begin
 *
 *   - at multiples of the period on CLOCK_MONOTONIC; the smallest period of the started sessions counts,
 *   - when a CPU is filled past the watermark, if a session asked for one and the kernel can (6.9),
 *   - at once for a request: a flush, or the last drain of a session that stops.
 *
 * A request is complete when a round is caught up, or when as many pages were read as the buffer holds: all that it held
 * when the request came is out then, however fast the kernel writes.
 *
 * All sessions of the buffer share each round, so one session's flush serves the others too. A CPU that is offline has
 * nothing to read; its reader stays, because the CPU may return. Its descriptor may report a hang-up for ever, so its
 * watch is removed then, and the period alone serves it.
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

/* --- one round -------------------------------------------------------------------------------- */

static struct orma_ftrace_buffer *to_buffer(struct orma_ftrace_drainer *drainer)
{
	return ORMA_CONTAINER_OF(drainer, struct orma_ftrace_buffer, drainer);
}

/* The trace clock and CLOCK_BOOTTIME at about the same time. */
static void read_clocks(struct orma_ftrace_drainer *drainer)
{
	struct orma_ftrace_cpu_stats stats;
	char text[1024];

	if (drainer->clock_fd < 0)
		return;
	ssize_t size = pread(drainer->clock_fd, text, sizeof(text), 0);
	orma_ftrace_cpu_stats_parse((struct orma_str){text, size > 0 ? (size_t)size : 0}, &stats);
	drainer->state.clock.boot_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	drainer->state.clock.ftrace_ns =
		stats.now_s > 0 ? (uint64_t)(stats.now_s * (double)ORMA_NS_PER_SEC) : 0;
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

/* Returns true when it has caught up with the kernel. */
static bool read_round(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	bool is_caught_up = true;
	int64_t page_count = 0;
	uint64_t begin_ns = orma_self_begin(buffer->machine->self);

	gather_sinks(buffer);
	read_clocks(drainer);
	for (uint32_t i = 0; i < drainer->reader_count; i++) {
		uint32_t count = orma_ftrace_cpu_reader_drain(drainer->readers[i], &drainer->state,
							      ORMA_FTRACE_ROUND_PAGES);
		if (count == ORMA_FTRACE_ROUND_PAGES)
			is_caught_up = false;
		page_count += count;
	}
	orma_self_end(buffer->machine->self, "drain ftrace", begin_ns);
	orma_self_counter(buffer->machine->self, "ftrace pages", page_count);
	struct orma_ftrace_session *session;
	ORMA_LIST_FOR_EACH (session, &buffer->sessions, link)
		orma_sightings_deliver(session->seen);
	return is_caught_up;
}

static void serve_requests(struct orma_ftrace_drainer *drainer, bool is_caught_up)
{
	struct orma_list done;

	orma_base_list_init(&done);
	for (struct orma_list *at = drainer->requests.next, *next; at != &drainer->requests;
	     at = next) {
		struct orma_ftrace_drain_request *request =
			ORMA_CONTAINER_OF(at, struct orma_ftrace_drain_request, link);

		next = at->next;
		request->pages_left -= ORMA_MIN(request->pages_left, ORMA_FTRACE_ROUND_PAGES);
		if (!is_caught_up && request->pages_left > 0)
			continue;
		orma_base_list_remove(at);
		orma_base_list_append(&done, at);
	}
	/* A callback may end its session, and with it the buffer, so nothing is touched after the last. */
	while (!orma_base_list_is_empty(&done)) {
		struct orma_ftrace_drain_request *request =
			ORMA_CONTAINER_OF(done.next, struct orma_ftrace_drain_request, link);

		orma_base_list_remove(&request->link);
		request->on_drained(request);
	}
}

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
	return all_watch && buffer->drainer.watches ? WATERMARK_PERIOD_MS
						    : ORMA_FTRACE_PERIOD_MS_DEFAULT;
}

static void plan_next_round(struct orma_ftrace_buffer *buffer, bool is_caught_up)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	struct orma_loop *loop = buffer->machine->loop;

	if (!is_caught_up) {
		orma_base_loop_defer(loop, &drainer->task, on_continue);
		return;
	}
	uint64_t next_ns =
		orma_probe_next_run_ns(orma_base_clock_ns(CLOCK_MONOTONIC), period_ms(buffer));
	if (orma_base_loop_arm(loop, &drainer->timer, next_ns, on_tick) < 0)
		orma_base_log(ORMA_LOG_ERROR, "linux.ftrace: no memory for a timer");
}

static void run_round(struct orma_ftrace_drainer *drainer)
{
	if (drainer->is_paused)
		return;
	bool is_caught_up = read_round(to_buffer(drainer));

	plan_next_round(to_buffer(drainer), is_caught_up);
	serve_requests(drainer, is_caught_up);
}

static void on_tick(struct orma_timer *timer)
{
	run_round(ORMA_CONTAINER_OF(timer, struct orma_ftrace_drainer, timer));
}

static void on_continue(struct orma_task *task)
{
	run_round(ORMA_CONTAINER_OF(task, struct orma_ftrace_drainer, task));
}

/* --- requests --------------------------------------------------------------------------------- */

bool orma_ftrace_drain_request(struct orma_ftrace_buffer *buffer,
			       struct orma_ftrace_drain_request *request)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	request->pages_left = buffer->actual_pages;
	orma_base_list_init(&request->link);
	if (!drainer->is_paused) {
		if (read_round(buffer) || request->pages_left <= ORMA_FTRACE_ROUND_PAGES)
			return true;
		request->pages_left -= ORMA_FTRACE_ROUND_PAGES;
		orma_base_loop_defer(buffer->machine->loop, &drainer->task, on_continue);
	}
	orma_base_list_append(&drainer->requests, &request->link);
	return false;
}

void orma_ftrace_drain_cancel(struct orma_ftrace_drain_request *request)
{
	if (request->link.next)
		orma_base_list_remove(&request->link);
}

void orma_ftrace_drain_pause(struct orma_ftrace_buffer *buffer, bool is_paused)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	drainer->is_paused = is_paused;
	if (is_paused) {
		orma_base_timer_disarm(&drainer->timer);
		orma_base_task_cancel(&drainer->task);
	} else if (drainer->readers) {
		orma_base_loop_defer(buffer->machine->loop, &drainer->task, on_continue);
	}
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

static void on_watermark(struct orma_watch *watch, unsigned ready)
{
	struct orma_ftrace_watch *at = ORMA_CONTAINER_OF(watch, struct orma_ftrace_watch, watch);

	if (ready & ORMA_LOOP_READ)
		run_round(&at->buffer->drainer);
	else
		orma_base_watch_remove(watch);
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
	for (uint32_t i = 0; drainer->watches && i < drainer->reader_count; i++)
		orma_base_watch_remove(&drainer->watches[i].watch);
	orma_base_free(drainer->watches);
	drainer->watches = NULL;
}

static int watch_readers(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	drainer->watches = orma_base_alloc_array(drainer->reader_count, sizeof(*drainer->watches));
	if (!drainer->watches)
		return -ENOMEM;
	for (uint32_t i = 0; i < drainer->reader_count; i++) {
		drainer->watches[i].buffer = buffer;
		int r = orma_base_loop_watch(buffer->machine->loop, &drainer->watches[i].watch,
					     orma_ftrace_cpu_reader_fd(drainer->readers[i]),
					     ORMA_LOOP_READ, on_watermark);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Without a watermark the period drains the buffer, so a failure is a message and no more. */
static void update_watermark(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	uint32_t percent = smallest_percent(buffer);
	char text[16];

	if (percent == 0 || !can_poll()) {
		stop_watching(drainer);
		return;
	}
	snprintf(text, sizeof(text), "%u", percent);
	int r = orma_tracefs_journal_set(&buffer->journal, "buffer_percent", orma_base_str(text));
	if (r == 0 && !drainer->watches)
		r = watch_readers(buffer);
	if (r < 0) {
		stop_watching(drainer);
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.ftrace: drain_buffer_percent has no effect: %s",
			      orma_base_error_words(r));
	}
}

/* --- beginning and end ------------------------------------------------------------------------- */

static int open_readers(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;
	int r = buffer->cpu_count > 0 ? 0 : -ENODEV;

	drainer->readers = orma_base_alloc_array(buffer->cpu_count, sizeof(*drainer->readers));
	if (!drainer->readers)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < buffer->cpu_count && r == 0; cpu++) {
		struct orma_ftrace_cpu_reader **at = &drainer->readers[drainer->reader_count];

		r = orma_ftrace_cpu_reader_new(buffer->fs.path, cpu, at);
		if (r == 0)
			drainer->reader_count++;
		/* The numbers of the CPUs may have gaps. */
		else if (r == -ENOENT && cpu + 1 < buffer->cpu_count)
			r = 0;
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

	ORMA_ASSERT(!drainer->readers);
	int r = orma_ftrace_drain_init(&drainer->state, buffer->fs.path);
	if (r == 0)
		r = open_readers(buffer);
	if (r < 0) {
		orma_ftrace_drain_stop(buffer);
		return r;
	}
	open_clock(buffer);
	plan_next_round(buffer, true);
	return 0;
}

void orma_ftrace_drain_update(struct orma_ftrace_buffer *buffer)
{
	update_watermark(buffer);
	/* A new session may want a shorter period. */
	if (!buffer->drainer.is_paused && !buffer->drainer.task.is_queued)
		plan_next_round(buffer, true);
}

void orma_ftrace_drain_stop(struct orma_ftrace_buffer *buffer)
{
	struct orma_ftrace_drainer *drainer = &buffer->drainer;

	ORMA_ASSERT(orma_base_list_is_empty(&drainer->requests));
	orma_base_timer_disarm(&drainer->timer);
	orma_base_task_cancel(&drainer->task);
	stop_watching(drainer);
	for (uint32_t i = 0; i < drainer->reader_count; i++)
		orma_ftrace_cpu_reader_free(drainer->readers[i]);
	orma_base_free(drainer->readers);
	drainer->readers = NULL;
	drainer->reader_count = 0;
	drainer->clock_fd = orma_base_fd_close(drainer->clock_fd);
	orma_ftrace_drain_done(&drainer->state);
	drainer->state = (struct orma_ftrace_drain){0};
	drainer->is_paused = false;
}
