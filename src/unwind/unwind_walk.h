/* SPDX-License-Identifier: Apache-2.0
 * unwind_walk.h - the callers of a stopped or sampled thread, from a copy of its stack.
 *
 * Nothing here allocates, locks or makes a system call, so a signal handler may walk.
 */
#ifndef ORMA_UNWIND_UNWIND_WALK_H
#define ORMA_UNWIND_UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_table.h"

/* These are rip, rsp and rbp on x86-64, where lr is not used, and pc, sp, x29 and x30 on arm64. */
struct orma_unwind_registers {
	uint64_t pc, sp, fp, lr;
};

/* The bytes of a stack from `address` on: a copy, or the stack itself. */
struct orma_unwind_stack {
	uint64_t address;
	const void *bytes;
	size_t size;
};

/* An executable mapping. */
struct orma_unwind_module {
	uint64_t start, end;
	uint64_t bias; /* an address of the process minus the bias is the address in the file */
	uint64_t table_number; /* no other table that shares a cache with this one has it */
	const struct orma_unwind_table
		*table; /* NULL: code without a file, or a file without rules */
	/* The table has not been built yet, so a walk ends here with ORMA_UNWIND_END_PENDING. */
	bool is_pending;
};

/* The module at an address, or NULL. Modules are in order and do not overlap. Inline, because each frame of a walk asks. */
static inline const struct orma_unwind_module *
orma_unwind_find_module(const struct orma_unwind_module *modules, size_t count, uint64_t address)
{
	size_t first = 0;

	while (count > 0) {
		size_t half = count / 2;
		const struct orma_unwind_module *module = &modules[first + half];

		if (address < module->start) {
			count = half;
		} else if (address >= module->end) {
			first += half + 1;
			count -= half + 1;
		} else {
			return module;
		}
	}
	return NULL;
}

/* Rules that were found before, by the address in the file; zeros are empty. The slots can serve several
 * processes, which share the rules of a file, but only one walk at a time. A signal handler that may
 * interrupt a walk has slots of its own, or none. */
struct orma_unwind_cache_slot {
	uint64_t address, table_number;
	const struct orma_unwind_rule *rule; /* NULL = empty */
};
#define ORMA_UNWIND_CACHE_SLOTS 4096u
struct orma_unwind_cache {
	struct orma_unwind_cache_slot slots[ORMA_UNWIND_CACHE_SLOTS];
};

/*
 * The frames of the last walk, for a thread that walks its own stack again and again. A frame that has
 * not changed is recognized by its words on the stack, which is three times faster than following it.
 * {0} is empty. A memo may serve several threads of one address space, one walk at a time.
 */
#define ORMA_UNWIND_MEMO_FRAMES 128u
struct orma_unwind_memo_frame {
	uint64_t address, sp, fp;
	uint64_t return_slot, return_word; /* where the return address was found; 0 = not memory */
	uint64_t fp_slot, fp_word;         /* the caller's fp; slot 0 = it is the same */
};
struct orma_unwind_memo {
	uint64_t generation;
	uint32_t count, fresh_count;
	struct orma_unwind_memo_frame frames[ORMA_UNWIND_MEMO_FRAMES]; /* outermost first */
	/* The current walk's own frames, innermost first. */
	struct orma_unwind_memo_frame fresh[ORMA_UNWIND_MEMO_FRAMES];
};

/* The code of a process. The modules are in order and do not overlap. */
struct orma_unwind_space {
	const struct orma_unwind_module *modules;
	size_t module_count;
	bool is_arm64;
	struct orma_unwind_cache_slot *cache; /* NULL = none */
	size_t cache_count;                   /* slots: a power of two */
	/* Different for each space that shares a memo, and after each change of a space. */
	uint64_t generation;
	struct orma_unwind_memo *memo; /* NULL = none */
};

enum orma_unwind_end {
	ORMA_UNWIND_END_OUTERMOST,  /* the whole stack */
	ORMA_UNWIND_END_NO_RULE,    /* the code has no rule here, and no frame pointer either */
	ORMA_UNWIND_END_NO_STACK,   /* the frame lies outside of the bytes */
	ORMA_UNWIND_END_NO_GROWTH,  /* a frame does not lie above the one it called */
	ORMA_UNWIND_END_FRAMES_MAX, /* there are more frames than places */
	ORMA_UNWIND_END_PENDING, /* the last address lies in a module whose table is not built yet */
};

struct orma_unwind_result {
	size_t frame_count;
	size_t fp_count; /* frames found with the frame pointer because there was no rule */
	enum orma_unwind_end end;
};

/*
 * Walks from the innermost frame, which is ret_addresses[0], to the outermost. The addresses of
 * callers lie within their calls, not behind them, so that each names the function and the line of
 * the call. At most `max` are written.
 */
struct orma_unwind_result orma_unwind_walk(const struct orma_unwind_space *space,
					   const struct orma_unwind_registers *registers,
					   const struct orma_unwind_stack *stack,
					   uint64_t *ret_addresses, size_t max);

#endif
