/* SPDX-License-Identifier: Apache-2.0
 * trace_file_fuzz.c - any bytes as a trace file. The file is summed up, each packet is decoded and
 * printed, and the doctor examines it. A packet that decodes must also be printed from its bytes, as text
 * and as JSON. The file is also copied by each of the ways of `orma cat`; a cut packet must still be a
 * packet.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "proto/codec.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/doctor/doctor.h"
#include "tool/trace/packet_cut.h"
#include "tool/trace/packet_print.h"
#include "tool/trace/trace_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_bytes(const void *data, size_t size, bool is_json, int decoded)
{
	struct orma_packet_printer printer = {.is_json = is_json};
	int r = orma_packet_print(&printer, data, size);

	if (decoded == 0 && r < 0 && r != -ENOMEM && r != -EMSGSIZE)
		abort();
	orma_packet_printer_done(&printer);
}

static int print_packet(void *ctx, const void *data, size_t size)
{
	struct orma_arena arena = {.limit_bytes = 64u << 20};
	struct orma_pb_trace_packet *packet;
	struct orma_buf text = {0};
	(void)ctx;
	int r = orma_proto_decode(&orma_pb_trace_packet_desc, data, size, &arena, &packet);
	print_bytes(data, size, false, r);
	print_bytes(data, size, true, r);
	if (r == 0)
		r = orma_proto_text_print(packet, 1, &text);
	orma_base_buf_done(&text);
	orma_base_arena_done(&arena);
	return r;
}

static int cut_packet(void *ctx, const void *data, size_t size)
{
	struct orma_packet_view view;
	struct orma_str stays;
	int r = orma_packet_cut_take(ctx, data, size, &stays);

	if (r > 0 && orma_packet_view_read(stays.data, stays.size, &view) < 0)
		abort();
	if (r > 0 && orma_packet_is_intact(data, size) &&
	    !orma_packet_is_intact(stays.data, stays.size))
		abort();
	return r < 0 ? r : 0;
}

static int note_gap(void *ctx, const struct orma_tool_damage *damage)
{
	if (damage->end <= damage->begin)
		abort();
	orma_packet_cut_note_gap(ctx);
	return 0;
}

/* Cuts the middle out of the trace, and appends the trace to that. */
static void copy(int fd)
{
	struct orma_packet_select select = {.process_count = 2, .processes = {"*", "1"}};
	struct orma_packet_cut cut = {.select = &select};

	select.from = (struct orma_time_limit){ORMA_TIME_AFTER_BEGIN, 1000000};
	select.to = (struct orma_time_limit){ORMA_TIME_BEFORE_END, 1000000};
	for (int i = 0; i < 2; i++) {
		lseek(fd, 0, SEEK_SET);
		orma_packet_cut_begin_trace(&cut);
		if (orma_packet_select_prepare(&select, fd, "fuzz") == 0)
			(void)orma_tool_trace_repair(fd, cut_packet, note_gap, &cut, NULL);
		orma_packet_select_done(&select);
		select = (struct orma_packet_select){.from_ns = 0, .to_ns = UINT64_MAX};
	}
	orma_packet_cut_done(&cut);
	orma_packet_select_done(&select);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_tool_summary summary;
	struct orma_findings findings = {0};
	struct orma_buf json = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (orma_base_fd_write_all(fd, data, size) == 0) {
		lseek(fd, 0, SEEK_SET);
		(void)orma_tool_trace_summarize(fd, &summary, NULL);
		lseek(fd, 0, SEEK_SET);
		(void)orma_tool_trace_read(fd, print_packet, NULL, NULL);
		copy(fd);
		lseek(fd, 0, SEEK_SET);
		orma_doctor_examine_trace(fd, &findings);
		(void)orma_findings_append_json(&findings, "trace", &json);
		orma_findings_done(&findings);
		orma_base_buf_done(&json);
	}
	close(fd);
	return 0;
}
