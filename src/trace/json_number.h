/* SPDX-License-Identifier: Apache-2.0
 * json_number.h - the number at the cursor of a scan; see json_scan.h for what becomes of it.
 */
#ifndef ORMA_TRACE_JSON_NUMBER_H
#define ORMA_TRACE_JSON_NUMBER_H

#include <string.h>

#include "trace/json_scan.h"

#define ORMA_JSON_EACH_BYTE(c) ((uint64_t)(uint8_t)(c)*UINT64_C(0x0101010101010101))

/* Returns eight bytes, the first of them lowest, because all supported machines are little-endian. */
static inline uint64_t orma_json_load(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return word;
}

/* MEMBER, CUT (it may go on behind the end), or DAMAGED. */
enum orma_json_next orma_json_read_number(struct orma_json_scan *scan, struct orma_json_value *ret);

#endif
