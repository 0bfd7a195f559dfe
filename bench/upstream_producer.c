/* SPDX-License-Identifier: Apache-2.0
 * upstream_producer.c - a producer that behaves like upstream's library, for the benchmark.
 *
 * Programs that use upstream's library load a daemon differently from those that use ours, so each
 * daemon is measured with both. Version 56 of the library works as follows:
 *
 *  - a chunk is a whole page;
 *  - one priority-inheriting mutex guards the memory: it is taken to find a free page, to note that
 *    a page is complete, and by the thread that sends commits;
 *  - a completed page is committed at once, by a task that is posted to another thread when none is
 *    pending, and by a second one when half of the memory waits for its commit;
 *  - a writer without a free page sleeps 0, 8, 72, 584, 4,680, 37,448 and then 100,000 us.
 *
 * The program takes the options of bench_producer that apply to it, and prints the same lines. A
 * packet is one copy of bytes that were encoded before, cut where a page ends. The thread of main()
 * commits.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/macros.h"
#include "ipc/ipc_client.h"
#include "proto/codec.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/commit_data.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/producer_port.pb.h"
#include "shm/abi.h"

#define THREADS_MAX     64
#define PACKET_SIZE_MAX (1u << 20)
#define STRIDE_BYTES    (64u << 10)
/* A writer does not begin a packet when fewer bytes are left. */
#define FRAGMENT_BYTES_MIN 16u
#define SLEEP_US_MAX       100000u
/* The fields TracePacket.for_testing, and TestEvent.str inside. */
#define FIELD_FOR_TESTING 900
#define FIELD_STR         1

enum method {
	INITIALIZE_CONNECTION,
	REGISTER_DATA_SOURCE,
	COMMIT_DATA,
	GET_ASYNC_COMMAND,
	REGISTER_TRACE_WRITER,
};

static const char *const method_names[] = {
	[INITIALIZE_CONNECTION] = "InitializeConnection",
	[REGISTER_DATA_SOURCE] = "RegisterDataSource",
	[COMMIT_DATA] = "CommitData",
	[GET_ASYNC_COMMAND] = "GetAsyncCommand",
	[REGISTER_TRACE_WRITER] = "RegisterTraceWriter",
};

static struct {
	uint32_t threads, packet_bytes;
	uint64_t duration_ns;
	const char *name;
} args = {.threads = 1, .packet_bytes = 64, .name = "orma.bench"};

/* Pages that wait for their commit. Guarded by the mutex, as are the two marks. */
struct commit {
	uint32_t *pages;
	size_t count;
	bool is_posted, is_posted_at_half;
};

static struct {
	struct orma_loop *loop;
	struct orma_ipc_client *ipc;
	struct orma_watch input;
	pthread_mutex_t mutex; /* priority-inheriting */
	uint8_t *memory;
	uint32_t page_bytes, page_count, target_buffer;
	uint32_t next_page; /* guarded by the mutex */
	struct commit commit;
	uint8_t packet[PACKET_SIZE_MAX];
	uint64_t begin_ns;
	uint64_t packets[THREADS_MAX];
} state;

struct writer {
	uint16_t id;
	uint32_t chunk_id, page_idx;
	struct orma_shm_chunk_header *header; /* NULL = no chunk */
	uint8_t *at, *end;
	uint16_t packets; /* the same number as in the header */
};

static _Noreturn void die(const char *what, int error)
{
	fprintf(stderr, "upstream_producer: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

/* --- the memory ------------------------------------------------------------------------------- */

static _Atomic uint32_t *page_word(uint32_t page_idx)
{
	return &((struct orma_shm_page_header *)(void *)(state.memory +
							 (size_t)page_idx * state.page_bytes))
			->word;
}

/* Takes a free page, which the caller then owns. Returns false when there is none. */
static bool try_take_page(uint32_t *ret)
{
	const uint32_t taken =
		(uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_BEING_WRITTEN;
	bool is_found = false;

	pthread_mutex_lock(&state.mutex);
	for (uint32_t i = 0; i < state.page_count && !is_found; i++) {
		uint32_t idx = (state.next_page + i) % state.page_count, free_word = 0;

		is_found = atomic_load_explicit(page_word(idx), memory_order_relaxed) == 0 &&
			   atomic_compare_exchange_strong_explicit(page_word(idx), &free_word,
								   taken, memory_order_acquire,
								   memory_order_relaxed);
		if (is_found)
			*ret = state.next_page = idx;
	}
	pthread_mutex_unlock(&state.mutex);
	return is_found;
}

static uint32_t take_page(void)
{
	uint32_t page_idx;

	for (uint32_t us = 0; !try_take_page(&page_idx); us = ORMA_MIN(SLEEP_US_MAX, (us + 1) * 8))
		usleep(us);
	return page_idx;
}

static void complete_page(uint32_t page_idx)
{
	struct commit *commit = &state.commit;
	bool is_to_post;

	pthread_mutex_lock(&state.mutex);
	is_to_post = !commit->is_posted;
	commit->is_posted = true;
	atomic_fetch_or_explicit(page_word(page_idx), ORMA_SHM_COMPLETE, memory_order_release);
	commit->pages[commit->count++] = page_idx;
	if (commit->count >= state.page_count / 2 && !commit->is_posted_at_half)
		is_to_post = commit->is_posted_at_half = true;
	pthread_mutex_unlock(&state.mutex);
	if (is_to_post)
		orma_base_loop_wake(state.loop);
}

/* --- writers ---------------------------------------------------------------------------------- */

static void store_packets(struct writer *writer)
{
	atomic_store_explicit(&writer->header->packets, writer->packets, memory_order_release);
}

static void finish_chunk(struct writer *writer)
{
	if (writer->header)
		complete_page(writer->page_idx);
	writer->header = NULL;
}

/* Takes the new page before giving the old one away. */
static void begin_chunk(struct writer *writer, uint32_t flags)
{
	uint32_t page_idx = take_page();
	uint8_t *page = state.memory + (size_t)page_idx * state.page_bytes;

	finish_chunk(writer);
	writer->page_idx = page_idx;
	writer->header = (void *)(page + sizeof(struct orma_shm_page_header));
	writer->at = (uint8_t *)(writer->header + 1);
	writer->end = page + sizeof(struct orma_shm_page_header) +
		      orma_shm_layout_chunk_bytes(ORMA_SHM_LAYOUT_1, state.page_bytes);
	atomic_store_explicit(&writer->header->chunk_id, writer->chunk_id++, memory_order_relaxed);
	atomic_store_explicit(&writer->header->writer_id, writer->id, memory_order_relaxed);
	writer->packets = (uint16_t)(flags << ORMA_SHM_FLAGS_SHIFT);
	store_packets(writer);
}

/* Writes one fragment. Returns how many bytes of the packet it has. */
static size_t write_fragment(struct writer *writer, const uint8_t *data, size_t size)
{
	size_t part = ORMA_MIN(size, (size_t)(writer->end - writer->at) - 4);

	writer->packets++;
	store_packets(writer);
	writer->at[0] = (uint8_t)(part | 0x80);
	writer->at[1] = (uint8_t)(part >> 7 | 0x80);
	writer->at[2] = (uint8_t)(part >> 14 | 0x80);
	writer->at[3] = (uint8_t)(part >> 21);
	memcpy(writer->at + 4, data, part);
	writer->at += 4 + part;
	return part;
}

static void write_packet(struct writer *writer)
{
	const uint8_t *data = state.packet;
	size_t left = args.packet_bytes;

	if (!writer->header || writer->end - writer->at < FRAGMENT_BYTES_MIN ||
	    (writer->packets & ORMA_SHM_FRAGMENT_COUNT_MASK) >= ORMA_SHM_FRAGMENT_COUNT_MAX)
		begin_chunk(writer, 0);
	for (;;) {
		size_t part = write_fragment(writer, data, left);

		data += part;
		left -= part;
		if (left == 0)
			return;
		writer->packets |= ORMA_SHM_CONTINUES_IN_NEXT << ORMA_SHM_FLAGS_SHIFT;
		store_packets(writer);
		begin_chunk(writer, ORMA_SHM_CONTINUES_FROM_PREVIOUS);
	}
}

static void *emit(void *ctx)
{
	uint64_t *packets = ctx;
	struct writer writer = {.id = (uint16_t)(packets - state.packets + 1)};
	uint64_t stride = ORMA_MAX(STRIDE_BYTES / args.packet_bytes, 1u);

	do {
		for (uint64_t i = 0; i < stride; i++)
			write_packet(&writer);
		*packets += stride;
	} while (orma_base_clock_ns(CLOCK_MONOTONIC) - state.begin_ns < args.duration_ns);
	finish_chunk(&writer);
	return NULL;
}

static void *emit_from_all_threads(void *ctx)
{
	pthread_t threads[THREADS_MAX];
	uint64_t total = 0, bytes, end_ns;

	(void)ctx;
	state.begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < args.threads; i++)
		if (pthread_create(&threads[i], NULL, emit, &state.packets[i]))
			die("a thread", EAGAIN);
	for (uint32_t i = 0; i < args.threads; i++) {
		pthread_join(threads[i], NULL);
		total += state.packets[i];
	}
	end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	bytes = total * args.packet_bytes;
	printf("result packets=%llu bytes=%llu wall_ns=%llu cpu_ns=%llu dropped=0\n",
	       (unsigned long long)total, (unsigned long long)bytes,
	       (unsigned long long)(end_ns - state.begin_ns),
	       (unsigned long long)orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	fflush(stdout);
	return NULL;
}

/* --- the connection --------------------------------------------------------------------------- */

static void invoke(enum method method, const struct orma_proto_desc *desc, const char *text,
		   orma_ipc_reply_fn *fn)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_error error = {0};
	void *message;
	int r = orma_proto_text_parse(desc, "call", text, strlen(text), 0, &arena, &message,
				      &error);

	if (r == 0)
		r = orma_proto_encode(message, &buf);
	if (r == 0)
		r = orma_ipc_client_invoke(state.ipc, method, buf.data, buf.size, fn, NULL);
	if (r < 0)
		die(method_names[method], r);
}

static void write_move(struct orma_proto_writer *writer, uint32_t page_idx)
{
	struct orma_proto_nested nested;

	orma_proto_nested_begin(writer, &nested, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE, page_idx);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK, 0);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER,
				state.target_buffer);
	orma_proto_nested_end(writer, &nested);
}

static void send_commit(uint64_t flush_request_id)
{
	static struct orma_buf buf;
	struct orma_proto_heap_writer heap;
	size_t count;
	int r;

	buf.size = 0;
	orma_proto_heap_writer_init(&heap, &buf);
	pthread_mutex_lock(&state.mutex);
	count = state.commit.count;
	for (size_t i = 0; i < count; i++)
		write_move(&heap.writer, state.commit.pages[i]);
	state.commit.count = 0;
	state.commit.is_posted = state.commit.is_posted_at_half = false;
	pthread_mutex_unlock(&state.mutex);
	if (count == 0 && flush_request_id == 0)
		return;
	if (flush_request_id)
		orma_proto_write_varint(&heap.writer, ORMA_PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID,
					flush_request_id);
	r = orma_proto_heap_writer_finish(&heap);
	if (r == 0)
		r = orma_ipc_client_invoke(state.ipc, COMMIT_DATA, buf.data, buf.size, NULL, NULL);
	if (r < 0)
		die("CommitData", r);
}

static void on_wake(void *ctx)
{
	(void)ctx;
	send_commit(0);
}

static void map_memory(uint32_t page_kib)
{
	ORMA_AUTO(orma_base_fd_closep) int fd = orma_ipc_client_take_fd(state.ipc);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || page_kib == 0)
		die("shared memory", EPROTO);
	state.page_bytes = page_kib * 1024;
	state.page_count = (uint32_t)st.st_size / state.page_bytes;
	state.memory = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	state.commit.pages = calloc(state.page_count, sizeof(*state.commit.pages));
	if (state.memory == MAP_FAILED || !state.commit.pages)
		die("shared memory", ENOMEM);
}

static void start(void)
{
	pthread_t emitter;
	char text[100];

	for (uint32_t i = 1; i <= args.threads; i++) {
		snprintf(text, sizeof(text), "trace_writer_id: %u target_buffer: %u", i,
			 state.target_buffer);
		invoke(REGISTER_TRACE_WRITER, &orma_pb_register_trace_writer_request_desc, text,
		       NULL);
	}
	if (pthread_create(&emitter, NULL, emit_from_all_threads, NULL))
		die("a thread", EAGAIN);
}

static void on_command(void *ctx, const struct orma_ipc_reply *reply)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_get_async_command_response *command;
	int r;

	(void)ctx;
	if (!reply->success)
		die("GetAsyncCommand", reply->error);
	r = orma_pb_get_async_command_response_decode(reply->data, reply->size, &arena, &command);
	if (r < 0)
		die("a command", r);
	if (command->setup_tracing)
		map_memory(command->setup_tracing->shared_buffer_page_size_kb);
	if (command->setup_data_source && command->setup_data_source->config)
		state.target_buffer = command->setup_data_source->config->target_buffer;
	if (command->start_data_source)
		start();
	if (command->flush)
		send_commit(command->flush->request_id);
}

static void on_registered(void *ctx, const struct orma_ipc_reply *reply)
{
	(void)ctx;
	if (!reply->success)
		die("RegisterDataSource", reply->error);
	puts("ready");
	fflush(stdout);
}

static void on_initialized(void *ctx, const struct orma_ipc_reply *reply)
{
	char text[200];

	(void)ctx;
	if (!reply->success)
		die("InitializeConnection", reply->error);
	snprintf(text, sizeof(text), "data_source_descriptor { name: \"%s\" }", args.name);
	invoke(REGISTER_DATA_SOURCE, &orma_pb_register_data_source_request_desc, text,
	       on_registered);
}

static void on_connected(void *ctx)
{
	(void)ctx;
	invoke(INITIALIZE_CONNECTION, &orma_pb_initialize_connection_request_desc,
	       "producer_name: \"upstream_producer\" sdk_version: \"Perfetto v56.0 (its habits)\"",
	       on_initialized);
	invoke(GET_ASYNC_COMMAND, &orma_pb_get_async_command_request_desc, "", on_command);
}

static void on_disconnected(void *ctx, int error)
{
	(void)ctx;
	die("no connection", error);
}

static void connect_service(void)
{
	const struct orma_ipc_client_options options = {
		.loop = state.loop,
		.service_name = "ProducerPort",
		.method_names = method_names,
		.method_count = ORMA_ARRAY_SIZE(method_names),
		.connected = on_connected,
		.disconnected = on_disconnected,
		.queue_bytes = (size_t)4 << 20,
	};
	const char *address = getenv("PERFETTO_PRODUCER_SOCK_NAME");
	int r = address ? orma_ipc_client_new(&options, address, &state.ipc) : -EDESTADDRREQ;

	if (r < 0)
		die("PERFETTO_PRODUCER_SOCK_NAME", r);
}

/* --- main ------------------------------------------------------------------------------------- */

static void on_input(struct orma_watch *watch, unsigned ready)
{
	char byte;

	(void)ready;
	if (read(watch->fd, &byte, 1) <= 0)
		orma_base_loop_stop(state.loop);
}

static void parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'},
		{"size", required_argument, NULL, 's'},
		{"ms", required_argument, NULL, 'm'},
		{"name", required_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 't')
			args.threads = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			args.packet_bytes = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'm')
			args.duration_ns = strtoull(optarg, NULL, 10) * ORMA_NS_PER_MS;
		else if (c == 'n')
			args.name = optarg;
		else
			exit(2);
	}
	if (args.threads < 1 || args.threads > THREADS_MAX || args.packet_bytes < 32 ||
	    args.packet_bytes > PACKET_SIZE_MAX) {
		fprintf(stderr, "upstream_producer: 1 to %d threads, packets of 32 to %u bytes\n",
			THREADS_MAX, PACKET_SIZE_MAX);
		exit(2);
	}
}

/* Encodes a text in two nested messages, of about the wanted size. */
static void encode_packet(void)
{
	uint32_t text = args.packet_bytes - 10;
	uint32_t inner = 1 + (uint32_t)orma_proto_varint_size(text) + text;
	uint8_t *at = orma_proto_put_varint(state.packet,
					    orma_proto_tag(FIELD_FOR_TESTING, ORMA_PROTO_BYTES));

	at = orma_proto_put_varint(at, inner);
	at = orma_proto_put_varint(at, orma_proto_tag(FIELD_STR, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, text);
	memset(at, 'u', text);
	args.packet_bytes = (uint32_t)(at + text - state.packet);
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attributes;

	parse_args(argc, argv);
	encode_packet();
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&state.mutex, &attributes);
	if (orma_base_loop_new(&state.loop) < 0)
		die("the loop", ENOMEM);
	orma_base_loop_set_wake_handler(state.loop, on_wake, NULL);
	connect_service();
	if (orma_base_loop_watch(state.loop, &state.input, STDIN_FILENO, ORMA_LOOP_READ, on_input) <
	    0)
		die("standard input", EIO);
	orma_base_loop_run(state.loop);
	/* Threads may still be waiting for pages. */
	_exit(0);
}
