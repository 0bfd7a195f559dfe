/* SPDX-License-Identifier: Apache-2.0
 * clock_snapshot.c - readings of all clocks at one moment, kept until the trace is read.
 *
 * A new reading is kept only when some clock has drifted against CLOCK_BOOTTIME since the last one:
 * the first of two equal readings is worth more, because it is valid for longer. Drift is judged in
 * nanoseconds. The TSC counts ticks, so it is not compared.
 */
#include "service/read/clock_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

void orma_service_clocks_take(struct orma_service *service, struct orma_service_clock_snapshot *ret)
{
	static const struct {
		uint32_t id;
		int clock_id;
	} clocks[] = {
		{ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
		{ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_REALTIME_COARSE, CLOCK_REALTIME_COARSE},
		{ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE},
		{ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_REALTIME, CLOCK_REALTIME},
		{ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
		{ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW},
	};
	uint64_t tsc = orma_service_tsc();

	ret->count = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clocks); i++)
		ret->clocks[ret->count++] = (struct orma_service_clock){
			clocks[i].id, service->clock_ns(service->ctx, clocks[i].clock_id)};
	if (tsc)
		ret->clocks[ret->count++] =
			(struct orma_service_clock){ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_TSC, tsc};
}

static bool has_drifted(const struct orma_service_clock_snapshot *old,
			const struct orma_service_clock_snapshot *now)
{
	int64_t boot_ns = (int64_t)(now->clocks[0].value - old->clocks[0].value);

	for (uint32_t i = 1; i < now->count; i++) {
		int64_t passed_ns = (int64_t)(now->clocks[i].value - old->clocks[i].value);

		if (now->clocks[i].id != ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_TSC &&
		    llabs(boot_ns - passed_ns) >= (int64_t)ORMA_SERVICE_CLOCK_DRIFT_NS)
			return true;
	}
	return false;
}

void orma_service_clocks_snapshot(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	struct orma_service_clock_snapshot now;

	if (builtin && builtin->disable_clock_snapshotting)
		return;
	orma_service_clocks_take(session->service, &now);
	if (session->clocks.count &&
	    !has_drifted(&session->clocks.snapshots[session->clocks.count - 1], &now))
		return;
	if (session->clocks.count == ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT) {
		memmove(&session->clocks.snapshots[0], &session->clocks.snapshots[1],
			(ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT - 1) *
				sizeof(session->clocks.snapshots[0]));
		session->clocks.count--;
	}
	ORMA_ASSERT(session->clocks.count < ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT);
	session->clocks.snapshots[session->clocks.count++] = now;
}
