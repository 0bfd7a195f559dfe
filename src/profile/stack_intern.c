/* SPDX-License-Identifier: Apache-2.0
 * stack_intern.c - tables of what a packet sequence has said about call stacks.
 *
 *	keys     128-bit hash of addresses  -> stack        stack_keys.c; forgotten when full
 *	recent   mapping, rel_pc            -> frame        overwritten by others
 *	stacks   numbers of frames          -> number       named by samples (callstack_iid)
 *	frames   mapping, rel_pc, name      -> number
 *	mappings build id, offset, path     -> number
 *	names, paths, build ids             -> number
 *
 * The last four are of one kind (intern_table.c): an item is a run of bytes, and its number is its id, from 1.
 * `written` items of each table are known to the reader. Items refer to items of tables below them only, which are
 * written first.
 *
 * Equal mappings are one item, whatever process they belong to. Most processes have addresses of their own, because
 * the kernel chooses them at random. If the file has a build id, these do not count: the item has the addresses of
 * the process that came first. Otherwise each new process would have new mappings, frames and stacks, although it
 * runs known code; on a machine that compiles, that is most processes. `mapping_ids` leads from the number of a mapping to
 * that of its item, so that a frame needs no search for texts.
 *
 * Most new stacks are a new leaf on known frames. `recent` finds those without the items of five tables. It has
 * frames whose name does not change.
 *
 * Kernel frames are written as upstream does, because readers know the kernel by that: a mapping
 * with the path "kernel" and nothing else, and frames with a name and no address.
 *
 * Bounds: all items take at most ITEMS_BYTES_MAX, and `recent` has RECENT_FRAMES places.
 */
#include "profile/stack_intern.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "profile/intern_table.h"
#include "profile/stack_keys.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"

#define ITEMS_BYTES_MAX ((size_t)64 << 20)
#define RECENT_FRAMES   8192u /* a power of two */
#define FRAMES_MAX      1024u /* in a stack */
#define WRITE_OVERHEAD  8u    /* tags and lengths of an item, roughly */

/* Tables are written in this order. */
enum table_kind { BUILD_IDS, PATHS, NAMES, MAPPINGS, FRAMES, STACKS, TABLES };

struct mapping_item {
	uint64_t build_id, path; /* ids */
	uint64_t offset, load_bias;
	uint64_t start, end; /* not a part of the key if there is a build id */
};

struct frame_item {
	uint64_t rel_pc;
	uint32_t mapping, name; /* ids */
	uint64_t kind;
};

struct recent_frame {
	uint64_t rel_pc;
	uint32_t mapping; /* the id of its item; the kernel has 0 */
	uint32_t id;      /* 0 = empty */
};

struct orma_stack_intern {
	struct orma_intern_table tables[TABLES];
	struct orma_arena arena; /* the bytes of items */
	struct orma_map mapping_ids;
	uint64_t last_mapping; /* its number; 0 = none */
	uint32_t last_mapping_id;
	struct orma_stack_keys keys;
	struct recent_frame *recent;
	bool has_begun; /* the empty strings are written */
};

int orma_stack_intern_new(struct orma_stack_intern **ret)
{
	struct orma_stack_intern *intern = orma_base_zalloc(sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	intern->recent = orma_base_alloc_array(RECENT_FRAMES, sizeof(*intern->recent));
	if (!intern->recent || orma_stack_keys_init(&intern->keys) < 0) {
		orma_stack_intern_free(intern);
		return -ENOMEM;
	}
	intern->arena.limit_bytes = ITEMS_BYTES_MAX;
	for (size_t i = 0; i < TABLES; i++)
		intern->tables[i].seed = intern->keys.seed[0];
	*ret = intern;
	return 0;
}

void orma_stack_intern_free(struct orma_stack_intern *intern)
{
	if (!intern)
		return;
	for (size_t i = 0; i < TABLES; i++)
		orma_intern_table_done(&intern->tables[i]);
	orma_base_arena_done(&intern->arena);
	orma_base_map_done(&intern->mapping_ids);
	orma_stack_keys_done(&intern->keys);
	orma_base_free(intern->recent);
	orma_base_free(intern);
}

void orma_stack_intern_clear(struct orma_stack_intern *intern)
{
	for (size_t i = 0; i < TABLES; i++)
		orma_intern_table_clear(&intern->tables[i]);
	orma_base_arena_clear(&intern->arena);
	orma_base_map_done(&intern->mapping_ids);
	intern->mapping_ids = (struct orma_map){0};
	intern->last_mapping = 0;
	orma_stack_keys_clear(&intern->keys);
	memset(intern->recent, 0, RECENT_FRAMES * sizeof(*intern->recent));
	intern->has_begun = false;
}

/* --- stacks by their frames ------------------------------------------------------------------- */

static uint32_t put(struct orma_stack_intern *intern, enum table_kind kind, const void *bytes,
		    size_t size)
{
	return orma_intern_table_put(&intern->tables[kind], &intern->arena, bytes, size, size);
}

static uint32_t put_text(struct orma_stack_intern *intern, enum table_kind kind,
			 struct orma_str text)
{
	return put(intern, kind, text.data, text.size);
}

static uint32_t put_new_mapping(struct orma_stack_intern *intern,
				const struct orma_unwind_mapping *mapping)
{
	struct mapping_item item = {
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
		.load_bias = mapping->load_bias,
	};
	struct orma_str build_id = {(const char *)mapping->build_id, mapping->build_id_size};
	if (build_id.size > 0) {
		item.build_id = put_text(intern, BUILD_IDS, build_id);
		if (item.build_id == 0)
			return 0;
	}
	if (mapping->path.size > 0) {
		item.path = put_text(intern, PATHS, mapping->path);
		if (item.path == 0)
			return 0;
	}
	size_t key_size = item.build_id > 0 ? offsetof(struct mapping_item, start) : sizeof(item);
	uint32_t id = orma_intern_table_put(&intern->tables[MAPPINGS], &intern->arena, &item,
					    sizeof(item), key_size);
	if (id > 0 &&
	    orma_base_map_put(&intern->mapping_ids, mapping->id, (void *)(uintptr_t)id) < 0)
		return 0;
	return id;
}

static uint32_t put_mapping(struct orma_stack_intern *intern,
			    const struct orma_unwind_mapping *mapping)
{
	/* Most callers are in the file of what they call. */
	if (mapping->id == intern->last_mapping)
		return intern->last_mapping_id;
	uint32_t id = (uint32_t)(uintptr_t)orma_base_map_get(&intern->mapping_ids, mapping->id);
	if (id == 0)
		id = put_new_mapping(intern, mapping);
	if (id > 0) {
		intern->last_mapping = mapping->id;
		intern->last_mapping_id = id;
	}
	return id;
}

static uint32_t put_kernel(struct orma_stack_intern *intern)
{
	struct mapping_item item = {.path = put_text(intern, PATHS, ORMA_STR("kernel"))};

	return item.path > 0 ? put(intern, MAPPINGS, &item, sizeof(item)) : 0;
}

static uint32_t put_frame(struct orma_stack_intern *intern, const struct orma_stack_frame *frame)
{
	struct frame_item item = {.kind = frame->kind};

	if (frame->mapping) {
		item.rel_pc = frame->rel_pc;
		item.mapping = put_mapping(intern, frame->mapping);
	} else if (frame->kind == ORMA_STACK_FRAME_KERNEL) {
		item.mapping = put_kernel(intern);
	}
	if (item.mapping == 0 && (frame->mapping || frame->kind == ORMA_STACK_FRAME_KERNEL))
		return 0;
	if (frame->name.size > 0 || !frame->mapping) {
		item.name = put_text(intern, NAMES, frame->name);
		if (item.name == 0)
			return 0;
	}
	return put(intern, FRAMES, &item, sizeof(item));
}

uint64_t orma_stack_intern_add(struct orma_stack_intern *intern,
			       const struct orma_stack_frame *frames, size_t count)
{
	uint32_t ids[FRAMES_MAX];

	/* The innermost frames are those that say most. */
	count = ORMA_MIN(count, (size_t)FRAMES_MAX);
	for (size_t i = 0; i < count; i++) {
		uint32_t id = put_frame(intern, &frames[i]);
		if (id == 0)
			return 0;
		ids[count - 1 - i] = id;
	}
	return count > 0 ? put(intern, STACKS, ids, count * sizeof(*ids)) : 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static struct orma_stack_frame resolve_kernel(const struct orma_stack_sample *sample,
					      uint64_t address)
{
	struct orma_stack_frame frame = {.kind = ORMA_STACK_FRAME_KERNEL};

	if (sample->kallsyms)
		frame.name = orma_kallsyms_find(sample->kallsyms, address);
	if (frame.name.size == 0)
		frame.name = ORMA_STR("[kernel]");
	return frame;
}

static struct recent_frame *recent_place(struct orma_stack_intern *intern, uint32_t mapping,
					 uint64_t rel_pc)
{
	return &intern->recent[(rel_pc ^ rel_pc >> 12 ^ (uint64_t)mapping << 7) &
			       (RECENT_FRAMES - 1)];
}

static bool is_at(const struct recent_frame *place, uint32_t mapping, uint64_t rel_pc)
{
	return place->id > 0 && place->rel_pc == rel_pc && place->mapping == mapping;
}

static uint32_t put_kernel_address(struct orma_stack_intern *intern,
				   const struct orma_stack_sample *sample, uint64_t address)
{
	struct recent_frame *place = recent_place(intern, 0, address);

	if (is_at(place, 0, address))
		return place->id;
	struct orma_stack_frame frame = resolve_kernel(sample, address);
	*place = (struct recent_frame){address, 0, put_frame(intern, &frame)};
	return place->id;
}

/* A frame in a file. */
static uint32_t put_file_address(struct orma_stack_intern *intern,
				 const struct orma_unwind_mapping *mapping, uint64_t pc,
				 struct orma_module_symbols *symbols)
{
	struct orma_stack_frame frame = {.mapping = mapping,
					 .rel_pc = orma_unwind_mapping_rel_pc(mapping, pc),
					 .kind = ORMA_STACK_FRAME_NATIVE};
	uint32_t mapping_id = put_mapping(intern, mapping);

	if (mapping_id == 0)
		return 0;
	struct recent_frame *place = recent_place(intern, mapping_id, frame.rel_pc);
	if (is_at(place, mapping_id, frame.rel_pc))
		return place->id;
	uint32_t count = intern->tables[FRAMES].count, id = put_frame(intern, &frame);
	/* Without memory a name is missing, no more. */
	if (symbols && intern->tables[FRAMES].count > count)
		orma_module_symbols_add(symbols, mapping, frame.rel_pc);
	*place = (struct recent_frame){frame.rel_pc, mapping_id, id};
	return id;
}

/* *is_final becomes false when a name may be found later. */
static uint32_t put_user_address(struct orma_stack_intern *intern,
				 const struct orma_stack_sample *sample, uint64_t pc,
				 struct orma_module_symbols *symbols, bool *is_final)
{
	struct orma_stack_frame frame = {.kind = ORMA_STACK_FRAME_NATIVE};

	frame.mapping = orma_unwind_process_find(sample->process, pc);
	if (!frame.mapping) {
		frame.name = ORMA_STR("[unknown]");
		return put_frame(intern, &frame);
	}
	if (frame.mapping->file)
		return put_file_address(intern, frame.mapping, pc, symbols);
	frame.rel_pc = orma_unwind_mapping_rel_pc(frame.mapping, pc);
	frame.name = orma_unwind_process_jit_name(sample->process, pc, sample->now_ns);
	if (frame.name.size == 0) {
		*is_final = *is_final && frame.mapping->path.size > 0;
		return put_frame(intern, &frame);
	}
	/* Python names its functions so; it runs their bytecode. */
	bool is_python = frame.name.size > 4 && memcmp(frame.name.data, "py::", 4) == 0;
	frame.kind = is_python ? ORMA_STACK_FRAME_INTERPRETED : ORMA_STACK_FRAME_JIT;
	frame.mapping = NULL;
	return put_frame(intern, &frame);
}

/* Interns frame by frame, because the name of a JIT compiler's frame is gone with the next one. */
static uint64_t add_sample(struct orma_stack_intern *intern, const struct orma_stack_sample *sample,
			   struct orma_module_symbols *symbols, bool *is_final)
{
	uint32_t ids[FRAMES_MAX];
	size_t count = 0, room = FRAMES_MAX - (sample->error != NULL);

	for (size_t i = 0; i < sample->kernel_count && count < room; i++)
		ids[count++] = put_kernel_address(intern, sample, sample->kernel[i]);
	for (size_t i = 0; sample->process && i < sample->user_count && count < room; i++)
		ids[count++] = put_user_address(intern, sample, sample->user[i], symbols, is_final);
	if (sample->error) {
		struct orma_stack_frame frame = {.name = orma_base_str(sample->error)};
		ids[count++] = put_frame(intern, &frame);
	}
	for (size_t i = 0; i < count; i++)
		if (ids[i] == 0)
			return 0;
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t id = ids[i];

		ids[i] = ids[count - 1 - i];
		ids[count - 1 - i] = id;
	}
	return count > 0 ? put(intern, STACKS, ids, count * sizeof(*ids)) : 0;
}

uint64_t orma_stack_intern_sample(struct orma_stack_intern *intern,
				  const struct orma_stack_sample *sample,
				  struct orma_module_symbols *symbols)
{
	bool is_final = true;
	uint64_t error = sample->error ? orma_base_fnv1a(ORMA_FNV1A_INIT, sample->error,
							 strlen(sample->error))
				       : 0;
	struct orma_stack_key key = orma_stack_key_begin(
		&intern->keys,
		sample->process ? orma_unwind_process_generation(sample->process) : 0);

	orma_stack_key_add(&key, sample->kernel, sample->kernel_count);
	orma_stack_key_add(&key, sample->user, sample->process ? sample->user_count : 0);
	orma_stack_key_add(&key, &error, sample->error != NULL);
	uint64_t iid = orma_stack_keys_find(&intern->keys, key);
	if (iid > 0)
		return iid;
	iid = add_sample(intern, sample, symbols, &is_final);
	if (iid > 0 && is_final)
		orma_stack_keys_remember(&intern->keys, key, iid);
	return iid;
}

/* --- writing ---------------------------------------------------------------------------------- */

static const uint32_t fields[TABLES] = {
	[BUILD_IDS] = ORMA_PB_INTERNED_DATA_BUILD_IDS,
	[PATHS] = ORMA_PB_INTERNED_DATA_MAPPING_PATHS,
	[NAMES] = ORMA_PB_INTERNED_DATA_FUNCTION_NAMES,
	[MAPPINGS] = ORMA_PB_INTERNED_DATA_MAPPINGS,
	[FRAMES] = ORMA_PB_INTERNED_DATA_FRAMES,
	[STACKS] = ORMA_PB_INTERNED_DATA_CALLSTACKS,
};

static void write_mapping(struct orma_packet *packet, const struct mapping_item *item)
{
	orma_packet_varint(packet, ORMA_PB_MAPPING_BUILD_ID, item->build_id);
	orma_packet_varint(packet, ORMA_PB_MAPPING_START_OFFSET, item->offset);
	orma_packet_varint(packet, ORMA_PB_MAPPING_START, item->start);
	orma_packet_varint(packet, ORMA_PB_MAPPING_END, item->end);
	orma_packet_varint(packet, ORMA_PB_MAPPING_LOAD_BIAS, item->load_bias);
	if (item->path > 0)
		orma_packet_varint(packet, ORMA_PB_MAPPING_PATH_STRING_IDS, item->path);
	orma_packet_varint(packet, ORMA_PB_MAPPING_EXACT_OFFSET, item->offset);
}

static void write_frame(struct orma_packet *packet, const struct frame_item *item)
{
	if (item->name > 0)
		orma_packet_varint(packet, ORMA_PB_FRAME_FUNCTION_NAME_ID, item->name);
	if (item->mapping > 0)
		orma_packet_varint(packet, ORMA_PB_FRAME_MAPPING_ID, item->mapping);
	orma_packet_varint(packet, ORMA_PB_FRAME_REL_PC, item->rel_pc);
	if (item->kind > ORMA_STACK_FRAME_KERNEL)
		orma_packet_varint(packet, ORMA_PB_FRAME_KIND, item->kind);
}

static void write_item(struct orma_packet *packet, enum table_kind kind, uint64_t iid,
		       const struct orma_intern_item *item)
{
	struct orma_nested nested;

	orma_packet_nested_begin(packet, &nested, fields[kind]);
	/* All of them have the id in field 1. */
	orma_packet_varint(packet, ORMA_PB_INTERNED_STRING_IID, iid);
	switch (kind) {
	case MAPPINGS:
		write_mapping(packet, item->bytes);
		break;
	case FRAMES:
		write_frame(packet, item->bytes);
		break;
	case STACKS:
		for (size_t i = 0; i < item->size / sizeof(uint32_t); i++)
			orma_packet_varint(packet, ORMA_PB_CALLSTACK_FRAME_IDS,
					   ((const uint32_t *)item->bytes)[i]);
		break;
	default:
		orma_packet_bytes(packet, ORMA_PB_INTERNED_STRING_STR, item->bytes, item->size);
	}
	orma_packet_nested_end(packet, &nested);
}

static void write_empty_strings(struct orma_packet *packet)
{
	const struct orma_intern_item empty = {.bytes = ""};

	for (enum table_kind kind = BUILD_IDS; kind <= NAMES; kind++)
		write_item(packet, kind, 0, &empty);
}

bool orma_stack_intern_has_news(const struct orma_stack_intern *intern)
{
	bool has_news = !intern->has_begun;

	for (size_t i = 0; i < TABLES; i++)
		has_news = has_news || intern->tables[i].written < intern->tables[i].count;
	return has_news;
}

bool orma_stack_intern_write(struct orma_stack_intern *intern, struct orma_packet *packet,
			     size_t limit_bytes)
{
	struct orma_nested nested;
	size_t size = 0;

	if (!packet || !orma_stack_intern_has_news(intern))
		return !orma_stack_intern_has_news(intern);
	orma_packet_nested_begin(packet, &nested, ORMA_PACKET_INTERNED_DATA);
	if (!intern->has_begun)
		write_empty_strings(packet);
	intern->has_begun = true;
	for (enum table_kind kind = 0; kind < TABLES; kind++) {
		struct orma_intern_table *table = &intern->tables[kind];

		for (; table->written < table->count; table->written++) {
			const struct orma_intern_item *item = &table->items[table->written];

			if (limit_bytes > 0 && size >= limit_bytes)
				break;
			write_item(packet, kind, table->written + 1, item);
			size += item->size + WRITE_OVERHEAD;
		}
	}
	orma_packet_nested_end(packet, &nested);
	return !orma_stack_intern_has_news(intern);
}
