/* SPDX-License-Identifier: Apache-2.0
 * module_lines.h - the names and lines of a program or library, from all files on this machine that have some of them.
 */
#ifndef ORMA_SYMBOLS_MODULE_LINES_H
#define ORMA_SYMBOLS_MODULE_LINES_H

#include "symbols/debug_file.h"
#include "symbols/dwarf_lines.h"

struct orma_module_lines;

/* The source of the names. */
struct orma_module_facts {
	/* 0, or the reason why the program or library itself was not read: -ENOENT, -ESTALE (another build id) or another -errno. */
	int file_error;
	bool has_symbols; /* all functions have names: .symtab or .gnu_debugdata */
	bool has_lines;   /* there is debugging information, and libdw */
	const char *path; /* a file that was read */
};

/* 0; -ENOENT (no file belongs to the module); -ESTALE (only files with another build id); -ENODATA (no file has names); or another
 * -errno. */
int orma_module_lines_open(const char *path, const struct orma_build_id *id,
			   const struct orma_debug_folders *folders,
			   struct orma_module_lines **ret);
void orma_module_lines_close(struct orma_module_lines *module);
struct orma_module_facts orma_module_lines_facts(const struct orma_module_lines *module);

/* Returns the virtual address for an offset in the file. If no segment has the offset, that is the offset plus `bias`, the load bias
 * in the trace. */
uint64_t orma_module_lines_address(const struct orma_module_lines *module, uint64_t offset,
				   uint64_t bias);
/* Calls `fn` for each function at a virtual address of the file, the innermost first. 0, the value of `fn` or -ENOMEM. */
int orma_module_lines_find(struct orma_module_lines *module, uint64_t address,
			   orma_source_line_fn *fn, void *ctx);

#endif
