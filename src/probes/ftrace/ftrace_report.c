/* SPDX-License-Identifier: Apache-2.0
 * ftrace_report.c - collects what could not be set up.
 *
 * A producer cannot refuse a data source: the protocol has no message for that. So each problem goes to two places. The
 * log of the probes gets it at once. The trace gets it with FtraceStats, whose fields upstream's tools show: events by
 * name, the conflict of an exclusive feature, and any other text in atrace_errors, the only free text there.
 */
#include "probes/ftrace/ftrace_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error_message.h"
#include "base/log_message.h"

#define TEXT_BYTES 600

void orma_ftrace_report_done(struct orma_ftrace_report *report)
{
	orma_base_buf_done(&report->unknown_events);
	orma_base_buf_done(&report->failed_events);
	orma_base_buf_done(&report->exclusive);
	orma_base_buf_done(&report->problems);
	orma_base_buf_done(&report->failed_cpus);
}

static void add_name(struct orma_buf *buf, struct orma_str group, struct orma_str name)
{
	if (orma_base_buf_printf(buf, "%.*s%s%.*s", (int)group.size, group.data,
				 group.size > 0 ? "/" : "", (int)name.size, name.data) >= 0)
		(void)orma_base_buf_append(buf, "", 1);
}

void orma_ftrace_report_unknown(struct orma_ftrace_report *report, struct orma_str group,
				struct orma_str name, const char *meant)
{
	orma_base_log(ORMA_LOG_WARNING, "linux.ftrace: this kernel has no event %.*s%s%.*s%s%s%s",
		      (int)group.size, group.data, group.size > 0 ? "/" : "", (int)name.size,
		      name.data, meant[0] ? "; did you mean " : "", meant, meant[0] ? "?" : "");
	add_name(&report->unknown_events, group, name);
}

void orma_ftrace_report_failed(struct orma_ftrace_report *report, struct orma_str group,
			       struct orma_str name, const char *why)
{
	orma_base_log(ORMA_LOG_WARNING, "linux.ftrace: cannot record %.*s%s%.*s: %s",
		      (int)group.size, group.data, group.size > 0 ? "/" : "", (int)name.size,
		      name.data, why);
	add_name(&report->failed_events, group, name);
}

void orma_ftrace_report_exclusive(struct orma_ftrace_report *report, const char *why)
{
	orma_base_log(ORMA_LOG_ERROR, "linux.ftrace: %s", why);
	report->exclusive.size = 0;
	(void)orma_base_buf_append_str(&report->exclusive, why);
}

void orma_ftrace_report_problem(struct orma_ftrace_report *report, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	orma_base_log(ORMA_LOG_ERROR, "linux.ftrace: %s", text);
	(void)orma_base_buf_printf(&report->problems, "%s%s", report->problems.size > 0 ? "; " : "",
				   text);
}

void orma_ftrace_report_cpu(struct orma_ftrace_report *report, uint32_t cpu, int error)
{
	for (size_t at = 0; at < report->failed_cpus.size; at += sizeof(cpu))
		if (memcmp(report->failed_cpus.data + at, &cpu, sizeof(cpu)) == 0)
			return;
	if (orma_base_buf_append(&report->failed_cpus, &cpu, sizeof(cpu)) == 0)
		orma_ftrace_report_problem(
			report,
			"cannot read the buffer of CPU %u: %s; events of this CPU are missing", cpu,
			orma_base_error_words(error));
}
