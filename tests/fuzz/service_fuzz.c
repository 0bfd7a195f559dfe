/* SPDX-License-Identifier: Apache-2.0
 * service_fuzz.c - calls of the service's ports in any order, with any arguments and any clock.
 *
 * The input is a program: one byte for a step, the bytes after it for its arguments. Three producers
 * (one without descriptor passing), three relays and three consumers connect and disconnect. Configs
 * are one of a few valid ones or bytes of the input. Bytes of the input are written into the shared
 * memory. Files fill up and fail. After each step the output of the service is read and checked: a
 * packet must end, and there must be no deadline when there is no session.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/service.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"

#define PEERS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
	const uint8_t *at, *end;
};

struct producer {
	struct orma_producer_port *port;
	uint8_t *memory;
	size_t memory_bytes;
	uint64_t flush_id, instance_id;
};

static struct world {
	struct orma_service *service;
	struct producer producers[PEERS];
	struct orma_consumer_port *consumers[PEERS];
	struct orma_relay_port *relays[PEERS];
	uint64_t now_ns;
	int file_answer;
	uint64_t session_id;
} world;

static uint8_t next(struct program *program)
{
	return program->at < program->end ? *program->at++ : 0;
}

static size_t left_of(const struct program *program)
{
	return (size_t)(program->end - program->at);
}

static uint32_t next_word(struct program *program)
{
	uint32_t word = next(program);

	word |= (uint32_t)next(program) << 8;
	return word | (uint32_t)next(program) << 16;
}

static uint64_t now(void *ctx, int clock_id)
{
	(void)ctx;
	return world.now_ns + (uint64_t)clock_id;
}

static void random_bytes(void *ctx, void *data, size_t size)
{
	(void)ctx;
	memset(data, 1, size);
}

/* --- callbacks ----------------------------------------------------------------------------------
 */

static void on_memory(void *ctx, const struct orma_shared_memory *memory)
{
	struct producer *producer = ctx;

	producer->memory = memory->start;
	producer->memory_bytes = memory->start ? memory->size_bytes : 0;
}

static void on_setup(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	(void)config;
	(void)size;
	((struct producer *)ctx)->instance_id = instance_id;
}

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *ids, size_t count,
		     uint64_t flags)
{
	(void)ids;
	(void)count;
	(void)flags;
	((struct producer *)ctx)->flush_id = request_id;
}

static const struct orma_producer_callbacks producer_callbacks = {
	.struct_size = sizeof(producer_callbacks),
	.setup_tracing = on_memory,
	.setup_data_source = on_setup,
	.flush = on_flush,
};

static void on_done(void *ctx, bool is_complete)
{
	(void)ctx;
	(void)is_complete;
}

static int open_file(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	(void)ctx;
	close(fd);
	world.session_id = session_id;
	*ret_file = &world;
	return world.file_answer == -EACCES ? -EACCES : 0;
}

static int write_file(void *ctx, void *file, const struct iovec *iov, int iov_count)
{
	(void)ctx;
	(void)file;
	(void)iov;
	(void)iov_count;
	return world.file_answer == -EACCES ? 0 : world.file_answer;
}

static void close_file(void *ctx, void *file, bool sync)
{
	(void)ctx;
	(void)file;
	(void)sync;
}

static const struct orma_service_file_ops file_ops = {
	.struct_size = sizeof(file_ops),
	.open = open_file,
	.write = write_file,
	.close = close_file,
};

/* --- steps --------------------------------------------------------------------------------------
 */

static void step_producer(struct program *program, struct producer *producer)
{
	struct orma_producer_info info = {.struct_size = sizeof(info),
					  .uid = next(program) & 1,
					  .name = "p",
					  .shm_fd = -1,
					  .scraping_mode = ORMA_SCRAPING_ENABLED,
					  .cannot_pass_fds = producer == &world.producers[2]};

	if (producer->port) {
		orma_producer_port_close(producer->port);
		memset(producer, 0, sizeof(*producer));
	} else {
		(void)orma_producer_port_open(world.service, &info, &producer_callbacks, producer,
					      NULL, &producer->port);
	}
}

static void step_source(struct program *program, struct orma_producer_port *port)
{
	static const char *const descriptors[] = {
		"\x0a\x01\x61\x38\x01", "\x0a\x01\x62\x10\x01\x18\x01\x20\x01",
		"\x0a\x01\x61\x48\x01", "\x0a\x01\x61\x10\x01\x38\x02"};
	const char *descriptor = descriptors[next(program) % 4];

	switch (next(program) % 4) {
	case 0:
		(void)orma_producer_port_register_data_source(port, descriptor, strlen(descriptor));
		break;
	case 1:
		(void)orma_producer_port_update_data_source(port, descriptor, strlen(descriptor));
		break;
	case 2:
		(void)orma_producer_port_unregister_data_source(port,
								next(program) & 1 ? "a" : "b");
		break;
	default:
		(void)orma_producer_port_register_data_source(
			port, program->at, ORMA_MIN(left_of(program), (size_t)16));
	}
}

static void step_memory(struct program *program, struct producer *producer)
{
	size_t size = ORMA_MIN((size_t)next(program), left_of(program));
	size_t offset = (size_t)(next(program) % 4) * 4096 + next(program) % 64;

	size = ORMA_MIN(size, left_of(program));
	if (!producer->memory || offset + size > producer->memory_bytes)
		return;
	memcpy(producer->memory + offset, program->at, size);
	program->at += size;
}

static void step_commit(struct program *program, struct producer *producer)
{
	struct orma_patch patch = {next_word(program), {1, 2, 3, next(program)}};
	struct orma_chunk_patch entry = {next(program),    next(program), next(program), &patch, 1,
					 next(program) & 1};
	struct orma_chunk_move moves[2];
	uint8_t flags = next(program);
	struct orma_commit commit = {moves, 2, &entry, flags & 1, 0};

	for (int i = 0; i < 2; i++) {

		moves[i] = (struct orma_chunk_move){.page_idx = next(program) % 5,
						    .chunk_idx = next(program),
						    .target_buffer = next(program),
						    .is_incomplete = flags & 2};
		if (flags & 4) {
			moves[i].data = program->at;
			moves[i].size = ORMA_MIN(left_of(program), (size_t)flags);
		}
	}
	if (flags & 8)
		commit.flush_request_id = flags & 16 ? UINT64_MAX : producer->flush_id;
	orma_producer_port_commit(producer->port, &commit);
}

static void step_port(struct program *program, struct producer *producer)
{
	uint8_t what = next(program);

	if (!producer->port)
		return;
	switch (what % 7) {
	case 0:
		step_source(program, producer->port);
		break;
	case 1:
		step_memory(program, producer);
		break;
	case 2:
		step_commit(program, producer);
		break;
	case 3:
		orma_producer_port_register_writer(producer->port, next_word(program),
						   next(program));
		break;
	case 4:
		orma_producer_port_unregister_writer(producer->port, next_word(program));
		break;
	case 5:
		orma_producer_port_data_source_started(producer->port, producer->instance_id);
		break;
	default:
		orma_producer_port_data_source_stopped(producer->port, producer->instance_id);
	}
}

static void step_enable(struct program *program, struct orma_consumer_port *port)
{
/* buffers { size_kb: 16 } buffers { size_kb: 16 fill_policy: DISCARD }, sources "a" and "b" */
#define BASE                                                                                       \
	"\x0a\x02\x08\x10\x0a\x04\x08\x10\x20\x02\x12\x05\x0a\x03\x0a\x01\x61\x12\x07\x0a\x05"     \
	"\x0a\x01\x62\x10\x01"
	static const char *const configs[] = {
		BASE,
		BASE "\x60\x01",                         /* deferred_start */
		BASE "\x18\x64\x68\x32",                 /* duration 100 ms, flush every 50 */
		BASE "\x40\x01\x48\x64",                 /* write_into_file */
		BASE "\x40\x01\x48\x64\x50\xe8\x07",     /* max_file_size_bytes: 1000 */
		BASE "\x40\x01\xe0\x02\x03\xe8\x02\x02", /* flush and sync with each write */
		BASE "\xa2\x01\x02\x50\x01\xaa\x01\x02\x08\x14", /* concurrent, clear every 20 */
		BASE "\x28\x02",                                 /* lockdown */
		BASE "\x28\x01",
	};
	const char *config = configs[next(program) % ORMA_ARRAY_SIZE(configs)];
	uint8_t how = next(program);
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct orma_error error;

	if (how & 1)
		(void)orma_consumer_port_enable(port, program->at, left_of(program), fd, &error);
	else
		(void)orma_consumer_port_enable(port, config, strlen(config),
						strlen(config) > sizeof(BASE) ? fd : -1, &error);
	close(fd);
}

static void step_read(struct orma_consumer_port *port, size_t max_bytes)
{
	struct orma_trace_batch batch;

	if (orma_consumer_port_read(port, max_bytes, &batch) < 0)
		return;
	for (size_t i = 0; i < batch.count; i++)
		if (batch.slices[i].size && !batch.slices[i].data)
			abort();
	if (batch.count && !batch.slices[batch.count - 1].ends_packet)
		abort();
}

static void step_query(struct orma_consumer_port *port)
{
	const void *data;
	size_t size;

	(void)orma_consumer_port_get_config(port, &data, &size);
	(void)orma_consumer_port_get_stats(port, &data, &size);
	(void)orma_consumer_port_query_state(port, false, &data, &size);
	(void)orma_consumer_port_query_capabilities(port, &data, &size);
}

static void step_consumer(struct program *program, struct orma_consumer_port **port)
{
	static const struct orma_consumer_callbacks none = {.struct_size = sizeof(none)};
	struct orma_consumer_info info = {.struct_size = sizeof(info)};
	uint8_t what = next(program);

	if (!*port) {
		info.uid = what & 1;
		(void)orma_consumer_port_open(world.service, &info, &none, NULL, port);
		return;
	}
	switch (what % 12) {
	case 0:
		orma_consumer_port_close(*port);
		*port = NULL;
		break;
	case 1:
		step_enable(program, *port);
		break;
	case 2:
		(void)orma_consumer_port_start(*port, NULL);
		break;
	case 3:
		orma_consumer_port_disable(*port);
		break;
	case 4:
		(void)orma_consumer_port_change_config(*port, program->at, left_of(program));
		break;
	case 5:
		(void)orma_consumer_port_flush(*port, next(program), next(program), on_done, NULL);
		break;
	case 6:
		step_read(*port, next_word(program) % 65536);
		break;
	case 7:
		orma_consumer_port_free_buffers(*port);
		break;
	case 8:
		(void)orma_consumer_port_detach(*port, next(program) & 1 ? "k" : "l");
		break;
	case 9:
		(void)orma_consumer_port_attach(*port, next(program) & 1 ? "k" : "l");
		break;
	case 10:
		(void)orma_consumer_port_observe(*port, next(program) & 3);
		break;
	default:
		step_query(*port);
	}
}

static void step_relay(struct program *program, struct orma_relay_port **port)
{
	struct orma_relay_clock clocks[3];
	struct orma_relay_info info = {.struct_size = sizeof(info)};
	uint8_t what = next(program);

	if (!*port) {
		info.machine_id = what & 3;
		(void)orma_relay_port_open(world.service, &info, port);
		return;
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clocks); i++)
		clocks[i] = (struct orma_relay_clock){next(program) % 80, next_word(program)};
	switch (what % 8) {
	case 0:
		orma_relay_port_close(*port);
		*port = NULL;
		break;
	case 1:
		(void)orma_relay_port_set_system_info(
			*port, program->at, ORMA_MIN(left_of(program), (size_t)next(program)));
		break;
	default:
		(void)orma_relay_port_sync_clocks(*port, (enum orma_relay_phase)(what & 3), clocks,
						  what / 8 % 4);
	}
}

static void step(struct program *program)
{
	static const int answers[] = {0, 0, -EAGAIN, -ENOSPC, -EACCES};
	uint8_t what = next(program);
	uint8_t who = what / 8 % PEERS;

	switch (what % 8) {
	case 0:
		step_producer(program, &world.producers[who]);
		break;
	case 1:
	case 2:
		step_port(program, &world.producers[who]);
		break;
	case 3:
	case 4:
		step_consumer(program, &world.consumers[who]);
		break;
	case 5:
		if (what & 0x80)
			step_relay(program, &world.relays[who]);
		else
			world.now_ns += (uint64_t)next_word(program) * 1000;
		break;
	case 6:
		world.file_answer = answers[next(program) % ORMA_ARRAY_SIZE(answers)];
		orma_service_file_event(world.service, world.session_id, next(program) % 3 - 1);
		break;
	default:
		world.now_ns += (uint64_t)next(program) * 1000000;
		orma_service_run(world.service);
	}
}

static bool is_empty(void)
{
	for (int i = 0; i < PEERS; i++)
		if (world.consumers[i] || world.producers[i].port || world.relays[i])
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_service_options options = {.struct_size = sizeof(options),
					       .now_ns = now,
					       .random = random_bytes,
					       .file_ops = &file_ops};
	struct program program = {data, data + size};

	memset(&world, 0, sizeof(world));
	world.now_ns = 1000000000;
	if (orma_service_new(&options, &world.service) < 0)
		return 0;
	if (!is_empty() || orma_service_next_deadline_ns(world.service) != UINT64_MAX)
		abort();
	while (program.at < program.end)
		step(&program);
	for (int i = 0; i < PEERS; i++)
		orma_consumer_port_close(world.consumers[i]);
	orma_service_free(world.service);
	return 0;
}
