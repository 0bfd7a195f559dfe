/* SPDX-License-Identifier: Apache-2.0
 * clock_ns.c - clock_gettime() as one number.
 *
 * Owns nothing. 64 bits of nanoseconds last until the year 2554, so the number does not overflow.
 * Rejected: returning errors, because every caller asks for a clock that Linux always has.
 */
#include "base/clock_ns.h"

#include <errno.h>

uint64_t orma_base_clock_ns(clockid_t clock)
{
	struct timespec now;
	int saved_errno = errno;
	if (clock_gettime(clock, &now) < 0) {
		errno = saved_errno;
		return 0;
	}
	return (uint64_t)now.tv_sec * ORMA_NS_PER_SEC + (uint64_t)now.tv_nsec;
}
