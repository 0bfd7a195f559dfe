/* SPDX-License-Identifier: Apache-2.0
 * steps.h - work of a producer's port in steps of about a millisecond, for whoever serves many
 * peers on one thread. The functions of orma/service.h do all of it at once.
 */
#ifndef ORMA_SERVICE_STEPS_H
#define ORMA_SERVICE_STEPS_H

#include <orma/service.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * orma_producer_port_commit() from the entry *at on, which is 0 at first: true when it is done,
 * else *at is where to go on with the same commit. In between nothing may come from this producer;
 * for everybody else it is as if it had committed less.
 */
bool orma_service_commit_step(struct orma_producer_port *port, const struct orma_commit *commit,
			      size_t *at);
/*
 * Takes what a producer that is leaving has left in its memory; true when that was all, and
 * orma_producer_port_close() has nothing more to take. In between it is still there, and silent.
 */
bool orma_service_leave_step(struct orma_producer_port *port);

#endif
