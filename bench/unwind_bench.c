/* SPDX-License-Identifier: Apache-2.0
 * unwind_bench.c - the cost of unwinding: `bench_unwind FILE...` builds the table of each file, and
 * walks a stack of 40 frames of its own through libc's qsort, beside glibc's backtrace().
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "unit/unwind/own_code.h"
#include "unwind/self_space.h"

#define FRAMES_MAX 128
#define WALKS      200000u
#define ROUNDS     5u
#define DEPTH      34u

static struct own_code code;
static const char *stack_end;

/* --- tables ----------------------------------------------------------------------------------- */

static void measure_table(const char *path)
{
	struct orma_elf_file file;
	struct orma_unwind_table_facts facts = {0};
	uint64_t best = UINT64_MAX;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : orma_elf_file_init(&file, fd);

	for (unsigned i = 0; r == 0 && i < ROUNDS; i++) {
		struct orma_unwind_table *table;
		uint64_t start = orma_base_clock_ns(CLOCK_MONOTONIC);

		r = orma_unwind_table_new(&file, &table);
		if (r < 0)
			break;
		best = ORMA_MIN(best, orma_base_clock_ns(CLOCK_MONOTONIC) - start);
		facts = orma_unwind_table_facts(table);
		orma_unwind_table_free(table);
	}
	close(fd);
	if (r < 0) {
		printf("%s: no table\n", path);
		return;
	}
	printf("%-44s %6u functions %7u rows %5u rules %6.0f KiB = %4.2f %% of the file, built in "
	       "%5.1f ms, %4.0f ns per function\n",
	       path, facts.function_count, facts.row_count, facts.rule_count,
	       (double)facts.bytes / 1024, 100.0 * (double)facts.bytes / (double)file.size,
	       (double)best / 1e6, (double)best / facts.function_count);
}

/* --- walks ------------------------------------------------------------------------------------ */

static void print_walks(const char *name, uint64_t ns, size_t frame_count)
{
	double per_frame = (double)ns / (double)WALKS / (double)frame_count;

	printf("%-44s %6zu frames  %7.1f ns per frame %6.1f M frames/s %6.0f ns per stack\n", name,
	       frame_count, per_frame, 1000 / per_frame, (double)ns / WALKS);
}

static void measure_walk(const char *name, const struct orma_unwind_registers *registers,
			 struct orma_unwind_cache *cache)
{
	struct orma_unwind_space space = code.space;
	struct orma_unwind_stack stack = {
		registers->sp, (const void *)(uintptr_t)registers->sp,
		(size_t)(stack_end - (const char *)(uintptr_t)registers->sp)};
	struct orma_unwind_result result = {0};
	uint64_t frames[FRAMES_MAX], best = UINT64_MAX;

	space.cache = cache ? cache->slots : NULL;
	space.cache_count = ORMA_UNWIND_CACHE_SLOTS;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t start = orma_base_clock_ns(CLOCK_MONOTONIC);

		for (unsigned i = 0; i < WALKS; i++)
			result = orma_unwind_walk(&space, registers, &stack, frames, FRAMES_MAX);
		best = ORMA_MIN(best, orma_base_clock_ns(CLOCK_MONOTONIC) - start);
	}
	print_walks(name, best, result.frame_count);
	if (result.end != ORMA_UNWIND_END_OUTERMOST)
		printf("  the walk did not reach the outermost frame\n");
}

static __attribute__((noinline)) int walk_self(const struct orma_self_stack *stack,
					       uint64_t *ret_frames, struct orma_self_frames *ret)
{
	struct orma_unwind_registers registers;

	orma_self_registers(&registers);
	return orma_self_walk(&registers, stack, ret_frames, FRAMES_MAX, ret);
}

/* Allocation functions walk so: frames of the last walk are recognised. */
static void measure_self(void)
{
	uint64_t frames[FRAMES_MAX], best = UINT64_MAX;
	struct orma_self_frames result;
	struct orma_self_stack stack;
	int r = orma_self_stack_find(&stack);

	for (int i = 0; r == 0 && i < 16 && walk_self(&stack, frames, &result) == -ESTALE; i++)
		orma_self_space_refresh();
	for (unsigned round = 0; r == 0 && round < ROUNDS; round++) {
		uint64_t start = orma_base_clock_ns(CLOCK_MONOTONIC);

		for (unsigned i = 0; r == 0 && i < WALKS; i++)
			r = walk_self(&stack, frames, &result);
		best = ORMA_MIN(best, orma_base_clock_ns(CLOCK_MONOTONIC) - start);
	}
	if (r < 0)
		printf("the process cannot walk its own stack: error %d\n", -r);
	else
		print_walks("this process's own stack, warm", best, result.count);
}

static void measure_backtrace(void)
{
	void *frames[FRAMES_MAX];
	int count = backtrace(frames, FRAMES_MAX);
	uint64_t start = orma_base_clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < WALKS / 10; i++)
		count = backtrace(frames, FRAMES_MAX);
	print_walks("glibc's backtrace()", (orma_base_clock_ns(CLOCK_MONOTONIC) - start) * 10,
		    (size_t)count);
}

__attribute__((noinline)) static void measure_here(void)
{
	ucontext_t context;

	getcontext(&context);
#if defined(__x86_64__)
	struct orma_unwind_registers registers = {
		.pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP],
		.sp = (uint64_t)context.uc_mcontext.gregs[REG_RSP],
		.fp = (uint64_t)context.uc_mcontext.gregs[REG_RBP],
	};
#elif defined(__aarch64__)
	struct orma_unwind_registers registers = {
		.pc = context.uc_mcontext.pc,
		.sp = context.uc_mcontext.sp,
		.fp = context.uc_mcontext.regs[29],
		.lr = context.uc_mcontext.regs[30],
	};
#else
	struct orma_unwind_registers registers = {0};
#endif
	measure_walk("own tables, addresses remembered", &registers, &code.cache);
	measure_walk("own tables, searched", &registers, NULL);
	measure_self();
	measure_backtrace();
}

static int compare(const void *left, const void *right)
{
	static int was_here;

	if (!was_here++)
		measure_here();
	return *(const char *)left - *(const char *)right;
}

/* NOLINTNEXTLINE(misc-no-recursion): the stack is to be deep */
__attribute__((noinline)) static int go_down(unsigned depth)
{
	char letters[] = "bench";

	if (depth > 0)
		return go_down(depth - 1) + 1;
	qsort(letters, 5, 1, compare);
	return letters[0];
}

int main(int argc, char **argv)
{
	/* The loader puts the text of the arguments at the end of the stack, behind all frames. */
	stack_end = argv[0];
	for (int i = 1; i < argc; i++)
		measure_table(argv[i]);
	own_code_init(&code);
	go_down(DEPTH);
	own_code_done(&code);
	return 0;
}
