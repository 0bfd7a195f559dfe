/* SPDX-License-Identifier: Apache-2.0
 * module_lines.c - finds names in the best source that has them: debugging information, .symtab, .gnu_debugdata, or .dynsym, in
 * this order.
 *
 * A module is a program or library (`own`) together with the separate file of its debugging information. Either may be missing.
 */
#include "symbols/module_lines.h"

#include <elf.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "symbols/mini_debug.h"
#include "symbols/symbol_table.h"

/* Tables of names from .symtab, .gnu_debugdata and .dynsym; the best is first. */
enum { LINKER, MINI_DEBUG, LOADER, TABLES };

struct orma_module_lines {
	struct orma_debug_file own, separate;
	int file_error;
	struct orma_dwarf *dwarf;
	struct orma_symbol_table *tables[TABLES];
};

static int read_tables(struct orma_module_lines *module, const struct orma_elf_file *elf)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf mini = {0};
	struct orma_elf_file inner;
	size_t place = elf->has_symtab ? LINKER : LOADER;
	int r = module->tables[place] ? 0 : orma_symbol_table_new(elf, &module->tables[place]);

	if (r != -ENOMEM && !module->tables[LINKER] && !module->tables[MINI_DEBUG]) {
		r = orma_mini_debug_read(elf, &mini);
		if (r == 0)
			r = orma_elf_file_init_image(&inner, mini.data, mini.size);
		if (r == 0)
			r = orma_symbol_table_new(&inner, &module->tables[MINI_DEBUG]);
	}
	/* Missing or damaged symbols are no error, because another source may have the names. */
	return r == -ENOMEM ? r : 0;
}

static int read_file(struct orma_module_lines *module, const struct orma_debug_file *file)
{
	if (file->fd < 0)
		return 0;
	int r = read_tables(module, &file->elf);
	if (r == 0 && !module->dwarf)
		r = orma_dwarf_open(file->fd, &module->dwarf);
	return r == -ENOMEM ? r : 0;
}

static int open_files(struct orma_module_lines *module, const char *path,
		      const struct orma_build_id *id, const struct orma_debug_folders *folders)
{
	module->file_error = orma_debug_file_open(path, id, folders, &module->own);
	int r = module->file_error == 0
			? orma_debug_file_open_separate(&module->own.elf, module->own.path, folders,
							&module->separate)
			: orma_debug_file_open_by_id(id, folders, &module->separate);
	return r < 0 && module->own.fd < 0 ? module->file_error : 0;
}

int orma_module_lines_open(const char *path, const struct orma_build_id *id,
			   const struct orma_debug_folders *folders, struct orma_module_lines **ret)
{
	struct orma_module_lines *module = orma_base_zalloc(sizeof(*module));

	if (!module)
		return -ENOMEM;
	module->own.fd = module->separate.fd = -1;
	int r = open_files(module, path, id, folders);
	if (r == 0)
		r = read_file(module, &module->separate);
	if (r == 0)
		r = read_file(module, &module->own);
	bool has_names = module->dwarf != NULL;
	for (size_t i = 0; i < TABLES; i++)
		has_names |= module->tables[i] != NULL;
	if (r == 0 && !has_names)
		r = -ENODATA;
	if (r < 0)
		orma_module_lines_close(module);
	else
		*ret = module;
	return r;
}

void orma_module_lines_close(struct orma_module_lines *module)
{
	if (!module)
		return;
	orma_dwarf_close(module->dwarf);
	for (size_t i = 0; i < TABLES; i++)
		orma_symbol_table_free(module->tables[i]);
	orma_debug_file_close(&module->own);
	orma_debug_file_close(&module->separate);
	orma_base_free(module);
}

struct orma_module_facts orma_module_lines_facts(const struct orma_module_lines *module)
{
	return (struct orma_module_facts){
		.file_error = module->file_error,
		.has_symbols = module->tables[LINKER] || module->tables[MINI_DEBUG],
		.has_lines = module->dwarf != NULL,
		.path = module->own.fd >= 0 ? module->own.path : module->separate.path,
	};
}

uint64_t orma_module_lines_address(const struct orma_module_lines *module, uint64_t offset,
				   uint64_t bias)
{
	const struct orma_elf_file *elf = &module->own.elf;

	/* Only segments of the program itself count: a separate file of debugging information has other offsets. */
	for (uint16_t i = 0; module->own.fd >= 0 && i < elf->load_count; i++)
		if (elf->loads[i].flags & PF_X && offset >= elf->loads[i].offset &&
		    offset - elf->loads[i].offset < elf->loads[i].file_size)
			return offset - elf->loads[i].offset + elf->loads[i].address;
	return offset + bias;
}

static const char *find_symbol(const struct orma_module_lines *module, uint64_t address)
{
	const char *name = NULL;
	uint64_t offset;

	for (size_t i = 0; i < TABLES && !name; i++)
		if (module->tables[i])
			name = orma_symbol_table_find(module->tables[i], address, &offset);
	return name;
}

struct search {
	const struct orma_module_lines *module;
	uint64_t address;
	orma_source_line_fn *fn;
	void *ctx;
	bool has_line;
};

/* Assembly code has lines but no functions in DWARF, so its name comes from the symbols. */
static int take_line(void *ctx, const struct orma_source_line *line)
{
	struct search *search = ctx;
	struct orma_source_line named = *line;

	search->has_line = true;
	if (!named.function)
		named.function = find_symbol(search->module, search->address);
	return search->fn(search->ctx, &named);
}

int orma_module_lines_find(struct orma_module_lines *module, uint64_t address,
			   orma_source_line_fn *fn, void *ctx)
{
	struct search search = {module, address, fn, ctx, false};
	int r = module->dwarf ? orma_dwarf_find(module->dwarf, address, take_line, &search) : 0;

	if (r != 0 || search.has_line)
		return r;
	struct orma_source_line line = {.function = find_symbol(module, address)};
	return line.function ? fn(ctx, &line) : 0;
}
