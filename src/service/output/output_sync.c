/* SPDX-License-Identifier: Apache-2.0
 * output_sync.c - the file operations of a service whose embedder brings none: writev() in the
 * calling thread.
 *
 * The descriptor is the file. When a non-blocking descriptor is full, the call waits up to one
 * second, because nothing here could report later that it is ready again. SIGPIPE is kept from the
 * host program without touching its handlers: it is blocked for the call, and consumed if the call
 * raised it. Rejected: a thread (the library has none of its own here), MSG_NOSIGNAL (sockets
 * only).
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "service/output/output_file.h"

#define ORMA_SERVICE_FILE_WAIT_MS 1000

static int get_fd(void *file)
{
	return (int)(intptr_t)file - 1;
}

static int open_file(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	int r = orma_base_fd_check_output(fd);

	(void)ctx;
	(void)session_id;
	if (r < 0) {
		orma_base_fd_close(fd);
		return r;
	}
	/* A forked child that inherits it would keep the reader of a pipe from seeing the end. */
	orma_base_fd_set_close_on_fork(fd);
	*ret_file = (void *)((intptr_t)fd + 1);
	return 0;
}

/* One writev() of everything after `skip` bytes; returns the bytes written or -errno. */
static ssize_t write_some(int fd, const struct iovec *iov, int iov_count, size_t skip)
{
	struct iovec part[64];
	int count = 0;
	ssize_t written;

	for (int i = 0; i < iov_count && count < (int)ORMA_ARRAY_SIZE(part); i++) {
		if (skip >= iov[i].iov_len) {
			skip -= iov[i].iov_len;
			continue;
		}
		part[count++] =
			(struct iovec){(uint8_t *)iov[i].iov_base + skip, iov[i].iov_len - skip};
		skip = 0;
	}
	written = writev(fd, part, count);
	return written < 0 ? -errno : written;
}

static int wait_for(int fd)
{
	struct pollfd item = {.fd = fd, .events = POLLOUT};
	int r = poll(&item, 1, ORMA_SERVICE_FILE_WAIT_MS);

	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	return r == 0 ? -ETIMEDOUT : 0;
}

static int write_all(int fd, const struct iovec *iov, int iov_count)
{
	int at = 0;
	size_t skip = 0;

	for (;;) {
		ssize_t written;

		while (at < iov_count && skip >= iov[at].iov_len)
			skip -= iov[at++].iov_len;
		if (at == iov_count)
			return 0;
		written = write_some(fd, iov + at, iov_count - at, skip);
		if (written == -EAGAIN || written == -EWOULDBLOCK) {
			int r = wait_for(fd);

			if (r < 0)
				return r;
		} else if (written == 0) {
			return -EIO;
		} else if (written > 0) {
			skip += (size_t)written;
		} else if (written != -EINTR) {
			return (int)written;
		}
	}
}

static int write_file(void *ctx, void *file, const struct iovec *iov, int iov_count)
{
	sigset_t pipe_set, old_set, pending;
	struct timespec zero = {0, 0};
	bool was_pending;
	int r;

	(void)ctx;
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
	r = write_all(get_fd(file), iov, iov_count);
	if (r == -EPIPE && !was_pending) {
		while (sigtimedwait(&pipe_set, NULL, &zero) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &old_set, NULL);
	return r;
}

static void sync_file(void *ctx, void *file)
{
	(void)ctx;
	(void)fdatasync(get_fd(file));
}

static void close_file(void *ctx, void *file, bool sync)
{
	if (sync)
		sync_file(ctx, file);
	orma_base_fd_close(get_fd(file));
}

/* The source's trace ends at the offset of its descriptor. */
static int copy_file(void *ctx, void *file, void *source, uint64_t size)
{
	off_t end = lseek(get_fd(source), 0, SEEK_CUR);
	uint64_t left = size;
	uint8_t piece[16 << 10];
	int r = 0;

	if (end < 0)
		return -errno;
	if ((uint64_t)end < size)
		return -EIO;
	while (left > 0 && r == 0) {
		ssize_t got = pread(get_fd(source), piece, (size_t)ORMA_MIN(left, sizeof(piece)),
				    end - (off_t)left);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		r = write_file(ctx, file, &(struct iovec){piece, (size_t)got}, 1);
		left -= (uint64_t)got;
	}
	return r;
}

const struct orma_service_file_ops orma_service_file_ops_sync = {
	.struct_size = sizeof(struct orma_service_file_ops),
	.open = open_file,
	.write = write_file,
	.close = close_file,
	.sync = sync_file,
	.copy = copy_file,
};
