/* SPDX-License-Identifier: Apache-2.0
 * top_screen_test.c - frames at several sizes, what keys do to them, and the pages.
 */
#include "tool/top/top_screen.h"

#include <unistd.h>

#include "harness.h"
#include "tool/ask/line_keys.h"
#include "tool/top/top_plot.h"
#include "tool/top/top_save.h"

struct stage {
	struct orma_top_decoder decoder;
	struct orma_top_table table;
	struct orma_top_choice choice;
	struct orma_top_screen screen;
	struct orma_buf frame;
	char text[1 << 15]; /* the frame without sequences */
};

static void add(struct stage *stage, const char *name, int count, uint64_t ns)
{
	struct orma_top_row *row = orma_top_rows_get(&stage->decoder.rows, orma_base_str(name));
	for (int i = 0; i < count; i++) {
		row->running.events++;
		row->running.self_ns += (double)ns;
		orma_top_row_add_value(&stage->decoder.rows, row, ns * (uint64_t)(i + 1));
	}
}

static void set_up(struct stage *stage, unsigned columns, unsigned lines, bool is_utf8)
{
	memset(stage, 0, sizeof(*stage));
	CHECK_INT(orma_top_decoder_init(&stage->decoder, ORMA_TOP_BY_NAME, 1), 0);
	stage->choice.sort = ORMA_TOP_COLUMN_RATE;
	stage->screen.terminal = (struct orma_top_terminal){is_utf8, true, columns, lines};
	for (int i = 0; i < 20; i++) {
		add(stage, "request", i % 5 + 1, 1000000);
		if (i % 10 == 9)
			add(stage, "db\xc3\xa4\x1b[31m\xe6\x97\xa5", 2, 300);
		if (i < 19)
			orma_top_decoder_end_interval(&stage->decoder);
	}
	orma_top_rows_get(&stage->decoder.rows, ORMA_STR("mark"))->running.events = 1;
	orma_top_rows_get(&stage->decoder.rows, ORMA_STR("mark"))->running.lost = 3;
	stage->decoder.running.packets = stage->decoder.running.events = 1234;
	stage->decoder.running.losses[ORMA_TOOL_GAP_FULL] = 2;
	orma_top_decoder_end_interval(&stage->decoder);
}

static void tear_down(struct stage *stage)
{
	orma_top_decoder_done(&stage->decoder);
	orma_top_table_done(&stage->table);
	orma_base_buf_done(&stage->frame);
}

/* Leaves sequences out, and the carriage returns. */
static void strip(struct stage *stage)
{
	const char *at = (const char *)stage->frame.data, *end = at + stage->frame.size;
	size_t size = 0;
	while (at < end && size + 1 < sizeof(stage->text)) {
		if (*at == '\x1b') {
			while (at < end && !(*at >= 'A' && *at <= 'Z') &&
			       !(*at >= 'a' && *at <= 'z'))
				at++;
			at++;
		} else if (*at == '\r') {
			at++;
		} else {
			stage->text[size++] = *at++;
		}
	}
	stage->text[size] = '\0';
}

static const char *compose(struct stage *stage)
{
	struct orma_top_view view = {.decoder = &stage->decoder,
				     .table = &stage->table,
				     .choice = stage->choice,
				     .buffers = {1 << 24, 1 << 20, 2, false, false},
				     .seconds = 1,
				     .total_seconds = 20};
	CHECK_INT(orma_top_table_make(&stage->table, &stage->decoder, &stage->choice, 1), 0);
	stage->frame.size = 0;
	CHECK_INT(orma_top_screen_compose(&stage->screen, &view, &stage->frame), 0);
	strip(stage);
	return stage->text;
}

static void expect(unsigned columns, unsigned lines, bool is_utf8, const char *frame)
{
	static struct stage stage;
	set_up(&stage, columns, lines, is_utf8);
	CHECK_STR(compose(&stage), frame);
	tear_down(&stage);
}

static enum orma_top_action press(struct stage *stage, int key)
{
	char character = (char)key;
	bool is_text = key >= ' ' && key < 0x7f;
	enum orma_top_action action = orma_top_screen_key(
		&stage->screen, &stage->choice, &stage->table, is_text ? ORMA_KEY_TEXT : key,
		(struct orma_str){&character, 1});
	compose(stage);
	return action;
}

ORMA_TEST(a_frame_of_80_columns)
{
	expect(80, 10, true,
	       "orma top  by name, last interval, 0:00:20\n"
	       "1,234 packets/s, 1,234 events/s, buffer 6% of 16 MB, 2 producers\n"
	       "lost data: 2 gaps (shared memory was full), now 2\n"
	       "  vRATE/s      AVG      P50      P99      MAX  SELF%   LOST NAME                \n"
	       "      5.0  3.00 ms  2.95 ms  5.00 ms  5.00 ms    0.5      0 request             \n"
	       "      2.0   450 ns   296 ns   600 ns   600 ns    0.0      0 dbä?[31m日\n"
	       "      1.0        -        -        -        -    0.0      3 mark\n"
	       "\n"
	       "\n"
	       "F1Help F3Search F4Filter F6Sort bBy tTotal EnterHistogram SpacePause zZero sSave");
}

ORMA_TEST(a_wide_frame_has_sparklines)
{
	expect(130, 8, true,
	       "orma top  by name, last interval, 0:00:20\n"
	       "1,234 packets/s, 1,234 events/s, buffer 6% of 16 MB, 2 producers\n"
	       "lost data: 2 gaps (shared memory was full), now 2\n"
	       "  vRATE/s      AVG      P50      P99      MAX  SELF%   LOST                        "
	       "         LAST 39 NAME                          \n"
	       "      5.0  3.00 ms  2.95 ms  5.00 ms  5.00 ms    0.5      0                    "
	       "▂▄▅▇█▂▄▅▇█▂▄▅▇█▂▄▅▇█ request                       \n"
	       "      2.0   450 ns   296 ns   600 ns   600 ns    0.0      0                        "
	       "     █         █ dbä?[31m日\n"
	       "      1.0        -        -        -        -    0.0      3                        "
	       "               █ mark\n"
	       "F1Help F3Search F4Filter F6Sort bBy tTotal EnterHistogram SpacePause zZero sSave "
	       "qQuit ");
}

ORMA_TEST(ascii_stands_for_other_characters)
{
	expect(120, 8, false,
	       "orma top  by name, last interval, 0:00:20\n"
	       "1,234 packets/s, 1,234 events/s, buffer 6% of 16 MB, 2 producers\n"
	       "lost data: 2 gaps (shared memory was full), now 2\n"
	       "  vRATE/s      AVG      P50      P99      MAX  SELF%   LOST                       "
	       "LAST 29 NAME                          \n"
	       "      5.0  3.00 ms  2.95 ms  5.00 ms  5.00 ms    0.5      0          "
	       ":=+#@:=+#@:=+#@:=+#@ request                       \n"
	       "      2.0   450 ns   296 ns   600 ns   600 ns    0.0      0                   @    "
	       "     @ db??[31m?\n"
	       "      1.0        -        -        -        -    0.0      3                        "
	       "     @ mark\n"
	       "F1Help F3Search F4Filter F6Sort bBy tTotal EnterHistogram SpacePause zZero sSave "
	       "qQuit ");
}

ORMA_TEST(a_narrow_frame_leaves_columns_out)
{
	expect(36, 9, true,
	       "orma top  by name, last interval, 0:\n"
	       "1,234 packets/s, 1,234 events/s, buf\n"
	       "lost data: 2 gaps (shared memory was\n"
	       "  vRATE/s      P99 NAME             \n"
	       "      5.0  5.00 ms request          \n"
	       "      2.0   600 ns dbä?[31m日\n"
	       "      1.0        - mark\n"
	       "\n"
	       "F1Help F3Search F4Filter F6Sort bBy ");
}

ORMA_TEST(no_size_is_too_small)
{
	static struct stage stage;
	for (unsigned columns = 1; columns < 50; columns += 3)
		for (unsigned lines = 1; lines < 9; lines++)
			for (int page = 0; page <= ORMA_TOP_PAGE_HELP; page++) {
				set_up(&stage, columns, lines, true);
				stage.screen.page = (enum orma_top_page)page;
				unsigned feeds = 0;
				for (const char *at = compose(&stage); *at; at++)
					feeds += *at == '\n';
				CHECK_INT(feeds, lines - 1);
				tear_down(&stage);
			}
}

ORMA_TEST(names_do_not_reach_the_terminal_as_sequences)
{
	static struct stage stage;
	set_up(&stage, 100, 10, true);
	compose(&stage);
	CHECK(memmem(stage.frame.data, stage.frame.size, "\x1b[31m\xe6", 6) == NULL);
	CHECK(strstr(stage.text, "db\xc3\xa4?[31m\xe6\x97\xa5"));
	tear_down(&stage);
}

ORMA_TEST(without_colours_there_are_none)
{
	static struct stage stage;
	set_up(&stage, 100, 10, true);
	compose(&stage);
	CHECK(memmem(stage.frame.data, stage.frame.size, "\x1b[32m", 5));
	stage.screen.terminal.has_colour = false;
	compose(&stage);
	CHECK(memmem(stage.frame.data, stage.frame.size, "\x1b[3", 3) == NULL);
	tear_down(&stage);
}

ORMA_TEST(a_frame_is_between_the_marks_of_synchronized_output)
{
	static struct stage stage;
	set_up(&stage, 100, 10, true);
	compose(&stage);
	CHECK(memcmp(stage.frame.data, "\x1b[?2026h\x1b[H", 11) == 0);
	CHECK(memcmp(stage.frame.data + stage.frame.size - 8, "\x1b[?2026l", 8) == 0);
	tear_down(&stage);
}

ORMA_TEST(keys_sort_invert_and_total)
{
	static struct stage stage;
	set_up(&stage, 100, 10, true);
	compose(&stage);
	CHECK_STR(stage.table.cells[0].row->name, "request");
	CHECK_INT(press(&stage, 'I'), ORMA_TOP_ACTION_NONE);
	CHECK_STR(stage.table.cells[0].row->name, "mark");
	press(&stage, 'I');
	press(&stage, '>');
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_AVERAGE);
	press(&stage, '<');
	press(&stage, '<');
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_NAME);
	press(&stage, '<');
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_LOST);
	CHECK_STR(stage.table.cells[0].row->name, "mark");
	press(&stage, ORMA_KEY_F1 + 5);
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_NAME);
	press(&stage, 'P');
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_SELF);
	press(&stage, 'T');
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_AVERAGE);
	press(&stage, 'M');
	CHECK_INT(stage.choice.sort, ORMA_TOP_COLUMN_MAX);
	press(&stage, 't');
	CHECK_INT(stage.table.cells[0].events, 60);
	tear_down(&stage);
}

ORMA_TEST(the_selection_moves_with_its_row)
{
	static struct stage stage;
	set_up(&stage, 100, 6, true);
	compose(&stage);
	CHECK_STR(stage.screen.selected, "request");
	press(&stage, ORMA_KEY_DOWN);
	press(&stage, ORMA_KEY_DOWN);
	press(&stage, ORMA_KEY_DOWN);
	CHECK_STR(stage.screen.selected, "mark");
	CHECK_INT(stage.screen.selected_at, 2);
	press(&stage, 'I');
	CHECK_INT(stage.screen.selected_at, 0);
	press(&stage, ORMA_KEY_END);
	CHECK_STR(stage.screen.selected, "request");
	press(&stage, ORMA_KEY_HOME);
	press(&stage, ORMA_KEY_PAGE_DOWN);
	press(&stage, ORMA_KEY_PAGE_UP);
	press(&stage, ORMA_KEY_UP);
	CHECK_STR(stage.screen.selected, "mark");
	tear_down(&stage);
}

ORMA_TEST(a_search_selects_and_a_filter_leaves_out)
{
	static struct stage stage;
	set_up(&stage, 100, 10, true);
	compose(&stage);
	press(&stage, '/');
	press(&stage, 'A');
	press(&stage, 'R');
	CHECK_STR(stage.screen.selected, "mark");
	press(&stage, '\r');
	press(&stage, 'n');
	CHECK_STR(stage.screen.selected, "mark");
	press(&stage, ORMA_KEY_F1 + 3);
	press(&stage, 'q'); /* is text here */
	press(&stage, 'x');
	CHECK_INT(stage.table.count, 0);
	CHECK(strstr(stage.text, "No row fits the filter."));
	press(&stage, ORMA_KEY_DELETE_BACK);
	press(&stage, '\r');
	CHECK_INT(stage.table.count, 1);
	CHECK_STR(stage.choice.filter, "q");
	press(&stage, '\\');
	press(&stage, ORMA_KEY_ESCAPE);
	CHECK_INT(stage.table.count, 3);
	press(&stage, ORMA_KEY_F1 + 2);
	press(&stage, '%');
	CHECK(strstr(stage.text, "Search: %   no row has a name with \"%\""));
	press(&stage, '\r');
	CHECK(strstr(stage.text, "\nno row has a name with \"%\""));
	press(&stage, ORMA_KEY_DOWN);
	CHECK(!strstr(stage.text, "no row has"));
	press(&stage, 'n');
	CHECK(strstr(stage.text, "no row has a name with \"%\""));
	tear_down(&stage);
}

ORMA_TEST(pages_open_and_close)
{
	static struct stage stage;
	set_up(&stage, 100, 24, true);
	compose(&stage);
	press(&stage, '\r');
	CHECK(strstr(stage.text, "request: how often"));
	CHECK(strstr(stage.text, "\u2588"));
	press(&stage, '\r');
	CHECK(strstr(stage.text, "RATE/s"));
	press(&stage, '?');
	CHECK(strstr(stage.text, "this page"));
	press(&stage, ORMA_KEY_ESCAPE);
	CHECK(strstr(stage.text, "RATE/s"));
	press(&stage, ' ');
	CHECK(strstr(stage.text, "PAUSED"));
	tear_down(&stage);
}

ORMA_TEST(the_help_scrolls_when_it_has_no_room)
{
	static struct stage stage;
	set_up(&stage, 80, 10, true);
	compose(&stage);
	press(&stage, '?');
	CHECK(strstr(stage.text, "select a row") && !strstr(stage.text, "this page"));
	CHECK(strstr(stage.text, "Up DownScroll"));
	press(&stage, ORMA_KEY_DOWN);
	press(&stage, ORMA_KEY_DOWN);
	CHECK(!strstr(stage.text, "select a row") && strstr(stage.text, "histogram of the row"));
	for (int i = 0; i < 9; i++)
		press(&stage, ORMA_KEY_PAGE_DOWN);
	CHECK(strstr(stage.text, "this page") && strstr(stage.text, "wrong by 3.2% at most"));
	press(&stage, ORMA_KEY_UP);
	CHECK(!strstr(stage.text, "wrong by"));
	for (int i = 0; i < 9; i++)
		press(&stage, ORMA_KEY_PAGE_UP);
	CHECK(strstr(stage.text, "select a row"));
	stage.screen.terminal.lines = 24;
	compose(&stage);
	CHECK(strstr(stage.text, "select a row") && strstr(stage.text, "wrong by"));
	CHECK(strstr(stage.text, "counter, producer\n"));
	tear_down(&stage);
}

/* A terminal keeps the cursor on the last column when a character was written there. */
ORMA_TEST(a_line_that_is_full_is_not_erased)
{
	static struct stage stage;
	set_up(&stage, 80, 10, true);
	compose(&stage);
	CHECK(memmem(stage.frame.data, stage.frame.size, "NAME                \x1b[0m\r\n", 26));
	CHECK(memmem(stage.frame.data, stage.frame.size, "0:00:20\x1b[0m\x1b[K\r\n", 16));
	tear_down(&stage);
}

ORMA_TEST(before_there_are_rows_the_filter_is_not_the_reason)
{
	static struct stage stage;
	memset(&stage, 0, sizeof(stage));
	CHECK_INT(orma_top_decoder_init(&stage.decoder, ORMA_TOP_BY_NAME, 1), 0);
	stage.screen.terminal = (struct orma_top_terminal){true, true, 80, 10};
	strcpy(stage.choice.filter, "x");
	CHECK(strstr(compose(&stage), "have sent no such events yet."));
	tear_down(&stage);
}

ORMA_TEST(the_first_frame_claims_nothing)
{
	static struct stage stage;
	memset(&stage, 0, sizeof(stage));
	CHECK_INT(orma_top_decoder_init(&stage.decoder, ORMA_TOP_BY_NAME, 1), 0);
	stage.screen.terminal = (struct orma_top_terminal){true, true, 80, 10};
	struct orma_top_view view = {.decoder = &stage.decoder, .table = &stage.table};
	CHECK_INT(orma_top_screen_compose(&stage.screen, &view, &stage.frame), 0);
	strip(&stage);
	CHECK(strstr(stage.text, "\nmeasuring the first interval\n"));
	CHECK(!strstr(stage.text, "producers") && !strstr(stage.text, "No program"));
	tear_down(&stage);
}

ORMA_TEST(a_folder_without_room_for_a_trace_is_told_with_what_helps)
{
	struct orma_top_keep keep = {0};
	char path[ORMA_TOP_PATH_BYTES], message[ORMA_TOP_TEXT_BYTES] = "";
	CHECK_INT(chdir("/proc"), 0);
	CHECK(!orma_top_save(&keep, path, message));
	CHECK_STR(message,
		  "cannot save in this folder: No such file or directory; start orma top in "
		  "another one");
	orma_top_keep_done(&keep);
}

ORMA_TEST(some_keys_are_for_the_loop)
{
	static struct stage stage;
	set_up(&stage, 100, 24, true);
	compose(&stage);
	CHECK_INT(press(&stage, 'q'), ORMA_TOP_ACTION_QUIT);
	CHECK_INT(press(&stage, ORMA_KEY_F1 + 9), ORMA_TOP_ACTION_QUIT);
	CHECK_INT(press(&stage, ORMA_KEY_CTRL('c')), ORMA_TOP_ACTION_QUIT);
	CHECK_INT(press(&stage, 'z'), ORMA_TOP_ACTION_ZERO);
	CHECK_INT(press(&stage, 's'), ORMA_TOP_ACTION_SAVE);
	CHECK_INT(press(&stage, 'o'), ORMA_TOP_ACTION_OPEN);
	CHECK_INT(press(&stage, ORMA_KEY_CTRL('z')), ORMA_TOP_ACTION_SUSPEND);
	CHECK_INT(press(&stage, ORMA_KEY_CTRL('l')), ORMA_TOP_ACTION_CLEAR);
	CHECK_INT(press(&stage, 'b'), ORMA_TOP_ACTION_BY);
	CHECK_INT(stage.choice.by, ORMA_TOP_BY_THREAD);
	tear_down(&stage);
}

ORMA_TEST(without_memory_there_is_no_frame)
{
	static struct stage stage;
	set_up(&stage, 100, 24, true);
	for (uint64_t nth = 1;; nth++) {
		struct orma_top_view view = {
			.decoder = &stage.decoder, .table = &stage.table, .choice = stage.choice};
		orma_base_buf_done(&stage.frame);
		orma_test_fail_allocation(nth);
		int r = orma_top_table_make(&stage.table, &stage.decoder, &stage.choice, 1);
		if (r == 0)
			r = orma_top_screen_compose(&stage.screen, &view, &stage.frame);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (!has_failed)
			break;
	}
	tear_down(&stage);
}
