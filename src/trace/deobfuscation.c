/* SPDX-License-Identifier: Apache-2.0
 * deobfuscation.c - the packets, and the names of classes and fields in heap graphs.
 *
 * Many classes can have one name. The first of them gets the name that is found, and the others copy it at the end; so a trace
 * with many of both costs no more than their sum.
 */
#include "trace/deobfuscation.h"

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/deobfuscation.pb.h"
#include "store/grow.h"
#include "trace/java_names.h"
#include "trace/message_fields.h"

struct heap_names {
	struct orma_deobfuscation *deobfuscation;
	struct orma_map classes; /* the first class + 1 by package and name */
	struct orma_map fields;  /* the first field + 1 by name */
};

void orma_deobfuscation_done(struct orma_deobfuscation *deobfuscation)
{
	orma_base_free(deobfuscation->places);
	orma_trace_window_done(&deobfuscation->window);
}

int orma_deobfuscation_take(struct orma_deobfuscation *deobfuscation,
			    const struct orma_ordered_event *event)
{
	const struct orma_packet *packet = event->packet;
	if (packet->content.size == 0 || deobfuscation->graphs->is_off)
		return 0;
	int r = orma_store_grow(&deobfuscation->places, (uint64_t)deobfuscation->place_count + 1,
				&deobfuscation->place_capacity, sizeof(*deobfuscation->places));
	if (r < 0)
		return r;
	size_t offset = (size_t)(packet->content.data - packet->bytes.data);
	deobfuscation->places[deobfuscation->place_count++] =
		(struct orma_deobfuscation_place){packet->address + offset, packet->content.size};
	return 0;
}

int orma_deobfuscation_read(struct orma_deobfuscation *deobfuscation, uint32_t place,
			    struct orma_str *ret)
{
	const struct orma_deobfuscation_place *at = &deobfuscation->places[place];
	const uint8_t *data;
	int r = orma_trace_window_read(&deobfuscation->window, deobfuscation->system->index->input,
				       at->address, at->size, 0, &data);
	*ret = r > 0 ? (struct orma_str){(const char *)data, at->size} : ORMA_STR("");
	return ORMA_MIN(r, 0);
}

static int64_t join(struct orma_system *system, struct orma_str class_name, struct orma_str member)
{
	system->text.size = 0;
	int r = orma_base_buf_append(&system->text, class_name.data, class_name.size);
	if (r == 0)
		r = orma_base_buf_append(&system->text, ".", 1);
	if (r == 0)
		r = orma_base_buf_append(&system->text, member.data, member.size);
	return r;
}

int64_t orma_deobfuscation_member(struct orma_deobfuscation *deobfuscation,
				  struct orma_str class_name, struct orma_str member)
{
	struct orma_system *system = deobfuscation->system;
	if (member.size > 0 && memchr(member.data, '.', member.size))
		return orma_tables_string(system->tables, member);
	int64_t r = join(system, class_name, member);
	return r < 0 ? r
		     : orma_tables_string(system->tables,
					  (struct orma_str){(const char *)system->text.data,
							    system->text.size});
}

static uint64_t class_key(int64_t package, int64_t name)
{
	int64_t words[] = {package, name};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

static struct orma_str text_of(const struct heap_names *names, int64_t cell)
{
	return cell == ORMA_CELL_NULL
		       ? (struct orma_str){NULL, 0}
		       : orma_store_pool_get(&names->deobfuscation->system->tables->strings,
					     (uint32_t)cell);
}

/* Returns the package of a class's file, or else of the process; ORMA_CELL_NULL, or a negative errno value. */
static int64_t package_of(const struct heap_names *names, const struct orma_heap_class *class)
{
	struct orma_system *system = names->deobfuscation->system;
	struct orma_str package;
	int found = class->location == ORMA_CELL_NULL
			    ? 0
			    : orma_java_package_of(text_of(names, class->location), &package);
	if (found > 0)
		return orma_tables_string(system->tables, package);
	if (found < 0)
		orma_stats_add(&system->stats, 0, ORMA_STAT_deobfuscate_location_parse_error, 0, 1);
	return orma_packages_of(names->deobfuscation->packages,
				names->deobfuscation->graphs->dumps[class->graph].upid);
}

/* Enters an item under its key: returns the first item of the key, or a negative errno value. */
static int64_t enter(struct orma_map *map, uint64_t key, uint32_t item)
{
	uintptr_t first = (uintptr_t)orma_base_map_get(map, key);
	if (first)
		return (int64_t)first - 1;
	int r = orma_base_map_put(map, key, (void *)((uintptr_t)item + 1));
	return r < 0 ? r : (int64_t)item;
}

static int enter_all(struct heap_names *names)
{
	struct orma_heap_graphs *graphs = names->deobfuscation->graphs;
	names->classes.seed = names->fields.seed = names->deobfuscation->system->index->seed;
	for (uint32_t i = 0; i < graphs->class_count; i++) {
		struct orma_heap_class *class = &graphs->classes[i];
		struct orma_java_type type = orma_java_type_read(text_of(names, class->name));
		int64_t name = orma_tables_string(names->deobfuscation->system->tables, type.name);
		int64_t package = package_of(names, class);
		if (orma_is_failure(package))
			return (int)package;
		int64_t first = enter(&names->classes, class_key(package, name), i);
		if (first < 0)
			return (int)first;
		class->first = (uint32_t)first;
	}
	for (uint32_t i = 0; i < graphs->field_count; i++) {
		int64_t first = enter(&names->fields, (uint64_t)graphs->fields[i].name, i);
		if (first < 0)
			return (int)first;
		graphs->fields[i].first = (uint32_t)first;
	}
	return 0;
}

static void name_class(struct heap_names *names, int64_t package, int64_t name, int64_t original)
{
	uintptr_t class = (uintptr_t)orma_base_map_get(&names->classes, class_key(package, name));
	if (class)
		names->deobfuscation->graphs->classes[class - 1].deobfuscated_name = original;
}

static int name_fields(struct heap_names *names, const struct orma_message *class)
{
	struct orma_system *system = names->deobfuscation->system;
	struct orma_proto_reader reader;
	struct orma_str bytes;
	orma_proto_reader_init(&reader, class->bytes.data, class->bytes.size);
	while (orma_message_next(&reader, ORMA_PB_OBFUSCATED_CLASS_OBFUSCATED_MEMBERS, &bytes)) {
		struct orma_message member;
		orma_message_read(&member, bytes);
		int64_t r = join(
			system, orma_message_bytes(class, ORMA_PB_OBFUSCATED_CLASS_OBFUSCATED_NAME),
			orma_message_bytes(&member, ORMA_PB_OBFUSCATED_MEMBER_OBFUSCATED_NAME));
		if (r < 0)
			return (int)r;
		uint32_t name = orma_store_pool_find(
			&system->tables->strings,
			(struct orma_str){(const char *)system->text.data, system->text.size});
		uintptr_t field = name ? (uintptr_t)orma_base_map_get(&names->fields, name) : 0;
		if (!field)
			continue;
		int64_t original = orma_deobfuscation_member(
			names->deobfuscation,
			orma_message_bytes(class, ORMA_PB_OBFUSCATED_CLASS_DEOBFUSCATED_NAME),
			orma_message_bytes(&member, ORMA_PB_OBFUSCATED_MEMBER_DEOBFUSCATED_NAME));
		if (orma_is_failure(original))
			return (int)original;
		names->deobfuscation->graphs->fields[field - 1].deobfuscated_name = original;
	}
	return 0;
}

static int take_mapping(struct heap_names *names, struct orma_str content)
{
	struct orma_tables *tables = names->deobfuscation->system->tables;
	struct orma_message mapping;
	struct orma_proto_reader reader;
	struct orma_str bytes;
	int r = 0;
	orma_message_read(&mapping, content);
	int64_t package = orma_tables_string(
		tables, orma_message_bytes(&mapping, ORMA_PB_DEOBFUSCATION_MAPPING_PACKAGE_NAME));
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 &&
	       orma_message_next(&reader, ORMA_PB_DEOBFUSCATION_MAPPING_OBFUSCATED_CLASSES,
				 &bytes)) {
		struct orma_message class;
		orma_message_read(&class, bytes);
		uint32_t name = orma_store_pool_find(
			&tables->strings,
			orma_message_bytes(&class, ORMA_PB_OBFUSCATED_CLASS_OBFUSCATED_NAME));
		if (name) {
			int64_t original = orma_tables_string(
				tables,
				orma_message_bytes(&class,
						   ORMA_PB_OBFUSCATED_CLASS_DEOBFUSCATED_NAME));
			/* Old traces do not say where a class is from. */
			name_class(names, ORMA_CELL_NULL, name, original);
			name_class(names, package, name, original);
		}
		r = name_fields(names, &class);
	}
	return r;
}

/* Gives each class its name as that of an array or of a class object. */
static int copy_class_name(struct heap_names *names, struct orma_heap_class *class)
{
	struct orma_system *system = names->deobfuscation->system;
	int64_t original = names->deobfuscation->graphs->classes[class->first].deobfuscated_name;
	struct orma_java_type type = orma_java_type_read(text_of(names, class->name));
	struct orma_str text = text_of(names, original);
	if (original == ORMA_CELL_NULL)
		return 0;
	system->text.size = 0;
	int r = type.is_class_object ? orma_base_buf_append_str(&system->text, "java.lang.Class<")
				     : 0;
	if (r == 0)
		r = orma_base_buf_append(&system->text, text.data, text.size);
	for (size_t i = 0; i < type.array_depth && r == 0; i++)
		r = orma_base_buf_append(&system->text, "[]", 2);
	if (r == 0 && type.is_class_object)
		r = orma_base_buf_append(&system->text, ">", 1);
	if (r == 0)
		class->deobfuscated_name = orma_tables_string(
			system->tables,
			(struct orma_str){(const char *)system->text.data, system->text.size});
	return r;
}

/* The first item of a name keeps the bare name until all others have copied it: from the last to the first. */
static int copy_names(struct heap_names *names)
{
	struct orma_heap_graphs *graphs = names->deobfuscation->graphs;
	int r = 0;
	for (uint32_t i = graphs->class_count; i-- > 0 && r == 0;)
		r = copy_class_name(names, &graphs->classes[i]);
	for (uint32_t i = 0; i < graphs->field_count; i++)
		graphs->fields[i].deobfuscated_name =
			graphs->fields[graphs->fields[i].first].deobfuscated_name;
	return r;
}

int orma_deobfuscation_end(struct orma_deobfuscation *deobfuscation)
{
	struct heap_names names = {.deobfuscation = deobfuscation};
	struct orma_str content;
	if (deobfuscation->place_count == 0)
		return 0;
	int r = enter_all(&names);
	for (uint32_t i = 0; i < deobfuscation->place_count && r == 0; i++) {
		r = orma_deobfuscation_read(deobfuscation, i, &content);
		if (r == 0)
			r = take_mapping(&names, content);
	}
	if (r == 0)
		r = copy_names(&names);
	orma_base_map_done(&names.classes);
	orma_base_map_done(&names.fields);
	return r < 0 ? r : orma_java_frames_name(deobfuscation);
}
