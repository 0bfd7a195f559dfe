/* SPDX-License-Identifier: Apache-2.0
 * ipc_outstanding.h - the calls of a client that are not answered yet.
 *
 * Invariant: a call is in the list and in the map, or in neither.
 */
#ifndef ORMA_IPC_IPC_OUTSTANDING_H
#define ORMA_IPC_IPC_OUTSTANDING_H

#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "ipc/ipc_client.h"

struct orma_ipc_outstanding_call {
	struct orma_list link;
	uint64_t request_id;
	orma_ipc_reply_fn *fn;
	void *fn_ctx;
};

struct orma_ipc_outstanding {
	struct orma_list calls; /* oldest first */
	struct orma_map by_id;
};

void orma_ipc_outstanding_init(struct orma_ipc_outstanding *outstanding);
/* Frees all calls. */
void orma_ipc_outstanding_done(struct orma_ipc_outstanding *outstanding);
/* No call may have this id. 0 or -ENOMEM. */
int orma_ipc_outstanding_add(struct orma_ipc_outstanding *outstanding, uint64_t request_id,
			     orma_ipc_reply_fn *fn, void *fn_ctx,
			     struct orma_ipc_outstanding_call **ret);
/* Both return NULL for none. */
struct orma_ipc_outstanding_call *
orma_ipc_outstanding_find(const struct orma_ipc_outstanding *outstanding, uint64_t request_id);
struct orma_ipc_outstanding_call *
orma_ipc_outstanding_oldest(const struct orma_ipc_outstanding *outstanding);
/* Frees one call. */
void orma_ipc_outstanding_remove(struct orma_ipc_outstanding *outstanding,
				 struct orma_ipc_outstanding_call *call);
/* Frees the calls with this context. */
void orma_ipc_outstanding_forget(struct orma_ipc_outstanding *outstanding, const void *fn_ctx);

#endif
