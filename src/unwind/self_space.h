/* SPDX-License-Identifier: Apache-2.0
 * self_space.h - call stacks of this process. An allocation function or an event walks its own stack without a lock, an
 * allocation or a system call.
 *
 *	any thread, once:   orma_self_stack_find(&stack);
 *	any thread, often:  orma_self_registers(&registers);
 *	                    r = orma_self_walk(&registers, &stack, pcs, max, &frames);
 *	one thread:         if (r == -ESTALE) orma_self_space_refresh();
 *
 * Tables are only built for modules that walks need. The first walk through a module fails with -ESTALE, and the next refresh
 * builds its table. The tables of libc and a typical program take about 250 KiB.
 *
 * There is one state for each process, or one for each copy of the library in it. A child of fork() has the state of its parent
 * and calls orma_self_space_forked().
 */
#ifndef ORMA_UNWIND_SELF_SPACE_H
#define ORMA_UNWIND_SELF_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/elf_file.h"
#include "unwind/unwind_walk.h"

/* --- walking: any thread, async-signal-safe --------------------------------------------------- */

/* The bounds of a thread's stack: `high` is the first byte above it. */
struct orma_self_stack {
	uintptr_t low, high;
};

/* Reads the registers of the calling function. It must not return before the walk. Inline, because a function
 * would read its own registers. */
static inline __attribute__((always_inline)) void
orma_self_registers(struct orma_unwind_registers *ret)
{
#if defined(__x86_64__) && defined(__LP64__)
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=&r"(ret->pc), "=&r"(ret->sp), "=&r"(ret->fp));
	ret->lr = 0;
#elif defined(__aarch64__)
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
			 : "=&r"(ret->pc), "=&r"(ret->sp), "=&r"(ret->fp), "=&r"(ret->lr));
#else
	*ret = (struct orma_unwind_registers){0};
#endif
}

struct orma_self_frames {
	size_t count;        /* frames written, also when the walk failed: the innermost ones */
	size_t fp_count;     /* frames found by frame pointer, because their code has no rules */
	uint64_t generation; /* equal addresses of equal generations are equal frames */
	enum orma_unwind_end end;
};

/*
 * Walks from the given registers, as orma_unwind_walk(). Memory outside of [sp, stack->high) is not
 * read. Async-signal-safe. 0 when the outermost frame was reached, or `max` frames; else:
 *   -ESTALE  a refresh helps: an address lies in a module that is not known or has no table yet
 *   -ENODATA the code has no rule, as in some assembly code and in musl's libc.so
 *   -EFAULT  the stack pointer is outside of the bounds (on the stack of sigaltstack() or of a fiber),
 *            or the frames leave them
 *   -EBUSY   too many threads walk at this moment
 *   -ENOTSUP walks are not supported on this machine
 */
int orma_self_walk(const struct orma_unwind_registers *registers,
		   const struct orma_self_stack *stack, uint64_t *ret_addresses, size_t max,
		   struct orma_self_frames *ret);

/* --- the rest: not from signal handlers ------------------------------------------------------- */

/* Finds the bounds of the calling thread's stack. It may allocate, and it reads
 * /proc/self/maps on the main thread. 0 or -errno. */
int orma_self_stack_find(struct orma_self_stack *ret);

/*
 * Brings the modules up to date after dlopen() and dlclose(), and builds the tables that walks have
 * missed. Takes a mutex and the dynamic loader's lock. It takes about a microsecond if nothing has
 * changed, and about 1 ms for a table of 3000 functions. Returns 1 (a walk that failed may succeed now),
 * 0 (nothing has changed, or another thread forks now), -ENOMEM, or -ENOTSUP.
 *
 * If a library is closed and another one opened at its place, walks give wrong frames until the next
 * refresh, but never read outside of the stack. A caller that sees dlclose() refreshes after it.
 */
int orma_self_space_refresh(void);
/* Ends the walks of the parent's other threads. The child of a fork calls it. Async-signal-safe. */
void orma_self_space_forked(void);

/* A module of this process. */
struct orma_self_module {
	uint64_t serial; /* no other module has it; from 1 */
	uint64_t start, end;
	uint64_t offset, load_bias; /* as in struct orma_unwind_mapping */
	uint8_t build_id[ORMA_ELF_BUILD_ID_MAX];
	size_t build_id_size;
	char path[512]; /* cut if longer; the main program's is that of /proc/self/exe */
};
/* Copies the description of the module at an address. False if there is none. Takes the mutex. */
bool orma_self_space_find(uint64_t pc, struct orma_self_module *ret);

struct orma_self_space_facts {
	uint32_t module_count, table_count;
	size_t bytes; /* tables, modules and caches */
};
struct orma_self_space_facts orma_self_space_facts(void);

#endif
