/* SPDX-License-Identifier: Apache-2.0
 * host_flush.c - Flush: begins a flush, and replies when it is complete.
 *
 * Flushes of one consumer may overlap, and end in any order, so each call has a struct of its own.
 * When the consumer leaves, the structs are freed; the service does not call back after its port was
 * closed.
 */
#include <errno.h>

#include "base/alloc.h"
#include "host/host_consumer.h"
#include "host/host_reply.h"
#include "proto/reader.h"
#include "schema/gen/consumer_port.pb.h"

#define FLUSHES_MAX 64 /* unanswered calls per consumer */

struct host_flush {
	struct orma_ipc_call *call;
	struct orma_list link; /* in consumer->flushes */
};

static void on_flush_done(void *ctx, bool is_complete)
{
	struct host_flush *flush = ctx;
	orma_base_list_remove(&flush->link);
	if (is_complete)
		(void)orma_host_reply_empty(flush->call);
	else
		orma_ipc_call_reject(flush->call);
	orma_base_free(flush);
}

static bool has_flush_room(const struct orma_host_consumer *consumer)
{
	size_t count = 0;
	struct host_flush *flush;
	ORMA_LIST_FOR_EACH (flush, &consumer->flushes, link)
		count++;
	return count < FLUSHES_MAX;
}

int orma_host_flush(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
		    const void *args, size_t size)
{
	struct orma_proto_field timeout = {0}, flags = {0};
	if (orma_proto_reader_find(args, size, ORMA_PB_FLUSH_REQUEST_TIMEOUT_MS, &timeout) < 0 ||
	    orma_proto_reader_find(args, size, ORMA_PB_FLUSH_REQUEST_FLAGS, &flags) < 0)
		return -EBADMSG;
	if (!has_flush_room(consumer))
		return -EBUSY;
	struct host_flush *flush = orma_base_zalloc(sizeof(*flush));
	if (!flush)
		return -ENOMEM;
	flush->call = call;
	orma_base_list_append(&consumer->flushes, &flush->link);
	int r = orma_consumer_port_flush(consumer->port,
					 (uint32_t)ORMA_MIN(timeout.value, (uint64_t)UINT32_MAX),
					 flags.value, on_flush_done, flush);
	if (r) {
		orma_base_list_remove(&flush->link);
		orma_base_free(flush);
	}
	return r;
}

void orma_host_flush_forget_all(struct orma_host_consumer *consumer)
{
	struct host_flush *flush, *next;

	ORMA_LIST_FOR_EACH_SAFE (flush, next, &consumer->flushes, link)
		orma_base_free(flush);
}
