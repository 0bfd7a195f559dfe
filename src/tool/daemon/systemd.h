/* SPDX-License-Identifier: Apache-2.0
 * systemd.h - the two conversations that a service manager has with a daemon: sockets that it hands
 * over (LISTEN_FDS), and what the daemon tells it (NOTIFY_SOCKET). Both are a few variables and a
 * datagram, so libsystemd is not needed. Without the variables nothing here does anything.
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
 * The sockets that this process was started with. Which is which is said by their names ("producer"
 * or "consumer"), else by their addresses, else by their order: producers first. 0 (maybe with none
 * of them) or -EINVAL, -EMSGSIZE. The variables are gone afterwards; to be called before forking.
 */
int orma_systemd_take_sockets(struct orma_systemd_sockets *ret, struct orma_error *reterr);

struct orma_systemd {
	int fd; /* -1 = nobody wants to know */
	uint64_t watchdog_ns;
	struct orma_loop *loop;
	struct orma_timer watchdog;
};

/* Connects to the manager's socket; afterwards telling it needs no new descriptor. */
void orma_systemd_open(struct orma_systemd *systemd);
void orma_systemd_close(struct orma_systemd *systemd);
/* Lines of NAME=value. Lost when the manager does not read. */
void orma_systemd_notify(const struct orma_systemd *systemd, const char *text);
/* Says regularly that the loop still turns, when the manager asked for that. */
void orma_systemd_start_watchdog(struct orma_systemd *systemd, struct orma_loop *loop);

#endif
