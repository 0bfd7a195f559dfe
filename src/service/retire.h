/* SPDX-License-Identifier: Apache-2.0
 * retire.h - trace buffers that are given back to the system in steps; see retire.c.
 */
#ifndef ORMA_SERVICE_RETIRE_H
#define ORMA_SERVICE_RETIRE_H

#include "base/list.h"
#include "service/timer.h"

struct orma_service;
struct orma_trace_buffer;

/* Invariant: the timer is armed while the list has a buffer. */
struct orma_service_retired {
	struct orma_list list;
	struct orma_service_timer timer;
};

/* Takes a buffer over that is not needed any more; NULL is none. */
void orma_service_retire_buffer(struct orma_service *service, struct orma_trace_buffer *buffer);
/* Frees all that are left, at once. */
void orma_service_retired_done(struct orma_service *service);

#endif
