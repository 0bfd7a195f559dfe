/* SPDX-License-Identifier: Apache-2.0
 * self_image.c - the parts of a loaded module that unwinding needs, from its segments in memory.
 *
 * Nothing is read outside of a readable loaded segment. No file is opened, because another file may lie
 * at the path of a module by now.
 */
#include "unwind/self_image.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/macros.h"

#ifdef __SANITIZE_ADDRESS__
#define IS_GUARDED true
#else
#define IS_GUARDED false
#endif
#define EH_FRAME_BYTES_MAX (64u << 20)
#define NOTES_BYTES_MAX    4096u
#define PAGE               UINT64_C(4096) /* with larger pages, a mapping only begins earlier */

/* memcpy() without the checks of AddressSanitizer, which guards parts of instrumented modules. */
__attribute__((no_sanitize("address"))) static void copy_memory(void *to, uint64_t from,
								size_t size)
{
	const volatile uint8_t *at = (const volatile uint8_t *)(uintptr_t)from;

	if (!IS_GUARDED) {
		memcpy(to, (const void *)(uintptr_t)from, size);
		return;
	}
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = at[i];
}

/* The loaded segment that holds `size` bytes at an address, or NULL. */
static const ElfW(Phdr) *
	segment_at(const struct dl_phdr_info *info, uint64_t address, uint64_t size)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t offset = address - info->dlpi_addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) &&
		    offset < segment->p_filesz && size <= segment->p_filesz - offset)
			return segment;
	}
	return NULL;
}

static void read_build_id(const struct dl_phdr_info *info, struct orma_self_module *ret)
{
	uint8_t notes[NOTES_BYTES_MAX];

	for (uint32_t i = 0; i < info->dlpi_phnum && ret->build_id_size == 0; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t address = info->dlpi_addr + segment->p_vaddr;
		size_t size =
			(size_t)ORMA_MIN((uint64_t)segment->p_filesz, (uint64_t)sizeof(notes));

		if (segment->p_type != PT_NOTE || !segment_at(info, address, size))
			continue;
		copy_memory(notes, address, size);
		ret->build_id_size = orma_elf_find_build_id(notes, size, ret->build_id);
	}
}

static void read_path(const struct dl_phdr_info *info, char *ret, size_t size)
{
	ssize_t length = 0;

	if (info->dlpi_addr != 0 && info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		snprintf(ret, size, "[vdso]");
	else if (info->dlpi_name && info->dlpi_name[0])
		snprintf(ret, size, "%s", info->dlpi_name);
	else if ((length = readlink("/proc/self/exe", ret, size - 1)) > 0)
		ret[length] = '\0';
}

void orma_self_image_describe(const struct dl_phdr_info *info, const ElfW(Phdr) * segment,
			      struct orma_self_module *ret)
{
	uint64_t start = info->dlpi_addr + segment->p_vaddr;
	uint64_t skip = start & (PAGE - 1);

	*ret = (struct orma_self_module){
		.start = start - skip,
		.end = start + segment->p_memsz,
		.offset = segment->p_offset - skip,
		.load_bias = segment->p_vaddr - segment->p_offset,
	};
	read_path(info, ret->path, sizeof(ret->path));
	read_build_id(info, ret);
}

int orma_self_image_copy_eh_frame(const struct dl_phdr_info *info, struct orma_buf *bytes,
				  uint64_t *ret_address)
{
	struct orma_elf_eh_frame_hdr hdr;

	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t address = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_GNU_EH_FRAME || !segment_at(info, address, sizeof(hdr)))
			continue;
		copy_memory(&hdr, address, sizeof(hdr));
		address = orma_elf_eh_frame_address(&hdr, address);
		const ElfW(Phdr) *loaded = address ? segment_at(info, address, 4) : NULL;
		if (!loaded)
			return -ENODATA;
		uint64_t size = info->dlpi_addr + loaded->p_vaddr + loaded->p_filesz - address;
		if (size > EH_FRAME_BYTES_MAX)
			return -EFBIG;
		int r = orma_base_buf_reserve(bytes, (size_t)size);
		if (r < 0)
			return r;
		copy_memory(bytes->data, address, (size_t)size);
		bytes->size = (size_t)size;
		*ret_address = address - info->dlpi_addr;
		return 0;
	}
	return -ENODATA;
}

int orma_self_stack_find(struct orma_self_stack *ret)
{
	pthread_attr_t attr;
	void *low;
	size_t size;

	int r = pthread_getattr_np(pthread_self(), &attr);
	if (r != 0)
		return -r;
	r = pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	if (r != 0)
		return -r;
	*ret = (struct orma_self_stack){(uintptr_t)low, (uintptr_t)low + size};
	return 0;
}
