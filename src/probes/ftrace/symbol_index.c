/* SPDX-License-Identifier: Apache-2.0
 * symbol_index.c - replaces addresses by indexes.
 *
 * An address tells where the kernel lies in memory, which is a secret that keeps attacks from working. A trace therefore
 * has the index of an address instead, and the name of the function at it, if it is one (InternedData.kernel_symbols).
 * Objects on the heap get an index too, so that a reader sees which events concern the same object.
 *
 * An index keeps its meaning until the table is cleared, over all CPUs and drains; a packet that clears it says so
 * (SEQ_INCREMENTAL_STATE_CLEARED). Rejected: new indexes in each drain, as upstream has them: names are written again
 * ten times a second, and an object changes its number.
 */
#include "probes/ftrace/symbol_index.h"

#include "base/alloc.h"
#include "base/macros.h"

static bool grow(struct orma_symbol_index *symbols)
{
	uint32_t capacity = ORMA_MAX(symbols->capacity * 2, 64u);
	uint64_t *addresses =
		orma_base_realloc_array(symbols->addresses, capacity, sizeof(*addresses));

	if (!addresses)
		return false;
	symbols->addresses = addresses;
	symbols->capacity = capacity;
	return true;
}

static uint32_t add(struct orma_symbol_index *symbols, uint64_t address)
{
	uint32_t index = symbols->count + 1;

	if (index > ORMA_SYMBOL_INDEX_MAX ||
	    (symbols->count == symbols->capacity && !grow(symbols)) ||
	    orma_base_map_put(&symbols->indexes, address, (void *)(uintptr_t)index) < 0)
		return 0;
	symbols->addresses[symbols->count++] = address;
	return index;
}

uint32_t orma_symbol_index_of(struct orma_symbol_index *symbols, uint64_t address)
{
	uint32_t index = (uint32_t)(uintptr_t)orma_base_map_get(&symbols->indexes, address);

	return ORMA_LIKELY(index != 0) ? index : add(symbols, address);
}

void orma_symbol_index_clear(struct orma_symbol_index *symbols)
{
	orma_base_map_done(&symbols->indexes);
	orma_base_free(symbols->addresses);
	*symbols = (struct orma_symbol_index){0};
}
