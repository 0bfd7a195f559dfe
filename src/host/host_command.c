/* SPDX-License-Identifier: Apache-2.0
 * host_command.c - commands: the callbacks of a producer's port become replies to the producer's
 * GetAsyncCommand call.
 *
 * Commands that the service gives before the producer has made that call wait in a bounded list, in
 * order. Each keeps its own descriptor of the shared memory, if it carries one.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "host/host_producer.h"
#include "ipc/frame.h"
#include "proto/writer.h"
#include "schema/gen/producer_port.pb.h"
#include "service/service_limits.h"

/* Limits on the commands that wait for GetAsyncCommand. */
#define EARLY_COMMANDS_MAX 256
#define EARLY_BYTES_MAX    ((size_t)1 << 20)

struct early_command {
	struct orma_list link;
	int fd; /* owned, or -1 */
	size_t size;
	uint8_t data[];
};

static void free_early(struct orma_host_producer *producer, struct early_command *command)
{
	ORMA_ASSERT(producer->early_count > 0 && producer->early_bytes >= command->size);
	orma_base_list_remove(&command->link);
	orma_base_fd_close(command->fd);
	producer->early_count--;
	producer->early_bytes -= command->size;
	orma_base_free(command);
}

void orma_host_command_clear(struct orma_host_producer *producer)
{
	struct early_command *command, *next;

	ORMA_LIST_FOR_EACH_SAFE (command, next, &producer->early, link)
		free_early(producer, command);
	ORMA_ASSERT(producer->early_count == 0 && producer->early_bytes == 0);
}

static int queue_early(struct orma_host_producer *producer, const struct orma_buf *command, int fd)
{
	ORMA_ASSERT(!producer->commands);
	if (producer->early_count >= EARLY_COMMANDS_MAX ||
	    command->size > EARLY_BYTES_MAX - producer->early_bytes)
		return -ENOBUFS;
	struct early_command *early = orma_base_alloc(sizeof(*early) + command->size);
	if (!early)
		return -ENOMEM;
	early->fd = -1;
	if (fd >= 0 && (early->fd = orma_base_fd_duplicate(fd)) < 0) {
		int r = early->fd;
		orma_base_free(early);
		return r;
	}
	early->size = command->size;
	memcpy(early->data, command->data, command->size);
	orma_base_list_append(&producer->early, &early->link);
	producer->early_count++;
	producer->early_bytes += early->size;
	return 0;
}

/* Returns 0 also when the command is too large for a frame, such as a flush of very many instances;
 * the flush then times out. */
static int reply_command(struct orma_host_producer *producer, const void *command, size_t size,
			 int fd)
{
	int r = orma_ipc_call_reply(producer->commands, command, size, true, fd);

	if (r != -EMSGSIZE)
		return r;
	orma_base_log(ORMA_LOG_WARNING, "a command of %zu bytes does not fit into a frame", size);
	return 0;
}

/* Sends the command in the host's scratch buffer. A producer that cannot be given a command is
 * dropped, because it would go on as if the command had not been given. */
static void send_command(struct orma_host_producer *producer, int encode_r, int fd)
{
	struct orma_buf *command = &producer->peer.host->scratch;
	int r = encode_r;
	if (r == 0 && producer->commands)
		r = reply_command(producer, command->data, command->size, fd);
	else if (r == 0)
		r = queue_early(producer, command, fd);
	if (r && r != -ECONNRESET)
		orma_ipc_peer_close(producer->peer.ipc, r);
}

static struct orma_proto_writer *begin_command(struct orma_host_producer *producer,
					       struct orma_proto_heap_writer *heap)
{
	producer->peer.host->scratch.size = 0;
	orma_proto_heap_writer_init(heap, &producer->peer.host->scratch);
	return &heap->writer;
}

void orma_host_command_begin(struct orma_host_producer *producer, struct orma_ipc_call *call)
{
	struct early_command *command;

	ORMA_ASSERT(!producer->commands);
	producer->commands = call;
	/* While the connection is ending, sending fails; the commands are dropped then. */
	ORMA_LIST_FOR_EACH (command, &producer->early, link)
		(void)reply_command(producer, command->data, command->size, command->fd);
	orma_host_command_clear(producer);
}

static void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	struct orma_host_producer *producer = ctx;
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
static void send_instance_command(struct orma_host_producer *producer, uint32_t field_id,
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
	struct orma_host_producer *producer = ctx;
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

/* A command that names all instances of a session fits a frame: an id takes nine bytes at most for
 * the next million years, and its tag one. */
_Static_assert(ORMA_SERVICE_INSTANCES_PER_SESSION * 10 + 64 <= ORMA_IPC_BODY_BYTES_MAX,
	       "flushes and clears of the largest session fit a frame");

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		     uint64_t flags)
{
	struct orma_host_producer *producer = ctx;
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
	struct orma_host_producer *producer = ctx;
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

const struct orma_producer_callbacks orma_host_command_callbacks = {
	.struct_size = sizeof(orma_host_command_callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup_data_source,
	.start_data_source = on_start_data_source,
	.stop_data_source = on_stop_data_source,
	.flush = on_flush,
	.clear_incremental_state = on_clear_incremental_state,
};
