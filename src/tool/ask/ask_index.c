/* SPDX-License-Identifier: Apache-2.0
 * ask_index.c - finds the index beside a trace, and the user's key for it.
 *
 * The key is a file that only its user reads. So an index that came with the trace from somebody else is not taken.
 */
#include "tool/ask/ask_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/ask/state_file.h"
#include "tool/export/export_file.h"
#include "tool/tool.h"

/* True when nobody else can change the file. */
static bool is_own(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
	       !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* The key gets its name when it is whole, so that no other process reads a part of it. */
static int create_key(const char *path)
{
	uint8_t key[ORMA_SUM_KEY_BYTES];
	char unfinished[PATH_MAX];
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -EAGAIN;
	if (snprintf(unfinished, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	ORMA_AUTO(orma_base_fd_closep) int fd = mkostemp(unfinished, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = orma_base_fd_write_all(fd, key, sizeof(key));
	/* Another process may have made one meanwhile, which goes before this. */
	if (r == 0 && link(unfinished, path) < 0 && errno != EEXIST)
		r = -errno;
	(void)unlink(unfinished);
	return r;
}

static int read_key_file(const char *path, uint8_t ret[ORMA_SUM_KEY_BYTES])
{
	ORMA_AUTO(orma_base_fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	bool is_whole =
		is_own(fd) && pread(fd, ret, ORMA_SUM_KEY_BYTES, 0) == (ssize_t)ORMA_SUM_KEY_BYTES;
	return is_whole ? 0 : -EACCES;
}

/* 0 or a negative errno value. */
static int read_key(struct orma_trace_index *index, bool makes_one)
{
	char *path = orma_ask_state_path("index-key");
	if (!path)
		return -ENOENT;
	int r = read_key_file(path, index->key);
	if (r == -ENOENT && makes_one)
		r = create_key(path);
	else
		makes_one = false;
	if (r == 0 && makes_one)
		r = read_key_file(path, index->key);
	orma_base_free(path);
	return r;
}

static bool find_path(const char *trace, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s.orma-index", trace) < PATH_MAX;
}

bool orma_ask_index_open(const char *path, int fd, const struct orma_trace_options *options,
			 bool is_rewritten, struct orma_trace_database **ret)
{
	struct orma_trace_index index = {.fd = -1};
	struct orma_error error = {0};
	char name[PATH_MAX];
	*ret = NULL;
	if (!find_path(path, name))
		return false;
	index.fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (index.fd < 0)
		return false;
	int r = is_own(index.fd) ? read_key(&index, false) : -ESTALE;
	if (r == 0)
		r = orma_trace_database_open_index(fd, &index, options, ret, &error);
	orma_base_fd_close(index.fd);
	if (r == 0)
		return true;
	if (!is_rewritten && r == -EBADMSG)
		orma_tool_warn("%s is damaged and not used; --index writes it anew", name);
	else if (!is_rewritten)
		orma_tool_warn("%s is not used: it is of another state of the trace, another user "
			       "or another version of orma; --index writes it anew",
			       name);
	return false;
}

void orma_ask_index_write(const char *path, int fd, struct orma_trace_database *database)
{
	struct orma_export_file file;
	struct orma_trace_index index;
	struct stat info;
	char name[PATH_MAX];
	int r = find_path(path, name) ? read_key(&index, true) : -ENAMETOOLONG;
	if (r < 0) {
		orma_tool_warn("there is no index: cannot keep its key in XDG_STATE_HOME/orma or "
			       "~/.local/state/orma: %s",
			       strerror(-r));
		return;
	}
	if (orma_export_file_open(&file, name))
		return;
	/* A user who may not read the trace may not read its index. */
	mode_t mode = fstat(fd, &info) == 0 ? info.st_mode & (S_IRGRP | S_IROTH) : 0;
	index.fd = file.fd;
	r = fchmod(file.fd, S_IRUSR | S_IWUSR | mode) < 0
		    ? -errno
		    : orma_trace_database_write_index(database, fd, &index);
	if (r == -ESTALE)
		orma_tool_warn("there is no index: %s was changed while it was read", path);
	else if (r < 0)
		orma_tool_fail("cannot write %s: %s", name, strerror(-r));
	else
		orma_export_file_finish(&file);
	orma_export_file_done(&file);
}
