/* SPDX-License-Identifier: Apache-2.0
 * private_folder.h - a temporary folder that only this user can enter, and that is removed with its
 * process.
 */
#ifndef ORMA_TOOL_PRIVATE_FOLDER_H
#define ORMA_TOOL_PRIVATE_FOLDER_H

#include <orma/error.h>

/* The files that can be in it. The folder is locked, so a service that locks the folder of its socket needs an inner one. */
#define ORMA_PRIVATE_FOLDER_SOCKET "consumer"
#define ORMA_PRIVATE_FOLDER_INNER  "inner"
/* A link that orma heap makes when the path of its library cannot be preloaded. */
#define ORMA_PRIVATE_FOLDER_LIBRARY "liborma-heap.so"

/* A trace that nobody keeps: something else is made of it. */
#define ORMA_PRIVATE_FOLDER_TRACE "trace.pftrace"

#define ORMA_PRIVATE_FOLDER_PRODUCERS ORMA_PRIVATE_FOLDER_INNER "/producer"
#define ORMA_PRIVATE_FOLDER_PROFILER  ORMA_PRIVATE_FOLDER_INNER "/profiler"

struct orma_private_folder {
	char path[64]; /* "" = none */
	int fd;        /* locked as long as the folder is in use */
};

/* Returns where to make one: `wanted` (the value of TMPDIR, may be NULL) if a socket's address can
 * begin with it, else /tmp. */
const char *orma_private_folder_parent(const char *wanted);
/* Makes a folder in `parent`, and removes those of this user's processes that were killed. */
int orma_private_folder_make(const char *parent, struct orma_private_folder *ret,
			     struct orma_error *reterr);
/* Removes the folder with its content. Does nothing when there is none. */
void orma_private_folder_remove(struct orma_private_folder *folder);

#endif
