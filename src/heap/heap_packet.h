/* SPDX-License-Identifier: Apache-2.0
 * heap_packet.h - writes OrmaHeapRecord packets to the calling thread's sequence of an instance.
 *
 * All functions return false if the packet was lost, because shared memory is full or the instance has stopped. They only allocate
 * at a thread's first packet.
 *
 * Threads: any, in a visit (heap/visit.h).
 */
#ifndef ORMA_HEAP_HEAP_PACKET_H
#define ORMA_HEAP_HEAP_PACKET_H

#include <orma/data_source.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/writer.h"
#include "unwind/unwind_walk.h"

struct orma_heap_sample {
	uint64_t serial, size, points, interval_bytes, timestamp_ns, address;
	uint32_t heap, tid, maps_generation;
	bool is_cut;
	/* The frames, innermost first. NULL: the sample has the registers and a copy of the stack, which may be empty. */
	const uint64_t *pcs;
	size_t pc_count;
	struct orma_unwind_registers registers;
	const void *stack;
	size_t stack_size;
};

bool orma_heap_write_sample(struct orma_data_source *source, uint32_t instance,
			    const struct orma_heap_sample *sample);
bool orma_heap_write_free(struct orma_data_source *source, uint32_t instance, uint64_t serial,
			  uint64_t timestamp_ns);
/* True if the thread has room for a packet of `size` bytes, which then cannot be lost. */
bool orma_heap_has_room(struct orma_data_source *source, uint32_t instance, size_t size);
/* Writes an encoded message as the field `id` of OrmaHeapRecord. */
bool orma_heap_write_message(struct orma_data_source *source, uint32_t instance, uint32_t id,
			     const void *message, size_t size);
/* Writes a message that was encoded into `buf`, and frees the buffer. False also without memory. */
bool orma_heap_send_message(struct orma_data_source *source, uint32_t instance, uint32_t id,
			    struct orma_proto_heap_writer *writer, struct orma_buf *buf);

#endif
