/* SPDX-License-Identifier: Apache-2.0
 * heap_record.h - the packets of orma.heap, as liborma-heap writes them in a process that may lie.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_RECORD_H
#define ORMA_PROBES_HEAP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum orma_heap_record_kind {
	ORMA_HEAP_RECORD_NONE, /* a packet of the service, or an empty one */
	ORMA_HEAP_RECORD_PROCESS,
	ORMA_HEAP_RECORD_HEAP,
	ORMA_HEAP_RECORD_MAPS,
	ORMA_HEAP_RECORD_SAMPLE,
	ORMA_HEAP_RECORD_FREE,
	ORMA_HEAP_RECORD_LOST,
	ORMA_HEAP_RECORD_BYE,
};

struct orma_heap_record_process {
	struct orma_str message;  /* the whole, for orma_heap_record_next_argument() */
	uint64_t pid, parent_pid; /* as the process sees them */
	bool is_from_startup;
	uint64_t start_timestamp_ns;
	uint64_t program_start_ns; /* names the program of the process */
};

struct orma_heap_record_heap {
	uint32_t id;
	struct orma_str name;
	uint64_t interval_bytes, original_interval_bytes;
};

struct orma_heap_record_maps {
	uint32_t generation, part;
	bool is_last_part;
	struct orma_str text;
};

struct orma_heap_record_sample {
	uint64_t serial, size, interval_bytes, timestamp_ns, address;
	uint32_t heap_id, maps_generation;
	bool has_points; /* else the block counts as it is */
	bool is_cut, is_without_stack;
	struct orma_str pcs;       /* 8 bytes each */
	struct orma_str registers; /* 8 bytes each: pc, sp, fp, lr */
	struct orma_str stack;
};

struct orma_heap_record_free {
	struct orma_str serials; /* varints */
	uint64_t timestamp_ns;
};

struct orma_heap_record_lost {
	uint64_t samples, samples_beyond_live_set, frees, nested_calls, failed_stacks;
	uint64_t samples_written, frees_written, unseen_bytes;
};

/* Texts and bytes point into the packet. */
struct orma_heap_record {
	int32_t pid;        /* that the service vouches for; 0 = none */
	int32_t uid;        /* likewise; -1 = none */
	uint32_t writer;    /* sequence */
	bool is_after_loss; /* packets of the sequence before this one were lost */
	enum orma_heap_record_kind kind;
	union {
		struct orma_heap_record_process process;
		struct orma_heap_record_heap heap;
		struct orma_heap_record_maps maps;
		struct orma_heap_record_sample sample;
		struct orma_heap_record_free free;
		struct orma_heap_record_lost lost;
	};
};

/* Reads a TracePacket of the private service. 0 or -EBADMSG. */
int orma_heap_record_parse(struct orma_str packet_untrusted, struct orma_heap_record *ret);
/* Finds the next argument of the command line. Begin with *offset = 0. False if there is none. */
bool orma_heap_record_next_argument(struct orma_str process, size_t *offset, struct orma_str *ret);

#endif
