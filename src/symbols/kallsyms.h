/* SPDX-License-Identifier: Apache-2.0
 * kallsyms.h - the names of the kernel's functions by address, read from /proc/kallsyms on a thread of its own.
 */
#ifndef ORMA_SYMBOLS_KALLSYMS_H
#define ORMA_SYMBOLS_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/str.h"

struct orma_kallsyms;
struct orma_kallsyms_load;

/* Parses a whole text. 0, -ENODATA (no function), -EACCES (all addresses are zero: kptr_restrict hides them), -ENOMEM. */
int orma_kallsyms_parse(struct orma_str text, struct orma_kallsyms **ret);
void orma_kallsyms_free(struct orma_kallsyms *kallsyms);
/* The function that contains the address; an empty string when there is none. Valid until it is freed. */
struct orma_str orma_kallsyms_find(const struct orma_kallsyms *kallsyms, uint64_t address);
uint32_t orma_kallsyms_count(const struct orma_kallsyms *kallsyms);
size_t orma_kallsyms_bytes(const struct orma_kallsyms *kallsyms);

/*
 * Reads and parses `path` on another thread. `on_loaded` runs once on the loop's thread. Its result is 0 with symbols
 * that the callee owns, or an error of opening, reading or parsing. 0, -ENOMEM or the errno of making a thread.
 */
typedef void orma_kallsyms_loaded_fn(void *ctx, int result, struct orma_kallsyms *kallsyms);
int orma_kallsyms_load_start(struct orma_loop *loop, const char *path,
			     orma_kallsyms_loaded_fn *on_loaded, void *ctx,
			     struct orma_kallsyms_load **ret);
/* Waits for the thread; `on_loaded` does not run any more. Also frees a finished load; NULL does nothing. */
void orma_kallsyms_load_free(struct orma_kallsyms_load *load);

#endif
