/* SPDX-License-Identifier: Apache-2.0
 * old_file.c - writes a trace beside the file that it may replace, FILE.PID.part, and renames it.
 *
 * Commands that may find out late that they cannot record use this, so that they do not cost the user an earlier trace. Rejected:
 * emptying the old file late, because the service writes into its descriptor from the beginning.
 */
#include "tool/record/old_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/tool.h"

/* True when files can be made in the folder of the file. */
static bool has_place_beside(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path + 1), path);
	return access(folder, W_OK | X_OK) == 0;
}

void orma_old_file_find(struct orma_old_file *old, const char *path)
{
	struct stat info;
	int size;

	old->part[0] = '\0';
	if (strcmp(path, "-") == 0 || stat(path, &info) < 0 || !S_ISREG(info.st_mode) ||
	    !realpath(path, old->path) || !has_place_beside(old->path))
		return;
	size = snprintf(old->part, sizeof(old->part), "%s.%d.part", old->path, (int)getpid());
	if (size < 0 || (size_t)size >= sizeof(old->part))
		old->part[0] = '\0';
}

int orma_old_file_replace(struct orma_old_file *old)
{
	struct stat info;
	int status = ORMA_EXIT_OK;

	if (!old->part[0])
		return ORMA_EXIT_OK;
	/* A file that cannot be given to its old owner stays private. */
	if (stat(old->path, &info) == 0 && lchown(old->part, info.st_uid, info.st_gid) == 0)
		(void)chmod(old->part, info.st_mode & 0777);
	if (rename(old->part, old->path) < 0)
		status = orma_tool_fail("cannot replace %s: %s; the trace is in %s", old->path,
					strerror(errno), old->part);
	old->part[0] = '\0';
	return status;
}

void orma_old_file_keep(struct orma_old_file *old)
{
	if (old->part[0])
		(void)unlink(old->part);
	old->part[0] = '\0';
}
