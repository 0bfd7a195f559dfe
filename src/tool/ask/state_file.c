/* SPDX-License-Identifier: Apache-2.0
 * state_file.c - files that orma keeps for its user, in XDG_STATE_HOME/orma or ~/.local/state/orma.
 */
#include "tool/ask/state_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

enum { PATH_BYTES = 4096 };

/* Creates a folder below the home folder with those above it. */
static bool make_folder(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
		*slash = '/';
		if (!is_there)
			return false;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

char *orma_ask_state_path(const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool has_state = state && state[0] == '/';
	char folder[PATH_BYTES], path[PATH_BYTES + 64];
	if (!has_state && (!home || home[0] != '/'))
		return NULL;
	int size = snprintf(folder, sizeof(folder), "%s%s/orma", has_state ? state : home,
			    has_state ? "" : "/.local/state");
	if (size >= (int)sizeof(folder) || !make_folder(folder))
		return NULL;
	size = snprintf(path, sizeof(path), "%s/%s", folder, name);
	return size < (int)sizeof(path) ? orma_base_strdup(path) : NULL;
}
