/* SPDX-License-Identifier: Apache-2.0
 * host_producer.c - ProducerPort: each method decodes its arguments and calls the producer's port;
 * the port's callbacks become replies on the peer's GetAsyncCommand call.
 *
 * Commands that the service gives before the peer has asked for the stream wait in a bounded list,
 * in order, with the descriptor of the shared memory beside the one that carries it. CommitData is
 * the hot call: it is decoded by hand into arrays that keep their capacity between calls. All
 * producers share them, as one call is handled at a time and each could make them large. A commit
 * that takes more than its turn is decoded anew for each step: what is remembered is one number.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "host/host_state.h"
#include "ipc/frame.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/producer_port.pb.h"
#include "service/limits.h"
#include "service/steps.h"
#include "service/trigger/trigger_activate.h"

/* Commands that wait for GetAsyncCommand. */
#define EARLY_COMMANDS_MAX 256
#define EARLY_BYTES_MAX    ((size_t)1 << 20)

struct early_command {
	struct orma_list link;
	int fd; /* owned, or -1 */
	size_t size;
	uint8_t data[];
};

struct host_producer {
	struct orma_host_peer peer;      /* first */
	struct orma_producer_port *port; /* NULL before InitializeConnection */
	struct orma_ipc_call *commands;  /* the GetAsyncCommand call; NULL before it */
	struct orma_list early;          /* struct early_command */
	size_t early_count, early_bytes;
	size_t committed; /* entries of the CommitData call that is under way */
};

static struct host_producer *producer_of(struct orma_ipc_peer *ipc)
{
	return orma_ipc_peer_data(ipc);
}

static void free_early(struct host_producer *producer, struct early_command *command)
{
	orma_base_list_remove(&command->link);
	orma_base_fd_close(command->fd);
	producer->early_count--;
	producer->early_bytes -= command->size;
	orma_base_free(command);
}

static void forget_producer(struct orma_host_peer *peer)
{
	struct host_producer *producer = (struct host_producer *)peer;
	struct early_command *command, *next;

	orma_base_list_remove(&peer->link);
	orma_ipc_peer_set_data(peer->ipc, NULL);
	if (producer->port)
		orma_producer_port_close(producer->port);
	orma_relay_port_close(peer->relay);
	orma_host_kick(peer->host);
	ORMA_LIST_FOR_EACH_SAFE (command, next, &producer->early, link)
		free_early(producer, command);
	orma_base_free(producer);
}

int orma_host_producer_accepted(void *ctx, struct orma_ipc_peer *ipc)
{
	struct orma_host *host = ctx;
	struct host_producer *producer = orma_base_zalloc(sizeof(*producer));
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
	struct host_producer *producer = producer_of(ipc);
	if (!producer)
		return;
	if (producer->port && !orma_service_disconnect_step(producer->port)) {
		orma_ipc_peer_call_closed_again(ipc);
		orma_host_kick(producer->peer.host);
		return;
	}
	forget_producer(&producer->peer);
}

/* --- commands: service to producer ------------------------------------------------------------ */

static int queue_early(struct host_producer *producer, const struct orma_buf *command, int fd)
{
	if (producer->early_count >= EARLY_COMMANDS_MAX ||
	    command->size > EARLY_BYTES_MAX - producer->early_bytes)
		return -ENOBUFS;
	struct early_command *early = orma_base_alloc(sizeof(*early) + command->size);
	if (!early)
		return -ENOMEM;
	early->fd = -1;
	if (fd >= 0 && (early->fd = orma_base_fd_duplicate(fd)) < 0) {
		int error = early->fd;
		orma_base_free(early);
		return error;
	}
	early->size = command->size;
	memcpy(early->data, command->data, command->size);
	orma_base_list_append(&producer->early, &early->link);
	producer->early_count++;
	producer->early_bytes += early->size;
	return 0;
}

/* 0 also when the command is too large for a frame: a flush of more instances than that holds, which
 * then times out. */
static int reply_command(struct host_producer *producer, const void *command, size_t size, int fd)
{
	int result = orma_ipc_call_reply(producer->commands, command, size, true, fd);

	if (result != -EMSGSIZE)
		return result;
	orma_base_log(ORMA_LOG_WARNING, "a command of %zu bytes does not fit into a frame", size);
	return 0;
}

/* Sends what is in the host's scratch buffer; a peer that cannot be told is dropped, for it would
 * go on unaware. */
static void send_command(struct host_producer *producer, int encode_result, int fd)
{
	struct orma_buf *command = &producer->peer.host->scratch;
	int result = encode_result;
	if (result == 0 && producer->commands)
		result = reply_command(producer, command->data, command->size, fd);
	else if (result == 0)
		result = queue_early(producer, command, fd);
	if (result && result != -ECONNRESET)
		orma_ipc_peer_close(producer->peer.ipc, result);
}

static struct orma_proto_writer *begin_command(struct host_producer *producer,
					       struct orma_proto_heap_writer *heap)
{
	producer->peer.host->scratch.size = 0;
	orma_proto_heap_writer_init(heap, &producer->peer.host->scratch);
	return &heap->writer;
}

static void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	struct host_producer *producer = ctx;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct orma_proto_writer *writer = begin_command(producer, &heap);

	orma_proto_nested_begin(writer, &nested, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING);
	orma_proto_write_varint(
		writer, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING_SHARED_BUFFER_PAGE_SIZE_KB,
		memory->page_size_bytes / 1024);
	orma_proto_nested_end(writer, &nested);
	send_command(producer, orma_proto_heap_writer_finish(&heap), memory->fd);
}

/* setup_data_source and start_data_source have the same two fields. */
static void send_instance_command(struct host_producer *producer, uint32_t field_id,
				  uint64_t instance_id, const void *config, size_t size)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct orma_proto_writer *writer = begin_command(producer, &heap);

	orma_proto_nested_begin(writer, &nested, field_id);
	orma_proto_write_varint(
		writer, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE_NEW_INSTANCE_ID,
		instance_id);
	orma_proto_write_bytes(writer, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE_CONFIG,
			       config, size);
	orma_proto_nested_end(writer, &nested);
	send_command(producer, orma_proto_heap_writer_finish(&heap), -1);
}

static void on_setup_data_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	send_instance_command(ctx, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE,
			      instance_id, config, size);
}

static void on_start_data_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	send_instance_command(ctx, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE,
			      instance_id, config, size);
}

static void on_stop_data_source(void *ctx, uint64_t instance_id)
{
	struct host_producer *producer = ctx;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct orma_proto_writer *writer = begin_command(producer, &heap);

	orma_proto_nested_begin(writer, &nested,
				ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE);
	orma_proto_write_varint(writer,
				ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE_INSTANCE_ID,
				instance_id);
	orma_proto_nested_end(writer, &nested);
	send_command(producer, orma_proto_heap_writer_finish(&heap), -1);
}

/* A command that names all instances of a session fits a frame: ids take nine bytes for the next
 * million years. */
_Static_assert(ORMA_SERVICE_INSTANCES_PER_SESSION * 10 + 64 <= ORMA_IPC_BODY_BYTES_MAX,
	       "flushes and clears of the largest session fit a frame");

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		     uint64_t flags)
{
	struct host_producer *producer = ctx;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct orma_proto_writer *writer = begin_command(producer, &heap);

	orma_proto_nested_begin(writer, &nested, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH);
	for (size_t i = 0; i < count; i++)
		orma_proto_write_varint(writer,
					ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH_DATA_SOURCE_IDS,
					instance_ids[i]);
	orma_proto_write_varint(writer, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH_REQUEST_ID,
				request_id);
	orma_proto_write_varint(writer, ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH_FLAGS, flags);
	orma_proto_nested_end(writer, &nested);
	send_command(producer, orma_proto_heap_writer_finish(&heap), -1);
}

static void on_clear_incremental_state(void *ctx, const uint64_t *instance_ids, size_t count)
{
	struct host_producer *producer = ctx;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct orma_proto_writer *writer = begin_command(producer, &heap);

	orma_proto_nested_begin(writer, &nested,
				ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE);
	for (size_t i = 0; i < count; i++)
		orma_proto_write_varint(
			writer,
			ORMA_PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE_DATA_SOURCE_IDS,
			instance_ids[i]);
	orma_proto_nested_end(writer, &nested);
	send_command(producer, orma_proto_heap_writer_finish(&heap), -1);
}

static const struct orma_producer_callbacks callbacks = {
	.struct_size = sizeof(callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup_data_source,
	.start_data_source = on_start_data_source,
	.stop_data_source = on_stop_data_source,
	.flush = on_flush,
	.clear_incremental_state = on_clear_incremental_state,
};

/* --- methods: producer to service ------------------------------------------------------------- */

/* The calling peer, when it has introduced itself; every call wakes the service's clockwork. */
static struct host_producer *get_caller(struct orma_ipc_peer *ipc)
{
	struct host_producer *producer = producer_of(ipc);
	if (!producer || !producer->port)
		return NULL;
	orma_host_kick(producer->peer.host);
	return producer;
}

static int reply_empty(struct orma_ipc_call *call)
{
	return orma_ipc_call_reply(call, NULL, 0, false, -1);
}

static int reply_initialized(struct orma_host *host, struct orma_ipc_call *call,
			     bool uses_own_memory, bool is_emulated)
{
	struct orma_proto_heap_writer heap;
	host->scratch.size = 0;
	orma_proto_heap_writer_init(&heap, &host->scratch);
	orma_proto_write_bool(
		&heap.writer,
		ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER,
		uses_own_memory);
	orma_proto_write_bool(&heap.writer,
			      ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED,
			      true);
	if (is_emulated)
		orma_proto_write_bool(&heap.writer,
				      ORMA_PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION,
				      true);
	int result = orma_proto_heap_writer_finish(&heap);
	return result ? result
		      : orma_ipc_call_reply(call, host->scratch.data, host->scratch.size, false,
					    -1);
}

static int open_port(struct host_producer *producer,
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
	return orma_producer_port_open(producer->peer.host->service, &info, &callbacks, producer,
				       ret_uses_own_memory, &producer->port);
}

static int on_initialize_connection(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				    const void *args, size_t size)
{
	struct host_producer *producer = producer_of(ipc);
	struct orma_pb_initialize_connection_request *request;
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	bool uses_own_memory = false;

	if (!producer || producer->port)
		return -EPROTO;
	int shm_fd = orma_ipc_call_take_fd(call);
	int result = orma_proto_decode(&orma_pb_initialize_connection_request_desc, args, size,
				       &arena, &request);
	if (result == 0)
		result = open_port(producer, request, &arena, shm_fd, &uses_own_memory);
	orma_ipc_call_close_fd(call, shm_fd);
	if (result) {
		orma_base_log(ORMA_LOG_WARNING, "a producer was refused: %s", strerror(-result));
		return result;
	}
	orma_host_kick(producer->peer.host);
	return reply_initialized(producer->peer.host, call, uses_own_memory,
				 orma_ipc_peer_identity(ipc)->family != AF_UNIX);
}

static int on_get_async_command(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				const void *args, size_t size)
{
	(void)args;
	(void)size;
	struct host_producer *producer = get_caller(ipc);
	struct early_command *command, *next;

	if (!producer || producer->commands || !orma_ipc_call_wants_reply(call))
		return -EPROTO;
	producer->commands = call;
	ORMA_LIST_FOR_EACH_SAFE (command, next, &producer->early, link) {
		/* A connection that is ending takes all of them. */
		(void)reply_command(producer, command->data, command->size, command->fd);
		free_early(producer, command);
	}
	return 0;
}

/* RegisterDataSourceResponse.error says what was wrong; upstream never fills it, clients that read
 * it learn more. */
static int reply_registered(struct orma_host *host, struct orma_ipc_call *call, int status)
{
	struct orma_proto_heap_writer heap;
	if (status == 0)
		return reply_empty(call);
	host->scratch.size = 0;
	orma_proto_heap_writer_init(&heap, &host->scratch);
	orma_proto_write_string(&heap.writer, ORMA_PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR,
				strerror(-status));
	int result = orma_proto_heap_writer_finish(&heap);
	return result ? result
		      : orma_ipc_call_reply(call, host->scratch.data, host->scratch.size, false,
					    -1);
}

/* RegisterDataSource and UpdateDataSource carry one descriptor in field 1. */
static int find_descriptor(const void *args, size_t size, struct orma_str *ret)
{
	struct orma_proto_field field;
	int result = orma_proto_reader_find(
		args, size, ORMA_PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR, &field);
	if (result <= 0 || field.type != ORMA_PROTO_BYTES)
		return result < 0 ? result : -EBADMSG;
	*ret = field.bytes;
	return 0;
}

static int on_register_data_source(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				   const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	struct orma_str descriptor;
	int result = producer ? find_descriptor(args, size, &descriptor) : -EPROTO;
	if (result)
		return result;
	result = orma_producer_port_register_data_source(producer->port, descriptor.data,
							 descriptor.size);
	return reply_registered(producer->peer.host, call, result);
}

static int on_update_data_source(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				 const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	struct orma_str descriptor;
	int result = producer ? find_descriptor(args, size, &descriptor) : -EPROTO;
	if (result)
		return result;
	(void)orma_producer_port_update_data_source(producer->port, descriptor.data,
						    descriptor.size);
	return reply_empty(call);
}

static int on_unregister_data_source(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				     const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	struct orma_proto_field field;
	if (!producer)
		return -EPROTO;
	int result = orma_proto_reader_find(
		args, size, ORMA_PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, &field);
	if (result <= 0 || field.type != ORMA_PROTO_BYTES)
		return -EBADMSG;
	ORMA_AUTO(orma_base_freep) char *name = orma_base_str_dup(field.bytes);
	if (!name)
		return -ENOMEM;
	(void)orma_producer_port_unregister_data_source(producer->port, name);
	return reply_empty(call);
}

static int on_commit_data(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	struct orma_commit commit;
	int result = producer ? orma_host_commit_decode(&producer->peer.host->commit, args, size,
							&commit)
			      : -EPROTO;
	if (result)
		return result;
	if (!orma_service_commit_step(producer->port, &commit, &producer->committed))
		return ORMA_IPC_AGAIN;
	producer->committed = 0;
	return reply_empty(call);
}

/* Up to two numbers of a small message, by field ids 1 and 2. */
static int read_two(const void *args, size_t size, uint64_t ret[2])
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int result;
	ret[0] = ret[1] = 0;
	orma_proto_reader_init(&reader, args, size);
	while ((result = orma_proto_reader_next(&reader, &field)) > 0)
		if ((field.id == 1 || field.id == 2) && field.type == ORMA_PROTO_VARINT)
			ret[field.id - 1] = field.value;
	return result;
}

static int on_register_trace_writer(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				    const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	uint64_t numbers[2]; /* trace_writer_id, target_buffer */
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_register_writer(producer->port, (uint32_t)numbers[0],
					   (uint32_t)numbers[1]);
	return reply_empty(call);
}

static int on_unregister_trace_writer(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				      const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	uint64_t numbers[2];
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_unregister_writer(producer->port, (uint32_t)numbers[0]);
	return reply_empty(call);
}

static int on_notify_started(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	uint64_t numbers[2];
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_data_source_started(producer->port, numbers[0]);
	return reply_empty(call);
}

static int on_notify_stopped(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	uint64_t numbers[2];
	if (!producer || read_two(args, size, numbers))
		return -EPROTO;
	orma_producer_port_data_source_stopped(producer->port, numbers[0]);
	return reply_empty(call);
}

/* Tells for each name how many sessions wait for it, so that a misspelt one is noticed. */
static int reply_activated(struct host_producer *producer, struct orma_ipc_call *call,
			   const char *const *names, size_t count)
{
	struct orma_host *host = producer->peer.host;
	struct orma_proto_heap_writer heap;

	host->scratch.size = 0;
	orma_proto_heap_writer_init(&heap, &host->scratch);
	for (size_t i = 0; i < ORMA_MIN(count, (size_t)ORMA_SERVICE_TRIGGERS_PER_CALL); i++)
		orma_proto_write_varint(
			&heap.writer, ORMA_PB_ACTIVATE_TRIGGERS_RESPONSE_WAITING_SESSION_COUNTS,
			orma_service_trigger_count_waiting(producer->port, names[i]));
	int result = orma_proto_heap_writer_finish(&heap);
	return result ? result
		      : orma_ipc_call_reply(call, host->scratch.data, host->scratch.size, false,
					    -1);
}

static int on_activate_triggers(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				const void *args, size_t size)
{
	struct host_producer *producer = get_caller(ipc);
	struct orma_pb_activate_triggers_request *request;
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	if (!producer)
		return -EPROTO;
	int result = orma_proto_decode(&orma_pb_activate_triggers_request_desc, args, size, &arena,
				       &request);
	if (result)
		return result;
	const char **names =
		orma_base_arena_alloc(&arena, (request->trigger_names.count + 1) * sizeof(*names));
	for (size_t i = 0; names && i < request->trigger_names.count; i++)
		if (!(names[i] = orma_base_arena_strdup(&arena, request->trigger_names.items[i])))
			return -ENOMEM;
	if (!names)
		return -ENOMEM;
	/* What a trigger leads to happens later, so the same sessions still wait afterwards. */
	orma_producer_port_activate_triggers(producer->port, names, request->trigger_names.count);
	return reply_activated(producer, call, names, request->trigger_names.count);
}

/* A fence: its reply follows everything that was called before. */
static int on_sync(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	(void)args;
	(void)size;
	return get_caller(ipc) ? reply_empty(call) : -EPROTO;
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
