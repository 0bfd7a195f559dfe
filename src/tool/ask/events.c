/* SPDX-License-Identifier: Apache-2.0
 * events.c - prints the events of a trace that was loaded. A line is written as soon as it is made, so memory has the tables
 * and some kilobytes of text; arguments, which are read from the trace, are forgotten again.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "tool/ask/arg_text.h"
#include "tool/ask/event_line.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

enum { WAITING_BYTES = 64 << 10 };

static int64_t resolve(const struct orma_time_limit *limit,
		       const struct orma_trace_database *database, int64_t otherwise)
{
	int64_t ns = (int64_t)ORMA_MIN(limit->ns, (uint64_t)INT64_MAX), ret;
	switch (limit->base) {
	case ORMA_TIME_ABSOLUTE:
		return ns;
	case ORMA_TIME_AFTER_BEGIN:
		return __builtin_add_overflow(database->start_ns, ns, &ret) ? INT64_MAX : ret;
	case ORMA_TIME_BEFORE_END:
		return __builtin_sub_overflow(database->end_ns, ns, &ret) ? INT64_MIN : ret;
	default:
		return otherwise;
	}
}

static int flush(struct orma_buf *out)
{
	int r = orma_tool_write_raw(stdout, out->data, out->size);
	out->size = 0;
	return r;
}

static int print_event(struct orma_trace_database *database, struct orma_event_lines *lines,
		       const struct orma_event_row *event, struct orma_buf *args,
		       struct orma_buf *out)
{
	int r = 0;
	args->size = 0;
	if (event->arg_set != ORMA_CELL_NULL && !lines->options->has_no_args)
		r = lines->options->is_json
			    ? orma_arg_set_append_json(database, event->arg_set, args)
			    : orma_arg_set_append_text(database, event->arg_set, args);
	if (r == 0)
		r = orma_event_line_append(lines, event,
					   (struct orma_str){(const char *)args->data, args->size},
					   NULL, out);
	return r == 0 && out->size >= WAITING_BYTES ? flush(out) : r;
}

static int print_events(struct orma_trace_database *database,
			const struct orma_events_options *options)
{
	struct orma_event_lines lines = {.options = options,
					 .tables = &database->tables,
					 .clocks = &database->importer.index.clocks,
					 .start_ns = database->start_ns};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf out = {0};
	struct orma_string_pool passing = {.text = {.fd = -1},
					   .seed = database->tables.strings.seed};
	struct orma_event_walk walk;
	struct orma_event_row event;
	uint64_t printed = 0;
	unsigned kinds = options->filter.kinds ? options->filter.kinds : ~0u;
	int r = kinds & 1u << ORMA_KIND_KERNEL
			? orma_raw_events_finish(&database->importer.system.raw_events)
			: 0;
	if (r < 0)
		return r;
	database->tables.passing = &passing;
	orma_event_walk_begin(&walk, &database->tables,
			      resolve(&options->filter.from, database, INT64_MIN),
			      resolve(&options->filter.to, database, INT64_MAX), kinds);
	while (r == 0 && printed < options->limit && orma_event_walk_next(&walk, &event))
		if (orma_event_is_chosen(&lines, &event)) {
			r = print_event(database, &lines, &event, &args, &out);
			printed++;
			if (orma_tables_forget_passing(&database->tables))
				database->args_set = ORMA_CELL_NULL;
		}
	int last = flush(&out);
	database->tables.passing = NULL;
	orma_store_pool_done(&passing);
	orma_event_lines_done(&lines);
	return r < 0 ? r : last;
}

int orma_events_run(const struct orma_events_options *options, const char *const *paths,
		    size_t count)
{
	struct orma_ask *ask = orma_ask_load_all(paths, count, &options->ask);
	if (!ask)
		return ORMA_EXIT_FAILURE;
	int r = print_events(orma_ask_database(ask), options);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	orma_ask_free(ask);
	/* `orma events x | head` is not a failure. */
	return r < 0 && r != -EPIPE
		       ? orma_tool_fail("%s: %s", orma_trace_input_name(paths[0]), strerror(-r))
		       : ORMA_EXIT_OK;
}
