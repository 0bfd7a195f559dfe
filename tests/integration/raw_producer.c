/* SPDX-License-Identifier: Apache-2.0
 * raw_producer.c - the producer's half of the protocol in the order in which a test asks for it.
 *
 * Nothing happens implicitly: commands wait in the socket until the test reads them, and only
 * the test acknowledges flushes and stops. Rejected: the arbiter and writer of src/shm (they
 * cannot write a wrong header).
 */
#include "raw_producer.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "harness.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/commit_data.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/producer_port.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"

void orma_raw_producer_connect(struct orma_raw_producer *producer, const char *path)
{
	*producer = (struct orma_raw_producer){.shm_fd = -1};
	orma_raw_connect(&producer->client, path);
	orma_raw_bind(&producer->client, "ProducerPort");
}

void orma_raw_producer_connect_tcp(struct orma_raw_producer *producer, uint16_t port)
{
	*producer = (struct orma_raw_producer){.shm_fd = -1};
	orma_raw_connect_tcp(&producer->client, port);
	orma_raw_bind(&producer->client, "ProducerPort");
}

static void map_memory(struct orma_raw_producer *producer, int fd)
{
	struct stat st;

	CHECK_INT(fstat(fd, &st), 0);
	producer->shm_bytes = (size_t)st.st_size;
	producer->shm = mmap(NULL, producer->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(producer->shm != MAP_FAILED);
}

struct orma_raw_frame *orma_raw_producer_initialize(struct orma_raw_producer *producer,
						    const char *args, int shm_fd)
{
	struct orma_raw_client *client = &producer->client;
	struct orma_str bytes =
		orma_raw_text(client, &orma_pb_initialize_connection_request_desc, "%s", args);
	struct orma_raw_frame *frame = orma_raw_await(
		client, orma_raw_invoke(client, "InitializeConnection", bytes, shm_fd, 0));
	struct orma_pb_initialize_connection_response *response;

	CHECK_INT(frame->kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	if (!frame->success)
		return frame;
	orma_raw_decode(client, &orma_pb_initialize_connection_response_desc, frame, &response);
	producer->uses_own_memory = response->using_shmem_provided_by_producer;
	producer->is_emulated = response->use_shmem_emulation;
	if (producer->uses_own_memory)
		map_memory(producer, shm_fd);
	return frame;
}

void orma_raw_producer_listen(struct orma_raw_producer *producer)
{
	producer->commands_id =
		orma_raw_invoke(&producer->client, "GetAsyncCommand", ORMA_STR(""), -1, 0);
	CHECK(producer->commands_id != 0);
}

void orma_raw_producer_open(struct orma_raw_producer *producer, const char *path, const char *name)
{
	char args[128];

	orma_raw_producer_connect(producer, path);
	snprintf(args, sizeof(args),
		 "producer_name: \"%s\" smb_scraping_mode: SMB_SCRAPING_ENABLED", name);
	CHECK(orma_raw_producer_initialize(producer, args, -1)->success);
	orma_raw_producer_listen(producer);
}

void orma_raw_producer_close(struct orma_raw_producer *producer)
{
	if (producer->shm)
		munmap(producer->shm, producer->shm_bytes);
	producer->shm = NULL;
	producer->shm_fd = orma_base_fd_close(producer->shm_fd);
	orma_raw_close(&producer->client);
}

void orma_raw_producer_register(struct orma_raw_producer *producer, const char *descriptor)
{
	struct orma_raw_client *client = &producer->client;
	struct orma_pb_register_data_source_response *response;
	struct orma_str args = orma_raw_text(client, &orma_pb_register_data_source_request_desc,
					     "data_source_descriptor { %s }", descriptor);

	orma_raw_decode(client, &orma_pb_register_data_source_response_desc,
			orma_raw_call(client, "RegisterDataSource", args), &response);
	if (response->error.size > 0)
		orma_test_fail(__FILE__, __LINE__, "RegisterDataSource: %.*s",
			       (int)response->error.size, response->error.data);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Only the first ORMA_RAW_INSTANCES_MAX instances are recorded. */
static void note(struct orma_raw_producer *producer, uint64_t id, bool is_stopped)
{
	for (size_t i = 0; i < producer->instance_count; i++) {
		if (producer->instances[i].id != id)
			continue;
		*(is_stopped ? &producer->instances[i].is_stopped
			     : &producer->instances[i].is_started) = true;
		return;
	}
	if (producer->instance_count < ORMA_RAW_INSTANCES_MAX)
		orma_test_fail(__FILE__, __LINE__,
			       "a command about an instance that was not set up");
}

static void note_setup(struct orma_raw_producer *producer,
		       const struct orma_pb_get_async_command_response_setup_data_source *setup)
{
	CHECK(producer->shm || producer->is_emulated);
	if (producer->instance_count == ORMA_RAW_INSTANCES_MAX)
		return;
	struct orma_raw_instance *instance = &producer->instances[producer->instance_count++];

	*instance = (struct orma_raw_instance){.id = setup->new_instance_id};
	if (!setup->config)
		return;
	snprintf(instance->name, sizeof(instance->name), "%.*s", (int)setup->config->name.size,
		 setup->config->name.data);
	instance->target_buffer = setup->config->target_buffer;
}

const struct orma_pb_get_async_command_response *
orma_raw_producer_command(struct orma_raw_producer *producer)
{
	struct orma_raw_frame *frame = orma_raw_await(&producer->client, producer->commands_id);
	struct orma_pb_get_async_command_response *command;

	orma_raw_decode(&producer->client, &orma_pb_get_async_command_response_desc, frame,
			&command);
	CHECK(frame->has_more);
	if (command->setup_tracing) {
		producer->page_bytes = command->setup_tracing->shared_buffer_page_size_kb * 1024;
		if (frame->fd >= 0)
			map_memory(producer, producer->shm_fd = frame->fd);
	}
	if (command->setup_data_source)
		note_setup(producer, command->setup_data_source);
	if (command->start_data_source)
		note(producer, command->start_data_source->new_instance_id, false);
	if (command->stop_data_source)
		note(producer, command->stop_data_source->instance_id, true);
	if (command->flush)
		producer->flush_request_id = command->flush->request_id;
	return command;
}

struct orma_raw_instance *orma_raw_producer_await_start(struct orma_raw_producer *producer,
							const char *name)
{
	for (;;) {
		for (size_t i = 0; i < producer->instance_count; i++) {
			struct orma_raw_instance *instance = &producer->instances[i];
			if (strcmp(instance->name, name) == 0 && instance->is_started &&
			    !instance->is_stopped)
				return instance;
		}
		orma_raw_producer_command(producer);
	}
}

void orma_raw_producer_await_stop(struct orma_raw_producer *producer, const char *name)
{
	struct orma_raw_instance *instance = orma_raw_producer_await_start(producer, name);

	while (!instance->is_stopped)
		orma_raw_producer_command(producer);
}

uint64_t orma_raw_producer_await_flush(struct orma_raw_producer *producer)
{
	while (!orma_raw_producer_command(producer)->flush)
		;
	return producer->flush_request_id;
}

void orma_raw_producer_sync(struct orma_raw_producer *producer)
{
	CHECK(orma_raw_call(&producer->client, "Sync", ORMA_STR(""))->success);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static uint8_t *page_at(struct orma_raw_producer *producer, uint32_t page_idx)
{
	uint32_t page_bytes =
		producer->page_bytes ? producer->page_bytes : ORMA_SHM_PAGE_BYTES_DEFAULT;

	CHECK(producer->shm && (size_t)(page_idx + 1) * page_bytes <= producer->shm_bytes);
	return producer->shm + (size_t)page_idx * page_bytes;
}

void orma_raw_producer_write(struct orma_raw_producer *producer, const struct orma_raw_chunk *chunk)
{
	uint8_t *page = page_at(producer, chunk->page_idx);
	uint32_t layout = chunk->layout ? chunk->layout : ORMA_SHM_LAYOUT_1;
	uint32_t state = chunk->state ? chunk->state : ORMA_SHM_COMPLETE;
	uint32_t chunk_bytes = orma_shm_layout_chunk_bytes(
		layout, producer->page_bytes ? producer->page_bytes : ORMA_SHM_PAGE_BYTES_DEFAULT);
	uint8_t *at = page + 8 + (size_t)chunk->chunk_idx * chunk_bytes;
	uint16_t packets = (uint16_t)(chunk->flags << ORMA_SHM_FLAGS_SHIFT | chunk->fragment_count);
	uint32_t *word = (uint32_t *)(void *)page;

	CHECK(8 + chunk->payload.size <= chunk_bytes);
	memcpy(at, &chunk->chunk_id, 4);
	memcpy(at + 4, &chunk->writer_id, 2);
	memcpy(at + 6, &packets, 2);
	if (chunk->payload.size > 0)
		memcpy(at + 8, chunk->payload.data, chunk->payload.size);
	/* Release: pairs with the service's acquire when it takes the chunk. */
	uint32_t value = __atomic_load_n(word, __ATOMIC_RELAXED) &
			 ~(ORMA_SHM_STATE_MASK << 2 * chunk->chunk_idx);
	__atomic_store_n(word,
			 (value & ORMA_SHM_STATES_MASK) | layout << ORMA_SHM_LAYOUT_SHIFT |
				 state << 2 * chunk->chunk_idx,
			 __ATOMIC_RELEASE);
}

void orma_raw_producer_commit(struct orma_raw_producer *producer, const char *format, ...)
{
	struct orma_raw_client *client = &producer->client;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	va_list args;

	va_start(args, format);
	CHECK_INT(orma_base_buf_vprintf(&text, format, args), 0);
	va_end(args);
	struct orma_str bytes = orma_raw_text(client, &orma_pb_commit_data_request_desc, "%.*s",
					      (int)text.size, (const char *)text.data);
	orma_raw_invoke(client, "CommitData", bytes, -1, ORMA_RAW_DROP_REPLY);
}

void orma_raw_producer_commit_bytes(struct orma_raw_producer *producer, struct orma_str chunk,
				    uint32_t target_buffer, bool is_incomplete)
{
	struct orma_raw_client *client = &producer->client;
	struct orma_pb_commit_data_request *request =
		orma_pb_commit_data_request_new(&client->arena);
	struct orma_pb_commit_data_request_chunks_to_move *move =
		orma_pb_commit_data_request_add_chunks_to_move(request, &client->arena);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};

	CHECK(move);
	orma_pb_commit_data_request_chunks_to_move_set_target_buffer(move, target_buffer);
	orma_pb_commit_data_request_chunks_to_move_set_data(move, chunk);
	orma_pb_commit_data_request_chunks_to_move_set_chunk_incomplete(move, is_incomplete);
	CHECK_INT(orma_proto_encode(request, &bytes), 0);
	CHECK(orma_raw_call(client, "CommitData",
			    (struct orma_str){(const char *)bytes.data, bytes.size})
		      ->success);
}

void orma_raw_producer_write_and_commit(struct orma_raw_producer *producer,
					const struct orma_raw_chunk *chunk, uint32_t target_buffer)
{
	orma_raw_producer_write(producer, chunk);
	orma_raw_producer_commit(producer,
				 "chunks_to_move { page: %u chunk: %u target_buffer: %u }",
				 chunk->page_idx, chunk->chunk_idx, target_buffer);
}

void orma_raw_fragment(struct orma_buf *payload, const void *data, size_t size)
{
	uint8_t varint[ORMA_PROTO_VARINT_MAX];
	size_t length = (size_t)(orma_proto_put_varint(varint, size) - varint);

	CHECK_INT(orma_base_buf_append(payload, varint, length), 0);
	CHECK_INT(orma_base_buf_append(payload, data, size), 0);
}

void orma_raw_test_packet(struct orma_buf *payload, const char *format, ...)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packet = {0}, text = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	va_list args;

	va_start(args, format);
	CHECK_INT(orma_base_buf_vprintf(&text, format, args), 0);
	va_end(args);
	orma_proto_heap_writer_init(&heap, &packet);
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_TRACE_PACKET_FOR_TESTING);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_TEST_EVENT_STR, text.data, text.size);
	orma_proto_nested_end(&heap.writer, &nested);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	orma_raw_fragment(payload, packet.data, packet.size);
}
