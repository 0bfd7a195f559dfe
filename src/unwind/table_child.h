/* SPDX-License-Identifier: Apache-2.0
 * table_child.h - the process that reads ELF files and builds their unwind tables, and what it says.
 *
 *	parent                                child
 *	                                      struct orma_table_hello
 *	a byte, with the file's descriptor    struct orma_table_headers
 *	after error 0: ORMA_TABLE_BUILD       struct orma_table_reply, then `size` bytes of the table
 *	           or ORMA_TABLE_ASK, struct orma_table_question and its bytes
 *	                                      struct orma_table_reply, then `size` bytes of the answer
 *	           or ORMA_TABLE_DROP         nothing
 *
 * Both sides are the same program, so structs are sent as they are in memory. The parent trusts none of them.
 *
 * Threads: the child has one thread.
 */
#ifndef ORMA_UNWIND_TABLE_CHILD_H
#define ORMA_UNWIND_TABLE_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "unwind/elf_file.h"

#define ORMA_TABLE_QUESTION_BYTES_MAX (8u << 20)
#define ORMA_TABLE_ANSWER_BYTES_MAX   (64u << 20)

/* The parent's request, once it has the headers. */
enum orma_table_request { ORMA_TABLE_DROP = 'd', ORMA_TABLE_BUILD = 'b', ORMA_TABLE_ASK = 'q' };

struct orma_table_hello {
	int32_t error;        /* 0, or -errno: the child ends */
	int32_t filter_error; /* 0, or -errno: it has no filter of system calls */
};

struct orma_table_headers {
	int64_t error; /* 0 or -errno of orma_elf_file_init() */
	struct orma_elf_file elf;
};

struct orma_table_question {
	uint64_t size;
};

struct orma_table_reply {
	int64_t error; /* 0 or -errno of orma_unwind_table_new(), or of the function that answers */
	uint64_t size;
};

/* Serves a blocking socket until its other end is closed, and ends the process. */
typedef void orma_table_child_fn(int socket);
_Noreturn void orma_table_child_run(int socket);
/* Answers a question about a file, which the parent asks instead of requesting a table. 0 or -errno. */
typedef int orma_table_answer_fn(const struct orma_elf_file *elf, const void *question, size_t size,
				 struct orma_buf *ret);
/* The same, with a function for questions. */
_Noreturn void orma_table_child_run_with(int socket, orma_table_answer_fn *answer);
/* Serves without giving up rights first, for tests that make the child misbehave. `answer` may be NULL. */
void orma_table_child_serve(int socket, orma_table_answer_fn *answer);

#endif
