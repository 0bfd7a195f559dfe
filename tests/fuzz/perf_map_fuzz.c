/* SPDX-License-Identifier: Apache-2.0
 * perf_map_fuzz.c - any text as /tmp/perf-PID.map: names lie in the text, without a line feed.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_perf_map *map = NULL;
	int r = orma_perf_map_parse((struct orma_str){(const char *)data, size}, &map);

	if (r > 0 || (r == 0) != (map != NULL))
		abort();
	if (r < 0)
		return 0;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (uint64_t delta = 0; delta < 64; delta += 7) {
			struct orma_str name =
				orma_perf_map_find(map, (UINT64_C(1) << bit) + delta - 1);

			if (name.size > size ||
			    (name.size > 0 && memchr(name.data, '\n', name.size)))
				abort();
		}
	}
	orma_perf_map_free(map);
	return 0;
}
