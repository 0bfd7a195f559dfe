/* SPDX-License-Identifier: Apache-2.0
 * observe.h - ObservableEvents: what happens to a session, reported to its consumer; see observe.c.
 */
#ifndef ORMA_SERVICE_OBSERVE_H
#define ORMA_SERVICE_OBSERVE_H

#include <orma/service.h>

struct orma_service_instance;
struct orma_service_session;
struct orma_service_trigger_hit;

void orma_service_observe_instance(struct orma_service_instance *instance);
void orma_service_observe_all_started(struct orma_service_session *session);
void orma_service_observe_clone_trigger(struct orma_service_session *session,
					const struct orma_service_trigger_hit *hit);

#endif
