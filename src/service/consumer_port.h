/* SPDX-License-Identifier: Apache-2.0
 * consumer_port.h - consumers; see consumer_port.c.
 */
#ifndef ORMA_SERVICE_CONSUMER_PORT_H
#define ORMA_SERVICE_CONSUMER_PORT_H

#include <orma/service.h>

#include "base/list.h"

struct orma_service_clone;
struct orma_service_session;

struct orma_consumer_port {
	struct orma_service *service;
	struct orma_list link; /* service->consumers.list */
	uid_t uid;
	pid_t pid;
	bool has_rights; /* root or the service's own user */
	struct orma_consumer_callbacks callbacks;
	void *ctx;
	struct orma_service_session *session; /* its `consumer` is this port; may be NULL */
	struct orma_service_clone *clone;     /* being made; may be NULL */
	uint32_t observed;                    /* ObservableEvents.Type bits */
};

#endif
