/* SPDX-License-Identifier: Apache-2.0
 * exclusive.h - exclusive sessions; see exclusive.c.
 */
#ifndef ORMA_SERVICE_EXCLUSIVE_H
#define ORMA_SERVICE_EXCLUSIVE_H

#include <orma/service.h>

/* The highest exclusive_prio of the sessions that run, 0 = none. */
uint32_t orma_service_exclusive_priority(const struct orma_service *service);
/* Ends all other sessions, because one of this priority begins. */
void orma_service_end_for_exclusive(struct orma_service *service, uint32_t priority);

#endif
