/* SPDX-License-Identifier: Apache-2.0
 * elf_symbol.h - finds a function of a program or library, for probes on it.
 */
#ifndef ORMA_PROBES_ELF_SYMBOL_H
#define ORMA_PROBES_ELF_SYMBOL_H

#include <stdint.h>

#include "base/str.h"

/*
 * Finds the offset in the file at which the function's code begins. The reads are subtracted from `bytes_left`. 0,
 * -ENOENT (no such file), -ENODATA (no such function), -ENOEXEC (not an ELF file of this machine's byte order), -EBADMSG
 * (damaged), -EFBIG (bytes_left, or the limit of a table), -ENOMEM, or another -errno.
 */
int orma_elf_find_function(const char *path, struct orma_str name, uint64_t *bytes_left,
			   uint64_t *ret_offset);

#endif
