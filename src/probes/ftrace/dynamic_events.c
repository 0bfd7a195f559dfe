/* SPDX-License-Identifier: Apache-2.0
 * dynamic_events.c - the events that orma adds to the kernel: probes on functions, and synthetic events.
 *
 * Owns a journal of the root of tracefs, whose state file is named "dynamic_events". The kernel has one list of each kind
 * for all buffers, and refuses to remove an entry that one buffer uses. So these entries belong to no buffer: the first
 * session that needs one opens the journal, every buffer of the process shares what is there, and the journal is restored
 * after the last buffer, when nothing uses an entry any more. An entry that no session wants costs nothing meanwhile, since
 * its event is off. The lock of the state file keeps other processes of orma from building on entries that will be removed.
 *
 * Rejected: a count of users for each entry. Removing an entry empties every buffer that has recorded its event, so it
 * could not be removed earlier without losing what other sessions have recorded.
 */
#include <errno.h>

#include "probes/ftrace/ftrace_buffer.h"

int orma_ftrace_dynamic_events_open(struct orma_ftrace_machine *machine, struct orma_error *reterr)
{
	if (machine->dynamic_events.fs)
		return 0;
	int r = orma_tracefs_open(machine->tracefs_path, (struct orma_str){0}, &machine->root,
				  reterr);
	if (r < 0)
		return r;
	r = orma_tracefs_journal_open(&machine->dynamic_events, &machine->root,
				      machine->state_folder_fd, ORMA_FTRACE_DYNAMIC_EVENTS_STATE,
				      machine->proc_path, reterr);
	if (r < 0) {
		machine->dynamic_events.fs = NULL;
		orma_tracefs_close(&machine->root);
	}
	return r;
}

void orma_ftrace_dynamic_events_close(struct orma_ftrace_machine *machine)
{
	if (!machine->dynamic_events.fs)
		return;
	orma_tracefs_journal_close(&machine->dynamic_events);
	orma_tracefs_close(&machine->root);
}
