/* SPDX-License-Identifier: Apache-2.0
 * host_stream.c - ReadBuffers: pulls packets out of the service as fast as each consumer's socket
 * takes them.
 *
 * A consumer that reads is in host->streams. Each turn of the loop gives it one batch, packed into
 * one reply of nearly a frame; a socket without room leaves the list until it has drained. So no
 * consumer's appetite or slowness costs the others more than one batch, and nothing of the trace
 * waits in memory but what the socket's queue holds. Rejected: pushing the whole buffer into the
 * queue (memory), and gathering slices with writev (two pieces per 64-byte packet cost more than
 * copying them).
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "host/host_consumer.h"
#include "ipc/frame.h"
#include "proto/wire.h"
#include "schema/gen/consumer_port.pb.h"

#define REPLY_BYTES_MAX ((size_t)ORMA_IPC_BODY_BYTES_MAX)
/* Tag and length of the slice, tag and length of its data, last_slice_for_packet. */
#define SLICE_OVERHEAD_MAX 16
#define BATCH_BYTES        (REPLY_BYTES_MAX - REPLY_BYTES_MAX / 8)

static void append_slice(struct orma_buf *reply, const void *data, size_t size, bool ends_packet)
{
	size_t body = 1 + orma_proto_varint_size(size) + size + (ends_packet ? 2 : 0);
	uint8_t *at = reply->data + reply->size;

	*at++ = (uint8_t)orma_proto_tag(ORMA_PB_READ_BUFFERS_RESPONSE_SLICES, ORMA_PROTO_BYTES);
	at = orma_proto_put_varint(at, body);
	*at++ = (uint8_t)orma_proto_tag(ORMA_PB_READ_BUFFERS_RESPONSE_SLICE_DATA, ORMA_PROTO_BYTES);
	at = orma_proto_put_varint(at, size);
	memcpy(at, data, size);
	at += size;
	if (ends_packet) {
		*at++ = (uint8_t)orma_proto_tag(
			ORMA_PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET,
			ORMA_PROTO_VARINT);
		*at++ = 1;
	}
	reply->size = (size_t)(at - reply->data);
}

static int send_reply(struct orma_host_consumer *consumer, bool has_more)
{
	struct orma_buf *reply = &consumer->peer.host->scratch;
	struct orma_ipc_call *call = consumer->read;
	if (!has_more)
		consumer->read = NULL;
	int result = orma_ipc_call_reply(call, reply->data, reply->size, has_more, -1);
	reply->size = 0;
	return result;
}

/* A slice larger than a frame's room is cut; the consumer joins slices up to the last one of the
 * packet. */
static int send_slice(struct orma_host_consumer *consumer, const struct orma_trace_slice *slice)
{
	struct orma_buf *reply = &consumer->peer.host->scratch;
	const uint8_t *data = slice->data;
	size_t left = slice->size;
	do {
		if (reply->size + SLICE_OVERHEAD_MAX + ORMA_MIN(left, (size_t)1024) >
		    REPLY_BYTES_MAX) {
			int result = send_reply(consumer, true);
			if (result)
				return result;
		}
		size_t part = ORMA_MIN(left, REPLY_BYTES_MAX - SLICE_OVERHEAD_MAX - reply->size);
		append_slice(reply, data, part, slice->ends_packet && part == left);
		data += part;
		left -= part;
	} while (left > 0);
	return 0;
}

/* One batch: true when the stream wants another turn. */
static bool feed(struct orma_host_consumer *consumer)
{
	struct orma_buf *reply = &consumer->peer.host->scratch;
	struct orma_trace_batch batch;

	reply->size = 0;
	int result = orma_base_buf_reserve(reply, REPLY_BYTES_MAX);
	if (result == 0)
		result = orma_consumer_port_read(consumer->port, BATCH_BYTES, &batch);
	if (result) {
		orma_host_stream_cancel(consumer);
		return false;
	}
	for (size_t i = 0; i < batch.count && result == 0; i++)
		result = send_slice(consumer, &batch.slices[i]);
	if (result == 0)
		result = send_reply(consumer, batch.has_more);
	if (result)
		orma_host_stream_cancel(consumer);
	return consumer->read != NULL;
}

void orma_host_stream_cancel(struct orma_host_consumer *consumer)
{
	orma_base_list_remove(&consumer->stream);
	if (consumer->read)
		orma_ipc_call_reject(ORMA_TAKE(consumer->read));
}

bool orma_host_feed_streams(struct orma_host *host)
{
	struct orma_list batch;

	/* Those served go back to the end of host->streams, so each gets one turn. */
	orma_base_list_init(&batch);
	while (!orma_base_list_is_empty(&host->streams)) {
		struct orma_list *first = host->streams.next;
		orma_base_list_remove(first);
		orma_base_list_append(&batch, first);
	}
	while (!orma_base_list_is_empty(&batch)) {
		struct orma_host_consumer *consumer =
			ORMA_LIST_ENTRY(batch.next, struct orma_host_consumer, stream);
		orma_base_list_remove(&consumer->stream);
		if (feed(consumer) && orma_ipc_peer_has_room(consumer->peer.ipc))
			orma_base_list_append(&host->streams, &consumer->stream);
	}
	return !orma_base_list_is_empty(&host->streams);
}
