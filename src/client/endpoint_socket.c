/* SPDX-License-Identifier: Apache-2.0
 * endpoint_socket.c - a daemon behind a socket: ProducerPort over ipc.
 *
 *   connected --> InitializeConnection, GetAsyncCommand --> answer of the first: up
 *             --> a stream of commands until the connection ends: down
 *
 * Calls whose reply is not needed are sent without asking for one. Commands of the daemon are untrusted:
 * undecodable ones end the connection, unknown ones are ignored. Configs are handed on as the bytes that
 * were received, so that fields unknown to us reach the data source. A call that cannot be sent for lack of
 * memory ends the connection, because a lost commit would leave chunks that nobody frees.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fd.h"
#include "client/client_limits.h"
#include "client/commit_encode.h"
#include "client/endpoint.h"
#include "ipc/ipc_client.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/producer_port.pb.h"

enum method {
	INITIALIZE_CONNECTION,
	REGISTER_DATA_SOURCE,
	UPDATE_DATA_SOURCE,
	UNREGISTER_DATA_SOURCE,
	COMMIT_DATA,
	GET_ASYNC_COMMAND,
	REGISTER_TRACE_WRITER,
	UNREGISTER_TRACE_WRITER,
	NOTIFY_DATA_SOURCE_STARTED,
	NOTIFY_DATA_SOURCE_STOPPED,
	SYNC,
	ACTIVATE_TRIGGERS,
};

static const char *const method_names[] = {
	[INITIALIZE_CONNECTION] = "InitializeConnection",
	[REGISTER_DATA_SOURCE] = "RegisterDataSource",
	[UPDATE_DATA_SOURCE] = "UpdateDataSource",
	[UNREGISTER_DATA_SOURCE] = "UnregisterDataSource",
	[COMMIT_DATA] = "CommitData",
	[GET_ASYNC_COMMAND] = "GetAsyncCommand",
	[REGISTER_TRACE_WRITER] = "RegisterTraceWriter",
	[UNREGISTER_TRACE_WRITER] = "UnregisterTraceWriter",
	[NOTIFY_DATA_SOURCE_STARTED] = "NotifyDataSourceStarted",
	[NOTIFY_DATA_SOURCE_STOPPED] = "NotifyDataSourceStopped",
	[SYNC] = "Sync",
	[ACTIVATE_TRIGGERS] = "ActivateTriggers",
};

struct socket_endpoint {
	struct orma_client_endpoint base;
	struct orma_client_endpoint_config config;
	struct orma_ipc_client *ipc;
	struct orma_buf args; /* reused */
	bool can_hold_chunks, is_emulated, uses_own;
	struct orma_task failure;
	int failure_error;
};

static void on_failure(struct orma_task *task)
{
	struct socket_endpoint *self = ORMA_CONTAINER_OF(task, struct socket_endpoint, failure);

	self->base.events->down(self->base.link, self->failure_error);
}

static void fail(struct socket_endpoint *self, int error)
{
	self->failure_error = error;
	orma_base_loop_defer(self->config.loop, &self->failure, on_failure);
}

/* --- calls ------------------------------------------------------------------------------------ */

static int invoke(struct socket_endpoint *self, enum method method, orma_ipc_reply_fn *fn)
{
	int r = orma_ipc_client_invoke(self->ipc, method, self->args.data, self->args.size, fn,
				       self);

	if (r == -ENOMEM || r == -EMSGSIZE || r == -EBUSY)
		fail(self, r);
	return r;
}

static int invoke_varints(struct socket_endpoint *self, enum method method, uint64_t first,
			  uint64_t second)
{
	uint8_t *at;
	int r;

	self->args.size = 0;
	r = orma_base_buf_reserve(&self->args, (size_t)2 * ORMA_PROTO_SCALAR_FIELD_MAX);
	if (r < 0) {
		fail(self, r);
		return r;
	}
	at = orma_proto_put_varint(self->args.data, orma_proto_tag(1, ORMA_PROTO_VARINT));
	at = orma_proto_put_varint(at, first);
	if (second) {
		at = orma_proto_put_varint(at, orma_proto_tag(2, ORMA_PROTO_VARINT));
		at = orma_proto_put_varint(at, second);
	}
	self->args.size = (size_t)(at - self->args.data);
	return invoke(self, method, NULL);
}

static int invoke_bytes(struct socket_endpoint *self, enum method method, const void *data,
			size_t size)
{
	uint8_t head[ORMA_PROTO_SCALAR_FIELD_MAX];
	uint8_t *end = orma_proto_put_varint(head, orma_proto_tag(1, ORMA_PROTO_BYTES));
	int r;

	end = orma_proto_put_varint(end, size);
	self->args.size = 0;
	r = orma_base_buf_append(&self->args, head, (size_t)(end - head));
	if (r == 0)
		r = orma_base_buf_append(&self->args, data, size);
	if (r < 0) {
		fail(self, r);
		return r;
	}
	return invoke(self, method, NULL);
}

static int register_source(void *ctx, const void *descriptor, size_t size)
{
	return invoke_bytes(ctx, REGISTER_DATA_SOURCE, descriptor, size);
}

static int update_source(void *ctx, const void *descriptor, size_t size)
{
	return invoke_bytes(ctx, UPDATE_DATA_SOURCE, descriptor, size);
}

static void unregister_source(void *ctx, const char *name)
{
	invoke_bytes(ctx, UNREGISTER_DATA_SOURCE, name, strlen(name));
}

static void register_writer(void *ctx, uint32_t writer_id, uint32_t target_buffer)
{
	invoke_varints(ctx, REGISTER_TRACE_WRITER, writer_id, target_buffer);
}

static void unregister_writer(void *ctx, uint32_t writer_id)
{
	invoke_varints(ctx, UNREGISTER_TRACE_WRITER, writer_id, 0);
}

static void source_started(void *ctx, uint64_t instance_id)
{
	invoke_varints(ctx, NOTIFY_DATA_SOURCE_STARTED, instance_id, 0);
}

static void source_stopped(void *ctx, uint64_t instance_id)
{
	invoke_varints(ctx, NOTIFY_DATA_SOURCE_STOPPED, instance_id, 0);
}

static void commit(void *ctx, const struct orma_commit *commit)
{
	struct socket_endpoint *self = ctx;
	int r = orma_client_commit_encode(commit, &self->args);

	if (r < 0)
		fail(self, r);
	else
		invoke(self, COMMIT_DATA, NULL);
}

static bool has_room(void *ctx)
{
	struct socket_endpoint *self = ctx;

	/* If a writer of the loop's thread waits for memory, the loop does not run: commits that the socket has not taken
	 * would stay here, and no memory would become free. */
	orma_ipc_client_push(self->ipc);
	return orma_ipc_client_has_room(self->ipc);
}

static void on_synced(void *ctx, const struct orma_ipc_reply *reply)
{
	struct socket_endpoint *self = ctx;

	/* A service that rejects the call has still received it, after everything before it. */
	if (reply->success || reply->error == -EREMOTEIO)
		self->base.events->synced(self->base.link);
}

static int sync_with(void *ctx)
{
	struct socket_endpoint *self = ctx;

	self->args.size = 0;
	/* Services before 2020 have no Sync; an empty commit is handled in the same order. */
	return invoke(self, orma_ipc_client_has_method(self->ipc, SYNC) ? SYNC : COMMIT_DATA,
		      on_synced);
}

/* Services before 2019 have no triggers, and no sessions that wait for any. */
static void activate_triggers(void *ctx, const char *const *names, size_t count)
{
	struct socket_endpoint *self = ctx;
	struct orma_proto_heap_writer heap;
	int r;

	self->args.size = 0;
	orma_proto_heap_writer_init(&heap, &self->args);
	for (size_t i = 0; i < count; i++)
		orma_proto_write_string(&heap.writer,
					ORMA_PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, names[i]);
	r = orma_proto_heap_writer_finish(&heap);
	if (r < 0)
		fail(self, r);
	else
		invoke(self, ACTIVATE_TRIGGERS, NULL);
}

static void socket_free(struct orma_client_endpoint *endpoint)
{
	struct socket_endpoint *self = ORMA_CONTAINER_OF(endpoint, struct socket_endpoint, base);

	orma_base_task_cancel(&self->failure);
	orma_ipc_client_free(self->ipc);
	orma_base_buf_done(&self->args);
	orma_base_free(self);
}

static const struct orma_transport_ops ops = {
	.struct_size = sizeof(ops),
	.register_data_source = register_source,
	.update_data_source = update_source,
	.unregister_data_source = unregister_source,
	.register_writer = register_writer,
	.unregister_writer = unregister_writer,
	.commit = commit,
	.has_room = has_room,
	.data_source_started = source_started,
	.data_source_stopped = source_stopped,
	.sync = sync_with,
	.activate_triggers = activate_triggers,
};

/* --- commands --------------------------------------------------------------------------------- */

/* setup_data_source and start_data_source have the same fields. */
static int get_instance(struct orma_str message_untrusted, uint64_t *ret_id,
			struct orma_str *ret_config)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	*ret_id = 0;
	*ret_config = (struct orma_str){"", 0};
	orma_proto_reader_init(&reader, message_untrusted.data, message_untrusted.size);
	while ((r = orma_proto_reader_next(&reader, &field)) == 1) {
		if (field.id == 1 && field.type == ORMA_PROTO_VARINT)
			*ret_id = field.value;
		else if (field.id == 2 && field.type == ORMA_PROTO_BYTES)
			*ret_config = field.bytes;
	}
	return r;
}

static int run_setup_tracing(struct socket_endpoint *self, struct orma_str message_untrusted)
{
	struct orma_client_shared shared = {.can_hold_chunks = self->can_hold_chunks};
	struct orma_proto_field field;
	int r = orma_proto_reader_find(
		message_untrusted.data, message_untrusted.size,
		ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING_SHARED_BUFFER_PAGE_SIZE_KB,
		&field);

	if (r < 0)
		return -EPROTO;
	if (r == 1 && field.value <= UINT32_MAX / 1024)
		shared.page_bytes = (uint32_t)field.value * 1024;
	shared.fd = orma_ipc_client_take_fd(self->ipc);
	shared.is_own = self->uses_own;
	if (self->uses_own) {
		shared.fd = orma_base_fd_close(shared.fd);
	} else if (self->is_emulated) {
		shared.fd = orma_base_fd_close(shared.fd);
		shared.wants_incomplete = !self->config.disable_scraping;
	} else if (shared.fd < 0) {
		return -EPROTO;
	}
	r = self->base.events->setup_tracing(self->base.link, &shared);
	orma_base_fd_close(shared.fd);
	return r;
}

static int run_flush(struct socket_endpoint *self, struct orma_str message_untrusted)
{
	struct orma_pb_get_async_command_response_flush *flush;
	struct orma_arena arena = {0};
	int r = orma_pb_get_async_command_response_flush_decode(
		message_untrusted.data, message_untrusted.size, &arena, &flush);

	if (r == 0)
		self->base.events->flush(self->base.link, flush->request_id,
					 flush->data_source_ids.items, flush->data_source_ids.count,
					 flush->flags);
	orma_base_arena_done(&arena);
	return r;
}

static int run_clear(struct socket_endpoint *self, struct orma_str message_untrusted)
{
	struct orma_pb_get_async_command_response_clear_incremental_state *clear;
	struct orma_arena arena = {0};
	int r = orma_pb_get_async_command_response_clear_incremental_state_decode(
		message_untrusted.data, message_untrusted.size, &arena, &clear);

	if (r == 0)
		self->base.events->clear_incremental_state(self->base.link,
							   clear->data_source_ids.items,
							   clear->data_source_ids.count);
	orma_base_arena_done(&arena);
	return r;
}

static int run_command(struct socket_endpoint *self, const struct orma_proto_field *command)
{
	const struct orma_client_endpoint_events *events = self->base.events;
	struct orma_str config;
	uint64_t id;
	int r;

	if (command->type != ORMA_PROTO_BYTES)
		return 0;
	switch (command->id) {
	case ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING:
		return run_setup_tracing(self, command->bytes);
	case ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE:
		r = get_instance(command->bytes, &id, &config);
		if (r == 0)
			events->setup_source(self->base.link, id, config.data, config.size);
		return r;
	case ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE:
		r = get_instance(command->bytes, &id, &config);
		if (r == 0)
			events->start_source(self->base.link, id, config.data, config.size);
		return r;
	case ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE:
		r = get_instance(command->bytes, &id, &config);
		if (r == 0)
			events->stop_source(self->base.link, id);
		return r;
	case ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH:
		return run_flush(self, command->bytes);
	case ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE:
		return run_clear(self, command->bytes);
	default:
		return 0;
	}
}

static void on_command(void *ctx, const struct orma_ipc_reply *reply)
{
	struct socket_endpoint *self = ctx;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;

	/* When the connection ends, on_disconnected() follows. */
	if (!reply->success && reply->error != -EREMOTEIO)
		return;
	orma_proto_reader_init(&reader, reply->data, reply->size);
	while (r == 0 && (r = orma_proto_reader_next(&reader, &field)) == 1)
		r = run_command(self, &field);
	/* The service may end the stream of commands; a producer without commands is useless.
	 */
	if (r < 0 || !reply->has_more)
		fail(self, r == -ENOMEM ? r : -EPROTO);
}

/* --- the connection --------------------------------------------------------------------------- */

static void on_initialized(void *ctx, const struct orma_ipc_reply *reply)
{
	struct socket_endpoint *self = ctx;
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	if (!reply->success) {
		if (reply->error == -EREMOTEIO)
			fail(self, -EACCES);
		return;
	}
	orma_proto_reader_init(&reader, reply->data, reply->size);
	while (orma_proto_reader_next(&reader, &field) == 1) {
		switch (field.id) {
		case ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED:
			self->can_hold_chunks = field.value != 0;
			break;
		case ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION:
			self->is_emulated = field.value != 0;
			break;
		case ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER:
			self->uses_own = field.value != 0;
			break;
		default:
			break;
		}
	}
	self->uses_own = self->uses_own && !self->is_emulated && self->config.own_fd >= 0;
	self->config.own_fd = -1;
	self->base.events->up(self->base.link, self->uses_own);
}

static int encode_hello(struct socket_endpoint *self)
{
	const struct orma_client_endpoint_config *config = &self->config;
	struct orma_proto_heap_writer heap;

	self->args.size = 0;
	orma_proto_heap_writer_init(&heap, &self->args);
	if (config->page_bytes)
		orma_proto_write_varint(
			&heap.writer,
			ORMA_PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES,
			config->page_bytes);
	if (config->shm_bytes)
		orma_proto_write_varint(
			&heap.writer,
			ORMA_PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_SIZE_HINT_BYTES,
			config->shm_bytes);
	orma_proto_write_string(&heap.writer, ORMA_PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME,
				config->producer_name);
	orma_proto_write_varint(
		&heap.writer, ORMA_PB_INITIALIZE_CONNECTION_REQUEST_SMB_SCRAPING_MODE,
		config->disable_scraping ? ORMA_SCRAPING_DISABLED : ORMA_SCRAPING_ENABLED);
	if (config->own_fd >= 0)
		orma_proto_write_bool(&heap.writer,
				      ORMA_PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM,
				      true);
	orma_proto_write_string(&heap.writer, ORMA_PB_INITIALIZE_CONNECTION_REQUEST_SDK_VERSION,
				"orma " ORMA_VERSION_STRING);
	return orma_proto_heap_writer_finish(&heap);
}

static void on_connected(void *ctx)
{
	struct socket_endpoint *self = ctx;
	int r = encode_hello(self);

	if (r == 0)
		r = orma_ipc_client_invoke_fd(self->ipc, INITIALIZE_CONNECTION, self->args.data,
					      self->args.size, self->config.own_fd, on_initialized,
					      self);
	self->args.size = 0;
	if (r == 0)
		r = invoke(self, GET_ASYNC_COMMAND, on_command);
	if (r < 0)
		fail(self, r == -ENOTSUP ? -EPROTO : r);
}

static void on_disconnected(void *ctx, int error)
{
	struct socket_endpoint *self = ctx;

	self->base.events->down(self->base.link, error);
}

int orma_client_socket_endpoint_new(const struct orma_client_endpoint_config *config,
				    const char *address, struct orma_client_endpoint **ret)
{
	struct socket_endpoint *self = orma_base_zalloc(sizeof(*self));
	const struct orma_ipc_client_options options = {
		.loop = config->loop,
		.service_name = "ProducerPort",
		.method_names = method_names,
		.method_count = ORMA_ARRAY_SIZE(method_names),
		.ctx = self,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.queue_bytes = ORMA_CLIENT_QUEUE_BYTES,
		.trust = config->trust,
	};
	int r;

	if (!self)
		return -ENOMEM;
	self->base = (struct orma_client_endpoint){
		.ops = &ops,
		.ops_ctx = self,
		.free = socket_free,
		.events = config->events,
		.link = config->link,
	};
	self->config = *config;
	orma_base_list_init(&self->failure.link);
	r = orma_ipc_client_new(&options, address, &self->ipc);
	if (r < 0) {
		orma_base_free(self);
		return r;
	}
	*ret = &self->base;
	return 0;
}
