/* SPDX-License-Identifier: Apache-2.0
 * unwind_files.h - the programs and libraries that other processes run, opened safely, and their
 * unwind tables. A file that many processes map is read once.
 *
 * Threads: all functions are thread-safe, and a file is not changed after it was given out. Files
 *          are opened by a thread of its own, and read by a child process without rights. A table may
 *          take 100 ms to build; orma_unwind_files_poll() does not wait for it.
 */
#ifndef ORMA_UNWIND_UNWIND_FILES_H
#define ORMA_UNWIND_UNWIND_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/mapped_file.h"
#include "unwind/perf_map_loader.h"
#include "unwind/process_maps.h"
#include "unwind/table_builder.h"
#include "unwind/unwind_table.h"

struct orma_unwind_files;

struct orma_unwind_file {
	/* Headers, build id, and the descriptor or image, from which symbols can be read. Reading a part
	 * gives -EBADMSG if the file has no descriptor, because too many are open. */
	struct orma_elf_file elf;
	struct orma_unwind_table *table; /* NULL = none; then table_error says why */
	int table_error;                 /* 0 or -errno */
	uint64_t number;                 /* see orma_unwind_files_next_number() */
};

/* Limits of the memory of unused files, of the memory of all tables, and of descriptors. 0 = the defaults:
 * 64 MiB, 512 MiB and 256. */
struct orma_unwind_files_limits {
	size_t unused_bytes, table_bytes;
	uint32_t open_count;
	uint64_t load_ns; /* see orma_unwind_files_load_ns(); 0 = three seconds */
	struct orma_table_builder_options builder;
	orma_perf_map_read_fn *read_perf_map; /* NULL = orma_perf_map_read() */
};

struct orma_unwind_files_facts {
	uint32_t file_count, open_count; /* all files, and those with a descriptor */
	size_t table_bytes;
};

/* `limits` may be NULL. 0, -ENOMEM or another -errno. */
int orma_unwind_files_new(const struct orma_unwind_files_limits *limits,
			  struct orma_unwind_files **ret);
/* No file may be in use or being loaded any more. NULL does nothing. */
void orma_unwind_files_free(struct orma_unwind_files *files);
struct orma_unwind_files_facts orma_unwind_files_facts(struct orma_unwind_files *files);
/* Borrowed. */
struct orma_perf_map_loader *orma_unwind_files_perf_maps(const struct orma_unwind_files *files);
/* Returns a number, from 1 on, that it has never returned before. */
uint64_t orma_unwind_files_next_number(struct orma_unwind_files *files);

/* Returns how long stacks may wait for a file to be read. */
uint64_t orma_unwind_files_load_ns(const struct orma_unwind_files *files);

/* A file that is being read. */
struct orma_unwind_load;

/*
 * Returns the file of an executable mapping of the process `pid`. It is opened through
 * /proc/PID/map_files, else through the root folder of the process, or ours after the process has ended.
 * It must be a regular file with the inode and the device of the mapping. "[vdso]" is
 * taken from this process, because all processes have the same. Files with equal build ids and owners
 * share one table.
 *
 * `*load` is NULL at first. -EAGAIN sets it, because the file is being read. Call again with it when
 * orma_unwind_files_event_fd() is readable, or drop it with orma_unwind_load_free().
 *
 * 0 and a file that the caller unrefs, with or without a table; -ENOENT (no file, or the process has
 * ended), -ESTALE (another file is there now), -ENOEXEC and -ENOTSUP as orma_elf_file_init(), -ENOMEM or
 * another -errno.
 */
int orma_unwind_files_poll(struct orma_unwind_files *files, int32_t pid,
			   const struct orma_process_map *map, struct orma_unwind_load **load,
			   const struct orma_unwind_file **ret);
/* Waits for a load, at most three seconds, and ends it. Returns as orma_unwind_files_poll(), or -ETIMEDOUT. */
int orma_unwind_files_wait(struct orma_unwind_load **load, const struct orma_unwind_file **ret);
/* Waits at most `timeout_ns`. False if the file is still being read. */
bool orma_unwind_load_wait(struct orma_unwind_load *load, uint64_t timeout_ns);
/* Polls, and waits if the file has to be read. */
int orma_unwind_files_load(struct orma_unwind_files *files, int32_t pid,
			   const struct orma_process_map *map, const struct orma_unwind_file **ret);
/* NULL does nothing. */
void orma_unwind_load_free(struct orma_unwind_load *load);
/* An eventfd that becomes readable when a load has ended; the caller reads it. Borrowed. */
int orma_unwind_files_event_fd(const struct orma_unwind_files *files);
const struct orma_unwind_file *orma_unwind_file_ref(const struct orma_unwind_file *file);
/* For orma_mapped_file_reopen(), which opens a file that is in use and has no descriptor. */
struct orma_file_identity orma_unwind_file_identity(const struct orma_unwind_file *file);
/* NULL does nothing. */
void orma_unwind_file_unref(const struct orma_unwind_file *file);

#endif
