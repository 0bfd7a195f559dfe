/* SPDX-License-Identifier: Apache-2.0
 * units.c - the unit is the largest one of which there is a whole one.
 */
#include "tool/ask/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"

#define NS_PER_S INT64_C(1000000000)

/* Three digits, whatever the size. */
static void put_digits(double number, const char *unit, char buffer[ORMA_UNIT_BYTES])
{
	double size = fabs(number);
	int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
	snprintf(buffer, ORMA_UNIT_BYTES, "%.*f %s", digits, number, unit);
}

const char *orma_units_duration(int64_t ns, char buffer[ORMA_UNIT_BYTES])
{
	static const char *const units[] = {"us", "ms", "s"};
	double number = (double)ns / 1000;
	size_t i = 0;
	if (ns > -1000 && ns < 1000) {
		snprintf(buffer, ORMA_UNIT_BYTES, "%" PRId64 " ns", ns);
		return buffer;
	}
	for (; i < ORMA_ARRAY_SIZE(units) - 1 && fabs(number) >= 999.5; i++)
		number /= 1000;
	put_digits(number, units[i], buffer);
	return buffer;
}

const char *orma_units_size(double bytes, char buffer[ORMA_UNIT_BYTES])
{
	static const char *const units[] = {"KB", "MB", "GB", "TB"};
	double number = bytes / 1024;
	size_t i = 0;
	if (fabs(bytes) < 1024) {
		snprintf(buffer, ORMA_UNIT_BYTES, "%.0f B", bytes);
		return buffer;
	}
	for (; i < ORMA_ARRAY_SIZE(units) - 1 && fabs(number) >= 999.5; i++)
		number /= 1024;
	if (number == floor(number))
		snprintf(buffer, ORMA_UNIT_BYTES, "%.0f %s", number, units[i]);
	else
		put_digits(number, units[i], buffer);
	return buffer;
}

const char *orma_units_count(uint64_t count, char buffer[ORMA_UNIT_BYTES])
{
	char digits[ORMA_UNIT_BYTES];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, count), written = 0;
	for (int i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0)
			buffer[written++] = ',';
		buffer[written++] = digits[i];
	}
	buffer[written] = 0;
	return buffer;
}

const char *orma_units_number(double number, char buffer[ORMA_UNIT_BYTES])
{
	double size = fabs(number);
	/* From 1,000 on, the fraction is beyond the digits that people read. */
	if (size < 1e15 && (size >= 1000 || size == floor(size))) {
		buffer[0] = '-';
		orma_units_count((uint64_t)round(size), buffer + (number < 0));
		return buffer;
	}
	snprintf(buffer, ORMA_UNIT_BYTES, "%.4g", number);
	return buffer;
}

const char *orma_units_share(double share, char buffer[ORMA_UNIT_BYTES])
{
	snprintf(buffer, ORMA_UNIT_BYTES, "%.1f%%", share * 100);
	return buffer;
}

const char *orma_units_date(int64_t unix_ns, int offset_minutes, int digits,
			    char buffer[ORMA_UNIT_BYTES])
{
	int64_t ns = unix_ns % NS_PER_S;
	char date[24], fraction[16];
	struct tm parts;
	ns += ns < 0 ? NS_PER_S : 0;
	time_t seconds = (time_t)((unix_ns - ns) / NS_PER_S) + (time_t)offset_minutes * 60;
	buffer[0] = 0;
	if (!gmtime_r(&seconds, &parts) ||
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts) == 0)
		return buffer;
	snprintf(fraction, sizeof(fraction), ".%09" PRId64, ns);
	fraction[digits > 0 ? digits + 1 : 0] = 0;
	int offset = offset_minutes < 0 ? -offset_minutes : offset_minutes;
	snprintf(buffer, ORMA_UNIT_BYTES, "%s%s %c%02d%02d", date, fraction,
		 offset_minutes < 0 ? '-' : '+', offset / 60 % 100, offset % 60);
	return buffer;
}
