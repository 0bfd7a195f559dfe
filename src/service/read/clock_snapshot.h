/* SPDX-License-Identifier: Apache-2.0
 * clock_snapshot.h - readings of all clocks at one moment; see clock_snapshot.c.
 */
#ifndef ORMA_SERVICE_CLOCK_SNAPSHOT_H
#define ORMA_SERVICE_CLOCK_SNAPSHOT_H

#include <orma/service.h>

#include "service/service_limits.h"
#include "service/timer.h"

struct orma_service_session;

#define ORMA_SERVICE_CLOCK_COUNT_MAX 7

struct orma_service_clock {
	uint32_t id; /* BuiltinClock */
	uint64_t value;
};

struct orma_service_clock_snapshot {
	struct orma_service_clock clocks[ORMA_SERVICE_CLOCK_COUNT_MAX];
	uint32_t count; /* 0 = none */
};

/* The snapshots of a session that wait to be read. */
struct orma_service_clocks {
	struct orma_service_clock_snapshot initial;
	struct orma_service_clock_snapshot
		snapshots[ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT]; /* oldest first */
	size_t count;
	struct orma_service_timer timer;
	uint32_t interval_ms;
	uint64_t period; /* number of the last one, on the wall clock */
};

void orma_service_clocks_take(struct orma_service *service,
			      struct orma_service_clock_snapshot *ret);
/* Keeps a new snapshot if a clock has drifted since the last one. */
void orma_service_clocks_snapshot(struct orma_service_session *session);

#endif
