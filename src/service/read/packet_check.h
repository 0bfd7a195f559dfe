/* SPDX-License-Identifier: Apache-2.0
 * packet_check.h - checks packets of producers; see packet_check.c.
 */
#ifndef ORMA_SERVICE_PACKET_CHECK_H
#define ORMA_SERVICE_PACKET_CHECK_H

#include <orma/service.h>

#include "buffer/trace_buffer.h"

/* *ret_loss is what the writer of a valid packet says was lost before it. */
bool orma_service_packet_is_valid(const struct orma_trace_slice *slices, size_t count,
				  uint32_t *ret_loss);
/* The same check of a held packet, some fields at a time; zero at the beginning. */
struct orma_service_packet_check {
	size_t slice, offset; /* where the next field begins */
	uint32_t loss;
};
/* 1 = there is more to check, 0 = it is valid, -EBADMSG, -ENOMEM (it is lost). */
int orma_service_packet_check_step(struct orma_service_packet_check *check,
				   const struct orma_trace_slice *slices, size_t count,
				   const struct orma_trace_buffer_hold *hold, size_t max_fields);
/* True when a valid packet says that its sequence begins a new incremental state. */
bool orma_service_packet_begins_state(const struct orma_trace_slice *slices, size_t count);

#endif
