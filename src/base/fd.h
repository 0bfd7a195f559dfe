/* SPDX-License-Identifier: Apache-2.0
 * fd.h - file descriptors: closing, complete reads and writes, memory files.
 */
#ifndef ORMA_BASE_FD_H
#define ORMA_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* For ORMA_AUTO on an int: closes it when >= 0; errno is preserved. */
void orma_base_fd_closep(int *fd);
/* Closes fd if it is >= 0, and returns -1: `fd = orma_base_fd_close(fd)`. Preserves errno. Like
 * orma_base_fd_wake(), not a cancellation point. Both leave a number alone that was selected for
 * orma_base_fds_close_in_child() and belongs to somebody else now. */
int orma_base_fd_close(int fd);
/* Makes an eventfd readable. Preserves errno. Any thread, async-signal-safe. */
void orma_base_fd_wake(int fd);

/*
 * close() of a descriptor that another process has made may block for as long as its file system or
 * the linger time of the socket makes it. The same happens when a socket is closed while it holds
 * descriptors that were not read. A thread that must not block passes such a descriptor to a
 * closer. `owner` is the user that it is charged to.
 */
struct orma_fd_closer {
	/* Takes ownership of the descriptor and closes it later, on another thread. */
	void (*close)(struct orma_fd_closer *closer, int fd, uid_t owner);
	/* True when so many of the owner's descriptors wait that no more should be accepted from
	 * it. Cheap. */
	bool (*is_full)(struct orma_fd_closer *closer, uid_t owner);
};
/* Like orma_base_fd_close(), but passes the descriptor to the closer. A memory file is closed at
 * once, because that cannot block; so is every descriptor when closer is NULL. */
int orma_base_fd_close_foreign(struct orma_fd_closer *closer, int fd, uid_t owner);
/* The same for a connected socket of our own, which may hold unread descriptors from its peer. The
 * peer sees the end of the connection at once. */
int orma_base_socket_close_foreign(struct orma_fd_closer *closer, int fd, uid_t owner);

/*
 * A program may have closed descriptors 0, 1 and 2 and still print to them. `fd` is the result of a
 * call that makes a descriptor. If it is one of those three, it is replaced by a larger number.
 * Returns -1 with errno set when no number is left, or when `fd` is -1. Every descriptor of the
 * library comes from this function or one of the next two; tools/check-calls enforces that.
 */
int orma_base_fd_avoid_standard(int fd);
/*
 * Descriptors from now on have this number or a larger one, if that is possible; at first 3. For a library in
 * programs that choose numbers themselves, as shells do. Call it before there are threads.
 */
void orma_base_fd_set_lowest(int fd);
/*
 * Opens the file of a descriptor of O_PATH for reading: a descriptor, or -errno. The caller has seen with fstat() that it is
 * a regular file, because a device may act when it is opened, and a FIFO wait.
 */
int orma_base_fd_reopen(int place);
/* Returns a CLOEXEC duplicate above the standard descriptors, or -errno. */
int orma_base_fd_duplicate(int fd);
/* Makes a connected pair of stream sockets, CLOEXEC, non-blocking, above the standard descriptors.
 * 0 or -errno. */
int orma_base_socketpair(int ret_fds[2]);
/*
 * For the beginning of main(): occupies those of the descriptors 0, 1 and 2 that are closed, so
 * that no other file gets their numbers. Reading and writing them still fails with EBADF, and
 * programs that this one starts find them closed. 0 or -errno.
 */
int orma_base_fds_hold_standard(void);

/*
 * Returns 0 if a trace can be written to this descriptor of another process: a file, a block or
 * character device, a pipe, or a connected stream socket. Returns -ENOTSUP for any other, because
 * it may never become writable (epoll, a listening socket) or takes no stream (eventfd, datagrams).
 * May block on the file system of the file.
 */
int orma_base_fd_check_output(int fd);
int orma_base_fd_set_nonblock(int fd);
/*
 * Selects a descriptor that the child of a fork has to close. Only orma_base_fd_close() may close
 * it from now on. Has no effect on numbers from ORMA_BASE_CLOSE_ON_FORK_MAX on. A child that
 * another thread forks between the creation of a descriptor and this call keeps it, so sockets are
 * selected before they are connected.
 */
void orma_base_fd_set_close_on_fork(int fd);
/* False: the number was selected, and somebody else has closed it, or has another file there now. Any thread,
 * async-signal-safe. */
bool orma_base_fd_is_own(int fd);
/* True for all that are selected. */
bool orma_base_fds_are_own(void);
/* In the child of a fork, with no other thread: closes the selected descriptors.
 * Async-signal-safe. */
void orma_base_fds_close_in_child(void);
/* As many as a process of Linux may have, unless root raises fs.nr_open. */
#define ORMA_BASE_CLOSE_ON_FORK_MAX (1 << 20)
/* The first selected descriptor from `fd` on, which is not negative; INT_MAX = none. Async-signal-safe. */
int orma_base_fd_next_kept(int fd);
/* As write(), but returns -errno, retries after EINTR, and raises no signal when a pipe or socket
 * has no reader (-EPIPE). */
ssize_t orma_base_fd_write(int fd, const void *data, size_t size);
/* For blocking descriptors: writes everything or returns -errno; retries after EINTR. */
int orma_base_fd_write_all(int fd, const void *data, size_t size);
/* Appends the rest of the file to the buffer. 0, -EFBIG (more than limit_bytes) or another
 * -errno. */
int orma_base_fd_read_all(int fd, size_t limit_bytes, struct orma_buf *buf);
/* The same for a path; dirfd may be AT_FDCWD. */
int orma_base_file_read(int dirfd, const char *path, size_t limit_bytes, struct orma_buf *buf);
/* Makes a CLOEXEC memory file of that size, sealed against shrinking, growing and further seals.
 * Returns the descriptor or -errno. */
int orma_base_memfd_new(const char *name, size_t size);
/* Returns 0 and the size if fd is a memory file with those three seals that does not consist of
 * huge pages; otherwise -EINVAL. Does not block. */
int orma_base_memfd_check(int fd, size_t *ret_size);

#endif
