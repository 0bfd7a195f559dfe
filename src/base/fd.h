/* SPDX-License-Identifier: Apache-2.0
 * fd.h - file descriptors: ownership, whole reads and writes, memory files.
 */
#ifndef ORMA_BASE_FD_H
#define ORMA_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* For ORMA_AUTO on an int: closes it when >= 0; errno is preserved. */
void orma_base_fd_closep(int *fd);
/* Closes when >= 0, preserves errno, returns -1: `fd = orma_base_fd_close(fd)`. Like
 * orma_base_fd_wake(), no place where a thread can be cancelled. */
int orma_base_fd_close(int fd);
/* Makes an eventfd readable, and preserves errno; any thread, async-signal-safe. */
void orma_base_fd_wake(int fd);

/*
 * Closing what another process has made may wait for as long as its file system, or the socket's
 * linger time, pleases: with close() as with the end of a socket in which descriptors were not
 * read. Who must not wait hands it to a closer. `owner` is the user whom it is charged to.
 */
struct orma_fd_closer {
	/* Takes the descriptor over; it is closed somewhere else, some time. */
	void (*close)(struct orma_fd_closer *closer, int fd, uid_t owner);
	/* So many of his are waiting that nothing more is to be taken from him. Cheap. */
	bool (*is_full)(struct orma_fd_closer *closer, uid_t owner);
};
/* As orma_base_fd_close(), at once where it cannot wait: memory files. Without a closer (NULL),
 * always. */
int orma_base_fd_close_foreign(struct orma_fd_closer *closer, int fd, uid_t owner);
/* The same for a connected socket of our own, in which nobody read may lie what its peer sent. The
 * peer sees the end at once. */
int orma_base_socket_close_foreign(struct orma_fd_closer *closer, int fd, uid_t owner);

/*
 * A program may have closed descriptors 0, 1 and 2, and prints there all the same. Takes what a
 * call that makes a descriptor has returned: one of those three is replaced by a larger number.
 * -1 with errno when there is none left, or when `fd` is -1. Every descriptor of the library comes
 * from here or from one of the next two functions; tools/check-calls sees to it.
 */
int orma_base_fd_avoid_standard(int fd);
/* A CLOEXEC duplicate above the standard descriptors, or -errno. */
int orma_base_fd_duplicate(int fd);
/* A connected pair of CLOEXEC, non-blocking stream sockets above them; 0 or -errno. */
int orma_base_socketpair(int ret_fds[2]);
/*
 * For the beginning of main(): holds those of the descriptors 0, 1 and 2 that are closed, so that
 * no file of ours gets their numbers. Reading and writing them still fails with EBADF, and programs
 * that are started from here find them closed. 0 or -errno.
 */
int orma_base_fds_hold_standard(void);

/*
 * 0 when a trace can be written to that descriptor of another process: a file, a block or character
 * device, a pipe, a stream socket that is connected. -ENOTSUP for everything else: it may never
 * become writable (epoll, a listening socket) or take no stream (eventfd, datagrams). May wait for
 * the file's file system.
 */
int orma_base_fd_check_output(int fd);
int orma_base_fd_set_nonblock(int fd);
/*
 * Marks a descriptor that the child of a fork must not keep; only orma_base_fd_close() may close
 * it. Numbers from ORMA_BASE_CLOSE_ON_FORK_MAX on cannot be marked.
 */
void orma_base_fd_set_close_on_fork(int fd);
/* In the child of a fork, with no other thread: closes what is marked. Async-signal-safe. */
void orma_base_fds_close_in_child(void);
#define ORMA_BASE_CLOSE_ON_FORK_MAX 4096
/* As write(), but -errno, EINTR is handled, and a pipe or socket that nobody reads raises no signal:
 * -EPIPE. */
ssize_t orma_base_fd_write(int fd, const void *data, size_t size);
/* Blocking descriptors: everything or an error; EINTR is handled. */
int orma_base_fd_write_all(int fd, const void *data, size_t size);
/* Reads to the end of the file, at most limit_bytes (else -EFBIG), appending to the buffer. */
int orma_base_fd_read_all(int fd, size_t limit_bytes, struct orma_buf *buf);
/* The same by path (dirfd may be AT_FDCWD). */
int orma_base_file_read(int dirfd, const char *path, size_t limit_bytes, struct orma_buf *buf);
/* A CLOEXEC memory file of that size, sealed against shrink, grow and further seals; the descriptor
 * or -errno. */
int orma_base_memfd_new(const char *name, size_t size);
/* 0 when fd is a memory file with those three seals and of plain memory, not of huge pages; sets
 * *ret_size. -EINVAL otherwise. Waits for nothing. */
int orma_base_memfd_check(int fd, size_t *ret_size);

#endif
