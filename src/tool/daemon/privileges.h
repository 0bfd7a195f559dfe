/* SPDX-License-Identifier: Apache-2.0
 * privileges.h - a daemon that was started as root becomes another user.
 */
#ifndef ORMA_TOOL_PRIVILEGES_H
#define ORMA_TOOL_PRIVILEGES_H

#include <orma/error.h>
#include <stdbool.h>
#include <sys/types.h>

struct orma_privileges {
	bool must_change;
	uid_t uid;
	gid_t gid;
};

/* Looks up names or numbers. NULL `user` = keep the user, NULL `group` = the user's own. -ENOENT,
 * -EINVAL. */
int orma_privileges_find(const char *user, const char *group, struct orma_privileges *ret,
			 struct orma_error *reterr);
int orma_privileges_find_group(const char *name, gid_t *ret);
/* Permanently becomes that user, with that group and no other, and without capabilities. Also
 * ensures that programs executed later gain no rights, even if the user stays the same. Returns
 * -EPERM when the process is not root's. */
int orma_privileges_drop(const struct orma_privileges *privileges, struct orma_error *reterr);

#endif
