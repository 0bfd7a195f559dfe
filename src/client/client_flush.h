/* SPDX-License-Identifier: Apache-2.0
 * client_flush.h - flushes that a service has requested and that are not acknowledged yet.
 *
 * Each link has a list of them, in the order of their arrival; the mutex guards it.
 */
#ifndef ORMA_CLIENT_FLUSH_H
#define ORMA_CLIENT_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "client/client_limits.h"

struct orma_client_instance;

struct orma_client_flush {
	struct orma_list item;
	uint64_t request_id; /* the service's */
	uint64_t seq;    /* a unique number, by which completions of this flush are recognised */
	bool is_running; /* its callbacks are being called; used by the loop thread only */
	/* By place of the data source: bit = instance that has postponed the flush. Mutex. */
	uint8_t waiting[ORMA_DATA_SOURCES_MAX];
};

/* Appends a flush that is running. When there are ORMA_CLIENT_FLUSHES_MAX already, the oldest is
 * dropped. Returns NULL without memory. */
struct orma_client_flush *orma_client_flush_add(struct orma_list *flushes, uint64_t request_id);
/* Removes the first flush if it is finished: no callback is running, no instance has postponed it. The
 * caller frees it. Else NULL. */
struct orma_client_flush *orma_client_flush_take_finished(struct orma_list *flushes);
void orma_client_flush_postpone(struct orma_client_flush *flush,
				const struct orma_client_instance *instance);
void orma_client_flush_complete(struct orma_client_flush *flush,
				const struct orma_client_instance *instance);
/* The same by number. False: there is no such flush. The caller holds the mutex. */
bool orma_client_flush_complete_locked(uint64_t seq, const struct orma_client_instance *instance);
/* The instance is gone: no flush of any link waits for it. The caller holds the mutex. */
void orma_client_flushes_forget_locked(const struct orma_client_instance *instance);
/* Frees all. */
void orma_client_flushes_drop(struct orma_list *flushes);

#endif
