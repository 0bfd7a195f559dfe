/* SPDX-License-Identifier: Apache-2.0
 * fixture.h - a service with a clock that tests turn by hand, and producers and consumers in
 * memory.
 *
 * Producers write what happens to them into a log of words ("setup:1 start:1 stop:1"), which tests
 * compare as text; they write chunks into the shared memory as a client of the wire would.
 * Consumers do the same with the service's answers. Configs and descriptors are given in text form.
 */
#ifndef ORMA_TESTS_SERVICE_FIXTURE_H
#define ORMA_TESTS_SERVICE_FIXTURE_H

#include <orma/service.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "harness.h"
#include "proto/codec.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/observable_events.pb.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "service/service_limits.h"
#include "shm/abi.h"

#define START_NS (UINT64_C(1000) * ORMA_NS_PER_SEC)
#define WALL_NS  (UINT64_C(1700000000) * ORMA_NS_PER_SEC)

/* --- the world ------------------------------------------------------------------------------- */

struct world {
	struct orma_service *service;
	uint64_t passed_ns, suspended_ns;
	uint64_t wall_jump_ns;
	uint64_t tick_ns;     /* how much later it is after each look at the clock */
	int policy, priority; /* scheduling of the thread */
	int priority_error;   /* result of the next change of priority */
};

static inline uint64_t fake_clock(void *ctx, int clock_id)
{
	struct world *world = ctx;

	world->passed_ns += world->tick_ns;
	switch (clock_id) {
	case CLOCK_BOOTTIME:
		return START_NS + world->passed_ns + world->suspended_ns;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return WALL_NS + world->passed_ns + world->suspended_ns + world->wall_jump_ns;
	default:
		return START_NS + world->passed_ns;
	}
}

static inline int fake_priority(void *ctx, enum orma_priority_policy policy, uint32_t priority)
{
	struct world *world = ctx;

	if (world->priority_error)
		return world->priority_error;
	world->policy = (int)policy;
	world->priority = (int)priority;
	return 0;
}

static inline void fake_random(void *ctx, void *data, size_t size)
{
	(void)ctx;
	memset(data, 0x5a, size);
}

static inline void world_open_full(struct world *world, const struct orma_service_file_ops *ops,
				   const struct orma_compressor_ops *compressor_ops)
{
	struct orma_service_options options = {
		.struct_size = sizeof(options),
		.ctx = world,
		.now_ns = fake_clock,
		.random = fake_random,
		.file_ops = ops,
		.version = "test 1",
		.set_priority = fake_priority,
		.compressor_ops = compressor_ops,
		.compressor_ctx = world,
	};

	memset(world, 0, sizeof(*world));
	CHECK_INT(orma_service_new(&options, &world->service), 0);
}

static inline void world_open_with(struct world *world, const struct orma_service_file_ops *ops)
{
	world_open_full(world, ops, NULL);
}

static inline void world_open(struct world *world)
{
	world_open_with(world, NULL);
}

static inline void world_close(struct world *world)
{
	orma_service_free(world->service);
	world->service = NULL;
}

/* Serves every deadline on the way. */
static inline void pass_ns(struct world *world, uint64_t ns)
{
	uint64_t end_ns = world->passed_ns + ns;

	for (;;) {
		uint64_t next_ns = orma_service_next_deadline_ns(world->service);

		if (next_ns > START_NS + end_ns)
			break;
		if (next_ns > START_NS + world->passed_ns)
			world->passed_ns = next_ns - START_NS;
		orma_service_run(world->service);
	}
	world->passed_ns = end_ns;
}

static inline void pass_ms(struct world *world, uint64_t ms)
{
	pass_ns(world, ms * ORMA_NS_PER_MS);
}

static inline struct orma_buf encode_text(const struct orma_proto_desc *desc, const char *text)
{
	struct orma_arena arena = {0};
	struct orma_buf buf = {0};
	struct orma_error error;
	void *message;

	if (orma_proto_text_parse(desc, "test", text, strlen(text), 0, &arena, &message, &error) <
	    0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(message, &buf), 0);
	orma_base_arena_done(&arena);
	return buf;
}

struct log {
	char text[4096];
	size_t size;
};

static inline void log_add(struct log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static inline void log_add(struct log *log, const char *format, ...)
{
	va_list args;
	int size;

	if (log->size && log->size < sizeof(log->text) - 1)
		log->text[log->size++] = ' ';
	va_start(args, format);
	size = vsnprintf(log->text + log->size, sizeof(log->text) - log->size, format, args);
	va_end(args);
	log->size += (size_t)size;
	if (log->size >= sizeof(log->text))
		log->size = sizeof(log->text) - 1;
	log->text[log->size] = '\0';
}

static inline void log_clear(struct log *log)
{
	log->size = 0;
	log->text[0] = '\0';
}

/* Compares and forgets. */
#define CHECK_LOG(log_ptr, expected)                                                               \
	do {                                                                                       \
		CHECK_STR((log_ptr)->text, expected);                                              \
		(log_ptr)->size = 0;                                                               \
		(log_ptr)->text[0] = '\0';                                                         \
	} while (0)

/* --- producers ------------------------------------------------------------------------------- */

struct producer {
	struct orma_producer_port *port;
	struct world *world;
	struct log log;
	uint8_t *memory;
	int memory_fd; /* borrowed; -1 for memory that the producer has brought */
	size_t memory_bytes;
	uint32_t page_bytes;
	uint32_t target_buffer; /* from the last setup */
	uint64_t last_instance_id, flush_id, flush_flags;
	bool answers_flushes;   /* not from inside the callback: see flush_answer() */
	struct orma_buf config; /* from the last setup */
};

static inline void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	struct producer *producer = ctx;

	log_add(&producer->log, "memory:%zu/%u", memory->size_bytes >> 10,
		memory->page_size_bytes >> 10);
	producer->memory = memory->start;
	producer->memory_fd = memory->fd;
	producer->memory_bytes = memory->size_bytes;
	producer->page_bytes = memory->page_size_bytes;
}

static inline void on_setup(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	struct producer *producer = ctx;
	struct orma_arena arena = {0};
	struct orma_pb_data_source_config *decoded;

	int r;

	log_add(&producer->log, "setup:%llu", (unsigned long long)instance_id);
	r = orma_pb_data_source_config_decode(config, size, &arena, &decoded);
	if (r == -ENOMEM) /* planned by the test */
		return;
	CHECK_INT(r, 0);
	producer->target_buffer = decoded->target_buffer;
	producer->last_instance_id = instance_id;
	producer->config.size = 0;
	(void)orma_base_buf_append(&producer->config, config, size);
	orma_base_arena_done(&arena);
}

static inline void on_start(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	struct producer *producer = ctx;

	CHECK(config && size);
	log_add(&producer->log, "start:%llu", (unsigned long long)instance_id);
}

static inline void on_stop(void *ctx, uint64_t instance_id)
{
	log_add(&((struct producer *)ctx)->log, "stop:%llu", (unsigned long long)instance_id);
}

static inline void on_flush(void *ctx, uint64_t request_id, const uint64_t *ids, size_t count,
			    uint64_t flags)
{
	struct producer *producer = ctx;

	log_add(&producer->log, "flush:%llu", (unsigned long long)request_id);
	for (size_t i = 0; i < count; i++)
		log_add(&producer->log, "of:%llu", (unsigned long long)ids[i]);
	producer->flush_id = request_id;
	producer->flush_flags = flags;
}

static inline void on_clear(void *ctx, const uint64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		log_add(&((struct producer *)ctx)->log, "clear:%llu", (unsigned long long)ids[i]);
}

static const struct orma_producer_callbacks producer_callbacks = {
	.struct_size = sizeof(producer_callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup,
	.start_data_source = on_start,
	.stop_data_source = on_stop,
	.flush = on_flush,
	.clear_incremental_state = on_clear,
};

static inline struct orma_producer_info producer_info(const char *name)
{
	return (struct orma_producer_info){
		.struct_size = sizeof(struct orma_producer_info),
		.uid = getuid(),
		.pid = 77,
		.name = name,
		.shm_fd = -1,
		.scraping_mode = ORMA_SCRAPING_ENABLED,
	};
}

static inline int producer_try(struct world *world, struct producer *producer,
			       const struct orma_producer_info *info)
{
	memset(producer, 0, sizeof(*producer));
	producer->world = world;
	return orma_producer_port_open(world->service, info, &producer_callbacks, producer, NULL,
				       &producer->port);
}

static inline void producer_open(struct world *world, struct producer *producer, const char *name)
{
	struct orma_producer_info info = producer_info(name);

	CHECK_INT(producer_try(world, producer, &info), 0);
}

static inline void producer_close(struct producer *producer)
{
	orma_producer_port_close(producer->port);
	producer->port = NULL;
	orma_base_buf_done(&producer->config);
}

static inline int register_source(struct producer *producer, const char *descriptor)
{
	struct orma_buf buf = encode_text(&orma_pb_data_source_descriptor_desc, descriptor);
	int r = orma_producer_port_register_data_source(producer->port, buf.data, buf.size);

	orma_base_buf_done(&buf);
	return r;
}

static inline void answer_flush(struct producer *producer)
{
	struct orma_commit commit = {.flush_request_id = producer->flush_id};

	orma_producer_port_commit(producer->port, &commit);
}

/* A packet of a producer: TracePacket.for_testing.str. */
static inline size_t make_packet(uint8_t *to, const char *text)
{
	size_t size = strlen(text);
	uint8_t *at = to;

	at = orma_proto_put_varint(
		at, orma_proto_tag(ORMA_PB_TRACE_PACKET_FOR_TESTING, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, size + 2);
	*at++ = (uint8_t)orma_proto_tag(ORMA_PB_TEST_EVENT_STR, ORMA_PROTO_BYTES);
	*at++ = (uint8_t)size;
	memcpy(at, text, size);
	return (size_t)(at - to) + size;
}

struct chunk {
	uint32_t page_idx, chunk_id;
	uint16_t writer_id;
	uint8_t flags;
	enum orma_shm_state state; /* 0 = Complete */
};

static inline uint16_t put_fragments(uint8_t *at, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t packet[256];
		size_t size = make_packet(packet, texts[i]);

		CHECK(size < 128);
		*at++ = (uint8_t)size;
		memcpy(at, packet, size);
		at += size;
	}
	return (uint16_t)count;
}

static inline void put_chunk_header(uint8_t *at, const struct chunk *chunk, uint16_t fragments)
{
	uint16_t packets = (uint16_t)(fragments | chunk->flags << ORMA_SHM_FLAGS_SHIFT);

	memcpy(at, &chunk->chunk_id, 4);
	memcpy(at + 4, &chunk->writer_id, 2);
	memcpy(at + 6, &packets, 2);
}

/* One chunk per page; each text becomes a packet. */
static inline void write_chunk(struct producer *producer, struct chunk chunk,
			       const char *const *texts, size_t count)
{
	uint8_t *page = producer->memory + (size_t)chunk.page_idx * producer->page_bytes;
	uint32_t state = chunk.state ? chunk.state : ORMA_SHM_COMPLETE;
	uint32_t word = (uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | state;
	uint16_t fragments = put_fragments(page + 16, texts, count);

	if (state == ORMA_SHM_BEING_WRITTEN)
		fragments++; /* the one under construction */
	put_chunk_header(page + 8, &chunk, fragments);
	memcpy(page, &word, 4);
}

#define TEXTS(...)                                                                                 \
	(const char *const[]){__VA_ARGS__},                                                        \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

static inline void commit_page(struct producer *producer, uint32_t page_idx, uint32_t target_buffer)
{
	struct orma_chunk_move move = {.page_idx = page_idx, .target_buffer = target_buffer};
	struct orma_commit commit = {.moves = &move, .move_count = 1};

	orma_producer_port_commit(producer->port, &commit);
}

/* Writer 1's next packet. */
static inline void send_packet(struct producer *producer, uint32_t chunk_id, const char *text)
{
	write_chunk(producer, (struct chunk){.chunk_id = chunk_id, .writer_id = 1}, &text, 1);
	commit_page(producer, 0, producer->target_buffer);
}

/* --- consumers ------------------------------------------------------------------------------- */

struct consumer {
	struct orma_consumer_port *port;
	struct world *world;
	struct log log;
	struct orma_error error; /* from the last enable() */
};

static inline void on_disabled(void *ctx, const char *error)
{
	log_add(&((struct consumer *)ctx)->log, error ? "disabled:%s" : "disabled", error);
}

static inline void on_events(void *ctx, const void *data, size_t size)
{
	struct consumer *consumer = ctx;
	struct orma_arena arena = {0};
	struct orma_pb_observable_events *events;

	CHECK_INT(orma_pb_observable_events_decode(data, size, &arena, &events), 0);
	for (size_t i = 0; i < events->instance_state_changes.count; i++) {
		const struct orma_pb_observable_events_data_source_instance_state_change *change =
			events->instance_state_changes.items[i];

		log_add(&consumer->log, "%.*s/%.*s:%s", (int)change->producer_name.size,
			change->producer_name.data, (int)change->data_source_name.size,
			change->data_source_name.data, change->state == 2 ? "started" : "stopped");
	}
	if (events->all_data_sources_started)
		log_add(&consumer->log, "all_started");
	if (events->clone_trigger_hit)
		log_add(&consumer->log, "clone:%lld/%.*s/%.*s/%llu",
			(long long)events->clone_trigger_hit->tracing_session_id,
			(int)events->clone_trigger_hit->trigger_name.size,
			events->clone_trigger_hit->trigger_name.data,
			(int)events->clone_trigger_hit->producer_name.size,
			events->clone_trigger_hit->producer_name.data,
			(unsigned long long)events->clone_trigger_hit->trigger_delay_ms);
	orma_base_arena_done(&arena);
}

static inline void on_readable(void *ctx)
{
	log_add(&((struct consumer *)ctx)->log, "readable");
}

static inline void on_flushed(void *ctx, bool is_complete)
{
	log_add(&((struct consumer *)ctx)->log, is_complete ? "flushed" : "flush_failed");
}

static inline void consumer_open_as(struct world *world, struct consumer *consumer, uid_t uid)
{
	static const struct orma_consumer_callbacks callbacks = {
		.struct_size = sizeof(callbacks),
		.tracing_disabled = on_disabled,
		.events = on_events,
		.readable = on_readable,
	};
	struct orma_consumer_info info = {.struct_size = sizeof(info), .uid = uid, .pid = 5};

	memset(consumer, 0, sizeof(*consumer));
	consumer->world = world;
	CHECK_INT(orma_consumer_port_open(world->service, &info, &callbacks, consumer,
					  &consumer->port),
		  0);
}

static inline void consumer_open(struct world *world, struct consumer *consumer)
{
	consumer_open_as(world, consumer, getuid());
}

static inline void consumer_close(struct consumer *consumer)
{
	orma_consumer_port_close(consumer->port);
	consumer->port = NULL;
}

static inline int enable_into(struct consumer *consumer, int fd, const char *config)
{
	struct orma_buf buf = encode_text(&orma_pb_trace_config_desc, config);
	int r = orma_consumer_port_enable(consumer->port, buf.data, buf.size, fd, &consumer->error);

	orma_base_buf_done(&buf);
	return r;
}

static inline int enable(struct consumer *consumer, const char *config)
{
	return enable_into(consumer, -1, config);
}

static inline void enable_ok(struct consumer *consumer, const char *config)
{
	if (enable(consumer, config) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", consumer->error.message);
}

static inline void flush(struct consumer *consumer, uint32_t timeout_ms)
{
	CHECK_INT(orma_consumer_port_flush(consumer->port, timeout_ms, 0x24, on_flushed, consumer),
		  0);
}

static inline struct orma_pb_tracing_service_state *
query(struct consumer *consumer, bool sessions_only, struct orma_arena *arena)
{
	struct orma_pb_tracing_service_state *state;
	const void *data;
	size_t size;

	CHECK_INT(orma_consumer_port_query_state(consumer->port, sessions_only, &data, &size), 0);
	CHECK_INT(orma_proto_decode_copy(&orma_pb_tracing_service_state_desc, data, size, arena,
					 &state),
		  0);
	return state;
}

/* --- packets --------------------------------------------------------------------------------- */

struct packets {
	struct orma_arena arena;
	struct orma_pb_trace_packet *items[2048];
	size_t count;
};

static inline void packets_add(struct packets *packets, const void *data, size_t size)
{
	CHECK(packets->count < 2048);
	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_packet_desc, data, size, &packets->arena,
					 &packets->items[packets->count]),
		  0);
	packets->count++;
}

/* One batch; whether there is more. */
static inline bool read_batch(struct consumer *consumer, size_t max_bytes, struct packets *packets)
{
	struct orma_trace_batch batch;
	struct orma_buf buf = {0};

	CHECK_INT(orma_consumer_port_read(consumer->port, max_bytes, &batch), 0);
	for (size_t i = 0; i < batch.count; i++) {
		CHECK_INT(orma_base_buf_append(&buf, batch.slices[i].data, batch.slices[i].size),
			  0);
		if (!batch.slices[i].ends_packet)
			continue;
		packets_add(packets, buf.data, buf.size);
		buf.size = 0;
	}
	CHECK_INT(buf.size, 0);
	orma_base_buf_done(&buf);
	return batch.has_more;
}

static inline void read_all(struct consumer *consumer, struct packets *packets)
{
	while (read_batch(consumer, 32 << 10, packets))
		;
}

static inline void packets_done(struct packets *packets)
{
	orma_base_arena_done(&packets->arena);
	packets->count = 0;
}

static inline void read_trace_file(const char *data, size_t size, struct packets *packets)
{
	const uint8_t *at = (const uint8_t *)data, *end = data ? at + size : at;

	while (at < end) {
		uint64_t tag, length;

		at = orma_proto_get_varint(at, end, &tag);
		CHECK(at && tag == (ORMA_PB_TRACE_PACKET << 3 | 2));
		at = orma_proto_get_varint(at, end, &length);
		CHECK(at && length <= (uint64_t)(end - at));
		packets_add(packets, at, (size_t)length);
		at += length;
	}
}

/* The texts of the producers' packets, in order, with loss bits behind them. */
static inline const char *texts_of(const struct packets *packets)
{
	static struct log log;

	log.size = 0;
	log.text[0] = '\0';
	for (size_t i = 0; i < packets->count; i++) {
		const struct orma_pb_trace_packet *packet = packets->items[i];

		if (!packet->for_testing)
			continue;
		log_add(&log, "%.*s", (int)packet->for_testing->str.size,
			packet->for_testing->str.data);
		if (packet->previous_packet_dropped)
			log_add(&log, "lost:%u", packet->previous_packet_dropped);
	}
	return log.text;
}

/* Writes the kind of each packet, in order. */
static inline const char *kinds_of(const struct packets *packets)
{
	static struct log log;

	log.size = 0;
	log.text[0] = '\0';
	for (size_t i = 0; i < packets->count; i++) {
		const struct orma_pb_trace_packet *packet = packets->items[i];
		const struct orma_pb_tracing_service_event *event = packet->service_event;

		if (packet->clock_snapshot)
			log_add(&log, "clocks");
		else if (packet->synchronization_marker.size)
			log_add(&log, "sync");
		else if (packet->trace_config)
			log_add(&log, "config");
		else if (packet->trace_uuid)
			log_add(&log, "uuid");
		else if (packet->trace_provenance)
			log_add(&log, "provenance");
		else if (packet->system_info)
			log_add(&log, packet->machine_id ? "remote_system" : "system");
		else if (packet->remote_clock_sync)
			log_add(&log, "remote_clocks");
		else if (packet->trace_stats)
			log_add(&log, "stats");
		else if (packet->concurrent_session_event)
			log_add(&log, "concurrent");
		else if (packet->for_testing)
			log_add(&log, "data");
		else if (event && event->tracing_started)
			log_add(&log, "started");
		else if (event && event->all_data_sources_started)
			log_add(&log, "all_started");
		else if (event && event->flush_started)
			log_add(&log, "flush");
		else if (event && event->all_data_sources_flushed)
			log_add(&log, "flushed");
		else if (event && event->read_tracing_buffers_completed)
			log_add(&log, "read");
		else if (event && event->tracing_disabled)
			log_add(&log, "disabled");
		else if (event && event->clone_started)
			log_add(&log, "clone_started");
		else if (event && orma_pb_tracing_service_event_has_buffer_cloned(event))
			log_add(&log, "buffer_cloned");
		else if (packet->trigger)
			log_add(&log, "trigger");
		else if (packet->clone_snapshot_trigger)
			log_add(&log, "clone_trigger");
		else if (event && event->slow_starting_data_sources)
			log_add(&log, "slow_start");
		else if (event && event->last_flush_slow_data_sources)
			log_add(&log, "slow_flush");
		else
			log_add(&log, "?");
	}
	return log.text;
}

static inline const struct orma_pb_trace_stats *stats_of(const struct packets *packets)
{
	for (size_t i = packets->count; i-- > 0;)
		if (packets->items[i]->trace_stats)
			return packets->items[i]->trace_stats;
	orma_test_fail(__FILE__, __LINE__, "no stats");
}

#define ONE_BUFFER "buffers { size_kb: 64 } data_sources { config { name: 'test' } } "

#endif
