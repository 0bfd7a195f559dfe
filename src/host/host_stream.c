/* SPDX-License-Identifier: Apache-2.0
 * host_stream.c - ReadBuffers: takes packets from the service as fast as each consumer's socket
 * does.
 *
 * A consumer that reads is in host->streams. Each turn of the loop gives it one batch, packed into
 * one reply of nearly a frame. A consumer whose socket has no room leaves the list until the socket
 * has drained. The service hands out a packet of megabytes in parts of a batch each. So a consumer
 * that reads much, or slowly, delays the others by one batch at most.
 *
 * Only two parts of a trace wait in memory: the socket's queue, and the rest of one batch
 * (consumer->rest). A batch can exceed a frame, because the service hands out its own packets and
 * filtered ones whole. The rest has to be kept, because a batch cannot be read from the service
 * twice. Rejected: pushing the whole buffer into the queue (memory), and gathering slices with
 * writev (two pieces per 64-byte packet cost more than copying them).
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/log_message.h"
#include "host/host_consumer.h"
#include "ipc/frame.h"
#include "proto/wire.h"
#include "schema/gen/consumer_port.pb.h"
#include "service/steps.h"

#define REPLY_BYTES_MAX ((size_t)ORMA_IPC_BODY_BYTES_MAX)
/* The tag and length of the slice, the tag and length of its data, and last_slice_for_packet. */
#define SLICE_OVERHEAD_MAX 16
#define BATCH_BYTES        (REPLY_BYTES_MAX - REPLY_BYTES_MAX / 8)
/* Limit on waiting replies that are sent in one turn to a consumer that reads as fast as the host
 * writes. */
#define REPLIES_PER_TURN 4
/* For all streams together; at least one batch is sent. */
#define FEEDING_NS_PER_TURN (2 * ORMA_NS_PER_MS)

static void append_slice(struct orma_buf *reply, const void *data, size_t size, bool ends_packet)
{
	size_t body = 1 + orma_proto_varint_size(size) + size + (ends_packet ? 2 : 0);
	uint8_t *at = reply->data + reply->size;

	ORMA_ASSERT(reply->size + SLICE_OVERHEAD_MAX + size <= REPLY_BYTES_MAX);

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

/* Precedes each reply that waits in consumer->rest. */
struct waiting {
	uint32_t size;
	bool has_more;
};

static int send_now(struct orma_host_consumer *consumer, const void *data, size_t size,
		    bool has_more)
{
	struct orma_ipc_call *call = consumer->read;

	if (!has_more)
		consumer->read = NULL;
	return orma_ipc_call_reply(call, data, size, has_more, -1);
}

static int send_reply(struct orma_host_consumer *consumer, bool has_more)
{
	struct orma_buf *reply = &consumer->peer.host->scratch;
	struct waiting head = {(uint32_t)reply->size, has_more};
	int r;

	if (consumer->rest.size == 0 && orma_ipc_peer_has_room(consumer->peer.ipc)) {
		r = send_now(consumer, reply->data, reply->size, has_more);
	} else {
		r = orma_base_buf_append(&consumer->rest, &head, sizeof(head));
		if (r == 0)
			r = orma_base_buf_append(&consumer->rest, reply->data, reply->size);
	}
	reply->size = 0;
	return r;
}

void orma_host_stream_clear(struct orma_host_consumer *consumer)
{
	orma_base_buf_done(&consumer->rest);
	consumer->rest_at = 0;
}

/* Sends replies that wait, while there is room. */
static int send_rest(struct orma_host_consumer *consumer)
{
	const struct orma_buf *rest = &consumer->rest;
	int r = 0;

	for (unsigned sent = 0; r == 0 && consumer->rest_at < rest->size; sent++) {
		const uint8_t *at = rest->data + consumer->rest_at;
		struct waiting head;

		if (sent == REPLIES_PER_TURN || !orma_ipc_peer_has_room(consumer->peer.ipc))
			return 0;
		memcpy(&head, at, sizeof(head));
		consumer->rest_at += sizeof(head) + head.size;
		r = send_now(consumer, at + sizeof(head), head.size, head.has_more);
	}
	orma_host_stream_clear(consumer);
	return r;
}

/* Cuts a slice that does not fit a frame. The consumer joins slices up to the last one of the
 * packet. */
static int send_slice(struct orma_host_consumer *consumer, const struct orma_trace_slice *slice)
{
	struct orma_buf *reply = &consumer->peer.host->scratch;
	const uint8_t *data = slice->data;
	size_t left = slice->size;
	do {
		if (reply->size + SLICE_OVERHEAD_MAX + ORMA_MIN(left, (size_t)1024) >
		    REPLY_BYTES_MAX) {
			int r = send_reply(consumer, true);
			if (r)
				return r;
		}
		size_t part = ORMA_MIN(left, REPLY_BYTES_MAX - SLICE_OVERHEAD_MAX - reply->size);
		append_slice(reply, data, part, slice->ends_packet && part == left);
		data += part;
		left -= part;
	} while (left > 0);
	return 0;
}

static int send_batch(struct orma_host_consumer *consumer)
{
	struct orma_buf *reply = &consumer->peer.host->scratch;
	struct orma_trace_batch batch;

	reply->size = 0;
	int r = orma_base_buf_reserve(reply, REPLY_BYTES_MAX);
	if (r == 0)
		r = orma_service_read_step(consumer->port, BATCH_BYTES, &batch);
	/* Recorders of 2020 also read when their session was refused, and they do not take a
	 * rejected call for an end. So an empty last reply answers them, although there is nothing
	 * to read. */
	if (r == -ENOENT || r == -EBUSY)
		return send_reply(consumer, false);
	if (r || (batch.count == 0 && batch.has_more))
		return r;
	for (size_t i = 0; i < batch.count && r == 0; i++)
		r = send_slice(consumer, &batch.slices[i]);
	return r ? r : send_reply(consumer, batch.has_more);
}

/* Sends replies that wait, or one batch. Returns true when the stream wants another turn. */
static bool feed(struct orma_host_consumer *consumer)
{
	int r = consumer->rest.size ? send_rest(consumer) : send_batch(consumer);

	/* on_readable() puts the stream back when there is something to read, and on_drained() when
	 * there is room. */
	if (r == -EAGAIN)
		return false;
	if (r)
		orma_host_stream_cancel(consumer);
	return consumer->read != NULL;
}

void orma_host_stream_restart(struct orma_host_consumer *consumer)
{
	orma_host_stream_clear(consumer);
	orma_service_read_restart(consumer->port);
}

void orma_host_stream_cancel(struct orma_host_consumer *consumer)
{
	orma_base_list_remove(&consumer->stream);
	orma_host_stream_restart(consumer);
	if (consumer->read)
		orma_ipc_call_reject(ORMA_TAKE(consumer->read));
}

bool orma_host_feed_streams(struct orma_host *host)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + FEEDING_NS_PER_TURN;
	struct orma_list batch;
	bool is_over = false;

	/* A consumer that was served goes back to the end of host->streams, so that each is served
	 * once. The consumers for which there was no time are the first ones of the next turn. */
	orma_base_list_init(&batch);
	while (!orma_base_list_is_empty(&host->streams)) {
		struct orma_list *first = host->streams.next;
		orma_base_list_remove(first);
		orma_base_list_append(&batch, first);
	}
	while (!orma_base_list_is_empty(&batch) && !is_over) {
		struct orma_host_consumer *consumer =
			ORMA_LIST_ENTRY(batch.next, struct orma_host_consumer, stream);
		orma_base_list_remove(&consumer->stream);
		if (feed(consumer) && orma_ipc_peer_has_room(consumer->peer.ipc))
			orma_base_list_append(&host->streams, &consumer->stream);
		is_over = orma_base_clock_ns(CLOCK_MONOTONIC) >= end_ns;
	}
	while (!orma_base_list_is_empty(&batch)) {
		struct orma_list *last = batch.prev;
		orma_base_list_remove(last);
		orma_base_list_insert_before(host->streams.next, last);
	}
	return !orma_base_list_is_empty(&host->streams);
}
