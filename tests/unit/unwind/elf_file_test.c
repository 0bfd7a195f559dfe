/* SPDX-License-Identifier: Apache-2.0
 * elf_file_test.c - the parts of this program's own file, of damaged files, and of other files.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "unwind/elf_file.h"

static void read_self(struct orma_buf *buf)
{
	CHECK_INT(orma_base_file_read(AT_FDCWD, "/proc/self/exe", 64u << 20, buf), 0);
}

static Elf64_Ehdr *header_of(struct orma_buf *buf)
{
	return (Elf64_Ehdr *)(void *)buf->data;
}

static Elf64_Phdr *segment_of(struct orma_buf *buf, uint32_t type)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(buf->data + header_of(buf)->e_phoff);

	for (uint32_t i = 0; i < header_of(buf)->e_phnum; i++)
		if (segments[i].p_type == type)
			return &segments[i];
	return NULL;
}

/* Compares with the note that the loader has put into this process. */
static int compare_build_id(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct orma_elf_file *file = ctx;

	(void)size;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const char *end = at + info->dlpi_phdr[i].p_memsz;

		while (info->dlpi_phdr[i].p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) < end) {
			Elf64_Nhdr note;
			memcpy(&note, at, sizeof(note));
			if (note.n_type == NT_GNU_BUILD_ID) {
				CHECK_MEM(file->build_id, file->build_id_size,
					  at + sizeof(note) + 4, note.n_descsz);
				return 2;
			}
			at += sizeof(note) + ((note.n_namesz + 3) & ~3u) +
			      ((note.n_descsz + 3) & ~3u);
		}
	}
	return 1;
}

ORMA_TEST(the_parts_of_this_program_are_found)
{
	struct orma_elf_file file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK_INT(orma_elf_file_init(&file, fd), 0);
	CHECK(file.load_count >= 2 && file.eh_frame.size > 0 && file.symbols.size > 0);
	int found = dl_iterate_phdr(compare_build_id, &file);
	CHECK_INT(found == 2, file.build_id_size > 0);
	/* .eh_frame begins with a common record: a size, and the id 0. */
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	CHECK_INT(orma_elf_file_read_part(&file, &file.eh_frame, 64u << 20, &content), 0);
	uint32_t words[2];
	memcpy(words, content.data, sizeof(words));
	CHECK(words[0] > 0 && words[0] < 64 && words[1] == 0);
	CHECK_INT(orma_elf_file_read_part(&file, &file.eh_frame, 16, &content), -EFBIG);
	close(fd);
}

ORMA_TEST(a_file_without_sections_has_its_eh_frame)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_elf_file whole, stripped;

	read_self(&buf);
	CHECK_INT(orma_elf_file_init_image(&whole, buf.data, buf.size), 0);
	if (!segment_of(&buf, PT_GNU_EH_FRAME))
		orma_test_skip("a program linked with --eh-frame-hdr");
	header_of(&buf)->e_shnum = 0;
	CHECK_INT(orma_elf_file_init_image(&stripped, buf.data, buf.size), 0);
	CHECK_INT(stripped.eh_frame.offset, whole.eh_frame.offset);
	CHECK_INT(stripped.eh_frame.address, whole.eh_frame.address);
	CHECK(stripped.eh_frame.size >= whole.eh_frame.size);
	CHECK_INT(stripped.symbols.size, 0);
	/* So has one whose section headers lie behind its end. */
	header_of(&buf)->e_shnum = whole.load_count;
	header_of(&buf)->e_shoff = buf.size - 8;
	CHECK_INT(orma_elf_file_init_image(&stripped, buf.data, buf.size), 0);
	CHECK_INT(stripped.eh_frame.address, whole.eh_frame.address);
}

ORMA_TEST(files_of_other_kinds_are_refused)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_elf_file file;
	char path[512];

	read_self(&buf);
	CHECK_INT(orma_elf_file_init_image(&file, "text", 4), -ENOEXEC);
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, 63), -ENOEXEC);
	buf.data[EI_CLASS] = ELFCLASS32;
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, buf.size), -ENOEXEC);
	buf.data[EI_CLASS] = ELFCLASS64;
	header_of(&buf)->e_machine = EM_RISCV;
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, buf.size), -ENOTSUP);
	snprintf(path, sizeof(path), "%s/fifo", orma_test_tmpdir());
	CHECK_INT(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_INT(orma_elf_file_init(&file, fd), -ENOEXEC);
	close(fd);
	CHECK_INT(orma_elf_file_init(&file, -1), -EBADF);
}

ORMA_TEST(damaged_headers_are_errors_or_missing_parts)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_elf_file file;

	read_self(&buf);
	Elf64_Ehdr saved = *header_of(&buf);
	header_of(&buf)->e_phoff = UINT64_MAX - 4;
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, buf.size), -EBADMSG);
	*header_of(&buf) = saved;
	header_of(&buf)->e_phentsize = 1;
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, buf.size), -EBADMSG);
	*header_of(&buf) = saved;
	header_of(&buf)->e_phnum = 4000;
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, buf.size), -EFBIG);
	*header_of(&buf) = saved;
	header_of(&buf)->e_shnum = 0;
	if (!segment_of(&buf, PT_GNU_EH_FRAME) || !segment_of(&buf, PT_NOTE))
		orma_test_skip("a program linked with --eh-frame-hdr and --build-id");
	segment_of(&buf, PT_GNU_EH_FRAME)->p_vaddr += UINT64_C(1) << 40;
	segment_of(&buf, PT_NOTE)->p_offset = buf.size;
	CHECK_INT(orma_elf_file_init_image(&file, buf.data, buf.size), 0);
	CHECK_INT(file.eh_frame.size, 0);
	struct orma_elf_part beyond = {.offset = buf.size - 8, .size = 9};
	CHECK_INT(orma_elf_file_read_part(&file, &beyond, 1u << 20, &buf), -EBADMSG);
}
