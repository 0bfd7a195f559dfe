/* SPDX-License-Identifier: Apache-2.0
 * top_screen.c - composes frames: what is measured above, a row of the table per line, and the keys below.
 *
 * A frame depends on nothing but its arguments, so tests compare frames. It is written from the top left corner over the
 * one before, line by line with the rest of each line erased, between the marks of synchronized output: terminals that know
 * them show the whole frame at once, and others skip them. So nothing flickers, and nothing of an old frame stays.
 *
 * Columns that have no room are left out, the least telling first.
 */
#include "tool/top/top_screen.h"

#include <stdio.h>

#include "base/macros.h"
#include "tool/ask/units.h"
#include "tool/top/top_line.h"
#include "tool/top/top_plot.h"

#define BEGIN_FRAME "\x1b[?2026h\x1b[H"
#define END_FRAME   "\x1b[?2026l"
#define BOLD        "\x1b[1m"
#define DIM         "\x1b[2m"
#define REVERSE     "\x1b[7m"
#define RED         "\x1b[31m"
#define GREEN       "\x1b[32m"
#define PLAIN       "\x1b[0m"

enum { NAME_MIN = 16, NAME_USUAL = 30, SPARK_MIN = 10, HEAD_LINES_MIN = 8, PRODUCERS_SHOWN = 5 };

struct frame {
	struct orma_top_screen *screen;
	const struct orma_top_view *view;
	struct orma_buf *out;
	unsigned line;  /* how many are written */
	unsigned spark; /* columns */
	bool has_column[ORMA_TOP_COLUMNS];
};

static bool is_full(const struct frame *frame, unsigned below)
{
	return frame->line + below >= frame->screen->terminal.lines;
}

static struct orma_top_line begin_line(const struct frame *frame)
{
	return orma_top_line_begin(frame->out, &frame->screen->terminal);
}

static int end_line(struct frame *frame, struct orma_top_line *line)
{
	frame->line++;
	return orma_top_line_end(line, frame->line == frame->screen->terminal.lines);
}

/* --- above the rows --------------------------------------------------------------------------- */

static int put_title(struct frame *frame)
{
	const struct orma_top_view *view = frame->view;
	struct orma_top_line line = begin_line(frame);
	char text[ORMA_TOP_TEXT_BYTES];
	unsigned seconds = (unsigned)view->total_seconds;
	orma_top_line_style(&line, BOLD);
	orma_top_line_put_text(&line, "orma top");
	orma_top_line_style(&line, PLAIN);
	snprintf(text, sizeof(text), "  by %s, %s, %u:%02u:%02u",
		 orma_top_by_names[view->choice.by],
		 view->choice.is_total ? "since the start" : "last interval", seconds / 3600,
		 seconds / 60 % 60, seconds % 60);
	orma_top_line_put_text(&line, text);
	if (view->buffers.is_own)
		orma_top_line_put_text(&line, ", own service");
	if (view->choice.filter[0]) {
		orma_top_line_put_text(&line, ", filter: ");
		orma_top_line_style(&line, BOLD);
		orma_top_line_put_text(&line, view->choice.filter);
		orma_top_line_style(&line, PLAIN);
	}
	if (frame->screen->is_paused) {
		orma_top_line_put_text(&line, "  ");
		orma_top_line_style(&line, REVERSE);
		orma_top_line_put_text(&line, " PAUSED ");
	}
	return end_line(frame, &line);
}

/* A line of text that another file makes; without text there is no line. */
static int put_text(struct frame *frame, const char *style, const struct orma_buf *text)
{
	if (text->size == 0)
		return 0;
	struct orma_top_line line = begin_line(frame);
	orma_top_line_colour(&line, style);
	orma_top_line_put(&line, (struct orma_str){(const char *)text->data, text->size});
	return end_line(frame, &line);
}

static int put_head(struct frame *frame)
{
	struct orma_buf text = {0};
	int r = put_title(frame);
	if (frame->screen->terminal.lines < HEAD_LINES_MIN)
		return r;
	if (r == 0)
		r = orma_top_append_traffic(frame->view, &text);
	if (r == 0)
		r = put_text(frame, "", &text);
	text.size = 0;
	if (r == 0)
		r = orma_top_append_producers(frame->view, PRODUCERS_SHOWN, &text);
	if (r == 0)
		r = put_text(frame, "", &text);
	text.size = 0;
	if (r == 0)
		r = orma_top_append_losses(frame->view, &text);
	if (r == 0)
		r = put_text(frame, RED, &text);
	orma_base_buf_done(&text);
	return r;
}

/* --- the table -------------------------------------------------------------------------------- */

static void choose_columns(struct frame *frame)
{
	static const enum orma_top_column by_value[] = {
		ORMA_TOP_COLUMN_RATE,    ORMA_TOP_COLUMN_P99, ORMA_TOP_COLUMN_SELF,
		ORMA_TOP_COLUMN_AVERAGE, ORMA_TOP_COLUMN_MAX, ORMA_TOP_COLUMN_P50,
		ORMA_TOP_COLUMN_LOST};
	unsigned left = frame->screen->terminal.columns;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(by_value); i++) {
		unsigned columns = (unsigned)orma_top_column_widths[by_value[i]] + 1;
		if (left < columns + NAME_MIN)
			break;
		frame->has_column[by_value[i]] = true;
		left -= columns;
	}
	if (left >= NAME_USUAL + SPARK_MIN + 1)
		frame->spark = ORMA_MIN(left - NAME_USUAL - 1, (unsigned)ORMA_TOP_PAST);
}

static int put_heads(struct frame *frame)
{
	const struct orma_top_choice *choice = &frame->view->choice;
	struct orma_top_line line = begin_line(frame);
	char head[32];
	orma_top_line_style(&line, REVERSE);
	for (int i = ORMA_TOP_COLUMN_RATE; i < ORMA_TOP_COLUMNS; i++) {
		enum orma_top_column column = (enum orma_top_column)i;
		if (!frame->has_column[i])
			continue;
		snprintf(head, sizeof(head), "%s%s",
			 column != choice->sort ? ""
			 : choice->is_inverted  ? "^"
						: "v",
			 orma_top_column_head(choice->by, column));
		orma_top_line_put_right(&line, head, (unsigned)orma_top_column_widths[i]);
		orma_top_line_fill(&line, 1);
	}
	if (frame->spark > 0) {
		snprintf(head, sizeof(head), "LAST %u", frame->spark);
		orma_top_line_put_right(&line, head, frame->spark);
		orma_top_line_fill(&line, 1);
	}
	if (choice->sort == ORMA_TOP_COLUMN_NAME)
		orma_top_line_put_text(&line, choice->is_inverted ? "v" : "^");
	orma_top_line_put_text(&line, orma_top_column_head(choice->by, ORMA_TOP_COLUMN_NAME));
	orma_top_line_fill(&line, line.left);
	return end_line(frame, &line);
}

static void put_spark(struct frame *frame, struct orma_top_line *line,
		      const struct orma_top_row *row)
{
	if (frame->spark == 0 || line->left <= frame->spark || line->error < 0)
		return;
	line->error = orma_top_spark_append(&frame->view->decoder->rows, row, frame->spark,
					    frame->screen->terminal.is_utf8, line->out);
	line->left -= frame->spark;
	orma_top_line_fill(line, 1);
}

static int put_row(struct frame *frame, const struct orma_top_cells *cells, bool is_selected)
{
	enum orma_top_by by = frame->view->choice.by;
	struct orma_top_line line = begin_line(frame);
	char text[ORMA_TOP_CELL_BYTES];
	if (is_selected)
		orma_top_line_style(&line, REVERSE);
	else if (cells->events == 0)
		orma_top_line_style(&line, DIM);
	for (int i = ORMA_TOP_COLUMN_RATE; i < ORMA_TOP_COLUMNS; i++) {
		bool is_loss = i == ORMA_TOP_COLUMN_LOST && cells->lost > 0 && !is_selected;
		if (!frame->has_column[i])
			continue;
		if (is_loss)
			orma_top_line_colour(&line, RED);
		orma_top_line_put_right(
			&line, orma_top_cell_text(cells, by, (enum orma_top_column)i, text),
			(unsigned)orma_top_column_widths[i]);
		if (is_loss)
			orma_top_line_style(&line, PLAIN);
		orma_top_line_fill(&line, 1);
	}
	if (!is_selected)
		orma_top_line_colour(&line, GREEN);
	put_spark(frame, &line, cells->row);
	if (!is_selected)
		orma_top_line_style(&line, PLAIN);
	orma_top_line_put(&line, (struct orma_str){cells->row->name, cells->row->name_size});
	if (is_selected)
		orma_top_line_fill(&line, line.left);
	return end_line(frame, &line);
}

static int put_blank_lines(struct frame *frame)
{
	int r = 0;
	while (r == 0 && !is_full(frame, 1)) {
		struct orma_top_line line = begin_line(frame);
		r = end_line(frame, &line);
	}
	return r;
}

static int put_table(struct frame *frame)
{
	struct orma_top_screen *screen = frame->screen;
	const struct orma_top_table *table = frame->view->table;
	const char *why = orma_top_why_empty(frame->view);
	choose_columns(frame);
	int r = put_heads(frame);
	unsigned room = screen->terminal.lines > frame->line + 1
				? screen->terminal.lines - frame->line - 1
				: 0;
	screen->rows_shown = room;
	orma_top_screen_follow(screen, table);
	if (r == 0 && why && room > 0) {
		struct orma_top_line line = begin_line(frame);
		orma_top_line_put_text(&line, why);
		r = end_line(frame, &line);
	}
	for (size_t i = screen->first; r == 0 && i < table->count && !is_full(frame, 1); i++)
		r = put_row(frame, &table->cells[i], i == screen->selected_at);
	return r;
}

/* --- other pages ------------------------------------------------------------------------------ */

/* Puts lines of text that end with line feeds; the text is of this program. */
static int put_lines(struct frame *frame, const char *text, size_t size)
{
	int r = 0;
	while (r == 0 && size > 0 && !is_full(frame, 1)) {
		const char *feed = memchr(text, '\n', size);
		size_t length = feed ? (size_t)(feed - text) : size;
		struct orma_top_line line = begin_line(frame);
		orma_top_line_put(&line, (struct orma_str){text, length});
		r = end_line(frame, &line);
		length += feed != NULL;
		text += length;
		size -= length;
	}
	return r;
}

static int put_histogram(struct frame *frame)
{
	const struct orma_top_screen *screen = frame->screen;
	const struct orma_top_row *row =
		orma_top_rows_find(&frame->view->decoder->rows, orma_base_str(screen->selected));
	struct orma_buf text = {0};
	struct orma_top_line line = begin_line(frame);
	orma_top_line_style(&line, REVERSE);
	orma_top_line_put_text(&line, screen->selected);
	orma_top_line_put_text(&line, ": how often, and in the last 60 intervals when");
	orma_top_line_fill(&line, line.left);
	int r = end_line(frame, &line);
	if (r == 0)
		r = orma_top_plot_append(row, frame->view, screen->terminal.columns,
					 screen->terminal.is_utf8, &text);
	if (r == 0)
		r = put_lines(frame, (const char *)text.data, text.size);
	orma_base_buf_done(&text);
	return r;
}

static int put_help(struct frame *frame)
{
	static const char text[] =
		"\n"
		"  Up Down PgUp PgDn Home End   select a row\n"
		"  Enter                        histogram of the row; again or Esc: the table\n"
		"  F3 /    n                    search a name; the next one\n"
		"  F4 \\                         show only rows whose name contains a text\n"
		"  F6 > <  I                    sort by the next or previous column; invert\n"
		"  P T M                        sort by self time, average, maximum\n"
		"  b                            name, thread, category, cpu, counter, producer\n"
		"  t                            figures of the last interval, or since the start\n"
		"  z                            forget all figures\n"
		"  Space                        pause\n"
		"  s  o                         save the last seconds; show them in a page\n"
		"  F1 h ?                       this page\n"
		"  F10 q                        end\n"
		"\n"
		"  SELF%: time in slices, but not in slices inside of them; 100 = one CPU.\n"
		"  P50 and P99 are wrong by 3.2% at most.\n";
	struct orma_top_screen *screen = frame->screen;
	const char *at = text, *end = text + sizeof(text) - 1;
	unsigned lines = 0,
		 room = ORMA_MAX(screen->terminal.lines, frame->line + 1) - frame->line - 1;
	for (const char *c = text; c < end; c++)
		lines += *c == '\n';
	screen->help_first = ORMA_MIN(screen->help_first, lines > room ? lines - room : 0);
	for (unsigned i = 0; i < screen->help_first; i++)
		at = strchr(at, '\n') + 1;
	return put_lines(frame, at, (size_t)(end - at));
}

/* --- below ------------------------------------------------------------------------------------ */

static void put_key(struct orma_top_line *line, const char *key, const char *meaning)
{
	orma_top_line_put_text(line, key);
	orma_top_line_style(line, REVERSE);
	orma_top_line_put_text(line, meaning);
	orma_top_line_style(line, PLAIN);
	orma_top_line_fill(line, 1);
}

static void put_keys(struct orma_top_line *line)
{
	put_key(line, "F1", "Help");
	put_key(line, "F3", "Search");
	put_key(line, "F4", "Filter");
	put_key(line, "F6", "Sort");
	put_key(line, "b", "By");
	put_key(line, "t", "Total");
	put_key(line, "Enter", "Histogram");
	put_key(line, "Space", "Pause");
	put_key(line, "z", "Zero");
	put_key(line, "s", "Save");
	put_key(line, "q", "Quit");
}

static int put_bottom(struct frame *frame)
{
	const struct orma_top_screen *screen = frame->screen;
	struct orma_top_line line = begin_line(frame);
	if (screen->prompt != ORMA_TOP_PROMPT_NONE) {
		orma_top_line_style(&line, BOLD);
		orma_top_line_put_text(
			&line, screen->prompt == ORMA_TOP_PROMPT_SEARCH ? "Search: " : "Filter: ");
		orma_top_line_style(&line, PLAIN);
		orma_top_line_put_text(&line, screen->typed);
		orma_top_line_style(&line, REVERSE);
		orma_top_line_fill(&line, 1);
		orma_top_line_style(&line, PLAIN);
		if (screen->message[0])
			orma_top_line_fill(&line, 2);
		orma_top_line_put_text(&line, screen->message);
	} else if (screen->message[0]) {
		orma_top_line_style(&line, BOLD);
		orma_top_line_put_text(&line, screen->message);
	} else if (screen->page == ORMA_TOP_PAGE_HELP) {
		put_key(&line, "Up Down", "Scroll");
		put_key(&line, "Esc", "Back");
		put_key(&line, "q", "Quit");
	} else {
		put_keys(&line);
	}
	return end_line(frame, &line);
}

int orma_top_screen_compose(struct orma_top_screen *screen, const struct orma_top_view *view,
			    struct orma_buf *out)
{
	struct frame frame = {.screen = screen, .view = view, .out = out};
	int r = orma_base_buf_append_str(out, BEGIN_FRAME);
	if (r == 0 && !is_full(&frame, 1))
		r = put_head(&frame);
	if (r == 0 && !is_full(&frame, 1))
		r = screen->page == ORMA_TOP_PAGE_HELP        ? put_help(&frame)
		    : screen->page == ORMA_TOP_PAGE_HISTOGRAM ? put_histogram(&frame)
							      : put_table(&frame);
	if (r == 0)
		r = put_blank_lines(&frame);
	if (r == 0)
		r = put_bottom(&frame);
	return r < 0 ? r : orma_base_buf_append_str(out, END_FRAME);
}
