/* SPDX-License-Identifier: Apache-2.0
 * old_service.h - a service of 2019 or 2020: the method lists and the message fields of that time
 * in front of today's daemon.
 */
#ifndef ORMA_TESTS_INTEGRATION_OLD_SERVICE_H
#define ORMA_TESTS_INTEGRATION_OLD_SERVICE_H

#include "base/list.h"
#include "daemon.h"
#include "ipc/ipc_host.h"

enum orma_old_era {
	ORMA_OLD_2019, /* no Sync, QueryServiceState, QueryCapabilities, memory of producers */
	ORMA_OLD_V6,   /* July 2020: no patching in shared memory, no reason for a refusal */
	ORMA_OLD_V9,   /* November 2020: both */
};

struct orma_old_service {
	char producers[108], consumers[108]; /* socket paths */
	enum orma_old_era era;

	struct orma_test_daemon daemon; /* today's, behind it */
	struct orma_loop *loop;
	struct orma_ipc_host *producer_host, *consumer_host;
	struct orma_list peers;
	pthread_t thread;

	/* Counts of what has passed; written by the bridge's thread, read by any thread. */
	_Atomic unsigned commits_with_patches, unregistrations, fences;
};

void orma_old_service_start(struct orma_old_service *service, enum orma_old_era era);
void orma_old_service_stop(struct orma_old_service *service);

#endif
