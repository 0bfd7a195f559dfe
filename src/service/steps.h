/* SPDX-License-Identifier: Apache-2.0
 * steps.h - work of a port in steps of about a millisecond, for a host that serves
 * many peers on one thread. The functions of orma/service.h do all of it at once.
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
bool orma_service_disconnect_step(struct orma_producer_port *port);
/*
 * orma_consumer_port_read(), but a packet of megabytes comes in parts of at most max_bytes: the last
 * slice of a batch need not end its packet, which goes on in the next batch then.
 */
int orma_service_read_step(struct orma_consumer_port *port, size_t max_bytes,
			   struct orma_trace_batch *ret);
/* The reader begins anew: the next batch does not go on in the middle of a packet. */
void orma_service_read_restart(struct orma_consumer_port *port);

#endif
