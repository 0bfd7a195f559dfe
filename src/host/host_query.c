/* SPDX-License-Identifier: Apache-2.0
 * host_query.c - QueryServiceState: sends the state in replies of one frame each, a few per turn of
 * the loop, while the consumer's socket has room.
 *
 * Every part consists of whole fields, so that the parts joined are the state. The rest that cannot
 * be sent at once is copied. It waits until the socket has drained, or, when the consumer reads as
 * fast as the host writes, in host->queries for another turn. The size of all these copies is
 * limited, because producers decide how large the state is and consumers how slowly they read it.
 * One query per consumer may wait; a further one is rejected meanwhile. Rejected: queueing all
 * parts at once (a state larger than the queue's limit would end the connection of an honest
 * consumer), and asking the service again for each part (producers that come or leave in between
 * would be listed twice or not at all).
 */
#include <errno.h>

#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/log_message.h"
#include "host/host_consumer.h"
#include "host/host_reply.h"
#include "ipc/frame.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

#define WAITING_BYTES_MAX ((size_t)64 << 20) /* all consumers together */
#define PART_BYTES_MAX    ((size_t)ORMA_IPC_BODY_BYTES_MAX - 16)
#define PARTS_AT_A_TIME   4
#define NS_PER_TURN       (2 * ORMA_NS_PER_MS) /* all consumers together */

/* Returns the size of the leading fields that fit a part. If not even the first field fits, the
 * caller must leave it out: the result is 0, and *ret_skipped is its size. */
static size_t cut(const uint8_t *data, size_t size, size_t *ret_skipped)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	size_t end = 0;

	*ret_skipped = 0;
	if (size <= PART_BYTES_MAX)
		return size;
	orma_proto_reader_init(&reader, data, size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		size_t at = (size_t)(reader.at - data);
		if (at > PART_BYTES_MAX) {
			*ret_skipped = end == 0 ? at : 0;
			break;
		}
		end = at;
	}
	return end;
}

/* Without `has_more` the call is finished, also when the peer is being dropped. */
static int reply_part(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
		      const uint8_t *part, size_t size, bool has_more)
{
	struct orma_host *host = consumer->peer.host;
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);

	orma_proto_write_bytes(writer, ORMA_PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, part,
			       size);
	int r = orma_proto_heap_writer_finish(&heap);
	if (r < 0)
		return r;
	if (!has_more)
		consumer->query = NULL;
	return orma_ipc_call_reply(call, host->scratch.data, host->scratch.size, has_more, -1);
}

/* Sends some parts while there is room. Returns the number of bytes that are done, which is `size`
 * once the call is finished, or -errno. */
static ssize_t send_parts(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			  const uint8_t *state, size_t size)
{
	size_t at = 0;
	int count = 0;

	do {
		size_t skipped, part = cut(state + at, size - at, &skipped);
		if (skipped) {
			orma_base_log(ORMA_LOG_WARNING,
				      "an item of %zu bytes is left out of the service's state",
				      skipped);
			at += skipped;
		}
		if (part > 0 || at == size) {
			int r = reply_part(consumer, call, state + at, part, at + part < size);
			if (r)
				return r;
			at += part;
		}
	} while (at < size && ++count < PARTS_AT_A_TIME &&
		 orma_ipc_peer_has_room(consumer->peer.ipc));
	return (ssize_t)at;
}

/* Leaves the rest for another turn, or for orma_host_consumer_drained() when the socket has no
 * room. */
static void put_off(struct orma_host_consumer *consumer)
{
	struct orma_host *host = consumer->peer.host;

	orma_base_list_remove(&consumer->waiting);
	if (!orma_ipc_peer_has_room(consumer->peer.ipc))
		return;
	orma_base_list_append(&host->queries, &consumer->waiting);
	orma_host_schedule(host);
}

void orma_host_query_cancel(struct orma_host_consumer *consumer)
{
	ORMA_ASSERT(consumer->peer.host->waiting_state_bytes >= consumer->state.capacity);
	consumer->peer.host->waiting_state_bytes -= consumer->state.capacity;
	orma_base_buf_done(&consumer->state);
	consumer->state_at = 0;
	orma_base_list_remove(&consumer->waiting);
	if (consumer->query)
		orma_ipc_call_reject(ORMA_TAKE(consumer->query));
}

int orma_host_query_begin(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			  const void *state, size_t size)
{
	struct orma_host *host = consumer->peer.host;

	ssize_t sent = send_parts(consumer, call, state, size);
	if (sent < 0)
		return (int)sent;
	if ((size_t)sent == size)
		return 0;
	size_t left = size - (size_t)sent;
	if (left > WAITING_BYTES_MAX - ORMA_MIN(host->waiting_state_bytes, WAITING_BYTES_MAX))
		return -ENOBUFS;
	int r = orma_base_buf_append(&consumer->state, (const uint8_t *)state + sent, left);
	if (r)
		return r;
	ORMA_ASSERT(consumer->state_at == 0 && !consumer->query);
	host->waiting_state_bytes += consumer->state.capacity;
	consumer->query = call;
	put_off(consumer);
	return 0;
}

void orma_host_query_continue(struct orma_host_consumer *consumer)
{
	const struct orma_buf *state = &consumer->state;
	size_t left = state->size - consumer->state_at;

	if (!consumer->query)
		return;
	ssize_t sent =
		send_parts(consumer, consumer->query, state->data + consumer->state_at, left);
	if (sent >= 0 && (size_t)sent < left) {
		consumer->state_at += (size_t)sent;
		put_off(consumer);
		return;
	}
	orma_host_query_cancel(consumer);
}

void orma_host_feed_queries(struct orma_host *host)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + NS_PER_TURN;
	const struct orma_list *last = host->queries.prev;
	const struct orma_list *fed = NULL;

	/* A query that goes on is appended again, for the next turn. */
	while (fed != last && !orma_base_list_is_empty(&host->queries) &&
	       orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		fed = host->queries.next;
		orma_host_query_continue(ORMA_LIST_ENTRY(fed, struct orma_host_consumer, waiting));
	}
	if (!orma_base_list_is_empty(&host->queries))
		orma_host_schedule(host);
}
