/* SPDX-License-Identifier: Apache-2.0
 * own_code.c - asks the dynamic loader for the modules of this process. The vDSO is read from
 * memory, all others from their files.
 */
#include "own_code.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct orma_unwind_table *make_table(const struct dl_phdr_info *info, size_t image_size)
{
	struct orma_unwind_table *table = NULL;
	struct orma_elf_file file;

	if (strstr(info->dlpi_name, "vdso")) {
		if (orma_elf_file_init_image(&file, (const void *)info->dlpi_addr, image_size) == 0)
			orma_unwind_table_new(&file, &table);
		return table;
	}
	int fd =
		open(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && orma_elf_file_init(&file, fd) == 0)
		orma_unwind_table_new(&file, &table);
	close(fd);
	return table;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct own_code *code = ctx;

	(void)size;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    code->space.module_count == OWN_CODE_MODULES_MAX)
			continue;
		code->modules[code->space.module_count] = (struct orma_unwind_module){
			.start = info->dlpi_addr + segment->p_vaddr,
			.end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz,
			.bias = info->dlpi_addr,
			.table_number = code->space.module_count + 1,
			.table = make_table(info, segment->p_memsz),
		};
		code->space.module_count++;
	}
	return 0;
}

static int compare_modules(const void *left, const void *right)
{
	const struct orma_unwind_module *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

void own_code_init(struct own_code *code)
{
	memset(code, 0, sizeof(*code));
	dl_iterate_phdr(add_module, code);
	qsort(code->modules, code->space.module_count, sizeof(code->modules[0]), compare_modules);
	code->space.modules = code->modules;
	code->space.cache = code->cache.slots;
	code->space.cache_count = ORMA_UNWIND_CACHE_SLOTS;
#ifdef __aarch64__
	code->space.is_arm64 = true;
#endif
}

void own_code_done(struct own_code *code)
{
	for (size_t i = 0; i < code->space.module_count; i++)
		orma_unwind_table_free((struct orma_unwind_table *)code->modules[i].table);
}
