/* SPDX-License-Identifier: Apache-2.0
 * perf_parse.h - the kernel's records of perf events, read in place.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_PARSE_H
#define ORMA_PROBES_PERF_PERF_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

#define ORMA_PERF_REGS_MAX 64u

/* The attributes of an event that determine the form of its records. */
struct orma_perf_layout {
	uint64_t sample_type;
	uint64_t user_regs; /* the mask of sample_regs_user */
	/* True: the counts of the whole group are read, {number, counts...}. False: one count is read. */
	bool is_group;
};

struct orma_perf_words {
	const uint8_t *bytes; /* borrowed from the record */
	size_t count;
};

static inline uint64_t orma_perf_word(struct orma_perf_words words, size_t idx)
{
	uint64_t word;

	memcpy(&word, words.bytes + idx * sizeof(word), sizeof(word));
	return word;
}

struct orma_perf_sample {
	uint64_t ip, period;
	struct orma_perf_words counts;
	struct orma_perf_words chain; /* instruction pointers and PERF_CONTEXT_... marks */
	/* 0 = there are no registers, as in samples of the kernel's threads */
	uint64_t abi;
	struct orma_perf_words regs; /* one for each bit of the mask */
	const uint8_t *stack;        /* its first byte is at the stack pointer */
	size_t stack_size;           /* the bytes that were copied */
	bool is_stack_cut;           /* the copy is as large as it was allowed to be */
};

struct orma_perf_mapping {
	uint64_t start, size, offset;
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint32_t prot;
	bool is_data; /* not executable */
	struct orma_str path;
};

struct orma_perf_record {
	uint32_t type; /* PERF_RECORD_... */
	uint16_t misc;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
	union {
		struct orma_perf_sample sample;   /* PERF_RECORD_SAMPLE */
		struct orma_perf_mapping mapping; /* PERF_RECORD_MMAP2 */
		struct orma_str comm;             /* PERF_RECORD_COMM */
		uint64_t lost;                    /* PERF_RECORD_LOST */
		struct {
			uint32_t pid, tid;
		} parent; /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
		struct {
			bool is_out, is_preempted;
		} turn; /* PERF_RECORD_SWITCH, PERF_RECORD_SWITCH_CPU_WIDE */
	};
};

#define ORMA_PERF_HEADER_BYTES 8u

/* Returns the size in the header of a record; 0 = it is invalid. */
size_t orma_perf_ring_record_size(const void *header);
/* Reads a whole record. The result points into it. A record of an unknown type has only its header and time.
 * 0 or -EBADMSG. The kernel writes the records, but tests and fuzzers do, too, so each length is checked. */
int orma_perf_ring_record_parse(const struct orma_perf_layout *layout, const void *bytes,
				size_t size, struct orma_perf_record *ret);
/* Reads the time alone. False if there is none. */
bool orma_perf_ring_record_time(const struct orma_perf_layout *layout, const void *bytes,
				size_t size, uint64_t *ret);

#endif
