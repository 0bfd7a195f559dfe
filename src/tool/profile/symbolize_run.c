/* SPDX-License-Identifier: Apache-2.0
 * symbolize_run.c - collects the addresses in a trace by file, and appends ModuleSymbols to a copy of the trace.
 *
 *   trace -> tables of frames and mappings -> addresses of each file -> module_lines.c -> packets at the end
 *
 * A reader finds symbols by the path and build id of the mapping and by the address in the trace, so these are written as they were
 * read. The address in the ELF file is computed from the file's own segments, because some traces, such as those of perf, lack the
 * load bias.
 *
 * Addresses that have lines already are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "store/grow.h"
#include "symbols/module_lines.h"
#include "tool/ask/ask.h"
#include "tool/ask/units.h"
#include "tool/export/export_file.h"
#include "tool/print.h"
#include "tool/profile/symbolize.h"
#include "tool/tool.h"
#include "tool/trace/trace_file.h"
#include "tool/trace/trace_input.h"

enum { PACKET_BYTES_MAX = 4 << 20, COPY_BYTES = 256 << 10, LISTED_MAX = 10 };

struct address {
	uint64_t rel_pc, bias;
};

/* A file that was mapped, by its path and build id. */
struct module {
	int64_t path, build_id; /* cells */
	struct address *addresses;
	uint32_t count, capacity;
	uint32_t named; /* addresses that were found */
	int error;      /* the result of opening its files */
	bool has_symbols;
};

struct symbolize {
	const struct orma_symbolize_options *options;
	struct orma_trace_database *database;
	struct orma_map by_cells; /* number + 1 */
	struct module *modules;
	uint32_t count, capacity;
	uint64_t with_lines; /* addresses that had lines before */
	struct orma_export_file file;
	uint64_t named, lined, inlined;
};

static int64_t cell(const struct symbolize *symbolize, enum orma_table_id table, size_t column,
		    int64_t row)
{
	return orma_trace_database_cell(symbolize->database, table, column, (uint64_t)row);
}

/* --- addresses -------------------------------------------------------------------------------- */

/* True when a frame has a place in the source. Sets of symbols rise in their table. */
static bool has_line(const struct symbolize *symbolize, int64_t frame)
{
	int64_t set =
		cell(symbolize, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_SYMBOL_SET_ID, frame);
	int64_t rows = (int64_t)orma_store_table_rows(
		&symbolize->database->tables.all[ORMA_TABLE_STACK_SYMBOL]);
	int64_t first = 0, count = rows;

	if (set == ORMA_CELL_NULL)
		return false;
	while (count > 0) {
		int64_t half = count / 2;
		bool is_before = cell(symbolize, ORMA_TABLE_STACK_SYMBOL,
				      ORMA_STACK_SYMBOL_SYMBOL_SET_ID, first + half) < set;
		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	return first < rows && cell(symbolize, ORMA_TABLE_STACK_SYMBOL,
				    ORMA_STACK_SYMBOL_LINE_NUMBER, first) != ORMA_CELL_NULL;
}

/* The kernel, the vDSO and code that a program has made are in no file. */
static bool is_file(const struct symbolize *symbolize, int64_t path, int64_t build_id)
{
	struct orma_str text = orma_trace_database_text(symbolize->database, path);

	return text.size > 0 && text.size < PATH_MAX && text.data[0] != '[' &&
	       (text.data[0] == '/' ||
		orma_trace_database_text(symbolize->database, build_id).size > 0);
}

static int find_module(struct symbolize *symbolize, int64_t path, int64_t build_id, uint32_t *ret)
{
	int64_t words[] = {path, build_id};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&symbolize->by_cells, key);

	*ret = known ? (uint32_t)known - 1 : symbolize->count;
	if (known)
		return 0;
	int r = orma_store_grow(&symbolize->modules, (uint64_t)symbolize->count + 1,
				&symbolize->capacity, sizeof(*symbolize->modules));
	if (r == 0)
		r = orma_base_map_put(&symbolize->by_cells, key, (void *)((uintptr_t)*ret + 1));
	if (r == 0)
		symbolize->modules[symbolize->count++] =
			(struct module){.path = path, .build_id = build_id};
	return r;
}

static int add_frame(struct symbolize *symbolize, int64_t frame)
{
	int64_t mapping = cell(symbolize, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_MAPPING, frame);
	int64_t rel_pc = cell(symbolize, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_REL_PC, frame);
	uint32_t number;

	if (mapping < 0 || rel_pc == 0)
		return 0;
	int64_t path = cell(symbolize, ORMA_TABLE_STACK_MAPPING, ORMA_STACK_MAPPING_NAME, mapping);
	int64_t build_id =
		cell(symbolize, ORMA_TABLE_STACK_MAPPING, ORMA_STACK_MAPPING_BUILD_ID, mapping);
	if (!is_file(symbolize, path, build_id))
		return 0;
	if (has_line(symbolize, frame)) {
		symbolize->with_lines++;
		return 0;
	}
	int r = find_module(symbolize, path, build_id, &number);
	if (r < 0)
		return r;
	struct module *module = &symbolize->modules[number];
	r = orma_store_grow(&module->addresses, (uint64_t)module->count + 1, &module->capacity,
			    sizeof(*module->addresses));
	if (r == 0)
		module->addresses[module->count++] = (struct address){
			.rel_pc = (uint64_t)rel_pc,
			.bias = (uint64_t)cell(symbolize, ORMA_TABLE_STACK_MAPPING,
					       ORMA_STACK_MAPPING_LOAD_BIAS, mapping),
		};
	return r;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct address *a = left, *b = right;

	return (a->rel_pc > b->rel_pc) - (a->rel_pc < b->rel_pc);
}

/* Several mappings and names may have one address. */
static void sort_addresses(struct module *module)
{
	uint32_t kept = 0;

	qsort(module->addresses, module->count, sizeof(*module->addresses), compare_addresses);
	for (uint32_t i = 0; i < module->count; i++)
		if (i == 0 || module->addresses[i].rel_pc != module->addresses[kept - 1].rel_pc)
			module->addresses[kept++] = module->addresses[i];
	module->count = kept;
}

static int collect(struct symbolize *symbolize)
{
	uint64_t frames =
		orma_store_table_rows(&symbolize->database->tables.all[ORMA_TABLE_STACK_FRAME]);
	int r = 0;

	symbolize->by_cells.seed = symbolize->database->options.seed;
	for (uint64_t i = 0; i < frames && r == 0; i++)
		r = add_frame(symbolize, (int64_t)i);
	for (uint32_t i = 0; i < symbolize->count && r == 0; i++)
		sort_addresses(&symbolize->modules[i]);
	return r;
}

/* --- packets ---------------------------------------------------------------------------------- */

struct packet {
	struct symbolize *symbolize;
	struct orma_buf bytes;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested trace, symbols;
	/* The address that is being written. Its message begins with its first line. */
	struct orma_proto_nested address;
	uint64_t rel_pc;
	unsigned lines;
	bool has_place;
};

static int write_line(void *ctx, const struct orma_source_line *line)
{
	struct packet *packet = ctx;
	struct orma_proto_writer *writer = &packet->heap.writer;
	struct orma_proto_nested nested;

	if (!line->function && !line->file)
		return 0;
	if (packet->lines++ == 0) {
		orma_proto_nested_begin(writer, &packet->address,
					ORMA_PB_MODULE_SYMBOLS_ADDRESS_SYMBOLS);
		orma_proto_write_varint(writer, ORMA_PB_ADDRESS_SYMBOLS_ADDRESS, packet->rel_pc);
	}
	orma_proto_nested_begin(writer, &nested, ORMA_PB_ADDRESS_SYMBOLS_LINES);
	orma_proto_write_string(writer, ORMA_PB_LINE_FUNCTION_NAME,
				line->function ? line->function : "");
	if (line->file && line->line > 0) {
		orma_proto_write_string(writer, ORMA_PB_LINE_SOURCE_FILE_NAME, line->file);
		orma_proto_write_varint(writer, ORMA_PB_LINE_LINE_NUMBER, line->line);
		packet->has_place = true;
	}
	orma_proto_nested_end(writer, &nested);
	return 0;
}

static struct orma_build_id read_build_id(struct orma_str digits)
{
	struct orma_build_id id = {.size = 0};

	for (size_t i = 0; i + 1 < digits.size && id.size < sizeof(id.bytes); i += 2) {
		char text[] = {digits.data[i], digits.data[i + 1], '\0'};
		uint64_t byte;

		if (orma_base_parse_u64(text, 16, &byte) < 0)
			return (struct orma_build_id){.size = 0};
		id.bytes[id.size++] = (uint8_t)byte;
	}
	return id;
}

static void begin_packet(struct packet *packet, const char *path, const struct orma_build_id *id)
{
	struct orma_proto_writer *writer;

	packet->bytes.size = 0;
	orma_proto_heap_writer_init(&packet->heap, &packet->bytes);
	writer = &packet->heap.writer;
	orma_proto_nested_begin(writer, &packet->trace, ORMA_PB_TRACE_PACKET);
	orma_proto_nested_begin(writer, &packet->symbols, ORMA_PB_TRACE_PACKET_MODULE_SYMBOLS);
	orma_proto_write_string(writer, ORMA_PB_MODULE_SYMBOLS_PATH, path);
	if (id->size > 0)
		orma_proto_write_bytes(writer, ORMA_PB_MODULE_SYMBOLS_BUILD_ID, id->bytes,
				       id->size);
}

/* Returns the exit status. */
static int end_packet(struct packet *packet, int r)
{
	orma_proto_nested_end(&packet->heap.writer, &packet->symbols);
	orma_proto_nested_end(&packet->heap.writer, &packet->trace);
	int finished = orma_proto_heap_writer_finish(&packet->heap);
	r = r < 0 ? r : finished;
	return r < 0 ? orma_tool_fail("%s", strerror(-r))
		     : orma_export_file_write(&packet->symbolize->file, packet->bytes.data,
					      packet->bytes.size);
}

static int write_address(struct packet *packet, struct orma_module_lines *lines,
			 struct module *module, const struct address *address)
{
	uint64_t in_file =
		orma_module_lines_address(lines, address->rel_pc - address->bias, address->bias);

	packet->rel_pc = address->rel_pc;
	packet->lines = 0;
	packet->has_place = false;
	int r = orma_module_lines_find(lines, in_file, write_line, packet);
	if (packet->lines > 0)
		orma_proto_nested_end(&packet->heap.writer, &packet->address);
	module->named += packet->lines > 0;
	packet->symbolize->named += packet->lines > 0;
	packet->symbolize->lined += packet->has_place;
	packet->symbolize->inlined += packet->lines > 1;
	return r;
}

/* Writes the symbols of a module. Returns the exit status. */
static int write_module(struct symbolize *symbolize, struct module *module)
{
	const struct orma_debug_folders folders = {symbolize->options->folders,
						   symbolize->options->folder_count};
	const char *path = orma_trace_database_text(symbolize->database, module->path).data;
	struct orma_build_id id =
		read_build_id(orma_trace_database_text(symbolize->database, module->build_id));
	struct packet packet = {.symbolize = symbolize};
	struct orma_module_lines *lines = NULL;
	int status = ORMA_EXIT_OK, r = 0;

	module->error = orma_module_lines_open(path, &id, &folders, &lines);
	if (module->error == -ENOMEM)
		return orma_tool_fail("%s", strerror(ENOMEM));
	if (module->error < 0)
		return ORMA_EXIT_OK;
	module->has_symbols = orma_module_lines_facts(lines).has_symbols;
	begin_packet(&packet, path, &id);
	for (uint32_t i = 0; i < module->count && r == 0 && status == ORMA_EXIT_OK; i++) {
		r = write_address(&packet, lines, module, &module->addresses[i]);
		if (r == 0 && orma_proto_writer_written(&packet.heap.writer) > PACKET_BYTES_MAX) {
			status = end_packet(&packet, r);
			begin_packet(&packet, path, &id);
		}
	}
	int ended = end_packet(&packet, r);
	orma_base_buf_done(&packet.bytes);
	orma_module_lines_close(lines);
	return status ? status : ended;
}

/* --- the copy --------------------------------------------------------------------------------- */

static int skip_packet(void *ctx, const void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

/* Readers stop at damage, so nothing can be added behind it. */
static int check_whole(int fd, const char *path)
{
	struct orma_error error = {0};
	int r = orma_tool_trace_read(fd, skip_packet, NULL, &error);

	if (r < 0)
		return orma_tool_fail("%s: %s; `orma cat --repair` makes a trace of what can be "
				      "read",
				      path, error.message[0] ? error.message : strerror(-r));
	return lseek(fd, 0, SEEK_SET) < 0 ? orma_tool_fail("%s: %s", path, strerror(errno))
					  : ORMA_EXIT_OK;
}

static int copy_trace(struct symbolize *symbolize, const char *path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	int fd = orma_trace_input_open_packets(path);
	ssize_t count = 1;

	if (fd < 0)
		return ORMA_EXIT_FAILURE;
	int status = orma_base_buf_reserve(&bytes, COPY_BYTES) < 0
			     ? orma_tool_fail("%s", strerror(ENOMEM))
			     : check_whole(fd, path);
	while (status == ORMA_EXIT_OK && count != 0) {
		count = read(fd, bytes.data, COPY_BYTES);
		if (count > 0)
			status =
				orma_export_file_write(&symbolize->file, bytes.data, (size_t)count);
		else if (count < 0 && errno != EINTR)
			status = orma_tool_fail("%s: %s", path, strerror(errno));
	}
	orma_trace_input_close(fd);
	return status;
}

/* --- missing names -------------------------------------------------------------------------- */

static const char *explain(const struct module *module)
{
	static const char stripped[] =
		"it is stripped; install the package with its debugging information (on "
		"Debian, `find-dbgsym-packages` of debian-goodies names it), or name a folder that "
		"has it with --symbols";

	switch (module->error) {
	case -ENOENT:
		return "it is not on this machine; name a folder that has it with --symbols";
	case -ESTALE:
		return "the file on this machine has another build id: it is not the one that ran; "
		       "name a folder that has that one, or its debugging information, with "
		       "--symbols";
	case 0:
		return module->has_symbols ? "they are in no function of it" : stripped;
	case -ENODATA:
		return stripped;
	default:
		return strerror(-module->error);
	}
}

static int compare_unnamed(const void *left, const void *right)
{
	const struct module *a = left, *b = right;
	uint32_t x = a->count - a->named, y = b->count - b->named;

	return (x < y) - (x > y);
}

static void tell_missing(struct symbolize *symbolize)
{
	unsigned listed = 0, rest = 0;

	if (symbolize->count > 1)
		qsort(symbolize->modules, symbolize->count, sizeof(*symbolize->modules),
		      compare_unnamed);
	for (uint32_t i = 0; i < symbolize->count; i++) {
		const struct module *module = &symbolize->modules[i];
		struct orma_str path = orma_trace_database_text(symbolize->database, module->path);
		uint32_t unnamed = module->count - module->named;

		if (unnamed == 0)
			break;
		if (listed++ >= LISTED_MAX)
			rest++;
		else
			orma_tool_warn(
				"%.*s: %u of %u %s no name: %s", (int)path.size, path.data, unnamed,
				module->count,
				orma_base_noun(module->count, "address has", "addresses have"),
				explain(module));
	}
	if (rest > 0)
		orma_tool_warn("%u more %s functions without names", rest,
			       orma_base_noun(rest, "file has", "files have"));
	if (symbolize->named > 0 && !orma_dwarf_is_available())
		orma_tool_warn("there are no lines and no inlined functions, because libdw.so.1 is "
			       "not here; Debian's package libdw1 has it");
}

static void tell_result(struct symbolize *symbolize)
{
	char named[ORMA_UNIT_BYTES], all[ORMA_UNIT_BYTES], lined[ORMA_UNIT_BYTES],
		inlined[ORMA_UNIT_BYTES];
	uint64_t count = 0;

	for (uint32_t i = 0; i < symbolize->count; i++)
		count += symbolize->modules[i].count;
	if (count == 0 && symbolize->with_lines > 0)
		orma_tool_warn("nothing is left to look up: all addresses have lines already");
	else if (count == 0)
		orma_tool_warn("the trace has no call stacks with addresses in files");
	else
		orma_tool_print_line(stderr,
				     "found the names of %s of %s %s, the lines of %s, and inlined "
				     "functions at %s",
				     orma_units_count(symbolize->named, named),
				     orma_units_count(count, all),
				     orma_base_noun(count, "address", "addresses"),
				     orma_units_count(symbolize->lined, lined),
				     orma_units_count(symbolize->inlined, inlined));
	if (!symbolize->options->is_quiet)
		tell_missing(symbolize);
}

static int write_all(struct symbolize *symbolize, const char *path)
{
	int r = collect(symbolize);

	if (r < 0)
		return orma_tool_fail("%s", strerror(-r));
	int status = orma_export_file_open(&symbolize->file, symbolize->options->output);
	if (status)
		return status;
	status = copy_trace(symbolize, path);
	for (uint32_t i = 0; i < symbolize->count && status == ORMA_EXIT_OK; i++)
		status = write_module(symbolize, &symbolize->modules[i]);
	if (status == ORMA_EXIT_OK)
		status = orma_export_file_finish(&symbolize->file);
	orma_export_file_done(&symbolize->file);
	return status;
}

int orma_symbolize_run(const struct orma_symbolize_options *options, const char *path)
{
	struct orma_ask_options ask_options = {.has_no_raw_events = true};
	struct orma_ask *ask = orma_ask_load(path, &ask_options);
	struct symbolize symbolize = {.options = options};

	if (!ask)
		return ORMA_EXIT_FAILURE;
	symbolize.database = orma_ask_database(ask);
	int status = write_all(&symbolize, path);
	if (status == ORMA_EXIT_OK)
		tell_result(&symbolize);
	for (uint32_t i = 0; i < symbolize.count; i++)
		orma_base_free(symbolize.modules[i].addresses);
	orma_base_free(symbolize.modules);
	orma_base_map_done(&symbolize.by_cells);
	orma_ask_free(ask);
	return status;
}
