/* SPDX-License-Identifier: Apache-2.0
 * unwind_table_fuzz.c - any bytes as an ELF file whose table is built and searched. Bytes that are
 * no ELF file are taken as .eh_frame, so that mutations need not get past the headers. The same
 * bytes are then walked as a stack, with that table for every address.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/leaf_walk.h"
#include "unwind/unwind_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct orma_unwind_rule *rule)
{
	if (rule->cfa > ORMA_UNWIND_CFA_PLT || rule->return_where > ORMA_UNWIND_OTHER ||
	    rule->fp_where > ORMA_UNWIND_OTHER || rule->plt_split > 15)
		abort();
}

#define FRAMES_MAX 64

/* The bytes lie at the table's addresses, so that they may name each other. */
static void walk(const struct orma_unwind_table *table, const struct orma_elf_file *file)
{
	static struct orma_unwind_cache cache;
	static struct orma_unwind_memo memo;
	struct orma_unwind_module module = {.end = UINT64_MAX, .table = table};
	struct orma_unwind_space space = {
		.modules = &module,
		.module_count = 1,
		.is_arm64 = file->machine == EM_AARCH64,
	};
	struct orma_unwind_stack stack = {file->eh_frame.address, file->image, file->size};
	uint64_t frames[FRAMES_MAX] = {0}, again[FRAMES_MAX];

	memset(&cache, 0, sizeof(cache));
	memo.count = 0;
	for (uint64_t at = 0; at + 24 <= file->size && at < 512; at += 8) {
		struct orma_unwind_registers registers = {.sp = stack.address + at};

		memcpy(&registers.pc, file->image + at, 8);
		memcpy(&registers.fp, file->image + at + 8, 8);
		memcpy(&registers.lr, file->image + at + 16, 8);
		space.cache = NULL;
		space.memo = NULL;
		struct orma_unwind_result result =
			orma_unwind_walk(&space, &registers, &stack, frames, FRAMES_MAX);
		if (result.frame_count == 0 || result.frame_count > FRAMES_MAX ||
		    result.fp_count >= result.frame_count)
			abort();
		/* Rules that are remembered are the same. */
		space.cache = cache.slots;
		space.cache_count = ORMA_UNWIND_CACHE_SLOTS;
		space.memo = &memo;
		struct orma_unwind_result second =
			orma_unwind_walk(&space, &registers, &stack, again, FRAMES_MAX);
		if (second.end != result.end || second.frame_count != result.frame_count ||
		    memcmp(again, frames, result.frame_count * sizeof(*frames)) != 0)
			abort();
		/* So are frames that are recognised. */
		second = orma_unwind_walk(&space, &registers, &stack, again, FRAMES_MAX);
		if (second.end != result.end || second.frame_count != result.frame_count ||
		    memcmp(again, frames, result.frame_count * sizeof(*frames)) != 0)
			abort();
		/* Every address is in a module, so a leaf without a rule often has a caller. */
		if (orma_unwind_leaf_walk(&space, &registers, &stack, again, FRAMES_MAX, &second) &&
		    (second.frame_count < 2 || second.frame_count > FRAMES_MAX ||
		     again[0] != registers.pc))
			abort();
		/* So has a frame without a rule at the end of a walk. */
		second = result;
		memcpy(again, frames, sizeof(again));
		if (orma_unwind_trampoline_walk(&space, &registers, &stack, again, FRAMES_MAX,
						&second) &&
		    (second.frame_count == 0 ||
		     second.frame_count > FRAMES_MAX - result.frame_count ||
		     memcmp(again, frames, result.frame_count * sizeof(*frames)) != 0))
			abort();
	}
}

static void search(const struct orma_elf_file *file)
{
	struct orma_unwind_table *table = NULL;
	int r = orma_unwind_table_new(file, &table);

	if (r > 0 || (r == 0) != (table != NULL))
		abort();
	if (r < 0)
		return;
	struct orma_unwind_table_facts facts = orma_unwind_table_facts(table);
	/* Each row takes a byte of a program, or ends a function. */
	if (facts.rule_count > facts.row_count + 1 ||
	    facts.row_count > file->eh_frame.size + 2 * (uint64_t)facts.function_count * 256 + 1)
		abort();
	for (unsigned bit = 0; bit < 64; bit++) {
		check_rule(orma_unwind_table_find(table, UINT64_C(1) << bit));
		check_rule(orma_unwind_table_find(table, UINT64_MAX << bit));
		check_rule(orma_unwind_table_find(table,
						  file->eh_frame.address - (UINT64_C(1) << bit)));
	}
	walk(table, file);
	orma_unwind_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_elf_file file;

	if (orma_elf_file_init_image(&file, data, size) == 0) {
		search(&file);
		return 0;
	}
	file = (struct orma_elf_file){.fd = -1,
				      .image = data,
				      .size = size,
				      .machine = size & 1 ? EM_X86_64 : EM_AARCH64,
				      .eh_frame = {.size = size, .address = 0x10000}};
	search(&file);
	return 0;
}
