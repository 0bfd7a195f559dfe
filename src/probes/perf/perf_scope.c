/* SPDX-License-Identifier: Apache-2.0
 * perf_scope.c - decides which processes get call stacks.
 *
 * The order is upstream's: excluded command lines, excluded ids, included command lines, included ids. If no name and no id is
 * included, the shards decide, then the number of further command lines. Without either, all processes are included.
 *
 * Command lines come from other processes. A pattern that begins with '/' is compared with the whole first argument, and any
 * other pattern with its last component, up to an '@'. The time of a comparison is linear in the text times the number of stars,
 * and there is no recursion.
 */
#include "probes/perf/perf_scope.h"

#include <string.h>

#include "base/macros.h"

#define ADDITIONAL_MAX 4096u

void orma_perf_scope_init(struct orma_perf_scope *scope,
			  const struct orma_perf_scope_config *config, uint64_t random)
{
	*scope = (struct orma_perf_scope){.config = config};
	if (config->shard_count > 0)
		scope->chosen_shard = (uint32_t)(random % config->shard_count);
}

void orma_perf_scope_done(struct orma_perf_scope *scope)
{
	orma_base_map_done(&scope->additional);
}

bool orma_perf_scope_matches(struct orma_str pattern, struct orma_str text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;

	while (t < text.size) {
		if (p < pattern.size && pattern.data[p] == '*') {
			star = p++;
			star_text = t;
		} else if (p < pattern.size &&
			   (pattern.data[p] == '?' || pattern.data[p] == text.data[t])) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < pattern.size && pattern.data[p] == '*')
		p++;
	return p == pattern.size;
}

static struct orma_str first_argument(struct orma_str cmdline)
{
	return (struct orma_str){cmdline.data,
				 cmdline.size ? strnlen(cmdline.data, cmdline.size) : 0};
}

static struct orma_str base_name(struct orma_str path)
{
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	struct orma_str name = path;

	if (slash)
		name = (struct orma_str){slash + 1, path.size - (size_t)(slash + 1 - path.data)};
	const char *at = name.size ? memchr(name.data, '@', name.size) : NULL;
	if (at)
		name.size = (size_t)(at - name.data);
	return name;
}

static bool is_named(const struct orma_str *patterns, size_t count, struct orma_str argument,
		     struct orma_str name)
{
	for (size_t i = 0; i < count; i++) {
		bool is_path = patterns[i].size > 0 && patterns[i].data[0] == '/';
		if (orma_perf_scope_matches(patterns[i], is_path ? argument : name))
			return true;
	}
	return false;
}

static bool has_pid(const int32_t *pids, size_t count, uint32_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] >= 0 && (uint32_t)pids[i] == pid)
			return true;
	return false;
}

/* Includes the first command lines that are seen, until there are enough. */
static bool take_additional(struct orma_perf_scope *scope, struct orma_str name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);

	if (orma_base_map_get(&scope->additional, hash))
		return true;
	return scope->additional.count <
		       ORMA_MIN(scope->config->additional_count, ADDITIONAL_MAX) &&
	       orma_base_map_put(&scope->additional, hash, scope) == 0;
}

bool orma_perf_scope_includes(struct orma_perf_scope *scope, uint32_t pid, struct orma_str cmdline)
{
	const struct orma_perf_scope_config *config = scope->config;
	struct orma_str argument = first_argument(cmdline), name = base_name(argument);

	if (is_named(config->exclude_cmdlines, config->exclude_cmdline_count, argument, name) ||
	    has_pid(config->exclude_pids, config->exclude_pid_count, pid))
		return false;
	if (is_named(config->target_cmdlines, config->target_cmdline_count, argument, name) ||
	    has_pid(config->target_pids, config->target_pid_count, pid))
		return true;
	if (config->shard_count > 0 && pid % config->shard_count == scope->chosen_shard)
		return true;
	if (config->additional_count > 0)
		return take_additional(scope, name);
	return config->target_cmdline_count == 0 && config->target_pid_count == 0 &&
	       config->shard_count == 0;
}

bool orma_perf_scope_is_pids(const struct orma_perf_scope_config *config)
{
	return config->target_pid_count > 0 && config->target_cmdline_count == 0 &&
	       config->additional_count == 0 && config->shard_count == 0;
}
