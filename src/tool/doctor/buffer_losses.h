/* SPDX-License-Identifier: Apache-2.0
 * buffer_losses.h - what the buffers of a session have lost, and the sizes that would have kept it.
 */
#ifndef ORMA_TOOL_BUFFER_LOSSES_H
#define ORMA_TOOL_BUFFER_LOSSES_H

#include "schema/gen/trace_config.pb.h"
#include "tool/doctor/findings.h"
#include "tool/trace/trace_file.h"

/* `config` may be NULL. `seconds` is the length of the recording. */
void orma_buffer_losses_report(const struct orma_tool_summary *summary,
			       const struct orma_pb_trace_config *config, double seconds,
			       struct orma_findings *findings);

#endif
