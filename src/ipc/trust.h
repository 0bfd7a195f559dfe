/* SPDX-License-Identifier: Apache-2.0
 * trust.h - which services a client talks to, by the user that runs them.
 */
#ifndef ORMA_IPC_TRUST_H
#define ORMA_IPC_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ipc/address.h"
#include "ipc/socket_io.h"

/* Where an address comes from. */
enum orma_ipc_naming {
	ORMA_IPC_NAMED_BY_NOBODY, /* it is a default */
	ORMA_IPC_NAMED_BY_ENVIRONMENT,
	ORMA_IPC_NAMED_BY_PROGRAM,
};

#define ORMA_IPC_TRUSTED_UIDS_MAX 32

struct orma_ipc_trust {
	enum orma_ipc_naming naming;
	bool has_everybody;
	size_t uid_count;
	uid_t uids[ORMA_IPC_TRUSTED_UIDS_MAX]; /* beside those that are always trusted */
};

/*
 * `wanted` is "any", or the numbers of users with commas between them ("" = none); the naming does
 * not matter then. NULL = what ORMA_TRUST_SERVICE says, except in setuid programs, which ignore it
 * as they ignore that the environment named the address. -EINVAL = `wanted` is neither; such an
 * environment is ignored, and the log says so. Not for threads that must not look at the
 * environment.
 */
int orma_ipc_trust_init(struct orma_ipc_trust *ret, enum orma_ipc_naming naming,
			const char *wanted);
/*
 * Whether the process of user `own_uid` talks to a listener. `path` is that of its socket, NULL =
 * it has none.
 */
bool orma_ipc_trust_covers(const struct orma_ipc_trust *trust,
			   const struct orma_ipc_credentials *listener, const char *path,
			   uid_t own_uid);

#endif
