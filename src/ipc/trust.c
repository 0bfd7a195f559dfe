/* SPDX-License-Identifier: Apache-2.0
 * trust.c - decides which users' services a program takes commands from.
 *
 * A producer sends its service everything that its data sources record, and the default address may
 * be in /tmp, where any user can listen first. So a client asks the kernel which user listens: a
 * connected Unix socket has the credentials of the process that called listen().
 *
 *   the listener                              | is trusted
 *   the program's own user, or root           | always
 *   a system user (999 at most)               | when its socket is below /run, where only the
 *                                             | system makes folders
 *   a user that ORMA_TRUST_SERVICE, or the    | always
 *   program, lists                            |
 *   any user                                  | when the program named the address itself, or the
 *                                             | environment did
 *   a process on a network (no credentials)   | the same
 *
 * The user that runs a program usually sets its environment, so an address in the environment is
 * trusted. There are two exceptions: any user may start a setuid program, and `su` and `sudo -E`
 * pass a user's environment to root. So a setuid program treats such an address like a default one.
 * Root does the same if the address is a Unix socket, whose owner can be checked. A network address
 * has no owner to check, and a virtual machine's root has no other way to reach the host.
 *
 * Rejected: checking the owner of the socket's file (a user can make a link to, or rename, another
 * user's socket), connecting without a check (upstream), and checking on the producer's side alone
 * (a consumer passes descriptors and believes the trace).
 */
#include "ipc/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/log_message.h"
#include "base/str.h"

/* The SYS_UID_MAX of most distributions. */
#define SYSTEM_UID_MAX 999u

static int add_uid(struct orma_ipc_trust *trust, const char *text, size_t size)
{
	char number[16];
	uint64_t uid;

	if (size >= sizeof(number) || trust->uid_count == ORMA_IPC_TRUSTED_UIDS_MAX)
		return -EINVAL;
	memcpy(number, text, size);
	number[size] = '\0';
	if (orma_base_parse_u64(number, 10, &uid) < 0 || uid > UINT32_MAX)
		return -EINVAL;
	trust->uids[trust->uid_count++] = (uid_t)uid;
	return 0;
}

static int parse(struct orma_ipc_trust *trust, const char *text)
{
	int r = 0;

	if (strcmp(text, "any") == 0) {
		trust->has_everybody = true;
		return 0;
	}
	while (*text && r == 0) {
		size_t size = strcspn(text, ",");

		r = add_uid(trust, text, size);
		text += size;
		if (*text == ',' && *++text == '\0')
			r = -EINVAL;
	}
	return r;
}

int orma_ipc_trust_init(struct orma_ipc_trust *ret, enum orma_ipc_naming naming, const char *wanted)
{
	struct orma_ipc_trust trust = {.naming = naming};
	const char *said = getauxval(AT_SECURE) ? NULL : getenv("ORMA_TRUST_SERVICE");

	if (wanted) {
		trust.naming = ORMA_IPC_NAMED_BY_NOBODY;
		if (parse(&trust, wanted) < 0)
			return -EINVAL;
	} else if (said && parse(&trust, said) < 0) {
		orma_base_log(ORMA_LOG_WARNING,
			      "ORMA_TRUST_SERVICE is neither \"any\" nor a list of user ids: %s",
			      said);
		trust = (struct orma_ipc_trust){.naming = naming};
	}
	if (trust.naming == ORMA_IPC_NAMED_BY_ENVIRONMENT && getauxval(AT_SECURE))
		trust.naming = ORMA_IPC_NAMED_BY_NOBODY;
	*ret = trust;
	return 0;
}

static bool is_system_path(const char *path)
{
	return path && (strncmp(path, "/run/", 5) == 0 || strncmp(path, "/var/run/", 9) == 0) &&
	       !strstr(path, "/../");
}

bool orma_ipc_trust_covers(const struct orma_ipc_trust *trust,
			   const struct orma_ipc_credentials *listener, const char *path,
			   uid_t own_uid)
{
	if (trust->has_everybody || trust->naming == ORMA_IPC_NAMED_BY_PROGRAM)
		return true;
	if (trust->naming == ORMA_IPC_NAMED_BY_ENVIRONMENT && (!listener->is_known || own_uid != 0))
		return true;
	if (!listener->is_known)
		return false;
	if (listener->uid == own_uid || listener->uid == 0)
		return true;
	for (size_t i = 0; i < trust->uid_count; i++)
		if (listener->uid == trust->uids[i])
			return true;
	return listener->uid <= SYSTEM_UID_MAX && is_system_path(path);
}
