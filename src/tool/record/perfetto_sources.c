/* SPDX-License-Identifier: Apache-2.0
 * perfetto_sources.c - the words of a `perfetto` command line without a config.
 *
 *   group/event        the same
 *   hyp, hypervisor    the events of the kernel's buffer of that name
 *   disk               linux.sys_stats with the disks, as upstream, and the group block
 *   sched, freq, ...   a group of `orma record` (on Android, categories of atrace of the same meaning)
 *   any other word     a category of atrace: exists on Android alone, so it is left out with a warning
 *
 * Upstream records linux.process_stats and linux.system_info with all of them. It passes the words of
 * the last two kinds to atrace, which does not exist here, and records nothing for them, silently.
 */
#include "tool/record/perfetto_sources.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "tool/record/record_groups.h"
#include "tool/tool.h"

static const char *const always[] = {"linux.process_stats", "linux.system_info"};
static const char *const test_events[] = {"sched/sched_switch", "power/cpu_idle",
					  "power/cpu_frequency", "power/gpu_frequency"};
#define TEST_DURATION_MS 2000
/* The most sources that one word stands for. */
#define SOURCES_PER_WORD 2

static void add_word(const char *word, struct orma_record_wish *wish, const char **sources)
{
	if (strcmp(word, "hyp") == 0 || strcmp(word, "hypervisor") == 0) {
		wish->hypervisor = word;
	} else if (strcmp(word, "disk") == 0) {
		sources[wish->source_count++] = "linux.sys_stats";
		sources[wish->source_count++] = "block";
	} else if (strchr(word, '/') || orma_record_group_find(word)) {
		sources[wish->source_count++] = word;
	} else {
		orma_tool_warn(
			"\"%s\" is a category of atrace, which exists on Android alone; it is "
			"left out",
			word);
	}
}

int orma_perfetto_add_sources(const char *const *words, int count, struct orma_record_wish *wish,
			      const char ***ret)
{
	const char **sources = orma_base_alloc_array(
		(size_t)count * SOURCES_PER_WORD + ORMA_ARRAY_SIZE(always), sizeof(*sources));

	if (!sources)
		return -ENOMEM;
	wish->source_count = 0;
	for (int i = 0; i < count; i++)
		add_word(words[i], wish, sources);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(always); i++)
		sources[wish->source_count++] = always[i];
	wish->sources = sources;
	*ret = sources;
	return 0;
}

int orma_perfetto_add_test(struct orma_record_wish *wish, const char ***ret)
{
	wish->config_path = NULL;
	wish->duration_ms = TEST_DURATION_MS;
	return orma_perfetto_add_sources(test_events, (int)ORMA_ARRAY_SIZE(test_events), wish, ret);
}
