/* SPDX-License-Identifier: Apache-2.0
 * perf_stack.c - walks the call stacks of samples in place, in the ring.
 *
 * Owns the buffers of one walk. src/profile/stack_intern.h numbers the stacks by their raw addresses, so most samples cost the
 * walk and one look-up.
 *
 * The stack is a copy that begins at the stack pointer. If it is too short, or a rule is missing, the frames that were found are
 * kept. The outermost frame then names the error, and the packet has the error, too.
 *
 * When a process ends, the kernel takes its memory back, which takes long for a large process. Samples of that time have no user
 * registers. If the kernel's frames are not recorded either, such a sample gets a stack of one frame, [kernel], so that sums over
 * stacks include its time. Samples of the kernel's threads get the same frame.
 *
 * If a stack needs a file that is being read, it is walked again from its beginning later. That takes less time than copying what
 * was found.
 *
 * With frame pointers, the innermost address is always a frame, because a leaf function may use the frame pointer's register for
 * other values.
 */
#include "probes/perf/perf_stack.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/profile_packet.pb.h"

#define WORD 8u

#if defined(__aarch64__)
#define CALL_BYTES 4u
enum { REG_FP, REG_LR, REG_SP, REG_PC, REG_COUNT };
#else
#define CALL_BYTES 1u
enum { REG_FP, REG_SP, REG_PC, REG_COUNT };
#endif

int orma_perf_stacks_init(struct orma_perf_stacks *stacks)
{
	int r = orma_stack_intern_new(&stacks->intern);

	if (r == 0)
		r = orma_module_symbols_new(&stacks->symbols);
	if (r < 0)
		return r;
	stacks->cache = orma_base_zalloc(sizeof(*stacks->cache));
	return stacks->cache ? 0 : -ENOMEM;
}

void orma_perf_stacks_done(struct orma_perf_stacks *stacks)
{
	if (stacks->intern)
		orma_stack_intern_free(stacks->intern);
	if (stacks->symbols)
		orma_module_symbols_free(stacks->symbols);
	orma_base_free(stacks->cache);
	stacks->intern = NULL;
	stacks->symbols = NULL;
	stacks->cache = NULL;
}

void orma_perf_stacks_clear(struct orma_perf_stacks *stacks)
{
	orma_stack_intern_clear(stacks->intern);
	stacks->is_full = false;
}

/* ---- addresses ---- */

static bool is_mark(uint64_t address)
{
	return address >= (uint64_t)PERF_CONTEXT_MAX;
}

/* Splits the addresses that the kernel has found into its own and the process's. Each return address becomes
 * the address of its call. */
static void take_chain(struct orma_perf_stacks *stacks, struct orma_perf_words chain,
		       struct orma_perf_stack *ret)
{
	bool is_user = false, is_first = true;

	for (size_t i = 0; i < chain.count; i++) {
		uint64_t address = orma_perf_word(chain, i);
		size_t *count = is_user ? &ret->user_count : &ret->kernel_count;
		if (is_mark(address)) {
			is_user = address == (uint64_t)PERF_CONTEXT_USER;
			is_first = true;
		} else if (*count < ORMA_PERF_STACK_FRAMES_MAX) {
			(is_user ? stacks->user : stacks->kernel)[(*count)++] =
				is_first || address == 0 ? address : address - CALL_BYTES;
			is_first = false;
		}
	}
}

static bool read_word(const struct orma_unwind_stack *stack, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - stack->address;

	if (stack->size < WORD || offset > stack->size - WORD)
		return false;
	memcpy(ret, (const char *)stack->bytes + offset, WORD);
	return true;
}

static int walk_frame_pointers(struct orma_perf_stacks *stacks,
			       const struct orma_unwind_registers *registers,
			       const struct orma_unwind_stack *stack, struct orma_perf_stack *ret)
{
	uint64_t fp = registers->fp, last = 0, next, address;

	stacks->user[ret->user_count++] = registers->pc;
	while (ret->user_count < ORMA_PERF_STACK_FRAMES_MAX) {
		if (fp <= last || fp % WORD != 0 || !read_word(stack, fp, &next) ||
		    !read_word(stack, fp + WORD, &address) || address == 0)
			return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_NONE;
		stacks->user[ret->user_count++] = address - CALL_BYTES;
		last = fp;
		fp = next;
	}
	return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_MAX_FRAMES_EXCEEDED;
}

static int error_of(const struct orma_unwind_result *result)
{
	switch (result->end) {
	case ORMA_UNWIND_END_OUTERMOST:
		return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_NONE;
	case ORMA_UNWIND_END_NO_STACK:
		return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_MEMORY_INVALID;
	case ORMA_UNWIND_END_NO_GROWTH:
		return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_REPEATED_FRAME;
	case ORMA_UNWIND_END_FRAMES_MAX:
		return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_MAX_FRAMES_EXCEEDED;
	default:
		return ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_UNWIND_INFO;
	}
}

static int walk_rules(struct orma_perf_stacks *stacks, struct orma_perf_process *process,
		      const struct orma_unwind_registers *registers,
		      const struct orma_unwind_stack *stack, struct orma_perf_stack *ret)
{
	struct orma_unwind_process *code = process->code;
	struct orma_unwind_result result = {0};

	for (int attempt = 0; attempt < 2; attempt++) {
		result = orma_unwind_process_walk(code, stacks->cache, registers, stack,
						  stacks->user, ORMA_PERF_STACK_FRAMES_MAX);
		/* An address without a mapping may mean that the known mappings are old. */
		if (result.end != ORMA_UNWIND_END_NO_RULE || result.frame_count == 0 ||
		    orma_unwind_process_find(code, stacks->user[result.frame_count - 1]) ||
		    !orma_perf_process_reread(process, ret->time))
			break;
	}
	ret->user_count = result.frame_count;
	ret->is_pending = result.end == ORMA_UNWIND_END_PENDING;
	/* The last address has no name yet, because its file is being read. */
	ret->user_count -= ret->is_pending;
	return error_of(&result);
}

/* Drops the addresses from the first one on whose file is being read. A walk without rules has not needed the
 * files, but their names are needed. */
static void keep_ready(struct orma_perf_stacks *stacks, struct orma_unwind_process *code,
		       struct orma_perf_stack *ret)
{
	size_t ready = orma_unwind_process_count_ready(code, stacks->user, ret->user_count);

	ret->is_pending |= ready < ret->user_count;
	ret->user_count = ready;
}

static int walk_user(struct orma_perf_stacks *stacks, struct orma_perf_process *process,
		     const struct orma_unwind_registers *registers,
		     const struct orma_unwind_stack *stack, struct orma_perf_stack *ret)
{
	if (stacks->config->user_frames == ORMA_PERF_USER_FP)
		return walk_frame_pointers(stacks, registers, stack, ret);
	return process->code ? walk_rules(stacks, process, registers, stack, ret) : ret->error;
}

static void take_registers(const struct orma_perf_sample *sample, struct orma_unwind_registers *ret)
{
	*ret = (struct orma_unwind_registers){
		.pc = orma_perf_word(sample->regs, REG_PC),
		.sp = orma_perf_word(sample->regs, REG_SP),
		.fp = orma_perf_word(sample->regs, REG_FP),
	};
#if defined(__aarch64__)
	ret->lr = orma_perf_word(sample->regs, REG_LR);
#endif
}

static bool is_32_bits(const struct orma_perf_sample *sample)
{
	return sample->abi == PERF_SAMPLE_REGS_ABI_32 && sample->regs.count >= REG_COUNT;
}

/* Finds the addresses of user code. */
static void take_user(struct orma_perf_stacks *stacks, struct orma_perf_process *process,
		      const struct orma_perf_sample *sample, struct orma_perf_stack *ret)
{
	struct orma_unwind_registers registers;

	/* Threads of the kernel have no user registers. */
	if (sample->abi == PERF_SAMPLE_REGS_ABI_NONE || sample->regs.count < REG_COUNT)
		return;
	take_registers(sample, &registers);
	/* A program of 32 bits has other registers and rules, but its pc says which file takes the time. */
	if (sample->abi != PERF_SAMPLE_REGS_ABI_64) {
		ret->error = ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_UNSUPPORTED;
		if (is_32_bits(sample))
			stacks->user[ret->user_count++] = registers.pc & UINT32_MAX;
		return;
	}
	struct orma_unwind_stack stack = {registers.sp, sample->stack, sample->stack_size};
	ret->error = walk_user(stacks, process, &registers, &stack, ret);
}

bool orma_perf_stacks_walk(struct orma_perf_stacks *stacks, struct orma_perf_process *process,
			   const struct orma_perf_record *record, struct orma_perf_stack *ret)
{
	const struct orma_perf_sample *sample = &record->sample;

	*ret = (struct orma_perf_stack){
		.process = process,
		.error = ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_NONE,
		.time = record->time,
		.is_in_kernel =
			(record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL};
	take_chain(stacks, sample->chain, ret);
	bool has_user = ret->user_count > 0 || sample->abi != PERF_SAMPLE_REGS_ABI_NONE;
	struct orma_unwind_process *code =
		has_user ? orma_perf_process_code(stacks->processes, process) : NULL;
	if (code) {
		orma_unwind_process_set_waits(code, !stacks->never_waits);
		orma_unwind_process_set_patience(
			code, stacks->patience.max_ns > 0 ? &stacks->patience : NULL);
	}
	take_user(stacks, process, sample, ret);
	if (code && (stacks->config->user_frames != ORMA_PERF_USER_DWARF || is_32_bits(sample)))
		keep_ready(stacks, code, ret);
	if (ret->is_pending && stacks->never_waits && !stacks->takes_parts)
		return false;
	if (ret->is_pending)
		ret->error = ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_UNWIND_INFO;
	stacks->walk_count += has_user;
	stacks->frame_count += ret->user_count;
	stacks->error_count += ret->error != ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_NONE;
	return true;
}

/* ---- numbers ---- */

/* Returns the name of the outermost frame of an incomplete stack. */
static const char *error_name(int error)
{
	static const char *const names[] = {
		NULL,
		NULL,
		"ERROR MEMORY_INVALID",
		"ERROR UNWIND_INFO",
		"ERROR UNSUPPORTED",
		"ERROR INVALID_MAP",
		"ERROR MAX_FRAMES_EXCEEDED",
		"ERROR REPEATED_FRAME",
	};

	return error > 0 && (size_t)error < ORMA_ARRAY_SIZE(names) ? names[error] : NULL;
}

uint64_t orma_perf_stacks_number(struct orma_perf_stacks *stacks,
				 const struct orma_perf_stack *stack)
{
	struct orma_stack_sample sample = {
		.user = stacks->user,
		.user_count = stack->user_count,
		.kernel = stacks->kernel,
		.kernel_count = stack->kernel_count,
		.kallsyms = stacks->kallsyms,
		.error = error_name(stack->error),
		.now_ns = stack->time,
	};

	/* A stack without frames shows the error. */
	if (stack->user_count + stack->kernel_count == 0 && !sample.error) {
		if (!stack->is_in_kernel || stacks->config->user_frames == ORMA_PERF_USER_SKIP)
			return 0;
		sample.error =
			stacks->config->off_cpu ? "[waits, where is not permitted]" : "[kernel]";
	}
	if (stack->user_count > 0)
		sample.process = orma_perf_process_code(stacks->processes, stack->process);
	uint64_t number = orma_stack_intern_sample(stacks->intern, &sample, stacks->symbols);
	stacks->is_full |= number == 0;
	return number;
}
