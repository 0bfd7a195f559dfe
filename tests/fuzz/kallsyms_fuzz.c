/* SPDX-License-Identifier: Apache-2.0
 * kallsyms_fuzz.c - /proc/kallsyms, and the addresses around every one that it names; per_cpu/cpuN/stats and
 * kprobe_profile, which are other texts of numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/ftrace_stats.h"
#include "probes/probe_text.h"
#include "symbols/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_around(const struct orma_kallsyms *kallsyms, uint64_t address)
{
	for (uint64_t i = 0; i < 3; i++) {
		struct orma_str name = orma_kallsyms_find(kallsyms, address - 1 + i);
		if (name.size > 0 && memchr(name.data, '\0', name.size))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1); /* malloc(0) may be NULL */
	struct orma_str text = {copy, size}, rest = text, line, word;
	struct orma_kallsyms *kallsyms;
	struct orma_ftrace_cpu_stats cpu;
	struct orma_ftrace_stats stats = {0};
	uint64_t address;

	memcpy(copy, data, size);
	if (orma_kallsyms_parse(text, &kallsyms) == 0) {
		find_around(kallsyms, 0);
		find_around(kallsyms, UINT64_MAX);
		while (orma_probes_text_line(&rest, &line)) {
			if (orma_probes_text_word(&line, &word) &&
			    orma_probes_text_hex64(word, &address))
				find_around(kallsyms, address);
		}
		orma_kallsyms_free(kallsyms);
	}
	cpu.cpu = 0;
	orma_ftrace_cpu_stats_parse(text, &cpu);
	orma_ftrace_stats_add_kprobes(&stats, text);
	free(copy);
	return 0;
}
