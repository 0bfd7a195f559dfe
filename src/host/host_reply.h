/* SPDX-License-Identifier: Apache-2.0
 * host_reply.h - replies to calls, encoded in the host's scratch buffer.
 */
#ifndef ORMA_HOST_HOST_REPLY_H
#define ORMA_HOST_HOST_REPLY_H

#include "host/host_state.h"
#include "proto/writer.h"

/* Begins a message in host->scratch, and returns its writer. */
struct orma_proto_writer *orma_host_reply_begin(struct orma_host *host,
						struct orma_proto_heap_writer *heap);
/* Finishes that message and sends it. 0, -ENOMEM, or what orma_ipc_call_reply() returns. */
int orma_host_reply_send(struct orma_host *host, struct orma_proto_heap_writer *heap,
			 struct orma_ipc_call *call, bool has_more);
/* Sends a last reply without any field. */
int orma_host_reply_empty(struct orma_ipc_call *call);
/* Sends a reply whose only field holds `size` bytes. */
int orma_host_reply_bytes(struct orma_host *host, struct orma_ipc_call *call, uint32_t field_id,
			  const void *data, size_t size, bool has_more);

#endif
