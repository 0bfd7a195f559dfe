/* SPDX-License-Identifier: Apache-2.0
 * ftrace_losses.h - the events that the kernel's ftrace buffers have lost, per CPU.
 */
#ifndef ORMA_TOOL_FTRACE_LOSSES_H
#define ORMA_TOOL_FTRACE_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "tool/doctor/findings.h"

/* {0} is empty. */
struct orma_ftrace_losses {
	struct orma_map cpus; /* number -> struct cpu */
	uint64_t parse_errors, buffer_pages;
	struct orma_buf refused_events; /* names, each ending in a NUL */
	struct orma_buf problem;        /* the probes report it in FtraceStats */
};

/* Both take the content of a field of TracePacket. 0, -EBADMSG or -ENOMEM. */
int orma_ftrace_losses_add_bundle(struct orma_ftrace_losses *losses, struct orma_str bundle);
int orma_ftrace_losses_add_stats(struct orma_ftrace_losses *losses, struct orma_str stats);
void orma_ftrace_losses_report(const struct orma_ftrace_losses *losses,
			       struct orma_findings *findings);
void orma_ftrace_losses_done(struct orma_ftrace_losses *losses);

#endif
