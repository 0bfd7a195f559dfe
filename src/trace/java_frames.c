/* SPDX-License-Identifier: Apache-2.0
 * java_frames.c - the names that methods on call stacks had before their program was shortened.
 *
 * A frame is of the package whose file its mapping names, of any package when its code was made at run time, or of that of the
 * process whose stack it is on. All methods of the mappings that name a frame are collected and sorted, so each frame is
 * looked at once. If several packets name a method, the last one is valid.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/deobfuscation.pb.h"
#include "store/grow.h"
#include "trace/deobfuscation.h"
#include "trace/java_names.h"
#include "trace/message_fields.h"

enum {
	METHODS_MAX = 4096, /* with one name; more are left out */
	INLINED_MAX = 64,   /* methods at one line */
	ANY_PACKAGE = 0,    /* no string has this id */
};
#define NO_FRAME UINT32_MAX

/* A name that a method had, at some of its lines. */
struct method {
	int64_t name, package;
	int64_t original;
	uint32_t packet, order;
	uint32_t first_line, last_line;
	int64_t source_line; /* or ORMA_CELL_NULL */
};

struct java_frames {
	struct orma_deobfuscation *deobfuscation;
	struct orma_map by_name; /* frame + 1 by name and package */
	uint32_t *next;          /* another frame of the same */
	bool *is_open;           /* frames whose package is not known yet */
	bool *is_seen;           /* callsites */
	struct method *methods;
	uint32_t method_count, method_capacity;
};

static uint64_t frame_key(int64_t name, int64_t package)
{
	int64_t words[] = {name, package};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

static uint32_t first_frame(const struct java_frames *frames, int64_t name, int64_t package)
{
	uintptr_t frame = (uintptr_t)orma_base_map_get(&frames->by_name, frame_key(name, package));
	return frame ? (uint32_t)(frame - 1) : NO_FRAME;
}

static int add_frame(struct java_frames *frames, uint32_t frame, int64_t package)
{
	int64_t name = frames->deobfuscation->stacks->frame_entries[frame].name;
	frames->next[frame] = first_frame(frames, name, package);
	return orma_base_map_put(&frames->by_name, frame_key(name, package),
				 (void *)((uintptr_t)frame + 1));
}

static struct orma_str text_of(const struct java_frames *frames, int64_t cell)
{
	return cell == ORMA_CELL_NULL
		       ? (struct orma_str){NULL, 0}
		       : orma_store_pool_get(&frames->deobfuscation->system->tables->strings,
					     (uint32_t)cell);
}

/* Returns the package that a mapping is of, ANY_PACKAGE, or ORMA_CELL_NULL. */
static int64_t package_of_mapping(struct java_frames *frames, int64_t mapping)
{
	static const char made[] = "/memfd:";
	struct orma_system *system = frames->deobfuscation->system;
	struct orma_str package,
		path = text_of(frames,
			       frames->deobfuscation->stacks->mapping_entries[mapping].name);
	int found = orma_java_package_of(path, &package);
	if (found > 0)
		return orma_tables_string(system->tables, package);
	if (found < 0)
		orma_stats_add(&system->stats, 0, ORMA_STAT_deobfuscate_location_parse_error, 0, 1);
	bool is_made =
		path.size >= sizeof(made) - 1 && memcmp(path.data, made, sizeof(made) - 1) == 0;
	return is_made ? ANY_PACKAGE : ORMA_CELL_NULL;
}

static int add_frames(struct java_frames *frames)
{
	const struct orma_call_stacks *stacks = frames->deobfuscation->stacks;
	ORMA_AUTO(orma_base_freep)
	int64_t *packages = orma_base_alloc_array(stacks->mapping_count + 1, sizeof(*packages));
	if (!packages)
		return -ENOMEM;
	for (uint32_t i = 0; i < stacks->mapping_count; i++)
		packages[i] = package_of_mapping(frames, i);
	for (uint32_t i = 0; i < stacks->frame_count; i++) {
		const struct orma_frame_entry *frame = &stacks->frame_entries[i];
		struct orma_str name = text_of(frames, frame->name);
		/* Methods of Java have their class's name before a dot. */
		if (name.size == 0 || !memchr(name.data, '.', name.size))
			continue;
		int64_t package = packages[frame->mapping_id];
		int r = package == ORMA_CELL_NULL ? 0 : add_frame(frames, i, package);
		if (r < 0)
			return r;
		frames->is_open[i] = package == ORMA_CELL_NULL;
	}
	return 0;
}

/* The frames of a process's stack are its package's. */
static int guess_stack(struct java_frames *frames, int64_t upid, int64_t callsite)
{
	const struct orma_tables *tables = frames->deobfuscation->system->tables;
	const struct orma_column *columns = tables->all[ORMA_TABLE_STACK_CALLSITE].columns;
	if (callsite == ORMA_CELL_NULL || frames->is_seen[callsite])
		return 0;
	int64_t package = orma_packages_of(frames->deobfuscation->packages, upid);
	if (package == ORMA_CELL_NULL || package < 0)
		return package == ORMA_CELL_NULL ? 0 : (int)package;
	while (callsite != ORMA_CELL_NULL && !frames->is_seen[callsite]) {
		frames->is_seen[callsite] = true;
		uint32_t frame = (uint32_t)orma_store_column_get(
			&columns[ORMA_STACK_CALLSITE_FRAME_ID], (uint64_t)callsite);
		int r = frames->is_open[frame] ? add_frame(frames, frame, package) : 0;
		if (r < 0)
			return r;
		frames->is_open[frame] = false;
		callsite = orma_store_column_get(&columns[ORMA_STACK_CALLSITE_PARENT_ID],
						 (uint64_t)callsite);
	}
	return 0;
}

/* Where a table has the process's row, directly or in a row of another table. */
struct stack_source {
	enum orma_table_id table;
	size_t callsite, process;
	enum orma_table_id through; /* ORMA_TABLES = none */
	size_t through_process;
};

static int guess_packages(struct java_frames *frames)
{
	static const struct stack_source sources[] = {
		{ORMA_TABLE_HEAP_ALLOCATION, ORMA_HEAP_ALLOCATION_CALLSITE_ID,
		 ORMA_HEAP_ALLOCATION_UPID, ORMA_TABLES, 0},
		{ORMA_TABLE_PROFILER_SAMPLE, ORMA_PROFILER_SAMPLE_CALLSITE_ID,
		 ORMA_PROFILER_SAMPLE_TASK_CONTEXT_ID, ORMA_TABLE_PROFILER_TASK_CONTEXT,
		 ORMA_PROFILER_TASK_CONTEXT_UPID},
		{ORMA_TABLE_HEAP_CALLSITE, ORMA_HEAP_CALLSITE_CALLSITE_ID,
		 ORMA_HEAP_CALLSITE_HEAP_GRAPH_ID, ORMA_TABLE_HEAP_GRAPH, ORMA_HEAP_GRAPH_UPID},
	};
	const struct orma_table *all = frames->deobfuscation->system->tables->all;
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(sources); i++) {
		const struct stack_source *source = &sources[i];
		const struct orma_column *columns = all[source->table].columns;
		uint64_t rows = orma_store_table_rows(&all[source->table]);
		for (uint64_t row = 0; row < rows && r == 0; row++) {
			int64_t process = orma_store_column_get(&columns[source->process], row);
			if (source->through != ORMA_TABLES && process != ORMA_CELL_NULL)
				process = orma_store_column_get(
					&all[source->through].columns[source->through_process],
					(uint64_t)process);
			if (process != ORMA_CELL_NULL)
				r = guess_stack(
					frames, process,
					orma_store_column_get(&columns[source->callsite], row));
		}
	}
	return r;
}

static int64_t source_line(const struct orma_message *member)
{
	return orma_message_has(member, ORMA_PB_OBFUSCATED_MEMBER_SOURCE_LINE_START)
		       ? (uint32_t)orma_message_number(member,
						       ORMA_PB_OBFUSCATED_MEMBER_SOURCE_LINE_START)
		       : ORMA_CELL_NULL;
}

static int add_method(struct java_frames *frames, struct method method,
		      const struct orma_message *member)
{
	uint32_t last = ORMA_PB_OBFUSCATED_MEMBER_OBFUSCATED_LINE_END;
	if (first_frame(frames, method.name, method.package) == NO_FRAME)
		return 0;
	int r = orma_store_grow(&frames->methods, (uint64_t)frames->method_count + 1,
				&frames->method_capacity, sizeof(*frames->methods));
	if (r < 0)
		return r;
	method.first_line = (uint32_t)orma_message_number(
		member, ORMA_PB_OBFUSCATED_MEMBER_OBFUSCATED_LINE_START);
	method.last_line = orma_message_has(member, last)
				   ? (uint32_t)orma_message_number(member, last)
				   : UINT32_MAX;
	method.source_line = source_line(member);
	method.order = frames->method_count;
	frames->methods[frames->method_count++] = method;
	return 0;
}

static int read_method(struct java_frames *frames, const struct orma_message *class,
		       struct method method, struct orma_str bytes)
{
	struct orma_system *system = frames->deobfuscation->system;
	struct orma_buf *text = &system->text;
	struct orma_message member;
	orma_message_read(&member, bytes);
	struct orma_str class_name =
		orma_message_bytes(class, ORMA_PB_OBFUSCATED_CLASS_OBFUSCATED_NAME);
	struct orma_str name =
		orma_message_bytes(&member, ORMA_PB_OBFUSCATED_MEMBER_OBFUSCATED_NAME);
	text->size = 0;
	int r = orma_base_buf_printf(text, "%.*s.%.*s", (int)class_name.size, class_name.data,
				     (int)name.size, name.data);
	uint32_t id = r < 0 ? 0
			    : orma_store_pool_find(
				      &system->tables->strings,
				      (struct orma_str){(const char *)text->data, text->size});
	if (id == 0 || (first_frame(frames, id, method.package) == NO_FRAME &&
			first_frame(frames, id, ANY_PACKAGE) == NO_FRAME))
		return r;
	method.name = id;
	method.original = orma_deobfuscation_member(
		frames->deobfuscation,
		orma_message_bytes(class, ORMA_PB_OBFUSCATED_CLASS_DEOBFUSCATED_NAME),
		orma_message_bytes(&member, ORMA_PB_OBFUSCATED_MEMBER_DEOBFUSCATED_NAME));
	if (orma_is_failure(method.original))
		return (int)method.original;
	r = add_method(frames, method, &member);
	method.package = ANY_PACKAGE;
	return r < 0 ? r : add_method(frames, method, &member);
}

static int read_packet(struct java_frames *frames, uint32_t packet)
{
	struct orma_str content, bytes, member;
	struct orma_message mapping;
	struct orma_proto_reader classes, members;
	int r = orma_deobfuscation_read(frames->deobfuscation, packet, &content);
	orma_message_read(&mapping, content);
	struct orma_str package =
		orma_message_bytes(&mapping, ORMA_PB_DEOBFUSCATION_MAPPING_PACKAGE_NAME);
	if (package.size == 0)
		return r;
	struct method method = {
		.packet = packet,
		.package = orma_tables_string(frames->deobfuscation->system->tables, package)};
	orma_proto_reader_init(&classes, content.data, content.size);
	while (r == 0 &&
	       orma_message_next(&classes, ORMA_PB_DEOBFUSCATION_MAPPING_OBFUSCATED_CLASSES,
				 &bytes)) {
		struct orma_message class;
		orma_message_read(&class, bytes);
		orma_proto_reader_init(&members, bytes.data, bytes.size);
		while (r == 0 &&
		       orma_message_next(&members, ORMA_PB_OBFUSCATED_CLASS_OBFUSCATED_METHODS,
					 &member))
			r = read_method(frames, &class, method, member);
	}
	return r;
}

/* Sorts by frame. The newest packet of a frame is first. */
static int compare_methods(const void *a, const void *b)
{
	const struct method *left = a, *right = b;
	if (left->name != right->name)
		return left->name < right->name ? -1 : 1;
	if (left->package != right->package)
		return left->package < right->package ? -1 : 1;
	if (left->packet != right->packet)
		return left->packet > right->packet ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* Returns the first line number that the symbols of a frame have, or ORMA_CELL_NULL. */
static int64_t line_of(const struct java_frames *frames, uint32_t frame)
{
	const struct orma_table *all = frames->deobfuscation->system->tables->all;
	const struct orma_table *symbols = &all[ORMA_TABLE_STACK_SYMBOL];
	int64_t set = orma_store_column_get(
		&all[ORMA_TABLE_STACK_FRAME].columns[ORMA_STACK_FRAME_SYMBOL_SET_ID], frame);
	if (set == ORMA_CELL_NULL)
		return ORMA_CELL_NULL;
	/* Many frames may have one set, so not all of a large one is searched. */
	for (uint64_t row = (uint64_t)set;
	     row < orma_store_table_rows(symbols) && row - (uint64_t)set < INLINED_MAX &&
	     orma_store_column_get(&symbols->columns[ORMA_STACK_SYMBOL_SYMBOL_SET_ID], row) == set;
	     row++) {
		int64_t line = orma_store_column_get(
			&symbols->columns[ORMA_STACK_SYMBOL_LINE_NUMBER], row);
		if (line != ORMA_CELL_NULL)
			return line;
	}
	return ORMA_CELL_NULL;
}

static int set_name(struct java_frames *frames, uint32_t frame, int64_t name)
{
	return orma_call_stacks_set(frames->deobfuscation->stacks, frame,
				    ORMA_STACK_FRAME_DEOBFUSCATED_NAME, name);
}

/* Makes symbols of the methods that are at the line, each inlined into the next. Returns how many there are, or a negative errno
 * value. */
static int name_by_line(struct java_frames *frames, uint32_t frame, const struct method *methods,
			size_t count)
{
	const struct method *chain[INLINED_MAX];
	struct orma_table *symbols =
		&frames->deobfuscation->system->tables->all[ORMA_TABLE_STACK_SYMBOL];
	int64_t line = line_of(frames, frame), set = (int64_t)orma_store_table_rows(symbols);
	int size = 0, r = 0;
	if (line == ORMA_CELL_NULL)
		return 0;
	for (size_t i = 0; i < count && size < INLINED_MAX; i++)
		if (line >= methods[i].first_line && line <= methods[i].last_line)
			chain[size++] = &methods[i];
	for (int i = 0; i < size && r == 0; i++) {
		int64_t cells[ORMA_STACK_SYMBOL_COLUMNS] = {
			[ORMA_STACK_SYMBOL_SYMBOL_SET_ID] = set,
			[ORMA_STACK_SYMBOL_NAME] = chain[i]->original,
			[ORMA_STACK_SYMBOL_SOURCE_FILE] = ORMA_CELL_NULL,
			[ORMA_STACK_SYMBOL_LINE_NUMBER] = chain[i]->source_line,
			[ORMA_STACK_SYMBOL_INLINED] = i < size - 1,
		};
		r = orma_store_table_append(symbols, cells);
	}
	if (r == 0 && size > 0)
		r = orma_call_stacks_set(frames->deobfuscation->stacks, frame,
					 ORMA_STACK_FRAME_SYMBOL_SET_ID, set);
	if (r == 0 && size > 0)
		r = set_name(frames, frame, chain[size - 1]->original);
	return r < 0 ? r : size;
}

static int compare_texts(const void *a, const void *b)
{
	const struct orma_str *left = a, *right = b;
	int order = memcmp(left->data, right->data, ORMA_MIN(left->size, right->size));
	return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

/* Returns the name of the methods; if they have several, these with bars between them. Or a negative errno value. */
static int64_t joint_name(struct java_frames *frames, const struct method *methods, size_t count)
{
	struct orma_system *system = frames->deobfuscation->system;
	ORMA_AUTO(orma_base_freep)
	struct orma_str *texts = orma_base_alloc_array(count, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		texts[i] = text_of(frames, methods[i].original);
	qsort(texts, count, sizeof(*texts), compare_texts);
	int r = 0;
	system->text.size = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		if (i > 0 && compare_texts(&texts[i - 1], &texts[i]) == 0)
			continue;
		if (i > 0)
			r = orma_base_buf_append(&system->text, " | ", 3);
		if (r == 0)
			r = orma_base_buf_append(&system->text, texts[i].data, texts[i].size);
	}
	return r < 0 ? r
		     : orma_system_text(system, (struct orma_str){(const char *)system->text.data,
								  system->text.size});
}

/* Names all frames of a name and a package. */
static int name_frames(struct java_frames *frames, const struct method *methods, size_t count)
{
	struct orma_system *system = frames->deobfuscation->system;
	int64_t name = ORMA_CELL_NULL;
	if (count > METHODS_MAX) {
		orma_stats_add(&system->stats, 0, ORMA_STAT_stackprofile_parser_error, 0, 1);
		count = METHODS_MAX;
	}
	for (uint32_t frame = first_frame(frames, methods->name, methods->package);
	     frame != NO_FRAME; frame = frames->next[frame]) {
		int r = name_by_line(frames, frame, methods, count);
		if (r == 0 && name == ORMA_CELL_NULL)
			name = joint_name(frames, methods, count);
		if (r == 0)
			r = orma_is_failure(name) ? (int)name : set_name(frames, frame, name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int name_all(struct java_frames *frames)
{
	const struct method *methods = frames->methods;
	int r = 0;
	if (frames->method_count > 0)
		qsort(frames->methods, frames->method_count, sizeof(*methods), compare_methods);
	for (uint32_t first = 0, end; first < frames->method_count && r == 0; first = end) {
		uint32_t newest = first + 1;
		for (end = first + 1;
		     end < frames->method_count && methods[end].name == methods[first].name &&
		     methods[end].package == methods[first].package;
		     end++)
			if (methods[end].packet == methods[first].packet)
				newest = end + 1;
		r = name_frames(frames, &methods[first], newest - first);
	}
	return r;
}

int orma_java_frames_name(struct orma_deobfuscation *deobfuscation)
{
	const struct orma_call_stacks *stacks = deobfuscation->stacks;
	struct java_frames frames = {.deobfuscation = deobfuscation};
	frames.by_name.seed = deobfuscation->system->index->seed;
	frames.next = orma_base_alloc_array(stacks->frame_count + 1, sizeof(*frames.next));
	frames.is_open = orma_base_zalloc(stacks->frame_count + 1);
	frames.is_seen = orma_base_zalloc(stacks->callsite_count + 1);
	int r = frames.next && frames.is_open && frames.is_seen ? add_frames(&frames) : -ENOMEM;
	if (r == 0)
		r = guess_packages(&frames);
	for (uint32_t i = 0; i < deobfuscation->place_count && r == 0; i++)
		r = read_packet(&frames, i);
	if (r == 0)
		r = name_all(&frames);
	orma_base_map_done(&frames.by_name);
	orma_base_free(frames.next);
	orma_base_free(frames.is_open);
	orma_base_free(frames.is_seen);
	orma_base_free(frames.methods);
	return r;
}
