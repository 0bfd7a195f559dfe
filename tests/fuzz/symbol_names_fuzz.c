/* SPDX-License-Identifier: Apache-2.0
 * symbol_names_fuzz.c - what the child that reads symbols answers: any bytes, and what it answers about any bytes as a file.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/symbol_names.h"
#include "unwind/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes all names, and returns how many there are. They lie behind each other. */
static size_t take_names(struct orma_str answer)
{
	const char *at = answer.data, *end = answer.data + answer.size;
	struct orma_str name;
	size_t count = 0;

	while (orma_symbol_names_next(&answer, &name)) {
		if (name.data != at + sizeof(uint16_t) || name.size > ORMA_SYMBOL_NAME_BYTES_MAX ||
		    answer.data != name.data + name.size || answer.data + answer.size != end)
			abort();
		at = answer.data;
		count++;
	}
	return count;
}

/* The addresses of the question are the file's own words. */
static void ask(const uint8_t *data, size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf answer = {0};
	struct orma_elf_file file;
	size_t question_size = size < 512 ? size : 512;

	if (orma_elf_file_init_image(&file, data, size) < 0)
		return;
	if (orma_symbol_names_answer(&file, data, question_size, &answer) == 0 &&
	    take_names(orma_base_buf_str(&answer)) != question_size / sizeof(uint64_t))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1); /* malloc(0) may be NULL */

	memcpy(copy, data, size);
	(void)take_names((struct orma_str){copy, size});
	free(copy);
	ask(data, size);
	return 0;
}
