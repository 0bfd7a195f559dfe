/* SPDX-License-Identifier: Apache-2.0
 * symbol_names.h - the functions of addresses in a file, read by a process without rights.
 *
 * A question is a list of addresses of eight bytes each. The answer has, for each address in order, the
 * size of the function's name in two bytes, and the name. Size 0 = there is no function.
 */
#ifndef ORMA_PROFILE_SYMBOL_NAMES_H
#define ORMA_PROFILE_SYMBOL_NAMES_H

#include <stdbool.h>

#include "unwind/table_child.h"

#define ORMA_SYMBOL_NAME_BYTES_MAX 4096u

/* Answers a question, in the child of a table builder (orma_table_answer_fn). 0 or -errno of
 * orma_symbol_table_new(). */
int orma_symbol_names_answer(const struct orma_elf_file *elf, const void *question, size_t size,
			     struct orma_buf *ret);
/* The child, for struct orma_table_builder_options. */
_Noreturn void orma_symbol_names_run(int socket);

/* Takes the next name of an answer; empty = there is no function. False at the end of the answer, or if
 * the rest is malformed. */
bool orma_symbol_names_next(struct orma_str *answer_untrusted, struct orma_str *ret_name);

#endif
