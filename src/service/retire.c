/* SPDX-License-Identifier: Apache-2.0
 * retire.c - gives trace buffers that are no longer needed back to the system, in steps.
 *
 * Unmapping a buffer of 256 MiB in pages of 4 KiB takes 10 to 20 ms, in which no session would be
 * served. So such buffers wait in a list, and a timer unmaps a few megabytes of the first one at a
 * time. That is faster than producers can fill new buffers, so the list does not grow without
 * bound. A buffer that is being copied waits until the copy is finished. Rejected: a thread that
 * unmaps (the service has none, and the kernel would lock the address space against the service's
 * own page faults), unmapping when the loop is idle (a busy service would keep the memory).
 */
#include "service/retire.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/timer.h"

struct retired {
	struct orma_list link; /* service->retired.list */
	struct orma_trace_buffer *buffer;
};

static void free_retired(struct retired *retired)
{
	orma_base_list_remove(&retired->link);
	orma_trace_buffer_free(retired->buffer);
	orma_base_free(retired);
}

static void on_step(struct orma_service_timer *timer)
{
	struct orma_service *service = ORMA_CONTAINER_OF(timer, struct orma_service, retired.timer);
	ORMA_ASSERT(!orma_base_list_is_empty(&service->retired.list));

	struct retired *first = ORMA_LIST_ENTRY(service->retired.list.next, struct retired, link);

	if (!orma_trace_buffer_shrink(first->buffer, ORMA_SERVICE_RETIRE_STEP_BYTES))
		free_retired(first);
	if (!orma_base_list_is_empty(&service->retired.list))
		orma_service_timer_arm(&service->timers, timer,
				       orma_service_now_ns(service) + ORMA_SERVICE_STEP_PAUSE_NS,
				       on_step);
}

void orma_service_retire_buffer(struct orma_service *service, struct orma_trace_buffer *buffer)
{
	struct retired *retired = NULL;

	if (buffer && orma_trace_buffer_shrink(buffer, ORMA_SERVICE_RETIRE_STEP_BYTES))
		retired = orma_base_zalloc(sizeof(*retired));
	if (!retired) {
		orma_trace_buffer_free(buffer);
		return;
	}
	retired->buffer = buffer;
	orma_base_list_append(&service->retired.list, &retired->link);
	if (!service->retired.timer.is_armed)
		orma_service_timer_arm(&service->timers, &service->retired.timer,
				       orma_service_now_ns(service), on_step);
}

void orma_service_retired_done(struct orma_service *service)
{
	orma_service_timer_disarm(&service->retired.timer);
	while (!orma_base_list_is_empty(&service->retired.list))
		free_retired(ORMA_LIST_ENTRY(service->retired.list.next, struct retired, link));
}
