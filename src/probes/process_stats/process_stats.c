/* SPDX-License-Identifier: Apache-2.0
 * process_stats.c - the data source linux.process_stats: its instances and their timers.
 *
 * Owns the instances, one per session, and buffers that they share because everything runs on the
 * loop's thread. What an instance does at its start (a scan of everything, the first poll) happens
 * in the loop's next turn, so that starting is answered at once; a flush that comes earlier does it
 * first. Later polls are at multiples of the period on CLOCK_MONOTONIC. Rejected: one timer for all
 * instances, which would have to be the greatest common divisor of their periods; sharing what one
 * poll read between sessions, since two sessions with the same period are rare.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/poll.h"
#include "probes/process_stats/process_stats.h"

/* A scan that is repeated takes at most 2 % of the time. The service asks for clearing by bytes, and
 * in a small ring one scan writes enough for the next request. */
#define SCAN_PAUSE_FACTOR 49u

static void scan(struct orma_probes_process_instance *instance)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), end_ns;

	orma_probes_process_scan(instance);
	end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	instance->scan_again_ns = end_ns + SCAN_PAUSE_FACTOR * (end_ns - begin_ns);
	instance->is_scan_due = false;
}

static void do_due(struct orma_probes_process_instance *instance)
{
	if (instance->is_scan_due && (instance->is_due_now || orma_base_clock_ns(CLOCK_MONOTONIC) >=
								      instance->scan_again_ns))
		scan(instance);
	if (instance->is_poll_due)
		orma_probes_process_poll(instance);
	instance->is_poll_due = instance->is_due_now = false;
}

static void on_timer(struct orma_timer *timer)
{
	struct orma_probes_process_instance *instance =
		ORMA_CONTAINER_OF(timer, struct orma_probes_process_instance, timer);
	uint32_t period_ms = instance->config.poll_ms;
	uint64_t deadline_ns = timer->deadline_ns;
	do_due(instance);
	if (period_ms == 0)
		return;
	instance->is_poll_due = true;
	/* From now on rather than from the deadline: polls that this one was too slow for are left
	 * out. */
	deadline_ns = ORMA_MAX(deadline_ns, orma_base_clock_ns(CLOCK_MONOTONIC));
	orma_base_loop_arm(instance->probe->loop, timer,
			   orma_probes_next_poll_ns(deadline_ns, period_ms), on_timer);
}

static int instance_new(struct orma_probes_process_probe *probe, const struct orma_instance *from,
			struct orma_probes_process_instance **ret)
{
	struct orma_probes_process_instance *instance = orma_base_zalloc(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	instance->probe = probe;
	instance->idx = from->idx;
	int r = orma_probes_process_config_parse(from->config, from->config_size,
						 &instance->config);
	if (r < 0) {
		orma_base_free(instance);
		return r;
	}
	*ret = instance;
	return 0;
}

static void on_setup(void *ctx, const struct orma_instance *from, void **ret_instance_ctx)
{
	struct orma_probes_process_instance *instance = NULL;
	int r = instance_new(ctx, from, &instance);
	if (r < 0)
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.process_stats: the configuration is not usable: %s",
			      strerror(-r));
	*ret_instance_ctx = instance;
}

static void on_start(void *ctx, const struct orma_instance *from)
{
	struct orma_probes_process_instance *instance = from->instance_ctx;
	(void)ctx;
	if (!instance)
		return;
	instance->is_scan_due = instance->config.scan_on_start;
	instance->is_poll_due = instance->config.poll_ms > 0;
	instance->is_due_now = instance->is_scan_due || instance->is_poll_due;
	if (instance->is_due_now &&
	    orma_base_loop_arm_in(instance->probe->loop, &instance->timer, 0, on_timer) < 0)
		orma_base_log(ORMA_LOG_ERROR, "linux.process_stats: no memory for a timer");
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *from)
{
	struct orma_probes_process_instance *instance = from->instance_ctx;
	(void)ctx;
	if (instance)
		orma_base_timer_disarm(&instance->timer);
	return ORMA_COMPLETE;
}

/* Includes what the start promised; otherwise a flush does not poll. */
static enum orma_completion on_flush(void *ctx, const struct orma_instance *from)
{
	struct orma_probes_process_instance *instance = from->instance_ctx;
	struct orma_probes_process_probe *probe = ctx;
	if (instance && instance->is_due_now)
		do_due(instance);
	orma_data_source_flush_thread(probe->source, from->idx);
	return ORMA_COMPLETE;
}

/* Without polling, nothing else would ever name the processes again. A scan that is due too early
 * goes with a later poll. */
static void on_clear(void *ctx, const struct orma_instance *from)
{
	struct orma_probes_process_instance *instance = from->instance_ctx;
	struct orma_probes_process_probe *probe = ctx;
	if (!instance)
		return;
	orma_probes_process_forget(instance);
	if (!instance->config.scan_on_start)
		return;
	instance->is_scan_due = true;
	instance->is_due_now = orma_base_clock_ns(CLOCK_MONOTONIC) >= instance->scan_again_ns;
	if (instance->is_due_now)
		orma_base_loop_arm_in(probe->loop, &instance->timer, 0, on_timer);
	else if (instance->config.poll_ms == 0)
		orma_base_loop_arm(probe->loop, &instance->timer, instance->scan_again_ns,
				   on_timer);
}

static void on_destroy(void *ctx, const struct orma_instance *from)
{
	struct orma_probes_process_instance *instance = from->instance_ctx;
	(void)ctx;
	if (!instance)
		return;
	orma_base_timer_disarm(&instance->timer);
	orma_probes_process_forget_all(instance);
	orma_base_free(instance);
}

static void probe_free(struct orma_probe *probe)
{
	struct orma_probes_process_probe *self = (void *)probe;
	if (self->source)
		orma_data_source_unregister(self->source);
	orma_base_fd_close(self->proc_fd);
	orma_base_buf_done(&self->status_text);
	orma_base_buf_done(&self->other_text);
	orma_probes_numbers_done(&self->pids);
	orma_probes_numbers_done(&self->tids);
	orma_probes_numbers_done(&self->fds);
	orma_base_free(self);
}

static int probe_register(struct orma_probes_process_probe *self)
{
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "linux.process_stats",
		.policy = ORMA_EXHAUSTED_STALL,
		.ctx = self,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_clear_incremental_state = on_clear,
		.on_destroy = on_destroy,
	};
	return orma_data_source_register(&options, &self->source);
}

static int probe_init(struct orma_probe *probe, const struct orma_probe_env *env)
{
	struct orma_probes_process_probe *self = (void *)probe;
	self->loop = env->loop;
	self->ns_per_tick = orma_probe_ns_per_tick();
	int r = self->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
	return r < 0 ? r : probe_register(self);
}

int orma_probe_process_stats_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(sizeof(struct orma_probes_process_probe), probe_init, probe_free,
			       env, ret);
}
