/* SPDX-License-Identifier: Apache-2.0
 * ftrace_exclusive.c - the features that change ftrace for everybody: tids_to_trace, tracefs_options, tracing_cpumask.
 *
 * Owns nothing. A config with one of them records alone: orma_ftrace_buffer_get() refuses it while others record, and
 * refuses others while it records. Upstream leaves these settings behind when a later step of the set-up fails; here the
 * journal restores them like everything else.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_session.h"
#include "probes/probe_text.h"

static int fail(struct orma_ftrace_report *report, const char *field, const char *what, int error)
{
	orma_ftrace_report_problem(report, "%s: cannot set %s: %s; nothing is recorded", field,
				   what, orma_base_error_words(error));
	return error;
}

static int set_tids(struct orma_ftrace_buffer *buffer, const struct orma_pb_ftrace_config *wanted,
		    struct orma_ftrace_report *report)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = 0;

	if (wanted->tids_to_trace.count == 0)
		return 0;
	for (size_t i = 0; i < wanted->tids_to_trace.count && r >= 0; i++)
		r = orma_base_buf_printf(&text, "%s%u", i > 0 ? " " : "",
					 wanted->tids_to_trace.items[i]);
	if (r >= 0)
		r = orma_tracefs_journal_set(&buffer->journal, "set_event_pid",
					     (struct orma_str){(const char *)text.data, text.size});
	return r < 0 ? fail(report, "tids_to_trace", "set_event_pid", r) : 0;
}

static int set_options(struct orma_ftrace_buffer *buffer,
		       const struct orma_pb_ftrace_config *wanted,
		       struct orma_ftrace_report *report)
{
	for (size_t i = 0; i < wanted->tracefs_options.count; i++) {
		const struct orma_pb_ftrace_config_tracefs_option *option =
			wanted->tracefs_options.items[i];
		char file[ORMA_TRACEFS_FILE_BYTES];
		bool is_on =
			option->state == ORMA_PB_FTRACE_CONFIG_TRACEFS_OPTION_STATE_STATE_ENABLED;

		if (option->state == ORMA_PB_FTRACE_CONFIG_TRACEFS_OPTION_STATE_STATE_UNKNOWN)
			continue;
		int r = orma_tracefs_is_name(option->name) ? 0 : -EINVAL;
		snprintf(file, sizeof(file), "options/%.*s",
			 (int)ORMA_MIN(option->name.size, (size_t)ORMA_TRACEFS_NAME_BYTES),
			 option->name.data);
		if (r == 0)
			r = orma_tracefs_journal_set(&buffer->journal, file,
						     is_on ? ORMA_STR("1") : ORMA_STR("0"));
		if (r < 0)
			return fail(report, "tracefs_options", file, r);
	}
	return 0;
}

static bool is_mask(struct orma_str text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!strchr("0123456789abcdefABCDEF,", text.data[i]) || text.data[i] == '\0')
			return false;
	return true;
}

static int set_cpumask(struct orma_ftrace_buffer *buffer,
		       const struct orma_pb_ftrace_config *wanted,
		       struct orma_ftrace_report *report)
{
	struct orma_str mask = wanted->tracing_cpumask;

	if (mask.size == 0)
		return 0;
	int r = is_mask(mask) ? orma_tracefs_journal_set(&buffer->journal, "tracing_cpumask", mask)
			      : -EINVAL;
	return r < 0 ? fail(report, "tracing_cpumask", "tracing_cpumask", r) : 0;
}

int orma_ftrace_exclusive_apply(struct orma_ftrace_buffer *buffer,
				const struct orma_pb_ftrace_config *wanted,
				struct orma_ftrace_report *report)
{
	int r = set_tids(buffer, wanted, report);

	if (r == 0)
		r = set_options(buffer, wanted, report);
	if (r == 0)
		r = set_cpumask(buffer, wanted, report);
	if (r == 0)
		buffer->is_exclusive = true;
	return r;
}
