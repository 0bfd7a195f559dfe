/* SPDX-License-Identifier: Apache-2.0
 * output_hold.h - packets for the next file; see output_hold.c.
 */
#ifndef ORMA_SERVICE_OUTPUT_HOLD_H
#define ORMA_SERVICE_OUTPUT_HOLD_H

#include <orma/service.h>

struct orma_service_session;

/* True when a packet of a producer, not filtered yet, is for the next file. Only called during a
 * cut. */
bool orma_service_rotation_is_for_next(struct orma_service_session *session, uint32_t sequence_id,
				       const struct orma_trace_slice *slices, size_t count);
/* Keeps the batch's packets from a slice on for the next file, and takes them out of the batch. */
int orma_service_rotation_hold(struct orma_service_session *session, size_t begin);
/* Fills the batch with what was held, once its file has begun: 1 = with some, 0 = there is none. */
int orma_service_rotation_read_held(struct orma_service_session *session, size_t max_bytes);
/* True when no more may be held. */
bool orma_service_rotation_is_full(const struct orma_service_session *session);
/* Ends the cut; what is held can be read now. */
void orma_service_rotation_leave_cut(struct orma_service_session *session);
/* The file is closed: drops what is held and carried. */
void orma_service_rotation_done(struct orma_service_session *session);

#endif
