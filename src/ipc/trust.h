/* SPDX-License-Identifier: Apache-2.0
 * trust.h - decides which services a client talks to, by the user that runs the service.
 */
#ifndef ORMA_IPC_TRUST_H
#define ORMA_IPC_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ipc/address.h"
#include "ipc/socket_io.h"

/* The source of an address. */
enum orma_ipc_naming {
	ORMA_IPC_NAMED_BY_NOBODY, /* the default address */
	ORMA_IPC_NAMED_BY_ENVIRONMENT,
	ORMA_IPC_NAMED_BY_PROGRAM,
};

#define ORMA_IPC_TRUSTED_UIDS_MAX 32

struct orma_ipc_trust {
	enum orma_ipc_naming naming;
	bool has_everybody;
	size_t uid_count;
	uid_t uids[ORMA_IPC_TRUSTED_UIDS_MAX]; /* in addition to users that are always trusted */
};

/*
 * `wanted` is "any", or user ids with commas between them ("" = none); `naming` has no effect then.
 * NULL means the value of ORMA_TRUST_SERVICE. Setuid programs ignore that variable, and treat an
 * address from the environment like a default one. Returns -EINVAL when `wanted` is neither "any"
 * nor a list. A wrong value in the environment is logged and ignored. Reads the environment, so
 * threads that must not do that must not call it.
 */
int orma_ipc_trust_init(struct orma_ipc_trust *ret, enum orma_ipc_naming naming,
			const char *wanted);
/*
 * Returns whether a process of user `own_uid` talks to this listener. `path` is the path of its
 * socket, NULL = it has none.
 */
bool orma_ipc_trust_covers(const struct orma_ipc_trust *trust,
			   const struct orma_ipc_credentials *listener, const char *path,
			   uid_t own_uid);

#endif
