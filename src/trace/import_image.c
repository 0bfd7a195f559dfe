/* SPDX-License-Identifier: Apache-2.0
 * import_image.c - tables, strings, and the parts of the packet index that find arguments in the trace again.
 *
 * Arguments are read from the trace, so what names them stays there: the notes of a sequence say where its interned data is,
 * the lanes of a CPU where its bundles are. The image has nothing that only the two passes need.
 */
#include "trace/import_image.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "trace/bundle_index.h"

enum { SNAPSHOT_CLOCKS_MAX = 64, GENERIC_EVENTS_MAX = 1 << 20 };

/* --- clocks ----------------------------------------------------------------------------------- */

static int save_snapshot(void *ctx, const struct orma_clock_reading *readings, size_t count)
{
	struct orma_image_writer *image = ctx;
	orma_image_put(image, count);
	for (size_t i = 0; i < count; i++) {
		orma_image_put(image, readings[i].key);
		orma_image_put(image, (uint64_t)readings[i].value);
		orma_image_put(image, (uint64_t)readings[i].unit_ns);
		orma_image_put(image, readings[i].is_incremental);
	}
	return image->error;
}

static void save_clocks(const struct orma_clocks *clocks, struct orma_image_writer *image)
{
	orma_image_put(image, clocks->trace_time);
	orma_image_put(image, clocks->snapshot_count);
	int r = orma_trace_clocks_each(clocks, save_snapshot, image);
	if (image->error == 0)
		image->error = r;
}

static size_t read_snapshot(struct orma_image_reader *image,
			    struct orma_clock_reading ret[SNAPSHOT_CLOCKS_MAX])
{
	uint32_t count = orma_image_get_count(image, 4 * sizeof(uint64_t));
	if (count > SNAPSHOT_CLOCKS_MAX)
		image->error = -EBADMSG;
	for (uint32_t i = 0; i < count && image->error == 0; i++) {
		ret[i].key = orma_image_get(image);
		ret[i].value = (int64_t)orma_image_get(image);
		ret[i].unit_ns = (int64_t)orma_image_get(image);
		ret[i].is_incremental = orma_image_get(image) != 0;
	}
	return image->error == 0 ? count : 0;
}

/* The units are set when all snapshots are there, because the values are in nanoseconds. */
static int restore_clocks(struct orma_packet_index *index, struct orma_image_reader *image)
{
	struct orma_clock_reading readings[SNAPSHOT_CLOCKS_MAX];
	struct orma_clocks *clocks = &index->clocks;
	orma_trace_clocks_init(clocks);
	clocks->domains.seed = clocks->sets_by_key.seed = index->seed;
	clocks->trace_time = orma_image_get(image);
	uint32_t count = orma_image_get_count(image, sizeof(uint64_t));
	struct orma_image_reader begin = *image;
	for (uint32_t i = 0; i < count; i++) {
		size_t clock_count = read_snapshot(image, readings);
		for (size_t k = 0; k < clock_count; k++)
			readings[k].unit_ns = 1;
		int r = image->error == 0 ? orma_trace_clocks_add(clocks, readings, clock_count)
					  : image->error;
		if (r <= 0)
			return r < 0 ? r : -EBADMSG;
	}
	for (uint32_t i = 0; i < count; i++) {
		size_t clock_count = read_snapshot(&begin, readings);
		for (size_t k = 0; k < clock_count; k++)
			orma_trace_clock_set_unit(clocks, readings[k].key, readings[k].unit_ns);
	}
	return image->error;
}

/* --- sequences and lanes ---------------------------------------------------------------------- */

static void save_sequences(const struct orma_packet_index *index, struct orma_image_writer *image)
{
	orma_image_put(image, index->machine_count);
	orma_image_put_bytes(image, index->machine_ids,
			     index->machine_count * sizeof(*index->machine_ids));
	orma_image_put(image, index->sequence_count);
	for (uint32_t i = 0; i < index->sequence_count; i++) {
		const struct orma_sequence *sequence = index->sequences[i];
		orma_image_put(image, (uint64_t)sequence->machine_idx << 32 | sequence->id);
		orma_image_put(image, sequence->note_count);
		orma_image_put_bytes(image, sequence->notes,
				     sequence->note_count * sizeof(*sequence->notes));
	}
}

/* Reads an array of `count` items, which the caller owns; NULL when it is empty, or with the error in the image. */
static void *read_array(struct orma_image_reader *image, uint32_t count, size_t item_bytes)
{
	const uint8_t *bytes = orma_image_get_bytes(image, (uint64_t)count * item_bytes);
	void *copy = bytes && count > 0 ? orma_base_memdup(bytes, count * item_bytes) : NULL;
	if (bytes && count > 0 && !copy)
		image->error = -ENOMEM;
	return copy;
}

static int restore_machines(struct orma_packet_index *index, struct orma_image_reader *image)
{
	uint32_t count = orma_image_get_count(image, sizeof(*index->machine_ids));
	index->machine_ids = read_array(image, count, sizeof(*index->machine_ids));
	if (!index->machine_ids)
		return image->error < 0 ? image->error : -EBADMSG;
	index->machine_count = index->machine_capacity = count;
	int r = 0;
	for (uint32_t i = 0; i < count && r == 0; i++)
		r = orma_base_map_put(&index->machines, index->machine_ids[i],
				      (void *)((uintptr_t)i + 1));
	return r;
}

static bool is_in(const struct orma_trace_bytes *input, uint64_t address, uint32_t size)
{
	uint64_t end = orma_trace_bytes_end(input);
	return size <= end && address <= end - size;
}

static bool check_notes(const struct orma_packet_index *index, const struct orma_note *notes,
			uint32_t count)
{
	bool is_right = true;
	for (uint32_t i = 0; i < count && is_right; i++)
		is_right = is_in(index->input, notes[i].address, notes[i].size) &&
			   (i == 0 || notes[i].address >= notes[i - 1].address);
	return is_right;
}

static bool check_bundles(const struct orma_packet_index *index, const struct orma_lane *lane)
{
	bool is_right = true;
	for (uint32_t i = 0; i < lane->bundle_count && is_right; i++)
		is_right = is_in(index->input, lane->bundles[i].address, lane->bundles[i].size);
	return is_right;
}

static int restore_sequence(struct orma_packet_index *index, struct orma_image_reader *image)
{
	uint64_t key = orma_image_get(image);
	struct orma_sequence *sequence = orma_base_zalloc(sizeof(*sequence));
	if (!sequence)
		return -ENOMEM;
	index->sequences[index->sequence_count++] = sequence;
	sequence->id = (uint32_t)key;
	sequence->machine_idx = (uint32_t)(key >> 32);
	sequence->seed = index->seed;
	uint32_t count = orma_image_get_count(image, sizeof(*sequence->notes));
	sequence->notes = read_array(image, count, sizeof(*sequence->notes));
	if (image->error < 0)
		return image->error;
	sequence->note_count = sequence->note_capacity = count;
	if (sequence->machine_idx >= index->machine_count ||
	    !check_notes(index, sequence->notes, count) ||
	    orma_base_map_get(&index->sequence_map, key))
		return -EBADMSG;
	return orma_base_map_put(&index->sequence_map, key, sequence);
}

static int restore_sequences(struct orma_packet_index *index, struct orma_image_reader *image)
{
	int r = restore_machines(index, image);
	if (r < 0)
		return r;
	uint32_t count = orma_image_get_count(image, 2 * sizeof(uint64_t));
	index->sequences = orma_base_alloc_array(ORMA_MAX(count, 1u), sizeof(*index->sequences));
	if (!index->sequences)
		return -ENOMEM;
	index->sequence_capacity = count;
	for (uint32_t i = 0; i < count && r == 0; i++)
		r = restore_sequence(index, image);
	return r;
}

static void save_lanes(const struct orma_packet_index *index, struct orma_image_writer *image)
{
	orma_image_put(image, index->lane_count);
	for (uint32_t i = 0; i < index->lane_count; i++) {
		const struct orma_lane *lane = index->lanes[i];
		orma_image_put(image, (uint64_t)lane->machine_idx << 32 | lane->cpu);
		orma_image_put(image, lane->bundle_count);
		orma_image_put_bytes(image, lane->bundles,
				     lane->bundle_count * sizeof(*lane->bundles));
	}
}

/* Lanes of one CPU are a list in their order. */
static int add_lane(struct orma_packet_index *index, struct orma_lane *lane)
{
	uint64_t key = (uint64_t)lane->machine_idx << 32 | lane->cpu;
	struct orma_lane *last = orma_base_map_get(&index->cpus, key);
	if (!last)
		return orma_base_map_put(&index->cpus, key, lane);
	while (last->next)
		last = last->next;
	last->next = lane;
	return 0;
}

static int restore_lanes(struct orma_packet_index *index, struct orma_image_reader *image)
{
	uint32_t count = orma_image_get_count(image, 2 * sizeof(uint64_t));
	int r = count > ORMA_LANES_MAX ? -EBADMSG : 0;
	index->lanes = orma_base_alloc_array(ORMA_MAX(count, 1u), sizeof(*index->lanes));
	if (!index->lanes)
		return -ENOMEM;
	index->lane_capacity = count;
	for (uint32_t i = 0; i < count && r == 0; i++) {
		struct orma_lane *lane = orma_base_zalloc(sizeof(*lane));
		if (!lane)
			return -ENOMEM;
		index->lanes[index->lane_count++] = lane;
		uint64_t key = orma_image_get(image);
		lane->machine_idx = (uint32_t)(key >> 32);
		lane->cpu = (uint32_t)key;
		uint32_t bundle_count = orma_image_get_count(image, sizeof(*lane->bundles));
		lane->bundles = read_array(image, bundle_count, sizeof(*lane->bundles));
		lane->bundle_count = lane->bundle_capacity = lane->bundles ? bundle_count : 0;
		r = image->error < 0             ? image->error
		    : check_bundles(index, lane) ? add_lane(index, lane)
						 : -EBADMSG;
	}
	return r;
}

/* --- kernel events ---------------------------------------------------------------------------- */

static void save_kernel(const struct orma_importer *importer, struct orma_image_writer *image)
{
	const struct orma_kernel_state *kernel = &importer->system.kernel;
	const struct orma_packet_index *index = &importer->index;
	struct orma_map_slot *slot;
	orma_image_put(image, kernel->run_count);
	for (uint32_t i = 0; i < kernel->run_count; i++) {
		const struct orma_sequence *sequence = kernel->runs[i].sequence;
		orma_image_put(image, kernel->runs[i].address);
		orma_image_put(image, (uint64_t)sequence->machine_idx << 32 | sequence->id);
	}
	orma_image_put(image, kernel->generic.count);
	for (size_t position = 0; (slot = orma_base_map_next(&kernel->generic, &position));) {
		orma_image_put(image, slot->key);
		orma_image_put_bytes(image, slot->value, sizeof(struct orma_generic_event));
	}
	orma_image_put(image, importer->sched.kernel_version);
	orma_image_put(image, index->bytes);
	orma_image_put(image, index->counts[ORMA_COUNT_CUT_BYTES]);
}

/* Runs are found by binary search, and an address that is in none is of no sequence. */
static int restore_runs(struct orma_kernel_state *kernel, const struct orma_packet_index *index,
			struct orma_image_reader *image)
{
	uint32_t count = orma_image_get_count(image, 2 * sizeof(uint64_t));
	kernel->runs = orma_base_alloc_array(ORMA_MAX(count, 1u), sizeof(*kernel->runs));
	if (!kernel->runs)
		return -ENOMEM;
	kernel->run_capacity = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t address = orma_image_get(image);
		const struct orma_sequence *sequence =
			orma_base_map_get(&index->sequence_map, orma_image_get(image));
		if (!sequence)
			return -EBADMSG;
		kernel->runs[kernel->run_count++] = (struct orma_bundle_run){address, sequence};
	}
	return image->error;
}

static bool check_event(const struct orma_generic_event *event, uint32_t string_count)
{
	bool is_right = event->role <= ORMA_GENERIC_COUNTER && event->scope <= ORMA_GENERIC_CUSTOM;
	for (size_t i = 0; i < ORMA_GENERIC_FIELDS_MAX; i++)
		is_right = is_right && event->fields[i].name <= string_count;
	return is_right;
}

static int restore_events(struct orma_importer *importer, struct orma_image_reader *image)
{
	struct orma_kernel_state *kernel = &importer->system.kernel;
	uint32_t count = orma_image_get_count(image, sizeof(struct orma_generic_event));
	int r = count > GENERIC_EVENTS_MAX ? -EBADMSG : 0;
	for (uint32_t i = 0; i < count && r == 0; i++) {
		struct orma_generic_event *event =
			orma_base_arena_alloc(&kernel->arena, sizeof(*event));
		uint64_t key = orma_image_get(image);
		const uint8_t *bytes = orma_image_get_bytes(image, sizeof(*event));
		if (!event || !bytes)
			return event ? -EBADMSG : -ENOMEM;
		memcpy(event, bytes, sizeof(*event));
		r = check_event(event, importer->tables->strings.count)
			    ? orma_base_map_put(&kernel->generic, key, event)
			    : -EBADMSG;
	}
	importer->sched.kernel_version = (unsigned)orma_image_get(image);
	importer->index.bytes = orma_image_get(image);
	importer->index.counts[ORMA_COUNT_CUT_BYTES] = orma_image_get(image);
	return r < 0 ? r : image->error;
}

/* --- types ------------------------------------------------------------------------------------ */

static void save_types(const struct orma_importer *importer, struct orma_image_writer *image)
{
	orma_image_put(image, importer->type_packet_count);
	orma_image_put_bytes(image, importer->type_packets,
			     importer->type_packet_count * sizeof(*importer->type_packets));
}

/* Reads the descriptions of types from the trace again. */
static int restore_types(struct orma_importer *importer, struct orma_image_reader *image)
{
	struct orma_trace_window window = {0};
	uint32_t count = orma_image_get_count(image, sizeof(*importer->type_packets));
	importer->type_packets = read_array(image, count, sizeof(*importer->type_packets));
	importer->type_packet_count = importer->type_packets ? count : 0;
	int r = image->error;
	for (uint32_t i = 0; i < importer->type_packet_count && r == 0; i++) {
		const struct orma_note *note = &importer->type_packets[i];
		struct orma_packet packet;
		const uint8_t *data;
		r = is_in(importer->index.input, note->address, note->size)
			    ? orma_trace_window_read(&window, importer->index.input, note->address,
						     note->size, note->size, &data)
			    : -EBADMSG;
		if (r > 0)
			r = orma_trace_packet_read(data, note->size, &packet) < 0
				    ? -EBADMSG
				    : orma_importer_take_types(importer, packet.content);
		else
			r = r < 0 ? r : -EBADMSG;
	}
	orma_trace_window_done(&window);
	return r;
}

/* --- all -------------------------------------------------------------------------------------- */

void orma_import_image_save(const struct orma_importer *importer, struct orma_image_writer *image)
{
	const struct orma_tables *tables = importer->tables;
	orma_store_pool_save(&tables->strings, image);
	for (size_t i = 0; i < ORMA_TABLES; i++)
		orma_store_table_save(&tables->all[i], image);
	save_clocks(&importer->index.clocks, image);
	save_sequences(&importer->index, image);
	save_lanes(&importer->index, image);
	save_kernel(importer, image);
	save_types(importer, image);
}

int orma_import_image_restore(struct orma_importer *importer, struct orma_tables *tables,
			      struct orma_trace_bytes *input, orma_unpack_fn *unpack,
			      struct orma_image_reader *image)
{
	struct orma_packet_index *index = &importer->index;
	int r = orma_importer_init(importer, tables, input, unpack);
	importer->sched.states.is_direct = true;
	index->machines.seed = index->sequence_map.seed = index->cpus.seed = index->seed;
	if (r == 0)
		r = orma_store_pool_restore(&tables->strings, image);
	for (size_t i = 0; i < ORMA_TABLES && r == 0; i++)
		r = orma_store_table_restore(&tables->all[i], image);
	if (r == 0)
		r = orma_kept_args_restore(&importer->kept_args);
	if (r == 0)
		r = restore_clocks(index, image);
	if (r == 0)
		r = restore_sequences(index, image);
	if (r == 0)
		r = restore_lanes(index, image);
	if (r == 0)
		r = restore_runs(&importer->system.kernel, index, image);
	if (r == 0)
		r = restore_events(importer, image);
	return r < 0 ? r : restore_types(importer, image);
}
