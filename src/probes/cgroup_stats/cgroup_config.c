/* SPDX-License-Identifier: Apache-2.0
 * cgroup_config.c - CgroupStatsConfig with its defaults and limits.
 *
 * Owns nothing. The configuration comes from any process that may start tracing, so a path must not
 * lead out of the tree of control groups: paths with a component "." or ".." are refused.
 */
#include <errno.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "probes/cgroup_stats/cgroup_stats.h"
#include "probes/probe_text.h"
#include "schema/gen/cgroup_stats_config.pb.h"
#include "schema/gen/data_source_config.pb.h"

#define ALL_KINDS UINT32_MAX

static const struct orma_str whole_tree[] = {{"", 0}};

static uint32_t poll_ms(uint32_t wanted)
{
	if (wanted == 0)
		return ORMA_CGROUP_POLL_MS_DEFAULT;
	if (wanted >= ORMA_CGROUP_POLL_MS_MIN)
		return wanted;
	orma_base_log(ORMA_LOG_INFO,
		      "linux.cgroup_stats: poll_ms: %u is below the minimum; %u is used", wanted,
		      ORMA_CGROUP_POLL_MS_MIN);
	return ORMA_CGROUP_POLL_MS_MIN;
}

static struct orma_str without_slashes(struct orma_str path)
{
	while (path.size > 0 && path.data[0] == '/')
		path = (struct orma_str){path.data + 1, path.size - 1};
	while (path.size > 0 && path.data[path.size - 1] == '/')
		path.size--;
	return path;
}

static bool stays_inside(struct orma_str path)
{
	struct orma_str part;

	if (path.size >= ORMA_CGROUP_PATH_BYTES || memchr(path.data, '\0', path.size))
		return false;
	while (orma_probes_text_until(&path, '/', &part))
		if (part.size == 0 || orma_base_str_is(part, ".") || orma_base_str_is(part, ".."))
			return false;
	return !orma_base_str_is(path, ".") && !orma_base_str_is(path, "..");
}

static int set_roots(const struct orma_pb_cgroup_stats_config *wanted, struct orma_arena *arena,
		     struct orma_cgroup_config *ret)
{
	size_t wanted_count = wanted->groups.count;
	struct orma_str *roots = orma_base_arena_alloc(arena, wanted_count * sizeof(*roots));

	if (!roots)
		return -ENOMEM;
	ret->root_count = 0;
	for (size_t i = 0; i < wanted_count; i++) {
		struct orma_str path = without_slashes(wanted->groups.items[i]);
		if (stays_inside(path))
			roots[ret->root_count++] = path;
		else
			orma_base_log(ORMA_LOG_WARNING,
				      "linux.cgroup_stats: groups: \"%.*s\" is not the path of a "
				      "control group",
				      (int)ORMA_MIN(path.size, (size_t)100), path.data);
	}
	ret->roots = roots;
	return ret->root_count > 0 ? 0 : -EINVAL;
}

int orma_cgroup_config_parse(const void *config, size_t size, struct orma_arena *arena,
			     struct orma_cgroup_config *ret)
{
	struct orma_pb_data_source_config *source;
	int r = orma_proto_decode_copy(&orma_pb_data_source_config_desc, config, size, arena,
				       &source);
	if (r < 0)
		return r;
	*ret = (struct orma_cgroup_config){
		.poll_ms = ORMA_CGROUP_POLL_MS_DEFAULT,
		.max_groups = ORMA_CGROUP_GROUPS_DEFAULT,
		.kinds = ALL_KINDS,
		.roots = whole_tree,
		.root_count = 1,
	};
	const struct orma_pb_cgroup_stats_config *wanted = source->cgroup_stats_config;
	if (!wanted)
		return 0;
	ret->poll_ms = poll_ms(wanted->poll_ms);
	if (wanted->max_groups > 0)
		ret->max_groups = ORMA_MIN(wanted->max_groups, (uint32_t)ORMA_CGROUP_GROUPS_MAX);
	if (wanted->counters.count > 0)
		ret->kinds = 0;
	for (size_t i = 0; i < wanted->counters.count; i++)
		if (wanted->counters.items[i] > 0 && wanted->counters.items[i] < 32)
			ret->kinds |= UINT32_C(1) << wanted->counters.items[i];
	return wanted->groups.count > 0 ? set_roots(wanted, arena, ret) : 0;
}
