/* SPDX-License-Identifier: Apache-2.0
 * stack_intern.h - gives call stacks ids within one packet sequence, and writes what the ids mean
 * into the sequence's packets (InternedData).
 *
 *	iid = orma_stack_intern_sample(intern, &sample, symbols);
 *	packet = orma_packet_begin(source, idx);
 *	if (orma_packet_take_needs_state(packet)) {      see data_source.h: begin, loss, clearing
 *		orma_stack_intern_clear(intern);
 *		iid = orma_stack_intern_sample(intern, &sample, symbols);
 *		flags = ORMA_SEQUENCE_STATE_CLEARED;
 *	}
 *	orma_packet_varint(packet, ORMA_PACKET_SEQUENCE_FLAGS, flags | ORMA_SEQUENCE_NEEDS_STATE);
 *	orma_stack_intern_write(intern, packet, 0);
 *	... the sample itself, with callstack_iid = iid
 *
 * The reader is taken to know all that is written, from then on. If the packet is lost, the sequence
 * needs its state again, and so all is written again.
 *
 * Threads: one thread uses an intern.
 */
#ifndef ORMA_PROFILE_STACK_INTERN_H
#define ORMA_PROFILE_STACK_INTERN_H

#include <orma/packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/module_symbols.h"
#include "symbols/kallsyms.h"
#include "unwind/unwind_process.h"

struct orma_stack_intern;

/* 0 or -ENOMEM. */
int orma_stack_intern_new(struct orma_stack_intern **ret);
void orma_stack_intern_free(struct orma_stack_intern *intern);
/* Forgets all, because the reader of the sequence does. Ids begin at 1 again. */
void orma_stack_intern_clear(struct orma_stack_intern *intern);

/* Values of Frame.kind. */
enum orma_stack_frame_kind {
	ORMA_STACK_FRAME_NATIVE = 1,
	ORMA_STACK_FRAME_KERNEL = 2,
	ORMA_STACK_FRAME_INTERPRETED = 3,
	ORMA_STACK_FRAME_JIT = 4,
};

struct orma_stack_frame {
	const struct orma_unwind_mapping *mapping; /* NULL: `name` is all that is known */
	uint64_t rel_pc;                           /* with a mapping, see unwind_process.h */
	struct orma_str name;                      /* may be empty with a mapping */
	enum orma_stack_frame_kind kind;
};

/*
 * The id of a stack, from 1. Frames are innermost first, as a walk gives them. Equal stacks have
 * equal ids. 0 when `count` is 0, without memory, and when what the reader knows takes 64 MiB: then
 * clear, and write a packet with ORMA_SEQUENCE_STATE_CLEARED.
 */
uint64_t orma_stack_intern_add(struct orma_stack_intern *intern,
			       const struct orma_stack_frame *frames, size_t count);

/* A stack of a thread as a profiler gets it: user frames below kernel frames. */
struct orma_stack_sample {
	struct orma_unwind_process
		*process;     /* has the user frames; NULL = none, as threads of the kernel */
	const uint64_t *user; /* innermost first; callers minus 1, as walks give */
	size_t user_count;
	const struct orma_kallsyms *kallsyms; /* NULL = no names */
	const uint64_t *kernel;               /* innermost first; callers minus 1 */
	size_t kernel_count;
	const char *error; /* becomes the outermost frame of a stack that is cut; NULL = none */
	uint64_t now_ns;   /* any clock that rises: limits reading of perf maps */
};
/* The id of the stack, or 0, as orma_stack_intern_add(). The addresses of user frames are also
 * added to `symbols`, when the frames are new and it is not NULL. */
uint64_t orma_stack_intern_sample(struct orma_stack_intern *intern,
				  const struct orma_stack_sample *sample,
				  struct orma_module_symbols *symbols);

/*
 * Writes the field interned_data with all that the reader does not know yet, if there is anything;
 * at first the empty strings with id 0 that readers expect. It stops near limit_bytes if that is not 0;
 * call it again with the next packet then. True when nothing is left.
 */
bool orma_stack_intern_write(struct orma_stack_intern *intern, struct orma_packet *packet,
			     size_t limit_bytes);
/* True when orma_stack_intern_write() has something to write. */
bool orma_stack_intern_has_news(const struct orma_stack_intern *intern);

#endif
