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
#include "tool/trace/foreign_file.h"
#ifdef ORMA_HAVE_FORMATS
#include "formats/formats.h"

/* A pipe may have fewer; the marks of all formats that pipes carry are within the first hundred. */
enum { PEEKED_BYTES = 4096 };
#endif

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
#ifdef ORMA_HAVE_FORMATS
	if (orma_formats_name(fd, ORMA_STR("")))
		return fd;
#endif
	orma_trace_input_close(fd);
	return -EISDIR;
}

#ifdef ORMA_HAVE_FORMATS
/* Copies the first bytes of a file or a pipe, which stay there to be read. Returns their number. */
static size_t peek(int fd, void *ret, size_t size)
{
	int copy[2];
	ssize_t got = pread(fd, ret, size, 0);
	if (got >= 0 || errno != ESPIPE)
		return got > 0 ? (size_t)got : 0;
	if (pipe2(copy, O_CLOEXEC) < 0)
		return 0;
	got = tee(fd, copy[1], size, 0);
	if (got > 0)
		got = read(copy[0], ret, (size_t)got);
	close(copy[0]);
	close(copy[1]);
	return got > 0 ? (size_t)got : 0;
}

static bool is_foreign(int fd)
{
	char beginning[PEEKED_BYTES];
	size_t size = peek(fd, beginning, sizeof(beginning));
	const char *name = orma_formats_name(fd, (struct orma_str){beginning, size});
	return name && strcmp(name, "proto") != 0;
}

/* Returns the descriptor of a trace of packets, or -1 after a message. */
static int convert(const char *name, int fd)
{
	struct orma_trace_bytes bytes;
	struct orma_error error = {0};
	int r = orma_formats_open(fd, NULL, &bytes, &error);
	int packets = bytes.spool_fd;
	if (r == -EBADMSG)
		orma_tool_warn("%s: %s; what comes before is converted", name, error.message);
	if (r < 0 && r != -EBADMSG) {
		orma_tool_fail("%s: %s", name, error.message[0] ? error.message : strerror(-r));
		orma_trace_bytes_done(&bytes);
		return -1;
	}
	bytes.spool_fd = -1;
	orma_trace_bytes_done(&bytes);
	lseek(packets, 0, SEEK_SET);
	return packets;
}
#endif

int orma_trace_input_open_packets(const char *path)
{
	int fd = orma_trace_input_open(path);
	if (fd < 0) {
		orma_trace_input_fail(path, fd);
		return -1;
	}
#ifdef ORMA_HAVE_FORMATS
	if (is_foreign(fd)) {
		int packets = convert(orma_trace_input_name(path), fd);
		orma_trace_input_close(fd);
		return packets;
	}
#endif
	return fd;
}

const char *orma_trace_input_words(int fd)
{
	char beginning[ORMA_TOOL_BEGINNING_BYTES];
	ssize_t size = pread(fd, beginning, sizeof(beginning), 0);
	struct orma_str bytes = {beginning, size > 0 ? (size_t)size : 0};
#ifdef ORMA_HAVE_FORMATS
	/* A compressed file is read; what is in it is no trace. */
	if (orma_formats_name(fd, bytes))
		return NULL;
#endif
	return orma_tool_foreign_file_words(bytes);
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

int orma_trace_input_spare(const char *output, char *const *inputs, int count)
{
	struct stat written, read;
	if (!output || stat(output, &written) < 0 || !S_ISREG(written.st_mode))
		return 0;
	for (int i = 0; i < count; i++)
		if (stat(inputs[i], &read) == 0 && read.st_dev == written.st_dev &&
		    read.st_ino == written.st_ino)
			return orma_tool_fail("%s would be overwritten by what is made of it; "
					      "choose another file",
					      inputs[i]);
	return 0;
}
