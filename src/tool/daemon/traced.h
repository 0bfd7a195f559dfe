/* SPDX-License-Identifier: Apache-2.0
 * traced.h - what the options of `orma traced` say, and the daemon that does it.
 */
#ifndef ORMA_TOOL_TRACED_H
#define ORMA_TOOL_TRACED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool/daemon/daemon.h"
#include "tool/daemon/privileges.h"
#include "tool/daemon/seccomp.h"
#include "tool/daemon/systemd.h"

struct orma_traced_permissions {
	const char *group; /* NULL = leave the sockets as they are */
	mode_t mode;
};

struct orma_traced_options {
	struct orma_traced_permissions producers, consumers;
	bool in_background, allows_remote_consumers;
	int parent_fd;              /* is told once it serves; -1 = none */
	uint32_t peers_per_uid_max; /* 0 = default */
	const char *output_dir;     /* NULL = none */
	struct orma_daemon_relays relays;
	struct orma_privileges privileges;
	enum orma_seccomp_mode seccomp;
	bool must_have_seccomp; /* the mode was asked for, not the default */
	struct orma_systemd_sockets sockets;
};

/* Opens the sockets, gives up what it no longer needs, serves until a signal: the exit status. */
int orma_traced_serve(struct orma_traced_options *options);

#endif
