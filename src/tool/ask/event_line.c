/* SPDX-License-Identifier: Apache-2.0
 * event_line.c - columns of text for people, or members for programs.
 *
 * Millions of lines are written, so numbers that each line has are written without printf().
 */
#include "tool/ask/event_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "sql/text_match.h"
#include "tool/ask/fact_table.h"
#include "tool/ask/units.h"
#include "tool/print.h"

#define NS_PER_S INT64_C(1000000000)

enum { TASK_WIDTH = 28, DURATION_WIDTH = 9, TIME_WIDTH = 14 };

void orma_event_lines_done(struct orma_event_lines *lines)
{
	orma_base_buf_done(&lines->scratch);
}

static struct orma_str text_of(const struct orma_event_lines *lines, int64_t cell)
{
	return orma_tables_text(lines->tables, cell);
}

static int64_t cell_of(const struct orma_event_lines *lines, enum orma_table_id table,
		       size_t column, int64_t row)
{
	return row < 0 ? ORMA_CELL_NULL
		       : orma_store_column_get(&lines->tables->all[table].columns[column],
					       (uint64_t)row);
}

/* --- choosing --------------------------------------------------------------------------------- */

static bool fits(const struct orma_filter_list *list, struct orma_str text, int64_t id)
{
	char number[24];
	if (list->count == 0)
		return true;
	snprintf(number, sizeof(number), "%" PRId64, id);
	for (size_t i = 0; i < list->count; i++) {
		const char *pattern = list->patterns[i];
		if ((id >= 0 && strcmp(pattern, number) == 0) ||
		    (text.data && orma_sql_glob(orma_base_str(pattern), text)))
			return true;
	}
	return false;
}

bool orma_event_is_chosen(const struct orma_event_lines *lines, const struct orma_event_row *event)
{
	const struct orma_event_filter *filter = &lines->options->filter;
	if (filter->kinds && !(filter->kinds >> event->kind & 1))
		return false;
	if (filter->least_ns > 0 && event->dur < filter->least_ns)
		return false;
	if (!fits(&filter->names, text_of(lines, event->name), -1) ||
	    !fits(&filter->categories, text_of(lines, event->category), -1))
		return false;
	if (filter->threads.count > 0 &&
	    (event->utid < 0 ||
	     !fits(&filter->threads,
		   text_of(lines, cell_of(lines, ORMA_TABLE_THREAD, ORMA_THREAD_NAME, event->utid)),
		   cell_of(lines, ORMA_TABLE_THREAD, ORMA_THREAD_TID, event->utid))))
		return false;
	return filter->processes.count == 0 ||
	       (event->upid >= 0 &&
		fits(&filter->processes,
		     text_of(lines,
			     cell_of(lines, ORMA_TABLE_PROCESS, ORMA_PROCESS_NAME, event->upid)),
		     cell_of(lines, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, event->upid)));
}

/* --- text ------------------------------------------------------------------------------------- */

static char *put_digits(char *end, uint64_t number, unsigned digits)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
		digits -= digits > 0;
	} while (number > 0 || digits > 0);
	return end;
}

/* "   1.004700000" */
static int append_seconds(struct orma_buf *out, int64_t ns, char sign)
{
	char text[40], *end = text + sizeof(text), *at;
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	at = put_digits(end, size % NS_PER_S, 9);
	*--at = '.';
	at = put_digits(at, size / NS_PER_S, 1);
	if (ns < 0 || sign)
		*--at = (char)(ns < 0 ? '-' : sign);
	while (end - at < TIME_WIDTH)
		*--at = ' ';
	return orma_base_buf_append(out, at, (size_t)(end - at));
}

static bool find_wall_time(struct orma_event_lines *lines, int64_t ns, int64_t *ret)
{
	return orma_trace_clocks_convert(lines->clocks, lines->clocks->trace_time, ns,
					 ORMA_CLOCK_REALTIME, ORMA_CLOCK_ALL_SNAPSHOTS,
					 &lines->clock_cache, ret) == ORMA_CLOCK_CONVERTED;
}

/* "2023-11-14 22:13:20.004700000", which is UTC; the time of the trace when that is not known */
static int append_date(struct orma_event_lines *lines, struct orma_buf *out, int64_t ns)
{
	int64_t unix_ns, rest;
	char digits[10];
	if (!find_wall_time(lines, ns, &unix_ns))
		return append_seconds(out, ns, 0);
	rest = unix_ns % NS_PER_S;
	rest += rest < 0 ? NS_PER_S : 0;
	time_t second = (time_t)((unix_ns - rest) / NS_PER_S);
	if (lines->date[0] == 0 || second != lines->second) {
		struct tm parts;
		lines->second = second;
		if (!gmtime_r(&second, &parts) ||
		    strftime(lines->date, sizeof(lines->date), "%Y-%m-%d %H:%M:%S", &parts) == 0)
			return append_seconds(out, ns, 0);
	}
	digits[0] = '.';
	put_digits(digits + sizeof(digits), (uint64_t)rest, 9);
	int r = orma_base_buf_append_str(out, lines->date);
	return r ? r : orma_base_buf_append(out, digits, sizeof(digits));
}

static int append_time(struct orma_event_lines *lines, const struct orma_event_row *event,
		       struct orma_buf *out)
{
	int64_t last_ns = lines->has_last ? lines->last_ns : event->ts;
	lines->last_ns = event->ts;
	lines->has_last = true;
	switch (lines->options->time) {
	case ORMA_TIME_DELTA:
		return append_seconds(out, event->ts - last_ns, '+');
	case ORMA_TIME_WALL:
		return append_date(lines, out, event->ts);
	case ORMA_TIME_TRACE:
		return orma_base_buf_printf(out, "%16" PRId64, event->ts);
	default:
		return append_seconds(out, event->ts - lines->start_ns, 0);
	}
}

static int append_spaces(struct orma_buf *out, size_t count)
{
	static const char spaces[] = "                                        ";
	return orma_base_buf_append(out, spaces, ORMA_MIN(count, sizeof(spaces) - 1));
}

static int append_duration(struct orma_buf *out, const struct orma_event_row *event,
			   const char *word)
{
	char text[ORMA_UNIT_BYTES] = "";
	bool has_length = event->kind == ORMA_KIND_SLICE || event->kind == ORMA_KIND_STATE;
	if (word || (has_length && event->dur < 0))
		snprintf(text, sizeof(text), "%s", word ? word : "open");
	else if (has_length)
		orma_units_duration(event->dur, text);
	size_t size = strlen(text);
	int r = append_spaces(out, 2 + DURATION_WIDTH - ORMA_MIN(size, (size_t)DURATION_WIDTH));
	return r ? r : orma_base_buf_append(out, text, size);
}

/* "worker 10/11 [000]", the name of the thread or process with their ids and the CPU of a kernel event */
static int append_task(struct orma_event_lines *lines, const struct orma_event_row *event,
		       struct orma_buf *out)
{
	struct orma_buf *task = &lines->scratch;
	int64_t pid = cell_of(lines, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, event->upid);
	int64_t tid = cell_of(lines, ORMA_TABLE_THREAD, ORMA_THREAD_TID, event->utid);
	struct orma_str name = text_of(
		lines,
		event->utid >= 0
			? cell_of(lines, ORMA_TABLE_THREAD, ORMA_THREAD_NAME, event->utid)
			: cell_of(lines, ORMA_TABLE_PROCESS, ORMA_PROCESS_NAME, event->upid));
	char ids[80], *end = ids + sizeof(ids), *at = end;
	if (event->cpu >= 0) {
		*--at = ']';
		at = put_digits(at, (uint64_t)event->cpu, 3);
		*--at = '[';
		*--at = ' ';
	}
	if (tid >= 0)
		at = put_digits(at, (uint64_t)tid, 1);
	if (tid >= 0 && pid >= 0)
		*--at = '/';
	if (pid >= 0)
		at = put_digits(at, (uint64_t)pid, 1);
	task->size = 0;
	name.size = ORMA_MIN(name.size, (size_t)64);
	int r = orma_tool_append_visible(task, name);
	if (r == 0 && task->size > 0 && at < end)
		r = orma_base_buf_append(task, " ", 1);
	if (r == 0)
		r = orma_base_buf_append(task, at, (size_t)(end - at));
	if (r == 0)
		r = orma_base_buf_append(out, "  ", 2);
	if (r == 0)
		r = orma_base_buf_append(out, task->data, task->size);
	return r ? r
		 : append_spaces(out, TASK_WIDTH - ORMA_MIN(task->size, (size_t)TASK_WIDTH) + 2);
}

/* "category:name", "queue = 7", "phase: loading" */
static int append_what(struct orma_event_lines *lines, const struct orma_event_row *event,
		       const char *word, struct orma_buf *out)
{
	struct orma_str name = text_of(lines, event->name),
			category = text_of(lines, event->category);
	char number[ORMA_UNIT_BYTES];
	int r = 0;
	if (category.size > 0) {
		r = orma_tool_append_visible(out, category);
		r = r ? r : orma_base_buf_append(out, ":", 1);
	}
	if (r == 0)
		r = orma_tool_append_visible(out, name.size > 0 ? name : ORMA_STR("[no name]"));
	if (r < 0)
		return r;
	if (event->kind == ORMA_KIND_COUNTER) {
		struct orma_str unit = text_of(lines, event->unit);
		snprintf(number, sizeof(number), " = %.15g%s", event->value,
			 unit.size > 0 ? " " : "");
		r = orma_base_buf_append_str(out, number);
		return r ? r : orma_tool_append_visible(out, unit);
	}
	/* A line about an end tells how long ago the begin was. */
	if (event->kind == ORMA_KIND_SLICE && word && event->dur >= 0) {
		orma_units_duration(event->dur, number);
		r = orma_base_buf_append_str(out, " after ");
		return r ? r : orma_base_buf_append_str(out, number);
	}
	if (event->kind != ORMA_KIND_STATE && event->kind != ORMA_KIND_LOG)
		return 0;
	r = orma_base_buf_append(out, ": ", 2);
	return r ? r : orma_tool_append_visible(out, text_of(lines, event->text));
}

static int append_text(struct orma_event_lines *lines, const struct orma_event_row *event,
		       struct orma_str args, const char *word, struct orma_buf *out)
{
	int r = append_time(lines, event, out);
	if (r == 0)
		r = append_duration(out, event, word);
	if (r == 0)
		r = append_task(lines, event, out);
	if (r == 0)
		r = append_what(lines, event, word, out);
	if (r == 0 && args.size > 0) {
		r = orma_base_buf_append(out, "  ", 2);
		r = r ? r : orma_tool_append_visible(out, args);
	}
	return r ? r : orma_base_buf_append(out, "\n", 1);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int append_task_json(struct orma_event_lines *lines, const struct orma_event_row *event,
			    struct orma_buf *out)
{
	struct orma_str thread =
		text_of(lines, cell_of(lines, ORMA_TABLE_THREAD, ORMA_THREAD_NAME, event->utid));
	struct orma_str process =
		text_of(lines, cell_of(lines, ORMA_TABLE_PROCESS, ORMA_PROCESS_NAME, event->upid));
	int64_t tid = cell_of(lines, ORMA_TABLE_THREAD, ORMA_THREAD_TID, event->utid);
	int64_t pid = cell_of(lines, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, event->upid);
	int r = thread.data ? orma_json_append_text(out, "thread", thread) : 0;
	if (r == 0 && tid >= 0)
		r = orma_json_append_number(out, "tid", (uint64_t)tid);
	if (r == 0 && process.data)
		r = orma_json_append_text(out, "process", process);
	if (r == 0 && pid >= 0)
		r = orma_json_append_number(out, "pid", (uint64_t)pid);
	if (r == 0 && event->cpu >= 0)
		r = orma_json_append_number(out, "cpu", (uint64_t)event->cpu);
	return r;
}

static int append_value_json(struct orma_event_lines *lines, const struct orma_event_row *event,
			     struct orma_buf *out)
{
	struct orma_str unit = text_of(lines, event->unit), text = text_of(lines, event->text);
	int r = 0;
	if (event->kind == ORMA_KIND_COUNTER) {
		r = orma_json_append_key(out, "value");
		if (r == 0)
			r = orma_fact_append_json_number(out, event->value);
		if (r == 0 && unit.size > 0)
			r = orma_json_append_text(out, "unit", unit);
	}
	return r == 0 && text.data ? orma_json_append_text(out, "text", text) : r;
}

static int append_json(struct orma_event_lines *lines, const struct orma_event_row *event,
		       struct orma_str args, const char *word, struct orma_buf *out)
{
	static const char *const kinds[] = {"slice", "instant", "counter",
					    "state", "kernel",  "log"};
	struct orma_str name = text_of(lines, event->name),
			category = text_of(lines, event->category);
	int64_t unix_ns;
	int r = orma_base_buf_printf(out, "{\"kind\":\"%s\",\"ts\":%" PRId64, kinds[event->kind],
				     event->ts);
	if (r == 0 && find_wall_time(lines, event->ts, &unix_ns))
		r = orma_base_buf_printf(out, ",\"unix_ns\":%" PRId64, unix_ns);
	if (r == 0 && word)
		r = orma_base_buf_printf(out, ",\"phase\":\"%s\"", word);
	if (r == 0 && event->dur >= 0 && event->kind != ORMA_KIND_INSTANT)
		r = orma_base_buf_printf(out, ",\"dur_ns\":%" PRId64, event->dur);
	if (r == 0 && name.data)
		r = orma_json_append_text(out, "name", name);
	if (r == 0 && category.data)
		r = orma_json_append_text(out, "category", category);
	if (r == 0)
		r = append_task_json(lines, event, out);
	if (r == 0)
		r = append_value_json(lines, event, out);
	if (r == 0 && args.size > 0) {
		r = orma_base_buf_append_str(out, ",\"args\":");
		r = r ? r : orma_base_buf_append(out, args.data, args.size);
	}
	return r ? r : orma_base_buf_append_str(out, "}\n");
}

int orma_event_line_append(struct orma_event_lines *lines, const struct orma_event_row *event,
			   struct orma_str args, const char *word, struct orma_buf *out)
{
	return lines->options->is_json ? append_json(lines, event, args, word, out)
				       : append_text(lines, event, args, word, out);
}
