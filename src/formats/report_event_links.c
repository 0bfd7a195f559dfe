/* SPDX-License-Identifier: Apache-2.0
 * report_event_links.c - flows and stacks of a report become fields of the slices' events again.
 *
 * A flow is a pair of slices there, so each gets a number of its own: the begin of the first slice has it, and that of the second
 * one ends it. If both begin at the same time, the second slice may come first; then its end ends the flow.
 */
#include <errno.h>
#include <string.h>

#include "formats/report_events.h"
#include "formats/text_lines.h"
#include "schema/gen/track_event.pb.h"

/* --- flows ----------------------------------------------------------------------------------- */

/* Bits in orma_report_events.flow_states. */
enum { IS_BEGUN = 1, IS_ENDED = 2 };

void orma_report_write_flows(struct orma_report_events *events, uint32_t box,
			     enum orma_report_moment moment)
{
	const struct orma_report_file *file = events->file;
	struct orma_proto_writer *writer = &events->output->heap.writer;
	uint8_t *states = events->flow_states;
	uint32_t first, end = orma_report_flows_from(file, box, &first);
	for (uint32_t flow = first; flow < end && moment == ORMA_REPORT_BEGIN; flow++) {
		orma_proto_write_fixed64(writer, ORMA_PB_TRACK_EVENT_FLOW_IDS, (uint64_t)flow + 1);
		states[flow] |= IS_BEGUN;
	}
	end = orma_report_flows_to(file, box, &first);
	for (uint32_t i = first; i < end; i++) {
		uint32_t flow = file->flows_by_to[i];
		if (states[flow] != IS_BEGUN)
			continue;
		orma_proto_write_fixed64(writer, ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS,
					 (uint64_t)flow + 1);
		states[flow] |= IS_ENDED;
	}
}

/* --- stacks ---------------------------------------------------------------------------------- */

enum { FRAMES_MAX = 512 }; /* as many as a report has */

struct frames {
	struct orma_arena *arena;
	struct orma_str texts[FRAMES_MAX];
	size_t count;
};

static int take_frame(void *ctx, const struct orma_json_value *key,
		      const struct orma_json_value *value)
{
	struct frames *frames = ctx;
	(void)key;
	if (value->kind != ORMA_JSON_STRING || frames->count == FRAMES_MAX)
		return 0;
	struct orma_str text = orma_json_unescape(value, frames->arena);
	frames->texts[frames->count++] = text;
	return text.data ? 0 : -ENOMEM;
}

/* Writes a frame. Its text is a function and, when its place is known, two spaces, the file, a colon and the line. */
static void write_frame(struct orma_packet_output *output, struct orma_str function)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested frame;
	struct orma_str file = {NULL, 0};
	int64_t line;
	const char *gap = memmem(function.data, function.size, "  ", 2);
	if (gap) {
		file = (struct orma_str){gap + 2,
					 function.size - (size_t)(gap + 2 - function.data)};
		function.size = (size_t)(gap - function.data);
	}
	orma_proto_nested_begin(writer, &frame, ORMA_PB_TRACK_EVENT_INLINE_CALLSTACK_FRAMES);
	orma_proto_write_str(writer, ORMA_PB_TRACK_EVENT_INLINE_CALLSTACK_FRAME_FUNCTION_NAME,
			     function);
	const char *colon = file.size > 0 ? memrchr(file.data, ':', file.size) : NULL;
	size_t rest = colon ? file.size - (size_t)(colon + 1 - file.data) : 0;
	if (rest > 0 && orma_text_read_i64((struct orma_str){colon + 1, rest}, &line)) {
		file.size = (size_t)(colon - file.data);
		orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_INLINE_CALLSTACK_FRAME_LINE_NUMBER,
				     line);
	}
	if (file.size > 0)
		orma_proto_write_str(writer, ORMA_PB_TRACK_EVENT_INLINE_CALLSTACK_FRAME_SOURCE_FILE,
				     file);
	orma_packet_output_nested_end(output, &frame);
}

int orma_report_write_stack(struct orma_report_events *events, uint32_t box)
{
	struct frames frames = {.arena = &events->arena};
	struct orma_proto_nested stack;
	struct orma_str list = orma_report_file_text(events->file, &events->file->stacks,
						     ORMA_REPORT_SLICE, ORMA_REPORT_STACK, box);
	int r = orma_report_json_items(list, take_frame, &frames);
	if (r == 0 && frames.count > 0) {
		orma_proto_nested_begin(&events->output->heap.writer, &stack,
					ORMA_PB_TRACK_EVENT_CALLSTACK);
		/* The report begins with the innermost function, and an event with the outermost. */
		for (size_t i = frames.count; i-- > 0;)
			write_frame(events->output, frames.texts[i]);
		orma_packet_output_nested_end(events->output, &stack);
	}
	orma_base_arena_clear(&events->arena);
	return r;
}
