/* SPDX-License-Identifier: Apache-2.0
 * tracefs_state.c - where the state files of journals are, and which process holds one.
 *
 * Owns nothing.
 * They are in /run, which is memory. A file must survive its process but not the boot, since a boot resets tracefs; the
 * boot id guards the places that survive it. So no fsync is needed either. Rejected: a file beside the socket, because the
 * probes of a recorder without a daemon have no socket; and the runtime folder of a service, because systemd removes it
 * when the service stops.
 *
 * The folder and its files must belong to this user and be writable by nobody else.
 */
#include "probes/ftrace/tracefs_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "probes/probe_text.h"

static bool is_own(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int open_folder(const char *path, bool may_make)
{
	if (may_make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	int fd = orma_base_fd_avoid_standard(
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	if (is_own(fd, S_IFDIR))
		return fd;
	orma_base_fd_close(fd);
	return -EPERM;
}

int orma_tracefs_state_folder_open(const char *wanted, bool may_make)
{
	if (wanted)
		return open_folder(wanted, may_make);
	int fd = open_folder("/run/orma-ftrace", may_make);
	char path[ORMA_TRACEFS_PATH_BYTES];
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (fd < 0 && runtime && runtime[0] == '/' &&
	    snprintf(path, sizeof(path), "%s/orma-ftrace", runtime) < (int)sizeof(path))
		fd = open_folder(path, may_make);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/orma-ftrace-%u", (unsigned)geteuid());
		fd = open_folder(path, may_make);
	}
	return fd;
}

const char *orma_tracefs_state_name(char name[ORMA_TRACEFS_FILE_BYTES], struct orma_str instance)
{
	if (instance.size == 0)
		snprintf(name, ORMA_TRACEFS_FILE_BYTES, "root");
	else
		snprintf(name, ORMA_TRACEFS_FILE_BYTES, "instance.%.*s", (int)instance.size,
			 instance.data);
	return name;
}

static int fail_locked(int fd, const char *what, struct orma_error *reterr)
{
	char header[128];
	ssize_t size = pread(fd, header, sizeof(header), 0);
	struct orma_str text = {header, size > 0 ? (size_t)size : 0}, line = {0}, word = {0};

	(void)orma_probes_text_line(&text, &line);
	while (orma_probes_text_word(&line, &word))
		;
	uint32_t pid = 0;
	(void)orma_probes_text_u32(word, &pid);
	return orma_base_error_set(
		reterr, -EBUSY,
		"another orma (process %u) records from %s; end that recording, or record "
		"through its daemon",
		pid, what);
}

static int open_state(int folder_fd, const char *name)
{
	int fd = orma_base_fd_avoid_standard(
		openat(folder_fd, name,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));

	return fd < 0 ? -errno : fd;
}

/* False when the file was replaced between its opening and its locking: the lock is worth nothing then. */
static bool has_name(int fd, int folder_fd, const char *name)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 &&
	       fstatat(folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int orma_tracefs_state_lock(int folder_fd, const char *name, const char *what,
			    struct orma_error *reterr)
{
	int fd = open_state(folder_fd, name);

	if (fd < 0)
		return orma_base_error_set(reterr, fd, "cannot open the state file \"%s\": %s",
					   name, orma_base_error_words(fd));
	int r = 0;
	if (!is_own(fd, S_IFREG))
		r = orma_base_error_set(reterr, -EPERM,
					"the state file \"%s\" belongs to somebody else", name);
	else if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !has_name(fd, folder_fd, name))
		r = fail_locked(fd, what, reterr);
	if (r < 0)
		orma_base_fd_close(fd);
	return r < 0 ? r : fd;
}

int orma_tracefs_state_replace(int folder_fd, const char *name, struct orma_str text, int *fd)
{
	char new_name[ORMA_TRACEFS_FILE_BYTES + sizeof("new.")];

	/* No state file begins like this. A killed process may have left one, which nobody needs. */
	snprintf(new_name, sizeof(new_name), "new.%s", name);
	(void)unlinkat(folder_fd, new_name, 0);
	int new_fd = open_state(folder_fd, new_name);
	if (new_fd < 0)
		return new_fd;
	int r = orma_base_fd_write_all(new_fd, text.data, text.size);
	if (r >= 0 && (flock(new_fd, LOCK_EX | LOCK_NB) < 0 ||
		       renameat(folder_fd, new_name, folder_fd, name) < 0))
		r = -errno;
	if (r < 0) {
		(void)unlinkat(folder_fd, new_name, 0);
		orma_base_fd_close(new_fd);
		return r;
	}
	orma_base_fd_close(*fd);
	*fd = new_fd;
	return 0;
}
