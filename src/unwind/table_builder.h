/* SPDX-License-Identifier: Apache-2.0
 * table_builder.h - reads ELF files and builds their unwind tables in another process, which has no
 * rights.
 *
 *	r = orma_table_builder_open(builder, fd, &elf);
 *	if (r == 0)
 *		r = orma_table_builder_build(builder, &table);    or orma_table_builder_drop(builder),
 *		                                                  or orma_table_builder_ask(...)
 *
 * Threads: a builder belongs to one thread, which waits for the child.
 */
#ifndef ORMA_UNWIND_TABLE_BUILDER_H
#define ORMA_UNWIND_TABLE_BUILDER_H

#include <stdint.h>

#include "unwind/elf_file.h"
#include "unwind/table_child.h"
#include "unwind/unwind_table.h"

struct orma_table_builder;

struct orma_table_builder_options {
	uint32_t timeout_ms; /* for one step of a file; 0 = 5 seconds */
	orma_table_child_fn
		*child; /* tests: what runs in the child; NULL = orma_table_child_run() */
};

/* `options` may be NULL. 0 or -ENOMEM. The first file starts the child. */
int orma_table_builder_new(const struct orma_table_builder_options *options,
			   struct orma_table_builder **ret);
/* Ends the child. NULL does nothing. */
void orma_table_builder_free(struct orma_table_builder *builder);
/* Ends the child; the next file starts another. */
void orma_table_builder_rest(struct orma_table_builder *builder);

/*
 * Reads the headers of a file. 0, and the next call is one of the two below; the headers have no
 * descriptor, and their syntax has been checked. Errors are those of orma_elf_file_init(). -EIO: the
 * child has died or does not make sense, twice. -ETIMEDOUT: it needs too long. -ECHILD: there can be
 * no child.
 */
int orma_table_builder_open(struct orma_table_builder *builder, int fd, struct orma_elf_file *ret);
/* Builds the table. Errors are those of orma_unwind_table_new(), and the others above. */
int orma_table_builder_build(struct orma_table_builder *builder, struct orma_unwind_table **ret);
/* Asks the function of the child about the file (orma_table_child_run_with()), in place of its table, and
 * appends the answer, at most ORMA_TABLE_ANSWER_BYTES_MAX that nobody has checked. Errors are those of
 * that function, -EFBIG, -ENOMEM, and the others above; a child that dies is not asked again. */
int orma_table_builder_ask(struct orma_table_builder *builder, const void *question, size_t size,
			   struct orma_buf *ret_untrusted);
/* The table is not wanted. */
void orma_table_builder_drop(struct orma_table_builder *builder);

#endif
