/* SPDX-License-Identifier: Apache-2.0
 * heap_send.c - the packets of a session besides samples and frees: the process, its heaps, and what was lost.
 */
#include "heap/heap_send.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "heap/heap_list.h"
#include "heap/heap_packet.h"
#include "heap/tracker.h"
#include "proto/writer.h"
#include "schema/gen/orma_heap_record.pb.h"

#define COMMAND_ARGS_MAX 64u
/* More than the size of a packet with the counts of losses. */
#define LOST_BYTES 256u

size_t orma_heap_read_command(char ret[ORMA_HEAP_COMMAND_BYTES])
{
	int fd = orma_base_fd_avoid_standard(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
	ssize_t size = fd < 0 ? 0 : read(fd, ret, ORMA_HEAP_COMMAND_BYTES - 1);

	orma_base_fd_close(fd);
	size = ORMA_MAX(size, (ssize_t)0);
	ret[size] = '\0';
	return (size_t)size;
}

static void put_command(struct orma_proto_writer *writer)
{
	char text[ORMA_HEAP_COMMAND_BYTES];
	size_t size = orma_heap_read_command(text), at = 0;

	for (size_t i = 0; at < size && i < COMMAND_ARGS_MAX; i++) {
		size_t length = strlen(text + at);

		orma_proto_write_bytes(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_CMDLINE, text + at,
				       length);
		at += length + 1;
	}
}

void orma_heap_send_process(uint32_t instance, bool is_starting, bool is_forked)
{
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};
	struct orma_proto_writer *writer = &heap.writer;

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_write_int(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_PID, getpid());
	orma_proto_write_int(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_PARENT_PID, getppid());
	orma_proto_write_bool(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_IS_FROM_STARTUP,
			      is_starting);
	orma_proto_write_bool(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_IS_FORKED, is_forked);
	put_command(writer);
	orma_proto_write_varint(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_START_TIMESTAMP_NS,
				orma_heap_now_ns());
	orma_proto_write_varint(writer, ORMA_PB_ORMA_HEAP_RECORD_PROCESS_PROGRAM_START_NS,
				orma_heap_tracker.program_start_ns);
	(void)orma_heap_send_message(orma_heap_tracker_source(), instance,
				     ORMA_PB_ORMA_HEAP_RECORD_PROCESS, &heap, &buf);
}

void orma_heap_send_heap(uint32_t instance, uint32_t heap_id, uint64_t original_interval)
{
	struct orma_heap_info *info = &orma_heap_infos[heap_id];
	uint8_t message[ORMA_HEAP_NAME_BYTES + 6 * ORMA_PROTO_SCALAR_FIELD_MAX];
	struct orma_proto_writer writer;

	/* The message fits into the buffer, so the writer needs no function that gives it more room. */
	orma_proto_writer_init(&writer, message, message + sizeof(message), NULL);
	orma_proto_write_varint(&writer, ORMA_PB_ORMA_HEAP_RECORD_HEAP_HEAP_ID, heap_id);
	orma_proto_write_string(&writer, ORMA_PB_ORMA_HEAP_RECORD_HEAP_NAME, info->name);
	orma_proto_write_varint(
		&writer, ORMA_PB_ORMA_HEAP_RECORD_HEAP_INTERVAL_BYTES,
		atomic_load_explicit(&info->instance_interval[instance], memory_order_relaxed));
	orma_proto_write_varint(&writer, ORMA_PB_ORMA_HEAP_RECORD_HEAP_ORIGINAL_INTERVAL_BYTES,
				original_interval);
	orma_proto_write_varint(&writer, ORMA_PB_ORMA_HEAP_RECORD_HEAP_TIMESTAMP_NS,
				orma_heap_now_ns());
	orma_heap_write_message(orma_heap_tracker_source(), instance, ORMA_PB_ORMA_HEAP_RECORD_HEAP,
				message, (size_t)orma_proto_writer_written(&writer));
}

bool orma_heap_send_losses(uint32_t instance, uint64_t *reported)
{
	struct orma_heap_tracker *tracker = &orma_heap_tracker;
	struct orma_heap_instance_counts *counts = &tracker->counts[instance];
	const struct {
		uint32_t id;
		_Atomic uint64_t *count;
	} fields[] = {
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_SAMPLES, &counts->lost_samples},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_SAMPLES_BEYOND_LIVE_SET,
		 &tracker->samples_beyond_live_set},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_FREES, &counts->lost_frees},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_NESTED_CALLS, &tracker->nested_calls},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_FAILED_STACKS, &tracker->failed_stacks},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_SAMPLES_WRITTEN, &counts->samples},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_FREES_WRITTEN, &counts->frees},
		{ORMA_PB_ORMA_HEAP_RECORD_LOST_UNSEEN_BYTES, &tracker->unseen_bytes},
	};
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};
	uint64_t sum = 0;

	orma_proto_heap_writer_init(&heap, &buf);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t count = atomic_load_explicit(fields[i].count, memory_order_relaxed);

		sum += count;
		orma_proto_write_varint(&heap.writer, fields[i].id, count);
	}
	if (sum == *reported &&
	    orma_heap_has_room(orma_heap_tracker_source(), instance, LOST_BYTES)) {
		orma_proto_heap_writer_finish(&heap);
		orma_base_buf_done(&buf);
		return true;
	}
	if (!orma_heap_send_message(orma_heap_tracker_source(), instance,
				    ORMA_PB_ORMA_HEAP_RECORD_LOST, &heap, &buf))
		return false;
	*reported = sum;
	return true;
}
