/* SPDX-License-Identifier: Apache-2.0
 * smaps.c - see smaps.h. A packet has an entry for each mapping, or, since 2025, an array for each number.
 */
#include "trace/smaps.h"

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"
#include "trace/message_fields.h"
#include "trace/track_event_read.h"

/* Numbers of fields: SmapsPacket, SmapsEntry, PackedSmaps. */
enum { PACKET_PID = 1, PACKET_ENTRIES = 2, PACKET_PACKED = 3 };
enum { ENTRY_PATH = 1, ENTRY_FILE_NAME = 5, ENTRY_DEBUG_ID = 8, ENTRY_DEBUG_PATH = 9 };
enum { PACKED_PATHS = 1, PACKED_PATH_IDX = 2, PACKED_COUNT = 3, PACKED_END = 16 };

struct number_column {
	uint32_t field, column;
};

static const struct number_column entry_numbers[] = {
	{2, ORMA_SMAPS_SIZE_KB},
	{3, ORMA_SMAPS_PRIVATE_DIRTY_KB},
	{4, ORMA_SMAPS_SWAP_KB},
	{6, ORMA_SMAPS_START_ADDRESS},
	{7, ORMA_SMAPS_MODULE_TIMESTAMP},
	{10, ORMA_SMAPS_PROTECTION_FLAGS},
	{11, ORMA_SMAPS_PRIVATE_CLEAN_RESIDENT_KB},
	{12, ORMA_SMAPS_SHARED_DIRTY_RESIDENT_KB},
	{13, ORMA_SMAPS_SHARED_CLEAN_RESIDENT_KB},
	{14, ORMA_SMAPS_LOCKED_KB},
	{15, ORMA_SMAPS_PROPORTIONAL_RESIDENT_KB},
};
static const struct number_column packed_numbers[] = {
	{4, ORMA_SMAPS_SIZE_KB},
	{5, ORMA_SMAPS_RSS_KB},
	{6, ORMA_SMAPS_ANONYMOUS_KB},
	{7, ORMA_SMAPS_SWAP_KB},
	{8, ORMA_SMAPS_SHARED_CLEAN_RESIDENT_KB},
	{9, ORMA_SMAPS_SHARED_DIRTY_RESIDENT_KB},
	{10, ORMA_SMAPS_PRIVATE_CLEAN_RESIDENT_KB},
	{11, ORMA_SMAPS_PRIVATE_DIRTY_KB},
	{12, ORMA_SMAPS_LOCKED_KB},
	{13, ORMA_SMAPS_PROPORTIONAL_RESIDENT_KB},
	{14, ORMA_SMAPS_PSS_DIRTY_KB},
	{15, ORMA_SMAPS_SWAP_PSS_KB},
};

static void begin_row(const struct orma_ordered_event *event, int64_t upid, int64_t *cells)
{
	static const uint32_t texts[] = {ORMA_SMAPS_FILE_NAME, ORMA_SMAPS_MODULE_DEBUGID,
					 ORMA_SMAPS_MODULE_DEBUG_PATH};
	for (size_t i = 0; i < ORMA_SMAPS_COLUMNS; i++)
		cells[i] = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++)
		cells[texts[i]] = ORMA_CELL_NULL;
	cells[ORMA_SMAPS_UPID] = upid;
	cells[ORMA_SMAPS_TS] = event->ns;
	cells[ORMA_SMAPS_AGGREGATE_COUNT] = 1;
}

/* The kernel marks the path of a file that is deleted. */
static void set_path(struct orma_system *system, int64_t *cells, struct orma_str path)
{
	static const char mark[] = " (deleted)";
	const size_t size = sizeof(mark) - 1;
	cells[ORMA_SMAPS_PATH] = orma_tables_string(system->tables, path);
	bool is_deleted =
		path.size >= size && memcmp(path.data + path.size - size, mark, size) == 0;
	cells[ORMA_SMAPS_IS_DELETED] = is_deleted;
	path.size -= is_deleted ? size : 0;
	cells[ORMA_SMAPS_PATH_TRIMMED] = orma_tables_string(system->tables, path);
}

static int add_row(struct orma_system *system, const int64_t *cells)
{
	return orma_store_table_append(&system->tables->all[ORMA_TABLE_SMAPS], cells);
}

static int add_entry(struct orma_system *system, const struct orma_ordered_event *event,
		     int64_t upid, struct orma_str bytes)
{
	int64_t cells[ORMA_SMAPS_COLUMNS];
	struct orma_message entry;
	orma_message_read(&entry, bytes);
	begin_row(event, upid, cells);
	set_path(system, cells, orma_message_bytes(&entry, ENTRY_PATH));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(entry_numbers); i++)
		cells[entry_numbers[i].column] =
			(int64_t)orma_message_number(&entry, entry_numbers[i].field);
	cells[ORMA_SMAPS_FILE_NAME] =
		orma_tables_string(system->tables, orma_message_bytes(&entry, ENTRY_FILE_NAME));
	cells[ORMA_SMAPS_MODULE_DEBUGID] =
		orma_tables_string(system->tables, orma_message_bytes(&entry, ENTRY_DEBUG_ID));
	cells[ORMA_SMAPS_MODULE_DEBUG_PATH] =
		orma_tables_string(system->tables, orma_message_bytes(&entry, ENTRY_DEBUG_PATH));
	return add_row(system, cells);
}

/* The arrays of a packet, which are read side by side. */
struct packed {
	struct orma_str *paths;
	uint32_t path_count, path_capacity;
	struct orma_repeated numbers[PACKED_END];
	uint32_t present; /* a bit for each array */
	bool is_damaged;
};

static int read_paths(struct packed *packed, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_str path;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_message_next(&reader, PACKED_PATHS, &path)) {
		int r = orma_store_grow(&packed->paths, (uint64_t)packed->path_count + 1,
					&packed->path_capacity, sizeof(*packed->paths));
		if (r < 0)
			return r;
		packed->paths[packed->path_count++] = path;
	}
	return 0;
}

/* Takes the next number of an array. False when it has ended; an array that is absent is a row of zeros. */
static bool take(struct packed *packed, uint32_t field, uint64_t *ret)
{
	*ret = 0;
	return !(packed->present >> field & 1) || orma_repeated_next(&packed->numbers[field], ret);
}

/* Reads the next row: 1, or 0 at the end. All arrays should end together. */
static int next_row(struct orma_system *system, struct packed *packed, uint32_t row, int64_t *cells)
{
	bool is_aggregate = packed->present >> PACKED_COUNT & 1;
	uint64_t number = row, path = row;
	uint32_t taken = 0, arrays = 1 + ORMA_ARRAY_SIZE(packed_numbers);
	taken += is_aggregate ? take(packed, PACKED_COUNT, &number)
			      : take(packed, PACKED_PATH_IDX, &path);
	if (is_aggregate)
		cells[ORMA_SMAPS_AGGREGATE_COUNT] = (int64_t)number;
	bool has_first =
		taken > 0 && packed->present & (1u << PACKED_COUNT | 1u << PACKED_PATH_IDX);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(packed_numbers); i++) {
		taken += take(packed, packed_numbers[i].field, &number);
		cells[packed_numbers[i].column] = (int64_t)number;
	}
	if (has_first && taken == arrays && path < packed->path_count) {
		set_path(system, cells, packed->paths[path]);
		return 1;
	}
	/* Arrays that are absent never end. */
	uint32_t absent = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(packed_numbers); i++)
		absent += !(packed->present >> packed_numbers[i].field & 1);
	packed->is_damaged = taken > absent || (is_aggregate && row != packed->path_count);
	return 0;
}

static int add_packed(struct orma_system *system, const struct orma_ordered_event *event,
		      int64_t upid, struct orma_str bytes)
{
	struct packed packed = {0};
	struct orma_message fields;
	int64_t cells[ORMA_SMAPS_COLUMNS];
	orma_message_read(&fields, bytes);
	packed.present = fields.present;
	for (uint32_t i = PACKED_PATH_IDX; i < PACKED_END; i++)
		orma_repeated_init(&packed.numbers[i], bytes, i);
	int r = read_paths(&packed, bytes);
	for (uint32_t row = 0; r == 0; row++) {
		begin_row(event, upid, cells);
		if (!next_row(system, &packed, row, cells))
			break;
		r = add_row(system, cells);
	}
	if (packed.is_damaged)
		orma_stats_add(&system->stats, event->machine_idx, ORMA_STAT_smaps_parser_errors, 0,
			       1);
	orma_base_free(packed.paths);
	return r;
}

int orma_smaps_take(struct orma_system *system, const struct orma_ordered_event *event)
{
	struct orma_proto_reader reader;
	struct orma_message packet;
	struct orma_str bytes;
	orma_message_read(&packet, event->packet->content);
	int64_t upid = orma_processes_process(system->processes, event->machine_idx,
					      (int32_t)orma_message_number(&packet, PACKET_PID));
	if (upid < 0)
		return (int)upid;
	if (orma_message_has(&packet, PACKET_PACKED))
		return add_packed(system, event, upid, orma_message_bytes(&packet, PACKET_PACKED));
	int r = 0;
	orma_proto_reader_init(&reader, packet.bytes.data, packet.bytes.size);
	while (r == 0 && orma_message_next(&reader, PACKET_ENTRIES, &bytes))
		r = add_entry(system, event, upid, bytes);
	return r;
}
