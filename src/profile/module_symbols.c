/* SPDX-License-Identifier: Apache-2.0
 * module_symbols.c - sets of addresses by file, and the functions that they lie in.
 *
 * Owns a reference to each file, which keeps the file open (file_cache.c). So its symbols can be read
 * when its process and its mount namespace are gone. If too many files are open, the others are opened
 * again by their paths. A module is a file together with a path, because readers look for the names of a
 * mapping by path and build id.
 *
 * The addresses of a module are an open-addressed hash set. 0 is an empty slot, because no function lies
 * at address 0. Only the symbols of one module are in memory at a time.
 */
#include "profile/module_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "base/map.h"
#include "profile/symbol_names.h"
#include "profile/symbol_reader.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define ADDRESSES_MAX    1000000u
#define PACKET_BYTES_MAX 65536u

struct module {
	const struct orma_unwind_file *file;
	struct orma_str path;
	uint64_t *slots;
	uint32_t count, slot_count; /* a power of two, at most half full; or 0 */
};

struct prefixes {
	const struct orma_str *items;
	size_t count;
};

struct orma_module_symbols {
	struct prefixes skipped;
	struct orma_map by_key; /* values: struct module */
	struct orma_map by_mapping;
	uint32_t address_count;
};

int orma_module_symbols_new(struct orma_module_symbols **ret)
{
	struct orma_module_symbols *symbols = orma_base_zalloc(sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	*ret = symbols;
	return 0;
}

static void free_module(struct module *module)
{
	orma_unwind_file_unref(module->file);
	orma_base_free(module->slots);
	orma_base_free(module);
}

static void clear(struct orma_module_symbols *symbols)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&symbols->by_key, &position)))
		free_module(slot->value);
	orma_base_map_done(&symbols->by_key);
	orma_base_map_done(&symbols->by_mapping);
	*symbols = (struct orma_module_symbols){.skipped = symbols->skipped};
}

void orma_module_symbols_free(struct orma_module_symbols *symbols)
{
	if (!symbols)
		return;
	clear(symbols);
	orma_base_free(symbols);
}

/* --- collecting ------------------------------------------------------------------------------- */

static struct module *new_module(const struct orma_unwind_mapping *mapping)
{
	struct module *module = orma_base_zalloc(sizeof(*module) + mapping->path.size);

	if (!module)
		return NULL;
	memcpy(module + 1, mapping->path.data, mapping->path.size);
	module->path = (struct orma_str){(const char *)(module + 1), mapping->path.size};
	module->file = orma_unwind_file_ref(mapping->file);
	return module;
}

/* Finds or makes the module of a mapping. Keys are hashes of file and path. If two modules have the same hash,
 * the second one gets no names. */
static struct module *find_module(struct orma_module_symbols *symbols,
				  const struct orma_unwind_mapping *mapping)
{
	struct module *module = orma_base_map_get(&symbols->by_mapping, mapping->id);
	uint64_t address = (uint64_t)(uintptr_t)mapping->file;
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, &address, sizeof(address));

	if (module)
		return module;
	key = orma_base_fnv1a(key, mapping->path.data, mapping->path.size);
	module = orma_base_map_get(&symbols->by_key, key);
	if (!module) {
		module = new_module(mapping);
		if (!module)
			return NULL;
		if (orma_base_map_put(&symbols->by_key, key, module) < 0) {
			free_module(module);
			return NULL;
		}
	}
	return orma_base_map_put(&symbols->by_mapping, mapping->id, module) == 0 ? module : NULL;
}

static uint64_t *find_slot(uint64_t *slots, uint32_t slot_count, uint64_t address)
{
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) & (slot_count - 1);

	while (slots[at] != 0 && slots[at] != address)
		at = (at + 1) & (slot_count - 1);
	return &slots[at];
}

static int grow(struct module *module)
{
	uint32_t slot_count = module->slot_count ? module->slot_count * 2 : 64;
	uint64_t *slots = orma_base_alloc_array(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < module->slot_count; i++)
		if (module->slots[i] != 0)
			*find_slot(slots, slot_count, module->slots[i]) = module->slots[i];
	orma_base_free(module->slots);
	module->slots = slots;
	module->slot_count = slot_count;
	return 0;
}

int orma_module_symbols_add(struct orma_module_symbols *symbols,
			    const struct orma_unwind_mapping *mapping, uint64_t rel_pc)
{
	if (!mapping->file || rel_pc == 0)
		return 0;
	struct module *module = find_module(symbols, mapping);
	if (!module)
		return -ENOMEM;
	if (module->count * 2 >= module->slot_count && grow(module) < 0)
		return -ENOMEM;
	uint64_t *slot = find_slot(module->slots, module->slot_count, rel_pc);
	if (*slot == rel_pc)
		return 0;
	if (symbols->address_count == ADDRESSES_MAX)
		return -ENOSPC;
	*slot = rel_pc;
	module->count++;
	symbols->address_count++;
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Moves the addresses to the front, in order, so that output does not depend on hashes. */
static void sort_addresses(struct module *module)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < module->slot_count; i++)
		if (module->slots[i] != 0)
			module->slots[count++] = module->slots[i];
	qsort(module->slots, count, sizeof(*module->slots), compare_addresses);
}

void orma_module_symbols_skip(struct orma_module_symbols *symbols, const struct orma_str *prefixes,
			      size_t count)
{
	symbols->skipped = (struct prefixes){prefixes, count};
}

/* Replaces a name that is to be hidden by the one that Perfetto's profiler writes. */
static struct orma_str visible_name(const struct prefixes *skipped, struct orma_str name)
{
	for (size_t i = 0; i < skipped->count; i++)
		if (name.size >= skipped->items[i].size &&
		    memcmp(name.data, skipped->items[i].data, skipped->items[i].size) == 0)
			return ORMA_STR("FILTERED");
	return name;
}

static void write_address(struct orma_packet *packet, uint64_t address, struct orma_str name)
{
	struct orma_nested nested, line;

	orma_packet_nested_begin(packet, &nested, ORMA_PB_MODULE_SYMBOLS_ADDRESS_SYMBOLS);
	orma_packet_varint(packet, ORMA_PB_ADDRESS_SYMBOLS_ADDRESS, address);
	orma_packet_nested_begin(packet, &line, ORMA_PB_ADDRESS_SYMBOLS_LINES);
	orma_packet_bytes(packet, ORMA_PB_LINE_FUNCTION_NAME, name.data, name.size);
	orma_packet_nested_end(packet, &line);
	orma_packet_nested_end(packet, &nested);
}

/* The path needs a slash at its beginning, also for "[vdso]": readers put one there in the path of a mapping before they look for
 * its names. */
static void write_path(struct orma_packet *packet, struct orma_str path)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "/%.*s", (int)ORMA_MIN(path.size, sizeof(text)),
			    path.data);

	if (path.size > 0 && path.data[0] != '/' && size < (int)sizeof(text))
		path = (struct orma_str){text, (size_t)size};
	orma_packet_bytes(packet, ORMA_PB_MODULE_SYMBOLS_PATH, path.data, path.size);
}

/* Writes one packet with the addresses from `first` on, and returns the first that has no room. */
static uint32_t write_packet(const struct module *module, struct orma_str *names,
			     const struct prefixes *skipped, uint32_t first,
			     struct orma_packet *packet, uint32_t *named_count)
{
	const struct orma_elf_file *elf = &module->file->elf;
	struct orma_nested nested;
	struct orma_str name;
	size_t size = 0;

	orma_packet_varint(packet, ORMA_PACKET_TIMESTAMP, orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_MODULE_SYMBOLS);
	write_path(packet, module->path);
	orma_packet_bytes(packet, ORMA_PB_MODULE_SYMBOLS_BUILD_ID, elf->build_id,
			  elf->build_id_size);
	for (; first < module->count && size < PACKET_BYTES_MAX; first++) {
		if (!orma_symbol_names_next(names, &name)) {
			first = module->count;
			break;
		}
		if (name.size == 0)
			continue;
		name = visible_name(skipped, name);
		write_address(packet, module->slots[first], name);
		size += name.size + 24;
		++*named_count;
	}
	orma_packet_nested_end(packet, &nested);
	return first;
}

static void write_module(const struct module *module, struct orma_str names_untrusted,
			 const struct prefixes *skipped, struct orma_data_source *source,
			 uint32_t idx, uint32_t *named_count)
{
	for (uint32_t first = 0; first < module->count;) {
		struct orma_packet *packet = orma_packet_begin(source, idx);

		if (!packet)
			break;
		first = write_packet(module, &names_untrusted, skipped, first, packet, named_count);
		orma_packet_end(packet);
	}
}

static int compare_modules(const void *left, const void *right)
{
	const struct module *a = *(struct module *const *)left, *b = *(struct module *const *)right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strncmp(a->path.data, b->path.data, ORMA_MIN(a->path.size, b->path.size));
}

struct orma_module_symbols_facts orma_module_symbols_write(struct orma_module_symbols *symbols,
							   struct orma_data_source *source,
							   uint32_t idx, uint64_t deadline_ns)
{
	struct orma_module_symbols_facts facts = {
		.module_count = (uint32_t)symbols->by_key.count,
		.address_count = symbols->address_count,
	};
	struct orma_symbol_reader *reader = NULL;
	ORMA_AUTO(orma_base_freep)
	struct module **modules =
		orma_base_alloc_array(facts.module_count + 1u, sizeof(struct module *));
	struct orma_map_slot *slot;
	size_t position = 0, count = 0;

	while (modules && (slot = orma_base_map_next(&symbols->by_key, &position)))
		modules[count++] = slot->value;
	if (count > 0)
		qsort(modules, count, sizeof(struct module *), compare_modules);
	if (count > 0 && orma_symbol_reader_new(NULL, &reader) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
		sort_addresses(modules[i]);
		const struct orma_symbol_request request = {modules[i]->file, modules[i]->path,
							    modules[i]->slots, modules[i]->count};
		int r = orma_symbol_reader_read(reader, &request, deadline_ns, &names);

		if (r == 0)
			write_module(modules[i], orma_base_buf_str(&names), &symbols->skipped,
				     source, idx, &facts.named_count);
	}
	orma_symbol_reader_free(reader);
	clear(symbols);
	return facts;
}
