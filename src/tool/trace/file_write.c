/* SPDX-License-Identifier: Apache-2.0
 * file_write.c - writes in pieces that cannot block, after a wait that can be cut short.
 *
 * A regular file always takes data, however slowly. A pipe, a socket or a terminal takes nothing
 * while its reader does not read, and a thread inside write(2) cannot be interrupted. So for these,
 * every write follows a poll() and is no larger than a pipe that polls writable is sure to take
 * (PIPE_BUF). Rejected: O_NONBLOCK (a flag of the open file, which the process that passed the
 * descriptor shares), a signal to the thread (handlers belong to the program), and closing the
 * descriptor during the write (does not wake the writer).
 */
#include "tool/trace/file_write.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

/* Returns 0 when there is room, or when write() will report why not; else -errno. */
static int wait_for_room(const struct orma_file_writer *writer)
{
	for (;;) {
		struct pollfd fds[2] = {{writer->fd, POLLOUT, 0}, {writer->wakeup_fd, POLLIN, 0}};
		int count = poll(fds, 2, writer->patience_ms(writer->ctx));
		if (count < 0 && errno != EINTR)
			return -errno;
		if (count < 0)
			continue;
		if (count == 0)
			return -ETIMEDOUT;
		if (fds[0].revents)
			return 0;
		eventfd_t ignored;
		(void)eventfd_read(writer->wakeup_fd, &ignored);
	}
}

/* Returns the number of bytes taken, or -errno: -EAGAIN when there is no room after all. */
static ssize_t write_piece(const struct orma_file_writer *writer, bool may_wait, const void *data,
			   size_t size)
{
	ssize_t written;

	if (may_wait) {
		written = write(writer->fd, data, size);
		return written < 0 ? -errno : written;
	}
	size = ORMA_MIN(size, (size_t)PIPE_BUF);
	written = send(writer->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (written < 0 && errno == ENOTSOCK)
		written = write(writer->fd, data, size);
	return written < 0 ? -errno : written;
}

int orma_file_write(const struct orma_file_writer *writer, const void *data, size_t size,
		    size_t *ret_written)
{
	const uint8_t *at = data;
	struct stat st;
	bool may_wait = fstat(writer->fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));

	while (size > 0) {
		int r = may_wait ? 0 : wait_for_room(writer);
		if (r)
			return r;
		ssize_t written = write_piece(writer, may_wait, at, size);
		if (written < 0 && written != -EINTR && (may_wait || written != -EAGAIN))
			return (int)written;
		if (written > 0) {
			at += written;
			size -= (size_t)written;
			*ret_written += (size_t)written;
		}
	}
	return 0;
}

void orma_file_cut_tail(int fd, size_t bytes)
{
	struct stat st;
	off_t end = lseek(fd, 0, SEEK_CUR);

	if (bytes == 0 || end < (off_t)bytes || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size != end)
		return;
	if (ftruncate(fd, end - (off_t)bytes) == 0)
		(void)lseek(fd, end - (off_t)bytes, SEEK_SET);
}
