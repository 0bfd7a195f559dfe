/* SPDX-License-Identifier: Apache-2.0
 * cfi_parse.h - the records of .eh_frame: which functions it describes, and where their programs
 * of call frame information lie.
 *
 * Threads: any. A cursor and a walk belong to their caller.
 */
#ifndef ORMA_UNWIND_CFI_PARSE_H
#define ORMA_UNWIND_CFI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* .eh_frame in memory, and the address of its first byte. */
struct orma_cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t address;
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
};

/* Bytes that are left to read. `is_bad` is set by a read beyond the end, which gives 0. */
struct orma_cfi_cursor {
	const uint8_t *at, *end;
	uint64_t address; /* where the byte at `at` lies */
	bool is_bad;
};

/* A CIE of DWARF: what the functions of a compilation share. */
struct orma_cfi_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointer_encoding;
	bool has_augmentation, is_signal;
	struct orma_cfi_cursor program;
};

/* An FDE of DWARF: one function, or a part of one. */
struct orma_cfi_function {
	uint64_t start, size;
	uint32_t common_offset;
	struct orma_cfi_cursor program;
};

uint8_t orma_cfi_read_u8(struct orma_cfi_cursor *cursor);
uint16_t orma_cfi_read_u16(struct orma_cfi_cursor *cursor);
uint32_t orma_cfi_read_u32(struct orma_cfi_cursor *cursor);
uint64_t orma_cfi_read_uleb(struct orma_cfi_cursor *cursor);
int64_t orma_cfi_read_sleb(struct orma_cfi_cursor *cursor);
/* Reads a pointer in one of the encodings that linkers write for code. Another encoding makes the cursor bad. */
uint64_t orma_cfi_read_pointer(struct orma_cfi_cursor *cursor, uint8_t encoding);
/* Takes `size` bytes out of the cursor. */
struct orma_cfi_cursor orma_cfi_read_block(struct orma_cfi_cursor *cursor, uint64_t size);

/* 0, or -EBADMSG. */
int orma_cfi_common_parse(const struct orma_cfi_section *section, uint32_t offset,
			  struct orma_cfi_common *ret);

/* Visits the records. `last` is the common record that was read last; neighbouring functions share it. */
struct orma_cfi_walk {
	const struct orma_cfi_section *section;
	size_t offset;
	bool has_last;
	uint32_t last_offset;
	struct orma_cfi_common last;
	uint32_t skipped_count; /* functions whose records are damaged or of unknown kind */
};

/* True and the next function, or false at the end. */
bool orma_cfi_walk_next(struct orma_cfi_walk *walk, struct orma_cfi_function *ret);

#endif
