/* SPDX-License-Identifier: Apache-2.0
 * ftrace_report.h - what could not be set up for a session: for the log, and for FtraceStats in the trace.
 */
#ifndef ORMA_PROBES_FTRACE_REPORT_H
#define ORMA_PROBES_FTRACE_REPORT_H

#include "base/buf.h"
#include "base/str.h"

/* {0} is empty. Without memory a report loses entries; the log has them all. */
struct orma_ftrace_report {
	struct orma_buf unknown_events, failed_events; /* "group/name", each ending in a NUL */
	struct orma_buf exclusive;                     /* why an exclusive feature is refused */
	struct orma_buf problems;                      /* sentences, separated by "; " */
	struct orma_buf failed_cpus;                   /* uint32_t each: named in `problems` */
};

void orma_ftrace_report_done(struct orma_ftrace_report *report);
/* An event that the kernel does not have. `meant` is the "GROUP/NAME" of one that it has, or "". */
void orma_ftrace_report_unknown(struct orma_ftrace_report *report, struct orma_str group,
				struct orma_str name, const char *meant);
/* An event that the kernel has, and that cannot be recorded because of `why`. */
void orma_ftrace_report_failed(struct orma_ftrace_report *report, struct orma_str group,
			       struct orma_str name, const char *why);
void orma_ftrace_report_exclusive(struct orma_ftrace_report *report, const char *why);
/* A field that is refused, or a session that records nothing. */
void orma_ftrace_report_problem(struct orma_ftrace_report *report, const char *format, ...)
	ORMA_PRINTF(2, 3);
/* A CPU whose buffer cannot be read. Does nothing when the CPU is in the report already. */
void orma_ftrace_report_cpu(struct orma_ftrace_report *report, uint32_t cpu, int error);

static inline struct orma_str orma_ftrace_report_text(const struct orma_buf *buf)
{
	return (struct orma_str){(const char *)buf->data, buf->size};
}

#endif
