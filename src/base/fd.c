/* SPDX-License-Identifier: Apache-2.0
 * fd.c - new descriptors, closing, complete reads and writes, sealed memory files.
 *
 * Owns the marks: a bit for each descriptor that the child of a fork has to close. A mark is
 * cleared before its descriptor is closed, so a child never closes a number that already has
 * another owner, whatever the threads of its parent were doing.
 *
 * Some programs close all descriptors, and then open files of their own under the same numbers. So a
 * marked descriptor has a label: a number for F_SETSIG that no other program uses. The label belongs
 * to the open file and not to the number. It never causes a signal, because nobody sets O_ASYNC. A
 * marked number without the label is somebody else's, and is neither written nor closed. Rejected:
 * comparing inodes, because all eventfds and epoll sets share one. A program that closes a number
 * and opens it again between the look at the label and the use, which is less than a microsecond,
 * is not noticed.
 *
 * All descriptors are CLOEXEC from
 * the start. Rejected: stdio for reading files, because /proc files have no size and must be read
 * in large pieces; unsealed memory that is checked on use, because a peer that shrinks a mapped
 * file kills this process with SIGBUS.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cancel.h"

enum { READ_STEP_BYTES = 4096, REQUIRED_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* Any thread; relaxed, because a descriptor's owner orders its own marking and closing. Only the pages that have marks take memory. */
static _Atomic uint64_t marks[ORMA_BASE_CLOSE_ON_FORK_MAX / 64];
/* The words up to the last one that has ever had a mark. Any thread; relaxed, because it rises before the mark is made. */
static _Atomic int word_count;
/* The number of marks that were cleared. It changes behind the mark and before the descriptor is closed. Sequentially
 * consistent, because it orders a look at a mark with one at its label. */
static _Atomic uint32_t unmark_count;

/* A real-time signal; qemu-user keeps the two above it for itself. */
#define LABEL 62
/* Emulators and sandboxes may lack F_SETSIG. Then all marked descriptors count as own ones. Relaxed: it is set before the mark. */
static _Atomic bool has_no_labels;

static void mark(int fd)
{
	int count = atomic_load_explicit(&word_count, memory_order_relaxed);

	while (count <= fd / 64 &&
	       !atomic_compare_exchange_weak_explicit(&word_count, &count, fd / 64 + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
	atomic_fetch_or_explicit(&marks[fd / 64], UINT64_C(1) << fd % 64, memory_order_relaxed);
}

/* The descriptor has the label before it has the mark, so nobody sees a mark without a label. */
void orma_base_fd_set_close_on_fork(int fd)
{
	if (fd < 0 || fd >= ORMA_BASE_CLOSE_ON_FORK_MAX)
		return;
	(void)fcntl(fd, F_SETSIG, LABEL);
	int label = fcntl(fd, F_GETSIG);
	if (label != LABEL && (label >= 0 || errno != EBADF))
		atomic_store_explicit(&has_no_labels, true, memory_order_relaxed);
	mark(fd);
}

static bool is_marked(int fd)
{
	return fd >= 0 && fd < ORMA_BASE_CLOSE_ON_FORK_MAX &&
	       atomic_load(&marks[fd / 64]) >> fd % 64 & 1;
}

static void unmark(int fd)
{
	if (!is_marked(fd))
		return;
	atomic_fetch_and(&marks[fd / 64], ~(UINT64_C(1) << fd % 64));
	atomic_fetch_add(&unmark_count, 1);
}

/* Only a kernel that knows no labels fails otherwise than with EBADF. */
static bool has_label(int fd)
{
	int saved_errno = errno, label = fcntl(fd, F_GETSIG);
	bool ret = label == LABEL || (label < 0 && errno != EBADF) ||
		   atomic_load_explicit(&has_no_labels, memory_order_relaxed);

	errno = saved_errno;
	return ret;
}

/* Another thread may be closing it, and opening another one: then it has cleared a mark since. */
bool orma_base_fd_is_own(int fd)
{
	uint32_t before;

	do {
		before = atomic_load(&unmark_count);
		if (!is_marked(fd) || has_label(fd))
			return true;
	} while (before != atomic_load(&unmark_count));
	return false;
}

bool orma_base_fds_are_own(void)
{
	for (int fd = 0; (fd = orma_base_fd_next_kept(fd)) < ORMA_BASE_CLOSE_ON_FORK_MAX; fd++)
		if (!orma_base_fd_is_own(fd))
			return false;
	return true;
}

int orma_base_fd_next_kept(int fd)
{
	int count = atomic_load_explicit(&word_count, memory_order_relaxed);

	for (; fd / 64 < count; fd = (fd / 64 + 1) * 64) {
		uint64_t bits =
			atomic_load_explicit(&marks[fd / 64], memory_order_relaxed) >> fd % 64;

		if (bits)
			return fd + __builtin_ctzll(bits);
	}
	return INT_MAX;
}

void orma_base_fds_close_in_child(void)
{
	for (int fd = 0; (fd = orma_base_fd_next_kept(fd)) < ORMA_BASE_CLOSE_ON_FORK_MAX; fd++) {
		unmark(fd);
		if (has_label(fd))
			close(fd);
	}
}

int orma_base_fd_close(int fd)
{
	if (fd >= 0) {
		ORMA_NO_CANCEL();
		int saved_errno = errno;

		bool is_own = orma_base_fd_is_own(fd);
		unmark(fd);
		/* Do not retry after EINTR: Linux has already released the number, and another
		 * thread may own it. */
		if (is_own)
			close(fd);
		errno = saved_errno;
	}
	return -1;
}

void orma_base_fd_wake(int fd)
{
	int saved_errno = errno;
	uint64_t one = 1;

	/* This fails only if the counter would overflow, and then the descriptor is readable
	 * already. A direct system call, because write() is a cancellation point. */
	if (orma_base_fd_is_own(fd))
		(void)syscall(SYS_write, fd, &one, sizeof(one));
	errno = saved_errno;
}

int orma_base_fd_close_foreign(struct orma_fd_closer *closer, int fd, uid_t owner)
{
	int saved_errno = errno;

	/* A file that has seals is in memory, even if another process made it. */
	if (fd < 0 || !closer || fcntl(fd, F_GET_SEALS) >= 0)
		return orma_base_fd_close(fd);
	ORMA_ASSERT(closer->close);
	unmark(fd);
	closer->close(closer, fd, owner);
	errno = saved_errno;
	return -1;
}

int orma_base_socket_close_foreign(struct orma_fd_closer *closer, int fd, uid_t owner)
{
	int saved_errno = errno;
	uint8_t byte;

	if (fd < 0 || !closer || !orma_base_fd_is_own(fd))
		return orma_base_fd_close(fd);
	/* Nothing can arrive after this, so the two recv() see everything that is unread. */
	(void)shutdown(fd, SHUT_RDWR);
	bool has_unread = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 ||
			  recv(fd, &byte, 1, MSG_OOB | MSG_DONTWAIT) > 0;
	if (has_unread)
		orma_base_fd_close_foreign(closer, fd, owner);
	else
		orma_base_fd_close(fd);
	errno = saved_errno;
	return -1;
}

/* Written before there are threads. */
static int lowest = STDERR_FILENO + 1;

void orma_base_fd_set_lowest(int fd)
{
	lowest = fd > STDERR_FILENO ? fd : STDERR_FILENO + 1;
}

int orma_base_fd_avoid_standard(int fd)
{
	if (fd < 0 || fd >= lowest)
		return fd;
	int higher = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
	/* The limit may have become smaller than the number that is preferred. */
	if (higher < 0 && fd > STDERR_FILENO)
		return fd;
	if (higher < 0 && lowest > STDERR_FILENO + 1)
		higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	orma_base_fd_close(fd);
	return higher;
}

int orma_base_fd_reopen(int place)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	int fd = orma_base_fd_avoid_standard(
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	return fd < 0 ? -errno : fd;
}

int orma_base_fd_duplicate(int fd)
{
	int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return duplicate < 0 ? -errno : duplicate;
}

int orma_base_socketpair(int ret_fds[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return -errno;
	fds[0] = orma_base_fd_avoid_standard(fds[0]);
	int r = fds[0] < 0 ? -errno : 0;
	fds[1] = orma_base_fd_avoid_standard(fds[1]);
	r = r == 0 && fds[1] < 0 ? -errno : r;
	if (r < 0) {
		orma_base_fd_close(fds[0]);
		orma_base_fd_close(fds[1]);
		return r;
	}
	memcpy(ret_fds, fds, sizeof(fds));
	return 0;
}

int orma_base_fds_hold_standard(void)
{
	int fd;

	/* O_PATH: reading and writing fail. With /dev/null, output would be lost without an
	 * error. */
	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	orma_base_fd_close(fd);
	return 0;
}

void orma_base_fd_closep(int *fd)
{
	*fd = orma_base_fd_close(*fd);
}

static bool get_option(int fd, int option, int *ret)
{
	socklen_t size = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, option, ret, &size) == 0;
}

static bool is_connected_stream(int fd)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);
	int type, is_listening;

	return get_option(fd, SO_TYPE, &type) && type == SOCK_STREAM &&
	       get_option(fd, SO_ACCEPTCONN, &is_listening) && !is_listening &&
	       getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

int orma_base_fd_check_output(int fd)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return -errno;
	if (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) ||
	    S_ISBLK(info.st_mode))
		return 0;
	return S_ISSOCK(info.st_mode) && is_connected_stream(fd) ? 0 : -ENOTSUP;
}

int orma_base_fd_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

ssize_t orma_base_fd_write(int fd, const void *data, size_t size)
{
	sigset_t pipe_set, old_set, pending;
	const struct timespec zero = {0};
	ssize_t written;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
	do
		written = write(fd, data, size);
	while (written < 0 && errno == EINTR);
	written = written < 0 ? -errno : written;
	/* Consume the signal that write() raised, but not one that was pending before. */
	if (written == -EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_set, NULL, &zero) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old_set, NULL);
	return written;
}

int orma_base_fd_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *next = data;
	while (size > 0) {
		ssize_t written = write(fd, next, size);
		if (written < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		next += written;
		size -= (size_t)written;
	}
	return 0;
}

int orma_base_fd_read_all(int fd, size_t limit_bytes, struct orma_buf *buf)
{
	size_t old_size = buf->size;
	for (size_t room = READ_STEP_BYTES;;) {
		int r = orma_base_buf_reserve(buf, room);
		if (r < 0) {
			buf->size = old_size;
			return r;
		}
		ssize_t got = read(fd, buf->data + buf->size, buf->capacity - buf->size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			r = -errno;
			buf->size = old_size;
			return r;
		}
		if (got == 0)
			return 0;
		buf->size += (size_t)got;
		if (buf->size - old_size > limit_bytes) {
			buf->size = old_size;
			return -EFBIG;
		}
		room = ORMA_MAX(buf->capacity - buf->size, (size_t)READ_STEP_BYTES);
	}
}

int orma_base_file_read(int dirfd, const char *path, size_t limit_bytes, struct orma_buf *buf)
{
	ORMA_AUTO(orma_base_fd_closep)
	int fd = orma_base_fd_avoid_standard(openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	if (fd < 0)
		return -errno;
	return orma_base_fd_read_all(fd, limit_bytes, buf);
}

int orma_base_memfd_new(const char *name, size_t size)
{
	if (size > SSIZE_MAX)
		return -EFBIG;
	ORMA_AUTO(orma_base_fd_closep)
	int fd = orma_base_fd_avoid_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, REQUIRED_SEALS) < 0)
		return -errno;
	int ret = fd;
	fd = -1;
	return ret;
}

/* TMPFS_MAGIC of the kernel's headers, which not every C library comes with. */
#define TMPFS_TYPE 0x01021994u

/*
 * Memory files of huge pages have seals too, but their pages come from a pool that may be empty. No
 * seal forbids punching a hole into such a file, and the next access to the hole raises SIGBUS.
 * st_blksize cannot identify them: it is the size of a huge page also where the kernel uses huge
 * pages transparently for ordinary memory files.
 */
static bool has_ordinary_pages(int fd)
{
	struct statfs info;

	return fstatfs(fd, &info) == 0 && (unsigned long)info.f_type == TMPFS_TYPE;
}

int orma_base_memfd_check(int fd, size_t *ret_size)
{
	/* Only memory files have seals, so this also refuses other kinds of files. */
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & REQUIRED_SEALS) != REQUIRED_SEALS)
		return -EINVAL;
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 || !has_ordinary_pages(fd))
		return -EINVAL;
	*ret_size = (size_t)st.st_size;
	return 0;
}
