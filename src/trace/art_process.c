/* SPDX-License-Identifier: Apache-2.0
 * art_process.c - see art_process.h.
 */
#include "trace/art_process.h"

#include "base/macros.h"
#include "schema/gen/art_process_metadata.pb.h"
#include "trace/message_fields.h"
#include "trace/system_packets.h"

enum { FRAMES_MAX = 1024 }; /* ART throws an error for a deeper stack long before */

/* The name in "RESULT pkg.Class.method(ARGUMENTS)". */
static struct orma_str method_name(struct orma_str text)
{
	const char *end = text.size > 0 ? memchr(text.data, '(', text.size) : NULL;
	if (end)
		text.size = (size_t)(end - text.data);
	const char *blank = text.size > 0 ? memrchr(text.data, ' ', text.size) : NULL;
	if (blank)
		text = (struct orma_str){blank + 1, text.size - (size_t)(blank + 1 - text.data)};
	return text;
}

/* Returns the callsite below a parent, the parent for a frame without a name, or a negative errno value. */
static int64_t add_frame(struct orma_call_stacks *stacks, int64_t parent, struct orma_str bytes)
{
	struct orma_message message;
	orma_message_read(&message, bytes);
	if (!orma_message_has(&message, ORMA_PB_JAVA_FRAME_METHOD_NAME))
		return parent;
	struct orma_str name =
		method_name(orma_message_bytes(&message, ORMA_PB_JAVA_FRAME_METHOD_NAME));
	struct orma_str file = orma_message_bytes(&message, ORMA_PB_JAVA_FRAME_SOURCE_FILE);
	bool has_line = orma_message_has(&message, ORMA_PB_JAVA_FRAME_LINE_NUMBER);
	struct orma_frame frame = {
		.name = orma_tables_string(stacks->tables, name),
		.source_file = orma_tables_string(stacks->tables, file),
		.line = has_line ? (uint32_t)orma_message_number(&message,
								 ORMA_PB_JAVA_FRAME_LINE_NUMBER)
				 : ORMA_CELL_NULL,
	};
	int64_t id = orma_call_stacks_inline_frame(stacks, ORMA_INLINE_ART_PROCESS, frame);
	return id < 0 ? id : orma_call_stacks_callsite(stacks, parent, id);
}

static int64_t add_stack(struct orma_call_stacks *stacks, struct orma_str stack)
{
	struct orma_str frames[FRAMES_MAX], bytes;
	struct orma_proto_reader reader;
	size_t count = 0;
	int64_t callsite = ORMA_CELL_NULL;
	orma_proto_reader_init(&reader, stack.data, stack.size);
	while (count < FRAMES_MAX && orma_message_next(&reader, ORMA_PB_JAVA_STACK_FRAMES, &bytes))
		frames[count++] = bytes;
	while (count > 0 && !orma_is_failure(callsite))
		callsite = add_frame(stacks, callsite, frames[--count]);
	return callsite;
}

static int add_oome(struct orma_system *system, const struct orma_message *message, int64_t graph)
{
	struct orma_str text =
		orma_message_bytes(message, ORMA_PB_ART_PROCESS_METADATA_OOM_ERROR_MSG);
	int64_t cells[ORMA_HEAP_OOME_COLUMNS] = {
		[ORMA_HEAP_OOME_HEAP_GRAPH_ID] = graph,
		[ORMA_HEAP_OOME_ALLOCATION_SIZE_BYTES] = (int64_t)orma_message_number(
			message, ORMA_PB_ART_PROCESS_METADATA_OOM_ALLOCATION_SIZE),
		[ORMA_HEAP_OOME_TOTAL_BYTES_FREE] = (int64_t)orma_message_number(
			message, ORMA_PB_ART_PROCESS_METADATA_OOM_TOTAL_BYTES_FREE),
		[ORMA_HEAP_OOME_FREE_BYTES_UNTIL_OOM] = (int64_t)orma_message_number(
			message, ORMA_PB_ART_PROCESS_METADATA_OOM_FREE_BYTES_UNTIL_OOM),
		[ORMA_HEAP_OOME_ERROR_MSG] = orma_tables_string(system->tables, text),
	};
	return orma_store_table_append(&system->tables->all[ORMA_TABLE_HEAP_OOME], cells);
}

static int add_callsite(struct orma_system *system, const struct orma_ordered_event *event,
			int64_t graph, int64_t pid, int64_t callsite)
{
	int64_t utid = orma_processes_thread_of(system->processes, event->machine_idx, pid, pid);
	int64_t cells[ORMA_HEAP_CALLSITE_COLUMNS] = {
		[ORMA_HEAP_CALLSITE_HEAP_GRAPH_ID] = graph,
		[ORMA_HEAP_CALLSITE_UTID] = utid,
		[ORMA_HEAP_CALLSITE_CALLSITE_ID] = callsite,
	};
	if (utid < 0 || orma_is_failure(callsite))
		return (int)ORMA_MIN(utid, callsite);
	return orma_store_table_append(&system->tables->all[ORMA_TABLE_HEAP_CALLSITE], cells);
}

/* Says what is known of the process. Returns it, or a negative errno value. */
static int64_t describe_process(struct orma_packages *packages,
				const struct orma_ordered_event *event,
				const struct orma_message *message)
{
	struct orma_system *system = packages->system;
	int64_t pid = (int32_t)orma_message_number(message, ORMA_PB_ART_PROCESS_METADATA_PID);
	int64_t upid = orma_processes_process(system->processes, event->machine_idx, pid);
	struct orma_str name =
		orma_message_bytes(message, ORMA_PB_ART_PROCESS_METADATA_PROCESS_NAME);
	struct orma_str package =
		orma_message_bytes(message, ORMA_PB_ART_PROCESS_METADATA_PACKAGE_NAME);
	bool has_uid = orma_message_has(message, ORMA_PB_ART_PROCESS_METADATA_UID);
	uint32_t uid = (uint32_t)orma_message_number(message, ORMA_PB_ART_PROCESS_METADATA_UID);
	int r = upid < 0 ? (int)upid : 0;
	if (r == 0 && name.size > 0)
		r = orma_processes_name_process(system->processes, upid,
						orma_tables_string(system->tables, name),
						ORMA_PROCESS_NAME_DESCRIPTOR);
	if (r == 0 && has_uid)
		r = orma_process_set_uid(system, upid, uid);
	if (r == 0 && has_uid && package.size > 0)
		r = orma_packages_add(packages, package, uid);
	return r < 0 ? r : upid;
}

int orma_art_process_take(struct orma_heap_graphs *graphs, struct orma_packages *packages,
			  struct orma_call_stacks *stacks, const struct orma_ordered_event *event)
{
	struct orma_system *system = graphs->system;
	struct orma_message message;
	orma_message_read(&message, event->packet->content);
	int64_t pid = (int32_t)orma_message_number(&message, ORMA_PB_ART_PROCESS_METADATA_PID);
	int64_t upid = describe_process(packages, event, &message);
	bool is_oome = orma_message_has(&message, ORMA_PB_ART_PROCESS_METADATA_OOM_ALLOCATION_SIZE);
	if (upid < 0)
		return (int)upid;
	int64_t graph = orma_heap_graph_row(
		graphs, upid, event->ns,
		is_oome ? orma_tables_string(system->tables, ORMA_STR("OOME")) : ORMA_CELL_NULL);
	if (graph < 0 || !is_oome)
		return (int)ORMA_MIN(graph, 0);
	int r = add_oome(system, &message, graph);
	if (r < 0 ||
	    !orma_message_has(&message, ORMA_PB_ART_PROCESS_METADATA_OOM_THREAD_JAVA_STACK))
		return r;
	struct orma_str stack =
		orma_message_bytes(&message, ORMA_PB_ART_PROCESS_METADATA_OOM_THREAD_JAVA_STACK);
	return add_callsite(system, event, graph, pid, add_stack(stacks, stack));
}
