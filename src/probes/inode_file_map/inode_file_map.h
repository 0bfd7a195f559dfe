/* SPDX-License-Identifier: Apache-2.0
 * inode_file_map.h - the parts of the data source linux.inode_file_map: its configuration, the
 * mounted file systems, and a walk through folders in small steps.
 */
#ifndef ORMA_PROBES_INODE_FILE_MAP_H
#define ORMA_PROBES_INODE_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* ---- mounted file systems (mount_table.c) ---- */

struct orma_mount {
	uint64_t device; /* as stat() gives it */
	bool is_whole;   /* shows the root of the file system */
	struct orma_str path;
};

/* Takes the next mount from the text of /proc/self/mountinfo. The path is in `path_buf`, which is
 * replaced by the next call. Returns false at the end. */
bool orma_mount_next(struct orma_str *text, struct orma_buf *path_buf, struct orma_mount *ret);

/* ---- the walk (inode_walk.c) ---- */

#define ORMA_INODE_FOLDERS_MAX (1u << 20) /* that wait to be read; more are left out */

enum orma_inode_type { ORMA_INODE_UNKNOWN = 0, ORMA_INODE_FILE = 1, ORMA_INODE_FOLDER = 2 };

struct orma_inode_entry {
	uint64_t device, inode;
	enum orma_inode_type type;
	const char *folder; /* path of the folder that has the entry */
	const char *name;
};

/* {.fd = -1} is a walk with nothing to do. */
struct orma_inode_walk {
	struct orma_buf folders; /* paths, each with a NUL; the last one is next */
	size_t folder_count;
	/* The folder that is being read. */
	int fd; /* -1 = none */
	struct orma_buf path;
	uint64_t device;
	struct orma_buf entries; /* as getdents64() returns them */
	size_t at;               /* the next entry */
};

void orma_inode_walk_done(struct orma_inode_walk *walk);
/* Adds a root. A folder on another device than its root's is not entered. 0 or -ENOMEM. */
int orma_inode_walk_add(struct orma_inode_walk *walk, const char *path);
/* Returns the next entry, whose strings are valid until the next call. The name is NULL when a system
 * call had to be made instead, so that the caller can end its turn among thousands of empty folders.
 * False at the end. */
bool orma_inode_walk_next(struct orma_inode_walk *walk, struct orma_inode_entry *ret);

#endif
