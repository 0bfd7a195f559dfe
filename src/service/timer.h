/* SPDX-License-Identifier: Apache-2.0
 * timer.h - the service's deadlines; see timer.c.
 */
#ifndef ORMA_SERVICE_TIMER_H
#define ORMA_SERVICE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct orma_service_timer;
typedef void orma_service_timer_fn(struct orma_service_timer *timer);

/* {0} is a timer that is not armed. */
struct orma_service_timer {
	struct orma_list link;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	orma_service_timer_fn *fn;
	bool is_armed;
};

struct orma_service_timers {
	struct orma_list armed; /* ascending deadlines; equal ones in order of arming */
	struct orma_list due;   /* taken off `armed`, still to run */
};

void orma_service_timers_init(struct orma_service_timers *timers);
/* Arms or re-arms. Never fails. */
void orma_service_timer_arm(struct orma_service_timers *timers, struct orma_service_timer *timer,
			    uint64_t deadline_ns, orma_service_timer_fn *fn);
void orma_service_timer_disarm(struct orma_service_timer *timer); /* harmless when not armed */
/* UINT64_MAX when nothing is armed, 0 when something is left over from a run. */
uint64_t orma_service_timers_next_ns(const struct orma_service_timers *timers);
/* Moves the timers that are due to the list of due ones. */
void orma_service_timers_collect(struct orma_service_timers *timers, uint64_t now_ns);
/* Runs one due timer; false = there is none. Callbacks may free their timers. */
bool orma_service_timers_run_one(struct orma_service_timers *timers);

#endif
