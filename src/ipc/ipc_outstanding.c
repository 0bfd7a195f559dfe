/* SPDX-License-Identifier: Apache-2.0
 * ipc_outstanding.c - the calls of a client that are not answered yet: a map by request id, in which a
 * reply finds its call, and a list by age, in which they are rejected when the connection is lost.
 */
#include "ipc/ipc_outstanding.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"

void orma_ipc_outstanding_init(struct orma_ipc_outstanding *outstanding)
{
	*outstanding = (struct orma_ipc_outstanding){0};
	orma_base_list_init(&outstanding->calls);
}

int orma_ipc_outstanding_add(struct orma_ipc_outstanding *outstanding, uint64_t request_id,
			     orma_ipc_reply_fn *fn, void *fn_ctx,
			     struct orma_ipc_outstanding_call **ret)
{
	struct orma_ipc_outstanding_call *call = orma_base_alloc(sizeof(*call));

	ORMA_ASSERT(!orma_ipc_outstanding_find(outstanding, request_id));
	if (!call)
		return -ENOMEM;
	int r = orma_base_map_put(&outstanding->by_id, request_id, call);
	if (r < 0) {
		orma_base_free(call);
		return r;
	}
	call->request_id = request_id;
	call->fn = fn;
	call->fn_ctx = fn_ctx;
	orma_base_list_append(&outstanding->calls, &call->link);
	*ret = call;
	return 0;
}

struct orma_ipc_outstanding_call *
orma_ipc_outstanding_find(const struct orma_ipc_outstanding *outstanding, uint64_t request_id)
{
	return orma_base_map_get(&outstanding->by_id, request_id);
}

struct orma_ipc_outstanding_call *
orma_ipc_outstanding_oldest(const struct orma_ipc_outstanding *outstanding)
{
	return orma_base_list_is_empty(&outstanding->calls)
		       ? NULL
		       : ORMA_LIST_ENTRY(outstanding->calls.next, struct orma_ipc_outstanding_call,
					 link);
}

void orma_ipc_outstanding_remove(struct orma_ipc_outstanding *outstanding,
				 struct orma_ipc_outstanding_call *call)
{
	ORMA_ASSERT(orma_ipc_outstanding_find(outstanding, call->request_id) == call);
	orma_base_map_remove(&outstanding->by_id, call->request_id);
	orma_base_list_remove(&call->link);
	orma_base_free(call);
}

void orma_ipc_outstanding_forget(struct orma_ipc_outstanding *outstanding, const void *fn_ctx)
{
	struct orma_ipc_outstanding_call *call, *next;

	ORMA_LIST_FOR_EACH_SAFE (call, next, &outstanding->calls, link)
		if (call->fn_ctx == fn_ctx)
			orma_ipc_outstanding_remove(outstanding, call);
}

void orma_ipc_outstanding_done(struct orma_ipc_outstanding *outstanding)
{
	struct orma_ipc_outstanding_call *call;

	while ((call = orma_ipc_outstanding_oldest(outstanding)))
		orma_ipc_outstanding_remove(outstanding, call);
	ORMA_ASSERT(outstanding->by_id.count == 0);
	orma_base_map_done(&outstanding->by_id);
}
