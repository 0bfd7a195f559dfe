/* SPDX-License-Identifier: Apache-2.0
 * kernel_state.c - symbols of kernel functions are interned data of the sequence that a bundle is of.
 *
 * The merge by time goes back and forth between the bundles of several CPUs, but nearly always inside of one generation of one
 * sequence, whose interned data is loaded once.
 */
#include "trace/kernel_state.h"

#include <errno.h>

#include "base/alloc.h"
#include "schema/gen/interned_data.pb.h"
#include "store/grow.h"

void orma_kernel_state_done(struct orma_kernel_state *kernel)
{
	for (struct orma_symbol_source *source = kernel->sources; source; source = source->next)
		orma_sequence_state_done(&source->state);
	orma_base_free(kernel->runs);
	orma_base_free(kernel->writing);
	orma_base_free(kernel->pending);
	orma_base_map_done(&kernel->generic);
	orma_base_map_done(&kernel->mm_owners);
	orma_base_map_done(&kernel->sums);
	orma_base_map_done(&kernel->task_cpus);
	orma_base_map_done(&kernel->stopped_tasks);
	orma_base_arena_done(&kernel->arena);
	*kernel = (struct orma_kernel_state){0};
}

int orma_kernel_add_bundle(struct orma_kernel_state *kernel, const struct orma_sequence *sequence,
			   uint64_t address)
{
	if (kernel->run_count > 0 && kernel->runs[kernel->run_count - 1].sequence == sequence)
		return 0;
	int r = orma_store_grow(&kernel->runs, (uint64_t)kernel->run_count + 1,
				&kernel->run_capacity, sizeof(*kernel->runs));
	if (r == 0)
		kernel->runs[kernel->run_count++] = (struct orma_bundle_run){address, sequence};
	return r;
}

static const struct orma_sequence *find_sequence(const struct orma_kernel_state *kernel,
						 uint64_t bundle)
{
	uint32_t low = 0, high = kernel->run_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (kernel->runs[middle].address <= bundle)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? kernel->runs[low - 1].sequence : NULL;
}

int orma_kernel_find_state(struct orma_kernel_state *kernel, const struct orma_trace_bytes *input,
			   uint64_t bundle, struct orma_sequence_state **ret)
{
	const struct orma_sequence *sequence = find_sequence(kernel, bundle);
	struct orma_symbol_source *source = kernel->sources;
	*ret = NULL;
	if (!sequence)
		return 0;
	while (source && source->state.sequence != sequence)
		source = source->next;
	if (!source) {
		source = orma_base_arena_alloc(&kernel->arena, sizeof(*source));
		if (!source)
			return -ENOMEM;
		source->state = (struct orma_sequence_state){.input = input, .sequence = sequence};
		source->next = kernel->sources;
		kernel->sources = source;
	}
	int r = orma_sequence_state_move(&source->state, bundle);
	if (r == 0 && !source->state.is_loaded)
		r = orma_sequence_state_load(&source->state);
	*ret = &source->state;
	return r;
}

int orma_kernel_symbol(struct orma_kernel_state *kernel, const struct orma_trace_bytes *input,
		       uint64_t bundle, uint64_t iid, struct orma_str *ret)
{
	struct orma_sequence_state *state;
	*ret = (struct orma_str){NULL, 0};
	int r = orma_kernel_find_state(kernel, input, bundle, &state);
	if (r < 0 || !state)
		return r;
	const struct orma_interned *entry =
		orma_interning_find(&state->interning, ORMA_PB_INTERNED_DATA_KERNEL_SYMBOLS, iid);
	if (entry)
		*ret = entry->text;
	return 0;
}

int64_t *orma_kernel_sum(struct orma_kernel_state *kernel, char what, uint32_t machine_idx,
			 uint64_t key)
{
	uint64_t words[] = {(uint64_t)machine_idx << 8 | (unsigned char)what, key};
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	int64_t *sum = orma_base_map_get(&kernel->sums, hash);
	if (sum)
		return sum;
	sum = orma_base_arena_alloc(&kernel->arena, sizeof(*sum));
	return sum && orma_base_map_put(&kernel->sums, hash, sum) == 0 ? sum : NULL;
}
