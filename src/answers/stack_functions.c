/* SPDX-License-Identifier: Apache-2.0
 * stack_functions.c - each name is turned into that of the source once, however many frames have it.
 *
 * A function is a name and a file of the source. Frames with symbols have one line for each inlined function and one for
 * the function that they were inlined into; others have one line. A symbol has priority over the frame's own name, because
 * tools that know more, such as `orma symbolize`, add symbols after the recording.
 */
#include "answers/stack_functions.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"
#include "symbols/demangle.h"

static int64_t cell(const struct orma_stack_functions *functions, enum orma_table_id table,
		    size_t column, int64_t row)
{
	return orma_trace_database_cell(functions->database, table, column, (uint64_t)row);
}

static bool has_text(const struct orma_stack_functions *functions, int64_t text)
{
	return orma_trace_database_text(functions->database, text).size > 0;
}

/* --- functions -------------------------------------------------------------------------------- */

static int copy_text(struct orma_stack_functions *functions, struct orma_str text,
		     struct orma_str *ret)
{
	const char *copy = orma_base_arena_strdup(&functions->arena, text);
	*ret = (struct orma_str){copy, text.size};
	return copy ? 0 : -ENOMEM;
}

/* "[/usr/lib/libc.so.6]", for functions without a name; the kernel's file has brackets already. */
static int name_by_file(struct orma_stack_functions *functions, int64_t mapping_name,
			struct orma_stack_function *function)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_str file = orma_trace_database_text(functions->database, mapping_name);
	if (file.size == 0)
		return copy_text(functions, ORMA_STR("[unknown]"), &function->name);
	bool has_brackets = file.data[0] == '[';
	int r = orma_base_buf_printf(&text, has_brackets ? "%.*s" : "[%.*s]", (int)file.size,
				     file.data);
	return r < 0 ? r : copy_text(functions, orma_base_buf_str(&text), &function->name);
}

static int name_by_symbol(struct orma_stack_functions *functions, int64_t name,
			  struct orma_stack_function *function)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = copy_text(functions, orma_trace_database_text(functions->database, name),
			  &function->linker_name);
	function->name = function->linker_name;
	if (r == 0)
		r = orma_demangle(function->linker_name.data, &text);
	return r <= 0 ? r : copy_text(functions, orma_base_buf_str(&text), &function->name);
}

/* Names that differ only in what the source does not say are one function: copies of it that a compiler made. */
static int find_equal(struct orma_stack_functions *functions,
		      const struct orma_stack_function *function, uint32_t *ret)
{
	uint64_t key =
		orma_base_fnv1a(ORMA_FNV1A_INIT, function->name.data, function->name.size + 1);
	if (function->file.size > 0)
		key = orma_base_fnv1a(key, function->file.data, function->file.size);
	uintptr_t known = (uintptr_t)orma_base_map_get(&functions->by_name, key);
	*ret = known ? (uint32_t)known - 1 : functions->count;
	if (known)
		return 0;
	int r = orma_store_grow(&functions->items, (uint64_t)functions->count + 1,
				&functions->capacity, sizeof(*functions->items));
	if (r == 0)
		r = orma_base_map_put(&functions->by_name, key, (void *)((uintptr_t)*ret + 1));
	if (r == 0)
		functions->items[functions->count++] = *function;
	return r;
}

/* Finds the function of a name, or else of a file that is mapped. */
static int find_function(struct orma_stack_functions *functions, int64_t name, int64_t source_file,
			 int64_t mapping_name, uint32_t *ret)
{
	bool is_named = has_text(functions, name);
	int64_t words[] = {is_named ? name : ORMA_CELL_NULL, source_file,
			   is_named ? 0 : mapping_name};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&functions->by_cells, key);
	struct orma_stack_function function = {.linker_name = {NULL, 0}};
	if (known) {
		*ret = (uint32_t)known - 1;
		return 0;
	}
	function.file = orma_trace_database_text(functions->database, source_file);
	int r = is_named ? name_by_symbol(functions, name, &function)
			 : name_by_file(functions, mapping_name, &function);
	if (r == 0)
		r = find_equal(functions, &function, ret);
	return r < 0 ? r
		     : orma_base_map_put(&functions->by_cells, key, (void *)((uintptr_t)*ret + 1));
}

/* --- frames ----------------------------------------------------------------------------------- */

static int add_line(struct orma_stack_functions *functions, int64_t frame, int64_t name,
		    int64_t source_file, int64_t line)
{
	int64_t mapping = cell(functions, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_MAPPING, frame);
	int64_t mapping_name = mapping >= 0 ? cell(functions, ORMA_TABLE_STACK_MAPPING,
						   ORMA_STACK_MAPPING_NAME, mapping)
					    : ORMA_CELL_NULL;
	uint32_t function = 0;
	int r = find_function(functions, name, source_file, mapping_name, &function);
	if (r == 0)
		r = orma_store_grow(&functions->lines, (uint64_t)functions->line_count + 1,
				    &functions->line_capacity, sizeof(*functions->lines));
	if (r == 0)
		functions->lines[functions->line_count++] =
			(struct orma_stack_line){function, line > 0 ? line : 0};
	return r;
}

/* Returns the first row of a set; sets rise in the table. */
static int64_t find_set(const struct orma_stack_functions *functions, int64_t set)
{
	int64_t first = 0;
	int64_t count = (int64_t)orma_store_table_rows(
		&functions->database->tables.all[ORMA_TABLE_STACK_SYMBOL]);
	while (count > 0) {
		int64_t half = count / 2;
		bool is_before = cell(functions, ORMA_TABLE_STACK_SYMBOL,
				      ORMA_STACK_SYMBOL_SYMBOL_SET_ID, first + half) < set;
		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	return first;
}

/* The name that the frame came with. */
static int64_t name_of_frame(const struct orma_stack_functions *functions, int64_t frame)
{
	int64_t name =
		cell(functions, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_DEOBFUSCATED_NAME, frame);
	return has_text(functions, name)
		       ? name
		       : cell(functions, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_NAME, frame);
}

static int read_frame(struct orma_stack_functions *functions, int64_t frame)
{
	struct orma_frame_lines *lines = &functions->frames[frame];
	int64_t set =
		cell(functions, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_SYMBOL_SET_ID, frame);
	int64_t rows = (int64_t)orma_store_table_rows(
		&functions->database->tables.all[ORMA_TABLE_STACK_SYMBOL]);
	int64_t own_name = name_of_frame(functions, frame);
	int r = 0;
	lines->first = functions->line_count;
	for (int64_t row = set == ORMA_CELL_NULL ? rows : find_set(functions, set);
	     r == 0 && row < rows &&
	     cell(functions, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SYMBOL_SET_ID, row) == set;
	     row++) {
		int64_t name =
			cell(functions, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_NAME, row);
		r = add_line(functions, frame, has_text(functions, name) ? name : own_name,
			     cell(functions, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SOURCE_FILE,
				  row),
			     cell(functions, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_LINE_NUMBER,
				  row));
	}
	if (r == 0 && functions->line_count == lines->first)
		r = add_line(functions, frame, own_name, ORMA_CELL_NULL, 0);
	lines->count = functions->line_count - lines->first;
	return r;
}

int orma_stack_functions_read(struct orma_stack_functions *functions,
			      const struct orma_trace_database *database)
{
	int r = 0;
	functions->database = database;
	functions->by_cells.seed = functions->by_name.seed = database->options.seed;
	functions->frame_count =
		orma_store_table_rows(&database->tables.all[ORMA_TABLE_STACK_FRAME]);
	functions->frames = orma_base_alloc_array((size_t)functions->frame_count + 1,
						  sizeof(*functions->frames));
	if (!functions->frames)
		return -ENOMEM;
	for (uint64_t frame = 0; frame < functions->frame_count && r == 0; frame++)
		r = read_frame(functions, (int64_t)frame);
	return r;
}

void orma_stack_functions_done(struct orma_stack_functions *functions)
{
	orma_base_map_done(&functions->by_cells);
	orma_base_map_done(&functions->by_name);
	orma_base_free(functions->items);
	orma_base_free(functions->lines);
	orma_base_free(functions->frames);
	orma_base_arena_done(&functions->arena);
	*functions = (struct orma_stack_functions){0};
}
