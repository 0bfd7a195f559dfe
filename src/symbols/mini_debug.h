/* SPDX-License-Identifier: Apache-2.0
 * mini_debug.h - the small symbol table that Fedora and others leave in stripped programs.
 *
 * Threads: any. Nothing is kept.
 */
#ifndef ORMA_SYMBOLS_MINI_DEBUG_H
#define ORMA_SYMBOLS_MINI_DEBUG_H

#include "unwind/elf_file.h"

/*
 * Unpacks .gnu_debugdata, which is an ELF file that is compressed with xz. 0; -ENODATA: there is none; -ENOTSUP: orma was built
 * without liblzma; -EBADMSG; -EFBIG: it exceeds the limits in mini_debug.c; or -ENOMEM.
 */
int orma_mini_debug_read(const struct orma_elf_file *file, struct orma_buf *ret);

#endif
