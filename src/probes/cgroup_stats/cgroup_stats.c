/* SPDX-License-Identifier: Apache-2.0
 * cgroup_stats.c - the data source linux.cgroup_stats: CPU, memory, disks, tasks and pressure of
 * each control group, at intervals.
 *
 * Owns the instances. Each has groups of its own, because sessions differ in period, roots and in
 * what their readers know. A poll reads all groups first and writes afterwards, so that the values
 * of a poll are close to each other in time.
 */
#include <fcntl.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probes/cgroup_stats/cgroup_stats.h"

static struct orma_cgroup_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct orma_cgroup_instance, base);
}

static struct orma_cgroup_probe *to_probe(struct orma_probe *base)
{
	return ORMA_CONTAINER_OF(base, struct orma_cgroup_probe, base);
}

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct orma_cgroup_instance *instance = to_instance(base);
	int r = orma_cgroup_config_parse(config, size, &instance->arena, &instance->config);

	if (r < 0) {
		orma_base_arena_done(&instance->arena);
		return r;
	}
	instance->probe = to_probe(base->probe);
	base->period_ms = instance->config.poll_ms;
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	(void)base;
	return true;
}

static void run(struct orma_probe_instance *base)
{
	struct orma_cgroup_instance *instance = to_instance(base);
	struct orma_cgroup_poll *poll = &instance->poll;

	if (poll->step == ORMA_CGROUP_IDLE)
		orma_cgroup_tree_begin(instance);
	if (poll->step == ORMA_CGROUP_READ && orma_cgroup_tree_read(instance)) {
		orma_cgroup_write_begin(instance);
		poll->step = ORMA_CGROUP_WRITE;
	}
	if (poll->step == ORMA_CGROUP_WRITE && orma_cgroup_write(instance))
		poll->step = ORMA_CGROUP_IDLE;
	base->is_unfinished = poll->step != ORMA_CGROUP_IDLE;
}

static void clear(struct orma_probe_instance *base)
{
	orma_cgroup_forget(to_instance(base));
}

static void destroy(struct orma_probe_instance *base)
{
	struct orma_cgroup_instance *instance = to_instance(base);

	orma_cgroup_tree_done(instance);
	orma_base_arena_done(&instance->arena);
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct orma_cgroup_probe *probe = to_probe(base);

	probe->ns_per_tick = orma_probe_ns_per_tick();
	return probe->sys_fd = orma_probes_dir_open(AT_FDCWD, env->sys_path);
}

static void close_probe(struct orma_probe *base)
{
	struct orma_cgroup_probe *probe = to_probe(base);

	orma_base_fd_close(probe->sys_fd);
	orma_base_buf_done(&probe->text);
	orma_base_buf_done(&probe->names);
}

static const struct orma_probe_ops ops = {
	.name = "linux.cgroup_stats",
	.probe_bytes = sizeof(struct orma_cgroup_probe),
	.instance_bytes = sizeof(struct orma_cgroup_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_cgroup_stats_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
