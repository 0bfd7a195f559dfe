/* SPDX-License-Identifier: Apache-2.0
 * systemd.h - the two protocols between a service manager and a daemon: sockets that the manager
 * passes (LISTEN_FDS), and notifications of the daemon (NOTIFY_SOCKET). Both are a few variables
 * and datagrams, so libsystemd is not needed. Without the variables nothing here has an effect.
 */
#ifndef ORMA_TOOL_SYSTEMD_H
#define ORMA_TOOL_SYSTEMD_H

#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define ORMA_SYSTEMD_SOCKETS_MAX 16

struct orma_systemd_sockets {
	struct {
		int fd;
		bool is_for_consumers;
	} items[ORMA_SYSTEMD_SOCKETS_MAX];
	size_t count;
};

/*
 * Takes the sockets that this process was started with. Their purpose follows from their names
 * ("producer" or "consumer"), else from their addresses, else from their order, producers first. 0
 * (also when there is none), -EINVAL or -EMSGSIZE. Unsets the variables. Call it before forking.
 */
int orma_systemd_take_sockets(struct orma_systemd_sockets *ret, struct orma_error *reterr);

struct orma_systemd {
	int fd; /* -1 = no manager wants notifications */
	uint64_t watchdog_ns;
	struct orma_loop *loop;
	struct orma_timer watchdog;
};

/* Connects to the manager's socket. After that, notifications need no further descriptor. */
void orma_systemd_open(struct orma_systemd *systemd);
void orma_systemd_close(struct orma_systemd *systemd);
/* Sends lines of NAME=value. They are lost when the manager does not read. */
void orma_systemd_notify(const struct orma_systemd *systemd, const char *text);
/* Notifies the manager regularly that the loop still turns, if the manager asked for that. */
void orma_systemd_start_watchdog(struct orma_systemd *systemd, struct orma_loop *loop);

#endif
