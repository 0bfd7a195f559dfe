/* SPDX-License-Identifier: Apache-2.0
 * module_symbols.h - the addresses that a recording has seen, and at its end their functions, so
 * that the trace has names without a second step (packets ModuleSymbols).
 *
 * Names are those of the linker: readers demangle.
 *
 * Threads: one thread at a time. The files that it holds outlive their mappings, but the cache of
 *          files (unwind_files.h) must outlive it.
 */
#ifndef ORMA_PROFILE_MODULE_SYMBOLS_H
#define ORMA_PROFILE_MODULE_SYMBOLS_H

#include <orma/data_source.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_process.h"

struct orma_module_symbols;

int orma_module_symbols_new(struct orma_module_symbols **ret); /* 0 or -ENOMEM */
void orma_module_symbols_free(struct orma_module_symbols *symbols);
/* Functions whose name begins with one of these are written as "FILTERED". The prefixes are borrowed while symbols are written. */
void orma_module_symbols_skip(struct orma_module_symbols *symbols, const struct orma_str *prefixes,
			      size_t count);

/* Remembers an address of a mapping's file. Mappings without a file are left out. 0, -ENOSPC (a
 * million addresses) or -ENOMEM. */
int orma_module_symbols_add(struct orma_module_symbols *symbols,
			    const struct orma_unwind_mapping *mapping, uint64_t rel_pc);

struct orma_module_symbols_facts {
	uint32_t module_count, address_count; /* all that were added */
	uint32_t named_count;                 /* addresses that were written with a name */
};

/*
 * Writes packets to the calling thread's sequence of the instance, for modules with the most
 * addresses first, until CLOCK_MONOTONIC is `deadline_ns`; UINT64_MAX = no limit. `orma symbolize` can
 * name the other modules later. Written addresses are forgotten,
 * so that a recording may write more than once. Each packet has a timestamp of CLOCK_BOOTTIME and
 * about 64 KiB at most.
 */
struct orma_module_symbols_facts orma_module_symbols_write(struct orma_module_symbols *symbols,
							   struct orma_data_source *source,
							   uint32_t idx, uint64_t deadline_ns);

#endif
