/* SPDX-License-Identifier: Apache-2.0
 * symbol_reader.h - reads the names of a file's functions, and waits for them no longer than its caller likes.
 */
#ifndef ORMA_PROFILE_SYMBOL_READER_H
#define ORMA_PROFILE_SYMBOL_READER_H

#include <stdint.h>

#include "base/str.h"
#include "symbols/symbol_table.h"
#include "unwind/unwind_files.h"

struct orma_symbol_reader;

/* As orma_symbol_table_new(); tests have others. It runs on the reader's thread. */
typedef int orma_symbol_read_fn(const struct orma_elf_file *file, struct orma_symbol_table **ret);

/* `fn` may be NULL. 0, -ENOMEM or another -errno. */
int orma_symbol_reader_new(orma_symbol_read_fn *fn, struct orma_symbol_reader **ret);
/* Waits for a second if a file is still being read, and leaves the thread to itself then. NULL does nothing. */
void orma_symbol_reader_free(struct orma_symbol_reader *reader);
/* Reads the names of `file`, which is opened by its path again if it has no descriptor. 0 and a table that the caller frees;
 * -ETIMEDOUT at the deadline (CLOCK_MONOTONIC), -ESTALE (another file is there now), or as orma_symbol_table_new(). */
int orma_symbol_reader_read(struct orma_symbol_reader *reader, const struct orma_unwind_file *file,
			    struct orma_str path, uint64_t deadline_ns,
			    struct orma_symbol_table **ret);

#endif
