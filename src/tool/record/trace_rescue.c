/* SPDX-License-Identifier: Apache-2.0
 * trace_rescue.c - asks the user for another file when the file of a trace takes no more data.
 *
 *   full --name of a new file--> copy the full file --> remove the full file --> write the rest
 *     ^                            | no room: remove the copy                      | no room
 *     +----------------------------+-----------------------------------------------+
 *   full --the same name--> write the rest, because the user may have made room
 *   full --empty line, end of input or a signal--> stop; the file keeps its part of the trace
 *
 * Invariant: one file and the memory together hold the whole trace. An existing file is never
 * replaced, so a mistyped name does not cost the user another trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "tool/print.h"
#include "tool/record/trace_output.h"
#include "tool/tool.h"

#define COPY_BYTES ((size_t)256 * 1024)

static void ask(const struct orma_trace_output *output)
{
	double written_kb = (double)output->written_bytes / 1024;

	/* Keys that were pressed during the recording are not an answer. */
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	fputs("\n", stderr);
	orma_tool_print_line(stderr,
			     "%s: %s. It has %.1f KB of the %.1f KB of the trace; the rest is kept "
			     "in memory.",
			     orma_trace_output_name(output), strerror(-output->error), written_kb,
			     written_kb + (double)output->batch.size / 1024);
	fputs("Name a new file for the trace, or the same one again after making room there.\n"
	      "File (empty: give the rest up): ",
	      stderr);
	fflush(stderr);
}

/* Reads a line without its end. Returns false at the end of input and after a signal. */
static bool read_line(int signal_fd, char *line, size_t size)
{
	struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd, POLLIN, 0}};
	ssize_t got;

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return false;
	if (fds[1].revents)
		return false;
	got = read(STDIN_FILENO, line, size - 1);
	if (got <= 0)
		return false;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* Expands "~/x" as a shell would. */
static int make_path(const char *line, char *ret, size_t size)
{
	const char *home = getenv("HOME");
	bool is_home = strncmp(line, "~/", 2) == 0 && home;
	int length = snprintf(ret, size, "%s%s", is_home ? home : "", is_home ? line + 1 : line);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static bool is_same_file(const char *path, int fd)
{
	struct stat named, open_file;

	return stat(path, &named) == 0 && fstat(fd, &open_file) == 0 &&
	       named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino;
}

static int copy_written(const struct orma_trace_output *output, int fd)
{
	uint8_t *piece = orma_base_alloc(COPY_BYTES);
	uint64_t done = 0;
	int r = piece ? 0 : -ENOMEM;

	while (r == 0 && done < output->written_bytes) {
		size_t size = (size_t)ORMA_MIN(COPY_BYTES, output->written_bytes - done);
		ssize_t got = pread(output->fd, piece, size, output->begin + (off_t)done);
		if (got > 0)
			r = orma_base_fd_write_all(fd, piece, (size_t)got);
		else if (got == 0)
			r = -EIO; /* the file has been truncated */
		else if (errno != EINTR)
			r = -errno;
		done += got > 0 ? (uint64_t)got : 0;
	}
	/* Makes the copy durable, because the other one is about to be removed. */
	if (r == 0 && done > 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	orma_base_free(piece);
	return r;
}

/* Removes the old file if the recorder made it; a file that existed before is left empty. */
static void remove_old(const struct orma_trace_output *output)
{
	if (output->begin < 0 || strcmp(output->path, "-") == 0)
		return;
	if (!output->is_new)
		orma_trace_output_empty(output);
	else if (is_same_file(output->path, output->fd))
		unlink(output->path);
}

/* Continues the trace in this file. */
static void adopt(struct orma_trace_output *output, int fd, const char *path)
{
	remove_old(output);
	orma_base_fd_close(output->fd);
	output->fd = fd;
	output->begin = 0;
	output->is_new = true;
	snprintf(output->moved_to, sizeof(output->moved_to), "%s", path);
	output->path = output->moved_to;
	output->error = 0;
}

static void move(struct orma_trace_output *output, const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_NOCTTY | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : copy_written(output, fd);

	if (r < 0) {
		orma_tool_print_line(stderr, "%s: %s.", path, strerror(-r));
		if (fd >= 0)
			unlink(path);
		orma_base_fd_close(fd);
		return;
	}
	adopt(output, fd, path);
	orma_trace_output_flush(output);
}

void orma_trace_output_rescue(struct orma_trace_output *output)
{
	char line[PATH_MAX], path[PATH_MAX];

	while (output->error && output->keeps_rest) {
		ask(output);
		if (!read_line(output->writer.wakeup_fd, line, sizeof(line))) {
			fputs("\n", stderr);
			break;
		}
		if (!*line)
			break;
		if (strcmp(line, "-") == 0)
			orma_tool_print_line(stderr, "-: this stands for standard output; the "
						     "trace needs a file (./- is one).");
		else if (make_path(line, path, sizeof(path)) < 0)
			orma_tool_print_line(stderr, "%s: %s.", line, strerror(ENAMETOOLONG));
		else if (is_same_file(path, output->fd))
			orma_trace_output_flush(output);
		else
			move(output, path);
	}
	if (output->error)
		orma_trace_output_drop(output);
	else if (output->lost_bytes > 0) /* without memory to keep all of it */
		output->error = -ENOMEM;
}
