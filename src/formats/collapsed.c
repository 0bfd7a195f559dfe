/* SPDX-License-Identifier: Apache-2.0
 * collapsed.c - collapsed stacks, which programs for flame graphs read: a line for each stack, its frames from the root with
 * semicolons between them, and how many samples it has.
 */
#include <ctype.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "formats/format.h"
#include "formats/stack_output.h"
#include "formats/text_lines.h"
#include "schema/gen/stack_sample.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/clocks.h"

enum { SEQUENCE = 1, LINES_TO_SEE = 3 };

/* Splits a line into the stack and its count. False for comments and for what is no such line. */
static bool split(struct orma_str line, struct orma_str *ret_stack, uint64_t *ret_count)
{
	line = orma_text_trim(line);
	size_t space = line.size;
	while (space > 0 && line.data[space - 1] != ' ')
		space--;
	if (space < 2 || line.data[0] == '#')
		return false;
	*ret_stack = orma_text_trim((struct orma_str){line.data, space - 1});
	return orma_text_read_u64((struct orma_str){line.data + space, line.size - space}, 10,
				  ret_count);
}

/* The first lines are stacks, and one of them has several frames. A line that is longer than what is seen of the file may be
 * one. */
static bool detect(int fd, struct orma_str beginning)
{
	struct orma_str rest = beginning, stack;
	bool is_cut = beginning.size == ORMA_FORMAT_BEGINNING_BYTES;
	uint64_t count;
	int seen = 0;
	bool have_frames = false;
	(void)fd;
	while (rest.data && seen < LINES_TO_SEE) {
		struct orma_str line = orma_text_cut(&rest, '\n');
		struct orma_str text = orma_text_trim(line);
		if (text.size == 0 || text.data[0] == '#')
			continue;
		for (size_t i = 0; i < text.size; i++)
			if (iscntrl((unsigned char)text.data[i]))
				return false;
		bool is_last = !rest.data && is_cut;
		have_frames = have_frames || memchr(text.data, ';', text.size);
		if (!is_last && !split(line, &stack, &count))
			return false;
		seen += !is_last || seen == 0;
		if (is_last)
			break;
	}
	return have_frames;
}

struct collapsed {
	struct orma_stack_output stacks;
	uint64_t frames[ORMA_STACK_FRAMES_MAX];
};

static int write_stack(struct collapsed *collapsed, struct orma_str rest, int64_t count)
{
	struct orma_stack_output *stacks = &collapsed->stacks;
	struct orma_proto_nested sample;
	size_t frame_count = 0;
	struct orma_output_mapping mapping = {.name = ORMA_STR("[collapsed_stack]")};
	struct orma_proto_writer *writer = orma_packet_output_begin(stacks->output, SEQUENCE, 0);
	struct orma_output_frame frame = {.mapping = orma_stack_output_mapping(stacks, &mapping)};
	while (rest.data && frame_count < ORMA_STACK_FRAMES_MAX) {
		frame.name = orma_text_cut(&rest, ';');
		if (frame.name.size > 0)
			collapsed->frames[frame_count++] = orma_stack_output_frame(stacks, &frame);
	}
	orma_proto_nested_begin(writer, &sample, ORMA_PB_TRACE_PACKET_STACK_SAMPLE);
	orma_proto_write_varint(writer, ORMA_PB_STACK_SAMPLE_CALLSTACK_IID,
				orma_stack_output_stack(stacks, collapsed->frames, frame_count));
	orma_stack_output_weights(stacks, &count, 1);
	return orma_packet_output_end(stacks->output);
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct orma_output_weight weight = {ORMA_STR("samples"), ORMA_STR("count")};
	struct collapsed *collapsed = orma_base_zalloc(sizeof(*collapsed));
	struct orma_text_lines lines = {.input = conversion->input};
	struct orma_str line, stack;
	uint64_t count;
	(void)reterr;
	if (!collapsed)
		return -ENOMEM;
	collapsed->stacks.output = conversion->output;
	conversion->output->clock = ORMA_CLOCK_TRACE_FILE;
	int r = orma_stack_output_begin_samples(&collapsed->stacks, SEQUENCE, "collapsed_stack",
						&weight, 1);
	while (r == 0 && (r = orma_text_lines_next(&lines, &line)) > 0) {
		r = 0;
		struct orma_str text = orma_text_trim(line);
		if (text.size == 0 || text.data[0] == '#')
			continue;
		if (split(line, &stack, &count) && count > 0 && count <= INT64_MAX)
			r = write_stack(collapsed, stack, (int64_t)count);
		else
			orma_packet_output_count(conversion->output,
						 ORMA_STAT_stackprofile_parser_error);
	}
	orma_text_lines_done(&lines);
	orma_stack_output_done(&collapsed->stacks);
	orma_base_free(collapsed);
	return r;
}

const struct orma_format orma_format_collapsed = {"collapsed_stack", false, false, detect, convert};
