/* SPDX-License-Identifier: Apache-2.0
 * table_builder.h - reads ELF files and builds their unwind tables in another process, which has no
 * rights.
 *
 *	r = orma_table_builder_open(builder, fd, &elf);
 *	if (r == 0)
 *		r = orma_table_builder_build(builder, &table);    or orma_table_builder_drop(builder),
 *		                                                  or orma_table_builder_ask(...)
 *
 * Threads: a builder belongs to one thread, which waits for the child. Any thread may stop it.
 */
#ifndef ORMA_UNWIND_TABLE_BUILDER_H
#define ORMA_UNWIND_TABLE_BUILDER_H

#include <stdint.h>

#include "unwind/elf_file.h"
#include "unwind/table_child.h"
#include "unwind/unwind_table.h"

struct orma_table_builder;

struct orma_table_builder_options {
	uint32_t timeout_ms;        /* for one step of a file; 0 = 5 seconds */
	orma_table_child_fn *child; /* runs in the child; NULL = orma_table_child_run() */
};

/* `options` may be NULL. 0 or -errno. The first file starts the child. */
int orma_table_builder_new(const struct orma_table_builder_options *options,
			   struct orma_table_builder **ret);
/* Ends the child. NULL does nothing. */
void orma_table_builder_free(struct orma_table_builder *builder);
/* Ends the child of an idle builder. The next file starts another child. */
void orma_table_builder_rest(struct orma_table_builder *builder);
/* From now on, functions do not wait for the child. If it has not answered yet, they end it and return -ECANCELED. A function
 * that is running on another thread does so, too. */
void orma_table_builder_stop(struct orma_table_builder *builder);

/*
 * Reads the headers of a file. After 0, the next call is one of the three below. The headers have no
 * descriptor, and only their syntax has been checked. Errors are those of orma_elf_file_init(), and:
 * -EIO (the child has died or sent nonsense, twice), -ETIMEDOUT (it takes too long), -ECHILD (a child
 * cannot be started).
 */
int orma_table_builder_open(struct orma_table_builder *builder, int fd, struct orma_elf_file *ret);
/* Builds the table. Errors are those of orma_unwind_table_new(), and -EIO, -ETIMEDOUT and -ECHILD. */
int orma_table_builder_build(struct orma_table_builder *builder, struct orma_unwind_table **ret);
/* Lets the child's function (orma_table_child_run_with()) answer a question about the file, and appends the
 * answer, which is at most ORMA_TABLE_ANSWER_BYTES_MAX long and not trusted. Errors are those of that
 * function, -EFBIG, -ENOMEM, -EIO and -ETIMEDOUT. The question is not repeated after the child has died. */
int orma_table_builder_ask(struct orma_table_builder *builder, const void *question, size_t size,
			   struct orma_buf *ret_untrusted);
/* Nothing more is needed of the file. */
void orma_table_builder_drop(struct orma_table_builder *builder);

#endif
