/* SPDX-License-Identifier: Apache-2.0
 * timer.c - the service's deadlines: an intrusive list, ascending.
 *
 * Arming must not fail, because most timers are armed in the middle of a state change that cannot
 * be undone. So this structure allocates nothing: the owner of a timer embeds it. A session has
 * eight timers, and each pending flush has one. Short periods find their place from the head and
 * long deadlines from the tail; the search goes from both ends at once and takes a step or two. A
 * timer that is armed while due ones run waits for the next run, whatever its deadline, so work
 * that re-arms itself takes turns with the rest. Rejected: a binary heap (growing its array can
 * fail), a timer wheel (it wakes an idle daemon).
 */
#include "service/timer.h"

#include "base/assert.h"
#include "base/list.h"

void orma_service_timers_init(struct orma_service_timers *timers)
{
	orma_base_list_init(&timers->armed);
	orma_base_list_init(&timers->due);
}

static bool is_later(const struct orma_list *link, uint64_t deadline_ns)
{
	return ORMA_LIST_ENTRY(link, struct orma_service_timer, link)->deadline_ns > deadline_ns;
}

/* The first timer with a later deadline, or the list's head. */
static struct orma_list *find_later(struct orma_service_timers *timers, uint64_t deadline_ns)
{
	struct orma_list *head = &timers->armed, *first = head->next, *behind_last = head;

	for (;;) {
		if (first == head || is_later(first, deadline_ns))
			return first;
		if (!is_later(behind_last->prev, deadline_ns))
			return behind_last;
		first = first->next;
		behind_last = behind_last->prev;
	}
}

void orma_service_timer_arm(struct orma_service_timers *timers, struct orma_service_timer *timer,
			    uint64_t deadline_ns, orma_service_timer_fn *fn)
{
	orma_service_timer_disarm(timer);
	timer->deadline_ns = deadline_ns;
	timer->fn = fn;
	timer->is_armed = true;
	orma_base_list_insert_before(find_later(timers, deadline_ns), &timer->link);
	ORMA_ASSERT(timer->link.prev == &timers->armed || !is_later(timer->link.prev, deadline_ns));
	ORMA_ASSERT(timer->link.next == &timers->armed || is_later(timer->link.next, deadline_ns));
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

void orma_service_timers_collect(struct orma_service_timers *timers, uint64_t now_ns)
{
	struct orma_service_timer *timer;

	while (!orma_base_list_is_empty(&timers->armed)) {
		timer = ORMA_LIST_ENTRY(timers->armed.next, struct orma_service_timer, link);
		if (timer->deadline_ns > now_ns)
			break;
		orma_base_list_remove(&timer->link);
		orma_base_list_append(&timers->due, &timer->link);
	}
}

bool orma_service_timers_run_one(struct orma_service_timers *timers)
{
	struct orma_service_timer *timer;

	/* A callback may disarm or free any timer, even one that is due. */
	if (orma_base_list_is_empty(&timers->due))
		return false;
	timer = ORMA_LIST_ENTRY(timers->due.next, struct orma_service_timer, link);
	ORMA_ASSERT(timer->is_armed && timer->fn);
	orma_service_timer_disarm(timer);
	timer->fn(timer);
	return true;
}
