/* SPDX-License-Identifier: Apache-2.0
 * text_to_trace.c - writes the Trace message whose text is on standard input to standard output, for cases of tests/cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "schema/gen/trace.pb.h"

enum { TEXT_MAX_BYTES = 64 << 20 };

int main(void)
{
	struct orma_arena arena = {0};
	struct orma_buf text = {0}, bytes = {0};
	struct orma_error error = {0};
	struct orma_pb_trace *trace;
	int r = orma_base_fd_read_all(0, TEXT_MAX_BYTES, &text);
	if (r == 0)
		r = orma_proto_text_parse(&orma_pb_trace_desc, "trace", (const char *)text.data,
					  text.size, 0, &arena, &trace, &error);
	if (r == 0)
		r = orma_proto_encode(trace, &bytes);
	if (r < 0) {
		fprintf(stderr, "text_to_trace: %s\n", error.message);
		return 1;
	}
	r = orma_base_fd_write_all(1, bytes.data, bytes.size);
	orma_base_buf_done(&text);
	orma_base_buf_done(&bytes);
	orma_base_arena_done(&arena);
	return r < 0;
}
