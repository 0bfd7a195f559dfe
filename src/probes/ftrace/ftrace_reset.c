/* SPDX-License-Identifier: Apache-2.0
 * ftrace_reset.c - the method of last resort: --reset-ftrace and --cleanup-after-crash.
 *
 * Owns nothing. Restoring from a state file gives back what was there before orma; this does not ask what was there, and
 * ends everybody's tracing. It tries every step even when one fails, and reports the first step that matters and failed.
 * Files that some kernels lack do not matter. The buffer keeps 4 KiB per CPU, as after upstream's reset.
 */
#include "probes/ftrace/ftrace_reset.h"

#include <errno.h>
#include <stdio.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_buffer.h"
#include "probes/probe_text.h"

static const struct {
	const char *file, *value;
	bool matters;
} steps[] = {
	{"tracing_on", "0", true},
	{"events/enable", "0", false},
	{"events/raw_syscalls/filter", "0", false},
	{"current_tracer", "nop", false},
	{"set_event_pid", "", false},
	{"buffer_size_kb", "4", true},
	{"trace", "", true},
};

/* Removes the lines "p:perfetto_kprobes/NAME SYMBOL" of a list. */
static void remove_probes(const struct orma_tracefs *fs, const char *list)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str rest, line, kind, event;

	if (orma_tracefs_read(fs, list, &buf, &rest) < 0)
		return;
	while (orma_probes_text_line(&rest, &line)) {
		char undo[ORMA_TRACEFS_FILE_BYTES];

		if (!orma_probes_text_until(&line, ':', &kind) ||
		    !orma_probes_text_has_prefix(line, "perfetto_") ||
		    !orma_probes_text_word(&line, &event) || event.size >= sizeof(undo) - 2)
			continue;
		snprintf(undo, sizeof(undo), "-:%.*s", (int)event.size, event.data);
		(void)orma_tracefs_append(fs, list, orma_base_str(undo));
	}
}

int orma_ftrace_reset(const char *tracefs_path, struct orma_error *reterr)
{
	struct orma_ftrace_machine machine = {
		.tracefs_path = tracefs_path, .proc_path = "/proc", .state_folder_fd = -1};
	struct orma_tracefs fs = {.fd = -1};
	int r = orma_tracefs_open(tracefs_path, (struct orma_str){0}, &fs, reterr);

	if (r < 0)
		return r;
	orma_ftrace_buffers_recover(&machine);
	orma_base_fd_close(machine.state_folder_fd);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(steps); i++) {
		int step = orma_tracefs_write(&fs, steps[i].file, orma_base_str(steps[i].value));

		if (step < 0 && steps[i].matters && r == 0)
			r = orma_base_error_set(reterr, step, "cannot write %s/%s: %s", fs.path,
						steps[i].file, orma_base_error_words(step));
	}
	remove_probes(&fs, "kprobe_events");
	remove_probes(&fs, "uprobe_events");
	orma_tracefs_close(&fs);
	return r;
}
