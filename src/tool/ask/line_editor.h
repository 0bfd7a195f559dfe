/* SPDX-License-Identifier: Apache-2.0
 * line_editor.h - reads a text from a terminal, with the keys that shells have.
 *
 * A text may have several lines: Enter ends it when it is complete, and begins a new line otherwise.
 */
#ifndef ORMA_TOOL_LINE_EDITOR_H
#define ORMA_TOOL_LINE_EDITOR_H

#include <stdbool.h>

#include "base/buf.h"
#include "tool/ask/line_history.h"
#include "tool/ask/line_keys.h"

enum orma_line_result {
	ORMA_LINE_END,     /* Ctrl-D in an empty line, or the terminal has gone */
	ORMA_LINE_TEXT,    /* the buffer has what was typed */
	ORMA_LINE_STOPPED, /* Ctrl-C */
};

struct orma_line_editor {
	struct orma_line_keys keys; /* {.fd = FD}: the terminal */
	int out_fd;
	const char *prompt; /* one character per column */
	struct orma_line_history *history;
	bool (*is_complete)(void *ctx, struct orma_str text);
	/*
	 * Adds what may stand in place of the word before *begin, each with a NUL behind, and moves *begin to where the word
	 * begins. 0 or -ENOMEM.
	 */
	int (*complete)(void *ctx, struct orma_str text, size_t *begin, struct orma_buf *ret);
	void *ctx;
};

/* Returns whether these descriptors are a terminal on which texts can be edited. */
bool orma_line_editor_works(int in_fd, int out_fd);
/* Replaces the content of `ret`. Returns enum orma_line_result, or -ENOMEM. */
int orma_line_editor_read(struct orma_line_editor *editor, struct orma_buf *ret);

#endif
