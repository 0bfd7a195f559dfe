/* SPDX-License-Identifier: Apache-2.0
 * perf_text.c - what `perf script` prints: a line for each sample, and below it a line for each frame from the innermost on.
 *
 *	cc1 4711/4711 [003] 303057.417513:      1 cycles:
 *	            55d0a1b2c3d4 parse_token+0x14 (/usr/libexec/cc1)
 *	            55d0a1b2c000 main+0x20 (/usr/libexec/cc1)
 *
 * Options of perf leave out the process, the CPU, the period, or the frames; then the address is in the sample's line.
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
#include "trace/conversion_fields.h"

enum { SEQUENCE = 1, COMM_MAX_BYTES = 64 };

/* The line of a sample. */
struct sample_line {
	struct orma_str comm, rest; /* it stands behind the time */
	int64_t ns;
	int64_t pid, tid, cpu; /* -1 = not known */
};

struct perf_text {
	struct orma_packet_output *output;
	struct orma_stack_output stacks;
	struct sample_line sample;
	char comm[COMM_MAX_BYTES]; /* the sample's, because lines do not stay */
	bool has_sample;
	struct orma_buf texts; /* the frames' lines, each with its end */
	size_t frame_count;
	uint64_t frames[ORMA_STACK_FRAMES_MAX];
};

static bool is_digits(struct orma_str text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!isdigit((unsigned char)text.data[i]))
			return false;
	return text.size > 0;
}

static bool read_number(struct orma_str text, int64_t *ret)
{
	return is_digits(text) && orma_text_read_i64(text, ret) && *ret <= INT32_MAX;
}

/* Takes the last word off a text. Its data is NULL when there is none. */
static struct orma_str take_last_word(struct orma_str *text)
{
	*text = orma_text_trim(*text);
	size_t begin = text->size;
	while (begin > 0 && !isspace((unsigned char)text->data[begin - 1]))
		begin--;
	struct orma_str word = {text->size > 0 ? text->data + begin : NULL, text->size - begin};
	text->size = begin;
	return word;
}

/* Reads what stands before the time: the name of the thread, the process and the thread, the CPU. */
static bool read_task(struct orma_str text, struct sample_line *ret)
{
	struct orma_str word = take_last_word(&text);
	ret->cpu = ret->pid = -1;
	if (word.size > 2 && word.data[0] == '[' && word.data[word.size - 1] == ']') {
		if (!read_number((struct orma_str){word.data + 1, word.size - 2}, &ret->cpu))
			return false;
		word = take_last_word(&text);
	}
	if (!word.data)
		return false;
	struct orma_str tid = word, pid = orma_text_cut(&tid, '/');
	if (tid.data && !read_number(pid, &ret->pid))
		return false;
	ret->comm = orma_text_trim(text);
	return read_number(tid.data ? tid : pid, &ret->tid);
}

/* Finds "seconds.micros:" and what stands around it. */
static bool read_sample_line(struct orma_str line, struct sample_line *ret)
{
	for (size_t colon = 8; colon < line.size; colon++) {
		if (line.data[colon] != ':' || !isdigit((unsigned char)line.data[colon - 1]))
			continue;
		struct orma_str before = {line.data, colon};
		struct orma_str time = take_last_word(&before);
		struct orma_str fraction = time, seconds = orma_text_cut(&fraction, '.');
		/* perf writes micro- or nanoseconds. */
		if (!fraction.data || (fraction.size != 6 && fraction.size != 9) ||
		    !is_digits(seconds) || !is_digits(fraction) ||
		    !orma_text_read_seconds(time, &ret->ns) || !read_task(before, ret))
			continue;
		ret->rest = (struct orma_str){line.data + colon + 1, line.size - colon - 1};
		return true;
	}
	return false;
}

static bool detect(int fd, struct orma_str beginning)
{
	struct orma_str rest = beginning;
	struct sample_line sample;
	(void)fd;
	while (rest.data) {
		struct orma_str line = orma_text_cut(&rest, '\n');
		struct orma_str text = orma_text_trim(line);
		if (text.size > 0 && text.data[0] != '#')
			return rest.data && read_sample_line(line, &sample);
	}
	return false;
}

/* Reads "address symbol+0x14 (file)". False when it is something else. */
static bool read_frame(struct orma_str line, struct orma_output_mapping *mapping,
		       struct orma_output_frame *frame)
{
	struct orma_str text = orma_text_trim(line), address;
	uint64_t pc;
	size_t open = text.size, depth = 0;
	if (text.size == 0 || text.data[text.size - 1] != ')')
		return false;
	/* A file that is deleted has a note in parentheses of its own. */
	do {
		open--;
		depth += text.data[open] == ')';
		depth -= text.data[open] == '(';
	} while (depth > 0 && open > 0);
	if (depth > 0)
		return false;
	open++;
	mapping->name = (struct orma_str){text.data + open, text.size - open - 1};
	text.size = open - 1;
	address = orma_text_cut(&text, ' ');
	if (!text.data || !orma_text_read_u64(address, 16, &pc))
		return false;
	text = orma_text_trim(text);
	/* The offset in the function makes no other function. */
	for (size_t i = text.size; i > 2; i--)
		if (text.data[i - 1] == 'x' && text.data[i - 2] == '0' && text.data[i - 3] == '+') {
			text.size = i - 3;
			break;
		}
	frame->name = text;
	return true;
}

static void write_contexts(struct perf_text *perf, struct orma_proto_writer *writer)
{
	const struct sample_line *sample = &perf->sample;
	struct orma_proto_nested context;
	orma_proto_nested_begin(writer, &context, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT);
	if (sample->pid >= 0)
		orma_proto_write_int(writer, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_PID, sample->pid);
	orma_proto_write_int(writer, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_TID, sample->tid);
	if (sample->comm.size > 0)
		orma_proto_write_str(writer, ORMA_TASK_CONTEXT_COMM, sample->comm);
	orma_proto_nested_end(writer, &context);
	if (sample->cpu < 0)
		return;
	orma_proto_nested_begin(writer, &context, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT);
	orma_proto_write_int(writer, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_CPU, sample->cpu);
	orma_proto_nested_end(writer, &context);
}

/* Writes the sample that was read last. */
static int finish_sample(struct perf_text *perf)
{
	struct orma_proto_nested nested;
	struct orma_str lines = {(const char *)perf->texts.data, perf->texts.size};
	size_t count = perf->frame_count;
	if (!perf->has_sample)
		return 0;
	perf->has_sample = false;
	if (count == 0) {
		orma_packet_output_count(perf->output,
					 ORMA_STAT_perf_text_importer_sample_no_frames);
		return 0;
	}
	struct orma_proto_writer *writer =
		orma_packet_output_begin(perf->output, SEQUENCE, perf->sample.ns);
	for (size_t i = count; i-- > 0;) {
		struct orma_output_mapping mapping = {.name = {NULL, 0}};
		struct orma_output_frame frame = {.rel_pc = 0};
		read_frame(orma_text_cut(&lines, '\n'), &mapping, &frame);
		frame.mapping = orma_stack_output_mapping(&perf->stacks, &mapping);
		perf->frames[i] = orma_stack_output_frame(&perf->stacks, &frame);
	}
	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_PACKET_STACK_SAMPLE);
	write_contexts(perf, writer);
	orma_proto_write_varint(writer, ORMA_PB_STACK_SAMPLE_CALLSTACK_IID,
				orma_stack_output_stack(&perf->stacks, perf->frames, count));
	return orma_packet_output_end(perf->output);
}

static int add_frame(struct perf_text *perf, struct orma_str line)
{
	if (perf->frame_count == ORMA_STACK_FRAMES_MAX)
		return 0;
	int r = orma_base_buf_append(&perf->texts, line.data, line.size);
	if (r == 0)
		r = orma_base_buf_append(&perf->texts, "\n", 1);
	perf->frame_count += r == 0;
	return r;
}

static int begin_sample(struct perf_text *perf, const struct sample_line *sample)
{
	struct orma_output_mapping mapping;
	struct orma_output_frame frame;
	struct orma_str rest = sample->rest;
	perf->sample = *sample;
	perf->sample.comm.size = ORMA_MIN(sample->comm.size, sizeof(perf->comm));
	memcpy(perf->comm, sample->comm.data, perf->sample.comm.size);
	perf->sample.comm.data = perf->comm;
	perf->has_sample = true;
	perf->texts.size = perf->frame_count = 0;
	/* Without frames below, the address follows the name of the event, which ends with a colon and blanks. */
	while (rest.data) {
		orma_text_cut(&rest, ':');
		if (rest.data && rest.size > 0 && isspace((unsigned char)rest.data[0]) &&
		    read_frame(rest, &mapping, &frame))
			return add_frame(perf, rest);
	}
	return 0;
}

static int take_line(struct perf_text *perf, struct orma_str line)
{
	struct orma_str text = orma_text_trim(line);
	struct sample_line sample;
	struct orma_output_mapping mapping;
	struct orma_output_frame frame;
	if (text.size == 0)
		return finish_sample(perf);
	if (text.data[0] == '#')
		return 0;
	if (perf->has_sample && read_frame(line, &mapping, &frame))
		return add_frame(perf, text);
	if (!read_sample_line(line, &sample)) {
		orma_packet_output_count(perf->output, ORMA_STAT_stackprofile_parser_error);
		return 0;
	}
	int r = finish_sample(perf);
	return r < 0 ? r : begin_sample(perf, &sample);
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct perf_text *perf = orma_base_zalloc(sizeof(*perf));
	struct orma_text_lines lines = {.input = conversion->input};
	struct orma_str line;
	(void)reterr;
	if (!perf)
		return -ENOMEM;
	perf->output = perf->stacks.output = conversion->output;
	perf->output->clock = ORMA_CLOCK_MONOTONIC;
	int r = orma_stack_output_begin_samples(&perf->stacks, SEQUENCE, "perf_text", NULL, 0);
	while (r == 0 && (r = orma_text_lines_next(&lines, &line)) > 0)
		r = take_line(perf, line);
	if (r == 0)
		r = finish_sample(perf);
	orma_text_lines_done(&lines);
	orma_stack_output_done(&perf->stacks);
	orma_base_buf_done(&perf->texts);
	orma_base_free(perf);
	return r;
}

const struct orma_format orma_format_perf_text = {"perf_text", false, false, detect, convert};
