/* SPDX-License-Identifier: Apache-2.0
 * steps.h - work of a port in steps of about a millisecond, for a host that serves
 * many peers on one thread. The functions of orma/service.h do all of it at once.
 */
#ifndef ORMA_SERVICE_STEPS_H
#define ORMA_SERVICE_STEPS_H

#include <orma/service.h>
#include <stdbool.h>
#include <stddef.h>

/* One step of orma_producer_port_commit(), from the entry *at on, which is 0 at first. Returns
 * true when all is done; else *at is where to continue with the same commit. Between the steps
 * the producer may call nothing else. To all other peers it looks as if the producer had
 * committed less. */
bool orma_service_commit_step(struct orma_producer_port *port, const struct orma_commit *commit,
			      size_t *at);
/* One step of scraping a producer that disconnects. Returns true when its memory is scraped, so
 * that orma_producer_port_close() need not do it. Between the steps the producer still exists,
 * but is silent. */
bool orma_service_disconnect_step(struct orma_producer_port *port);
/* Does what orma_consumer_port_read() does, but a packet of megabytes comes in parts of at most
 * max_bytes: when the last slice of a batch does not end its packet, the packet continues in the
 * next batch. */
int orma_service_read_step(struct orma_consumer_port *port, size_t max_bytes,
			   struct orma_trace_batch *ret);
/* The reader begins anew: the next batch does not continue in the middle of a packet. */
void orma_service_read_restart(struct orma_consumer_port *port);

#endif
