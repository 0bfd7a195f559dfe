/* SPDX-License-Identifier: Apache-2.0
 * dwarf_lines.h - places in the source, and functions that were inlined, from the debugging information of a file.
 */
#ifndef ORMA_SYMBOLS_DWARF_LINES_H
#define ORMA_SYMBOLS_DWARF_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct orma_dwarf;

/* A function, and where in it the address is. Texts are borrowed for the call; NULL and 0 = not known. */
struct orma_source_line {
	const char *function; /* as the linker knows it, if it does */
	const char *file;
	uint32_t line;
};

/* A value other than 0 ends the search with it. */
typedef int orma_source_line_fn(void *ctx, const struct orma_source_line *line);

/* True when orma was built for libdw, and the machine has it. */
bool orma_dwarf_is_available(void);
/* Opens the debugging information of a file; `fd` is borrowed until orma_dwarf_close(). 0, -ENOTSUP (there is no libdw), -ENODATA
 * (the file has no debugging information) or -ENOMEM. One thread at a time. */
int orma_dwarf_open(int fd, struct orma_dwarf **ret);
void orma_dwarf_close(struct orma_dwarf *dwarf);
/* Calls `fn` for each function at an address of the file, from the innermost inlined one to the outermost. 0 (also if there is none),
 * the value of `fn`, or -ENOMEM. */
int orma_dwarf_find(struct orma_dwarf *dwarf, uint64_t address, orma_source_line_fn *fn, void *ctx);

#endif
