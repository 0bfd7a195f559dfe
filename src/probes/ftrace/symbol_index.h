/* SPDX-License-Identifier: Apache-2.0
 * symbol_index.h - small numbers for the addresses of the kernel that a session's events contain.
 */
#ifndef ORMA_PROBES_SYMBOL_INDEX_H
#define ORMA_PROBES_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/* When a table has so many, further addresses get the index 0. */
#define ORMA_SYMBOL_INDEX_MAX 16384
/* A table with more is emptied before the next bundle. */
#define ORMA_SYMBOL_INDEX_RENEW 8192

/* {0} is empty. */
struct orma_symbol_index {
	struct orma_map indexes; /* by address */
	uint64_t *addresses;     /* item i has the index i + 1; owned */
	uint32_t count, capacity;
	uint32_t written; /* a reader of the trace knows the names of the indexes up to this one */
};

/* The index of an address, from 1; 0 without memory or room. */
uint32_t orma_symbol_index_of(struct orma_symbol_index *symbols, uint64_t address);
/* Forgets all addresses. */
void orma_symbol_index_clear(struct orma_symbol_index *symbols);

#endif
