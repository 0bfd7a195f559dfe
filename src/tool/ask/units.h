/* SPDX-License-Identifier: Apache-2.0
 * units.h - numbers for people: three digits and a unit.
 */
#ifndef ORMA_TOOL_UNITS_H
#define ORMA_TOOL_UNITS_H

#include <stdint.h>

enum { ORMA_UNIT_BYTES = 64 };

/* Each returns `buffer`. "850 ns", "12.3 us", "8.43 ms", "95.1 s" */
const char *orma_units_duration(int64_t ns, char buffer[ORMA_UNIT_BYTES]);
/* "512 B", "8 MB", "23.5 GB" */
const char *orma_units_size(double bytes, char buffer[ORMA_UNIT_BYTES]);
/* "8,415" */
const char *orma_units_count(uint64_t count, char buffer[ORMA_UNIT_BYTES]);
/* "8,415", "0.125", "1.5e+30" */
const char *orma_units_number(double number, char buffer[ORMA_UNIT_BYTES]);
/* "12.5%" of a fraction of 0.125 */
const char *orma_units_share(double share, char buffer[ORMA_UNIT_BYTES]);
/* "2026-11-22 14:05:09.123456 +0100" with so many digits behind the point */
const char *orma_units_date(int64_t unix_ns, int offset_minutes, int digits,
			    char buffer[ORMA_UNIT_BYTES]);

#endif
