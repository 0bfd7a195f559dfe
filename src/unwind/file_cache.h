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

/* Its reader fills in base, identity, bytes and image; the rest is the cache's. */
struct orma_cached_file {
	struct orma_unwind_file base;
	struct orma_file_identity identity; /* all 0 = the vDSO */
	size_t bytes;                       /* all that it takes */
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
/* Tables take so much memory that no more should be built. */
bool orma_file_cache_is_full(struct orma_file_cache *cache);

/* All functions that give out a file give out a reference, and take the descriptor `*fd` if the
 * file has none and there are not too many; then it becomes -1. */

/*
 * The build id of a mapping, which the kernel tells, is enough to find a file that nobody but the
 * administrator can have written. A process that has ended leaves no more. For one that runs, it
 * saves opening the file, as long as others use it and keep its descriptor: `only_used`. 0 or -ENOENT.
 */
int orma_file_cache_find_build_id(struct orma_file_cache *cache, const struct orma_process_map *map,
				  bool only_used, struct orma_cached_file **ret);
/* A file that has been opened. 0; -ENOENT when it was not read before; -ESTALE when it is not the one
 * that was mapped: the path may have another program now than the process had. */
int orma_file_cache_find_opened(struct orma_file_cache *cache, const struct orma_process_map *map,
				const struct orma_file_identity *identity, int *fd,
				struct orma_cached_file **ret);
struct orma_cached_file *orma_file_cache_find_vdso(struct orma_file_cache *cache);
/*
 * A file whose headers have been read. Gives out a known one with its build id and owner, and frees
 * `file`; else puts `file` into the cache if it has a table or the reason why not. NULL, and nothing has
 * changed: its table has to be built.
 */
struct orma_cached_file *orma_file_cache_share(struct orma_file_cache *cache,
					       struct orma_cached_file *file, int *fd);

/* For a file that is not in the cache. */
void orma_cached_file_discard(struct orma_cached_file *file);
bool orma_cached_file_has_build_id(const struct orma_cached_file *file,
				   const struct orma_process_map *map);

#endif
