/* SPDX-License-Identifier: Apache-2.0
 * probe.c - the instances of probes: their callbacks and timers.
 *
 * An instance first runs in the loop's next turn after its start, so that the start is acknowledged
 * at once. A flush that comes earlier runs it first. Later runs are at multiples of the period on
 * CLOCK_MONOTONIC, so that all instances with the same period run together. Runs that a slow
 * instance has missed are skipped. An instance whose configuration is not usable has no struct, and
 * its callbacks do nothing.
 *
 * A run that reads many files is split over turns of the loop, so that the other probes and the
 * connection wait for milliseconds and not for a second. A flush or a stop that comes in between is
 * completed when the run has ended. So the data in front of the flush is whole.
 *
 * A probe is its own struct that begins with struct orma_probe, and so are its instances. Rejected:
 * one struct for all probes with a pointer to the rest (two allocations that can fail); one timer
 * for all instances of a probe (it would have to tick at the greatest common divisor of their
 * periods).
 */
#include "probes/probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/self_trace/self_trace.h"

/* How long a packet waits for room. All probes wait meanwhile, and so does the connection. A service that takes longer hangs;
 * the packet is dropped then, and the trace says so. */
#define STALL_MS_MAX 1000u
/* The protocol's flush flags have the reason in their lowest bits. */
#define FLUSH_REASON_MASK  0xfu
#define FLUSH_REASON_CLONE 3u

/* --- the timer -------------------------------------------------------------------------------- */

static void on_timer(struct orma_timer *timer);

static void arm(struct orma_probe_instance *instance, uint64_t deadline_ns)
{
	if (orma_base_loop_arm(instance->probe->loop, &instance->timer, deadline_ns, on_timer) < 0)
		orma_base_log(ORMA_LOG_ERROR, "%s: no memory for a timer",
			      instance->probe->ops->name);
}

static enum orma_completion stop(struct orma_probe_instance *instance, uint64_t completion)
{
	const struct orma_probe_ops *ops = instance->probe->ops;

	orma_base_timer_disarm(&instance->timer);
	instance->is_due_now = false;
	return ops->begin_stop ? ops->begin_stop(instance, completion) : ORMA_COMPLETE;
}

/* Completes the flushes, and perhaps the stop, that have waited for the end of a run. */
static void complete_waiting(struct orma_probe_instance *instance)
{
	struct orma_probe *probe = instance->probe;
	uint64_t completion;

	if (instance->waiting.size == 0 && instance->stop_completion == 0)
		return;
	/* begin_stop() writes what is left, and has a limit of time for it. */
	if (probe->ops->flush && (instance->waiting.size > 0 || !probe->ops->begin_stop))
		probe->ops->flush(instance);
	orma_data_source_flush_thread(probe->source, instance->idx);
	for (size_t at = 0; at < instance->waiting.size; at += sizeof(completion)) {
		memcpy(&completion, instance->waiting.data + at, sizeof(completion));
		orma_data_source_complete(probe->source, completion);
	}
	instance->waiting.size = 0;
	completion = instance->stop_completion;
	instance->stop_completion = 0;
	if (completion == 0 || stop(instance, completion) == ORMA_POSTPONE)
		return;
	orma_data_source_flush_thread(probe->source, instance->idx);
	orma_data_source_complete(probe->source, completion);
}

/* Returns true when a flush waits for the end of a run. When there is no memory to remember the
 * completion, it does not wait, and the flush ends before the run has written everything. */
static bool wait_for_run(struct orma_probe_instance *instance, uint64_t completion)
{
	return instance->is_unfinished &&
	       orma_base_buf_append(&instance->waiting, &completion, sizeof(completion)) == 0;
}

static void run(struct orma_probe_instance *instance)
{
	struct orma_probe *probe = instance->probe;
	uint64_t begin_ns = orma_self_begin(probe->self);

	instance->is_due_now = instance->is_unfinished = false;
	instance->turn_end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + probe->turn_ns;
	probe->ops->run(instance);
	orma_self_end(probe->self, probe->ops->name, begin_ns);
	if (instance->is_unfinished) {
		arm(instance, orma_base_clock_ns(CLOCK_MONOTONIC));
		return;
	}
	complete_waiting(instance);
	if (instance->period_ms == 0 || instance->is_due_now || instance->is_stopping)
		return;
	arm(instance,
	    orma_probe_next_run_ns(orma_base_clock_ns(CLOCK_MONOTONIC), instance->period_ms));
}

static void on_timer(struct orma_timer *timer)
{
	run(ORMA_CONTAINER_OF(timer, struct orma_probe_instance, timer));
}

void orma_probe_run_soon(struct orma_probe_instance *instance)
{
	instance->is_due_now = true;
	arm(instance, orma_base_clock_ns(CLOCK_MONOTONIC));
}

void orma_probe_run_at(struct orma_probe_instance *instance, uint64_t deadline_ns)
{
	ORMA_ASSERT(!instance->is_due_now);
	arm(instance, deadline_ns);
}

/* --- callbacks of the data source ------------------------------------------------------------- */

static void on_setup(void *ctx, const struct orma_instance *from, void **ret_instance_ctx)
{
	struct orma_probe *probe = ctx;
	struct orma_probe_instance *instance = orma_base_zalloc(probe->ops->instance_bytes);
	int r = -ENOMEM;

	if (instance) {
		instance->probe = probe;
		instance->idx = from->idx;
		r = probe->ops->setup(instance, from->config, from->config_size);
	}
	if (r < 0) {
		orma_base_log(ORMA_LOG_ERROR, "%s: the configuration is not usable: %s",
			      probe->ops->name, strerror(-r));
		orma_base_free(instance);
		return;
	}
	*ret_instance_ctx = instance;
}

static enum orma_completion on_start(void *ctx, const struct orma_instance *from)
{
	struct orma_probe *probe = ctx;
	struct orma_probe_instance *instance = from->instance_ctx;

	if (instance && probe->ops->start(instance))
		orma_probe_run_soon(instance);
	return instance && probe->ops->begin_start
		       ? probe->ops->begin_start(instance, from->completion)
		       : ORMA_COMPLETE;
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *from)
{
	struct orma_probe_instance *instance = from->instance_ctx;

	(void)ctx;
	if (!instance)
		return ORMA_COMPLETE;
	instance->is_stopping = true;
	if (!instance->is_unfinished)
		return stop(instance, from->completion);
	instance->stop_completion = from->completion;
	return ORMA_POSTPONE;
}

/* Runs an instance that has been started and has not run yet. Most probes read nothing else in a
 * flush. */
static enum orma_completion on_flush(void *ctx, const struct orma_instance *from)
{
	struct orma_probe *probe = ctx;
	struct orma_probe_instance *instance = from->instance_ctx;

	if (instance && instance->is_due_now) {
		orma_base_timer_disarm(&instance->timer);
		run(instance);
	}
	if (instance && wait_for_run(instance, from->completion))
		return ORMA_POSTPONE;
	if (instance && probe->ops->flush)
		probe->ops->flush(instance);
	if (instance && probe->ops->begin_flush) {
		instance->is_flush_for_clone =
			(from->flush_flags & FLUSH_REASON_MASK) == FLUSH_REASON_CLONE;
		return probe->ops->begin_flush(instance, from->completion);
	}
	orma_data_source_flush_thread(probe->source, from->idx);
	return ORMA_COMPLETE;
}

static void on_clear(void *ctx, const struct orma_instance *from)
{
	struct orma_probe *probe = ctx;
	struct orma_probe_instance *instance = from->instance_ctx;

	if (instance)
		probe->ops->clear(instance);
}

static void on_destroy(void *ctx, const struct orma_instance *from)
{
	struct orma_probe *probe = ctx;
	struct orma_probe_instance *instance = from->instance_ctx;

	if (!instance)
		return;
	ORMA_ASSERT(instance->probe == probe && instance->idx == from->idx);
	orma_base_timer_disarm(&instance->timer);
	if (probe->ops->destroy)
		probe->ops->destroy(instance);
	orma_base_buf_done(&instance->waiting);
	orma_base_free(instance);
}

/* --- the probe -------------------------------------------------------------------------------- */

static int register_source(struct orma_probe *probe)
{
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = probe->ops->name,
		.policy = ORMA_EXHAUSTED_STALL,
		.stall_timeout_ms = STALL_MS_MAX,
		.ctx = probe,
		.on_setup = on_setup,
		.on_start_postponable = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_clear_incremental_state = probe->ops->clear ? on_clear : NULL,
		.on_destroy = on_destroy,
	};

	return orma_data_source_register(&options, &probe->source);
}

int orma_probe_make(const struct orma_probe_ops *ops, const struct orma_probe_env *env,
		    struct orma_probe **ret)
{
	struct orma_probe *probe = orma_base_zalloc(ops->probe_bytes);

	if (!probe)
		return -ENOMEM;
	probe->ops = ops;
	probe->loop = env->loop;
	probe->self = env->self;
	probe->turn_ns = env->turn_ns ? env->turn_ns : ORMA_PROBE_TURN_NS;
	int r = ops->open(probe, env);
	if (r >= 0)
		r = register_source(probe);
	if (r < 0) {
		orma_probe_free(probe);
		return r;
	}
	*ret = probe;
	return 0;
}

void orma_probe_free(struct orma_probe *probe)
{
	if (probe->source)
		orma_data_source_unregister(probe->source);
	probe->ops->close(probe);
	orma_base_free(probe);
}

uint64_t orma_probe_ns_per_tick(void)
{
	long ticks_per_s = sysconf(_SC_CLK_TCK);

	return ORMA_NS_PER_SEC / (uint64_t)ORMA_MAX(ticks_per_s, 1L);
}
