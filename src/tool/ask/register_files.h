/* SPDX-License-Identifier: Apache-2.0
 * register_files.h - lists the files of a folder as tables.
 */
#ifndef ORMA_TOOL_REGISTER_FILES_H
#define ORMA_TOOL_REGISTER_FILES_H

#include "answers/trace_database.h"

/* Adds all files in and below a folder to the tables __intrinsic_file and __intrinsic_elf_file. Returns 0, or
 * ORMA_EXIT_FAILURE when a message has said what is wrong. */
int orma_register_files(struct orma_trace_database *database, const char *folder);

#endif
