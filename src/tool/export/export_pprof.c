/* SPDX-License-Identifier: Apache-2.0
 * export_pprof.c - a profile as pprof reads it: one Profile message, in gzip.
 *
 * Everything in the message names everything else by number. Mappings, locations and functions keep the numbers of the
 * trace's tables and lists, plus 1, because 0 stands for none. Each is written when the first sample needs it; protobuf's
 * fields may come in any order. The strings come last, when all are known.
 *
 * Addresses are those of the process, as pprof expects beside the start and offset of a mapping. Names are those of the
 * source; the linker's are beside them.
 */
#include <errno.h>
#include <string.h>

#include "answers/task_names.h"
#include "answers/trace_metadata.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "codec/compression.h"
#include "proto/writer.h"
#include "tool/export/export_file.h"
#include "tool/export/export_profile.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

/* Fields of Profile, and of the messages in it. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	ID = 1, /* mappings, locations and functions have one */
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINES = 10,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_NAME = 2,
	FUNCTION_LINKER_NAME = 3,
	FUNCTION_FILE = 4,
};

/* IS_USED says that an item is written. The others tell pprof's symbolizer what is known of a mapping. */
enum { IS_USED = 1, HAS_FUNCTIONS = 2, HAS_FILES = 4, HAS_LINES = 8, HAS_INLINES = 16 };

struct pprof {
	struct orma_trace_database *database;
	const struct orma_export_profile *profile;
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer;
	struct orma_buf bytes, strings; /* encoded; the strings' fields are put behind */
	struct orma_map string_numbers;
	uint64_t string_count;
	uint8_t *mappings, *frames, *functions; /* flags of each */
	int error;
};

/* --- strings ---------------------------------------------------------------------------------- */

/* Returns the number of a text; the first one is empty. Equal hashes of 64 bits are taken for equal texts. */
static uint64_t string_of(struct pprof *pprof, struct orma_str text)
{
	uint8_t prefix[16];
	if (text.size == 0)
		return 0;
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, text.data, text.size);
	uintptr_t known = (uintptr_t)orma_base_map_get(&pprof->string_numbers, key);
	if (known)
		return known;
	uint8_t *end = orma_proto_put_varint(
		orma_proto_put_varint(prefix, orma_proto_tag(PROFILE_STRING, ORMA_PROTO_BYTES)),
		text.size);
	int r = orma_base_map_put(&pprof->string_numbers, key,
				  (void *)((uintptr_t)pprof->string_count + 1));
	if (r == 0)
		r = orma_base_buf_append(&pprof->strings, prefix, (size_t)(end - prefix));
	if (r == 0)
		r = orma_base_buf_append(&pprof->strings, text.data, text.size);
	if (r < 0)
		pprof->error = r;
	return ++pprof->string_count;
}

static void write_string(struct pprof *pprof, uint32_t field, struct orma_str text)
{
	if (text.size > 0)
		orma_proto_write_varint(pprof->writer, field, string_of(pprof, text));
}

static void write_number(struct pprof *pprof, uint32_t field, int64_t number)
{
	if (number != 0)
		orma_proto_write_int(pprof->writer, field, number);
}

/* --- functions, mappings, locations ----------------------------------------------------------- */

static void write_function(struct pprof *pprof, uint32_t number)
{
	const struct orma_stack_function *function = &pprof->profile->functions.items[number];
	struct orma_proto_nested message;
	if (pprof->functions[number])
		return;
	pprof->functions[number] = IS_USED;
	orma_proto_nested_begin(pprof->writer, &message, PROFILE_FUNCTION);
	orma_proto_write_varint(pprof->writer, ID, (uint64_t)number + 1);
	write_string(pprof, FUNCTION_NAME, function->name);
	write_string(pprof, FUNCTION_LINKER_NAME, function->linker_name);
	write_string(pprof, FUNCTION_FILE, function->file);
	orma_proto_nested_end(pprof->writer, &message);
}

static int64_t mapping_cell(const struct pprof *pprof, size_t column, int64_t mapping)
{
	return orma_trace_database_cell(pprof->database, ORMA_TABLE_STACK_MAPPING, column,
					(uint64_t)mapping);
}

/* Mappings come at the end, when it is known what their locations say. */
static void write_mapping(struct pprof *pprof, int64_t mapping)
{
	static const struct {
		uint8_t flag;
		uint32_t field;
	} flags[] = {{HAS_FUNCTIONS, MAPPING_HAS_FUNCTIONS},
		     {HAS_FILES, MAPPING_HAS_FILES},
		     {HAS_LINES, MAPPING_HAS_LINES},
		     {HAS_INLINES, MAPPING_HAS_INLINES}};
	struct orma_proto_nested message;
	orma_proto_nested_begin(pprof->writer, &message, PROFILE_MAPPING);
	orma_proto_write_varint(pprof->writer, ID, (uint64_t)mapping + 1);
	write_number(pprof, MAPPING_START, mapping_cell(pprof, ORMA_STACK_MAPPING_START, mapping));
	write_number(pprof, MAPPING_LIMIT, mapping_cell(pprof, ORMA_STACK_MAPPING_END, mapping));
	write_number(pprof, MAPPING_OFFSET,
		     mapping_cell(pprof, ORMA_STACK_MAPPING_EXACT_OFFSET, mapping));
	write_string(
		pprof, MAPPING_FILE,
		orma_trace_database_text(pprof->database,
					 mapping_cell(pprof, ORMA_STACK_MAPPING_NAME, mapping)));
	write_string(pprof, MAPPING_BUILD_ID,
		     orma_trace_database_text(
			     pprof->database,
			     mapping_cell(pprof, ORMA_STACK_MAPPING_BUILD_ID, mapping)));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(flags); i++)
		if (pprof->mappings[mapping] & flags[i].flag)
			orma_proto_write_bool(pprof->writer, flags[i].field, true);
	orma_proto_nested_end(pprof->writer, &message);
}

/* Notes what the lines of a frame say. */
static void note_lines(struct pprof *pprof, int64_t mapping, const struct orma_stack_line *lines,
		       uint32_t count)
{
	uint8_t flags = IS_USED;
	for (uint32_t i = 0; i < count; i++) {
		const struct orma_stack_function *function =
			&pprof->profile->functions.items[lines[i].function];
		if (function->linker_name.size > 0)
			flags |= HAS_FUNCTIONS;
		if (function->file.size > 0)
			flags |= HAS_FILES;
		if (lines[i].line > 0)
			flags |= HAS_LINES;
	}
	if (count > 1)
		flags |= HAS_INLINES;
	pprof->mappings[mapping] |= flags;
}

static uint64_t address_of(const struct pprof *pprof, int64_t mapping, uint64_t rel_pc)
{
	if (mapping < 0 || rel_pc == 0)
		return rel_pc;
	return rel_pc - (uint64_t)mapping_cell(pprof, ORMA_STACK_MAPPING_LOAD_BIAS, mapping) -
	       (uint64_t)mapping_cell(pprof, ORMA_STACK_MAPPING_EXACT_OFFSET, mapping) +
	       (uint64_t)mapping_cell(pprof, ORMA_STACK_MAPPING_START, mapping);
}

static void write_location(struct pprof *pprof, int64_t frame)
{
	struct orma_proto_nested message, line;
	uint32_t count;
	const struct orma_stack_line *lines =
		orma_stack_functions_frame(&pprof->profile->functions, frame, &count);
	int64_t mapping = orma_trace_database_cell(pprof->database, ORMA_TABLE_STACK_FRAME,
						   ORMA_STACK_FRAME_MAPPING, (uint64_t)frame);
	int64_t rel_pc = orma_trace_database_cell(pprof->database, ORMA_TABLE_STACK_FRAME,
						  ORMA_STACK_FRAME_REL_PC, (uint64_t)frame);
	if (pprof->frames[frame])
		return;
	pprof->frames[frame] = IS_USED;
	for (uint32_t i = 0; i < count; i++)
		write_function(pprof, lines[i].function);
	if (mapping >= 0)
		note_lines(pprof, mapping, lines, count);
	orma_proto_nested_begin(pprof->writer, &message, PROFILE_LOCATION);
	orma_proto_write_varint(pprof->writer, ID, (uint64_t)frame + 1);
	if (mapping >= 0)
		orma_proto_write_varint(pprof->writer, LOCATION_MAPPING, (uint64_t)mapping + 1);
	write_number(pprof, LOCATION_ADDRESS,
		     (int64_t)address_of(pprof, mapping, (uint64_t)rel_pc));
	for (uint32_t i = 0; i < count; i++) {
		orma_proto_nested_begin(pprof->writer, &line, LOCATION_LINE);
		orma_proto_write_varint(pprof->writer, LINE_FUNCTION,
					(uint64_t)lines[i].function + 1);
		write_number(pprof, LINE_NUMBER, lines[i].line);
		orma_proto_nested_end(pprof->writer, &line);
	}
	orma_proto_nested_end(pprof->writer, &message);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void write_label(struct pprof *pprof, const char *key, struct orma_str text, int64_t number)
{
	struct orma_proto_nested label;
	if (text.size == 0 && number <= 0)
		return;
	orma_proto_nested_begin(pprof->writer, &label, SAMPLE_LABEL);
	write_string(pprof, LABEL_KEY, orma_base_str(key));
	write_string(pprof, LABEL_STRING, text);
	if (text.size == 0)
		write_number(pprof, LABEL_NUMBER, number);
	orma_proto_nested_end(pprof->writer, &label);
}

static int64_t callsite_cell(const struct pprof *pprof, size_t column, int64_t callsite)
{
	return orma_trace_database_cell(pprof->database, ORMA_TABLE_STACK_CALLSITE, column,
					(uint64_t)callsite);
}

static void write_sample(struct pprof *pprof, const struct orma_profile_row *row)
{
	struct orma_proto_nested sample;
	int64_t upid = row->upid >= 0 ? row->upid : orma_thread_process(pprof->database, row->utid);
	struct orma_task_name thread = orma_thread_name(pprof->database, row->utid);
	struct orma_task_name process = orma_process_name(pprof->database, upid);
	for (int64_t at = row->callsite; at >= 0;
	     at = callsite_cell(pprof, ORMA_STACK_CALLSITE_PARENT_ID, at))
		write_location(pprof, callsite_cell(pprof, ORMA_STACK_CALLSITE_FRAME_ID, at));
	orma_proto_nested_begin(pprof->writer, &sample, PROFILE_SAMPLE);
	for (int64_t at = row->callsite; at >= 0;
	     at = callsite_cell(pprof, ORMA_STACK_CALLSITE_PARENT_ID, at))
		orma_proto_write_varint(
			pprof->writer, SAMPLE_LOCATION,
			(uint64_t)callsite_cell(pprof, ORMA_STACK_CALLSITE_FRAME_ID, at) + 1);
	for (size_t i = 0; i < pprof->profile->chosen->value_count; i++)
		orma_proto_write_int(pprof->writer, SAMPLE_VALUE, row->values[i]);
	write_label(pprof, "process", process.name, 0);
	write_label(pprof, "pid", ORMA_STR(""), process.id);
	write_label(pprof, "thread", thread.name, 0);
	write_label(pprof, "tid", ORMA_STR(""), thread.id);
	orma_proto_nested_end(pprof->writer, &sample);
}

/* pprof knows units by longer names. */
static struct orma_str unit_of(struct orma_str unit)
{
	return orma_base_str_is(unit, "ns") ? ORMA_STR("nanoseconds")
	       : unit.size == 0             ? ORMA_STR("count")
					    : unit;
}

static void write_head(struct pprof *pprof)
{
	const struct orma_cost_profile *profile = pprof->profile->chosen;
	struct orma_proto_nested type;
	int64_t start_ns, end_ns, unix_ns;
	orma_trace_recorded_time(pprof->database, &start_ns, &end_ns);
	for (size_t i = 0; i < profile->value_count; i++) {
		orma_proto_nested_begin(pprof->writer, &type, PROFILE_SAMPLE_TYPE);
		write_string(pprof, VALUE_TYPE,
			     profile->values[i].name.size > 0 ? profile->values[i].name
							      : ORMA_STR("samples"));
		write_string(pprof, VALUE_UNIT, unit_of(profile->values[i].unit));
		orma_proto_nested_end(pprof->writer, &type);
	}
	if (orma_trace_database_realtime(pprof->database, start_ns, &unix_ns))
		write_number(pprof, PROFILE_TIME_NS, unix_ns);
	write_number(pprof, PROFILE_DURATION_NS, end_ns - start_ns);
	write_string(pprof, PROFILE_DEFAULT_SAMPLE_TYPE,
		     profile->values[pprof->profile->value].name);
}

static int encode(struct pprof *pprof)
{
	const struct orma_table *tables = pprof->database->tables.all;
	uint64_t mappings = orma_store_table_rows(&tables[ORMA_TABLE_STACK_MAPPING]);
	const struct orma_cost_profile *profile = pprof->profile->chosen;
	static const uint8_t empty_string[] = {PROFILE_STRING << 3 | ORMA_PROTO_BYTES, 0};
	pprof->mappings = orma_base_zalloc((size_t)mappings + 1);
	pprof->frames = orma_base_zalloc((size_t)pprof->profile->functions.frame_count + 1);
	pprof->functions = orma_base_zalloc((size_t)pprof->profile->functions.count + 1);
	if (!pprof->mappings || !pprof->frames || !pprof->functions)
		return -ENOMEM;
	orma_proto_heap_writer_init(&pprof->heap, &pprof->bytes);
	pprof->writer = &pprof->heap.writer;
	write_head(pprof);
	for (uint32_t i = 0; i < profile->row_count; i++)
		write_sample(pprof, &profile->rows[i]);
	for (uint64_t i = 0; i < mappings; i++)
		if (pprof->mappings[i])
			write_mapping(pprof, (int64_t)i);
	int r = orma_proto_heap_writer_finish(&pprof->heap);
	if (r == 0 && pprof->error == 0)
		r = orma_base_buf_append(&pprof->bytes, empty_string, sizeof(empty_string));
	if (r == 0 && pprof->error == 0)
		r = orma_base_buf_append(&pprof->bytes, pprof->strings.data, pprof->strings.size);
	return r < 0 ? r : pprof->error;
}

static void free_parts(struct pprof *pprof)
{
	orma_base_buf_done(&pprof->bytes);
	orma_base_buf_done(&pprof->strings);
	orma_base_map_done(&pprof->string_numbers);
	orma_base_free(pprof->mappings);
	orma_base_free(pprof->frames);
	orma_base_free(pprof->functions);
}

/* Readers of pprof take a profile without gzip, too, which is what a binary without libdeflate writes. */
static int write_file(const char *path, const struct orma_buf *bytes)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packed = {0};
	struct orma_export_file file;
	int r = orma_tool_gzip(bytes->data, bytes->size, &packed);
	const struct orma_buf *content = r == 0 ? &packed : bytes;
	if (r < 0 && r != -ENOTSUP)
		return orma_tool_fail("%s", strerror(-r));
	int status = orma_export_file_open(&file, path);
	if (status)
		return status;
	status = orma_export_file_write(&file, content->data, content->size);
	if (status == 0)
		status = orma_export_file_finish(&file);
	orma_export_file_done(&file);
	return status;
}

int orma_export_pprof(struct orma_trace_database *database,
		      const struct orma_export_options *options)
{
	struct orma_export_profile profile;
	int status = orma_export_profile_read(&profile, database, options);
	if (status == 0 && !profile.chosen)
		status = orma_tool_fail("the trace has no samples and no heap profile; `orma "
					"profile` and `orma heap` record them");
	if (status == 0) {
		struct pprof pprof = {.database = database, .profile = &profile};
		int r = encode(&pprof);
		status = r < 0 ? orma_tool_fail("%s", strerror(-r))
			       : write_file(options->path, &pprof.bytes);
		free_parts(&pprof);
	}
	orma_export_profile_done(&profile);
	return status;
}
