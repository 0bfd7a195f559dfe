/* SPDX-License-Identifier: Apache-2.0
 * host_clone.c - CloneSession: starts a clone, and replies when it is complete.
 *
 * The service makes one clone per consumer at a time and refuses further ones at once, so replies
 * may overtake each other and each call has a struct of its own. When the consumer leaves, the
 * structs are freed; the service does not call back after its port was closed.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fd.h"
#include "host/host_consumer.h"
#include "host/host_reply.h"
#include "proto/codec.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

struct host_clone {
	struct orma_host_consumer *consumer;
	struct orma_ipc_call *call;
	struct orma_list link; /* in consumer->clones */
};

static int reply_result(struct orma_host *host, struct orma_ipc_call *call,
			const struct orma_clone_result *result)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);

	orma_proto_write_bool(writer, ORMA_PB_CLONE_SESSION_RESPONSE_SUCCESS, !result->error);
	if (result->error) {
		orma_proto_write_string(writer, ORMA_PB_CLONE_SESSION_RESPONSE_ERROR,
					result->error);
	} else {
		orma_proto_write_varint(writer, ORMA_PB_CLONE_SESSION_RESPONSE_UUID_MSB,
					result->uuid_msb);
		orma_proto_write_varint(writer, ORMA_PB_CLONE_SESSION_RESPONSE_UUID_LSB,
					result->uuid_lsb);
		orma_proto_write_bool(writer, ORMA_PB_CLONE_SESSION_RESPONSE_WAS_WRITE_INTO_FILE,
				      result->was_write_into_file);
	}
	return orma_host_reply_send(host, &heap, call, false);
}

static void on_cloned(void *ctx, const struct orma_clone_result *result)
{
	struct host_clone *clone = ctx;

	orma_base_list_remove(&clone->link);
	int r = reply_result(clone->consumer->peer.host, clone->call, result);
	if (r == -ENOMEM || r == -EMSGSIZE)
		orma_ipc_call_reject(clone->call);
	orma_base_free(clone);
}

/* Copies a name into the arena; leaves *ret alone when the text is empty. */
static int take_name(struct orma_str text, struct orma_arena *arena, const char **ret)
{
	if (text.size == 0)
		return 0;
	*ret = orma_base_arena_strdup(arena, text);
	return *ret ? 0 : -ENOMEM;
}

static int make_request(const void *args, size_t size, struct orma_arena *arena,
			struct orma_clone_request *ret)
{
	struct orma_pb_clone_session_request *request;
	int r = orma_proto_decode(&orma_pb_clone_session_request_desc, args, size, arena, &request);

	if (r < 0)
		return r;
	*ret = (struct orma_clone_request){
		.struct_size = sizeof(*ret),
		.session_id = request->session_id,
		.skips_trace_filter = request->skip_trace_filter,
		.is_for_bugreport = request->for_bugreport,
		.file_fd = -1,
		.trigger_producer_uid = (uid_t)request->clone_trigger_trusted_producer_uid,
		.trigger_boot_time_ns = request->clone_trigger_boot_time_ns,
		.trigger_delay_ms = request->clone_trigger_delay_ms,
	};
	r = take_name(request->unique_session_name, arena, &ret->unique_session_name);
	if (r == 0)
		r = take_name(request->clone_trigger_name, arena, &ret->trigger_name);
	if (r == 0)
		r = take_name(request->clone_trigger_producer_name, arena,
			      &ret->trigger_producer_name);
	return r;
}

static int begin_clone(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
		       const void *args, size_t size, int file_fd)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_clone_request request;
	struct host_clone *clone;
	int r = make_request(args, size, &arena, &request);

	if (r < 0)
		return r;
	clone = orma_base_zalloc(sizeof(*clone));
	if (!clone)
		return -ENOMEM;
	clone->consumer = consumer;
	clone->call = call;
	orma_base_list_append(&consumer->clones, &clone->link);
	request.file_fd = file_fd;
	orma_consumer_port_clone(consumer->port, &request, on_cloned, clone);
	return 0;
}

int orma_host_clone_session(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			    const void *args, size_t size)
{
	int file_fd = orma_ipc_call_take_fd(call);
	int r = begin_clone(consumer, call, args, size, file_fd);

	orma_ipc_call_close_fd(call, file_fd);
	return r;
}

void orma_host_clone_forget_all(struct orma_host_consumer *consumer)
{
	struct host_clone *clone, *next;

	ORMA_LIST_FOR_EACH_SAFE (clone, next, &consumer->clones, link)
		orma_base_free(clone);
}
