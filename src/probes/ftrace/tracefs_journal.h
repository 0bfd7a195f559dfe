/* SPDX-License-Identifier: Apache-2.0
 * tracefs_journal.h - changes files of one tracefs folder, and restores them: at the end, after an error, and after a
 * crash.
 */
#ifndef ORMA_PROBES_TRACEFS_JOURNAL_H
#define ORMA_PROBES_TRACEFS_JOURNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "probes/ftrace/tracefs.h"
#include "probes/ftrace/tracefs_state.h"

#define ORMA_TRACEFS_STATE_BYTES_MAX (4u << 20) /* a longer state file is not ours */
#define ORMA_TRACEFS_BOOT_ID_BYTES   64

struct orma_tracefs_undo;

struct orma_tracefs_journal {
	const struct orma_tracefs *fs; /* borrowed */
	int folder_fd;                 /* that has the state file; -1 = none */
	char state_name[ORMA_TRACEFS_FILE_BYTES];
	int state_fd;                   /* locked; -1 = changes are not kept for the next start */
	struct orma_tracefs_undo *last; /* newest first; in the arena */
	struct orma_map by_file; /* hash of the file's name -> its struct orma_tracefs_undo */
	struct orma_arena arena;
	struct orma_buf text; /* scratch */
	char boot_id[ORMA_TRACEFS_BOOT_ID_BYTES];
};

/*
 * Takes the instance for this process, and restores what a process that was killed has left changed. `folder_fd` -1 =
 * without a state file. 0, -EBUSY (another process of orma records from it; the message names it), -ENOMEM, or the errno
 * of opening the state file. `fs` must outlive the journal.
 */
int orma_tracefs_journal_open(struct orma_tracefs_journal *journal, const struct orma_tracefs *fs,
			      int folder_fd, const char *state_name, const char *proc_path,
			      struct orma_error *reterr);
/*
 * Sets a file. The first change of a file saves its value, in the state file before tracefs. 0 or -errno; after an error
 * the file is as it was, as far as the kernel says.
 */
int orma_tracefs_journal_set(struct orma_tracefs_journal *journal, const char *file,
			     struct orma_str value);
/* The same for a file that cannot be read, or that is restored to another value. */
int orma_tracefs_journal_set_from(struct orma_tracefs_journal *journal, const char *file,
				  struct orma_str old, struct orma_str value);
/* Adds a line to a list; `undo` is the line that removes it. */
int orma_tracefs_journal_append(struct orma_tracefs_journal *journal, const char *file,
				struct orma_str line, struct orma_str undo);
/* Restores everything, the newest change first, logs what cannot be restored, and gives the instance up. An entry of a list
 * that is in use, and a tracer that cannot be ended, stay in the state file for the next open. Does nothing for a zeroed journal. */
void orma_tracefs_journal_close(struct orma_tracefs_journal *journal);

#endif
