/* SPDX-License-Identifier: Apache-2.0
 * elf_symbol.c - looks a name up in the symbol tables of an ELF file.
 *
 * Owns the descriptor and a string table at a time. The kernel's uprobes take an offset in a file, people have a name. The
 * file is named by a config and may be anything: it is opened without blocking, must be a regular file, and every offset,
 * size and count in it is checked where it is used. Symbols are read a piece at a time; string tables over 64 MiB are
 * refused. Everything that is read is taken from the caller's allowance, so that a config has an end. .dynsym is looked at
 * as well as .symtab, so libraries without debug symbols work.
 *
 * Files of 32 bits are converted to the structs of 64 bits as they are read, so there is one search. Rejected: libelf (a
 * dependency for one lookup), mapping the file (another process can truncate it meanwhile).
 */
#include "probes/ftrace/elf_symbol.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"

#define STRINGS_BYTES_MAX (64u << 20)
#define PIECE_BYTES       (96u << 10) /* divides a symbol table at whole symbols */
#define READ_BYTES_MIN    1024u       /* the least price of a read */
#define TABLES_MAX        4           /* a file has one of each kind */

struct elf_file {
	int fd;
	uint64_t *bytes_left;
	bool is_64;
	Elf64_Ehdr header;
};

/* --- reading ---------------------------------------------------------------------------------- */

static int read_at(const struct elf_file *file, uint64_t offset, void *data, size_t size)
{
	uint64_t cost = ORMA_MAX(size, (size_t)READ_BYTES_MIN);

	if (offset > (uint64_t)INT64_MAX - size)
		return -EBADMSG;
	if (cost > *file->bytes_left)
		return -EFBIG;
	*file->bytes_left -= cost;
	for (size_t done = 0; done < size;) {
		ssize_t count =
			pread(file->fd, (char *)data + done, size - done, (off_t)(offset + done));

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count == 0)
			return -EBADMSG;
		done += count > 0 ? (size_t)count : 0;
	}
	return 0;
}

/* Replaces the content of the buffer. */
static int read_table(const struct elf_file *file, uint64_t offset, uint64_t size,
		      struct orma_buf *ret)
{
	ret->size = 0;
	if (size > STRINGS_BYTES_MAX || size > *file->bytes_left)
		return -EFBIG;
	int r = orma_base_buf_reserve(ret, (size_t)size);
	if (r == 0)
		r = read_at(file, offset, ret->data, (size_t)size);
	if (r == 0)
		ret->size = (size_t)size;
	return r;
}

static int read_header(struct elf_file *file)
{
	unsigned char ident[EI_NIDENT];
	const unsigned char order =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	int r = read_at(file, 0, ident, sizeof(ident));

	if (r < 0 || memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != order)
		return r == -EBADMSG || r == 0 ? -ENOEXEC : r;
	file->is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (file->is_64)
		return read_at(file, 0, &file->header, sizeof(file->header));
	Elf32_Ehdr narrow;
	r = read_at(file, 0, &narrow, sizeof(narrow));
	if (r == 0)
		file->header = (Elf64_Ehdr){
			.e_phoff = narrow.e_phoff,
			.e_shoff = narrow.e_shoff,
			.e_phentsize = narrow.e_phentsize,
			.e_phnum = narrow.e_phnum,
			.e_shentsize = narrow.e_shentsize,
			.e_shnum = narrow.e_shnum,
		};
	return r;
}

static int read_section(const struct elf_file *file, uint32_t idx, Elf64_Shdr *ret)
{
	uint64_t offset = file->header.e_shoff + (uint64_t)idx * file->header.e_shentsize;
	size_t size = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);

	if (idx >= file->header.e_shnum || file->header.e_shentsize < size)
		return -EBADMSG;
	if (file->is_64)
		return read_at(file, offset, ret, size);
	Elf32_Shdr narrow;
	int r = read_at(file, offset, &narrow, size);
	if (r == 0)
		*ret = (Elf64_Shdr){.sh_type = narrow.sh_type,
				    .sh_offset = narrow.sh_offset,
				    .sh_size = narrow.sh_size,
				    .sh_link = narrow.sh_link};
	return r;
}

static int read_segment(const struct elf_file *file, uint32_t idx, Elf64_Phdr *ret)
{
	uint64_t offset = file->header.e_phoff + (uint64_t)idx * file->header.e_phentsize;
	size_t size = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (file->header.e_phentsize < size)
		return -EBADMSG;
	if (file->is_64)
		return read_at(file, offset, ret, size);
	Elf32_Phdr narrow;
	int r = read_at(file, offset, &narrow, size);
	if (r == 0)
		*ret = (Elf64_Phdr){.p_type = narrow.p_type,
				    .p_offset = narrow.p_offset,
				    .p_vaddr = narrow.p_vaddr,
				    .p_filesz = narrow.p_filesz};
	return r;
}

/* --- searching -------------------------------------------------------------------------------- */

static Elf64_Sym symbol_at(const struct elf_file *file, const struct orma_buf *table, size_t idx)
{
	Elf64_Sym symbol;
	Elf32_Sym narrow;

	if (file->is_64) {
		memcpy(&symbol, table->data + idx * sizeof(symbol), sizeof(symbol));
		return symbol;
	}
	memcpy(&narrow, table->data + idx * sizeof(narrow), sizeof(narrow));
	return (Elf64_Sym){.st_name = narrow.st_name,
			   .st_info = narrow.st_info,
			   .st_shndx = narrow.st_shndx,
			   .st_value = narrow.st_value};
}

static bool is_function_named(const Elf64_Sym *symbol, const struct orma_buf *strings,
			      struct orma_str name)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_name < strings->size && name.size < strings->size - symbol->st_name &&
	       memcmp(strings->data + symbol->st_name, name.data, name.size) == 0 &&
	       strings->data[symbol->st_name + name.size] == '\0';
}

static bool find_in_piece(const struct elf_file *file, const struct orma_buf *piece,
			  const struct orma_buf *strings, struct orma_str name,
			  uint64_t *ret_address)
{
	size_t count = piece->size / (file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));

	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol = symbol_at(file, piece, i);

		if (is_function_named(&symbol, strings, name)) {
			*ret_address = symbol.st_value;
			return true;
		}
	}
	return false;
}

/* Returns 1 when the section has the function, 0 when it has not. */
static int search_section(const struct elf_file *file, const Elf64_Shdr *section,
			  struct orma_str name, uint64_t *ret_address)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf piece = {0}, strings = {0};
	Elf64_Shdr string_section;
	int r = read_section(file, section->sh_link, &string_section);

	if (r == 0)
		r = read_table(file, string_section.sh_offset, string_section.sh_size, &strings);
	for (uint64_t at = 0; r == 0 && at < section->sh_size; at += PIECE_BYTES) {
		uint64_t size = ORMA_MIN(section->sh_size - at, (uint64_t)PIECE_BYTES);

		if (section->sh_offset > (uint64_t)INT64_MAX - at)
			return -EBADMSG;
		r = read_table(file, section->sh_offset + at, size, &piece);
		if (r == 0 && find_in_piece(file, &piece, &strings, name, ret_address))
			return 1;
	}
	return r;
}

static int find_address(const struct elf_file *file, struct orma_str name, uint64_t *ret)
{
	for (uint32_t i = 0, tables = 0; i < file->header.e_shnum && tables < TABLES_MAX; i++) {
		Elf64_Shdr section;
		int r = read_section(file, i, &section);

		if (r == 0 && (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)) {
			r = search_section(file, &section, name, ret);
			tables++;
		}
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return -ENODATA;
}

static int to_offset(const struct elf_file *file, uint64_t address, uint64_t *ret)
{
	for (uint32_t i = 0; i < file->header.e_phnum; i++) {
		Elf64_Phdr segment;
		int r = read_segment(file, i, &segment);

		if (r)
			return r;
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address - segment.p_vaddr < segment.p_filesz)
			return __builtin_add_overflow(address - segment.p_vaddr, segment.p_offset,
						      ret)
				       ? -EBADMSG
				       : 0;
	}
	return -EBADMSG;
}

/* A device acts when it is opened (a watchdog starts), so the type is known before. */
static int open_file(const char *path)
{
	ORMA_AUTO(orma_base_fd_closep)
	int place = orma_base_fd_avoid_standard(open(path, O_PATH | O_CLOEXEC));
	char link[32];
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	int fd = orma_base_fd_avoid_standard(open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	return fd < 0 ? -errno : fd;
}

int orma_elf_find_function(const char *path, struct orma_str name, uint64_t *bytes_left,
			   uint64_t *ret_offset)
{
	ORMA_AUTO(orma_base_fd_closep) int fd = open_file(path);
	struct elf_file file = {.fd = fd, .bytes_left = bytes_left};
	uint64_t address = 0;

	if (fd < 0)
		return fd;
	if (name.size == 0)
		return -ENOEXEC;
	int r = read_header(&file);
	if (r == 0)
		r = find_address(&file, name, &address);
	return r < 0 ? r : to_offset(&file, address, ret_offset);
}
