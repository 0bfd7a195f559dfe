/* SPDX-License-Identifier: Apache-2.0
 * output_rotate.h - max_file_count: a session goes on in a new file; see output_rotate.c.
 */
#ifndef ORMA_SERVICE_OUTPUT_ROTATE_H
#define ORMA_SERVICE_OUTPUT_ROTATE_H

#include <orma/service.h>

struct orma_service_session;

int orma_service_rotation_init(struct orma_service_session *session, struct orma_error *reterr);
/* The batch's packets from a slice on go into the next file. */
int orma_service_rotation_carry(struct orma_service_session *session, size_t begin);
/* Writes the carried packets, and begins new files for them as needed, until the file has to wait. */
int orma_service_rotation_continue(struct orma_service_session *session);
/* A step of a pass was read; has_more: the pass goes on. Begins a cut when the file is nearly
 * full. */
void orma_service_rotation_check(struct orma_service_session *session, bool has_more);
/* How much of a file is written at a time. */
size_t orma_service_rotation_step_bytes(const struct orma_service_session *session);
/* True when the file has all that belongs into it: the next one can begin. */
bool orma_service_rotation_is_due(const struct orma_service_session *session);
int orma_service_rotation_cut(struct orma_service_session *session);

#endif
