/* SPDX-License-Identifier: Apache-2.0
 * old_clients_test.c - clients of 2018 to 2020 against this service: they send none of the newer
 * fields, call none of the newer methods, and understand nothing that was added since.
 *
 * An old client knows a prefix of today's method lists, because methods were only ever appended:
 * 5 and 5 of producers and consumers in 2018, 10 and 11 in 2019, 11 and 13 in 2020 (upstream's tags
 * v6.0 and v9.0 have the same lists). A test's client forgets every other method it is told of, and
 * sends frames and packets in the encoding of that time. Rejected: recorded conversations (ids and
 * times would have to be rewritten in them).
 */
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "daemon.h"
#include "harness.h"
#include "proto/writer.h"
#include "raw_consumer.h"
#include "raw_producer.h"
#include "schema/gen/capabilities.pb.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/observable_events.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"

static const char *const producer_methods[] = {
	"InitializeConnection",
	"RegisterDataSource",
	"UnregisterDataSource",
	"CommitData",
	"GetAsyncCommand",
	"RegisterTraceWriter",
	"UnregisterTraceWriter",
	"NotifyDataSourceStarted",
	"NotifyDataSourceStopped",
	"ActivateTriggers",
	"Sync",
};
static const char *const consumer_methods[] = {
	"EnableTracing",     "DisableTracing", "ReadBuffers",
	"FreeBuffers",       "Flush",          "StartTracing",
	"ChangeTraceConfig", "Detach",         "Attach",
	"GetTraceStats",     "ObserveEvents",  "QueryServiceState",
	"QueryCapabilities",
};

struct era {
	size_t producer_methods, consumer_methods;
	const char *descriptor; /* the data source's fields after its name */
};
static const struct era of_2018 = {5, 5, ""};
static const struct era of_2019 = {10, 11, "will_notify_on_start: true will_notify_on_stop: true"};
static const struct era of_2020 = {11, 13,
				   "will_notify_on_start: true will_notify_on_stop: true "
				   "handles_incremental_state_clear: true"};

struct scene {
	const struct era *era;
	struct orma_test_daemon daemon;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	uint32_t target_buffer;
};

/* --- the clients ------------------------------------------------------------------------------ */

static void connect_old(struct orma_raw_client *client, const char *path, const char *service,
			const char *const *methods, size_t count)
{
	size_t kept = 0;

	orma_raw_connect(client, path);
	client->has_old_frames = true;
	orma_raw_bind(client, service);
	for (size_t i = 0; i < count; i++)
		CHECK(orma_raw_method_id(client, methods[i]) != 0);
	for (size_t i = 0; i < client->method_count; i++)
		for (size_t k = 0; k < count; k++)
			if (orma_base_str_is(client->methods[i].name, methods[k]))
				client->methods[kept++] = client->methods[i];
	client->method_count = kept;
}

static void connect_producer(struct scene *scene)
{
	scene->producer = (struct orma_raw_producer){.shm_fd = -1};
	connect_old(&scene->producer.client, scene->daemon.producers, "ProducerPort",
		    producer_methods, scene->era->producer_methods);
}

static void connect_consumer(struct scene *scene, struct orma_raw_consumer *consumer)
{
	*consumer = (struct orma_raw_consumer){0};
	connect_old(&consumer->client, scene->daemon.consumers, "ConsumerPort", consumer_methods,
		    scene->era->consumer_methods);
}

/* `extra` are encoded fields of InitializeConnectionRequest. */
static void introduce(struct scene *scene, const char *name, struct orma_str extra)
{
	struct orma_raw_client *client = &scene->producer.client;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;

	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_varint(&heap.writer, 1, 4096); /* hints: page, shared memory */
	orma_proto_write_varint(&heap.writer, 2, 131072);
	orma_proto_write_string(&heap.writer, 3, name);
	orma_proto_write_raw(&heap.writer, extra.data, extra.size);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK(orma_raw_call(client, "InitializeConnection",
			    (struct orma_str){(const char *)args.data, args.size})
		      ->success);
	orma_raw_producer_listen(&scene->producer);
}

static void notify(struct scene *scene, const char *method)
{
	struct orma_raw_client *client = &scene->producer.client;

	/* The arguments of both methods are the same. */
	CHECK(orma_raw_invoke(client, method,
			      orma_raw_text(client,
					    &orma_pb_notify_data_source_stopped_request_desc,
					    "data_source_id: %llu",
					    (unsigned long long)scene->producer.instances[0].id),
			      -1, ORMA_RAW_DROP_REPLY) != 0);
}

static void open_scene(struct scene *scene, const struct era *era, struct orma_str hello)
{
	char descriptor[256];

	scene->era = era;
	orma_test_daemon_start(&scene->daemon);
	connect_producer(scene);
	introduce(scene, "old", hello);
	snprintf(descriptor, sizeof(descriptor), "name: \"old\" %s", era->descriptor);
	orma_raw_producer_register(&scene->producer, descriptor);
	connect_consumer(scene, &scene->consumer);
}

static void await_start(struct scene *scene)
{
	scene->target_buffer =
		orma_raw_producer_await_start(&scene->producer, "old")->target_buffer;
	if (strstr(scene->era->descriptor, "will_notify_on_start"))
		notify(scene, "NotifyDataSourceStarted");
}

#define OLD_CONFIG "buffers { size_kb: 1024 } data_sources { config { name: \"old\" } } "

static void start_session(struct scene *scene, const char *config)
{
	orma_raw_consumer_enable(&scene->consumer, -1, OLD_CONFIG "%s", config);
	await_start(scene);
}

static void await_stop(struct scene *scene)
{
	orma_raw_producer_await_stop(&scene->producer, "old");
	if (strstr(scene->era->descriptor, "will_notify_on_stop"))
		notify(scene, "NotifyDataSourceStopped");
}

static void close_scene(struct scene *scene)
{
	orma_raw_consumer_close(&scene->consumer);
	orma_raw_producer_close(&scene->producer);
	orma_test_daemon_stop(&scene->daemon);
}

/* --- writing packets -------------------------------------------------------------------------- */

/* Like the trace writers of that time: the size always takes four bytes. */
static void append_fragment(struct orma_buf *payload, const void *data, size_t size)
{
	uint8_t length[4];

	orma_proto_put_length(length, (uint32_t)size);
	CHECK_INT(orma_base_buf_append(payload, length, sizeof(length)), 0);
	CHECK_INT(orma_base_buf_append(payload, data, size), 0);
}

static void write_fragment(struct scene *scene, uint32_t chunk_id, uint8_t flags, const void *data,
			   size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	append_fragment(&payload, data, size);
	orma_raw_producer_write_and_commit(
		&scene->producer,
		&(struct orma_raw_chunk){
			.page_idx = chunk_id,
			.chunk_id = chunk_id,
			.writer_id = 1,
			.fragment_count = 1,
			.flags = flags,
			.payload = {(const char *)payload.data, payload.size},
		},
		scene->target_buffer);
}

/* A test packet after some fields of the packet itself. */
static void write_packet(struct scene *scene, uint32_t chunk_id, struct orma_str fields,
			 const char *text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packet = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested event;

	orma_proto_heap_writer_init(&heap, &packet);
	orma_proto_write_raw(&heap.writer, fields.data, fields.size);
	orma_proto_nested_begin(&heap.writer, &event, 900);
	orma_proto_write_string(&heap.writer, 1, text);
	orma_proto_nested_end(&heap.writer, &event);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	write_fragment(scene, chunk_id, 0, packet.data, packet.size);
}

/* A fence that producers of all times have: an empty commit that asks for its reply. */
static void fence(struct scene *scene)
{
	CHECK(orma_raw_call(&scene->producer.client, "CommitData", ORMA_STR(""))->success);
}

static void flush(struct scene *scene)
{
	uint64_t id = orma_raw_consumer_flush(&scene->consumer, 5000);

	orma_raw_producer_commit(
		&scene->producer, "flush_request_id: %llu",
		(unsigned long long)orma_raw_producer_await_flush(&scene->producer));
	CHECK(orma_raw_await(&scene->consumer.client, id)->success);
}

/* --- a whole recording ------------------------------------------------------------------------ */

static void record_as(const struct era *era, struct orma_str hello)
{
	struct scene scene;

	open_scene(&scene, era, hello);
	start_session(&scene, "");
	CHECK_INT(scene.producer.page_bytes, 4096);
	CHECK_INT(scene.producer.shm_bytes, 131072);
	write_packet(&scene, 0, ORMA_STR(""), "committed");
	flush(&scene);
	write_packet(&scene, 1, ORMA_STR(""), "unflushed");
	fence(&scene);
	CHECK(orma_raw_call(&scene.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	await_stop(&scene);
	CHECK_STR(orma_raw_consumer_await_disabled(&scene.consumer), "");
	struct orma_pb_trace *trace = orma_raw_consumer_read(&scene.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 2);
	CHECK(orma_raw_trace_has(trace, "committed") && orma_raw_trace_has(trace, "unflushed"));
	CHECK_INT(orma_raw_test_packet_at(trace, 0)->trusted_uid, getuid());
	CHECK_INT(orma_raw_test_packet_at(trace, 1)->previous_packet_dropped, 0);
	CHECK(orma_raw_call(&scene.consumer.client, "FreeBuffers", ORMA_STR(""))->success);
	/* The connection can begin another session. */
	orma_raw_consumer_enable(&scene.consumer, -1, "duration_ms: 1 buffers { size_kb: 64 }");
	CHECK_STR(orma_raw_consumer_await_disabled(&scene.consumer), "");
	close_scene(&scene);
}

ORMA_TEST(clients_of_2018_record)
{
	record_as(&of_2018, ORMA_STR(""));
}

ORMA_TEST(clients_of_2019_record)
{
	record_as(&of_2019, ORMA_STR("\x20\x00")); /* smb_scraping_mode: unspecified */
}

ORMA_TEST(clients_of_2020_record)
{
	/* ... and build_flags, a field that no longer is one; no memory of its own. */
	record_as(&of_2020, ORMA_STR("\x20\x02\x28\x02\x30\x00"));
}

ORMA_TEST(a_client_of_2018_finds_the_whole_config_in_start_data_source)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf set_up = {0}, started = {0};
	struct scene scene;

	open_scene(&scene, &of_2018, ORMA_STR(""));
	orma_raw_consumer_enable(&scene.consumer, -1,
				 "duration_ms: 3600000 buffers { size_kb: 64 } data_sources { "
				 "config { name: \"old\" legacy_config: \"{}\" } }");
	while (started.size == 0) {
		const struct orma_pb_get_async_command_response *command =
			orma_raw_producer_command(&scene.producer);
		if (command->setup_data_source)
			CHECK_INT(orma_proto_encode(command->setup_data_source->config, &set_up),
				  0);
		if (command->start_data_source)
			CHECK_INT(orma_proto_encode(command->start_data_source->config, &started),
				  0);
	}
	CHECK_MEM(started.data, started.size, set_up.data, set_up.size);
	CHECK(memmem(started.data, started.size, "{}", 2));
	close_scene(&scene);
}

/* --- patches and scraping --------------------------------------------------------------------- */

/*
 * A packet of two nested messages over three pages. Their lengths were unknown when the first
 * page was full, so they arrive as patches of a chunk that the service already has.
 */
static void write_patched_packet(struct scene *scene, char *text, size_t size)
{
	static const uint8_t head[] = {0xa2, 0x38, 0, 0, 0, 0, 0x2a, 0, 0, 0, 0, 0x0a};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packet = {0};
	enum { PIECE = 4096 - 8 - 8 - 4 };
	uint8_t length[ORMA_PROTO_VARINT_MAX];

	memset(text, 'x', size);
	text[size] = '\0';
	CHECK_INT(orma_base_buf_append(&packet, head, sizeof(head)), 0);
	CHECK_INT(orma_base_buf_append(&packet, length,
				       (size_t)(orma_proto_put_varint(length, size) - length)),
		  0);
	CHECK_INT(orma_base_buf_append(&packet, text, size), 0);
	CHECK(packet.size > (size_t)2 * PIECE && packet.size < (size_t)3 * PIECE);
	write_fragment(scene, 0, ORMA_SHM_CONTINUES_IN_NEXT | ORMA_SHM_NEEDS_PATCHING, packet.data,
		       PIECE);
	write_fragment(scene, 1, ORMA_SHM_CONTINUES_FROM_PREVIOUS | ORMA_SHM_CONTINUES_IN_NEXT,
		       packet.data + PIECE, PIECE);
	write_fragment(scene, 2, ORMA_SHM_CONTINUES_FROM_PREVIOUS, packet.data + (size_t)2 * PIECE,
		       packet.size - (size_t)2 * PIECE);
}

/* `offset`: of the length in the packet; `length` counts what follows it. */
static void patch_length(struct scene *scene, uint32_t offset, size_t length, bool has_more)
{
	uint8_t bytes[4];

	orma_proto_put_length(bytes, (uint32_t)length);
	orma_raw_producer_commit(&scene->producer,
				 "chunks_to_patch { target_buffer: %u writer_id: 1 chunk_id: 0 "
				 "patches { offset: %u data: \"\\x%02x\\x%02x\\x%02x\\x%02x\" } "
				 "has_more_patches: %d }",
				 scene->target_buffer, 4 + offset, bytes[0], bytes[1], bytes[2],
				 bytes[3], has_more);
	fence(scene);
}

ORMA_TEST(a_packet_larger_than_a_chunk_is_patched_out_of_band)
{
	enum { SIZE = 9000 };
	static char text[SIZE + 1];
	struct scene scene;

	open_scene(&scene, &of_2018, ORMA_STR(""));
	start_session(&scene, "");
	write_patched_packet(&scene, text, SIZE);
	fence(&scene);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&scene.consumer)), 0);
	patch_length(&scene, 7, 1 + 2 + SIZE, true);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&scene.consumer)), 0);
	patch_length(&scene, 2, 1 + 4 + 1 + 2 + SIZE, false);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&scene.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 1);
	const struct orma_pb_trace_packet *packet = orma_raw_test_packet_at(trace, 0);
	CHECK(packet->for_testing->payload);
	CHECK_INT(packet->for_testing->payload->str.count, 1);
	CHECK(orma_base_str_is(packet->for_testing->payload->str.items[0], text));
	CHECK_INT(packet->previous_packet_dropped, 0);
	close_scene(&scene);
}

static void write_unfinished(struct scene *scene, const char *text, enum orma_shm_state state)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	/* A finished chunk, and an empty one that is being written. */
	orma_raw_test_packet(&payload, "%s", text);
	CHECK_INT(orma_base_buf_append(&payload, "", 1), 0);
	orma_raw_producer_write(&scene->producer,
				&(struct orma_raw_chunk){
					.state = state,
					.writer_id = 1,
					.fragment_count = 2,
					.payload = {(const char *)payload.data, payload.size},
				});
}

static void check_scraping(struct orma_str hello, bool is_scraped)
{
	struct scene scene;

	open_scene(&scene, &of_2020, hello);
	start_session(&scene, "");
	CHECK(orma_raw_call(&scene.producer.client, "RegisterTraceWriter",
			    orma_raw_text(&scene.producer.client,
					  &orma_pb_register_trace_writer_request_desc,
					  "trace_writer_id: 1 target_buffer: %u",
					  scene.target_buffer))
		      ->success);
	write_unfinished(&scene, "unfinished", ORMA_SHM_BEING_WRITTEN);
	flush(&scene);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&scene.consumer)), is_scraped);
	write_unfinished(&scene, "unfinished", ORMA_SHM_COMPLETE);
	orma_raw_producer_commit(&scene.producer,
				 "chunks_to_move { page: 0 chunk: 0 "
				 "target_buffer: %u }",
				 scene.target_buffer);
	fence(&scene);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&scene.consumer)), !is_scraped);
	close_scene(&scene);
}

ORMA_TEST(memory_is_scraped_only_when_the_producer_says_so)
{
	check_scraping(ORMA_STR(""), false);
	check_scraping(ORMA_STR("\x20\x00"), false);
	check_scraping(ORMA_STR("\x20\x02"), false);
	check_scraping(ORMA_STR("\x20\x01"), true);
}

ORMA_TEST(memory_that_a_producer_of_2020_brings_along_is_used)
{
	struct scene scene = {.era = &of_2020};
	struct orma_raw_producer *producer = &scene.producer;
	ORMA_AUTO(orma_base_fd_closep) int fd = orma_base_memfd_new("perfetto_shmem", 65536);

	CHECK(fd >= 0);
	orma_test_daemon_start(&scene.daemon);
	connect_producer(&scene);
	CHECK(orma_raw_producer_initialize(producer,
					   "shared_memory_page_size_hint_bytes: 8192 "
					   "producer_name: \"old\" producer_provided_shmem: true",
					   fd)
		      ->success);
	CHECK(producer->uses_own_memory);
	producer->page_bytes = 8192;
	orma_raw_producer_listen(producer);
	orma_raw_producer_register(producer, "name: \"old\"");
	connect_consumer(&scene, &scene.consumer);
	orma_raw_consumer_enable(&scene.consumer, -1, OLD_CONFIG);
	scene.target_buffer = orma_raw_producer_await_start(producer, "old")->target_buffer;
	CHECK(producer->shm_fd < 0);
	CHECK_INT(producer->page_bytes, 8192);
	write_packet(&scene, 7, ORMA_STR(""), "own memory");
	fence(&scene);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&scene.consumer), "own memory"));
	close_scene(&scene);
}

/* --- packets and configs ---------------------------------------------------------------------- */

ORMA_TEST(packets_keep_the_fields_of_2020)
{
	struct scene scene;

	open_scene(&scene, &of_2020, ORMA_STR(""));
	start_session(&scene, "");
	/* incremental_state_cleared, which sequence_flags replaces today */
	write_packet(&scene, 0, ORMA_STR("\xc8\x02\x01"), "cleared");
	/* previous_packet_dropped, a bool then: true, false */
	write_packet(&scene, 1, ORMA_STR("\xd0\x02\x01"), "dropped before");
	write_packet(&scene, 2, ORMA_STR("\xd0\x02\x00"), "not dropped");
	fence(&scene);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&scene.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 3);
	CHECK(orma_raw_test_packet_at(trace, 0)->incremental_state_cleared);
	CHECK_INT(orma_raw_test_packet_at(trace, 1)->previous_packet_dropped, 1);
	CHECK_INT(orma_raw_test_packet_at(trace, 2)->previous_packet_dropped, 0);
	/* The service's value, which a reader of a bool still reads as true. */
	write_packet(&scene, 4, ORMA_STR("\xd0\x02\x00"), "after a gap");
	write_packet(&scene, 6, ORMA_STR(""), "after another");
	fence(&scene);
	trace = orma_raw_consumer_read(&scene.consumer);
	for (size_t i = 0; i < orma_raw_test_packet_count(trace); i++)
		CHECK(orma_raw_test_packet_at(trace, i)->previous_packet_dropped & 1);
	close_scene(&scene);
}

/* Every field that TraceConfig had in 2020, including those for Android only, except the
 * triggers' (below). Fields that were removed since (buffers 2 and 3; 15 and 26) are there,
 * because old clients may still send them. */
#define CONFIG_OF_2020                                                                             \
	"buffers { size_kb: 256 fill_policy: RING_BUFFER } buffers { size_kb: 64 fill_policy: "    \
	"DISCARD } "                                                                               \
	"data_sources { config { name: \"old\" target_buffer: 1 trace_duration_ms: 1 "             \
	"stop_timeout_ms: 1000 enable_extra_guardrails: true tracing_session_id: 77 "              \
	"legacy_config: \"x\" } producer_name_filter: \"old\" producer_name_regex_filter: "        \
	"\"o.*\" } "                                                                               \
	"builtin_data_sources { disable_clock_snapshotting: true disable_trace_config: false "     \
	"disable_system_info: true disable_service_events: true primary_trace_clock: "             \
	"BUILTIN_CLOCK_MONOTONIC snapshot_interval_ms: 1000 } "                                    \
	"enable_extra_guardrails: true lockdown_mode: LOCKDOWN_CLEAR "                             \
	"producers { producer_name: \"old\" shm_size_kb: 64 page_size_kb: 8 } "                    \
	"statsd_metadata { triggering_alert_id: 1 triggering_config_uid: 2 "                       \
	"triggering_config_id: 3 triggering_subscription_id: 4 } "                                 \
	"file_write_period_ms: 1000 max_file_size_bytes: 1000000 "                                 \
	"guardrail_overrides { max_upload_per_day_bytes: 1 } flush_period_ms: 3600000 "            \
	"flush_timeout_ms: 1000 data_source_stop_timeout_ms: 1000 notify_traceur: true "           \
	"activate_triggers: \"t\" "                                                                \
	"incremental_state_config { clear_period_ms: 3600000 } allow_user_build_tracing: true "    \
	"unique_session_name: \"old\" compression_type: COMPRESSION_TYPE_UNSPECIFIED "             \
	"incident_report_config { destination_package: \"p\" destination_class: \"c\" "            \
	"privacy_level: 1 skip_dropbox: true } trace_uuid_msb: 1 trace_uuid_lsb: 2"

ORMA_TEST(a_config_with_every_field_of_2020_is_taken)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf config = {0};
	struct scene scene;

	open_scene(&scene, &of_2020, ORMA_STR(""));
	struct orma_str known =
		orma_raw_text(&scene.consumer.client, &orma_pb_trace_config_desc, CONFIG_OF_2020);
	CHECK_INT(orma_base_buf_append(&config, known.data, known.size), 0);
	CHECK_INT(orma_base_buf_append(&config, "\x7a\x01x\xd2\x01\x01x", 7), 0);
	orma_raw_consumer_enable_bytes(&scene.consumer, -1,
				       (struct orma_str){(const char *)config.data, config.size});
	await_start(&scene);
	CHECK_INT(scene.producer.page_bytes, 8192);
	CHECK_INT(scene.producer.shm_bytes, 65536);
	write_packet(&scene, 0, ORMA_STR(""), "packet");
	flush(&scene);
	struct orma_pb_trace_stats *stats = orma_raw_consumer_stats(&scene.consumer);
	CHECK_INT(stats->buffer_stats.count, 2);
	CHECK_INT(stats->buffer_stats.items[1]->chunks_written, 1);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&scene.consumer), "packet"));
	close_scene(&scene);
}

ORMA_TEST(a_trigger_of_2019_ends_a_session)
{
	struct scene scene;

	open_scene(&scene, &of_2019, ORMA_STR(""));
	start_session(&scene, "trigger_config { trigger_mode: STOP_TRACING triggers { name: \"t\" "
			      "producer_name_regex: \"o.*\" stop_delay_ms: 1 } "
			      "trigger_timeout_ms: 3600000 }");
	write_packet(&scene, 0, ORMA_STR(""), "before");
	CHECK(orma_raw_call(&scene.producer.client, "ActivateTriggers",
			    orma_raw_text(&scene.producer.client,
					  &orma_pb_activate_triggers_request_desc,
					  "trigger_names: \"other\" trigger_names: \"t\""))
		      ->success);
	orma_raw_producer_commit(
		&scene.producer, "flush_request_id: %llu",
		(unsigned long long)orma_raw_producer_await_flush(&scene.producer));
	await_stop(&scene);
	CHECK_STR(orma_raw_consumer_await_disabled(&scene.consumer), "");
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&scene.consumer), "before"));
	close_scene(&scene);
}

/* --- consumers -------------------------------------------------------------------------------- */

/* Refusals had no text. The old recorder then reads and waits for a reply that says that there
 * is no more; if that call were rejected, the recorder would wait for ever. */
ORMA_TEST(a_refused_session_reads_as_empty)
{
	struct scene scene;
	struct orma_raw_frame *frame;

	open_scene(&scene, &of_2018, ORMA_STR(""));
	orma_raw_consumer_enable(&scene.consumer, -1, "buffers { size_kb: 0 }");
	CHECK(strstr(orma_raw_consumer_await_disabled(&scene.consumer), "size_kb"));
	frame = orma_raw_call(&scene.consumer.client, "ReadBuffers", ORMA_STR(""));
	CHECK(frame->success);
	CHECK(!frame->has_more);
	CHECK_INT(frame->body.size, 0);
	start_session(&scene, "");
	close_scene(&scene);
}

ORMA_TEST(a_consumer_of_2019_starts_late_and_observes_instances)
{
	struct scene scene;
	struct orma_raw_client *client = &scene.consumer.client;
	struct orma_pb_observe_events_response *response;

	open_scene(&scene, &of_2019, ORMA_STR(""));
	orma_raw_consumer_enable(&scene.consumer, -1, OLD_CONFIG "deferred_start: true");
	uint64_t observe_id =
		orma_raw_invoke(client, "ObserveEvents",
				orma_raw_text(client, &orma_pb_observe_events_request_desc,
					      "events_to_observe: "
					      "TYPE_DATA_SOURCES_INSTANCES"),
				-1, 0);
	CHECK(orma_raw_call(client, "StartTracing", ORMA_STR(""))->success);
	await_start(&scene);
	for (int state = 0; state != 2;) {
		struct orma_raw_frame *frame = orma_raw_await(client, observe_id);
		CHECK(frame->has_more);
		orma_raw_decode(client, &orma_pb_observe_events_response_desc, frame, &response);
		CHECK(!response->events->all_data_sources_started);
		CHECK_INT(response->events->instance_state_changes.count, 1);
		CHECK(orma_base_str_is(
			response->events->instance_state_changes.items[0]->producer_name, "old"));
		state = (int)response->events->instance_state_changes.items[0]->state;
	}
	close_scene(&scene);
}

ORMA_TEST(a_consumer_of_2019_detaches_and_another_attaches)
{
	struct scene scene;
	struct orma_raw_client *client = &scene.consumer.client;
	struct orma_pb_attach_response *attached;

	open_scene(&scene, &of_2019, ORMA_STR(""));
	start_session(&scene, "");
	CHECK(orma_raw_call(client, "Detach",
			    orma_raw_text(client, &orma_pb_detach_request_desc, "key: \"k\""))
		      ->success);
	orma_raw_consumer_close(&scene.consumer);
	write_packet(&scene, 0, ORMA_STR(""), "meanwhile");
	fence(&scene);
	connect_consumer(&scene, &scene.consumer);
	orma_raw_decode(
		client, &orma_pb_attach_response_desc,
		orma_raw_call(client, "Attach",
			      orma_raw_text(client, &orma_pb_attach_request_desc, "key: \"k\"")),
		&attached);
	CHECK_INT(attached->trace_config->buffers.items[0]->size_kb, 1024);
	scene.consumer.enable_id =
		orma_raw_invoke(client, "EnableTracing",
				orma_raw_text(client, &orma_pb_enable_tracing_request_desc,
					      "attach_notification_only: true"),
				-1, 0);
	CHECK(orma_raw_call(client, "DisableTracing", ORMA_STR(""))->success);
	await_stop(&scene);
	CHECK_STR(orma_raw_consumer_await_disabled(&scene.consumer), "");
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&scene.consumer), "meanwhile"));
	close_scene(&scene);
}

ORMA_TEST(a_consumer_of_2020_finds_what_it_asks_for)
{
	struct orma_pb_query_capabilities_response *answer;
	struct orma_pb_tracing_service_state *state;
	bool has_all_started = false;
	struct scene scene;

	open_scene(&scene, &of_2020, ORMA_STR(""));
	orma_raw_decode(&scene.consumer.client, &orma_pb_query_capabilities_response_desc,
			orma_raw_call(&scene.consumer.client, "QueryCapabilities", ORMA_STR("")),
			&answer);
	CHECK(answer->capabilities->has_query_capabilities);
	CHECK(answer->capabilities->has_trace_config_output_path);
	for (size_t i = 0; i < answer->capabilities->observable_events.count; i++)
		has_all_started |= answer->capabilities->observable_events.items[i] == 2;
	CHECK(has_all_started);
	state = orma_raw_consumer_query(&scene.consumer);
	CHECK_INT(state->producers.count, 1);
	CHECK(orma_base_str_is(state->producers.items[0]->name, "old"));
	CHECK_INT(state->producers.items[0]->uid, getuid());
	CHECK_INT(state->producers.items[0]->sdk_version.size, 0);
	CHECK_INT(state->data_sources.items[0]->producer_id, state->producers.items[0]->id);
	CHECK_INT(state->num_sessions, 0);
	close_scene(&scene);
}

ORMA_TEST(a_data_source_without_an_id_is_unregistered_by_its_name)
{
	struct scene scene;

	open_scene(&scene, &of_2020, ORMA_STR(""));
	orma_raw_producer_register(&scene.producer, "name: \"other\"");
	CHECK(orma_raw_call(&scene.producer.client, "UnregisterDataSource",
			    orma_raw_text(&scene.producer.client,
					  &orma_pb_unregister_data_source_request_desc,
					  "data_source_name: \"old\""))
		      ->success);
	struct orma_pb_tracing_service_state *state = orma_raw_consumer_query(&scene.consumer);
	CHECK_INT(state->data_sources.count, 1);
	CHECK(orma_base_str_is(state->data_sources.items[0]->ds_descriptor->name, "other"));
	close_scene(&scene);
}
