/* SPDX-License-Identifier: Apache-2.0
 * read_filter.h - runs a batch's packets through the session's filter; see read_filter.c.
 */
#ifndef ORMA_SERVICE_READ_FILTER_H
#define ORMA_SERVICE_READ_FILTER_H

#include <orma/service.h>

struct orma_service_session;
struct orma_service_session_buffer;

/* Filters the packets from slice `begin` on. They came from `buffer` or, when it is NULL, from the
 * service. */
void orma_service_batch_filter(struct orma_service_session *session, size_t begin,
			       struct orma_service_session_buffer *buffer);
/* How many packets to take before they are filtered. */
size_t orma_service_batch_filter_group(const struct orma_service_session *session);
/* Counts the batch's last packet, which bypasses the filter. */
void orma_service_batch_count_unfiltered(struct orma_service_session *session);

#endif
