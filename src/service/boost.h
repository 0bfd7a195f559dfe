/* SPDX-License-Identifier: Apache-2.0
 * boost.h - priority_boost: the priority of the service's thread; see boost.c.
 */
#ifndef ORMA_SERVICE_BOOST_H
#define ORMA_SERVICE_BOOST_H

#include <orma/service.h>

#include "schema/gen/trace_config.pb.h"

/* Policy 0 = the thread's priority was not changed. */
struct orma_service_boost {
	uint32_t policy, priority;
};

/* Raises the thread's priority if this config asks for more than the existing sessions. */
int orma_service_boost_begin(struct orma_service *service,
			     const struct orma_pb_trace_config *config, struct orma_error *reterr);
/* Call when a session was freed or could not begin: computes the priority again. */
void orma_service_boost_update(struct orma_service *service);

#endif
