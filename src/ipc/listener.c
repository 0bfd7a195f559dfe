/* SPDX-License-Identifier: Apache-2.0
 * listener.c - one listening socket: accepts connections, also when descriptors run out.
 *
 * A bounded number of connections is accepted per turn of the loop. When the process is out of
 * descriptors, level-triggered polling would spin on a connection that cannot be accepted. So the
 * listener closes its spare descriptor to accept and close that connection, and the peer notices.
 * When this fails too, the listener pauses for a moment. Rejected: pausing until a descriptor is
 * closed, because other code in the process closes descriptors too, without notice.
 */
#include "ipc/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"

enum { ACCEPTS_PER_TURN = 16 };
#define PAUSE_NS (100 * ORMA_NS_PER_MS)

static int open_spare(void)
{
	return orma_base_fd_avoid_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static int accept_one(const struct orma_ipc_listener *listener)
{
	int fd = orma_base_fd_avoid_standard(
		accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

	return fd < 0 ? -errno : fd;
}

static void on_pause_over(struct orma_timer *timer)
{
	struct orma_ipc_listener *listener =
		ORMA_CONTAINER_OF(timer, struct orma_ipc_listener, pause_timer);

	if (listener->spare_fd < 0)
		listener->spare_fd = open_spare();
	orma_base_watch_set_interest(&listener->watch, ORMA_LOOP_READ);
}

static void pause_accepting(struct orma_ipc_listener *listener)
{
	/* If the timer cannot be armed, do not pause: spinning is better than a pause without
	 * end. */
	if (orma_base_loop_arm_in(listener->loop, &listener->pause_timer, PAUSE_NS,
				  on_pause_over) == 0)
		orma_base_watch_set_interest(&listener->watch, 0);
}

/* Turns one connection away by means of the spare descriptor. */
static bool shed_one(struct orma_ipc_listener *listener)
{
	if (listener->spare_fd < 0)
		return false;
	listener->spare_fd = orma_base_fd_close(listener->spare_fd);
	int fd = accept_one(listener);
	/* The user of the peer does not matter: no user can have a descriptor now. */
	if (fd >= 0)
		orma_base_socket_close_foreign(orma_base_loop_closer(listener->loop), fd,
					       (uid_t)-1);
	listener->spare_fd = open_spare();
	return fd >= 0;
}

static void on_ready(struct orma_watch *watch, unsigned ready)
{
	struct orma_ipc_listener *listener =
		ORMA_CONTAINER_OF(watch, struct orma_ipc_listener, watch);

	(void)ready;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept_one(listener);

		if (fd >= 0) {
			listener->fn(listener->ctx, fd);
			continue;
		}
		if (fd == -EAGAIN || fd == -EWOULDBLOCK)
			return;
		if (fd == -EINTR || fd == -ECONNABORTED)
			continue;
		orma_base_log(ORMA_LOG_WARNING, "ipc: cannot accept a connection: %s",
			      strerror(-fd));
		if ((fd != -EMFILE && fd != -ENFILE) || !shed_one(listener)) {
			pause_accepting(listener);
			return;
		}
	}
}

/* Takes over the descriptor on success. */
static int new_listener(struct orma_loop *loop, int fd, orma_ipc_accept_fn *fn, void *ctx,
			struct orma_ipc_listener **ret)
{
	struct orma_ipc_listener *listener = orma_base_zalloc(sizeof(*listener));

	if (!listener)
		return -ENOMEM;
	listener->loop = loop;
	listener->fn = fn;
	listener->ctx = ctx;
	orma_base_list_init(&listener->link);
	int r = orma_base_loop_watch(loop, &listener->watch, fd, ORMA_LOOP_READ, on_ready);
	if (r < 0) {
		orma_base_free(listener);
		return r;
	}
	listener->fd = fd;
	/* If there is no spare descriptor, the listener can still pause. */
	listener->spare_fd = open_spare();
	*ret = listener;
	return 0;
}

int orma_ipc_listener_new(struct orma_loop *loop, const struct orma_ipc_address *address,
			  unsigned flags, orma_ipc_accept_fn *fn, void *ctx,
			  struct orma_ipc_listener **ret)
{
	const char *path = orma_ipc_address_path(address);
	struct stat info;
	int fd = orma_ipc_listen(address, flags);

	if (fd < 0)
		return fd;
	int r = new_listener(loop, fd, fn, ctx, ret);
	if (r < 0) {
		orma_base_fd_close(fd);
		return r;
	}
	(*ret)->address = *address;
	if (path && lstat(path, &info) == 0) {
		(*ret)->file_device = info.st_dev;
		(*ret)->file_inode = info.st_ino;
	}
	return 0;
}

int orma_ipc_listener_new_from_fd(struct orma_loop *loop, int fd, orma_ipc_accept_fn *fn, void *ctx,
				  struct orma_ipc_listener **ret)
{
	int is_listening = 0;
	socklen_t size = sizeof(is_listening);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0)
		return -errno;
	if (!is_listening)
		return -EINVAL;
	/* Accepted sockets inherit these options, as with orma_ipc_listen(). They have no effect on
	 * other families. */
	orma_ipc_set_tcp_options(fd);
	int r = orma_base_fd_set_nonblock(fd);
	if (r < 0)
		return r;
	return new_listener(loop, fd, fn, ctx, ret);
}

static void remove_file(const struct orma_ipc_listener *listener)
{
	const char *path = orma_ipc_address_path(&listener->address);
	struct stat info;

	if (path && listener->file_inode != 0 && lstat(path, &info) == 0 &&
	    info.st_dev == listener->file_device && info.st_ino == listener->file_inode)
		unlink(path);
}

void orma_ipc_listener_free(struct orma_ipc_listener *listener)
{
	if (!listener)
		return;
	remove_file(listener);
	orma_base_list_remove(&listener->link);
	orma_base_watch_remove(&listener->watch);
	orma_base_timer_disarm(&listener->pause_timer);
	orma_base_fd_close(listener->fd);
	orma_base_fd_close(listener->spare_fd);
	orma_base_free(listener);
}
