/* SPDX-License-Identifier: Apache-2.0
 * trace_file_fuzz.c - any bytes as a trace file. The file is summed up, and each packet is decoded
 * and printed.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "proto/codec.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/trace_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int print_packet(void *ctx, const void *data, size_t size)
{
	struct orma_arena arena = {.limit_bytes = 64u << 20};
	struct orma_pb_trace_packet *packet;
	struct orma_buf text = {0};
	(void)ctx;
	int r = orma_proto_decode(&orma_pb_trace_packet_desc, data, size, &arena, &packet);
	if (r == 0)
		r = orma_proto_text_print(packet, 1, &text);
	orma_base_buf_done(&text);
	orma_base_arena_done(&arena);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_tool_summary summary;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (orma_base_fd_write_all(fd, data, size) == 0) {
		lseek(fd, 0, SEEK_SET);
		(void)orma_tool_trace_summarize(fd, &summary, NULL);
		lseek(fd, 0, SEEK_SET);
		(void)orma_tool_trace_read(fd, print_packet, NULL, NULL);
	}
	close(fd);
	return 0;
}
