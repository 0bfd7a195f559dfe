/* SPDX-License-Identifier: Apache-2.0
 * privileges.c - changing the user for good.
 *
 * The order is: groups first, while the process may still change them; then all three user ids at
 * once, because a saved one is a way back; then the capabilities, because a change of user keeps
 * the inheritable ones; then a check of the result. Users and groups are looked up in the files, or
 * are numbers. Rejected: getpwnam() (it loads shared libraries for name services at run time, which
 * a static binary must not need); keeping single capabilities (the daemon needs none once its
 * sockets are open); libcap for one system call.
 */
#include "tool/daemon/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/str.h"

static int parse_id(const char *text, uint32_t *ret)
{
	uint64_t number;

	/* The kernel takes the largest number for "unchanged". */
	if (orma_base_parse_u64(text, 10, &number) || number >= UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)number;
	return 0;
}

int orma_privileges_find_group(const char *name, gid_t *ret)
{
	struct group *entry;

	if (parse_id(name, ret) == 0)
		return 0;
	FILE *file = fopen("/etc/group", "re");
	if (!file)
		return -errno;
	do
		entry = fgetgrent(file);
	while (entry && strcmp(entry->gr_name, name) != 0);
	if (entry)
		*ret = entry->gr_gid;
	fclose(file);
	return entry ? 0 : -ENOENT;
}

/* Finds a user by name or number. A number without an entry is a user without a group. */
static int find_user(const char *name, struct orma_privileges *ret, bool *ret_has_group)
{
	bool is_number = parse_id(name, &ret->uid) == 0;
	struct passwd *entry = NULL;
	FILE *file = fopen("/etc/passwd", "re");

	if (file) {
		do
			entry = fgetpwent(file);
		while (entry && !(is_number ? entry->pw_uid == ret->uid
					    : strcmp(entry->pw_name, name) == 0));
	}
	*ret_has_group = entry != NULL;
	if (entry) {
		ret->uid = entry->pw_uid;
		ret->gid = entry->pw_gid;
	}
	if (file)
		fclose(file);
	return entry || is_number ? 0 : -ENOENT;
}

int orma_privileges_find(const char *user, const char *group, struct orma_privileges *ret,
			 struct orma_error *reterr)
{
	bool has_group = false;

	*ret = (struct orma_privileges){.must_change = user != NULL};
	if (!user && group)
		return orma_base_error_set(reterr, -EINVAL, "--group needs --user");
	if (!user)
		return 0;
	if (find_user(user, ret, &has_group))
		return orma_base_error_set(reterr, -ENOENT, "there is no user \"%s\"", user);
	if (group && orma_privileges_find_group(group, &ret->gid))
		return orma_base_error_set(reterr, -ENOENT, "there is no group \"%s\"", group);
	if (!group && !has_group)
		return orma_base_error_set(reterr, -ENOENT,
					   "user %s has no group; --group names one", user);
	return 0;
}

/* The argument of capset(2). A C library other than glibc may come without the kernel's headers. */
struct capability_header {
	uint32_t version;
	int pid;
};
struct capability_sets {
	uint32_t effective, permitted, inheritable;
};
#define CAPABILITY_VERSION_3 0x20080522u

static int drop_capabilities(void)
{
	struct capability_header header = {.version = CAPABILITY_VERSION_3};
	struct capability_sets none[2] = {{0}};

	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

static int become(const struct orma_privileges *privileges)
{
	gid_t gid = privileges->gid;
	uid_t uid = privileges->uid, ids[3];

	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	int r = drop_capabilities();
	if (r)
		return r;
	if (getresuid(&ids[0], &ids[1], &ids[2]) || ids[0] != uid || ids[1] != uid ||
	    ids[2] != uid || (uid != 0 && setuid(0) == 0))
		return -EPERM;
	return 0;
}

int orma_privileges_drop(const struct orma_privileges *privileges, struct orma_error *reterr)
{
	bool is_it_already = getuid() == privileges->uid && geteuid() == privileges->uid;
	int r = 0;

	if (privileges->must_change && (geteuid() == 0 || !is_it_already))
		r = become(privileges);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		r = -errno;
	return r ? orma_base_error_set(reterr, r, "cannot become user %u: %s",
				       (unsigned)privileges->uid, strerror(-r))
		 : 0;
}
