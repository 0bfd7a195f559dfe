/* SPDX-License-Identifier: Apache-2.0
 * elf_file.c - finds the parts of an ELF file: segments, .eh_frame, symbols, build id.
 *
 * The file belongs to a traced program, so it is not trusted. Only the syntax of the values in struct
 * orma_elf_file has been checked. Offsets and sizes of parts are checked in read_at(), when a part is
 * read, against the size that the file had when it was opened. Counts of headers are limited, and
 * every header is read on its own.
 *
 * Sections are preferred, because they tell the size of .eh_frame. If a file has no section headers,
 * PT_GNU_EH_FRAME leads to .eh_frame, which is then taken to end with its segment.
 *
 * Rejected: mapping the file, because its owner can truncate it and the reader would get SIGBUS;
 * libelf, because the recorder would depend on it for a few structs.
 */
#include "unwind/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"

#define SEGMENTS_MAX    128u
#define SECTIONS_MAX    65535u /* cc1 has 40; files of many sections are not linked programs */
#define NOTES_BYTES_MAX 4096u
#define NAME_BYTES_MAX  16u

/* --- reading ---------------------------------------------------------------------------------- */

static int read_at(const struct orma_elf_file *file, uint64_t offset, void *data, size_t size)
{
	if (offset > file->size || size > file->size - offset)
		return -EBADMSG;
	if (file->fd < 0) {
		memcpy(data, file->image + offset, size);
		return 0;
	}
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

int orma_elf_file_read_part(const struct orma_elf_file *file, const struct orma_elf_part *part,
			    size_t limit_bytes, struct orma_buf *buf)
{
	if (part->offset > file->size || part->size > file->size - part->offset)
		return -EBADMSG;
	if (part->size > limit_bytes)
		return -EFBIG;
	int r = orma_base_buf_reserve(buf, (size_t)part->size);
	if (r == 0 && part->size > 0)
		r = read_at(file, part->offset, buf->data + buf->size, (size_t)part->size);
	if (r == 0)
		buf->size += (size_t)part->size;
	return r;
}

/* --- segments --------------------------------------------------------------------------------- */

static bool is_build_id(const uint8_t *name, const Elf64_Nhdr *note)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
	       memcmp(name, "GNU", 4) == 0 && note->n_descsz > 0 &&
	       note->n_descsz <= ORMA_ELF_BUILD_ID_MAX;
}

/* Malformed notes are no error, because a file without a build id is still useful. */
size_t orma_elf_find_build_id(const uint8_t *notes, size_t size, uint8_t ret[ORMA_ELF_BUILD_ID_MAX])
{
	for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		uint64_t name_size = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		uint64_t value_size = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);

		if (name_size + value_size > size - at)
			return 0;
		if (is_build_id(notes + at, &note)) {
			memcpy(ret, notes + at + name_size, note.n_descsz);
			return note.n_descsz;
		}
		at += (size_t)(name_size + value_size);
	}
	return 0;
}

static void find_build_id(struct orma_elf_file *file, const Elf64_Phdr *segment)
{
	uint8_t notes[NOTES_BYTES_MAX];
	size_t size = (size_t)ORMA_MIN(segment->p_filesz, (uint64_t)sizeof(notes));

	if (read_at(file, segment->p_offset, notes, size) == 0)
		file->build_id_size = orma_elf_find_build_id(notes, size, file->build_id);
}

static int add_load(struct orma_elf_file *file, const Elf64_Phdr *segment)
{
	if (file->load_count == ORMA_ELF_LOADS_MAX)
		return -EFBIG;
	file->loads[file->load_count++] = (struct orma_elf_load){
		.offset = segment->p_offset,
		.file_size = segment->p_filesz,
		.address = segment->p_vaddr,
		.memory_size = segment->p_memsz,
		.flags = segment->p_flags,
	};
	return 0;
}

static int read_segments(struct orma_elf_file *file, const Elf64_Ehdr *header, Elf64_Phdr *ret_hdr)
{
	if (header->e_phnum > SEGMENTS_MAX)
		return -EFBIG;
	if (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		if (header->e_phoff > file->size)
			return -EBADMSG;
		int r = read_at(file, header->e_phoff + (uint64_t)i * sizeof(segment), &segment,
				sizeof(segment));
		if (r == 0 && segment.p_type == PT_LOAD)
			r = add_load(file, &segment);
		else if (r == 0 && segment.p_type == PT_NOTE && file->build_id_size == 0)
			find_build_id(file, &segment);
		else if (r == 0 && segment.p_type == PT_GNU_EH_FRAME)
			*ret_hdr = segment;
		if (r < 0)
			return r;
	}
	return 0;
}

uint64_t orma_elf_eh_frame_address(const struct orma_elf_eh_frame_hdr *hdr, uint64_t address)
{
	const uint8_t pcrel_sdata4 = 0x1b; /* as linkers write it */

	if (hdr->version != 1 || hdr->pointer_encoding != pcrel_sdata4)
		return 0;
	return address + offsetof(struct orma_elf_eh_frame_hdr, pointer) +
	       (uint64_t)(int64_t)hdr->pointer;
}

/* Finds .eh_frame by the address in .eh_frame_hdr. Its size is taken to be the rest of its segment. */
static int find_eh_frame(struct orma_elf_file *file, const Elf64_Phdr *hdr)
{
	struct orma_elf_eh_frame_hdr start;
	int r = read_at(file, hdr->p_offset, &start, sizeof(start));
	uint64_t address = r < 0 ? 0 : orma_elf_eh_frame_address(&start, hdr->p_vaddr);

	if (address == 0)
		return r;
	for (uint16_t i = 0; i < file->load_count; i++) {
		const struct orma_elf_load *load = &file->loads[i];
		uint64_t skip = address - load->address;

		if (address < load->address || skip >= load->file_size ||
		    load->offset > file->size || load->file_size > file->size - load->offset)
			continue;
		file->eh_frame = (struct orma_elf_part){
			.offset = load->offset + skip,
			.size = load->file_size - skip,
			.address = address,
		};
		return 0;
	}
	return 0;
}

/* --- sections --------------------------------------------------------------------------------- */

static int read_section(const struct orma_elf_file *file, const Elf64_Ehdr *header, uint32_t idx,
			Elf64_Shdr *ret)
{
	if (idx >= header->e_shnum || header->e_shoff > file->size)
		return -EBADMSG;
	return read_at(file, header->e_shoff + (uint64_t)idx * sizeof(*ret), ret, sizeof(*ret));
}

static struct orma_elf_part part_of(const Elf64_Shdr *section)
{
	return (struct orma_elf_part){section->sh_offset, section->sh_size, section->sh_addr};
}

static bool is_named(const struct orma_elf_file *file, const Elf64_Shdr *names,
		     const Elf64_Shdr *section, const char *wanted)
{
	char name[NAME_BYTES_MAX];
	size_t size = strlen(wanted) + 1;

	return names->sh_offset <= file->size &&
	       read_at(file, names->sh_offset + section->sh_name, name, size) == 0 &&
	       memcmp(name, wanted, size) == 0;
}

static int read_sections(struct orma_elf_file *file, const Elf64_Ehdr *header)
{
	Elf64_Shdr names, section, strings;

	if (header->e_shnum == 0 || header->e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	int r = read_section(file, header, header->e_shstrndx, &names);
	for (uint32_t i = 0; r == 0 && i < header->e_shnum && i < SECTIONS_MAX; i++) {
		r = read_section(file, header, i, &section);
		bool is_symtab = r == 0 && section.sh_type == SHT_SYMTAB;

		if (r < 0 || section.sh_type == SHT_NOBITS)
			continue;
		if (is_symtab || (section.sh_type == SHT_DYNSYM && !file->has_symtab)) {
			r = read_section(file, header, section.sh_link, &strings);
			if (r < 0)
				return r;
			file->symbols = part_of(&section);
			file->symbol_names = part_of(&strings);
			file->has_symtab = is_symtab;
		} else if (is_named(file, &names, &section, ".eh_frame")) {
			file->eh_frame = part_of(&section);
		} else if (is_named(file, &names, &section, ".gnu_debuglink")) {
			file->debug_link = part_of(&section);
		} else if (is_named(file, &names, &section, ".gnu_debugdata")) {
			file->debug_data = part_of(&section);
		}
	}
	return r;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int read_headers(struct orma_elf_file *file)
{
	Elf64_Ehdr header;
	Elf64_Phdr hdr = {0};
	int r = read_at(file, 0, &header, sizeof(header));

	if (r < 0 || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return r == -EBADMSG || r == 0 ? -ENOEXEC : r;
	if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64)
		return -ENOTSUP;
	file->machine = header.e_machine;
	r = read_segments(file, &header, &hdr);
	/* Damaged sections are ignored, because a program runs from its segments. */
	if (r == 0 && read_sections(file, &header) < 0)
		file->symbols.size = file->eh_frame.size = file->debug_link.size =
			file->debug_data.size = 0;
	if (r == 0 && file->eh_frame.size == 0 && hdr.p_type == PT_GNU_EH_FRAME)
		r = find_eh_frame(file, &hdr);
	return r;
}

int orma_elf_file_init(struct orma_elf_file *file, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	*file = (struct orma_elf_file){.fd = fd, .size = (uint64_t)st.st_size};
	return read_headers(file);
}

int orma_elf_file_init_image(struct orma_elf_file *file, const void *image, size_t size)
{
	*file = (struct orma_elf_file){.fd = -1, .image = image, .size = size};
	return read_headers(file);
}
