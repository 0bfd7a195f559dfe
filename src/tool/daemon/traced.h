/* SPDX-License-Identifier: Apache-2.0
 * traced.h - the options of `orma traced`, and the daemon that they configure.
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
	bool allows_remote_consumers;
	uint32_t peers_per_uid_max; /* 0 = default */
	const char *output_dir;     /* NULL = none */
	struct orma_daemon_relays relays;
	struct orma_privileges privileges;
	enum orma_seccomp_mode seccomp;
	bool must_have_seccomp; /* the mode was given, and is not the default */
	struct orma_systemd_sockets sockets;
};

/* Opens the sockets, gives up the rights that it no longer needs, and serves until a signal.
 * Returns the exit status. Tells the parent when the daemon serves; *parent_fd is -1 when no parent
 * waits. */
int orma_traced_serve(const struct orma_traced_options *options, int *parent_fd);

#endif
