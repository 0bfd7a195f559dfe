/* SPDX-License-Identifier: Apache-2.0
 * daemon.c - starts and stops the daemon on its thread.
 *
 * The daemon listens before the thread exists, so a client can connect as soon as start returns.
 * Rejected: a child process (its leaks and its open descriptors would go unseen), the in-process
 * endpoints (no socket would be tested).
 */
#include "daemon.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "harness.h"
#include "ipc/ipc_host.h"

static void *run(void *arg)
{
	struct orma_test_daemon *daemon = arg;

	if (orma_daemon_run(&daemon->daemon) < 0)
		abort();
	return NULL;
}

/* Listens on any free port. The test makes the listener, because an address cannot request a
 * free port. */
static uint16_t listen_tcp(struct orma_host *host)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
		orma_base_fd_close(fd);
		return 0;
	}
	CHECK_INT(orma_host_adopt_producer_listener(host, fd, ORMA_HOST_RELAY), 0);
	return ntohs(address.sin_port);
}

void orma_test_daemon_start(struct orma_test_daemon *daemon)
{
	const char *folder = orma_test_tmpdir();
	struct orma_error error = {0};

	CHECK((size_t)snprintf(daemon->producers, sizeof(daemon->producers), "%s/p.sock", folder) <
	      sizeof(daemon->producers));
	CHECK((size_t)snprintf(daemon->consumers, sizeof(daemon->consumers), "%s/c.sock", folder) <
	      sizeof(daemon->consumers));
	struct orma_daemon_options options = {
		.producer_addresses = daemon->producers,
		.consumer_addresses = daemon->consumers,
		/* All clients of a test have one user, so the limit of all connections applies
		 * first.
		 */
		.peers_per_uid_max = ORMA_IPC_PEERS_MAX_DEFAULT,
	};
	/* As in `orma traced`: writing to a pipe without a reader is an error and does not end
	 * the process. */
	signal(SIGPIPE, SIG_IGN);
	if (orma_daemon_init(&daemon->daemon, &options, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	daemon->tcp_port = listen_tcp(daemon->daemon.host);
	CHECK_INT(pthread_create(&daemon->thread, NULL, run, daemon), 0);
}

void orma_test_daemon_stop(struct orma_test_daemon *daemon)
{
	orma_daemon_request(&daemon->daemon, ORMA_DAEMON_STOP);
	CHECK_INT(pthread_join(daemon->thread, NULL), 0);
	orma_daemon_done(&daemon->daemon);
}
