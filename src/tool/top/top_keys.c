/* SPDX-License-Identifier: Apache-2.0
 * top_keys.c - what keys do: those of htop where it has the same. The loop (top_run.c) does what concerns more than the screen.
 */
#include <stdio.h>

#include "base/macros.h"
#include "tool/ask/line_keys.h"
#include "tool/ask/line_view.h"
#include "tool/top/top_screen.h"

void orma_top_screen_follow(struct orma_top_screen *screen, const struct orma_top_table *table)
{
	size_t at = 0, shown = ORMA_MAX(screen->rows_shown, (size_t)1);
	while (at < table->count && strcmp(table->cells[at].row->name, screen->selected) != 0)
		at++;
	/* The row has gone: the one in its place is selected. */
	if (at == table->count) {
		at = table->count > 0 ? ORMA_MIN(screen->selected_at, table->count - 1) : 0;
		if (table->count > 0)
			snprintf(screen->selected, sizeof(screen->selected), "%s",
				 table->cells[at].row->name);
	}
	screen->selected_at = at;
	size_t last_first = table->count > shown ? table->count - shown : 0;
	screen->first = ORMA_MIN(screen->first, last_first);
	screen->first = ORMA_MIN(screen->first, at);
	if (at >= screen->first + shown)
		screen->first = at - shown + 1;
}

/* Selects a place of the table. A place beyond its end is its end. */
static void select_row(struct orma_top_screen *screen, const struct orma_top_table *table,
		       size_t place)
{
	if (table->count == 0)
		return;
	const struct orma_top_row *row = table->cells[ORMA_MIN(place, table->count - 1)].row;
	snprintf(screen->selected, sizeof(screen->selected), "%s", row->name);
	orma_top_screen_follow(screen, table);
}

/* --- the prompt ------------------------------------------------------------------------------- */

/* Selects the first row from a place on whose name fits; behind the end the search begins anew. */
static void search(struct orma_top_screen *screen, const struct orma_top_table *table, size_t from)
{
	if (!screen->typed[0])
		return;
	for (size_t i = 0; i < table->count; i++) {
		size_t place = (from + i) % table->count;
		if (orma_top_name_fits(table->cells[place].row->name, screen->typed)) {
			select_row(screen, table, place);
			return;
		}
	}
	snprintf(screen->message, sizeof(screen->message), "no row has a name with \"%s\"",
		 screen->typed);
}

static void type(struct orma_top_screen *screen, struct orma_str character)
{
	size_t size = strlen(screen->typed);
	if (size + character.size >= sizeof(screen->typed))
		return;
	memcpy(screen->typed + size, character.data, character.size);
	screen->typed[size + character.size] = '\0';
}

static void erase(struct orma_top_screen *screen)
{
	size_t size = strlen(screen->typed);
	size_t last = orma_line_size_before((struct orma_str){screen->typed, size}, size);
	screen->typed[size - ORMA_MIN(last, size)] = '\0';
}

static void take_prompt_key(struct orma_top_screen *screen, struct orma_top_choice *choice,
			    const struct orma_top_table *table, int key, struct orma_str character)
{
	bool is_filter = screen->prompt == ORMA_TOP_PROMPT_FILTER;
	switch (key) {
	case ORMA_KEY_TEXT:
		type(screen, character);
		break;
	case ORMA_KEY_DELETE_BACK:
	case ORMA_KEY_CTRL('h'):
		erase(screen);
		break;
	case ORMA_KEY_CTRL('u'):
		screen->typed[0] = '\0';
		break;
	case ORMA_KEY_ESCAPE:
	case ORMA_KEY_CTRL('c'):
		screen->typed[0] = '\0';
		screen->prompt = ORMA_TOP_PROMPT_NONE;
		break;
	case '\r':
	case '\n':
		screen->prompt = ORMA_TOP_PROMPT_NONE;
		/* It says once more when there is no such row. */
		if (!is_filter)
			search(screen, table, screen->selected_at);
		return;
	default:
		return;
	}
	/* The filter holds, and the search goes on, while the text is typed. */
	if (is_filter)
		memcpy(choice->filter, screen->typed, sizeof(choice->filter));
	else
		search(screen, table, screen->selected_at);
}

static void open_prompt(struct orma_top_screen *screen, const struct orma_top_choice *choice,
			enum orma_top_prompt prompt)
{
	screen->page = ORMA_TOP_PAGE_TABLE;
	screen->prompt = prompt;
	screen->typed[0] = '\0';
	if (prompt == ORMA_TOP_PROMPT_FILTER)
		memcpy(screen->typed, choice->filter, sizeof(choice->filter));
}

/* --- the table -------------------------------------------------------------------------------- */

static bool move(struct orma_top_screen *screen, const struct orma_top_table *table, int key)
{
	size_t at = screen->selected_at, page = ORMA_MAX(screen->rows_shown, (size_t)1);
	switch (key) {
	case ORMA_KEY_UP:
		at -= at > 0;
		break;
	case ORMA_KEY_DOWN:
		at++;
		break;
	case ORMA_KEY_PAGE_UP:
		at -= ORMA_MIN(at, page);
		break;
	case ORMA_KEY_PAGE_DOWN:
		at += page;
		break;
	case ORMA_KEY_HOME:
		at = 0;
		break;
	case ORMA_KEY_END:
		at = table->count;
		break;
	default:
		return false;
	}
	select_row(screen, table, at);
	return true;
}

/* Composing a frame bounds it. */
static void scroll_help(struct orma_top_screen *screen, int key)
{
	enum { PAGE = 5 };
	unsigned by = key == ORMA_KEY_UP || key == ORMA_KEY_DOWN ? 1 : PAGE;
	if (key == ORMA_KEY_DOWN || key == ORMA_KEY_PAGE_DOWN)
		screen->help_first += by;
	else if (key == ORMA_KEY_UP || key == ORMA_KEY_PAGE_UP)
		screen->help_first -= ORMA_MIN(by, screen->help_first);
}

static void sort_by(struct orma_top_choice *choice, int column)
{
	choice->sort = (enum orma_top_column)((column + ORMA_TOP_COLUMNS) % ORMA_TOP_COLUMNS);
}

static void turn_page(struct orma_top_screen *screen, enum orma_top_page page)
{
	screen->page = screen->page == page ? ORMA_TOP_PAGE_TABLE : page;
}

static enum orma_top_action take_letter(struct orma_top_screen *screen,
					struct orma_top_choice *choice,
					const struct orma_top_table *table, char letter)
{
	switch (letter) {
	case 'q':
		return ORMA_TOP_ACTION_QUIT;
	case 'z':
		return ORMA_TOP_ACTION_ZERO;
	case 's':
		return ORMA_TOP_ACTION_SAVE;
	case 'o':
		return ORMA_TOP_ACTION_OPEN;
	case 'b':
		choice->by = (enum orma_top_by)((choice->by + 1) % ORMA_TOP_BY_KINDS);
		return ORMA_TOP_ACTION_BY;
	case ' ':
	case 'Z':
		screen->is_paused = !screen->is_paused;
		break;
	case 't':
		choice->is_total = !choice->is_total;
		break;
	case 'I':
		choice->is_inverted = !choice->is_inverted;
		break;
	case '>':
		sort_by(choice, (int)choice->sort + 1);
		break;
	case '<':
		sort_by(choice, (int)choice->sort - 1);
		break;
	case 'P':
		sort_by(choice, ORMA_TOP_COLUMN_SELF);
		break;
	case 'T':
		sort_by(choice, ORMA_TOP_COLUMN_AVERAGE);
		break;
	case 'M':
		sort_by(choice, ORMA_TOP_COLUMN_MAX);
		break;
	case 'h':
	case '?':
		turn_page(screen, ORMA_TOP_PAGE_HELP);
		break;
	case '/':
		open_prompt(screen, choice, ORMA_TOP_PROMPT_SEARCH);
		break;
	case '\\':
		open_prompt(screen, choice, ORMA_TOP_PROMPT_FILTER);
		break;
	case 'n':
		search(screen, table, screen->selected_at + 1);
		break;
	default:
		break;
	}
	return ORMA_TOP_ACTION_NONE;
}

/* Keys without a letter that do what one does. */
static char letter_of(int key)
{
	switch (key) {
	case ORMA_KEY_F1:
		return 'h';
	case ORMA_KEY_F1 + 2:
		return '/';
	case ORMA_KEY_F1 + 3:
		return '\\';
	case ORMA_KEY_F1 + 5:
		return '>';
	case ORMA_KEY_F1 + 9:
	case ORMA_KEY_CTRL('c'):
		return 'q';
	default:
		return '\0';
	}
}

enum orma_top_action orma_top_screen_key(struct orma_top_screen *screen,
					 struct orma_top_choice *choice,
					 const struct orma_top_table *table, int key,
					 struct orma_str character)
{
	screen->message[0] = '\0';
	if (key == ORMA_KEY_CTRL('z'))
		return ORMA_TOP_ACTION_SUSPEND;
	if (key == ORMA_KEY_CTRL('l'))
		return ORMA_TOP_ACTION_CLEAR;
	if (screen->prompt != ORMA_TOP_PROMPT_NONE) {
		take_prompt_key(screen, choice, table, key, character);
		return ORMA_TOP_ACTION_NONE;
	}
	if (key == ORMA_KEY_TEXT)
		return take_letter(screen, choice, table, character.data[0]);
	if (letter_of(key))
		return take_letter(screen, choice, table, letter_of(key));
	if (key == ORMA_KEY_ESCAPE)
		screen->page = ORMA_TOP_PAGE_TABLE;
	else if ((key == '\r' || key == '\n') && screen->selected[0])
		turn_page(screen, ORMA_TOP_PAGE_HISTOGRAM);
	else if (screen->page == ORMA_TOP_PAGE_HELP)
		scroll_help(screen, key);
	else
		(void)move(screen, table, key);
	return ORMA_TOP_ACTION_NONE;
}
