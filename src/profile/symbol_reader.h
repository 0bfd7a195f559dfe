/* SPDX-License-Identifier: Apache-2.0
 * symbol_reader.h - reads the names of a file's functions, and waits for them no longer than its caller likes.
 */
#ifndef ORMA_PROFILE_SYMBOL_READER_H
#define ORMA_PROFILE_SYMBOL_READER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "unwind/table_child.h"
#include "unwind/unwind_files.h"

struct orma_symbol_reader;

/* All borrowed for the call. */
struct orma_symbol_request {
	const struct orma_unwind_file *file;
	struct orma_str path; /* where the file is opened again if it has no descriptor */
	const uint64_t *addresses;
	size_t count;
};

/* `options` are for tests, and may be NULL; their child is orma_symbol_names_run() if they name none. 0, -ENOMEM or another
 * -errno. */
int orma_symbol_reader_new(const struct orma_table_builder_options *options,
			   struct orma_symbol_reader **ret);
/* Waits for a second if a file is still being read, and leaves the thread to itself then. NULL does nothing. */
void orma_symbol_reader_free(struct orma_symbol_reader *reader);
/* Reads the names of the functions at these addresses, in the form of symbol_names.h, into an empty buffer, which is the
 * caller's. 0; -ETIMEDOUT at the deadline (CLOCK_MONOTONIC), -ESTALE (another file is there now), -EIO (the reader has died or
 * lied), or as orma_symbol_table_new(). */
int orma_symbol_reader_read(struct orma_symbol_reader *reader,
			    const struct orma_symbol_request *request, uint64_t deadline_ns,
			    struct orma_buf *ret_untrusted);

#endif
