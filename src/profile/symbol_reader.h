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

/* All members are borrowed for the call. */
struct orma_symbol_request {
	const struct orma_unwind_file *file;
	struct orma_str path; /* where the file is opened again if it has no descriptor */
	const uint64_t *addresses;
	size_t count;
};

/* `options` may be NULL, and is for tests. The child is orma_symbol_names_run() unless they name another one.
 * 0, -ENOMEM or another -errno. */
int orma_symbol_reader_new(const struct orma_table_builder_options *options,
			   struct orma_symbol_reader **ret);
/* Does not wait for a file that is being read. If it takes longer than a second to open a file, the thread frees everything later.
 * NULL does nothing. */
void orma_symbol_reader_free(struct orma_symbol_reader *reader);
/* Reads the names of the functions at these addresses into an empty buffer, which the caller owns, in the
 * form of symbol_names.h. 0, -ETIMEDOUT (the deadline, on CLOCK_MONOTONIC, has passed), -ESTALE (another file
 * is at the path now), -EIO (the child has died, or its answer is invalid), or an error of
 * orma_symbol_table_new(). */
int orma_symbol_reader_read(struct orma_symbol_reader *reader,
			    const struct orma_symbol_request *request, uint64_t deadline_ns,
			    struct orma_buf *ret_untrusted);

#endif
