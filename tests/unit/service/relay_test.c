/* SPDX-License-Identifier: Apache-2.0
 * relay_test.c - what relays say of other machines, and what of it traces hold.
 */
#include "fixture.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/remote_clock_sync.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/test_event.pb.h"

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets;
};

static void open_scene(struct scene *scene, const char *config)
{
	memset(scene, 0, sizeof(*scene));
	world_open(&scene->world);
	producer_open(&scene->world, &scene->producer, "p");
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
	consumer_open(&scene->world, &scene->consumer);
	if (config)
		enable_ok(&scene->consumer, config);
}

static void close_scene(struct scene *scene)
{
	packets_done(&scene->packets);
	consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

static struct orma_relay_port *open_relay(struct world *world, uint32_t machine_id)
{
	struct orma_relay_info info = {.struct_size = sizeof(info), .machine_id = machine_id};
	struct orma_relay_port *port;

	CHECK_INT(orma_relay_port_open(world->service, &info, &port), 0);
	return port;
}

static int say_system(struct orma_relay_port *port, const char *text)
{
	struct orma_buf buf = encode_text(&orma_pb_system_info_desc, text);
	int r = orma_relay_port_set_system_info(port, buf.data, buf.size);

	orma_base_buf_done(&buf);
	return r;
}

/* Boot time and wall time of a machine. */
static int say_clocks(struct orma_relay_port *port, enum orma_relay_phase phase, uint64_t boot_ns)
{
	struct orma_relay_clock clocks[] = {{6, boot_ns}, {1, boot_ns + 5}};

	return orma_relay_port_sync_clocks(port, phase, clocks, ORMA_ARRAY_SIZE(clocks));
}

static void say_round(struct orma_relay_port *port, uint64_t boot_ns)
{
	CHECK_INT(say_clocks(port, ORMA_RELAY_PING, boot_ns), 0);
	CHECK_INT(say_clocks(port, ORMA_RELAY_UPDATE, boot_ns + 1), 0);
}

/* Lists the packets of a read that concern other machines, in order: "info:7=Linux", and
 * "clocks:7=100/101" with the readings' boot times; "service" for each packet of this service. */
static const char *told(struct scene *scene, bool with_service)
{
	static struct log log;

	log_clear(&log);
	packets_done(&scene->packets);
	read_all(&scene->consumer, &scene->packets);
	for (size_t i = 0; i < scene->packets.count; i++) {
		const struct orma_pb_trace_packet *packet = scene->packets.items[i];
		const struct orma_pb_remote_clock_sync *sync = packet->remote_clock_sync;

		if (packet->machine_id == 0) {
			CHECK(!sync);
			if (with_service && !packet->for_testing)
				log_add(&log, packet->system_info ? "system" : "service");
			continue;
		}
		CHECK_INT(packet->trusted_uid, getuid());
		CHECK(sync || packet->system_info);
		if (packet->system_info)
			log_add(&log, "info:%u=%.*s", packet->machine_id,
				(int)packet->system_info->utsname->sysname.size,
				packet->system_info->utsname->sysname.data);
		for (size_t j = 0; sync && j < sync->synced_clocks.count; j++)
			log_add(&log, "%u:%llu", packet->machine_id,
				(unsigned long long)sync->synced_clocks.items[j]
					->client_clocks->clocks.items[0]
					->timestamp);
	}
	return log.text;
}

ORMA_TEST(a_machines_system_and_clocks_are_told_once)
{
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Linux' } 900: 5"), 0);
	say_round(relay, 100);
	CHECK_STR(told(&s, false), "info:7=Linux 7:100 7:101");
	say_round(relay, 200);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Other' }"), 0);
	CHECK_STR(told(&s, false), "");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(packets_of_other_machines_stand_behind_this_machines)
{
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER "builtin_data_sources { disable_service_events: true }");
	relay = open_relay(&s.world, 7);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Linux' } 900: 5"), 0);
	say_round(relay, 100);
	send_packet(&s.producer, 0, "a");
	/* Clocks twice, marker, config, uuid, provenance; stats. */
	CHECK_STR(told(&s, true), "service service service service service service system "
				  "info:7=Linux 7:100 7:101 service");
	for (size_t i = 0; i < s.packets.count; i++) {
		const struct orma_pb_trace_packet *packet = s.packets.items[i];

		if (packet->machine_id && packet->system_info) {
			/* Unknown fields are passed on. */
			CHECK(packet->system_info->base.unknown);
			CHECK_INT(packet->trusted_packet_sequence_id, 1);
		}
		if (packet->remote_clock_sync)
			CHECK(!orma_pb_trace_packet_has_trusted_packet_sequence_id(packet));
	}
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(readings_of_both_sides_are_kept_together)
{
	struct scene s;
	struct orma_relay_port *relay;
	const struct orma_pb_remote_clock_sync *sync = NULL;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, UINT32_MAX);
	CHECK_INT(say_clocks(relay, ORMA_RELAY_PING, 100), 0);
	pass_ns(&s.world, 1000);
	CHECK_INT(say_clocks(relay, ORMA_RELAY_UPDATE, 900), 0);
	told(&s, false);
	for (size_t i = 0; i < s.packets.count; i++) {
		if (!s.packets.items[i]->remote_clock_sync)
			continue;
		CHECK_INT(s.packets.items[i]->machine_id, UINT32_MAX);
		sync = s.packets.items[i]->remote_clock_sync;
	}
	CHECK(sync);
	CHECK_INT(sync->synced_clocks.count, 2);
	for (uint64_t i = 0; i < 2; i++) {
		const struct orma_pb_clock_snapshot *client =
			sync->synced_clocks.items[i]->client_clocks;
		const struct orma_pb_clock_snapshot *host =
			sync->synced_clocks.items[i]->host_clocks;

		CHECK_INT(client->clocks.count, 2);
		CHECK_INT(client->clocks.items[0]->clock_id, 6);
		CHECK_INT(client->clocks.items[0]->timestamp, i ? 900 : 100);
		CHECK_INT(client->clocks.items[1]->clock_id, 1);
		CHECK(host->clocks.count >= 6);
		CHECK_INT(host->clocks.items[0]->clock_id, 6);
		CHECK_INT(host->clocks.items[0]->timestamp, START_NS + i * 1000);
	}
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(the_five_newest_readings_are_kept)
{
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	for (uint64_t boot_ns = 100; boot_ns <= 1000; boot_ns += 100)
		say_round(relay, boot_ns);
	CHECK_STR(told(&s, false), "7:801 7:900 7:901 7:1000 7:1001");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(a_trace_that_is_being_streamed_hears_of_later_rounds_now_and_then)
{
	struct scene s;
	struct orma_consumer_port *first;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	say_round(relay, 100);
	CHECK_STR(told(&s, false), "7:100 7:101");
	for (uint64_t i = 0; i < 30; i++) {
		say_round(relay, 200 + i);
		CHECK_STR(told(&s, false), "");
	}
	pass_ms(&s.world, 30000);
	CHECK_STR(told(&s, false), "");
	say_round(relay, 300);
	CHECK_STR(told(&s, false), "7:229 7:229 7:230 7:300 7:301");
	/* A measurement under way is not part of it. */
	pass_ms(&s.world, 30000);
	CHECK_INT(say_clocks(relay, ORMA_RELAY_PING, 400), 0);
	CHECK_STR(told(&s, false), "");
	CHECK_INT(say_clocks(relay, ORMA_RELAY_UPDATE, 401), 0);
	CHECK_STR(told(&s, false), "7:400 7:401");
	/* A new session gets everything; a session that has it already gets nothing. */
	say_round(relay, 500);
	first = s.consumer.port;
	consumer_open(&s.world, &s.consumer);
	enable_ok(&s.consumer, ONE_BUFFER);
	CHECK_STR(told(&s, false), "7:301 7:400 7:401 7:500 7:501");
	CHECK_STR(told(&s, false), "");
	consumer_close(&s.consumer);
	s.consumer.port = first;
	CHECK_STR(told(&s, false), "7:500 7:501");
	/* News that nobody has read may be gone by then. */
	pass_ms(&s.world, 30000);
	for (uint64_t i = 0; i < 4; i++)
		say_round(relay, 600 + 10 * i);
	CHECK_STR(told(&s, false), "");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(readings_out_of_order_make_no_round)
{
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	CHECK_INT(say_clocks(relay, ORMA_RELAY_UPDATE, 1), -EPROTO);
	CHECK_INT(say_clocks(relay, (enum orma_relay_phase)0, 2), -EPROTO);
	CHECK_INT(say_clocks(relay, (enum orma_relay_phase)3, 3), -EPROTO);
	CHECK_STR(told(&s, false), "");
	for (uint64_t i = 10; i < 100; i++)
		CHECK_INT(say_clocks(relay, ORMA_RELAY_PING, i), 0);
	/* A beginning alone says nothing. */
	CHECK_STR(told(&s, false), "");
	CHECK_INT(say_clocks(relay, ORMA_RELAY_UPDATE, 100), 0);
	CHECK_INT(say_clocks(relay, ORMA_RELAY_UPDATE, 101), -EPROTO);
	CHECK_STR(told(&s, false), "7:99 7:100");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(readings_that_nobody_could_use_are_refused)
{
	static const struct orma_relay_clock cases[][2] = {
		{{0, 1}, {6, 1}},           {{64, 1}, {6, 1}},
		{{6, 1}, {200, 1}},         {{6, 1}, {6, 2}},
		{{63, 1}, {6, UINT64_MAX}}, {{6, (uint64_t)INT64_MAX + 1}, {1, 1}},
		{{63, 1}, {63, 1}}};
	struct orma_relay_clock many[ORMA_SERVICE_RELAY_CLOCKS_MAX + 1];
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	CHECK_INT(say_clocks(relay, ORMA_RELAY_PING, 5), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
		for (unsigned phase = 1; phase <= 2; phase++)
			CHECK_INT(orma_relay_port_sync_clocks(relay, (enum orma_relay_phase)phase,
							      cases[i], 2),
				  -EPROTO);
	for (uint32_t i = 0; i < ORMA_ARRAY_SIZE(many); i++)
		many[i] = (struct orma_relay_clock){i + 1, i == 5 ? 9 : i};
	CHECK_INT(
		orma_relay_port_sync_clocks(relay, ORMA_RELAY_UPDATE, many, ORMA_ARRAY_SIZE(many)),
		-EMSGSIZE);
	CHECK_INT(orma_relay_port_sync_clocks(relay, ORMA_RELAY_UPDATE, many, 0), -EPROTO);
	CHECK_STR(told(&s, false), "");
	CHECK_INT(orma_relay_port_sync_clocks(relay, ORMA_RELAY_UPDATE, many,
					      ORMA_SERVICE_RELAY_CLOCKS_MAX),
		  0);
	/* The first clock of each reading. */
	CHECK_STR(told(&s, false), "7:5 7:0");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(a_system_that_is_none_is_refused_and_the_last_one_holds)
{
	static const uint8_t cut[] = {0x0a, 0x05, 'x'};
	static uint8_t huge[ORMA_SERVICE_SYSTEM_INFO_BYTES_MAX + 1];
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	CHECK_INT(orma_relay_port_set_system_info(relay, NULL, 0), 0);
	CHECK_STR(told(&s, false), "");
	CHECK_INT(say_system(relay, "utsname { sysname: 'First' }"), 0);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Linux' }"), 0);
	CHECK_INT(orma_relay_port_set_system_info(relay, cut, sizeof(cut)), -EBADMSG);
	CHECK_INT(orma_relay_port_set_system_info(relay, huge, sizeof(huge)), -EMSGSIZE);
	CHECK_STR(told(&s, false), "info:7=Linux");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(of_several_relays_of_a_machine_the_oldest_speaks)
{
	struct scene s;
	struct orma_relay_port *old, *young, *other;

	open_scene(&s, ONE_BUFFER);
	old = open_relay(&s.world, 7);
	young = open_relay(&s.world, 7);
	other = open_relay(&s.world, 3);
	CHECK_INT(say_system(young, "utsname { sysname: 'Young' }"), 0);
	say_round(young, 500);
	CHECK_INT(say_system(old, "utsname { sysname: 'Old' }"), 0);
	CHECK_INT(say_system(other, "utsname { sysname: 'Three' }"), 0);
	say_round(old, 100);
	CHECK_STR(told(&s, false), "info:7=Old info:3=Three 7:100 7:101");
	say_round(other, 900);
	CHECK_STR(told(&s, false), "3:900 3:901");
	orma_relay_port_close(old);
	orma_relay_port_close(young);
	orma_relay_port_close(other);
	close_scene(&s);
}

ORMA_TEST(machines_that_come_late_are_told_and_those_that_left_are_not)
{
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, ONE_BUFFER);
	relay = open_relay(&s.world, 7);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Gone' }"), 0);
	say_round(relay, 100);
	orma_relay_port_close(relay);
	CHECK_STR(told(&s, false), "");
	relay = open_relay(&s.world, 8);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Late' }"), 0);
	CHECK_STR(told(&s, false), "info:8=Late");
	say_round(relay, 200);
	CHECK_STR(told(&s, false), "8:200 8:201");
	/* It comes again: a new connection is news. */
	orma_relay_port_close(relay);
	relay = open_relay(&s.world, 8);
	say_round(relay, 300);
	CHECK_STR(told(&s, false), "8:300 8:301");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(each_session_is_told_for_itself_and_switches_leave_packets_out)
{
	static const struct {
		const char *config, *told;
	} cases[] = {
		{ONE_BUFFER, "info:7=Linux 7:100 7:101"},
		{ONE_BUFFER "builtin_data_sources { disable_system_info: true }", "7:100 7:101"},
		{ONE_BUFFER "builtin_data_sources { disable_clock_snapshotting: true }",
		 "info:7=Linux"},
		{ONE_BUFFER "trace_all_machines: true", "info:7=Linux 7:100 7:101"},
	};
	struct scene s;
	struct orma_relay_port *relay;

	open_scene(&s, NULL);
	relay = open_relay(&s.world, 7);
	CHECK_INT(say_system(relay, "utsname { sysname: 'Linux' }"), 0);
	say_round(relay, 100);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		consumer_close(&s.consumer);
		consumer_open(&s.world, &s.consumer);
		enable_ok(&s.consumer, cases[i].config);
		CHECK_STR(told(&s, false), cases[i].told);
		CHECK_STR(told(&s, false), "");
	}
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(packets_of_a_remote_producer_carry_its_machine)
{
	struct orma_producer_info info = producer_info("remote");
	struct producer remote;
	struct scene s;
	size_t seen = 0;

	info.machine_id = 0xfedcba98;
	info.machine_name = "guest";
	open_scene(&s, NULL);
	CHECK_INT(producer_try(&s.world, &remote, &info), 0);
	CHECK_INT(register_source(&remote, "name: 'test'"), 0);
	enable_ok(&s.consumer, ONE_BUFFER "trace_all_machines: true");
	send_packet(&remote, 0, "there");
	send_packet(&s.producer, 0, "here");
	read_all(&s.consumer, &s.packets);
	for (size_t i = 0; i < s.packets.count; i++) {
		const struct orma_pb_trace_packet *packet = s.packets.items[i];
		bool is_remote =
			packet->for_testing && orma_base_str_is(packet->for_testing->str, "there");

		CHECK_INT(packet->machine_id, is_remote ? 0xfedcba98 : 0);
		CHECK_INT(orma_pb_trace_packet_has_machine_id(packet), is_remote);
		seen += is_remote;
	}
	CHECK_INT(seen, 1);
	producer_close(&remote);
	close_scene(&s);
}

ORMA_TEST(the_state_names_other_machines_and_not_this_one)
{
	struct orma_producer_info info = producer_info("remote");
	struct orma_pb_tracing_service_state *state;
	struct orma_arena arena = {0};
	struct producer local, remote;
	struct scene s;
	const void *data;
	size_t size;

	open_scene(&s, NULL);
	info.machine_name = "Linux";
	CHECK_INT(producer_try(&s.world, &local, &info), 0);
	info.machine_id = 9;
	info.machine_name = "guest";
	CHECK_INT(producer_try(&s.world, &remote, &info), 0);
	CHECK_INT(orma_consumer_port_query_state(s.consumer.port, false, &data, &size), 0);
	CHECK_INT(orma_pb_tracing_service_state_decode(data, size, &arena, &state), 0);
	CHECK_INT(state->producers.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct orma_pb_tracing_service_state_producer *producer =
			state->producers.items[i];
		bool is_remote = i == 2;

		CHECK_INT(orma_pb_tracing_service_state_producer_has_machine_id(producer),
			  is_remote);
		CHECK_INT(producer->machine_id, is_remote ? 9 : 0);
		CHECK(orma_base_str_is(producer->machine_name, is_remote ? "guest" : ""));
	}
	orma_base_arena_done(&arena);
	producer_close(&local);
	producer_close(&remote);
	close_scene(&s);
}

ORMA_TEST(relays_are_limited_and_never_of_this_machine)
{
	struct orma_relay_info info = {.struct_size = sizeof(info)};
	struct orma_relay_port *ports[ORMA_SERVICE_RELAYS_MAX], *port = NULL;
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	CHECK_INT(orma_relay_port_open(s.world.service, &info, &port), -EINVAL);
	info.machine_id = 1;
	info.struct_size = 1;
	CHECK_INT(orma_relay_port_open(s.world.service, &info, &port), -EINVAL);
	for (uint32_t i = 0; i < ORMA_SERVICE_RELAYS_MAX; i++)
		ports[i] = open_relay(&s.world, i + 1);
	info.struct_size = sizeof(info);
	CHECK_INT(orma_relay_port_open(s.world.service, &info, &port), -ENOSPC);
	orma_relay_port_close(ports[100]);
	CHECK_INT(orma_relay_port_open(s.world.service, &info, &ports[100]), 0);
	CHECK(!port);
	/* The rest goes with the service. */
	orma_relay_port_close(ports[0]);
	orma_relay_port_close(NULL);
	close_scene(&s);
}

ORMA_TEST(without_memory_a_relay_is_refused_and_reading_goes_on_later)
{
	struct orma_relay_info info = {.struct_size = sizeof(info), .machine_id = 7};
	struct orma_buf system = encode_text(&orma_pb_system_info_desc, "page_size: 4096");
	struct orma_relay_port *port = NULL;
	struct scene s;
	int r;

	open_scene(&s, ONE_BUFFER);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_relay_port_open(s.world.service, &info, &port), -ENOMEM);
	orma_test_fail_allocation(0);
	port = open_relay(&s.world, 7);
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_relay_port_set_system_info(port, system.data, system.size);
		if (!orma_test_allocation_failed())
			break;
		CHECK_INT(r, -ENOMEM);
	}
	orma_test_fail_allocation(0);
	CHECK_INT(r, 0);
	orma_base_buf_done(&system);
	orma_relay_port_close(port);
	close_scene(&s);
}
