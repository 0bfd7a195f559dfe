/* SPDX-License-Identifier: Apache-2.0
 * process_maps_fuzz.c - any text as /proc/PID/maps: mappings rise, and lie in the text.
 */
#include <stdlib.h>

#include "unwind/process_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct orma_process_maps maps = {.rest = {text, size}};
	struct orma_process_map map;
	uint64_t last_end = 0, count = 0;

	while (orma_process_maps_next(&maps, &map)) {
		if (map.start < last_end || map.end <= map.start || map.path.data < text ||
		    map.path.data + map.path.size >= text + size)
			abort();
		last_end = map.end;
		count++;
	}
	if (maps.rest.size > 0 || count + maps.bad_count > size)
		abort();
	return 0;
}
