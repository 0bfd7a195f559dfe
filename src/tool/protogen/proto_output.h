/* SPDX-License-Identifier: Apache-2.0
 * proto_output.h - C text that is generated from .proto files: printing it, and making names.
 *
 * The first failure is kept and everything after it is ignored, so that a generator prints without
 * checking and looks at `failure` once, at the end.
 */
#ifndef ORMA_TOOL_PROTO_OUTPUT_H
#define ORMA_TOOL_PROTO_OUTPUT_H

#include "base/arena.h"
#include "base/buf.h"

struct orma_tool_proto_output {
	struct orma_arena *arena; /* holds the names */
	struct orma_buf *text;    /* generated so far */
	int failure;              /* 0, or the first negative errno value */
};

/* Appends to the text. */
void orma_tool_proto_put(struct orma_tool_proto_output *output, const char *format, ...)
	ORMA_PRINTF(2, 3);
/* Records a failure, unless there was one before or `r` is not negative. */
void orma_tool_proto_note_failure(struct orma_tool_proto_output *output, int r);

/* The functions below return text in the arena; when there is no memory, they return "" and record
 * the failure. */

const char *orma_tool_proto_format(struct orma_tool_proto_output *output, const char *format, ...)
	ORMA_PRINTF(2, 3);
/* "MyApp.FrameInfo" -> "my_app_frame_info", "IPCFrame" -> "ipc_frame", "snake_case" -> itself */
const char *orma_tool_proto_snake_case(struct orma_tool_proto_output *output, const char *name);
const char *orma_tool_proto_upper_case(struct orma_tool_proto_output *output, const char *name);

#endif
