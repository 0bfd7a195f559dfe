/* SPDX-License-Identifier: Apache-2.0
 * file_cache.h - the files that unwind_files.c has read, and who uses them.
 *
 * Threads: all functions are thread-safe.
 */
#ifndef ORMA_UNWIND_FILE_CACHE_H
#define ORMA_UNWIND_FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "unwind/mapped_file.h"
#include "unwind/unwind_files.h"

struct orma_file_cache;

/* The reader sets base, identity, bytes and image. The cache sets the rest. */
struct orma_cached_file {
	struct orma_unwind_file base;
	struct orma_file_identity identity; /* all 0 = the vDSO */
	size_t bytes;                       /* its memory, with its table */
	void *image;                        /* the vDSO's; owned */
	struct orma_file_cache *cache;
	struct orma_list unused_item;
	uint32_t refs;
};

/* `limits` may be NULL. 0 or -ENOMEM. */
int orma_file_cache_new(const struct orma_unwind_files_limits *limits,
			struct orma_file_cache **ret);
/* No file may be in use any more. NULL does nothing. */
void orma_file_cache_free(struct orma_file_cache *cache);
struct orma_unwind_files_facts orma_file_cache_facts(struct orma_file_cache *cache);
uint64_t orma_file_cache_next_number(struct orma_file_cache *cache);
/* True if tables take so much memory that no more should be built. */
bool orma_file_cache_is_full(struct orma_file_cache *cache);

/* All functions that return a file return a reference. They take the descriptor `*fd`, which becomes -1,
 * if the file has none and fewer than the limit are open. */

/* Finds the file of a mapping, if it has users and a descriptor. 0 or -ENOENT. */
int orma_file_cache_find_mapped(struct orma_file_cache *cache, const struct orma_process_map *map,
				struct orma_cached_file **ret);
/* Finds a file that has been opened, by its identity. 0, or -ENOENT if it was not read before. */
int orma_file_cache_find_opened(struct orma_file_cache *cache,
				const struct orma_file_identity *identity, int *fd,
				struct orma_cached_file **ret);
struct orma_cached_file *orma_file_cache_find_vdso(struct orma_file_cache *cache);
/*
 * Takes a file whose headers have been read. If a file with the same build id and owner, or the same
 * identity, is known, returns that and frees `file`. Otherwise `file` is put into the cache and
 * returned, if it has a table or the reason for having none. NULL if it has neither: nothing has
 * changed, and its table has to be built.
 */
struct orma_cached_file *orma_file_cache_share(struct orma_file_cache *cache,
					       struct orma_cached_file *file, int *fd);

/* Frees a file that is not in the cache. */
void orma_cached_file_discard(struct orma_cached_file *file);

#endif
