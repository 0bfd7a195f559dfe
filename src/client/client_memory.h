/* SPDX-License-Identifier: Apache-2.0
 * client_memory.h - the memory that the producer shares with one service.
 */
#ifndef ORMA_CLIENT_MEMORY_H
#define ORMA_CLIENT_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

#include "client/endpoint.h"
#include "shm/arbiter.h"

/* Shares the creator's reference of an arbiter: the link has one, and so has each thread that is making
 * a writer. */
struct orma_client_memory {
	_Atomic uint32_t refs; /* any thread; acq_rel, so that the last one sees all */
	struct orma_shm_arbiter *arbiter;
};

/*
 * Checks the memory and maps it. `commit_now` runs on the loop thread when a writer of that thread
 * stalls. 0, -EPROTO (what the service sent cannot be used), -ENOMEM, -errno.
 */
int orma_client_memory_new(const struct orma_client_shared *shared, void (*commit_now)(void *link),
			   struct orma_client_link *link, struct orma_client_memory **ret);
struct orma_client_memory *orma_client_memory_ref(struct orma_client_memory *memory);
void orma_client_memory_unref(struct orma_client_memory *memory); /* accepts NULL */
/* In the child of a fork: see orma_shm_arbiter_orphan(). */
void orma_client_memory_orphan(struct orma_client_memory *memory);

#endif
