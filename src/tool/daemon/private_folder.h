/* SPDX-License-Identifier: Apache-2.0
 * private_folder.h - a temporary folder that only this user can enter, gone with its process.
 */
#ifndef ORMA_TOOL_PRIVATE_FOLDER_H
#define ORMA_TOOL_PRIVATE_FOLDER_H

#include <orma/error.h>

/* The one file that may be in it. */
#define ORMA_PRIVATE_FOLDER_SOCKET "consumer"

struct orma_private_folder {
	char path[64]; /* "" = none */
	int fd;        /* locked as long as the folder is in use */
};

/* Where to make one: what TMPDIR says (may be NULL), if a socket's address can begin with it, else
 * /tmp. */
const char *orma_private_folder_parent(const char *wanted);
/* Makes one in `parent`, and removes those of processes of this user that were killed. */
int orma_private_folder_make(const char *parent, struct orma_private_folder *ret,
			     struct orma_error *reterr);
/* With what is in it; harmless when there is none. */
void orma_private_folder_remove(struct orma_private_folder *folder);

#endif
