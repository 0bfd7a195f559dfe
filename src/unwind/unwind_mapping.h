/* SPDX-License-Identifier: Apache-2.0
 * unwind_mapping.h - an executable mapping of another process, and the load of its file.
 *
 * Private to src/unwind. Users see struct orma_unwind_mapping (unwind_process.h).
 *
 * Threads: a mapping belongs to the thread of its processes. A child of fork() shares the mappings of its parent.
 */
#ifndef ORMA_UNWIND_UNWIND_MAPPING_H
#define ORMA_UNWIND_UNWIND_MAPPING_H

#include "base/macros.h"
#include "unwind/unwind_process.h"

/* A mapping with the members that its users do not see. */
struct orma_private_mapping {
	struct orma_unwind_mapping base; /* first */
	struct orma_process_map map;     /* its texts are in `text` */
	uint32_t refs;
	bool is_loaded;                /* `base` says with which result */
	struct orma_unwind_load *load; /* NULL = not in progress */
	uint64_t load_end_ns;          /* when the wait for the file ends; 0 = it has not begun */
	const struct orma_unwind_file *late_file; /* was read after that; NULL = none */
	char text[];                              /* the path, NUL */
};

/* The process that needs the file of a mapping, and how long it waits for the file. */
struct orma_mapping_reader {
	struct orma_unwind_files *files; /* borrowed, as is the patience */
	int32_t pid;
	bool never_waits;
	struct orma_unwind_patience
		*patience; /* NULL = it waits for each file as long as it takes */
};

/* Returns a mapping with one reference, which copies `map`. NULL without memory. */
struct orma_private_mapping *orma_private_mapping_new(struct orma_unwind_files *files,
						      const struct orma_process_map *map);
/* True if the mapping is still the one that `map` describes. */
bool orma_private_mapping_is_same(const struct orma_private_mapping *mapping,
				  const struct orma_process_map *map);

/* Opens the file and builds its table, once. Returns 0, also if there is no file or no table (base.load_error says why); -EAGAIN (the
 * file is being read) or -ENOMEM. Only for a mapping that is not loaded. */
int orma_private_mapping_load(struct orma_private_mapping *mapping,
			      const struct orma_mapping_reader *reader);

/* True if the file was given up, and is still being read or has been read since. */
static inline bool orma_private_mapping_is_late(const struct orma_private_mapping *mapping)
{
	return mapping->late_file || (mapping->is_loaded && mapping->load);
}
/* Takes the file of a mapping that is late, if it has been read by now: sets `late_file`. */
void orma_private_mapping_poll_late(struct orma_private_mapping *mapping,
				    const struct orma_mapping_reader *reader);
/* Returns a new mapping that has `late_file`, for the place of the old one. NULL without memory. */
struct orma_private_mapping *orma_private_mapping_renew(const struct orma_private_mapping *late,
							struct orma_unwind_files *files);

/* Returns what a walk needs to know of a part of the mapping. */
struct orma_unwind_module orma_private_mapping_module(const struct orma_private_mapping *mapping,
						      uint64_t start, uint64_t end);

#endif
