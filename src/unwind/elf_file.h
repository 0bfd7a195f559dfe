/* SPDX-License-Identifier: Apache-2.0
 * elf_file.h - where the parts of an ELF file lie that unwinding and symbols need.
 *
 * Threads: a file does not change after orma_elf_file_init(), so several threads may read its parts.
 */
#ifndef ORMA_UNWIND_ELF_FILE_H
#define ORMA_UNWIND_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define ORMA_ELF_LOADS_MAX    16
#define ORMA_ELF_BUILD_ID_MAX 64

/* A part of the file. `size` is 0 when the file has none. */
struct orma_elf_part {
	uint64_t offset, size;
	uint64_t
		address; /* the virtual address that the file names; 0 when the part is not loaded */
};

/* A loaded segment. */
struct orma_elf_load {
	uint64_t offset, file_size;
	uint64_t address, memory_size;
	uint32_t flags; /* PF_* */
};

struct orma_elf_file {
	int fd;               /* borrowed; -1 when the content is `image` */
	const uint8_t *image; /* borrowed */
	uint64_t size;
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint16_t load_count;
	struct orma_elf_load loads[ORMA_ELF_LOADS_MAX];
	struct orma_elf_part eh_frame;
	struct orma_elf_part symbols, symbol_names; /* .symtab, else .dynsym */
	bool has_symtab;
	/* .gnu_debuglink, which names the file with debugging information, and .gnu_debugdata */
	struct orma_elf_part debug_link, debug_data;
	uint8_t build_id[ORMA_ELF_BUILD_ID_MAX];
	size_t build_id_size; /* 0 when the file has none */
};

/*
 * Reads the headers of a file that may be anything. The descriptor is borrowed for as long as the
 * file is used, and a FIFO or device is refused without a read. 0, -ENOEXEC (not a little-endian
 * ELF file of 64 bits), -ENOTSUP (another machine), -EBADMSG (damaged), -EFBIG (more headers than
 * programs have) or another -errno.
 */
int orma_elf_file_init(struct orma_elf_file *file, int fd);
/* Does the same for a file in memory, such as the vDSO. */
int orma_elf_file_init_image(struct orma_elf_file *file, const void *image, size_t size);
/* Appends a part of the file. 0, -EBADMSG (beyond the end of the file), -EFBIG (over limit_bytes),
 * -ENOMEM or another -errno. */
int orma_elf_file_read_part(const struct orma_elf_file *file, const struct orma_elf_part *part,
			    size_t limit_bytes, struct orma_buf *buf);

/* Finds the build id in the bytes of a note segment, which are not trusted. Returns its size; 0 = none. */
size_t orma_elf_find_build_id(const uint8_t *notes, size_t size,
			      uint8_t ret[ORMA_ELF_BUILD_ID_MAX]);
/* The beginning of .eh_frame_hdr (PT_GNU_EH_FRAME). */
struct orma_elf_eh_frame_hdr {
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	int32_t pointer;
};
/* Returns the address of .eh_frame for a header that lies at `address`; 0 if the header has another
 * version or encoding than linkers write. */
uint64_t orma_elf_eh_frame_address(const struct orma_elf_eh_frame_hdr *hdr, uint64_t address);

#endif
