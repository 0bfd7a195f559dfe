/* SPDX-License-Identifier: Apache-2.0
 * top_screen.h - a frame for the terminal, and what the user does with it.
 */
#ifndef ORMA_TOOL_TOP_SCREEN_H
#define ORMA_TOOL_TOP_SCREEN_H

#include "tool/top/top_terminal.h"
#include "tool/top/top_view.h"

enum orma_top_page { ORMA_TOP_PAGE_TABLE, ORMA_TOP_PAGE_HISTOGRAM, ORMA_TOP_PAGE_HELP };
enum orma_top_prompt { ORMA_TOP_PROMPT_NONE, ORMA_TOP_PROMPT_SEARCH, ORMA_TOP_PROMPT_FILTER };

struct orma_top_screen {
	struct orma_top_terminal terminal;
	enum orma_top_page page;
	enum orma_top_prompt prompt;
	char typed[ORMA_TOP_PATTERN_BYTES];         /* at the prompt; the last search stays */
	char selected[ORMA_TOP_NAME_MAX_BYTES + 1]; /* the row's name: it moves with its row */
	size_t selected_at, first; /* its place in the table; the place of the first row shown */
	size_t rows_shown;         /* how many had room in the last frame */
	unsigned help_first;       /* the first line of the help that is shown */
	bool is_paused;
	char message[ORMA_TOP_TEXT_BYTES]; /* in the last line; "" = none */
};

/* Appends a frame that fills the terminal. 0 or -ENOMEM. */
int orma_top_screen_compose(struct orma_top_screen *screen, const struct orma_top_view *view,
			    struct orma_buf *out);
/* Finds the selected row in the table, and scrolls to it. */
void orma_top_screen_follow(struct orma_top_screen *screen, const struct orma_top_table *table);
enum orma_top_action {
	ORMA_TOP_ACTION_NONE, /* the frame is to be drawn anew */
	ORMA_TOP_ACTION_QUIT,
	ORMA_TOP_ACTION_ZERO,
	ORMA_TOP_ACTION_SAVE,
	ORMA_TOP_ACTION_OPEN,  /* saves, and shows the page of it */
	ORMA_TOP_ACTION_BY,    /* choice->by has changed */
	ORMA_TOP_ACTION_CLEAR, /* the terminal shows something else than was written */
	ORMA_TOP_ACTION_SUSPEND,
};

/* Takes a key of line_keys.h; `character` is that of ORMA_KEY_TEXT. */
enum orma_top_action orma_top_screen_key(struct orma_top_screen *screen,
					 struct orma_top_choice *choice,
					 const struct orma_top_table *table, int key,
					 struct orma_str character);

#endif
