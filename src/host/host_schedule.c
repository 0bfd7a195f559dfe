/* SPDX-License-Identifier: Apache-2.0
 * host_schedule.c - asks for a run of the service, once per turn of the loop.
 *
 * It is a file of its own because every other file calls it. host.c, which runs the service,
 * depends on the files of the ports; if this function were in host.c, they would depend on host.c
 * as well.
 */
#include "host/host_state.h"

void orma_host_schedule(struct orma_host *host)
{
	if (!host->run_task.is_queued)
		orma_base_loop_defer(host->loop, &host->run_task, host->run);
}
