/* SPDX-License-Identifier: Apache-2.0
 * service_core.c - the clocks of the service and its caches, which every other file needs.
 *
 * This is the lowest file that knows struct orma_service as a whole. It calls nothing but timers
 * and the batch.
 */
#include "service/service_core.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "service/read/batch.h"
#include "service/timer.h"

uint64_t orma_service_now_ns(const struct orma_service *service)
{
	return service->clock_ns(service->ctx, CLOCK_MONOTONIC);
}

uint64_t orma_service_boot_ns(const struct orma_service *service)
{
	return service->clock_ns(service->ctx, CLOCK_BOOTTIME);
}

uint64_t orma_service_realtime_ns(const struct orma_service *service)
{
	return service->clock_ns(service->ctx, CLOCK_REALTIME);
}

void orma_service_arm_aligned(struct orma_service *service, struct orma_service_timer *timer,
			      uint32_t period_ms)
{
	uint64_t wall_ms = orma_service_realtime_ns(service) / ORMA_NS_PER_MS;
	uint64_t delay_ms = period_ms - wall_ms % period_ms;

	orma_service_timer_arm(&service->timers, timer,
			       orma_service_now_ns(service) + delay_ms * ORMA_NS_PER_MS, timer->fn);
}

uint64_t orma_service_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

void orma_service_free_caches(struct orma_service *service)
{
	orma_service_batch_done(&service->batch);
	memset(&service->batch, 0, sizeof(service->batch));
	orma_base_buf_done(&service->reply);
	orma_base_buf_done(&service->scratch);
	orma_base_buf_done(&service->block);
	orma_base_free(ORMA_TAKE(service->files.iov));
	orma_base_free(ORMA_TAKE(service->files.preambles));
	orma_base_free(ORMA_TAKE(service->scrape_copy));
}
