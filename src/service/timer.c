/* SPDX-License-Identifier: Apache-2.0
 * timer.c - the service's deadlines: an intrusive list, ascending.
 *
 * Arming must not fail, because most timers are armed in the middle of a state change that cannot
 * be taken back; so no structure that allocates. A session has seven timers and nearly all of them
 * are armed with growing deadlines, so the search from the tail takes a step or two. Rejected: a
 * binary heap (needs an array that can fail to grow), a timer wheel (wakes an idle daemon). The
 * bytes live in the timers' owners.
 */
#include "service/timer.h"

void orma_service_timers_init(struct orma_service_timers *timers)
{
	orma_base_list_init(&timers->armed);
}

void orma_service_timer_arm(struct orma_service_timers *timers, struct orma_service_timer *timer,
			    uint64_t deadline_ns, orma_service_timer_fn *fn)
{
	struct orma_list *at = &timers->armed;

	orma_service_timer_disarm(timer);
	timer->deadline_ns = deadline_ns;
	timer->fn = fn;
	timer->is_armed = true;
	while (at->prev != &timers->armed &&
	       ORMA_LIST_ENTRY(at->prev, struct orma_service_timer, link)->deadline_ns >
		       deadline_ns)
		at = at->prev;
	orma_base_list_insert_before(at, &timer->link);
}

void orma_service_timer_disarm(struct orma_service_timer *timer)
{
	if (!timer->is_armed)
		return;
	orma_base_list_remove(&timer->link);
	timer->is_armed = false;
}

uint64_t orma_service_timers_next_ns(const struct orma_service_timers *timers)
{
	if (orma_base_list_is_empty(&timers->armed))
		return UINT64_MAX;
	return ORMA_LIST_ENTRY(timers->armed.next, struct orma_service_timer, link)->deadline_ns;
}

bool orma_service_timers_run_one(struct orma_service_timers *timers, uint64_t now_ns)
{
	struct orma_service_timer *timer;

	if (orma_service_timers_next_ns(timers) > now_ns)
		return false;
	timer = ORMA_LIST_ENTRY(timers->armed.next, struct orma_service_timer, link);
	orma_service_timer_disarm(timer);
	timer->fn(timer);
	return true;
}
