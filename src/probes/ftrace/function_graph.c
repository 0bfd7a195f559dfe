/* SPDX-License-Identifier: Apache-2.0
 * function_graph.c - enable_function_graph: the kernel's tracer of function calls.
 *
 * Owns nothing. The tracer cannot be changed while pages are read, so it is set before the readers open, stays for every
 * session until the buffer is given up, and a session that wants it cannot join others that record without it. Filters of
 * sessions add up, none means every function, and the largest depth counts. Each session gets the calls of all.
 *
 * Filters are words of a language: "function:command" would make the kernel act when the function is called. Such a filter
 * is refused, and so is "!", which removes somebody's filter. The kernel judges a word when the space after it arrives: an
 * error of the last word, which nothing follows, would be lost. If filters are wanted and none selects a function, the
 * tracer would record every function of the kernel, so the session fails.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe_text.h"

static int fail(struct orma_ftrace_report *report, const char *file, int error)
{
	orma_ftrace_report_problem(report,
				   "enable_function_graph: cannot set %s: %s; nothing is "
				   "recorded",
				   file, orma_base_error_words(error));
	return error;
}

static bool is_filter(struct orma_str text)
{
	if (text.size == 0 || text.size >= ORMA_TRACEFS_FILE_BYTES || text.data[0] == '!')
		return false;
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~' || text.data[i] == ':')
			return false;
	return true;
}

static int add_filter(struct orma_ftrace_buffer *buffer, const char *file, struct orma_str filter)
{
	char line[ORMA_TRACEFS_FILE_BYTES + 1];

	if (!is_filter(filter))
		return -EINVAL;
	snprintf(line, sizeof(line), "%.*s\n", (int)filter.size, filter.data);
	return orma_tracefs_append(&buffer->fs, file, orma_base_str(line));
}

/* Clears the list when the tracer begins, or for a session without filters, and adds the session's filters. */
static int add_filters(struct orma_ftrace_buffer *buffer, const char *file, const char *field,
		       const struct orma_str *filters, size_t count, bool *has_all,
		       struct orma_ftrace_report *report)
{
	size_t accepted = 0;
	int r = 0;

	/* The first filter would take all other functions away from that session. */
	if (buffer->has_function_graph && *has_all)
		return 0;
	if (!buffer->has_function_graph || count == 0)
		r = orma_tracefs_journal_set(&buffer->journal, file, ORMA_STR(""));
	*has_all = count == 0;
	/* Roots are a file of the root folder only. */
	if (r == -ENOENT && count == 0)
		return 0;
	if (r < 0)
		return fail(report, file, r);
	for (size_t i = 0; i < count; i++) {
		r = add_filter(buffer, file, filters[i]);
		if (r == -ENOMEM)
			return r;
		if (r == 0)
			accepted++;
		else
			orma_ftrace_report_problem(report, "%s: \"%.*s\" selects no function: %s",
						   field,
						   (int)ORMA_MIN(filters[i].size, (size_t)64),
						   filters[i].data, orma_base_error_words(r));
	}
	return accepted == 0 && count > 0 ? fail(report, file, -EINVAL) : 0;
}

static int set_depth(struct orma_ftrace_buffer *buffer, uint32_t depth,
		     struct orma_ftrace_report *report)
{
	char text[16];

	if (buffer->has_function_graph &&
	    (buffer->graph_depth == 0 || (depth > 0 && depth <= buffer->graph_depth)))
		return 0;
	buffer->graph_depth = depth;
	snprintf(text, sizeof(text), "%u", depth);
	int r = orma_tracefs_journal_set(&buffer->journal, "max_graph_depth", orma_base_str(text));
	return r < 0 && (depth > 0 || r != -ENOENT) ? fail(report, "max_graph_depth", r) : 0;
}

int orma_ftrace_function_graph_apply(struct orma_ftrace_buffer *buffer,
				     const struct orma_pb_ftrace_config *wanted,
				     struct orma_ftrace_report *report)
{
	if (!buffer->has_function_graph && buffer->started_count > 0) {
		orma_ftrace_report_problem(report,
					   "enable_function_graph: another session records without "
					   "it, and the kernel cannot change its tracer meanwhile; "
					   "nothing is recorded");
		return -EBUSY;
	}
	int r = add_filters(buffer, "set_ftrace_filter", "function_filters",
			    wanted->function_filters.items, wanted->function_filters.count,
			    &buffer->graphs_all_functions, report);
	if (r == 0)
		r = add_filters(buffer, "set_graph_function", "function_graph_roots",
				wanted->function_graph_roots.items,
				wanted->function_graph_roots.count, &buffer->graphs_all_roots,
				report);
	if (r == 0)
		r = set_depth(buffer, wanted->function_graph_max_depth, report);
	if (r < 0 || buffer->has_function_graph)
		return r;
	r = orma_tracefs_journal_set(&buffer->journal, "current_tracer",
				     ORMA_STR("function_graph"));
	if (r < 0)
		return fail(report, "current_tracer", r);
	buffer->has_function_graph = true;
	return 0;
}
