/* SPDX-License-Identifier: Apache-2.0
 * strace.c - the output of `strace -f -ttt`: a line for each system call, or two when another thread's comes between.
 *
 *   1000 1700000052.321100 read(3, "root"..., 1024) = 312 <0.000012>
 *   1000 1700000052.321500 futex(0x7f, FUTEX_WAIT, <unfinished ...>
 *   1000 1700000052.322000 <... futex resumed>) = 0
 *
 * The time at the end is there with -T; without it a call of one line is an instant, because its line only says when it began.
 * Times of the day (-t, -tt) are counted and left out: they have no date. A line without a thread cannot be shown anywhere.
 */
#include "formats/event_output.h"
#include "formats/format.h"
#include "formats/text_lines.h"
#include "trace/clocks.h"
#include "trace/conversion_fields.h"

enum {
	SEQUENCE = 1,
	PID_DIGITS_MAX = 9, /* times have ten digits and more until the year 2286 */
};

enum line_kind { COMPLETE, UNFINISHED, RESUMED, RESUMED_UNFINISHED };

struct call {
	enum line_kind kind;
	bool has_tid;
	uint64_t tid;
	int64_t ns, dur_ns;
	struct orma_str name, args, result;
};

/* Returns ORMA_STATS for a call, else the statistic that counts the line. */
static enum orma_stat read_head(struct orma_str *line, struct call *ret)
{
	struct orma_str rest = *line, word = orma_text_cut(&rest, ' ');
	ret->has_tid =
		word.size <= PID_DIGITS_MAX && rest.data && orma_text_read_u64(word, 10, &ret->tid);
	if (ret->has_tid) {
		rest = orma_text_trim(rest);
		word = orma_text_cut(&rest, ' ');
	}
	*line = orma_text_trim(rest);
	if (memchr(word.data ? word.data : "", ':', word.size))
		return ORMA_STAT_strace_unsupported_timestamp_format;
	return rest.data && orma_text_read_seconds(word, &ret->ns) && ret->ns >= 0
		       ? ORMA_STATS
		       : ORMA_STAT_strace_parse_failure;
}

/* Finds a text in another; NULL when it is not there. */
static const char *find(struct orma_str text, const char *wanted)
{
	return text.size > 0 ? memmem(text.data, text.size, wanted, strlen(wanted)) : NULL;
}

static struct orma_str skip(struct orma_str text, const char *to)
{
	return (struct orma_str){to, text.size - (size_t)(to - text.data)};
}

static struct orma_str before(struct orma_str text, const char *end)
{
	return (struct orma_str){text.data, (size_t)(end - text.data)};
}

/* The result begins behind the ')' that '=' follows, with any number of blanks between; a result may have parentheses too. */
static bool find_result(struct orma_str text, struct orma_str *ret_args, struct orma_str *ret)
{
	for (const char *at = text.data, *end = text.data + text.size; at < end; at++) {
		at = memchr(at, ')', (size_t)(end - at));
		if (!at)
			break;
		struct orma_str rest = orma_text_trim(skip(text, at + 1));
		if (rest.size == 0 || rest.data[0] != '=')
			continue;
		*ret_args = orma_text_trim(before(text, at));
		*ret = orma_text_trim(skip(rest, rest.data + 1));
		return true;
	}
	return false;
}

/* Cuts "<0.000012>" off the result. */
static void take_duration(struct call *call)
{
	struct orma_str result = call->result;
	if (result.size == 0 || result.data[result.size - 1] != '>')
		return;
	size_t begin = result.size - 1;
	while (begin > 0 && result.data[begin] != '<')
		begin--;
	struct orma_str text = {result.data + begin + 1, result.size - begin - 2};
	int64_t dur_ns;
	if (result.data[begin] != '<' || !orma_text_read_seconds(text, &dur_ns) || dur_ns < 0)
		return;
	call->dur_ns = dur_ns;
	call->result = orma_text_trim(before(result, result.data + begin));
}

/* Reads what stands behind the time. */
static bool read_call(struct orma_str text, struct call *ret)
{
	static const char resumed[] = " resumed>";
	bool is_resumed = orma_text_starts_with(text, "<... ");
	const char *end = is_resumed ? find(text, resumed) : find(text, "(");
	if (!end)
		return false;
	ret->name = before(text, end);
	if (is_resumed)
		ret->name = skip(ret->name, ret->name.data + strlen("<... "));
	text = orma_text_trim(skip(text, end + (is_resumed ? strlen(resumed) : 1)));
	const char *unfinished = find(text, "<unfinished ...>");
	if (unfinished) {
		ret->args = orma_text_trim(before(text, unfinished));
		while (ret->args.size > 0 && ret->args.data[ret->args.size - 1] == ',')
			ret->args.size--;
		ret->kind = is_resumed ? RESUMED_UNFINISHED : UNFINISHED;
		return true;
	}
	ret->kind = is_resumed ? RESUMED : COMPLETE;
	if (!find_result(text, &ret->args, &ret->result)) {
		/* A call that had no argument left may end without a parenthesis. */
		const char *equals = find(text, "=");
		if (!equals)
			return false;
		ret->result = orma_text_trim(skip(text, equals + 1));
	}
	take_duration(ret);
	return ret->name.size > 0;
}

/* Returns ORMA_STATS for a call, else the statistic that counts the line. */
static enum orma_stat read_line(struct orma_str line, struct call *ret)
{
	*ret = (struct call){0};
	line = orma_text_trim(line);
	/* Signals and exits. */
	if (line.size == 0 || line.data[0] == '-' || line.data[0] == '+')
		return ORMA_STAT_strace_parse_failure;
	enum orma_stat problem = read_head(&line, ret);
	if (problem != ORMA_STATS)
		return problem;
	return read_call(line, ret) ? ORMA_STATS : ORMA_STAT_strace_parse_failure;
}

static bool detect(int fd, struct orma_str beginning)
{
	struct call call;
	(void)fd;
	return read_line(orma_text_cut(&beginning, '\n'), &call) == ORMA_STATS;
}

static int write_event(struct orma_packet_output *output, const struct call *call, char phase)
{
	struct orma_output_event event = {
		.sequence = SEQUENCE,
		.ns = call->ns,
		.phase = phase,
		.dur_ns = call->dur_ns,
		.tid = (uint32_t)call->tid,
		.style = ORMA_EVENT_STYLE_PLAIN,
		.category = ORMA_STR("strace"),
		.name = call->name,
	};
	orma_output_event(output, &event);
	if (call->args.size > 0)
		orma_output_arg_text(output, ORMA_STR("args"), call->args);
	if (call->result.size > 0)
		orma_output_arg_text(output, ORMA_STR("ret"), call->result);
	return orma_packet_output_end(output);
}

static int write_call(struct orma_packet_output *output, const struct call *call)
{
	switch (call->kind) {
	case COMPLETE:
		return write_event(output, call, 'X');
	case UNFINISHED:
		return write_event(output, call, 'B');
	case RESUMED:
		return write_event(output, call, 'E');
	case RESUMED_UNFINISHED:
		break;
	}
	int r = write_event(output, call, 'E');
	return r < 0 ? r : write_event(output, call, 'B');
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct orma_text_lines lines = {.input = conversion->input};
	struct orma_str line;
	struct call call;
	int r;
	(void)reterr;
	conversion->output->clock = ORMA_CLOCK_REALTIME;
	conversion->output->lacks_idle_task = true;
	while ((r = orma_text_lines_next(&lines, &line)) > 0) {
		if (line.size == 0)
			continue;
		enum orma_stat problem = read_line(line, &call);
		if (problem == ORMA_STATS && !call.has_tid)
			problem = ORMA_STAT_strace_missing_pid;
		if (problem != ORMA_STATS)
			orma_packet_output_count(conversion->output, problem);
		else if ((r = write_call(conversion->output, &call)) < 0)
			break;
	}
	orma_text_lines_done(&lines);
	return r;
}

const struct orma_format orma_format_strace = {"strace", false, false, detect, convert};
