/* SPDX-License-Identifier: Apache-2.0
 * fd_closer_test.c - other threads close descriptors, and limit how many of one user may wait.
 *
 * The descriptor that hangs is a socket that lingers: its last close() waits for the other end.
 */
#include "tool/daemon/fd_closer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { USER = 1000, OTHER = 1001 };

static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* Opens both ends of a connection. close() of the first hangs until the second is closed. */
static void open_lingering(int ret_ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	struct linger linger = {.l_onoff = 1, .l_linger = 600};
	static char bytes[65536];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ret_ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size))
		orma_test_skip("TCP on 127.0.0.1");
	CHECK(connect(ret_ends[0], (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS);
	ret_ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(ret_ends[1] >= 0);
	close(listener);
	CHECK_INT(setsockopt(ret_ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(ret_ends[0], bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
		;
}

static void await_closed(int fd)
{
	while (fcntl(fd, F_GETFD) >= 0)
		sched_yield();
}

static void await_idle(struct orma_fd_closer *closer)
{
	while (!orma_fd_closer_is_idle(closer))
		sched_yield();
}

ORMA_TEST(what_is_handed_over_is_closed)
{
	struct orma_fd_closer *closer;

	CHECK_INT(orma_fd_closer_new(&closer), 0);
	CHECK(orma_fd_closer_is_idle(closer));
	for (int i = 0; i < 100; i++)
		orma_base_fd_close_foreign(closer, open_null(), USER + (uid_t)i % 20);
	await_idle(closer);
	CHECK(!closer->is_full(closer, USER));
	orma_fd_closer_free(closer);
	orma_fd_closer_free(NULL);
}

ORMA_TEST(a_memory_file_is_closed_at_once)
{
	struct orma_fd_closer *closer;
	int fd = memfd_create("x", MFD_CLOEXEC);

	CHECK_INT(orma_fd_closer_new(&closer), 0);
	CHECK_INT(orma_base_fd_close_foreign(closer, fd, USER), -1);
	CHECK_INT(fcntl(fd, F_GETFD), -1);
	CHECK(orma_fd_closer_is_idle(closer));
	/* Without a closer, every descriptor is closed at once. A descriptor of -1 is ignored. */
	fd = open_null();
	orma_base_fd_close_foreign(NULL, fd, USER);
	CHECK_INT(fcntl(fd, F_GETFD), -1);
	CHECK_INT(orma_base_fd_close_foreign(closer, -1, USER), -1);
	orma_fd_closer_free(closer);
}

ORMA_TEST(who_sends_what_hangs_holds_up_his_own_descriptors_only)
{
	struct orma_fd_closer *closer;
	int ends[2], fds[ORMA_FD_CLOSER_PER_OWNER_MAX], fd;

	CHECK_INT(orma_fd_closer_new(&closer), 0);
	open_lingering(ends);
	orma_base_fd_close_foreign(closer, ends[0], USER);
	for (size_t i = 1; i < ORMA_FD_CLOSER_PER_OWNER_MAX; i++) {
		CHECK(!closer->is_full(closer, USER));
		fds[i] = open_null();
		orma_base_fd_close_foreign(closer, fds[i], USER);
	}
	CHECK(closer->is_full(closer, USER));
	CHECK(!closer->is_full(closer, OTHER));
	fd = open_null();
	orma_base_fd_close_foreign(closer, fd, OTHER);
	await_closed(fd);
	CHECK(fcntl(fds[1], F_GETFD) >= 0);
	CHECK(!orma_fd_closer_is_idle(closer));
	close(ends[1]);
	await_idle(closer);
	CHECK(!closer->is_full(closer, USER));
	orma_fd_closer_free(closer);
}

ORMA_TEST(a_socket_is_closed_at_once_unless_something_is_unread)
{
	struct orma_fd_closer *closer;
	int pair[2];
	ssize_t received;
	char byte;

	CHECK_INT(orma_fd_closer_new(&closer), 0);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(write(pair[0], "x", 1), 1);
	CHECK_INT(orma_base_socket_close_foreign(closer, pair[0], USER), -1);
	CHECK_INT(fcntl(pair[0], F_GETFD), -1);
	CHECK(orma_fd_closer_is_idle(closer));
	/* Data that was sent before the close still arrives. */
	CHECK_INT(read(pair[1], &byte, 1), 1);
	CHECK_INT(read(pair[1], &byte, 1), 0);
	close(pair[1]);

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(write(pair[1], "x", 1), 1);
	orma_base_socket_close_foreign(closer, pair[0], USER);
	received = recv(pair[1], &byte, 1, 0);
	/* Once the socket is closed, the kernel reports that data was not read. */
	CHECK(received == 0 || (received < 0 && errno == ECONNRESET));
	await_idle(closer);
	await_closed(pair[0]);
	close(pair[1]);
	orma_fd_closer_free(closer);
}

ORMA_TEST(without_memory_it_is_closed_all_the_same)
{
	struct orma_fd_closer *closer;
	int fd = open_null();

	orma_test_fail_allocation(1);
	CHECK_INT(orma_fd_closer_new(&closer), -ENOMEM);
	orma_test_fail_allocation(0);
	CHECK_INT(orma_fd_closer_new(&closer), 0);
	orma_test_fail_allocation(1);
	orma_base_fd_close_foreign(closer, fd, USER);
	orma_test_fail_allocation(0);
	CHECK_INT(fcntl(fd, F_GETFD), -1);
	orma_fd_closer_free(closer);
}
