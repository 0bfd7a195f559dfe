/* SPDX-License-Identifier: Apache-2.0
 * hostile_traces_test.c - traces that are made to be slow or large. Each test ends in a moment, or the harness stops it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../../import_run.h"
#include "base/sanitizer.h"
#include "harness.h"
#include "proto/writer.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/importer.h"
#include "trace/track_event_read.h"

#define HASH_SEED UINT64_C(0x9e3779b97f4a7c15)

static struct orma_buf trace;

/* Fields are written backwards, so that lengths are known: a message is what was appended since `begin`. */
static void add_number(struct orma_buf *buf, uint32_t field, uint64_t value)
{
	uint8_t bytes[2 * ORMA_PROTO_VARINT_MAX];
	uint8_t *end = orma_proto_put_varint(bytes, (uint64_t)field << 3);
	end = orma_proto_put_varint(end, value);
	CHECK_INT(orma_base_buf_append(buf, bytes, (size_t)(end - bytes)), 0);
}

static void add_bytes(struct orma_buf *buf, uint32_t field, const void *data, size_t size)
{
	uint8_t bytes[2 * ORMA_PROTO_VARINT_MAX];
	uint8_t *end = orma_proto_put_varint(bytes, (uint64_t)field << 3 | ORMA_PROTO_BYTES);
	end = orma_proto_put_varint(end, size);
	CHECK_INT(orma_base_buf_append(buf, bytes, (size_t)(end - bytes)), 0);
	CHECK_INT(orma_base_buf_append(buf, data, size), 0);
}

/* Appends a packet with a time, a sequence, and a message. */
static void add_packet(uint64_t ts, uint32_t sequence, uint32_t flags, uint32_t field,
		       const struct orma_buf *message)
{
	struct orma_buf packet = {0};
	add_number(&packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, ts);
	add_number(&packet, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	if (flags)
		add_number(&packet, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS, flags);
	add_bytes(&packet, field, message->data, message->size);
	add_bytes(&trace, 1, packet.data, packet.size);
	orma_base_buf_done(&packet);
}

static void add_track(uint64_t uuid, uint64_t parent, const char *name)
{
	struct orma_buf track = {0};
	add_number(&track, ORMA_PB_TRACK_DESCRIPTOR_UUID, uuid);
	if (parent)
		add_number(&track, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	add_bytes(&track, ORMA_PB_TRACK_DESCRIPTOR_NAME, name, strlen(name));
	add_packet(1, 1, 0, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR, &track);
	orma_base_buf_done(&track);
}

static void add_event(uint64_t ts, uint32_t type, uint64_t uuid, uint64_t name_iid)
{
	struct orma_buf event = {0};
	add_number(&event, ORMA_PB_TRACK_EVENT_TYPE, type);
	add_number(&event, ORMA_PB_TRACK_EVENT_TRACK_UUID, uuid);
	if (name_iid)
		add_number(&event, ORMA_PB_TRACK_EVENT_NAME_IID, name_iid);
	add_packet(ts, 1, 0, ORMA_PB_TRACE_PACKET_TRACK_EVENT, &event);
	orma_base_buf_done(&event);
}

struct imported {
	struct orma_importer importer;
	struct orma_tables tables;
	struct orma_trace_bytes input;
	int fd;
};

static void import_seeded(struct imported *imported, orma_unpack_fn *unpack)
{
	struct orma_error error = {0};
	*imported = (struct imported){.importer = {.seed = HASH_SEED},
				      .input = {.fd = -1, .spool_fd = -1},
				      .fd = memfd_create("trace", MFD_CLOEXEC)};
	CHECK(imported->fd >= 0);
	CHECK_INT(write(imported->fd, trace.data, trace.size), (long long)trace.size);
	CHECK_INT(lseek(imported->fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_trace_bytes_open(&imported->input, imported->fd, NULL), 0);
	CHECK_INT(orma_tables_init(&imported->tables, 0, NULL), 0);
	CHECK_INT(import_run(&imported->importer, &imported->tables, &imported->input, unpack,
			     &error),
		  0);
}

static void done(struct imported *imported)
{
	orma_importer_done(&imported->importer);
	orma_tables_done(&imported->tables);
	orma_trace_bytes_done(&imported->input);
	close(imported->fd);
	orma_base_buf_done(&trace);
}

static uint64_t rows(const struct imported *imported, enum orma_table_id table)
{
	return orma_store_table_rows(&imported->tables.all[table]);
}

static int64_t stat_of(const struct imported *imported, const char *name)
{
	const struct orma_table *table = &imported->tables.all[ORMA_TABLE_STATS];
	for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
		int64_t cell = orma_store_column_get(&table->columns[ORMA_STATS_NAME], row);
		if (orma_base_str_is(orma_store_pool_get(&imported->tables.strings, (uint32_t)cell),
				     name))
			return orma_store_column_get(&table->columns[ORMA_STATS_VALUE], row);
	}
	return -1;
}

ORMA_TEST(parents_in_loops_and_without_end_are_counted)
{
	struct imported imported;
	add_track(1, 2, "a");
	add_track(2, 3, "b");
	add_track(3, 1, "c");
	add_track(4, 4, "self");
	for (uint64_t uuid = 100; uuid < 30100; uuid++)
		add_track(uuid, uuid + 1, "chain");
	for (uint64_t i = 0; i < 1000; i++)
		for (uint64_t uuid = 1; uuid <= 4; uuid++)
			add_event(10 + i, ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT, uuid, 0);
	for (uint64_t uuid = 100; uuid < 30100; uuid++)
		add_event(5000, ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT, uuid, 0);
	import_seeded(&imported, NULL);
	CHECK_INT(rows(&imported, ORMA_TABLE_SLICE), 0);
	CHECK_INT(stat_of(&imported, "track_event_track_hierarchy_loop"), 4);
	/* The last hundred end at a track that does not exist. */
	CHECK_INT(stat_of(&imported, "track_event_track_hierarchy_too_deep"), 29900);
	CHECK_INT(stat_of(&imported, "track_hierarchy_missing_uuid"), 100);
	done(&imported);
}

/* The inverse of the map's mixing without a seed: keys whose lower bits are all the same there. */
static uint64_t collide(uint64_t number)
{
	uint64_t key = number << 32;
	key ^= key >> 33;
	key *= UINT64_C(0x9cb4b2f8129337db);
	key ^= key >> 33;
	key *= UINT64_C(0x4f74430c22a54005);
	return key ^ key >> 33;
}

ORMA_TEST(ids_that_are_made_to_collide_take_no_longer)
{
	enum { TRACKS = 200000 };
	struct imported imported;
	for (uint64_t i = 1; i <= TRACKS; i++)
		add_track(collide(i), 0, "t");
	for (uint64_t i = 1; i <= TRACKS; i++)
		add_event(i, ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN, collide(i), 0);
	import_seeded(&imported, NULL);
	CHECK_INT(rows(&imported, ORMA_TABLE_SLICE), TRACKS);
	done(&imported);
}

ORMA_TEST(a_crowd_of_tracks_with_one_name_is_a_lane_each)
{
	enum { TRACKS = 200000 };
	struct imported imported;
	/* All are open at once, then end, and the last ones find the first lanes again. */
	for (uint64_t i = 1; i <= TRACKS + 10; i++)
		add_track(i, 0, "request");
	for (uint64_t i = 1; i <= TRACKS; i++)
		add_event(i, ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN, i, 0);
	for (uint64_t i = 1; i <= TRACKS; i++)
		add_event(TRACKS + i, ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END, i, 0);
	for (uint64_t i = TRACKS + 1; i <= TRACKS + 10; i++)
		add_event(3 * TRACKS, ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN, i, 0);
	import_seeded(&imported, NULL);
	CHECK_INT(rows(&imported, ORMA_TABLE_SLICE), TRACKS + 10);
	CHECK_INT(rows(&imported, ORMA_TABLE_TRACK), TRACKS);
	const struct orma_column *tracks =
		orma_tables_column(&imported.tables, ORMA_TABLE_SLICE, ORMA_SLICE_TRACK_ID);
	for (uint64_t i = 0; i < 10; i++)
		CHECK_INT(orma_store_column_get(tracks, TRACKS + i),
			  orma_store_column_get(tracks, i));
	done(&imported);
}

/* A snapshot of two clocks of sequences, which no packet's clock leads to. */
static void add_snapshot(uint64_t first, uint64_t second, uint32_t sequence)
{
	struct orma_buf snapshot = {0};
	uint64_t clocks[] = {first, second};
	for (int i = 0; i < 2; i++) {
		struct orma_buf clock = {0};
		add_number(&clock, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clocks[i]);
		add_number(&clock, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, 1000);
		add_bytes(&snapshot, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS, clock.data, clock.size);
		orma_base_buf_done(&clock);
	}
	add_packet(1, sequence, 0, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT, &snapshot);
	orma_base_buf_done(&snapshot);
}

/* With a sanitizer, and coverage beside it, 5,000 searches take 24 seconds on an idle machine. */
#ifdef ORMA_HAS_SANITIZER
enum { PACKETS = 500 };
#else
enum { PACKETS = 5000 };
#endif

ORMA_TEST(a_web_of_clocks_is_searched_with_a_limit)
{
	enum { CLOCKS = 20000 };
	struct imported imported;
	struct orma_buf empty = {0};
	/* Clock 1000 is beside all others, in descending order; none is beside the trace's. */
	for (uint64_t i = 0; i < CLOCKS; i++)
		add_snapshot(1000, 100000 - i, 1);
	for (uint64_t i = 0; i < CLOCKS; i++)
		add_snapshot(64, 1000, (uint32_t)i + 2);
	add_snapshot(6, 7, 1);
	for (uint64_t i = 0; i < PACKETS; i++) {
		struct orma_buf packet = {0};
		add_number(&packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, i);
		add_number(&packet, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, 64);
		add_number(&packet, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, i + 2);
		add_bytes(&packet, ORMA_PB_TRACE_PACKET_TRACK_EVENT, empty.data, 0);
		add_bytes(&trace, 1, packet.data, packet.size);
		orma_base_buf_done(&packet);
	}
	import_seeded(&imported, NULL);
	CHECK_INT(stat_of(&imported, "clock_sync_failure_no_path"), PACKETS);
	done(&imported);
}

ORMA_TEST(numbers_of_64_bits_are_names_and_tracks)
{
	static const uint64_t numbers[] = {
		UINT64_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 63, 65535,
		65536};
	struct imported imported;
	struct orma_buf interned = {0}, packet = {0};
	for (size_t i = 0; i < 6; i++) {
		struct orma_buf name = {0};
		char text[] = {(char)('a' + i)};
		add_number(&name, 1, numbers[i]);
		add_bytes(&name, 2, text, 1);
		add_bytes(&interned, ORMA_PB_INTERNED_DATA_EVENT_NAMES, name.data, name.size);
		orma_base_buf_done(&name);
	}
	add_number(&packet, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 1);
	add_number(&packet, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS, 1);
	add_bytes(&packet, ORMA_PB_TRACE_PACKET_INTERNED_DATA, interned.data, interned.size);
	add_bytes(&trace, 1, packet.data, packet.size);
	for (size_t i = 0; i < 6; i++)
		add_event(i, ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT, numbers[i], numbers[i]);
	import_seeded(&imported, NULL);
	for (uint64_t i = 0; i < 6; i++) {
		int64_t cell = orma_store_column_get(
			orma_tables_column(&imported.tables, ORMA_TABLE_SLICE, ORMA_SLICE_NAME), i);
		struct orma_str name =
			orma_store_pool_get(&imported.tables.strings, (uint32_t)cell);
		CHECK(name.size == 1 && name.data[0] == (char)('a' + i));
	}
	CHECK_INT(rows(&imported, ORMA_TABLE_TRACK), 6);
	orma_base_buf_done(&interned);
	orma_base_buf_done(&packet);
	done(&imported);
}

ORMA_TEST(a_name_of_megabytes_is_a_name)
{
	enum { SIZE = 8 << 20 };
	struct imported imported;
	char *name = malloc(SIZE + 1);
	CHECK(name);
	memset(name, 'x', SIZE);
	name[SIZE] = '\0';
	add_track(1, 0, name);
	for (uint64_t i = 0; i < 100; i++)
		add_event(i, ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT, 1, 0);
	import_seeded(&imported, NULL);
	int64_t cell = orma_store_column_get(
		orma_tables_column(&imported.tables, ORMA_TABLE_TRACK, ORMA_TRACK_NAME), 0);
	CHECK_INT(orma_store_pool_get(&imported.tables.strings, (uint32_t)cell).size, SIZE);
	free(name);
	done(&imported);
}

static size_t unpacked_bytes;

/* A packet of a few bytes holds this much. */
static int unpack_much(uint32_t field_id, const void *data, size_t size, size_t max_bytes,
		       struct orma_buf *ret)
{
	(void)field_id;
	(void)data;
	(void)size;
	enum { BYTES = 32 << 20 };
	CHECK(max_bytes >= BYTES);
	CHECK_INT(orma_base_buf_reserve(ret, BYTES), 0);
	/* One field that is not a packet. */
	memset(ret->data, 0, BYTES);
	uint8_t *end = orma_proto_put_varint(ret->data, 2 << 3 | ORMA_PROTO_BYTES);
	(void)orma_proto_put_varint(end, BYTES - 5);
	ret->size = BYTES;
	unpacked_bytes += BYTES;
	return 0;
}

ORMA_TEST(compressed_packets_do_not_fill_the_disk)
{
	struct imported imported;
	for (int i = 0; i < 100; i++) {
		struct orma_buf packet = {0};
		add_bytes(&packet, ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS, "bomb", 4);
		add_bytes(&trace, 1, packet.data, packet.size);
		orma_base_buf_done(&packet);
	}
	import_seeded(&imported, unpack_much);
	CHECK(unpacked_bytes <= (size_t)320 << 20);
	CHECK(stat_of(&imported, "compressed_packets_skipped") >= 90);
	done(&imported);
}

ORMA_TEST(clocks_that_go_back_are_refused)
{
	struct imported imported;
	for (uint64_t i = 0; i < 1000; i++) {
		struct orma_buf snapshot = {0};
		for (uint64_t clock = 3; clock <= 6; clock += 3) {
			struct orma_buf reading = {0};
			add_number(&reading, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock);
			add_number(&reading, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, 5000 - i);
			add_bytes(&snapshot, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS, reading.data,
				  reading.size);
			orma_base_buf_done(&reading);
		}
		add_packet(1, 1, 0, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT, &snapshot);
		orma_base_buf_done(&snapshot);
	}
	import_seeded(&imported, NULL);
	CHECK_INT(stat_of(&imported, "invalid_clock_snapshots"), 999);
	CHECK_INT(rows(&imported, ORMA_TABLE_CLOCK_SNAPSHOT), 2);
	done(&imported);
}

ORMA_TEST(a_message_of_no_bytes_has_no_numbers)
{
	struct orma_repeated numbers;
	uint64_t number;
	/* The undefined-behavior sanitizer sees an address that is counted on from NULL. */
	orma_repeated_init(&numbers, (struct orma_str){NULL, 0}, 1);
	CHECK(!orma_repeated_next(&numbers, &number));
}
