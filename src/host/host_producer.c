/* SPDX-License-Identifier: Apache-2.0
 * host_producer.c - ProducerPort: each method decodes its arguments and calls the producer's port.
 *
 * CommitData is the hot call. It is decoded by hand into arrays that keep their capacity between
 * calls. All producers share these arrays, because one call is handled at a time and any producer
 * could make them large. A commit that takes more than one turn of the loop is decoded again for
 * each step; only the number of its entries that are done is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "host/host_producer.h"
#include "host/host_reply.h"
#include "ipc/frame.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/producer_port.pb.h"
#include "service/service_limits.h"
#include "service/steps.h"
#include "service/trigger/trigger_activate.h"

static struct orma_host_producer *producer_of(struct orma_ipc_peer *ipc)
{
	return orma_ipc_peer_data(ipc);
}

static void forget_producer(struct orma_host_peer *peer)
{
	struct orma_host_producer *producer = (struct orma_host_producer *)peer;

	ORMA_ASSERT(orma_ipc_peer_data(peer->ipc) == producer);
	orma_base_list_remove(&peer->link);
	orma_ipc_peer_set_data(peer->ipc, NULL);
	if (producer->port)
		orma_producer_port_close(producer->port);
	orma_relay_port_close(peer->relay);
	orma_host_schedule(peer->host);
	orma_host_command_clear(producer);
	orma_base_free(producer);
}

int orma_host_producer_accepted(void *ctx, struct orma_ipc_peer *ipc)
{
	struct orma_host *host = ctx;
	struct orma_host_producer *producer = orma_base_zalloc(sizeof(*producer));
	if (!producer)
		return -ENOMEM;
	producer->peer =
		(struct orma_host_peer){.host = host, .ipc = ipc, .forget = forget_producer};
	orma_base_list_init(&producer->early);
	orma_base_list_append(&host->peers, &producer->peer.link);
	orma_ipc_peer_set_data(ipc, producer);
	return 0;
}

void orma_host_producer_closed(void *ctx, struct orma_ipc_peer *ipc, int error)
{
	(void)ctx;
	(void)error;
	struct orma_host_producer *producer = producer_of(ipc);
	if (!producer)
		return;
	if (producer->port && !orma_service_disconnect_step(producer->port)) {
		orma_ipc_peer_call_closed_again(ipc);
		orma_host_schedule(producer->peer.host);
		return;
	}
	forget_producer(&producer->peer);
}

/* --- methods: producer to service ------------------------------------------------------------- */

/* Returns the calling producer if it has called InitializeConnection, else NULL. Schedules a run,
 * because any call may change the service's next deadline. */
static struct orma_host_producer *get_caller(struct orma_ipc_peer *ipc)
{
	struct orma_host_producer *producer = producer_of(ipc);
	if (!producer || !producer->port)
		return NULL;
	orma_host_schedule(producer->peer.host);
	return producer;
}

static int reply_initialized(struct orma_host *host, struct orma_ipc_call *call,
			     bool uses_own_memory, bool is_emulated)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);
	orma_proto_write_bool(
		writer, ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER,
		uses_own_memory);
	orma_proto_write_bool(
		writer, ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED, true);
	if (is_emulated)
		orma_proto_write_bool(
			writer, ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION, true);
	return orma_host_reply_send(host, &heap, call, false);
}

static int open_port(struct orma_host_producer *producer,
		     const struct orma_pb_initialize_connection_request *request,
		     struct orma_arena *arena, int shm_fd, bool *ret_uses_own_memory)
{
	const struct orma_ipc_peer_identity *identity = orma_ipc_peer_identity(producer->peer.ipc);
	struct orma_producer_info info = {
		.struct_size = sizeof(info),
		.uid = identity->uid,
		.pid = identity->pid,
		.name = orma_base_arena_strdup(arena, request->producer_name),
		.sdk_version = orma_base_arena_strdup(arena, request->sdk_version),
		.page_size_hint_bytes = request->shared_memory_page_size_hint_bytes,
		.shm_size_hint_bytes = request->shared_memory_size_hint_bytes,
		.scraping_mode = request->smb_scraping_mode == 1   ? ORMA_SCRAPING_ENABLED
				 : request->smb_scraping_mode == 2 ? ORMA_SCRAPING_DISABLED
								   : ORMA_SCRAPING_UNSPECIFIED,
		.shm_fd = request->producer_provided_shmem ? shm_fd : -1,
		.cannot_pass_fds = identity->family != AF_UNIX,
		.machine_id = identity->machine_id,
		.machine_name = identity->machine_name[0] ? identity->machine_name : NULL,
		.is_unverified = !identity->is_trusted,
	};
	if (!info.name || !info.sdk_version)
		return -ENOMEM;
	return orma_producer_port_open(producer->peer.host->service, &info,
				       &orma_host_command_callbacks, producer, ret_uses_own_memory,
				       &producer->port);
}

static int on_initialize_connection(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				    const void *args, size_t size)
{
	struct orma_host_producer *producer = producer_of(ipc);
	struct orma_pb_initialize_connection_request *request;
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	bool uses_own_memory = false;

	if (!producer || producer->port)
		return -EPROTO;
	int shm_fd = orma_ipc_call_take_fd(call);
	int r = orma_proto_decode(&orma_pb_initialize_connection_request_desc, args, size, &arena,
				  &request);
	if (r == 0)
		r = open_port(producer, request, &arena, shm_fd, &uses_own_memory);
	orma_ipc_call_close_fd(call, shm_fd);
	if (r) {
		orma_base_log(ORMA_LOG_WARNING, "a producer was refused: %s", strerror(-r));
		return r;
	}
	orma_host_schedule(producer->peer.host);
	return reply_initialized(producer->peer.host, call, uses_own_memory,
				 orma_ipc_peer_identity(ipc)->family != AF_UNIX);
}

static int on_get_async_command(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				const void *args, size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_producer *producer = get_caller(ipc);

	if (!producer || producer->commands || !orma_ipc_call_wants_reply(call))
		return -EPROTO;
	orma_host_command_begin(producer, call);
	return 0;
}

/* RegisterDataSourceResponse.error says what was wrong. Upstream's service never fills it. */
static int reply_registered(struct orma_host *host, struct orma_ipc_call *call, int status)
{
	struct orma_proto_heap_writer heap;
	if (status == 0)
		return orma_host_reply_empty(call);
	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);
	orma_proto_write_string(writer, ORMA_PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR,
				strerror(-status));
	return orma_host_reply_send(host, &heap, call, false);
}

/* RegisterDataSource and UpdateDataSource carry one descriptor in field 1. */
static int find_descriptor(const void *args, size_t size, struct orma_str *ret)
{
	struct orma_proto_field field;
	int r = orma_proto_reader_find(
		args, size, ORMA_PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR, &field);
	if (r <= 0 || field.type != ORMA_PROTO_BYTES)
		return r < 0 ? r : -EBADMSG;
	*ret = field.bytes;
	return 0;
}

static int on_register_data_source(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				   const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	struct orma_str descriptor;
	int r = producer ? find_descriptor(args, size, &descriptor) : -EPROTO;
	if (r)
		return r;
	r = orma_producer_port_register_data_source(producer->port, descriptor.data,
						    descriptor.size);
	return reply_registered(producer->peer.host, call, r);
}

static int on_update_data_source(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				 const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	struct orma_str descriptor;
	int r = producer ? find_descriptor(args, size, &descriptor) : -EPROTO;
	if (r)
		return r;
	(void)orma_producer_port_update_data_source(producer->port, descriptor.data,
						    descriptor.size);
	return orma_host_reply_empty(call);
}

static int on_unregister_data_source(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				     const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	struct orma_proto_field field;
	if (!producer)
		return -EPROTO;
	int r = orma_proto_reader_find(
		args, size, ORMA_PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, &field);
	if (r <= 0 || field.type != ORMA_PROTO_BYTES)
		return -EBADMSG;
	ORMA_AUTO(orma_base_freep) char *name = orma_base_str_dup(field.bytes);
	if (!name)
		return -ENOMEM;
	(void)orma_producer_port_unregister_data_source(producer->port, name);
	return orma_host_reply_empty(call);
}

static int on_commit_data(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	struct orma_commit commit;
	int r = producer
			? orma_host_commit_decode(&producer->peer.host->commit, args, size, &commit)
			: -EPROTO;
	if (r)
		return r;
	if (!orma_service_commit_step(producer->port, &commit, &producer->committed))
		return ORMA_IPC_AGAIN;
	producer->committed = 0;
	return orma_host_reply_empty(call);
}

/* Reads the numbers in fields 1 and 2 of a message; a missing one is 0. */
static int read_two(const void *args, size_t size, uint64_t ret[2])
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;
	ret[0] = ret[1] = 0;
	orma_proto_reader_init(&reader, args, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		if ((field.id == 1 || field.id == 2) && field.type == ORMA_PROTO_VARINT)
			ret[field.id - 1] = field.value;
	return r;
}

static int on_register_trace_writer(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				    const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	uint64_t numbers[2]; /* trace_writer_id, target_buffer */
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_register_writer(producer->port, (uint32_t)numbers[0],
					   (uint32_t)numbers[1]);
	return orma_host_reply_empty(call);
}

static int on_unregister_trace_writer(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				      const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	uint64_t numbers[2];
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_unregister_writer(producer->port, (uint32_t)numbers[0]);
	return orma_host_reply_empty(call);
}

static int on_notify_started(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	uint64_t numbers[2];
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_data_source_started(producer->port, numbers[0]);
	return orma_host_reply_empty(call);
}

static int on_notify_stopped(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	uint64_t numbers[2];
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_data_source_stopped(producer->port, numbers[0]);
	return orma_host_reply_empty(call);
}

/* Replies for each name with the number of sessions that wait for it, so that the caller notices a
 * misspelt name. */
static int reply_activated(struct orma_host_producer *producer, struct orma_ipc_call *call,
			   const char *const *names, size_t count)
{
	struct orma_host *host = producer->peer.host;
	struct orma_proto_heap_writer heap;

	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);
	for (size_t i = 0; i < ORMA_MIN(count, (size_t)ORMA_SERVICE_TRIGGERS_PER_CALL); i++)
		orma_proto_write_varint(
			writer, ORMA_PB_ACTIVATE_TRIGGERS_RESPONSE_WAITING_SESSION_COUNTS,
			orma_service_trigger_count_waiting(producer->port, names[i]));
	return orma_host_reply_send(host, &heap, call, false);
}

static int on_activate_triggers(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				const void *args, size_t size)
{
	struct orma_host_producer *producer = get_caller(ipc);
	struct orma_pb_activate_triggers_request *request;
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	if (!producer)
		return -EPROTO;
	int r = orma_proto_decode(&orma_pb_activate_triggers_request_desc, args, size, &arena,
				  &request);
	if (r)
		return r;
	const char **names =
		orma_base_arena_alloc(&arena, (request->trigger_names.count + 1) * sizeof(*names));
	for (size_t i = 0; names && i < request->trigger_names.count; i++)
		if (!(names[i] = orma_base_arena_strdup(&arena, request->trigger_names.items[i])))
			return -ENOMEM;
	if (!names)
		return -ENOMEM;
	/* Triggers take effect later, so the same sessions still wait when the reply counts
	 * them. */
	orma_producer_port_activate_triggers(producer->port, names, request->trigger_names.count);
	return reply_activated(producer, call, names, request->trigger_names.count);
}

/* A fence: its reply follows the effect of every earlier call. */
static int on_sync(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	(void)args;
	(void)size;
	return get_caller(ipc) ? orma_host_reply_empty(call) : -EPROTO;
}

static const struct orma_ipc_method methods[] = {
	{"InitializeConnection", on_initialize_connection},
	{"RegisterDataSource", on_register_data_source},
	{"UnregisterDataSource", on_unregister_data_source},
	{"CommitData", on_commit_data},
	{"GetAsyncCommand", on_get_async_command},
	{"RegisterTraceWriter", on_register_trace_writer},
	{"UnregisterTraceWriter", on_unregister_trace_writer},
	{"NotifyDataSourceStarted", on_notify_started},
	{"NotifyDataSourceStopped", on_notify_stopped},
	{"ActivateTriggers", on_activate_triggers},
	{"Sync", on_sync},
	{"UpdateDataSource", on_update_data_source},
};

const struct orma_ipc_service orma_host_producer_service = {
	.name = "ProducerPort",
	.methods = methods,
	.method_count = ORMA_ARRAY_SIZE(methods),
};
