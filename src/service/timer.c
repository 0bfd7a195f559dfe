/* SPDX-License-Identifier: Apache-2.0
 * timer.c - the service's deadlines: an intrusive list, ascending.
 *
 * Arming must not fail, because most timers are armed in the middle of a state change that cannot
 * be taken back; so no structure that allocates. A session has eight timers and nearly all of them
 * are armed with growing deadlines, so the search from the tail takes a step or two. A timer that
 * is armed while due ones run waits for the next run, whatever its deadline, so that work which
 * re-arms itself takes turns with the rest. Rejected: a binary heap (its array can fail to grow),
 * a timer wheel (wakes an idle daemon). The bytes live in the timers' owners.
 */
#include "service/timer.h"

void orma_service_timers_init(struct orma_service_timers *timers)
{
	orma_base_list_init(&timers->armed);
	orma_base_list_init(&timers->due);
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
	if (!orma_base_list_is_empty(&timers->due))
		return 0;
	if (orma_base_list_is_empty(&timers->armed))
		return UINT64_MAX;
	return ORMA_LIST_ENTRY(timers->armed.next, struct orma_service_timer, link)->deadline_ns;
}

void orma_service_timers_run(struct orma_service_timers *timers, uint64_t now_ns, unsigned max)
{
	struct orma_service_timer *timer;

	while (!orma_base_list_is_empty(&timers->armed)) {
		timer = ORMA_LIST_ENTRY(timers->armed.next, struct orma_service_timer, link);
		if (timer->deadline_ns > now_ns)
			break;
		orma_base_list_remove(&timer->link);
		orma_base_list_append(&timers->due, &timer->link);
	}
	/* A callback may disarm or free any timer, also one that is due. */
	for (; max > 0 && !orma_base_list_is_empty(&timers->due); max--) {
		timer = ORMA_LIST_ENTRY(timers->due.next, struct orma_service_timer, link);
		orma_service_timer_disarm(timer);
		timer->fn(timer);
	}
}
