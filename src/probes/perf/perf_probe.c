/* SPDX-License-Identifier: Apache-2.0
 * perf_probe.c - the data source linux.perf: its instances, from their start to their end.
 *
 * Owns the instances, one for each session. An instance opens the events of its config at its start (perf_choice.c), and may
 * replace them while it runs (perf_instance.c).
 *
 * An instance reads its rings when one of them is a quarter full, when the session flushes or stops, and every
 * ring_buffer_read_period_ms if the config sets that. So an idle machine causes no wake-ups. A read stops before records that are
 * newer than its beginning, because another CPU may still write an older one. The next read takes them.
 *
 * A read does not wait for a file that is being read. It stops, and continues when the file has been read. A flush and the end
 * wait for files, because what they write must be complete.
 *
 * A thread reads the names of the kernel's functions. When it has them, the events are enabled, and the start is acknowledged.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/perf/perf_complain.h"
#include "probes/perf/perf_instance.h"
#include "probes/perf/perf_prefetch.h"
#include "probes/perf/perf_probe.h"
#include "probes/perf/perf_targets.h"
#include "probes/probe_text.h"
#include "profile/stop_time.h"
#include "schema/gen/data_source_config.pb.h"

#define MEMORY_CHECK_MS UINT64_C(1000)
/* How long a flush waits for files that are being read, while other probes wait for it. */
#define FLUSH_WAIT_NS ORMA_NS_PER_SEC
/* The kernel writes a record within this time after it has read the clock. */
#define SETTLE_NS (UINT64_C(100) * 1000)

static struct orma_perf_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct orma_perf_instance, base);
}

static uint64_t now_on_clock(struct orma_perf_instance *instance)
{
	const struct orma_perf_kernel *kernel = orma_perf_probe_of(instance)->kernel;

	return kernel->clock_ns(kernel->ctx, instance->config.clock);
}

/* ---- the beginning ---- */

static void arm_memory_timer(struct orma_perf_instance *instance);

static bool reads_files(const struct orma_perf_config *config)
{
	return config->wants_stacks && config->user_frames != ORMA_PERF_USER_SKIP;
}

static void begin_sampling(struct orma_perf_instance *instance)
{
	if (instance->prefetched)
		orma_perf_prefetch_wait(instance->prefetched);
	orma_unwind_process_free(ORMA_TAKE(instance->prefetched));
	orma_perf_events_enable(instance->events);
	orma_perf_instance_adopt_children(instance);
	orma_perf_instance_keep_budget(instance);
	instance->is_running = true;
	arm_memory_timer(instance);
	if (instance->base.period_ms > 0)
		orma_probe_run_soon(&instance->base);
}

/* ---- the kernel's names ---- */

static void on_kallsyms(void *ctx, int result, struct orma_kallsyms *kallsyms)
{
	struct orma_perf_instance *instance = ctx;

	if (result < 0)
		orma_base_log(
			ORMA_LOG_WARNING, "linux.perf: the kernel's functions have no names: %s%s",
			strerror(-result),
			result == -EACCES ? "; run as root, or set kernel.kptr_restrict to 0" : "");
	instance->kallsyms = kallsyms;
	instance->stacks.kallsyms = kallsyms;
	orma_kallsyms_load_free(ORMA_TAKE(instance->kallsyms_load));
	if (!instance->base.is_stopping)
		begin_sampling(instance);
	if (instance->start_completion)
		orma_data_source_complete(instance->base.probe->source, instance->start_completion);
	instance->start_completion = 0;
}

static void load_kallsyms(struct orma_perf_instance *instance)
{
	struct orma_perf_probe *probe = orma_perf_probe_of(instance);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};

	if (!instance->config.kernel_frames || !(instance->events->can & ORMA_PERF_CAN_KERNEL) ||
	    orma_base_buf_printf(&path, "%s/kallsyms", probe->paths.proc) < 0)
		return;
	const char *name = orma_base_buf_cstr(&path);
	if (name)
		(void)orma_kallsyms_load_start(probe->base.loop, name, on_kallsyms, instance,
					       &instance->kallsyms_load);
}

/* ---- the guardrail ---- */

static uint64_t read_memory_kb(struct orma_perf_probe *probe)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str text;
	uint64_t bytes;

	if (orma_probes_file_read(probe->proc_fd, "self/statm", &buf, &text) < 0 ||
	    !orma_probes_text_resident(text, (uint64_t)sysconf(_SC_PAGESIZE), &bytes))
		return 0;
	return bytes / 1024;
}

static void on_memory_timer(struct orma_timer *timer)
{
	struct orma_perf_instance *instance =
		ORMA_CONTAINER_OF(timer, struct orma_perf_instance, memory_timer);
	uint64_t memory_kb = read_memory_kb(orma_perf_probe_of(instance));

	if (memory_kb <= instance->config.memory_kb_max) {
		arm_memory_timer(instance);
		return;
	}
	orma_base_log(ORMA_LOG_ERROR,
		      "linux.perf: max_daemon_memory_kb: the process uses %u KiB; the recording of "
		      "samples ends",
		      (unsigned)memory_kb);
	orma_perf_events_disable(instance->events);
	orma_perf_packets_guardrail(&instance->packets);
	instance->is_running = false;
}

static void arm_memory_timer(struct orma_perf_instance *instance)
{
	if (instance->config.memory_kb_max > 0)
		(void)orma_base_loop_arm_in(orma_perf_probe_of(instance)->base.loop,
					    &instance->memory_timer,
					    MEMORY_CHECK_MS * ORMA_NS_PER_MS, on_memory_timer);
}

/* ---- an instance ---- */

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct orma_perf_instance *instance = to_instance(base);
	struct orma_pb_data_source_config *source;
	int r = orma_perf_config_parse(config, size, &instance->arena, &instance->config);

	if (r == 0)
		r = orma_proto_decode(&orma_pb_data_source_config_desc, config, size,
				      &instance->arena, &source);
	if (r < 0) {
		orma_base_arena_done(&instance->arena);
		return r;
	}
	instance->session_id = source->tracing_session_id;
	base->period_ms =
		instance->config.poll_ms > 0 ? instance->config.poll_ms : instance->config.read_ms;
	return 0;
}

static int prepare(struct orma_perf_instance *instance)
{
	struct orma_perf_probe *probe = orma_perf_probe_of(instance);
	const struct orma_perf_config *config = &instance->config;
	uint64_t random =
		orma_base_fnv1a(probe->random, &instance->session_id, sizeof(instance->session_id));

	orma_base_list_init(&instance->stalled_item);
	instance->seen = orma_sightings_get(probe->sightings, instance->session_id);
	orma_perf_names_init(&instance->names, instance->seen, &instance->packets, probe->proc_fd);
	orma_perf_scope_init(&instance->scope, &config->scope, random);
	instance->stacks.config = config;
	instance->stacks.processes = &instance->processes;
	instance->processes = (struct orma_perf_processes){
		.files = probe->files,
		.seen = instance->seen,
		.scope = &instance->scope,
		.proc_fd = probe->proc_fd,
		.wants_cmdlines = config->scope.target_cmdline_count > 0 ||
				  config->scope.exclude_cmdline_count > 0 ||
				  config->scope.additional_count > 0,
		.follows_children = config->follow_children,
	};
	int r = orma_perf_stacks_init(&instance->stacks);
	if (r < 0)
		return r;
	r = orma_perf_targets_cpus(probe->paths.sys, config, &instance->cpus);
	if (r < 0) {
		orma_base_log(ORMA_LOG_ERROR, "linux.perf: none of the CPUs can be watched: %s",
			      r == -ENODATA
				      ? "target_cpu and cpuid leave none that is online; cpuid "
					"names CPUs of ARM"
				      : strerror(-r));
		return r;
	}
	r = orma_perf_reader_init(&instance->reader,
				  instance->cpus.items[instance->cpus.count - 1] + 1);
	if (r == 0)
		r = orma_perf_packets_init(&instance->packets, probe->base.source,
					   instance->base.idx, config, instance->scope.chosen_shard,
					   &instance->stacks);
	return r;
}

static bool open_events(struct orma_perf_instance *instance)
{
	struct orma_perf_choice choice;

	if (prepare(instance) < 0)
		return false;
	choice = orma_perf_instance_choice(instance);
	return orma_perf_choice_open_first(&choice, &instance->events) == 0;
}

static bool start(struct orma_probe_instance *base)
{
	struct orma_perf_instance *instance = to_instance(base);
	const struct orma_perf_probe *probe = orma_perf_probe_of(instance);

	if (!open_events(instance)) {
		if (probe->on_failure)
			probe->on_failure(probe->on_failure_ctx);
		return false;
	}
	/* Events of single tasks cover the scope and their children, and nothing else. */
	instance->processes.is_all_in = instance->events->is_per_task &&
					instance->config.scope.exclude_pid_count == 0 &&
					instance->config.scope.exclude_cmdline_count == 0;
	/* A recorder that starts a program profiles its own children, but not itself. */
	if (instance->events->is_per_task || orma_perf_choice_is_named(&instance->config))
		instance->reader.own_pid = instance->processes.own_pid = (uint32_t)getpid();
	instance->reader.hides_others = orma_perf_choice_is_named(&instance->config);
	instance->reader.config = &instance->config;
	instance->reader.events = instance->events;
	instance->reader.processes = &instance->processes;
	instance->reader.stacks = &instance->stacks;
	instance->reader.packets = &instance->packets;
	if (reads_files(&instance->config))
		(void)orma_perf_prefetch_start(probe->files, &instance->prefetched);
	load_kallsyms(instance);
	if (!instance->kallsyms_load)
		begin_sampling(instance);
	return false;
}

static enum orma_completion begin_start(struct orma_probe_instance *base, uint64_t completion)
{
	struct orma_perf_instance *instance = to_instance(base);

	if (!instance->kallsyms_load)
		return ORMA_COMPLETE;
	instance->start_completion = completion;
	return ORMA_POSTPONE;
}

static bool is_turn_over(void *ctx)
{
	return orma_probe_is_turn_over(ctx);
}

/* Forgets what is known of processes at the period that the session has set. */
static void clear_if_due(struct orma_perf_instance *instance)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t period_ns = (uint64_t)instance->config.clear_period_ms * ORMA_NS_PER_MS;

	if (period_ns == 0)
		return;
	if (instance->clear_ns > 0 && now_ns >= instance->clear_ns + period_ns)
		orma_perf_processes_drop_code(&instance->processes);
	if (instance->clear_ns == 0 || now_ns >= instance->clear_ns + period_ns)
		instance->clear_ns = now_ns;
}

/* Lets the run continue when a file has been read. */
static void note_stall(struct orma_perf_instance *instance)
{
	orma_base_list_remove(&instance->stalled_item);
	if (instance->reader.is_stalled)
		orma_base_list_append(&orma_perf_probe_of(instance)->stalled,
				      &instance->stalled_item);
}

static void run(struct orma_probe_instance *base)
{
	struct orma_perf_instance *instance = to_instance(base);

	if (!instance->is_running)
		return;
	if (instance->config.poll_ms > 0) {
		orma_perf_reader_poll(&instance->reader, orma_base_clock_ns(CLOCK_BOOTTIME));
		return;
	}
	bool continues = instance->reader.turns_limit_ns > 0;
	instance->reader.never_waits = true;
	base->is_unfinished = orma_perf_reader_run(
		&instance->reader, now_on_clock(instance) - SETTLE_NS, is_turn_over, base);
	instance->reader.never_waits = false;
	orma_perf_names_deliver(&instance->names);
	note_stall(instance);
	orma_perf_instance_keep_budget(instance);
	if (base->is_unfinished)
		return;
	/* The kernel may have reported newer records during an earlier turn. */
	if (continues && !instance->reader.is_stalled)
		orma_probe_run_soon(base);
	orma_perf_instance_grow_stacks(instance);
	clear_if_due(instance);
}

/* Waits at most `wait_ns` for files that are being read. */
static void run_and_wait(struct orma_perf_instance *instance, uint64_t limit_ns, uint64_t wait_ns)
{
	instance->stacks.patience = (struct orma_unwind_patience){
		.max_ns = wait_ns,
		.left_ns = wait_ns,
		.since_ns = orma_base_clock_ns(CLOCK_MONOTONIC),
	};
	(void)orma_perf_reader_run(&instance->reader, limit_ns, NULL, NULL);
	instance->stacks.patience.max_ns = 0;
}

/* A sample whose files are not read in time stays in the ring until they are, or until the stop. */
static void flush(struct orma_probe_instance *base)
{
	struct orma_perf_instance *instance = to_instance(base);

	if (instance->is_running && instance->config.poll_ms == 0) {
		instance->reader.never_waits = true;
		run_and_wait(instance, now_on_clock(instance), FLUSH_WAIT_NS);
		instance->reader.never_waits = false;
		note_stall(instance);
	}
	orma_perf_names_deliver(&instance->names);
}

static enum orma_completion begin_stop(struct orma_probe_instance *base, uint64_t completion)
{
	struct orma_perf_instance *instance = to_instance(base);

	(void)completion;
	if (!instance->is_running)
		return ORMA_COMPLETE;
	orma_perf_events_disable(instance->events);
	if (instance->config.poll_ms > 0) {
		orma_perf_reader_poll(&instance->reader, orma_base_clock_ns(CLOCK_BOOTTIME));
	} else {
		run_and_wait(instance, UINT64_MAX - 1,
			     orma_profile_stop_step_ns(instance->config.stop_timeout_ms));
		orma_perf_names_deliver(&instance->names);
		orma_perf_waits_end_all(&instance->reader.waits, now_on_clock(instance),
					&instance->stacks, &instance->packets);
		(void)orma_module_symbols_write(
			instance->stacks.symbols, base->probe->source, base->idx,
			orma_base_clock_ns(CLOCK_MONOTONIC) +
				orma_profile_stop_step_ns(instance->config.stop_timeout_ms));
	}
	orma_perf_complain_late(&instance->reader);
	/* With the period 1, a process without a sample had no event. */
	if (instance->events->is_per_task && !instance->config.off_cpu &&
	    instance->config.period != 1)
		orma_perf_complain_short(&orma_perf_probe_of(instance)->paths,
					 &instance->processes);
	instance->is_running = false;
	return ORMA_COMPLETE;
}

static void clear(struct orma_probe_instance *base)
{
	to_instance(base)->packets.must_clear = true;
}

static void destroy(struct orma_probe_instance *base)
{
	struct orma_perf_instance *instance = to_instance(base);

	if (instance->stalled_item.next)
		orma_base_list_remove(&instance->stalled_item);
	orma_base_timer_disarm(&instance->memory_timer);
	orma_base_timer_disarm(&instance->budget_timer);
	orma_perf_budget_done(&instance->budget);
	orma_kallsyms_load_free(instance->kallsyms_load);
	orma_unwind_process_free(instance->prefetched);
	orma_perf_choice_close(instance->events);
	orma_perf_reader_done(&instance->reader);
	orma_perf_packets_done(&instance->packets);
	orma_perf_stacks_done(&instance->stacks);
	orma_perf_processes_done(&instance->processes);
	orma_perf_names_done(&instance->names);
	orma_sightings_put(instance->seen);
	orma_perf_scope_done(&instance->scope);
	orma_kallsyms_free(instance->kallsyms);
	orma_probes_numbers_done(&instance->cpus);
	orma_base_arena_done(&instance->arena);
}

/* ---- the probe ---- */

static void on_file(struct orma_watch *watch, unsigned ready)
{
	struct orma_perf_probe *probe =
		ORMA_CONTAINER_OF(watch, struct orma_perf_probe, files_watch);
	struct orma_perf_instance *instance, *next;
	uint64_t count;

	(void)ready;
	(void)!read(watch->fd, &count, sizeof(count));
	ORMA_LIST_FOR_EACH_SAFE (instance, next, &probe->stalled, stalled_item) {
		orma_base_list_remove(&instance->stalled_item);
		if (instance->is_running)
			orma_probe_run_soon(&instance->base);
	}
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct orma_perf_probe *probe = ORMA_CONTAINER_OF(base, struct orma_perf_probe, base);

	probe->paths = (struct orma_perf_paths){env->tracefs_path, env->sys_path, env->proc_path};
	probe->sightings = env->sightings;
	probe->on_failure = env->on_perf_failure;
	probe->on_failure_ctx = env->on_perf_failure_ctx;
	probe->kernel = env->perf_kernel ? env->perf_kernel : &orma_perf_kernel_real;
	if (getrandom(&probe->random, sizeof(probe->random), GRND_NONBLOCK) !=
	    sizeof(probe->random))
		probe->random = orma_base_clock_ns(CLOCK_REALTIME);
	probe->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
	orma_base_list_init(&probe->stalled);
	if (probe->proc_fd < 0)
		return probe->proc_fd;
	int r = orma_unwind_files_new(NULL, &probe->files);
	return r < 0 ? r
		     : orma_base_loop_watch(env->loop, &probe->files_watch,
					    orma_unwind_files_event_fd(probe->files),
					    ORMA_LOOP_READ, on_file);
}

static void close_probe(struct orma_probe *base)
{
	struct orma_perf_probe *probe = ORMA_CONTAINER_OF(base, struct orma_perf_probe, base);

	orma_base_fd_close(probe->proc_fd);
	orma_base_watch_remove(&probe->files_watch);
	orma_unwind_files_free(probe->files);
}

static const struct orma_probe_ops ops = {
	.name = "linux.perf",
	.probe_bytes = sizeof(struct orma_perf_probe),
	.instance_bytes = sizeof(struct orma_perf_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.begin_start = begin_start,
	.run = run,
	.flush = flush,
	.begin_stop = begin_stop,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_perf_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
