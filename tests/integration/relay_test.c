/* SPDX-License-Identifier: Apache-2.0
 * relay_test.c - other machines: relays and the producers behind them, honest and hostile.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "process.h"
#include "raw_relay.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/relay_port.pb.h"
#include "schema/gen/remote_clock_sync.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define CONFIG "buffers { size_kb: 1024 } data_sources { config { name: \"remote\" } } "

/* A session that waits for nothing. */
static void enable(struct orma_raw_consumer *consumer, const char *path, const char *config)
{
	orma_raw_consumer_open(consumer, path);
	orma_raw_consumer_enable(consumer, -1, "%s", config);
	orma_raw_consumer_fence(consumer);
}

static void emit(struct orma_raw_producer *producer, uint32_t chunk_id, const char *text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf chunk = {0};
	uint16_t writer_id = 1, packets = 1;

	orma_base_buf_append(&chunk, &chunk_id, 4);
	orma_base_buf_append(&chunk, &writer_id, 2);
	orma_base_buf_append(&chunk, &packets, 2);
	orma_raw_test_packet(&chunk, "%s", text);
	orma_raw_producer_commit_bytes(producer,
				       (struct orma_str){(const char *)chunk.data, chunk.size},
				       producer->instances[0].target_buffer, false);
	orma_raw_producer_sync(producer);
}

/* The packet with a machine's system or clocks; NULL = there is none. */
static const struct orma_pb_trace_packet *find_told(const struct orma_pb_trace *trace,
						    uint32_t machine_id, bool of_clocks)
{
	const struct orma_pb_trace_packet *found = NULL;

	for (size_t i = 0; i < trace->packet.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packet.items[i];

		if (packet->machine_id != machine_id ||
		    !(of_clocks ? packet->remote_clock_sync != NULL : packet->system_info != NULL))
			continue;
		CHECK(!found);
		found = packet;
	}
	return found;
}

static size_t count_remote(const struct orma_pb_trace *trace)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->packet.count; i++)
		count += trace->packet.items[i]->machine_id != 0;
	return count;
}

static const struct orma_pb_tracing_service_state_producer *
find_producer(struct orma_raw_consumer *consumer, const char *name)
{
	struct orma_pb_tracing_service_state *state = orma_raw_consumer_query(consumer);

	for (size_t i = 0; i < state->producers.count; i++)
		if (orma_base_str_is(state->producers.items[i]->name, name))
			return state->producers.items[i];
	orma_test_fail(__FILE__, __LINE__, "no producer %s", name);
}

ORMA_TEST(another_machines_producers_clocks_and_system_are_in_a_trace)
{
	const uint32_t id = orma_raw_machine_id("5f1c2a6e");
	struct orma_stage stage;
	struct orma_raw_client relay;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "5f1c2a6e");
	CHECK(orma_raw_relay_init(&relay, "utsname { sysname: \"Linux\" machine: \"riscv64\" } "
					  "tracing_service_version: \"v58\" num_cpus: 3"));
	orma_raw_relay_round(&relay, 1000, 2000);
	orma_raw_remote_open(&producer, stage.daemon.tcp_port, "5f1c2a6e", "guest", "remote");
	orma_raw_producer_register(&producer, "name: \"remote\"");
	enable(&consumer, stage.daemon.consumers, CONFIG "trace_all_machines: true");
	orma_raw_producer_await_start(&producer, "remote");
	emit(&producer, 0, "from there");

	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	const struct orma_pb_trace_packet *packet = orma_raw_test_packet_at(trace, 0);
	CHECK(packet && orma_base_str_is(packet->for_testing->str, "from there"));
	CHECK_INT(packet->machine_id, id);
	CHECK_INT(packet->trusted_uid, 1234);
	CHECK_INT(packet->trusted_pid, 77);
	packet = find_told(trace, id, false);
	CHECK(packet && orma_base_str_is(packet->system_info->utsname->machine, "riscv64"));
	CHECK_INT(packet->system_info->num_cpus, 3);
	packet = find_told(trace, id, true);
	CHECK(packet);
	CHECK_INT(packet->remote_clock_sync->synced_clocks.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct orma_pb_remote_clock_sync_synced_clocks *sync =
			packet->remote_clock_sync->synced_clocks.items[i];

		CHECK_INT(sync->client_clocks->clocks.count, 2);
		CHECK_INT(sync->client_clocks->clocks.items[0]->timestamp, (i + 1) * 1000);
		CHECK(sync->host_clocks->clocks.count >= 6);
	}
	CHECK_INT(count_remote(trace), 3);
	/* The packet of this machine. */
	CHECK(find_told(trace, 0, false));

	const struct orma_pb_tracing_service_state_producer *told =
		find_producer(&consumer, "remote");
	CHECK_INT(told->machine_id, id);
	CHECK(orma_base_str_is(told->machine_name, "guest"));
	orma_raw_close(&relay);
	orma_raw_producer_close(&producer);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(machine_filters_choose_between_machines)
{
	struct orma_stage stage;
	struct orma_raw_producer local, remote;
	struct orma_raw_consumer consumer;
	struct utsname names;
	char this_machine[128];
	const struct {
		const char *filter;
		bool has_local, has_remote;
	} cases[] = {
		{"", true, false},
		{"machine_name_filter: \"host\"", true, false},
		{"machine_name_filter: \"guest\"", false, true},
		{"machine_name_filter: \"guest\" machine_name_filter: \"host\"", true, true},
		{"machine_name_filter: \"gues\"", false, false},
		{this_machine, true, false},
	};

	unsetenv("PERFETTO_MACHINE_NAME");
	CHECK_INT(uname(&names), 0);
	snprintf(this_machine, sizeof(this_machine), "machine_name_filter: \"%s\"", names.sysname);
	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_pb_tracing_service_state *state;

		orma_raw_producer_open(&local, stage.daemon.producers, "local");
		orma_raw_producer_register(&local, "name: \"remote\"");
		orma_raw_remote_open(&remote, stage.daemon.tcp_port, "hint", "guest", "remote");
		orma_raw_producer_register(&remote, "name: \"remote\"");
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		orma_raw_consumer_enable(&consumer, -1,
					 "buffers { size_kb: 64 } data_sources { config { name: "
					 "\"remote\" } %s }",
					 cases[i].filter);
		orma_raw_consumer_fence(&consumer);
		state = orma_raw_consumer_query(&consumer);
		CHECK_INT(state->tracing_sessions.items[state->tracing_sessions.count - 1]
				  ->num_data_sources,
			  cases[i].has_local + cases[i].has_remote);
		if (cases[i].has_local)
			orma_raw_producer_await_start(&local, "remote");
		if (cases[i].has_remote)
			orma_raw_producer_await_start(&remote, "remote");
		orma_raw_consumer_close(&consumer);
		orma_raw_producer_close(&local);
		orma_raw_producer_close(&remote);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(a_machine_is_forgotten_when_its_relay_leaves)
{
	struct orma_stage stage;
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "a");
	CHECK(orma_raw_relay_init(&relay, "page_size: 4096"));
	orma_raw_relay_round(&relay, 1, 2);
	orma_raw_close(&relay);
	/* This is answered after the daemon has seen the other's end. */
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "b");
	CHECK(orma_raw_relay_init(&relay, "page_size: 8192"));
	orma_raw_relay_round(&relay, 3, 4);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	CHECK(!find_told(trace, orma_raw_machine_id("a"), false));
	CHECK(find_told(trace, orma_raw_machine_id("b"), false));
	CHECK_INT(count_remote(trace), 2);
	orma_raw_close(&relay);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

/* --- hostile ones ----------------------------------------------------------------------------- */

ORMA_TEST(clock_readings_out_of_order_or_without_sense_are_refused)
{
	static const struct {
		const char *request;
		bool is_taken;
	} cases[] = {
		{"phase: UPDATE clocks { clock_id: 6 timestamp: 1 }", false},
		{"clocks { clock_id: 6 timestamp: 1 }", false},
		{"1: 0 clocks { clock_id: 6 timestamp: 1 }", false},
		{"1: 3 clocks { clock_id: 6 timestamp: 1 }", false},
		{"1: 18446744073709551615 clocks { clock_id: 6 timestamp: 1 }", false},
		{"phase: PING", false},
		{"phase: PING clocks { timestamp: 1 }", false},
		{"phase: PING clocks { clock_id: 128 timestamp: 1 }", false},
		{"phase: PING clocks { clock_id: 64 timestamp: 1 }", false},
		{"phase: PING clocks { clock_id: 6 timestamp: 1 } "
		 "clocks { clock_id: 6 timestamp: 2 }",
		 false},
		{"phase: PING clocks { clock_id: 6 timestamp: 9223372036854775808 }", false},
		{"phase: PING clocks { clock_id: 6 timestamp: 10 }", true},
		{"phase: PING clocks { clock_id: 6 timestamp: 20 }", true},
		{"phase: PING 2: 7 900: \"unknown\" clocks { clock_id: 6 timestamp: 30 }", true},
		{"phase: UPDATE clocks { clock_id: 6 timestamp: 40 }", true},
		{"phase: UPDATE clocks { clock_id: 6 timestamp: 50 }", false},
	};
	struct orma_stage stage;
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "hint");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
		if (orma_raw_relay_sync(&relay, cases[i].request) != cases[i].is_taken)
			orma_test_fail(__FILE__, __LINE__, "case %zu", i);
	CHECK(!orma_raw_call(&relay, "SyncClock", ORMA_STR("\x08\x01\x12\x05\x08"))->success);
	CHECK(!orma_raw_call(&relay, "SyncClock", ORMA_STR("\x08\x01\x12\x01\x08"))->success);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	const struct orma_pb_trace_packet *packet =
		find_told(orma_raw_consumer_read(&consumer), orma_raw_machine_id("hint"), true);
	CHECK(packet);
	CHECK_INT(packet->remote_clock_sync->synced_clocks.count, 2);
	CHECK_INT(packet->remote_clock_sync->synced_clocks.items[0]
			  ->client_clocks->clocks.items[0]
			  ->timestamp,
		  30);
	orma_raw_close(&relay);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(thousands_of_clocks_and_of_readings_leave_no_trace_but_the_newest)
{
	struct orma_stage stage;
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf request = {0};

	orma_stage_open(&stage);
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "hint");
	orma_base_buf_append(&request, "\x08\x01", 2);
	for (unsigned i = 0; i < 20000; i++)
		orma_base_buf_append(&request, "\x12\x04\x08\x06\x10\x01", 6);
	CHECK(!orma_raw_call(&relay, "SyncClock",
			     (struct orma_str){(const char *)request.data, request.size})
		       ->success);
	for (uint64_t i = 1; i <= 3000; i++)
		orma_raw_relay_round(&relay, 10 * i, 10 * i + 1);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	const struct orma_pb_trace_packet *packet =
		find_told(orma_raw_consumer_read(&consumer), orma_raw_machine_id("hint"), true);
	CHECK(packet);
	CHECK_INT(packet->remote_clock_sync->synced_clocks.count, 5);
	CHECK_INT(packet->remote_clock_sync->synced_clocks.items[4]
			  ->client_clocks->clocks.items[0]
			  ->timestamp,
		  30001);
	orma_raw_close(&relay);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_system_of_any_size_and_shape_said_any_number_of_times_is_survived)
{
	const struct orma_str broken[] = {ORMA_STR("\x0a\x05x"), ORMA_STR("\x0a\x02\x0a\x7f"),
					  ORMA_STR("\xff"), ORMA_STR("\x0a\x01\x0b"),
					  ORMA_STR("\x0a\x04\x0a\x02\x0a\x09")};
	struct orma_stage stage;
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;
	static const uint8_t head[] = {0x0a, 0x9b, 0x8d, 0x06, 0xba, 0x3e, 0x96, 0x8d, 0x06};
	static char huge[sizeof(head) + 99990];

	orma_stage_open(&stage);
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "hint");
	for (int i = 0; i < 500; i++)
		CHECK(orma_raw_relay_init(&relay, "page_size: 1"));
	CHECK(orma_raw_relay_init(&relay, "utsname { sysname: \"last\" } 999: \"unknown\""));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(broken); i++)
		CHECK(!orma_raw_call(&relay, "InitRelay", broken[i])->success);
	/* system_info { 999: "xxx..." } */
	memset(huge, 'x', sizeof(huge));
	memcpy(huge, head, sizeof(head));
	CHECK(!orma_raw_call(&relay, "InitRelay", (struct orma_str){huge, sizeof(huge)})->success);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	const struct orma_pb_trace_packet *packet =
		find_told(orma_raw_consumer_read(&consumer), orma_raw_machine_id("hint"), false);
	CHECK(packet && orma_base_str_is(packet->system_info->utsname->sysname, "last"));
	/* An empty one removes it. */
	CHECK(orma_raw_call(&relay, "InitRelay", ORMA_STR(""))->success);
	orma_raw_consumer_close(&consumer);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	CHECK_INT(count_remote(orma_raw_consumer_read(&consumer)), 0);
	orma_raw_close(&relay);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(calls_of_any_bytes_are_survived)
{
	static const char good[] =
		"\x08\x01\x12\x0c\x08\x06\x10\x80\x80\x80\x80\x80\x80\x80\x80\x01"
		"\x12\x04\x08\x03\x10\x05";
	struct orma_stage stage;
	struct orma_raw_client relay;
	uint32_t random = 1;
	int taken = 0;

	orma_stage_open(&stage);
	orma_raw_relay_open(&relay, stage.daemon.tcp_port, "hint");
	for (int i = 0; i < 6000; i++) {
		char bytes[sizeof(good)];
		size_t size = (random >> 8) % sizeof(good);

		memcpy(bytes, good, sizeof(good));
		for (unsigned change = 0; change < 3 && i % 3; change++) {
			random = random * 1664525u + 1013904223u;
			bytes[(random >> 8) % (sizeof(good) - 1)] = (char)(random >> 24);
		}
		if (i % 2)
			size = sizeof(good) - 1;
		taken += orma_raw_call(&relay, i % 5 ? "SyncClock" : "InitRelay",
				       (struct orma_str){bytes, size})
				 ->success;
	}
	CHECK(taken > 100 && taken < 5900);
	orma_bystander_check(&stage.bystander);
	CHECK(orma_raw_relay_init(&relay, "page_size: 1"));
	orma_raw_close(&relay);
	orma_stage_close(&stage);
}

ORMA_TEST(a_relay_that_does_not_say_whose_it_is_speaks_for_nobody)
{
	struct orma_stage stage;
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_connect_tcp(&relay, stage.daemon.tcp_port);
	orma_raw_bind(&relay, "RelayPort");
	CHECK(orma_raw_relay_init(&relay, "utsname { sysname: \"liar\" }"));
	orma_raw_relay_round(&relay, 1, 2);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	CHECK_INT(count_remote(trace), 0);
	CHECK(!orma_base_str_is(find_told(trace, 0, false)->system_info->utsname->sysname, "liar"));
	CHECK(!find_told(trace, 0, true));
	/* It is not too late afterwards. */
	orma_raw_identify(&relay, 1, 1, "late", "late");
	orma_raw_relay_round(&relay, 3, 4);
	CHECK(find_told(orma_raw_consumer_read(&consumer), orma_raw_machine_id("late"), true));
	orma_raw_close(&relay);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(an_identity_counts_once_and_not_after_the_introduction)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;

	orma_stage_open(&stage);
	orma_raw_remote_open(&producer, stage.daemon.tcp_port, "first", "one", "twice");
	orma_raw_identify(&producer.client, 5, 6, "second", "two");
	orma_raw_producer_sync(&producer);
	const struct orma_pb_tracing_service_state_producer *told =
		find_producer(&stage.bystander.consumer, "twice");
	CHECK_INT(told->machine_id, orma_raw_machine_id("first"));
	CHECK(orma_base_str_is(told->machine_name, "one"));
	CHECK_INT(told->pid, 77);
	CHECK_INT(told->uid, 1234);
	orma_raw_producer_close(&producer);

	/* Between bind and introduction it still counts; after the introduction it does not. */
	orma_raw_producer_connect_tcp(&producer, stage.daemon.tcp_port);
	orma_raw_identify(&producer.client, 5, 6, "bound", "three");
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"bound\"", -1)->success);
	CHECK_INT(find_producer(&stage.bystander.consumer, "bound")->machine_id,
		  orma_raw_machine_id("bound"));
	orma_raw_producer_close(&producer);
	orma_raw_producer_connect_tcp(&producer, stage.daemon.tcp_port);
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"behind\"", -1)->success);
	orma_raw_identify(&producer.client, 5, 6, "hint", "four");
	orma_raw_producer_sync(&producer);
	told = find_producer(&stage.bystander.consumer, "behind");
	CHECK_INT(told->machine_id, 0);
	CHECK_INT(told->pid, 0);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(no_number_of_machines_makes_the_service_grow)
{
	enum { MACHINES = 300, KNOWN = 256, AGAIN = 300 };
	static struct orma_raw_client relays[MACHINES];
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	char hint[32];
	int known = 0;

	orma_stage_open(&stage);
	for (int i = 0; i < MACHINES; i++) {
		snprintf(hint, sizeof(hint), "machine %d", i);
		orma_raw_relay_open(&relays[i], stage.daemon.tcp_port, hint);
		known += orma_raw_relay_init(&relays[i], "page_size: 1");
	}
	CHECK_INT(known, KNOWN);
	orma_bystander_check(&stage.bystander);
	enable(&consumer, stage.daemon.consumers, CONFIG);
	CHECK_INT(count_remote(orma_raw_consumer_read(&consumer)), KNOWN);
	for (int i = 0; i < MACHINES; i++)
		orma_raw_close(&relays[i]);
	/* And one after the other. */
	for (int i = 0; i < AGAIN; i++) {
		snprintf(hint, sizeof(hint), "again %d", i);
		orma_raw_relay_open(&relays[0], stage.daemon.tcp_port, hint);
		CHECK(orma_raw_relay_init(&relays[0], "page_size: 1"));
		if (i < AGAIN - 1)
			orma_raw_close(&relays[0]);
	}
	CHECK_INT(count_remote(orma_raw_consumer_read(&consumer)), 1);
	orma_raw_close(&relays[0]);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(calls_of_a_relay_between_those_of_a_producer_are_served)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_client *client = &producer.client;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_remote_open(&producer, stage.daemon.tcp_port, "hint", "guest", "both");
	orma_raw_producer_register(&producer, "name: \"remote\"");
	orma_raw_bind(client, "RelayPort");
	CHECK(orma_raw_relay_init(client, "page_size: 1"));
	orma_raw_relay_round(client, 1, 2);
	/* The relay gets no answer, and its reports stay valid. */
	CHECK(orma_raw_invoke(client, "SyncClock", ORMA_STR("\x08\x01\x12\x04\x08\x06\x10\x03"), -1,
			      ORMA_RAW_DROP_REPLY));
	CHECK(!orma_raw_await(client, orma_raw_invoke_id(client, client->service_id, 3,
							 ORMA_STR(""), -1, 0))
		       ->success);
	enable(&consumer, stage.daemon.consumers, CONFIG "trace_all_machines: true");
	orma_raw_bind(client, "ProducerPort");
	orma_raw_producer_await_start(&producer, "remote");
	emit(&producer, 0, "x");
	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	CHECK_INT(count_remote(trace), 3);
	CHECK_INT(find_told(trace, orma_raw_machine_id("hint"), true)
			  ->remote_clock_sync->synced_clocks.count,
		  2);
	orma_raw_producer_close(&producer);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

/* --- which sockets ---------------------------------------------------------------------------- */

static int listen_tcp(uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(bind(fd, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(fd, 10), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

/* Binds a service on a new connection. */
static bool serves(struct orma_raw_client *client, const char *service)
{
	struct orma_ipc_envelope envelope;
	struct orma_raw_frame *frame;

	CHECK_INT(orma_ipc_envelope_bind(&envelope, 1, strlen(service)), 0);
	CHECK(orma_raw_send(client, envelope.prefix, envelope.prefix_size));
	CHECK(orma_raw_send(client, service, strlen(service)));
	CHECK(orma_raw_next(client, &frame));
	CHECK_INT(frame->kind, ORMA_IPC_FRAME_BIND_REPLY);
	return frame->success;
}

static bool serves_on_path(const char *path, const char *service)
{
	struct orma_raw_client client;

	orma_raw_connect(&client, path);
	bool result = serves(&client, service);
	orma_raw_close(&client);
	return result;
}

static bool serves_on_tcp(uint16_t port, const char *service)
{
	struct orma_raw_client client;

	orma_raw_connect_tcp(&client, port);
	bool result = serves(&client, service);
	orma_raw_close(&client);
	return result;
}

ORMA_TEST(relays_are_served_only_where_that_was_asked_for)
{
	char first[108], second[108], list[217];

	snprintf(first, sizeof(first), "%s/first", orma_test_tmpdir());
	snprintf(second, sizeof(second), "%s/second", orma_test_tmpdir());
	snprintf(list, sizeof(list), "%s,%s", first, second);
	const struct {
		const char *options[4];
		bool on_first, on_second;
	} cases[] = {
		{{NULL}, false, false},
		{{"--enable-relay-endpoint"}, true, true},
		{{"--enable-relay-endpoint-on", second}, false, true},
		{{"--enable-relay-endpoint-on", second, "--enable-relay-endpoint-on", first},
		 true,
		 true},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_test_process process = {.options = {NULL}};

		memcpy(process.options, cases[i].options, sizeof(cases[i].options));
		CHECK(strlen(list) < sizeof(process.producers));
		memcpy(process.producers, list, strlen(list) + 1);
		CHECK(orma_test_process_start(&process));
		CHECK(serves_on_path(first, "ProducerPort"));
		CHECK(serves_on_path(second, "ProducerPort"));
		CHECK_INT(serves_on_path(first, "RelayPort"), cases[i].on_first);
		CHECK_INT(serves_on_path(second, "RelayPort"), cases[i].on_second);
		CHECK(!serves_on_path(process.consumers, "RelayPort"));
		CHECK_INT(orma_test_process_stop(&process), 0);
	}
}

ORMA_TEST(a_relay_endpoint_on_no_producer_socket_is_an_error)
{
	static const char *const wrong[] = {"/nowhere", "@abstract", "127.0.0.1:1", "", "[::"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++) {
		char expected[128];
		struct orma_test_process process = {
			.options = {"--enable-relay-endpoint-on", wrong[i]}};

		CHECK(!orma_test_process_start(&process));
		CHECK_INT(orma_test_process_wait(&process), 1);
		snprintf(expected, sizeof(expected),
			 "--enable-relay-endpoint-on %s: that is none of the sockets for producers",
			 wrong[i]);
		CHECK(strstr(orma_test_process_messages(), expected));
		CHECK(access(process.producers, F_OK) < 0);
	}
}

ORMA_TEST(inherited_sockets_serve_relays_by_their_address)
{
	uint16_t ports[2];
	int fds[2] = {listen_tcp(&ports[0]), listen_tcp(&ports[1])};
	char address[32];
	struct orma_test_process process = {
		.options = {"--enable-relay-endpoint-on", address, "--seccomp=kill"},
		.fds = {fds[0], fds[1]},
		.fd_count = 2,
		.says_listen_pid = true,
		.variables = {"LISTEN_FDNAMES=producer:producer"},
	};

	snprintf(address, sizeof(address), "localhost:%u", ports[1]);
	/* Builds with a sanitizer have no filter. */
	if (!orma_test_process_start(&process)) {
		CHECK_INT(orma_test_process_wait(&process), 1);
		CHECK(strstr(orma_test_process_messages(),
			     "cannot install the system call filter"));
		process.options[2] = NULL;
		CHECK(orma_test_process_start(&process));
	}
	close(fds[0]);
	close(fds[1]);
	CHECK(!serves_on_tcp(ports[0], "RelayPort"));
	CHECK(serves_on_tcp(ports[1], "RelayPort"));

	/* Everything works behind the system call filter, even finding the address of a relay
	 * without a hint. */
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;
	orma_raw_relay_open(&relay, ports[1], "");
	CHECK(orma_raw_relay_init(&relay, "page_size: 1"));
	orma_raw_relay_round(&relay, 1, 2);
	enable(&consumer, process.consumers, CONFIG);
	CHECK_INT(count_remote(orma_raw_consumer_read(&consumer)), 2);
	orma_raw_consumer_close(&consumer);
	orma_raw_close(&relay);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(on_a_socket_of_this_machine_a_relay_is_answered_and_not_believed)
{
	struct orma_test_process process = {.options = {"--enable-relay-endpoint"}};
	struct orma_raw_client relay;
	struct orma_raw_consumer consumer;

	CHECK(orma_test_process_start(&process));
	orma_raw_connect(&relay, process.producers);
	orma_raw_identify(&relay, 1, 0, "hint", "guest");
	orma_raw_bind(&relay, "RelayPort");
	CHECK(orma_raw_relay_init(&relay, "utsname { sysname: \"liar\" }"));
	orma_raw_relay_round(&relay, 1, 2);
	enable(&consumer, process.consumers, CONFIG);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	CHECK_INT(count_remote(trace), 0);
	CHECK(!find_told(trace, 0, true));
	orma_raw_close(&relay);
	orma_raw_consumer_close(&consumer);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(a_query_says_which_machine_a_producer_is_of_when_there_are_several)
{
	uint16_t port;
	int fd = listen_tcp(&port);
	struct orma_test_process process = {
		.fds = {fd}, .fd_count = 1, .variables = {"ANDROID_SOCKET_traced_producer=3"}};
	struct orma_raw_producer named, nameless;
	char id[16];

	CHECK(orma_test_process_start(&process));
	close(fd);
	CHECK_INT(orma_test_process_run(&process, "orma", (const char *const[]){"query", NULL}), 0);
	CHECK(!strstr(orma_test_process_messages(), "MACHINE"));
	orma_raw_remote_open(&named, port, "a", "gu\x1b[est", "named");
	orma_raw_producer_register(&named, "name: \"remote\"");
	orma_raw_remote_open(&nameless, port, "b", "", "nameless");
	CHECK_INT(orma_test_process_run(&process, "orma", (const char *const[]){"query", NULL}), 0);
	const char *messages = orma_test_process_messages();
	snprintf(id, sizeof(id), "0x%x", orma_raw_machine_id("b"));
	CHECK(strstr(messages, "FLAGS  MACHINE              NAME"));
	CHECK(strstr(messages, "gu\\x1b[est              named"));
	CHECK(strstr(messages, "named (1)                    gu\\x1b[est"));
	CHECK(strstr(messages, id));
	orma_raw_producer_close(&named);
	orma_raw_producer_close(&nameless);
	CHECK_INT(orma_test_process_stop(&process), 0);
}
