/* SPDX-License-Identifier: Apache-2.0
 * cgroup_text_fuzz.c - any text as each of the files of a control group.
 *
 * A file sets only the counters that its table names, and the same text gives the same values twice:
 * a second reading replaces the first.
 */
#include <stdlib.h>

#include "probes/cgroup_stats/cgroup_stats.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t counters_of(const struct orma_cgroup_file *file)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof(file->keys) / sizeof(file->keys[0]); i++)
		if (file->keys[i].name.data)
			bits |= UINT32_C(1) << file->keys[i].counter;
	return bits;
}

static void fuzz_file(const struct orma_cgroup_file *file, struct orma_str text)
{
	struct orma_cgroup_sample first = {0};

	orma_cgroup_file_parse(file, text, 10000000, &first);
	CHECK((first.present & ~counters_of(file)) == 0);
	struct orma_cgroup_sample second = first;
	orma_cgroup_file_parse(file, text, 10000000, &second);
	CHECK(memcmp(&first, &second, sizeof(first)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < ORMA_CGROUP_HIERARCHY_COUNT; i++)
		for (size_t j = 0; j < orma_cgroup_hierarchies[i].file_count; j++)
			fuzz_file(&orma_cgroup_hierarchies[i].files[j],
				  (struct orma_str){(const char *)data, size});
	return 0;
}
