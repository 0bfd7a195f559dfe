/* SPDX-License-Identifier: Apache-2.0
 * systemd.c - inherited sockets and notifications, as sd_listen_fds(3) and sd_notify(3) describe
 * them.
 *
 * The notification socket is connected once and kept, because the daemon's system call filter
 * allows neither socket(2) nor connect(2). Rejected: libsystemd (two of its functions, for a binary
 * that is to be static), and a process of its own for notifications.
 */
#include "tool/daemon/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/str.h"
#include "ipc/address.h"

#define FIRST_FD 3

/* --- sockets ---------------------------------------------------------------------------------- */

static bool is_for_this_process(const char *variable)
{
	const char *value = getenv(variable);
	uint64_t pid;

	return value && orma_base_parse_u64(value, 10, &pid) == 0 && pid == (uint64_t)getpid();
}

/* Returns the next name of a list with colons; "" after the last one. */
static struct orma_str next_name(const char **names)
{
	size_t size = strcspn(*names, ":");
	struct orma_str name = {*names, size};

	*names += size + ((*names)[size] == ':');
	return name;
}

static bool is_in_list(const char *text, const char *list)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];

	while (orma_ipc_address_list_next(&list, item) > 0)
		if (strcmp(item, text) == 0)
			return true;
	return false;
}

static bool is_for_consumers(int fd, struct orma_str name, size_t place)
{
	struct orma_ipc_address address = {.size = sizeof(address.storage)};
	char text[ORMA_IPC_ADDRESS_TEXT_BYTES];

	if (orma_base_str_is(name, "producer"))
		return false;
	if (orma_base_str_is(name, "consumer"))
		return true;
	if (getsockname(fd, (struct sockaddr *)&address.storage, &address.size) == 0) {
		orma_ipc_address_format(&address, text);
		if (is_in_list(text, orma_ipc_producer_address()))
			return false;
		if (is_in_list(text, orma_ipc_consumer_address()))
			return true;
	}
	return place > 0;
}

static int take(uint64_t count, struct orma_systemd_sockets *ret, struct orma_error *reterr)
{
	const char *names = getenv("LISTEN_FDNAMES");

	names = names ? names : "";
	if (count > ORMA_SYSTEMD_SOCKETS_MAX)
		return orma_base_error_set(reterr, -EMSGSIZE, "LISTEN_FDS: more than %d sockets",
					   ORMA_SYSTEMD_SOCKETS_MAX);
	for (size_t i = 0; i < count; i++) {
		int fd = FIRST_FD + (int)i;
		if (fcntl(fd, F_SETFD, FD_CLOEXEC))
			return orma_base_error_set(reterr, -EINVAL,
						   "LISTEN_FDS: descriptor %d is not open", fd);
		ret->items[i].fd = fd;
		ret->items[i].is_for_consumers = is_for_consumers(fd, next_name(&names), i);
	}
	ret->count = (size_t)count;
	return 0;
}

int orma_systemd_take_sockets(struct orma_systemd_sockets *ret, struct orma_error *reterr)
{
	const char *value = getenv("LISTEN_FDS");
	uint64_t count;
	int r = 0;

	ret->count = 0;
	if (value && is_for_this_process("LISTEN_PID")) {
		if (orma_base_parse_u64(value, 10, &count))
			r = orma_base_error_set(reterr, -EINVAL,
						"LISTEN_FDS: \"%s\" is not a number", value);
		else
			r = take(count, ret, reterr);
	}
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	return r;
}

/* --- notifications ---------------------------------------------------------------------------- */

static int connect_to(const char *text)
{
	struct orma_ipc_address address;

	/* A vsock address is for managers of virtual machines, which start no daemon in them. */
	if ((text[0] != '/' && text[0] != '@') || orma_ipc_address_parse(text, &address))
		return -EINVAL;
	ORMA_AUTO(orma_base_fd_closep)
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address.storage, address.size))
		return -errno;
	int r = fd;
	fd = -1;
	return r;
}

static uint64_t read_watchdog_ns(void)
{
	const char *value = getenv("WATCHDOG_USEC");
	uint64_t us, ns;

	if (!value || orma_base_parse_u64(value, 10, &us) ||
	    __builtin_mul_overflow(us, ORMA_NS_PER_MS / 1000, &ns))
		return 0;
	return !getenv("WATCHDOG_PID") || is_for_this_process("WATCHDOG_PID") ? ns : 0;
}

void orma_systemd_open(struct orma_systemd *systemd)
{
	const char *text = getenv("NOTIFY_SOCKET");

	*systemd = (struct orma_systemd){.fd = -1, .watchdog_ns = read_watchdog_ns()};
	if (text)
		systemd->fd = connect_to(text);
	if (text && systemd->fd < 0)
		orma_base_log(ORMA_LOG_WARNING, "NOTIFY_SOCKET=%s: %s", text,
			      strerror(-systemd->fd));
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void orma_systemd_close(struct orma_systemd *systemd)
{
	orma_base_timer_disarm(&systemd->watchdog);
	systemd->fd = orma_base_fd_close(systemd->fd);
}

void orma_systemd_notify(const struct orma_systemd *systemd, const char *text)
{
	if (systemd->fd >= 0)
		(void)!send(systemd->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_watchdog(struct orma_timer *timer)
{
	struct orma_systemd *systemd = ORMA_CONTAINER_OF(timer, struct orma_systemd, watchdog);

	orma_systemd_notify(systemd, "WATCHDOG=1");
	orma_systemd_start_watchdog(systemd, systemd->loop);
}

void orma_systemd_start_watchdog(struct orma_systemd *systemd, struct orma_loop *loop)
{
	systemd->loop = loop;
	if (systemd->fd >= 0 && systemd->watchdog_ns > 0)
		(void)orma_base_loop_arm_in(loop, &systemd->watchdog, systemd->watchdog_ns / 2,
					    on_watchdog);
}
