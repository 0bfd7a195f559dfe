/* SPDX-License-Identifier: Apache-2.0
 * ftrace_probe.c - the data source linux.ftrace: its instances, their flushes and stops, and the kernel's symbols.
 *
 * Owns the machine (its buffers), the state folder, and the table of the kernel's symbols, which all sessions share. The
 * data source is offered without tracefs too; a session then says in its log and in its trace what is missing.
 *
 * A flush or a stop is a request to the session's buffer: it is complete when what the kernel holds is written, which may
 * take several turns of the loop. Then FtraceStats follow. A stop switches the recording off first, if this is the last
 * session, so that the end is the moment of the stop.
 *
 * Symbols are read on a thread of their own when a session wants them (symbolize_ksyms). Until they are there the session's
 * buffer is not drained, because events that were written before would lack their names; the kernel's buffer holds the
 * second that this takes. The start is complete when the symbols are there or cannot be read, so that a consumer that waits
 * for it does not lose events of a small buffer. The table is freed with the last session, unless a config says KSYMS_RETAIN.
 */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe.h"
#include "symbols/kallsyms.h"

struct ftrace_probe {
	struct orma_probe base; /* first */
	struct orma_ftrace_machine machine;
	struct orma_list instances;
	struct orma_kallsyms *kallsyms;
	struct orma_kallsyms_load *load; /* the last one; NULL = none was needed */
	bool is_loading, must_retain_kallsyms;
};

struct ftrace_instance {
	struct orma_probe_instance base; /* first */
	struct orma_list link;           /* in probe->instances */
	struct orma_ftrace_session session;
	struct orma_list waiting;  /* struct waiting */
	uint64_t start_completion; /* the start waits for the symbols; 0 = it does not */
};

/* A flush or a stop that waits for the buffer. */
struct waiting {
	struct orma_ftrace_drain_request request; /* first */
	struct orma_list link;                    /* in instance->waiting */
	struct ftrace_instance *instance;
	uint64_t completion;
};

static struct ftrace_probe *to_probe(struct orma_probe *base)
{
	return ORMA_CONTAINER_OF(base, struct ftrace_probe, base);
}

static struct ftrace_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct ftrace_instance, base);
}

/* --- symbols ---------------------------------------------------------------------------------- */

static bool wants_kallsyms(const struct ftrace_instance *instance)
{
	return instance->session.is_started && instance->session.config.wanted->symbolize_ksyms;
}

/* All of them: a session that made its buffer wait may have ended meanwhile. */
static void resume_buffers(struct ftrace_probe *probe)
{
	struct orma_ftrace_buffer *buffer;

	ORMA_LIST_FOR_EACH (buffer, &probe->machine.buffers, link)
		orma_ftrace_drain_pause(buffer, false);
}

static void on_kallsyms(void *ctx, int result, struct orma_kallsyms *kallsyms)
{
	struct ftrace_probe *probe = ctx;
	struct ftrace_instance *instance;

	probe->is_loading = false;
	probe->kallsyms = result == 0 ? kallsyms : NULL;
	ORMA_LIST_FOR_EACH (instance, &probe->instances, link) {
		if (!wants_kallsyms(instance))
			continue;
		if (result < 0)
			orma_ftrace_report_problem(
				&instance->session.report,
				"symbolize_ksyms: cannot read the kernel's symbols: %s",
				orma_base_error_words(result));
		orma_ftrace_session_set_kallsyms(&instance->session, probe->kallsyms);
		if (instance->start_completion)
			orma_data_source_complete(probe->base.source, instance->start_completion);
		instance->start_completion = 0;
	}
	resume_buffers(probe);
}

static void load_kallsyms(struct ftrace_probe *probe, struct ftrace_instance *instance)
{
	char path[ORMA_TRACEFS_PATH_BYTES];

	if (probe->kallsyms) {
		orma_ftrace_session_set_kallsyms(&instance->session, probe->kallsyms);
		return;
	}
	snprintf(path, sizeof(path), "%s/kallsyms", probe->machine.proc_path);
	orma_ftrace_drain_pause(instance->session.buffer, true);
	if (probe->is_loading)
		return;
	/* An earlier one has failed. */
	orma_kallsyms_load_free(ORMA_TAKE(probe->load));
	probe->is_loading = true;
	int r = orma_kallsyms_load_start(probe->base.loop, path, on_kallsyms, probe, &probe->load);
	if (r < 0)
		on_kallsyms(probe, r, NULL);
}

static void drop_kallsyms(struct ftrace_probe *probe)
{
	const struct ftrace_instance *instance;

	ORMA_LIST_FOR_EACH (instance, &probe->instances, link)
		if (wants_kallsyms(instance))
			return;
	orma_kallsyms_load_free(ORMA_TAKE(probe->load));
	if (probe->is_loading)
		resume_buffers(probe);
	probe->is_loading = false;
	if (!probe->must_retain_kallsyms) {
		orma_kallsyms_free(probe->kallsyms);
		probe->kallsyms = NULL;
	}
}

/* --- flushes and stops ------------------------------------------------------------------------- */

static void finish(struct ftrace_instance *instance)
{
	struct orma_data_source *source = instance->base.probe->source;

	orma_ftrace_session_write_stats(&instance->session);
	orma_data_source_flush_thread(source, instance->base.idx);
}

static void on_drained(struct orma_ftrace_drain_request *request)
{
	struct waiting *waiting = ORMA_CONTAINER_OF(request, struct waiting, request);
	struct orma_data_source *source = waiting->instance->base.probe->source;
	uint64_t completion = waiting->completion;

	finish(waiting->instance);
	orma_base_list_remove(&waiting->link);
	orma_base_free(waiting);
	orma_data_source_complete(source, completion);
}

static enum orma_completion drain(struct ftrace_instance *instance, uint64_t completion)
{
	struct orma_ftrace_session *session = &instance->session;
	struct waiting *waiting = session->is_started ? orma_base_zalloc(sizeof(*waiting)) : NULL;

	/* Without memory to wait, what the next ticks read comes after the flush. */
	if (waiting) {
		waiting->instance = instance;
		waiting->completion = completion;
		waiting->request.on_drained = on_drained;
		if (!orma_ftrace_drain_request(session->buffer, &waiting->request)) {
			orma_base_list_append(&instance->waiting, &waiting->link);
			return ORMA_POSTPONE;
		}
		orma_base_free(waiting);
	}
	finish(instance);
	return ORMA_COMPLETE;
}

static enum orma_completion begin_flush(struct orma_probe_instance *base, uint64_t completion)
{
	return drain(to_instance(base), completion);
}

static enum orma_completion begin_stop(struct orma_probe_instance *base, uint64_t completion)
{
	struct ftrace_instance *instance = to_instance(base);

	orma_ftrace_session_quiesce(&instance->session);
	return drain(instance, completion);
}

/* --- instances -------------------------------------------------------------------------------- */

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct ftrace_instance *instance = to_instance(base);
	struct ftrace_probe *probe = to_probe(base->probe);

	orma_base_list_init(&instance->waiting);
	instance->session.source = base->probe->source;
	instance->session.instance_idx = base->idx;
	int r = orma_ftrace_session_open(&instance->session, &probe->machine, config, size);
	if (r < 0) {
		orma_ftrace_session_close(&instance->session);
		return r;
	}
	orma_base_list_append(&probe->instances, &instance->link);
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	struct ftrace_instance *instance = to_instance(base);
	struct ftrace_probe *probe = to_probe(base->probe);
	const struct orma_pb_ftrace_config *wanted = instance->session.config.wanted;

	orma_ftrace_session_start(&instance->session);
	/* Tells readers that events from before the start belong to the trace. */
	if (wanted->preserve_ftrace_buffer && instance->session.is_started)
		orma_ftrace_session_write_start(&instance->session);
	if (wants_kallsyms(instance))
		load_kallsyms(probe, instance);
	if (wanted->ksyms_mem_policy == ORMA_PB_FTRACE_CONFIG_KSYMS_MEM_POLICY_KSYMS_RETAIN)
		probe->must_retain_kallsyms = true;
	return false;
}

static enum orma_completion begin_start(struct orma_probe_instance *base, uint64_t completion)
{
	struct ftrace_instance *instance = to_instance(base);

	if (!wants_kallsyms(instance) || !to_probe(base->probe)->is_loading)
		return ORMA_COMPLETE;
	instance->start_completion = completion;
	return ORMA_POSTPONE;
}

static void clear(struct orma_probe_instance *base)
{
	struct ftrace_instance *instance = to_instance(base);

	if (instance->session.sink)
		orma_ftrace_sink_clear(instance->session.sink);
}

static void destroy(struct orma_probe_instance *base)
{
	struct ftrace_instance *instance = to_instance(base);
	struct waiting *waiting, *next;

	ORMA_LIST_FOR_EACH_SAFE (waiting, next, &instance->waiting, link) {
		orma_ftrace_drain_cancel(&waiting->request);
		orma_base_free(waiting);
	}
	orma_ftrace_session_close(&instance->session);
	orma_base_list_remove(&instance->link);
	drop_kallsyms(to_probe(base->probe));
}

/* --- the probe -------------------------------------------------------------------------------- */

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct ftrace_probe *probe = to_probe(base);

	orma_base_list_init(&probe->instances);
	orma_base_list_init(&probe->machine.buffers);
	probe->machine.loop = env->loop;
	probe->machine.tracefs_path = env->tracefs_path;
	probe->machine.proc_path = env->proc_path;
	probe->machine.sightings = env->sightings;
	probe->machine.self = env->self;
	probe->machine.state_path = env->ftrace_state_path;
	probe->machine.state_folder_fd = -1;
	orma_ftrace_buffers_recover(&probe->machine);
	return 0;
}

static void close_probe(struct orma_probe *base)
{
	struct ftrace_probe *probe = to_probe(base);

	ORMA_ASSERT(orma_base_list_is_empty(&probe->machine.buffers));
	orma_kallsyms_load_free(probe->load);
	orma_kallsyms_free(probe->kallsyms);
	orma_base_fd_close(probe->machine.state_folder_fd);
}

static const struct orma_probe_ops ops = {
	.name = "linux.ftrace",
	.probe_bytes = sizeof(struct ftrace_probe),
	.instance_bytes = sizeof(struct ftrace_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.begin_start = begin_start,
	.begin_stop = begin_stop,
	.begin_flush = begin_flush,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_ftrace_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
