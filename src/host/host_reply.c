/* SPDX-License-Identifier: Apache-2.0
 * host_reply.c - replies to calls.
 */
#include "host/host_reply.h"

struct orma_proto_writer *orma_host_reply_begin(struct orma_host *host,
						struct orma_proto_heap_writer *heap)
{
	host->scratch.size = 0;
	orma_proto_heap_writer_init(heap, &host->scratch);
	return &heap->writer;
}

int orma_host_reply_send(struct orma_host *host, struct orma_proto_heap_writer *heap,
			 struct orma_ipc_call *call, bool has_more)
{
	int r = orma_proto_heap_writer_finish(heap);

	return r < 0 ? r
		     : orma_ipc_call_reply(call, host->scratch.data, host->scratch.size, has_more,
					   -1);
}

int orma_host_reply_empty(struct orma_ipc_call *call)
{
	return orma_ipc_call_reply(call, NULL, 0, false, -1);
}

int orma_host_reply_bytes(struct orma_host *host, struct orma_ipc_call *call, uint32_t field_id,
			  const void *data, size_t size, bool has_more)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);

	orma_proto_write_bytes(writer, field_id, data, size);
	return orma_host_reply_send(host, &heap, call, has_more);
}
