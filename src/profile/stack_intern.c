/* SPDX-License-Identifier: Apache-2.0
 * stack_intern.c - tables of what a packet sequence has said about call stacks.
 *
 *	keys     128-bit hash of addresses  -> stack        forgotten when full
 *	recent   generation, address        -> frame        overwritten by others
 *	stacks   numbers of frames          -> number       named by samples (callstack_iid)
 *	frames   mapping, rel_pc, name      -> number
 *	mappings addresses, build id, path  -> number
 *	names, paths, build ids             -> number
 *
 * All tables but `keys` are of one kind: an item is a run of bytes, found by its hash and then
 * compared. Numbers of items are their ids, from 1. `written` items of each table are known to the
 * reader. Items refer to items of tables below them only, which are written first.
 *
 * Equal mappings have equal bytes, whatever process they belong to, but most processes have
 * addresses of their own, and so mappings. `mapping_ids` leads from the number of a mapping to that
 * of its item, so that a frame needs no search for texts.
 *
 * Most new stacks are a new leaf on known frames. `recent` finds those by their addresses, without
 * their mapping, and without the items of five tables. It has frames whose name does not change.
 *
 * Kernel frames are written as upstream does, because readers know the kernel by that: a mapping
 * with the path "kernel" and nothing else, and frames with a name and no address.
 *
 * Bounds: all items take at most ITEMS_BYTES_MAX, `keys` has KEYS_MAX places, `recent` RECENT_FRAMES. `keys` compares
 * hashes only. Their seed is random, so a target cannot choose addresses that collide.
 */
#include "profile/stack_intern.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"

#define ITEMS_BYTES_MAX ((size_t)64 << 20)
#define KEYS_MAX        65536u
#define RECENT_FRAMES   8192u /* a power of two */
#define FRAMES_MAX      1024u /* in a stack */
#define WRITE_OVERHEAD  8u    /* tags and lengths of an item, roughly */

struct item {
	const void *bytes;
	uint32_t size;
	uint32_t hash;
};

struct table {
	struct item *items; /* [0] has id 1 */
	uint32_t *slots;    /* ids; 0 = empty; at most half full */
	uint32_t count, capacity, slot_count;
	uint32_t written;
};

/* Tables are written in this order. */
enum table_kind { BUILD_IDS, PATHS, NAMES, MAPPINGS, FRAMES, STACKS, TABLES };

struct mapping_item {
	uint64_t start, end, offset, load_bias;
	uint64_t build_id, path; /* ids */
};

struct frame_item {
	uint64_t rel_pc;
	uint32_t mapping, name; /* ids */
	uint64_t kind;
};

struct key_slot {
	struct orma_stack_key key;
	uint64_t iid; /* 0 = empty */
};

struct recent_frame {
	uint64_t generation; /* that of the process; the kernel has 0 */
	uint64_t address;
	uint64_t id; /* 0 = empty */
};

struct orma_stack_intern {
	struct table tables[TABLES];
	struct orma_arena arena; /* the bytes of items */
	struct orma_map mapping_ids;
	struct key_slot *keys; /* KEYS_MAX * 2 slots */
	size_t key_count;
	struct recent_frame *recent;
	uint64_t seed[2];
	bool has_begun; /* the empty strings are written */
};

/* --- tables ----------------------------------------------------------------------------------- */

static int grow_slots(struct table *table)
{
	uint32_t slot_count = table->slot_count ? table->slot_count * 2 : 64;
	uint32_t *slots = orma_base_alloc_array(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t at = table->items[i].hash & (slot_count - 1);

		while (slots[at] > 0)
			at = (at + 1) & (slot_count - 1);
		slots[at] = i + 1;
	}
	orma_base_free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

static int reserve(struct table *table)
{
	if (table->count == table->capacity) {
		uint32_t capacity = table->capacity ? table->capacity * 2 : 32;
		struct item *items =
			orma_base_realloc_array(table->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		table->items = items;
		table->capacity = capacity;
	}
	return table->count * 2 >= table->slot_count ? grow_slots(table) : 0;
}

static inline uint64_t mix(uint64_t hash, uint64_t word, uint64_t factor)
{
	hash = (hash ^ word) * factor;
	return hash ^ hash >> 32;
}

static uint64_t hash_of(uint64_t seed, const uint8_t *bytes, size_t size)
{
	uint64_t hash = seed ^ size, word;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash, word, UINT64_C(0xff51afd7ed558ccd));
	}
	word = 0;
	if (size > 0)
		memcpy(&word, bytes, size);
	return mix(hash, word, UINT64_C(0xc4ceb9fe1a85ec53));
}

/* The id of the item with these bytes, which is added if there is none; 0 without memory. */
static uint32_t put(struct orma_stack_intern *intern, enum table_kind kind, const void *bytes,
		    size_t size)
{
	struct table *table = &intern->tables[kind];
	uint32_t hash = (uint32_t)hash_of(intern->seed[0], bytes, size);

	if (reserve(table) < 0)
		return 0;
	uint32_t at = hash & (table->slot_count - 1);
	for (; table->slots[at] > 0; at = (at + 1) & (table->slot_count - 1)) {
		const struct item *item = &table->items[table->slots[at] - 1];

		if (item->hash == hash && item->size == size &&
		    (size == 0 || memcmp(item->bytes, bytes, size) == 0))
			return table->slots[at];
	}
	/* The arena's limit counts items too. */
	const void *copy = orma_base_arena_alloc(&intern->arena, size + sizeof(struct item));
	if (!copy)
		return 0;
	if (size > 0)
		memcpy((void *)(uintptr_t)copy, bytes, size);
	table->items[table->count++] = (struct item){copy, (uint32_t)size, hash};
	table->slots[at] = table->count;
	return table->count;
}

static void table_done(struct table *table)
{
	orma_base_free(table->items);
	orma_base_free(table->slots);
	*table = (struct table){0};
}

int orma_stack_intern_new(struct orma_stack_intern **ret)
{
	struct orma_stack_intern *intern = orma_base_zalloc(sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	intern->keys = orma_base_alloc_array((size_t)KEYS_MAX * 2, sizeof(*intern->keys));
	intern->recent = orma_base_alloc_array(RECENT_FRAMES, sizeof(*intern->recent));
	if (!intern->keys || !intern->recent) {
		orma_stack_intern_free(intern);
		return -ENOMEM;
	}
	intern->arena.limit_bytes = ITEMS_BYTES_MAX;
	/* Without it the seed is the address, which a target does not know either. */
	if (getrandom(intern->seed, sizeof(intern->seed), GRND_NONBLOCK) < 0)
		intern->seed[0] = intern->seed[1] = (uint64_t)(uintptr_t)intern;
	*ret = intern;
	return 0;
}

void orma_stack_intern_free(struct orma_stack_intern *intern)
{
	if (!intern)
		return;
	for (size_t i = 0; i < TABLES; i++)
		table_done(&intern->tables[i]);
	orma_base_arena_done(&intern->arena);
	orma_base_map_done(&intern->mapping_ids);
	orma_base_free(intern->keys);
	orma_base_free(intern->recent);
	orma_base_free(intern);
}

static void forget_keys(struct orma_stack_intern *intern)
{
	if (intern->key_count > 0)
		memset(intern->keys, 0, (size_t)KEYS_MAX * 2 * sizeof(*intern->keys));
	intern->key_count = 0;
}

void orma_stack_intern_clear(struct orma_stack_intern *intern)
{
	for (size_t i = 0; i < TABLES; i++) {
		struct table *table = &intern->tables[i];

		if (table->slots)
			memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
		table->count = table->written = 0;
	}
	orma_base_arena_clear(&intern->arena);
	orma_base_map_done(&intern->mapping_ids);
	intern->mapping_ids = (struct orma_map){0};
	forget_keys(intern);
	memset(intern->recent, 0, RECENT_FRAMES * sizeof(*intern->recent));
	intern->has_begun = false;
}

/* --- stacks by their addresses ---------------------------------------------------------------- */

struct orma_stack_key orma_stack_key_begin(const struct orma_stack_intern *intern,
					   uint64_t generation)
{
	return (struct orma_stack_key){intern->seed[0] ^ generation, intern->seed[1]};
}

void orma_stack_key_add(struct orma_stack_key *key, const uint64_t *addresses, size_t count)
{
	uint64_t low = key->low, high = key->high;

	for (size_t i = 0; i < count; i++) {
		low = mix(low, addresses[i], UINT64_C(0xff51afd7ed558ccd));
		high = mix(high, addresses[i], UINT64_C(0xc4ceb9fe1a85ec53));
	}
	/* Where one part ends is a part of the stack. */
	key->low = mix(low, count, UINT64_C(0xff51afd7ed558ccd));
	key->high = high;
}

static struct key_slot *find_key(const struct orma_stack_intern *intern, struct orma_stack_key key)
{
	size_t mask = (size_t)KEYS_MAX * 2 - 1, at = (size_t)key.low & mask;

	while (intern->keys[at].iid > 0 &&
	       (intern->keys[at].key.low != key.low || intern->keys[at].key.high != key.high))
		at = (at + 1) & mask;
	return &intern->keys[at];
}

uint64_t orma_stack_intern_find(const struct orma_stack_intern *intern, struct orma_stack_key key)
{
	return find_key(intern, key)->iid;
}

void orma_stack_intern_remember(struct orma_stack_intern *intern, struct orma_stack_key key,
				uint64_t iid)
{
	if (intern->key_count == KEYS_MAX)
		forget_keys(intern);
	struct key_slot *slot = find_key(intern, key);
	intern->key_count += slot->iid == 0 && iid > 0;
	*slot = (struct key_slot){key, iid};
}

/* --- stacks by their frames ------------------------------------------------------------------- */

static uint32_t put_text(struct orma_stack_intern *intern, enum table_kind kind,
			 struct orma_str text)
{
	return put(intern, kind, text.data, text.size);
}

static uint32_t put_mapping(struct orma_stack_intern *intern,
			    const struct orma_unwind_mapping *mapping)
{
	void *known = orma_base_map_get(&intern->mapping_ids, mapping->id);

	if (known)
		return (uint32_t)(uintptr_t)known;
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
	uint32_t id = put(intern, MAPPINGS, &item, sizeof(item));
	if (id > 0 &&
	    orma_base_map_put(&intern->mapping_ids, mapping->id, (void *)(uintptr_t)id) < 0)
		return 0;
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

/* *is_final becomes false when a name may be found later. */
static struct orma_stack_frame resolve_user(const struct orma_stack_sample *sample, uint64_t pc,
					    bool *is_final)
{
	struct orma_stack_frame frame = {.kind = ORMA_STACK_FRAME_NATIVE};

	frame.mapping = orma_unwind_process_find(sample->process, pc);
	if (!frame.mapping) {
		frame.name = ORMA_STR("[unknown]");
		return frame;
	}
	frame.rel_pc = orma_unwind_mapping_rel_pc(frame.mapping, pc);
	if (frame.mapping->file)
		return frame;
	frame.name = orma_unwind_process_jit_name(sample->process, pc, sample->now_ns);
	if (frame.name.size == 0) {
		*is_final = *is_final && frame.mapping->path.size > 0;
		return frame;
	}
	/* Python names its functions so; it runs their bytecode. */
	bool is_python = frame.name.size > 4 && memcmp(frame.name.data, "py::", 4) == 0;
	frame.kind = is_python ? ORMA_STACK_FRAME_INTERPRETED : ORMA_STACK_FRAME_JIT;
	frame.mapping = NULL;
	return frame;
}

static struct recent_frame *recent_place(struct orma_stack_intern *intern, uint64_t generation,
					 uint64_t address)
{
	return &intern->recent[(address ^ address >> 12 ^ generation << 5) & (RECENT_FRAMES - 1)];
}

static bool is_at(const struct recent_frame *place, uint64_t generation, uint64_t address)
{
	return place->id > 0 && place->address == address && place->generation == generation;
}

static uint32_t put_kernel_address(struct orma_stack_intern *intern,
				   const struct orma_stack_sample *sample, uint64_t address)
{
	struct recent_frame *place = recent_place(intern, 0, address);

	if (is_at(place, 0, address))
		return (uint32_t)place->id;
	struct orma_stack_frame frame = resolve_kernel(sample, address);
	*place = (struct recent_frame){0, address, put_frame(intern, &frame)};
	return (uint32_t)place->id;
}

static uint32_t put_user_address(struct orma_stack_intern *intern,
				 const struct orma_stack_sample *sample, uint64_t address,
				 struct orma_module_symbols *symbols, bool *is_final)
{
	uint64_t generation = orma_unwind_process_generation(sample->process);
	struct recent_frame *place = recent_place(intern, generation, address);

	if (is_at(place, generation, address))
		return (uint32_t)place->id;
	struct orma_stack_frame frame = resolve_user(sample, address, is_final);
	uint32_t id = put_frame(intern, &frame);
	/* Without memory a name is missing, no more. */
	if (symbols && frame.mapping)
		orma_module_symbols_add(symbols, frame.mapping, frame.rel_pc);
	/* The names of others may change, or be found later. */
	if (frame.mapping && frame.mapping->file)
		*place = (struct recent_frame){generation, address, id};
	return id;
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
		intern, sample->process ? orma_unwind_process_generation(sample->process) : 0);

	orma_stack_key_add(&key, sample->kernel, sample->kernel_count);
	orma_stack_key_add(&key, sample->user, sample->process ? sample->user_count : 0);
	orma_stack_key_add(&key, &error, sample->error != NULL);
	uint64_t iid = orma_stack_intern_find(intern, key);
	if (iid > 0)
		return iid;
	iid = add_sample(intern, sample, symbols, &is_final);
	if (iid > 0 && is_final)
		orma_stack_intern_remember(intern, key, iid);
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
		       const struct item *item)
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
	const struct item empty = {.bytes = ""};

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
		struct table *table = &intern->tables[kind];

		for (; table->written < table->count; table->written++) {
			const struct item *item = &table->items[table->written];

			if (limit_bytes > 0 && size >= limit_bytes)
				break;
			write_item(packet, kind, table->written + 1, item);
			size += item->size + WRITE_OVERHEAD;
		}
	}
	orma_packet_nested_end(packet, &nested);
	return !orma_stack_intern_has_news(intern);
}
