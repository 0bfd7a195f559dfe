/* SPDX-License-Identifier: Apache-2.0
 * ctf_stream_fuzz.c - any bytes as a stream in the Common Trace Format, with any metadata: packets and events, and the
 * Perfetto packets that are made of them.
 *
 * The first two bytes are the size of the metadata that follows, in little endian; the stream is the rest. The size 0 stands
 * for the metadata below.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error_message.h"
#include "formats/ctf_output.h"
#include "proto/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char usual_metadata[] =
	"typealias integer { size = 8; } := u8; typealias integer { size = 16; } := b16; typealias "
	"integer { size = 16; align = 16; } := "
	"u16;"
	"typealias integer { size = 27; align = 1; map = clock.monotonic.value; } := t27;"
	"typealias integer { size = 8; encoding = UTF8; } := c8;"
	"trace { byte_order = be; };"
	"clock { name = monotonic; freq = 3; offset_s = 5; };"
	"env { domain = \"kernel\"; };"
	"stream { packet.context := struct { u8 packet_seq_num; u8 events_discarded; u8 "
	"content_size; "
	"b16 packet_size; u8 cpu_id; };"
	" event.header := struct { enum : integer { size = 5; } { low = 0 ... 30, extended = 31 } "
	"id;"
	"  variant <id> { struct { t27 timestamp; } low; struct { u16 id; } extended; } v; } "
	"align(8);"
	" event.context := struct { u8 _vpid; u8 _vtid; c8 _procname[4]; }; };"
	"event { name = \"sched_switch\"; id = 1; fields := struct { c8 _prev_comm[4]; u8 "
	"_prev_tid; u8 "
	"_prev_state; c8 _next_comm[4]; u8 _next_tid; }; };"
	"event { name = \"sched_process_fork\"; id = 2; fields := struct { u8 _parent_tid; c8 "
	"_child_comm[2]; u8 _child_tid; u8 _child_pid; }; };"
	"event { name = \"sched_process_exec\"; id = 3; fields := struct { string _filename; u8 "
	"_tid; }; };"
	"event { name = \"lttng_statedump_process_state\"; id = 4; fields := struct { u8 _tid; u8 "
	"_pid; "
	"u8 _ppid; c8 _name[3]; }; };"
	"event { name = \"syscall_entry_read\"; id = 5; fields := struct { u8 _fd; string _x; }; };"
	"event { name = \"syscall_exit_read\"; id = 6; fields := struct { integer { size = 64; "
	"align = 1; "
	"signed = 1; } _ret; }; };"
	"event { name = \"block_rq_issue\"; id = 7; fields := struct { u16 _rwbs; }; };"
	"event { name = \"p:all\"; id = 8; fields := struct { u8 n; struct { u8 m; integer { size "
	"= 3; } "
	"bits[m]; c8 text[n]; enum : u8 { A, B = 3 ... 9 } tag; variant <tag> { string A; "
	"floating_point { exp_dig = 11; mant_dig = 53; } B; } v; } list[n]; "
	"floating_point { exp_dig = 8; mant_dig = 24; align = 1; } f; struct { } none[n]; u16 "
	"last; }; };"
	"event { name = \"lttng_ust_cyg_profile:func_entry\"; id = 9; fields := struct { u8 _addr; "
	"}; };"
	"event { name = \"lttng_ust_tracelog:T\"; id = 10; fields := struct { u8 __msg_length; c8 "
	"_msg[__msg_length]; }; };";

/* Packets have to be messages. */
static int check_packets(void *ctx, const void *data, size_t size)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;
	(void)ctx;
	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		if (field.id != 1 || field.type != ORMA_PROTO_BYTES)
			__builtin_trap();
	if (r < 0)
		__builtin_trap();
	return 0;
}

/* Reads the whole stream as a program's, or as a kernel's. */
static void read_stream(struct orma_ctf_trace *trace, struct orma_ctf_stream_plan *plan, int fd,
			uint64_t size, bool is_kernel)
{
	struct orma_ctf_output output = {.write = check_packets, .clock = 3};
	struct orma_ctf_stream stream = {.trace = trace, .plan = plan, .fd = fd, .file_size = size};
	struct orma_ctf_tracks tracks;
	struct orma_ctf_kernel kernel = {0};
	int64_t tid;
	int r = is_kernel ? orma_ctf_kernel_init(&kernel, &output, trace)
			  : orma_ctf_tracks_init(&tracks, &output, trace);
	if (r == 0 && is_kernel)
		orma_ctf_kernel_begin_cpu(&kernel, 1, -1);
	else if (r == 0)
		orma_ctf_tracks_begin_stream(&tracks, "name");
	while (r == 0 && orma_ctf_stream_next(&stream) > 0) {
		if (is_kernel)
			(void)orma_ctf_kernel_is_switch(&kernel, &stream, &tid);
		r = is_kernel ? orma_ctf_kernel_write(&kernel, &stream)
			      : orma_ctf_tracks_write(&tracks, &stream);
	}
	if (r == 0 && is_kernel)
		r = orma_ctf_kernel_end_cpu(&kernel);
	if (r == 0)
		(void)orma_ctf_output_flush(&output);
	orma_ctf_kernel_done(&kernel);
	orma_ctf_stream_done(&stream);
	orma_ctf_output_done(&output);
}

static void try_trace(struct orma_str metadata, const uint8_t *data, size_t size, bool is_kernel)
{
	struct orma_ctf_trace trace = {0};
	struct orma_ctf_file file = {0};
	struct orma_error error = {0};
	int fd = memfd_create("stream", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		__builtin_trap();
	if (orma_ctf_trace_open(&trace, "metadata", metadata, &error) == 0 &&
	    orma_ctf_file_look(&trace, fd, &file) > 0) {
		read_stream(&trace, file.plan, fd, size, is_kernel);
		fd = -1; /* the stream has closed it */
	}
	if (fd >= 0)
		close(fd);
	orma_ctf_trace_done(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t metadata_size = (size_t)data[0] | (size_t)data[1] << 8;
	if (metadata_size > size - 2)
		return 0;
	struct orma_str metadata = {(const char *)data + 2, metadata_size};
	if (metadata_size == 0)
		metadata = (struct orma_str){usual_metadata, sizeof(usual_metadata) - 1};
	for (int i = 0; i < 2; i++)
		try_trace(metadata, data + 2 + metadata_size, size - 2 - metadata_size, i == 1);
	return 0;
}
