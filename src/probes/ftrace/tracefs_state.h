/* SPDX-License-Identifier: Apache-2.0
 * tracefs_state.h - the folder of state files, and the lock of each file.
 */
#ifndef ORMA_PROBES_TRACEFS_STATE_H
#define ORMA_PROBES_TRACEFS_STATE_H

#include <orma/error.h>
#include <stdbool.h>

#include "probes/ftrace/tracefs.h"

/*
 * Opens the folder for state files: `wanted`, or NULL = /run/orma-ftrace, or what this user may use instead. `may_make`: it
 * is made if it does not exist. Returns a descriptor or -errno.
 */
int orma_tracefs_state_folder_open(const char *wanted, bool may_make);
/* The name of an instance's state file: "root" or "instance.NAME". */
const char *orma_tracefs_state_name(char name[ORMA_TRACEFS_FILE_BYTES], struct orma_str instance);

/* Opens a state file, makes it if it does not exist, and locks it. Returns its descriptor, -EBUSY (another process has the
 * lock, and so records from `what`; the message names it), -EPERM (somebody else's file), or another -errno. */
int orma_tracefs_state_lock(int folder_fd, const char *name, const char *what,
			    struct orma_error *reterr);
/* Replaces a state file that this process has locked. `fd` becomes the new one's, locked too, and at its end. 0 or -errno; then
 * the old file is as it was. */
int orma_tracefs_state_replace(int folder_fd, const char *name, struct orma_str text, int *fd);

#endif
