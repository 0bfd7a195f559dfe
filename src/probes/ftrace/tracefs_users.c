/* SPDX-License-Identifier: Apache-2.0
 * tracefs_users.c - finds out whether somebody else uses a buffer of tracefs.
 *
 * Owns nothing. The kernel has no lock for its tracing and does not say who has set it up. A buffer is in use when it has
 * a tracer other than nop, or when it is switched on and has enabled events: both are off after a boot, and every tool
 * leaves them off. Events that are enabled in a buffer that is switched off are left-overs; the caller saves them, switches
 * them off for the recording, and restores them afterwards.
 *
 * The message names the process that has a file of the buffer open, if there is one and /proc shows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/ftrace/tracefs.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"

#define USER_BYTES 64 /* " (trace-cmd, process 1234, has it open)" */

static bool has_open(int proc_fd, uint32_t pid, const char *folder, struct orma_buf *names)
{
	char fds_path[ORMA_PROBES_PATH_BYTES], target[ORMA_TRACEFS_PATH_BYTES + 1];
	size_t folder_size = strlen(folder);

	orma_probes_path(fds_path, "", pid, "/fd");
	if (orma_probes_dir_names(proc_fd, fds_path, names) < 0)
		return false;
	for (size_t at = 0; at < names->size; at += strlen((char *)names->data + at) + 1) {
		char link[ORMA_PROBES_PATH_BYTES * 2];

		snprintf(link, sizeof(link), "%s/%s", fds_path, (char *)names->data + at);
		ssize_t size = readlinkat(proc_fd, link, target, sizeof(target) - 1);
		if (size > (ssize_t)folder_size && memcmp(target, folder, folder_size) == 0 &&
		    target[folder_size] == '/')
			return true;
	}
	return false;
}

/* Writes " (NAME, process PID, has it open)", or nothing. */
static void describe_user(const struct orma_tracefs *fs, const char *proc_path,
			  char ret[USER_BYTES])
{
	ORMA_AUTO(orma_base_fd_closep) int proc_fd = orma_probes_dir_open(AT_FDCWD, proc_path);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	struct orma_probes_numbers pids = {0};

	ret[0] = '\0';
	if (proc_fd < 0 || orma_probes_dir_numbers(proc_fd, ".", "", &pids) < 0)
		return;
	for (size_t i = 0; i < pids.count && ret[0] == '\0'; i++) {
		char path[ORMA_PROBES_PATH_BYTES];
		struct orma_str comm = {0};

		if (pids.items[i] == (uint32_t)getpid() ||
		    !has_open(proc_fd, pids.items[i], fs->path, &names))
			continue;
		orma_probes_path(path, "", pids.items[i], "/comm");
		(void)orma_probes_file_read(proc_fd, path, &names, &comm);
		comm = orma_probes_text_trim(comm);
		if (orma_probes_text_has_suffix(comm, "\n"))
			comm.size--;
		snprintf(ret, USER_BYTES, " (%.*s, process %u, has it open)",
			 (int)ORMA_MIN(comm.size, (size_t)15), comm.data, pids.items[i]);
	}
	orma_probes_numbers_done(&pids);
}

int orma_tracefs_check_unused(const struct orma_tracefs *fs, const char *proc_path,
			      struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str value, first = {0};
	char user[USER_BYTES];

	/* A file that cannot be read says nothing, as upstream judges it too. */
	if (orma_tracefs_value(fs, "current_tracer", &buf, &value) == 0 && value.size > 0 &&
	    !orma_base_str_is(value, "nop")) {
		describe_user(fs, proc_path, user);
		return orma_base_error_set(
			reterr, -EBUSY,
			"somebody else is tracing: current_tracer of %s is \"%.*s\"%s; end that "
			"tracing, or write nop to that file",
			fs->path, (int)ORMA_MIN(value.size, (size_t)64), value.data, user);
	}
	if (orma_tracefs_value(fs, "tracing_on", &buf, &value) < 0 ||
	    !orma_base_str_is(value, "1") ||
	    orma_tracefs_value(fs, "set_event", &buf, &value) < 0 || value.size == 0)
		return 0;
	(void)orma_probes_text_line(&value, &first);
	describe_user(fs, proc_path, user);
	return orma_base_error_set(
		reterr, -EBUSY,
		"somebody else is tracing: %s is recording %.*s%s%s; end that tracing, or write 0 "
		"to events/enable there",
		fs->path, (int)ORMA_MIN(first.size, (size_t)64), first.data,
		value.size > 0 ? " and other events" : "", user);
}
