/* SPDX-License-Identifier: Apache-2.0
 * heap_frames.c - turns the stack of a sample into numbers of frames. The process has walked the stack, or sends a copy of it.
 *
 * Owns a cache from addresses to frames, which saves a search for the mapping of each address. It is valid for the current
 * mappings. orma_heap_frames_forget() empties it when they change.
 *
 * The addresses come from the process, or from a walk over bytes of the process, so no address is an error. An address outside of
 * all mappings becomes a frame without a file. A stack that is incomplete ends with a frame that says so.
 */
#include "probes/heap/heap_frames.h"

#include <string.h>

#include "base/clock_ns.h"
#include "base/macros.h"

/* Finds the name of a frame in code without a readable file. A JIT compiler may have written it to a perf map. */
static int find_other_frame(struct orma_heap_process *process, uint64_t pc, uint32_t module,
			    uint32_t *ret)
{
	const struct orma_unwind_mapping *mapping =
		module == ORMA_HEAP_MODULE_NONE ? NULL : process->modules.all[module].mapping;
	bool has_path = mapping && mapping->path.size > 0;
	int r = orma_heap_stacks_take_frame(&process->stacks, module,
					    has_path ? orma_unwind_mapping_rel_pc(mapping, pc) : pc,
					    ret);

	if (r < 0 || has_path)
		return r;
	struct orma_heap_frame *frame = orma_heap_stacks_frame(&process->stacks, *ret);
	if (frame->jit_name)
		return 0;
	struct orma_str name = orma_unwind_process_jit_name(process->modules.process, pc,
							    orma_base_clock_ns(CLOCK_MONOTONIC));
	struct orma_buf *names = &process->jit_names;
	if (name.size > 0 && names->size + name.size < ORMA_HEAP_JIT_NAMES_BYTES &&
	    orma_base_buf_reserve(names, name.size + 1) == 0) {
		frame->jit_name = names->size + 1;
		(void)orma_base_buf_append(names, name.data, name.size);
		(void)orma_base_buf_append(names, "", 1);
	}
	return 0;
}

static int find_frame(struct orma_heap_process *process, uint64_t pc, uint32_t *ret)
{
	struct orma_heap_cached_frame *cached =
		&process->cached_frames[(pc ^ pc >> 12) % ORMA_HEAP_CACHED_FRAMES];
	uint32_t module;
	int r;

	if (cached->frame && cached->pc == pc) {
		*ret = cached->frame - 1;
		return 0;
	}
	r = orma_heap_modules_find(&process->modules, pc, &module);
	bool is_pending = r == 0 && !process->modules.all[module].mapping->file &&
			  process->modules.all[module].mapping->load_error == 0;
	if (r == 0 && process->modules.all[module].mapping->file)
		r = orma_heap_stacks_take_frame(
			&process->stacks, module,
			orma_unwind_mapping_rel_pc(process->modules.all[module].mapping, pc), ret);
	else
		r = find_other_frame(process, pc, r == 0 ? module : ORMA_HEAP_MODULE_NONE, ret);
	/* Not cached while the file is being read, because the mapping may get a build id then. */
	if (r == 0 && !is_pending)
		*cached = (struct orma_heap_cached_frame){.pc = pc, .frame = *ret + 1};
	return r;
}

static uint64_t word_at(struct orma_str words, size_t idx)
{
	uint64_t word = 0;

	if ((idx + 1) * sizeof(word) <= words.size)
		memcpy(&word, words.data + idx * sizeof(word), sizeof(word));
	return word;
}

/* Unwinds the copy of a stack into process->addresses. Returns their number. */
static size_t walk(struct orma_heap_process *process, const struct orma_heap_record_sample *sample,
		   bool *ret_is_whole)
{
	struct orma_unwind_registers registers = {
		.pc = word_at(sample->registers, 0),
		.sp = word_at(sample->registers, 1),
		.fp = word_at(sample->registers, 2),
		.lr = word_at(sample->registers, 3),
	};
	struct orma_unwind_stack stack = {
		.address = registers.sp,
		.bytes = sample->stack.data,
		.size = sample->stack.size,
	};
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	struct orma_unwind_result result = orma_unwind_process_walk(
		process->modules.process, process->modules.cache, &registers, &stack,
		process->addresses, ORMA_HEAP_STACK_FRAMES_MAX);

	process->unwinding_ns += orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	process->unwound_count++;
	*ret_is_whole = result.end == ORMA_UNWIND_END_OUTERMOST;
	return result.frame_count;
}

int orma_heap_frames_find(struct orma_heap_process *process,
			  const struct orma_heap_record_sample *sample)
{
	bool is_whole = !sample->is_cut;
	size_t count = ORMA_MIN(sample->pcs.size / 8, (size_t)ORMA_HEAP_STACK_FRAMES_MAX);
	uint32_t used = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		process->addresses[i] = word_at(sample->pcs, i);
	if (sample->pcs.size / 8 > count)
		is_whole = false;
	if (count == 0 && sample->registers.size >= 8)
		count = walk(process, sample, &is_whole);
	while (r == 0 && used < count) {
		r = find_frame(process, process->addresses[used], &process->frames[used]);
		used++;
	}
	if (r == 0 && (count == 0 || !is_whole)) {
		process->faults.failed_stacks++;
		r = orma_heap_stacks_take_frame(&process->stacks, ORMA_HEAP_MODULE_ERROR,
						count == 0 ? ORMA_HEAP_ERROR_NO_STACK
							   : ORMA_HEAP_ERROR_INCOMPLETE,
						&process->frames[used]);
		used++;
	}
	return r < 0 ? r : (int)used;
}

void orma_heap_frames_forget(struct orma_heap_process *process)
{
	memset(process->cached_frames, 0,
	       ORMA_HEAP_CACHED_FRAMES * sizeof(*process->cached_frames));
}
