/* SPDX-License-Identifier: Apache-2.0
 * trace_input.c - opens trace files, and explains what prevents it.
 */
#include "tool/trace/trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tool/tool.h"

const char *orma_trace_input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

int orma_trace_input_open(const char *path)
{
	struct stat info;
	int fd =
		strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info))
		return -errno;
	/* A closed standard input is occupied by a folder that cannot be read; reading tells that best. */
	if (!S_ISDIR(info.st_mode) || fcntl(fd, F_GETFL) & O_PATH)
		return fd;
	orma_trace_input_close(fd);
	return -EISDIR;
}

void orma_trace_input_close(int fd)
{
	if (fd != STDIN_FILENO)
		orma_base_fd_close(fd);
}

int orma_trace_input_fail(const char *path, int error)
{
	const char *name = orma_trace_input_name(path);
	struct stat info;

	if (error == -EISDIR)
		return orma_tool_fail("%s is a folder; name the files in it", name);
	if (error == -EACCES && stat(path, &info) == 0)
		return orma_tool_fail("cannot open %s: %s; only its owner (user id %u) and root "
				      "may read it",
				      name, strerror(-error), (unsigned)info.st_uid);
	return orma_tool_fail("cannot open %s: %s", name, strerror(-error));
}
