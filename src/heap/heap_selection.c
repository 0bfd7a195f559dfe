/* SPDX-License-Identifier: Apache-2.0
 * heap_selection.c - which processes and heaps a config selects. The rules are those of Perfetto's heapprofd.
 */
#include "heap/heap_selection.h"

#include <string.h>

#define DEFAULT_INTERVAL_BYTES 4096u
#define DEFAULT_HEAP           "libc.malloc"

static struct orma_str normal_name(struct orma_str text)
{
	const char *end = memchr(text.data, '@', text.size), *slash;
	size_t size = end ? (size_t)(end - text.data) : text.size;

	slash = memrchr(text.data, '/', size);
	if (!slash)
		return (struct orma_str){text.data, size};
	return (struct orma_str){slash + 1, size - (size_t)(slash + 1 - text.data)};
}

bool orma_heap_command_matches(struct orma_str pattern, const char *command)
{
	struct orma_str wanted = normal_name(pattern);
	struct orma_str name = normal_name((struct orma_str){command, strlen(command)});
	const char *star = wanted.size > 0 ? memchr(wanted.data, '*', wanted.size) : NULL;
	size_t before, after;

	if (!star)
		return wanted.size == name.size &&
		       (name.size == 0 || memcmp(wanted.data, name.data, name.size) == 0);
	before = (size_t)(star - wanted.data);
	after = wanted.size - before - 1;
	return name.size >= before + after && memcmp(name.data, wanted.data, before) == 0 &&
	       memcmp(name.data + name.size - after, star + 1, after) == 0;
}

static bool names_process(const struct orma_pb_heapprofd_config *config,
			  const struct orma_heap_process_facts *process)
{
	if (config->all)
		return true;
	for (size_t i = 0; i < config->pid.count; i++)
		if (config->pid.items[i] == (uint64_t)process->pid)
			return true;
	for (size_t i = 0; i < config->process_cmdline.count; i++)
		if (orma_heap_command_matches(config->process_cmdline.items[i], process->command))
			return true;
	return false;
}

bool orma_heap_is_selected(const struct orma_pb_heapprofd_config *config,
			   const struct orma_heap_process_facts *process)
{
	if (process->is_starting ? config->no_startup : config->no_running)
		return false;
	if (!process->is_starting && process->anonymous_kb < config->min_anonymous_memory_kb)
		return false;
	return names_process(config, process);
}

static bool is_name(struct orma_str text, const char *name)
{
	return text.size == strlen(name) && memcmp(text.data, name, text.size) == 0;
}

uint64_t orma_heap_selected_interval(const struct orma_pb_heapprofd_config *config,
				     const char *heap)
{
	uint64_t usual = config->sampling_interval_bytes;

	if (usual == 0)
		usual = DEFAULT_INTERVAL_BYTES;
	for (size_t i = 0; i < config->exclude_heaps.count; i++)
		if (is_name(config->exclude_heaps.items[i], heap))
			return 0;
	for (size_t i = 0; i < config->heaps.count; i++) {
		if (!is_name(config->heaps.items[i], heap))
			continue;
		if (config->heap_sampling_intervals.count == config->heaps.count &&
		    config->heap_sampling_intervals.items[i] != 0)
			return config->heap_sampling_intervals.items[i];
		return usual;
	}
	if (config->all_heaps || (config->heaps.count == 0 && strcmp(heap, DEFAULT_HEAP) == 0))
		return usual;
	return 0;
}
