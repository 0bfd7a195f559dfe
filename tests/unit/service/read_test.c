/* SPDX-License-Identifier: Apache-2.0
 * read_test.c - what a trace holds beside its data, in which order, and what the statistics say.
 */
#include <sys/utsname.h>

#include "fixture.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/concurrent_session_event.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_provenance.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "schema/gen/trace_uuid.pb.h"

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
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
	enable_ok(&scene->consumer, config);
}

static void close_scene(struct scene *scene)
{
	packets_done(&scene->packets);
	consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

static const char *kinds(struct scene *scene)
{
	packets_done(&scene->packets);
	read_all(&scene->consumer, &scene->packets);
	return kinds_of(&scene->packets);
}

static const struct orma_pb_trace_packet *find(struct scene *scene, const char *kind)
{
	for (size_t i = 0; i < scene->packets.count; i++) {
		struct packets one = {.items = {scene->packets.items[i]}, .count = 1};

		if (strcmp(kinds_of(&one), kind) == 0)
			return scene->packets.items[i];
	}
	orma_test_fail(__FILE__, __LINE__, "no %s", kind);
}

ORMA_TEST(packets_come_in_the_order_of_the_format_and_initial_ones_once)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	send_packet(&s.producer, 0, "a");
	flush(&s.consumer, 0);
	answer_flush(&s.producer);
	CHECK_STR(kinds(&s), "clocks clocks sync config uuid provenance system started all_started "
			     "flush flushed data read stats");
	send_packet(&s.producer, 1, "b");
	CHECK_STR(kinds(&s), "data read");
	pass_ms(&s.world, 10000);
	CHECK_STR(kinds(&s), "clocks sync read stats");
	orma_consumer_port_disable(s.consumer.port);
	CHECK_STR(kinds(&s), "clocks disabled read stats");
	close_scene(&s);
}

ORMA_TEST(builtin_switches_leave_packets_out)
{
	static const struct {
		const char *knob, *kinds;
	} cases[] = {
		{"disable_clock_snapshotting", "sync config uuid provenance system started "
					       "all_started disabled read stats"},
		{"disable_trace_config", "clocks clocks sync uuid provenance system started "
					 "all_started disabled read stats"},
		{"disable_system_info", "clocks clocks sync config uuid provenance started "
					"all_started disabled read stats"},
		{"disable_service_events",
		 "clocks clocks sync config uuid provenance system stats"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene s;
		char config[256];

		snprintf(config, sizeof(config), ONE_BUFFER "builtin_data_sources { %s: true }",
			 cases[i].knob);
		open_scene(&s, config);
		orma_consumer_port_disable(s.consumer.port);
		CHECK_STR(kinds(&s), cases[i].kinds);
		close_scene(&s);
	}
}

ORMA_TEST(own_packets_say_who_and_when)
{
	static const uint8_t marker[] = {0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
					 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79};
	const struct orma_pb_trace_packet *packet;
	struct utsname names;
	struct scene s;

	open_scene(&s, ONE_BUFFER
		   "unique_session_name: 'mine' "
		   "builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }");
	kinds(&s);
	for (size_t i = 0; i < s.packets.count; i++) {
		packet = s.packets.items[i];
		CHECK(orma_pb_trace_packet_has_trusted_uid(packet));
		CHECK_INT(packet->trusted_uid, (int32_t)geteuid());
		CHECK_INT(packet->trusted_packet_sequence_id, 1);
		CHECK_INT(packet->timestamp_clock_id, packet->synchronization_marker.size ? 0 : 6);
	}
	packet = find(&s, "sync");
	CHECK_MEM(packet->synchronization_marker.data, packet->synchronization_marker.size, marker,
		  16);
	CHECK_INT(find(&s, "started")->timestamp, START_NS);
	CHECK_INT(find(&s, "provenance")->timestamp, START_NS);
	packet = find(&s, "uuid");
	CHECK(packet->trace_uuid->msb == 0x5a5a5a5a5a5a4a5a);
	CHECK(packet->trace_uuid->lsb == (int64_t)UINT64_C(0x9a5a5a5a5a5a5a5a));
	packet = find(&s, "config");
	CHECK(orma_base_str_is(packet->trace_config->unique_session_name, "mine"));
	packet = find(&s, "system");
	CHECK(orma_base_str_is(packet->system_info->tracing_service_version, "test 1"));
	CHECK_INT(uname(&names), 0);
	CHECK(orma_base_str_is(packet->system_info->utsname->sysname, names.sysname));
	CHECK(orma_base_str_is(packet->system_info->utsname->version, names.version));
	CHECK(orma_base_str_is(packet->system_info->utsname->release, names.release));
	CHECK(orma_base_str_is(packet->system_info->utsname->machine, names.machine));
	CHECK_INT(packet->system_info->hz, sysconf(_SC_CLK_TCK));
	CHECK(orma_pb_system_info_has_timezone_off_mins(packet->system_info));
	CHECK_INT(packet->system_info->num_cpus, sysconf(_SC_NPROCESSORS_CONF));
	CHECK_INT(packet->system_info->page_size, sysconf(_SC_PAGESIZE));
	CHECK(packet->system_info->system_ram_bytes ==
	      (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	packet = find(&s, "clocks");
	CHECK_INT(packet->clock_snapshot->primary_trace_clock, 3);
	CHECK(packet->clock_snapshot->clocks.count >= 6);
	for (size_t i = 0; i < 6; i++) {
		uint32_t id = packet->clock_snapshot->clocks.items[i]->clock_id;

		CHECK_INT(id, ((const uint32_t[]){6, 2, 4, 1, 3, 5})[i]);
		CHECK_INT(packet->clock_snapshot->clocks.items[i]->timestamp,
			  id == 1 || id == 2 ? WALL_NS : START_NS);
	}
	close_scene(&s);
}

static size_t count_clocks(struct scene *s)
{
	size_t count = 0;

	kinds(s);
	for (size_t i = 0; i < s->packets.count; i++)
		count += s->packets.items[i]->clock_snapshot != NULL;
	return count;
}

ORMA_TEST(clock_snapshots_are_kept_when_clocks_drift_by_10_ms)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	CHECK_INT(count_clocks(&s), 2);
	/* Ticks of the processor's counter go on at another rate, and are no drift. */
	pass_ms(&s.world, 50000);
	CHECK_INT(count_clocks(&s), 1);
	pass_ms(&s.world, 10000);
	s.world.wall_jump_ns += 9 * ORMA_NS_PER_MS;
	pass_ms(&s.world, 10000);
	CHECK_INT(count_clocks(&s), 1);
	pass_ms(&s.world, 10000);
	s.world.wall_jump_ns += 10 * ORMA_NS_PER_MS;
	pass_ms(&s.world, 10000);
	CHECK_INT(count_clocks(&s), 2);
	for (int i = 0; i < 30; i++) {
		pass_ms(&s.world, 10000);
		s.world.suspended_ns += ORMA_NS_PER_SEC;
	}
	CHECK_INT(count_clocks(&s), 16);
	/* The newest: the last is of the last period. */
	for (size_t i = s.packets.count, newest = 0; i-- > 0 && !newest;)
		if (s.packets.items[i]->clock_snapshot && ++newest)
			CHECK(s.packets.items[i]->clock_snapshot->clocks.items[0]->timestamp >
			      START_NS + s.world.passed_ns + s.world.suspended_ns -
				      11 * ORMA_NS_PER_SEC);
	close_scene(&s);
}

ORMA_TEST(snapshot_intervals_count_suspended_time_when_the_config_prefers_it)
{
	for (int prefers = 0; prefers < 2; prefers++) {
		struct scene s;
		char config[256];

		snprintf(config, sizeof(config),
			 ONE_BUFFER "builtin_data_sources { snapshot_interval_ms: 60000 "
				    "prefer_suspend_clock_for_snapshot: %s }",
			 prefers ? "true" : "false");
		open_scene(&s, config);
		kinds(&s);
		pass_ms(&s.world, 2000);
		s.world.suspended_ns = 60 * ORMA_NS_PER_SEC;
		pass_ms(&s.world, 1000);
		CHECK_STR(kinds(&s), prefers ? "clocks sync read stats" : "read");
		pass_ms(&s.world, 1000);
		CHECK_STR(kinds(&s), "read");
		close_scene(&s);
	}
}

ORMA_TEST(events_are_kept_in_bounded_numbers)
{
	struct scene s;
	size_t count = 0;

	open_scene(&s, ONE_BUFFER);
	for (int i = 0; i < 200; i++) {
		flush(&s.consumer, 0);
		answer_flush(&s.producer);
		log_clear(&s.consumer.log);
	}
	kinds(&s);
	for (size_t i = 0; i < s.packets.count; i++)
		count += s.packets.items[i]->service_event != NULL;
	CHECK_INT(count, 64 + 64 + 2 + 1);
	close_scene(&s);
}

ORMA_TEST(read_is_cut_at_packets_near_the_asked_size)
{
	struct scene s;
	size_t batches = 0, data = 0;
	bool has_more = true;

	open_scene(&s, ONE_BUFFER);
	for (uint32_t i = 0; i < 100; i++)
		send_packet(&s.producer, i, "0123456789012345678901234567890123456789");
	while (has_more) {
		packets_done(&s.packets);
		has_more = read_batch(&s.consumer, 500, &s.packets);
		batches++;
		for (size_t i = 0; i < s.packets.count; i++)
			data += s.packets.items[i]->for_testing != NULL;
		CHECK(s.packets.count < 30);
	}
	CHECK_INT(data, 100);
	CHECK(batches >= 9 && batches <= 13);
	close_scene(&s);
}

/* The chunk that waits is the oldest of all: what was read behind it is not to be passed again in
 * each of as many reads, or this would take minutes. */
ORMA_TEST(chunk_that_waits_for_its_patch_does_not_slow_the_reading_of_what_is_behind_it)
{
	enum { PACKETS = 200000 };
	struct scene s;
	struct orma_trace_batch batch;
	size_t packets = 0;

	open_scene(&s, "buffers { size_kb: 32768 } data_sources { config { name: 'test' } }");
	write_chunk(&s.producer, (struct chunk){.writer_id = 2, .flags = 2 | 4}, TEXTS("begin"));
	commit_page(&s.producer, 0, s.producer.target_buffer);
	for (uint32_t i = 0; i < PACKETS; i++)
		send_packet(&s.producer, i, "a");
	do {
		CHECK_INT(orma_consumer_port_read(s.consumer.port, 1, &batch), 0);
		for (size_t i = 0; i < batch.count; i++)
			packets += batch.slices[i].ends_packet;
	} while (batch.has_more);
	CHECK(packets >= PACKETS);
	close_scene(&s);
}

ORMA_TEST(refused_packets_do_not_make_a_read_endless)
{
	/* One packet: trusted_uid 7. */
	static const uint8_t forged[] = {2, 0x18, 7};
	struct scene s;
	struct orma_trace_batch batch;
	uint8_t *page;
	size_t reads = 0;

	open_scene(&s, "buffers { size_kb: 4096 } data_sources { config { name: 'test' } }");
	page = s.producer.memory;
	for (uint32_t id = 0; id < 800; id++) {
		uint32_t word =
			(uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;

		put_chunk_header(page + 8, &(struct chunk){.chunk_id = id, .writer_id = 1}, 1000);
		for (int i = 0; i < 1000; i++)
			memcpy(page + 16 + (size_t)i * 3, forged, sizeof(forged));
		memcpy(page, &word, 4);
		commit_page(&s.producer, 0, s.producer.target_buffer);
	}
	do {
		CHECK_INT(orma_consumer_port_read(s.consumer.port, 32 << 10, &batch), 0);
		reads++;
	} while (batch.has_more);
	CHECK(reads > 100);
	close_scene(&s);
}

ORMA_TEST(buffers_are_read_in_the_order_of_the_config)
{
	struct scene s;
	uint32_t last;

	open_scene(&s, "buffers { size_kb: 64 } buffers { size_kb: 64 } "
		       "data_sources { config { name: 'test' } } "
		       "data_sources { config { name: 'test' target_buffer: 1 } }");
	last = s.producer.target_buffer;
	write_chunk(&s.producer, (struct chunk){.writer_id = 2}, TEXTS("second"));
	commit_page(&s.producer, 0, last);
	write_chunk(&s.producer, (struct chunk){.writer_id = 1}, TEXTS("first"));
	commit_page(&s.producer, 0, last - 1);
	kinds(&s);
	CHECK_STR(texts_of(&s.packets), "first second");
	{
		const struct orma_pb_trace_provenance *provenance =
			find(&s, "provenance")->trace_provenance;

		CHECK_INT(provenance->buffers.count, 2);
		CHECK_INT(provenance->buffers.items[0]->sequences.count, 1);
		CHECK_INT(provenance->buffers.items[0]->sequences.items[0]->id, 3);
		CHECK_INT(provenance->buffers.items[0]->sequences.items[0]->producer_id, 1);
		CHECK_INT(provenance->buffers.items[1]->sequences.items[0]->id, 2);
	}
	close_scene(&s);
}

ORMA_TEST(discard_buffer_keeps_the_beginning_and_a_ring_the_end)
{
	for (int discards = 0; discards < 2; discards++) {
		struct scene s;
		char text[101], config[160], first[8] = "", last[8] = "";
		uint64_t chunks = 0;

		snprintf(config, sizeof(config),
			 "buffers { size_kb: 64 fill_policy: %s } "
			 "data_sources { config { name: 'test' } }",
			 discards ? "DISCARD" : "RING_BUFFER");
		open_scene(&s, config);
		memset(text, '.', sizeof(text));
		for (unsigned i = 0; i < 2000; i++) {
			snprintf(text, 6, "%05u", i % 10000);
			text[5] = '.';
			text[100] = '\0';
			send_packet(&s.producer, i, text);
		}
		kinds(&s);
		for (size_t i = 0; i < s.packets.count; i++) {
			const struct orma_pb_test_event *event = s.packets.items[i]->for_testing;

			if (!event)
				continue;
			memcpy(chunks++ ? last : first, event->str.data, 5);
		}
		CHECK(chunks > 300 && chunks < 700);
		if (discards) {
			CHECK_STR(first, "00000");
			CHECK_INT(stats_of(&s.packets)->buffer_stats.items[0]->chunks_discarded,
				  2000 - chunks);
		} else {
			CHECK_STR(last, "01999");
			CHECK_INT(stats_of(&s.packets)->buffer_stats.items[0]->chunks_overwritten,
				  2000 - chunks);
		}
		close_scene(&s);
	}
}

ORMA_TEST(statistics_are_what_happened)
{
	const struct orma_pb_trace_stats *stats;
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	for (uint32_t i = 0; i < 10; i++)
		send_packet(&s.producer, i, "0123456789");
	flush(&s.consumer, 1);
	pass_ms(&s.world, 1);
	flush(&s.consumer, 1);
	answer_flush(&s.producer);
	commit_page(&s.producer, 99, s.producer.target_buffer);
	kinds(&s);
	stats = stats_of(&s.packets);
	CHECK_INT(stats->producers_connected, 1);
	CHECK_INT(stats->producers_seen, 1);
	CHECK_INT(stats->data_sources_registered, 1);
	CHECK_INT(stats->data_sources_seen, 1);
	CHECK_INT(stats->tracing_sessions, 1);
	CHECK_INT(stats->total_buffers, 1);
	CHECK_INT(stats->chunks_discarded, 1);
	CHECK_INT(stats->flushes_requested, 2);
	CHECK_INT(stats->flushes_succeeded, 1);
	CHECK_INT(stats->flushes_failed, 1);
	CHECK_INT(stats->buffer_stats.count, 1);
	CHECK_INT(stats->buffer_stats.items[0]->buffer_size, 65536);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_written, 10);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_read, 10);
	close_scene(&s);
}

ORMA_TEST(histograms_tell_how_full_each_writers_chunks_were)
{
	const struct orma_pb_trace_stats *stats;
	const struct orma_pb_trace_stats_writer_stats *writer;
	struct scene s;
	uint64_t chunks = 0, bytes = 0;

	open_scene(&s, ONE_BUFFER);
	for (uint32_t i = 0; i < 10; i++)
		send_packet(&s.producer, i, i < 9 ? "0123456789" : "");
	kinds(&s);
	stats = stats_of(&s.packets);
	CHECK_INT(stats->chunk_payload_histogram_def.count, 10);
	CHECK_INT(stats->chunk_payload_histogram_def.items[0], 8);
	CHECK_INT(stats->chunk_payload_histogram_def.items[9], 16384);
	CHECK_INT(stats->writer_stats.count, 1);
	writer = stats->writer_stats.items[0];
	CHECK_INT(writer->sequence_id, 2);
	CHECK_INT(writer->buffer, 0);
	CHECK_INT(writer->chunk_payload_histogram_counts.count, 11);
	for (size_t i = 0; i < 11; i++) {
		chunks += writer->chunk_payload_histogram_counts.items[i];
		bytes += (uint64_t)writer->chunk_payload_histogram_sum.items[i];
	}
	CHECK_INT(chunks, 10);
	CHECK_INT(bytes, 9 * 16 + 6);
	CHECK_INT(writer->chunk_payload_histogram_counts.items[0], 1);
	CHECK_INT(writer->chunk_payload_histogram_counts.items[1], 9);
	close_scene(&s);
}

ORMA_TEST(what_each_of_very_many_writers_did_is_at_the_end_of_the_trace_and_not_in_answers)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	const void *data;
	struct scene s;
	size_t size;

	open_scene(&s, "buffers { size_kb: 4 } data_sources { config { name: 'test' } }");
	for (uint32_t i = 1; i <= ORMA_SERVICE_WRITERS_PER_QUERY + 1; i++) {
		write_chunk(&s.producer, (struct chunk){.writer_id = (uint16_t)i}, TEXTS("a"));
		commit_page(&s.producer, 0, s.producer.target_buffer);
	}
	CHECK_INT(orma_consumer_port_get_stats(s.consumer.port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_stats_decode(data, size, &arena, &stats), 0);
	CHECK_INT(stats->writer_stats.count, 0);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_written, ORMA_SERVICE_WRITERS_PER_QUERY + 1);
	orma_base_arena_done(&arena);
	kinds(&s);
	CHECK_INT(stats_of(&s.packets)->writer_stats.count, 0);
	orma_consumer_port_disable(s.consumer.port);
	kinds(&s);
	CHECK_INT(stats_of(&s.packets)->writer_stats.count, ORMA_SERVICE_WRITERS_PER_QUERY + 1);
	close_scene(&s);
}

/* One packet of each of these writers. */
static void write_as(struct producer *producer, uint32_t begin, uint32_t end)
{
	for (uint32_t id = begin; id < end; id++) {
		orma_producer_port_register_writer(producer->port, id, producer->target_buffer);
		write_chunk(producer, (struct chunk){.writer_id = (uint16_t)id}, TEXTS("a"));
		commit_page(producer, 0, producer->target_buffer);
	}
}

static uint64_t discarded(struct scene *s)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	const void *data;
	uint64_t count;
	size_t size;

	CHECK_INT(orma_consumer_port_get_stats(s->consumer.port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_stats_decode(data, size, &arena, &stats), 0);
	count = stats->chunks_discarded;
	orma_base_arena_done(&arena);
	return count;
}

/* A session that goes on for days sees more writers come and go than can be remembered. */
ORMA_TEST(new_writers_take_the_places_of_those_that_have_gone)
{
	enum { OF_ONE = ORMA_SERVICE_WRITER_ID_MAX };
	struct scene s;
	struct producer gone;
	uint32_t count = 0;

	open_scene(&s, "buffers { size_kb: 4 } data_sources { config { name: 'test' } }");
	while (count + OF_ONE <= ORMA_SERVICE_SEQUENCES_MAX) {
		producer_open(&s.world, &gone, "gone");
		CHECK_INT(register_source(&gone, "name: 'test'"), 0);
		write_as(&gone, 1, OF_ONE + 1);
		producer_close(&gone);
		count += OF_ONE;
	}
	/* Writers that stay: one, and then as many as there are free records. */
	write_as(&s.producer, 1, 2 + ORMA_SERVICE_SEQUENCES_MAX - count);
	CHECK_INT(discarded(&s), 0);
	write_as(&s.producer, 1000, OF_ONE);
	CHECK_INT(discarded(&s), 0);
	kinds(&s);
	/* No id is used again. */
	CHECK_INT(s.packets.items[s.packets.count - 3]->trusted_packet_sequence_id,
		  count + 1 + ORMA_SERVICE_SEQUENCES_MAX - count + 1 + OF_ONE - 1000);
	orma_consumer_port_disable(s.consumer.port);
	kinds(&s);
	CHECK_INT(stats_of(&s.packets)->writer_stats.count, ORMA_SERVICE_SEQUENCES_MAX);
	close_scene(&s);
}

ORMA_TEST(writers_that_are_there_keep_their_places)
{
	enum { PRODUCERS = ORMA_SERVICE_SEQUENCES_MAX / ORMA_SERVICE_WRITER_ID_MAX + 1 };
	static struct producer producers[PRODUCERS];
	struct scene s;
	uint64_t lost;

	open_scene(&s, "buffers { size_kb: 4 } data_sources { config { name: 'test' } }");
	for (size_t i = 0; i < PRODUCERS; i++) {
		producer_open(&s.world, &producers[i], "stays");
		CHECK_INT(register_source(&producers[i], "name: 'test'"), 0);
		write_as(&producers[i], 1, ORMA_SERVICE_WRITER_ID_MAX + 1);
	}
	lost = (uint64_t)PRODUCERS * ORMA_SERVICE_WRITER_ID_MAX - ORMA_SERVICE_SEQUENCES_MAX;
	CHECK_INT(discarded(&s), lost);
	write_as(&producers[0], 1, 10);
	CHECK_INT(discarded(&s), lost);
	/* One that goes makes room for one, once it has been found. */
	orma_producer_port_unregister_writer(producers[0].port, 77);
	for (unsigned tries = 0; discarded(&s) == lost; tries++, lost++) {
		CHECK(tries <= ORMA_SERVICE_SEQUENCES_MAX / ORMA_SERVICE_SEQUENCES_PER_LOOK);
		write_as(&producers[PRODUCERS - 1], ORMA_SERVICE_WRITER_ID_MAX,
			 ORMA_SERVICE_WRITER_ID_MAX + 1);
		if (discarded(&s) == lost)
			break;
	}
	write_as(&producers[PRODUCERS - 1], ORMA_SERVICE_WRITER_ID_MAX - 1,
		 ORMA_SERVICE_WRITER_ID_MAX);
	CHECK_INT(discarded(&s), lost + 1);
	for (size_t i = 0; i < PRODUCERS; i++)
		producer_close(&producers[i]);
	close_scene(&s);
}

ORMA_TEST(events_of_other_sessions_are_recorded_when_asked_for)
{
	const struct orma_pb_concurrent_session_event *event;
	struct scene s;
	struct consumer other;

	open_scene(&s,
		   ONE_BUFFER "builtin_data_sources { enable_concurrent_session_events: true }");
	consumer_open_as(&s.world, &other, 4321);
	enable_ok(&other, ONE_BUFFER "unique_session_name: 'other'");
	orma_consumer_port_disable(other.port);
	kinds(&s);
	CHECK_INT(find(&s, "concurrent")->timestamp, START_NS);
	event = find(&s, "concurrent")->concurrent_session_event;
	CHECK(orma_base_str_is(event->session_name, "other"));
	CHECK_INT(event->session_id, 2);
	CHECK_INT(event->consumer_uid, 4321);
	CHECK_INT(event->state, 2);
	CHECK_INT(event->num_data_sources, 1);
	CHECK(strstr(kinds_of(&s.packets), "concurrent concurrent concurrent data") == NULL);
	CHECK(strstr(kinds_of(&s.packets), "concurrent concurrent concurrent read"));
	consumer_close(&other);
	close_scene(&s);
}

ORMA_TEST(events_of_other_sessions_are_kept_in_bounded_numbers)
{
	struct scene s;
	struct consumer other;
	size_t count = 0;
	bool has_more;

	open_scene(&s,
		   ONE_BUFFER "builtin_data_sources { enable_concurrent_session_events: true }");
	consumer_open(&s.world, &other);
	/* Configured, started, disabled. */
	for (unsigned i = 0; i <= ORMA_SERVICE_CONCURRENT_EVENTS_KEPT / 3; i++) {
		enable_ok(&other, "buffers { size_kb: 4 }");
		orma_consumer_port_free_buffers(other.port);
	}
	do {
		struct orma_trace_batch batch;

		CHECK_INT(orma_consumer_port_read(s.consumer.port, 32 << 10, &batch), 0);
		has_more = batch.has_more;
		for (size_t i = 0; i < batch.count; i++) {
			struct orma_pb_trace_packet *packet;
			struct orma_arena arena = {0};

			CHECK(batch.slices[i].ends_packet);
			CHECK_INT(orma_pb_trace_packet_decode(batch.slices[i].data,
							      batch.slices[i].size, &arena,
							      &packet),
				  0);
			count += packet->concurrent_session_event != NULL;
			orma_base_arena_done(&arena);
		}
	} while (has_more);
	CHECK_INT(count, ORMA_SERVICE_CONCURRENT_EVENTS_KEPT);
	consumer_close(&other);
	close_scene(&s);
}

ORMA_TEST(no_memory_while_reading_is_an_error_and_the_session_goes_on)
{
	struct scene s;
	struct orma_trace_batch batch;
	int failures = 0;

	open_scene(&s, ONE_BUFFER);
	for (uint64_t nth = 1; nth < 40; nth++) {
		int r;

		send_packet(&s.producer, (uint32_t)nth, "x");
		orma_test_fail_allocation(nth);
		r = orma_consumer_port_read(s.consumer.port, 32 << 10, &batch);
		orma_test_fail_allocation(0);
		CHECK(r == 0 || r == -ENOMEM);
		failures += r != 0;
	}
	CHECK(failures > 0);
	send_packet(&s.producer, 100, "last");
	kinds(&s);
	CHECK(strstr(texts_of(&s.packets), "last"));
	close_scene(&s);
}

/* --- queries ---------------------------------------------------------------------------------- */

ORMA_TEST(state_names_producers_and_data_sources)
{
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_state *state;
	struct scene s;
	struct consumer stranger;

	open_scene(&s, ONE_BUFFER);
	consumer_open_as(&s.world, &stranger, getuid() + 1);
	state = query(&stranger, false, &arena);
	CHECK_INT(state->producers.count, 1);
	CHECK_INT(state->producers.items[0]->id, 1);
	CHECK(orma_base_str_is(state->producers.items[0]->name, "p"));
	CHECK_INT(state->producers.items[0]->uid, (int32_t)getuid());
	CHECK_INT(state->producers.items[0]->pid, 77);
	CHECK_INT(state->data_sources.count, 1);
	CHECK(orma_base_str_is(state->data_sources.items[0]->ds_descriptor->name, "test"));
	CHECK_INT(state->data_sources.items[0]->producer_id, 1);
	CHECK_INT(state->num_sessions, 1);
	CHECK_INT(state->num_sessions_started, 1);
	CHECK(orma_base_str_is(state->tracing_service_version, "test 1"));
	CHECK(state->supports_tracing_sessions);
	CHECK_INT(state->tracing_sessions.count, 0);
	orma_base_arena_done(&arena);
	consumer_close(&stranger);
	close_scene(&s);
}

ORMA_TEST(state_shows_sessions_to_their_user_and_to_root)
{
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_state *state;
	struct scene s;
	struct consumer root;

	open_scene(&s, ONE_BUFFER "unique_session_name: 'mine' duration_ms: 99 bugreport_score: 3 "
				  "bugreport_filename: 'a-b_c.9'");
	consumer_open_as(&s.world, &root, 0);
	state = query(&root, true, &arena);
	CHECK_INT(state->producers.count, 0);
	CHECK_INT(state->data_sources.count, 0);
	CHECK_INT(state->tracing_sessions.count, 1);
	CHECK(orma_base_str_is(state->tracing_sessions.items[0]->unique_session_name, "mine"));
	CHECK(orma_base_str_is(state->tracing_sessions.items[0]->state, "STARTED"));
	CHECK_INT(state->tracing_sessions.items[0]->buffer_size_kb.items[0], 64);
	CHECK_INT(state->tracing_sessions.items[0]->id, 1);
	CHECK_INT(state->tracing_sessions.items[0]->consumer_uid, getuid());
	CHECK_INT(state->tracing_sessions.items[0]->bugreport_score, 3);
	CHECK(orma_base_str_is(state->tracing_sessions.items[0]->bugreport_filename, "a-b_c.9"));
	CHECK_INT(state->tracing_sessions.items[0]->duration_ms, 99);
	CHECK_INT(state->tracing_sessions.items[0]->num_data_sources, 1);
	CHECK_INT(state->tracing_sessions.items[0]->start_realtime_ns, WALL_NS);
	CHECK(state->tracing_sessions.items[0]->is_started);
	orma_consumer_port_disable(s.consumer.port);
	state = query(&s.consumer, true, &arena);
	CHECK(orma_base_str_is(state->tracing_sessions.items[0]->state, "DISABLED"));
	orma_base_arena_done(&arena);
	consumer_close(&root);
	close_scene(&s);
}

ORMA_TEST(config_and_stats_belong_to_a_session)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_config *config;
	struct scene s;
	struct consumer other;
	const void *data;
	size_t size;

	open_scene(&s, ONE_BUFFER "duration_ms: 1234");
	consumer_open(&s.world, &other);
	CHECK_INT(orma_consumer_port_get_config(other.port, &data, &size), -ENOENT);
	CHECK_INT(orma_consumer_port_get_stats(other.port, &data, &size), -ENOENT);
	CHECK_INT(orma_consumer_port_get_config(s.consumer.port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_config_decode(data, size, &arena, &config), 0);
	CHECK_INT(config->duration_ms, 1234);
	CHECK_INT(orma_consumer_port_query_capabilities(other.port, &data, &size), 0);
	CHECK_MEM(data, size, "\x08\x01\x10\x01\x10\x02\x10\x04\x18\x01\x20\x01", 12);
	orma_base_arena_done(&arena);
	consumer_close(&other);
	close_scene(&s);
}
