/* SPDX-License-Identifier: Apache-2.0
 * stop_time.h - how long the end of a profile may take.
 *
 * Files that are being read and names of functions take milliseconds on an idle machine, and seconds on a busy one. A service
 * does not wait for a data source longer than the session's stop timeout.
 *
 * Threads: any.
 */
#ifndef ORMA_PROFILE_STOP_TIME_H
#define ORMA_PROFILE_STOP_TIME_H

#include <stdint.h>

#include "base/clock_ns.h"

/* The stop timeout of sessions that profile one thing and end. */
#define ORMA_PROFILE_STOP_MS 15000u
/* The service's, where the session has none. */
#define ORMA_PROFILE_DEFAULT_STOP_MS 5000u

/* Returns the limit of each of the two steps of a stop: reading the last samples, and writing names. 0 = the default. */
static inline uint64_t orma_profile_stop_step_ns(uint32_t stop_timeout_ms)
{
	uint64_t timeout_ms = stop_timeout_ms > 0 ? stop_timeout_ms : ORMA_PROFILE_DEFAULT_STOP_MS;

	return timeout_ms * 2 / 5 * ORMA_NS_PER_MS;
}

#endif
