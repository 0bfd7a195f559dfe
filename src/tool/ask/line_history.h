/* SPDX-License-Identifier: Apache-2.0
 * line_history.h - what a user has typed, in this and in earlier runs.
 */
#ifndef ORMA_TOOL_LINE_HISTORY_H
#define ORMA_TOOL_LINE_HISTORY_H

#include <stddef.h>

#include "base/str.h"

enum { ORMA_LINE_HISTORY_MAX = 1000 };

/* {0} is empty and has no file. */
struct orma_line_history {
	char *entries[ORMA_LINE_HISTORY_MAX]; /* the oldest first */
	size_t count;
	char *path; /* NULL = nothing is kept */
};

/*
 * Reads the file NAME of the user's folder for state: $XDG_STATE_HOME/orma, or ~/.local/state/orma. Without a folder that
 * can be written, the history lasts as long as the program.
 */
void orma_line_history_open(struct orma_line_history *history, const char *name);
void orma_line_history_done(struct orma_line_history *history);
/* Adds a text to the history and to its file, unless it is empty, begins with a space, or is the last one again. */
void orma_line_history_add(struct orma_line_history *history, struct orma_str text);

#endif
