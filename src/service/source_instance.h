/* SPDX-License-Identifier: Apache-2.0
 * source_instance.h - instances: a data source of a producer inside a session; see
 * source_instance.c.
 *
 * Invariant: an instance is in one list each of its session, its producer and its data source, and
 * ends with the first of them.
 */
#ifndef ORMA_SERVICE_SOURCE_INSTANCE_H
#define ORMA_SERVICE_SOURCE_INSTANCE_H

#include <orma/service.h>

#include "base/list.h"
#include "base/map.h"

struct orma_service_data_source;
struct orma_service_session;
struct orma_service_source;

enum orma_service_instance_state {
	ORMA_SERVICE_INSTANCE_CONFIGURED,
	ORMA_SERVICE_INSTANCE_STARTING,
	ORMA_SERVICE_INSTANCE_STARTED,
	ORMA_SERVICE_INSTANCE_STOPPING,
	ORMA_SERVICE_INSTANCE_STOPPED,
};

/* The last report to the consumer; see observe.c. */
enum orma_service_instance_report {
	ORMA_SERVICE_REPORTED_NOTHING,
	ORMA_SERVICE_REPORTED_STOPPED,
	ORMA_SERVICE_REPORTED_STARTED
};

struct orma_service_instance {
	struct orma_list session_link, producer_link, source_link;
	uint64_t id; /* key in service->instances.by_id */
	struct orma_service_session *session;
	struct orma_producer_port *producer;
	struct orma_service_data_source *data_source;
	struct orma_service_source *source;
	enum orma_service_instance_state state;
	enum orma_service_instance_report reported;
};

/* The instances of a session. Invariant: state_counts adds up to count. */
struct orma_service_instances {
	struct orma_list list;
	size_t count;
	size_t state_counts[ORMA_SERVICE_INSTANCE_STOPPED + 1];
};

/* All instances of the service. */
struct orma_service_instance_ids {
	struct orma_map by_id;
	uint64_t last_id;
};

/* True when no more instances may be made, or no more pairs may be looked at in this turn. Logs
 * that. */
bool orma_service_instances_are_full(const struct orma_service_session *session,
				     size_t looked_at_count);
/* Makes the instance of one source for one data source. The producer is not told yet. 1 = made, 0 =
 * no match, -ENOMEM. */
int orma_service_instance_new(struct orma_service_session *session,
			      struct orma_service_source *source,
			      struct orma_service_data_source *data_source,
			      struct orma_service_instance **ret);
void orma_service_instance_setup(struct orma_service_instance *instance);
void orma_service_instance_start(struct orma_service_instance *instance);
/* With `at_once`, the producer gets the stop, but the service does not wait for the
 * acknowledgement. */
void orma_service_instance_stop(struct orma_service_instance *instance, bool at_once);
void orma_service_instance_set_state(struct orma_service_instance *instance,
				     enum orma_service_instance_state state);
void orma_service_instance_free(struct orma_service_instance *instance);
/* Frees all of a session. */
void orma_service_instances_done(struct orma_service_session *session);

#endif
