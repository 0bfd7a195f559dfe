/* SPDX-License-Identifier: Apache-2.0
 * symbols.c - see symbols.h.
 */
#include "trace/symbols.h"

#include "schema/gen/profile_common.pb.h"
#include "trace/message_fields.h"

/* Adds the lines of an address as one symbol set. 1, 0 (there are none), or a negative errno value. */
static int add_lines(struct orma_tables *tables, struct orma_str address, int64_t *ret_set)
{
	struct orma_table *table = &tables->all[ORMA_TABLE_STACK_SYMBOL];
	struct orma_proto_reader reader;
	struct orma_message line;
	struct orma_str bytes;
	int r = 0;
	*ret_set = (int64_t)orma_store_table_rows(table);
	orma_proto_reader_init(&reader, address.data, address.size);
	while (r >= 0 && orma_message_next(&reader, ORMA_PB_ADDRESS_SYMBOLS_LINES, &bytes)) {
		orma_message_read(&line, bytes);
		struct orma_str file = orma_message_bytes(&line, ORMA_PB_LINE_SOURCE_FILE_NAME);
		bool has_line = file.size > 0 && orma_message_has(&line, ORMA_PB_LINE_LINE_NUMBER);
		int64_t cells[ORMA_STACK_SYMBOL_COLUMNS] = {
			[ORMA_STACK_SYMBOL_SYMBOL_SET_ID] = *ret_set,
			[ORMA_STACK_SYMBOL_NAME] = orma_tables_string(
				tables, orma_message_bytes(&line, ORMA_PB_LINE_FUNCTION_NAME)),
			[ORMA_STACK_SYMBOL_SOURCE_FILE] =
				file.size > 0 ? orma_tables_string(tables, file) : ORMA_CELL_NULL,
			[ORMA_STACK_SYMBOL_LINE_NUMBER] =
				has_line ? (uint32_t)orma_message_number(&line,
									 ORMA_PB_LINE_LINE_NUMBER)
					 : ORMA_CELL_NULL,
			[ORMA_STACK_SYMBOL_INLINED] = ORMA_CELL_NULL,
		};
		r = orma_store_table_append(table, cells);
		r = r < 0 ? r : 1;
	}
	return r;
}

/* Gives the symbols to all frames at the address. 1, 0 (there is no such frame), or a negative errno value. */
static int name_frames(struct orma_call_stacks *stacks, int64_t mapping, uint64_t address,
		       int64_t set)
{
	int r = 0;
	for (; mapping >= 0 && r >= 0; mapping = stacks->mapping_entries[mapping].next_of_module)
		for (int64_t frame = orma_call_stacks_at(stacks, mapping, address);
		     frame >= 0 && r >= 0; frame = stacks->frame_entries[frame].next_at_pc) {
			r = orma_call_stacks_set(stacks, frame, ORMA_STACK_FRAME_SYMBOL_SET_ID,
						 set);
			r = r < 0 ? r : 1;
		}
	return r;
}

static void count(struct orma_system *system, const struct orma_ordered_event *event,
		  enum orma_stat stat)
{
	orma_stats_add(&system->stats, event->machine_idx, stat, 0, 1);
}

int orma_module_symbols_take(struct orma_system *system, struct orma_call_stacks *stacks,
			     const struct orma_ordered_event *event)
{
	struct orma_proto_reader reader;
	struct orma_message module;
	struct orma_str bytes;
	orma_message_read(&module, event->packet->content);
	int64_t name =
		orma_system_text(system, orma_message_bytes(&module, ORMA_PB_MODULE_SYMBOLS_PATH));
	int64_t build_id = orma_call_stacks_build_id(
		system->tables, orma_message_bytes(&module, ORMA_PB_MODULE_SYMBOLS_BUILD_ID));
	int64_t mapping = orma_call_stacks_module(stacks, name, build_id);
	if (mapping < 0)
		count(system, event, ORMA_STAT_stackprofile_invalid_mapping_id);
	orma_proto_reader_init(&reader, module.bytes.data, module.bytes.size);
	while (mapping >= 0 &&
	       orma_message_next(&reader, ORMA_PB_MODULE_SYMBOLS_ADDRESS_SYMBOLS, &bytes)) {
		struct orma_message address;
		int64_t set;
		orma_message_read(&address, bytes);
		int r = add_lines(system->tables, bytes, &set);
		if (r > 0) {
			r = name_frames(
				stacks, mapping,
				orma_message_number(&address, ORMA_PB_ADDRESS_SYMBOLS_ADDRESS),
				set);
			if (r == 0)
				count(system, event, ORMA_STAT_stackprofile_invalid_frame_id);
		}
		if (r < 0)
			return r;
	}
	return 0;
}
