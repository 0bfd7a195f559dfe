/* SPDX-License-Identifier: Apache-2.0
 * systrace.c - texts of kernel events: /sys/kernel/tracing/trace, `trace-cmd report`, atrace, and the web pages of systrace.
 *
 * A web page holds the events, and lists of processes and threads, each in a script of its own. All else is skipped.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "formats/event_output.h"
#include "formats/format.h"
#include "formats/ftrace_output.h"
#include "formats/text_lines.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/clocks.h"

enum { SEQUENCE = 1, SNIFFED_BYTES = 512, WORDS_MAX = 12 };

enum section {
	SECTION_EVENTS,
	SECTION_NONE,   /* between the scripts of a web page */
	SECTION_SCRIPT, /* the content is not known yet */
	SECTION_PROCESSES,
	SECTION_THREADS,
	SECTION_OTHER,
	SECTION_END,
};

struct systrace {
	struct orma_ftrace_output ftrace;
	enum section section;
	bool is_first_line;
};

static bool contains(struct orma_str text, const char *wanted)
{
	return text.size > 0 && memmem(text.data, text.size, wanted, strlen(wanted));
}

static bool starts_with_any_case(struct orma_str text, const char *prefix)
{
	for (size_t i = 0; prefix[i]; i++) {
		char c = (char)(i < text.size ? text.data[i] : '\0');
		if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != prefix[i])
			return false;
	}
	return true;
}

static bool is_page(struct orma_str text)
{
	return starts_with_any_case(text, "<!doctype html>") ||
	       starts_with_any_case(text, "<html>");
}

static bool detect(int fd, struct orma_str beginning)
{
	(void)fd;
	struct orma_str start = {beginning.data, ORMA_MIN(beginning.size, (size_t)SNIFFED_BYTES)};
	struct orma_ftrace_line event;
	struct orma_str rest = start, line = orma_text_cut(&rest, '\n');
	return contains(start, "# tracer") || is_page(start) || contains(start, "TRACE:\n") ||
	       orma_text_starts_with(start, "cpus=") || orma_text_starts_with(start, " ") ||
	       orma_ftrace_line_read(line, &event);
}

/* Words that blanks separate; the last one is the rest of the line. */
static unsigned read_words(struct orma_str line, unsigned max, struct orma_str words[])
{
	unsigned count = 0;
	for (line = orma_text_trim(line); line.size > 0 && count < max;
	     line = orma_text_trim(line)) {
		if (count + 1 == max)
			words[count] = line;
		else
			words[count] = orma_text_cut(&line, ' ');
		count++;
		if (count == max || !line.data)
			break;
	}
	return count;
}

static bool read_pid(struct orma_str text, int64_t *ret)
{
	return orma_text_read_i64(text, ret) && *ret >= 0 && *ret <= INT32_MAX;
}

/* "user pid ppid vsz rss wchan pc s name cmd line" */
static int take_process(struct systrace *systrace, struct orma_str line)
{
	struct orma_str words[10];
	int64_t pid, parent;
	struct orma_proto_nested tree, process;
	if (read_words(line, 10, words) < 10)
		return 0;
	if (!read_pid(words[1], &pid) || !read_pid(words[2], &parent)) {
		orma_packet_output_count(systrace->ftrace.output, ORMA_STAT_systrace_parse_failure);
		return 0;
	}
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(systrace->ftrace.output, SEQUENCE);
	orma_proto_nested_begin(writer, &tree, ORMA_PB_TRACE_PACKET_PROCESS_TREE);
	orma_proto_nested_begin(writer, &process, ORMA_PB_PROCESS_TREE_PROCESSES);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PID, pid);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PPID, parent);
	orma_proto_write_str(writer, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, words[8]);
	return orma_packet_output_end(systrace->ftrace.output);
}

/* "user pid tid cmd line" */
static int take_thread(struct systrace *systrace, struct orma_str line)
{
	struct orma_str words[4];
	int64_t pid, tid;
	if (read_words(line, 4, words) < 4)
		return 0;
	if (!read_pid(words[1], &pid) || !read_pid(words[2], &tid)) {
		orma_packet_output_count(systrace->ftrace.output, ORMA_STAT_systrace_parse_failure);
		return 0;
	}
	return orma_ftrace_output_name(&systrace->ftrace, 0, (uint32_t)tid, (uint32_t)pid,
				       words[3]);
}

static enum section section_of_header(struct orma_str line, enum section section)
{
	struct orma_str words[WORDS_MAX];
	unsigned count = read_words(line, WORDS_MAX, words);
	if (count < 4 || !orma_base_str_is(words[0], "USER") || !orma_base_str_is(words[1], "PID"))
		return section;
	if (count == 4 && orma_base_str_is(words[2], "TID"))
		return SECTION_THREADS;
	return orma_base_str_is(words[2], "PPID") ? SECTION_PROCESSES : section;
}

static int take_event(struct systrace *systrace, struct orma_str line)
{
	struct orma_ftrace_line event;
	if (line.size == 0 || line.data[0] == '#')
		return 0;
	if (orma_ftrace_line_read(line, &event))
		return orma_ftrace_output_add(&systrace->ftrace, &event);
	orma_packet_output_count(systrace->ftrace.output, ORMA_STAT_systrace_parse_failure);
	return 0;
}

static int take_of_list(struct systrace *systrace, struct orma_str line)
{
	enum section section = section_of_header(line, SECTION_NONE);
	if (section != SECTION_NONE) {
		systrace->section = section;
		return 0;
	}
	return systrace->section == SECTION_PROCESSES ? take_process(systrace, line)
						      : take_thread(systrace, line);
}

static void begin_section(struct systrace *systrace, struct orma_str line)
{
	if (orma_text_starts_with(line, "#") && contains(line, "TASK-PID"))
		systrace->section = SECTION_EVENTS;
	else if (orma_text_starts_with(line, "PROCESS DUMP"))
		systrace->section = SECTION_PROCESSES;
	else if (orma_text_starts_with(line, "CGROUP DUMP"))
		systrace->section = SECTION_OTHER;
}

static int take_line(struct systrace *systrace, struct orma_str line)
{
	static const char script[] = "<script class=\"trace-data\" type=\"application/text\">";
	bool is_end = contains(line, "</script>");
	switch (systrace->section) {
	case SECTION_EVENTS:
		if (is_end)
			systrace->section = SECTION_END;
		return is_end ? 0 : take_event(systrace, line);
	case SECTION_NONE:
		if (contains(line, script))
			systrace->section = SECTION_SCRIPT;
		return 0;
	case SECTION_SCRIPT:
	case SECTION_OTHER:
	case SECTION_PROCESSES:
	case SECTION_THREADS:
		if (is_end)
			systrace->section = SECTION_NONE;
		else if (systrace->section == SECTION_SCRIPT)
			begin_section(systrace, line);
		else if (systrace->section != SECTION_OTHER)
			return take_of_list(systrace, line);
		return 0;
	case SECTION_END:
		break;
	}
	return 0;
}

/* Skips what is before the events: what atrace prints before "TRACE:", and the number of CPUs. */
static uint64_t find_beginning(struct orma_str beginning, enum section *ret)
{
	static const char mark[] = "TRACE:\n";
	struct orma_str start = {beginning.data, ORMA_MIN(beginning.size, (size_t)SNIFFED_BYTES)};
	const char *found =
		start.size > 0 ? memmem(start.data, start.size, mark, strlen(mark)) : NULL;
	*ret = is_page(start) ? SECTION_NONE : SECTION_EVENTS;
	if (found)
		return (uint64_t)(found - start.data) + strlen(mark);
	struct orma_str rest = start, line = orma_text_cut(&rest, '\n');
	return orma_text_starts_with(line, "cpus=") ? line.size + (rest.data != NULL) : 0;
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct systrace systrace = {.ftrace.output = conversion->output};
	struct orma_text_lines lines = {.input = conversion->input};
	struct orma_trace_window window = {0};
	struct orma_str line;
	const uint8_t *data = NULL;
	(void)reterr;
	conversion->output->clock = ORMA_CLOCK_MONOTONIC;
	size_t size =
		(size_t)ORMA_MIN(orma_trace_bytes_end(conversion->input), (uint64_t)SNIFFED_BYTES);
	int r = orma_trace_window_read(&window, conversion->input, 0, size, size, &data);
	if (r > 0)
		lines.address = find_beginning((struct orma_str){(const char *)data, size},
					       &systrace.section);
	while (r >= 0 && (r = orma_text_lines_next(&lines, &line)) > 0 &&
	       systrace.section != SECTION_END)
		r = take_line(&systrace, line);
	if (r >= 0)
		r = orma_ftrace_output_end(&systrace.ftrace);
	orma_trace_window_done(&window);
	orma_text_lines_done(&lines);
	orma_ftrace_output_done(&systrace.ftrace);
	return ORMA_MIN(r, 0);
}

const struct orma_format orma_format_systrace = {"systrace", false, false, detect, convert};
