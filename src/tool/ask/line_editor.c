/* SPDX-License-Identifier: Apache-2.0
 * line_editor.c - keys change the text, and each change is shown.
 *
 * Rejected: readline, whose licence would become that of the binary; libedit, which edits single lines, so that a
 * statement of ten lines could not be called back and changed, and which would be a library more for 700 lines of code.
 */
#include "tool/ask/line_editor.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "tool/ask/line_view.h"

enum { TEXT_MAX_BYTES = 1 << 16, ENDS = -1000 };

struct edit {
	struct orma_line_editor *editor;
	struct orma_line_keys *keys; /* the editor's */
	struct orma_line_view view;
	struct orma_buf *text;
	size_t cursor;
	size_t history_at;      /* = history->count: what is typed now, else an entry */
	struct orma_buf typed;  /* while an entry is shown */
	struct orma_buf killed; /* for Ctrl-Y */
	int last_key;
};

/* The terminal's mode before the editor's, for signals that end the program; terminal_fd is -1 outside of the editor. */
static struct termios usual_mode;
static volatile sig_atomic_t terminal_fd = -1;
static const int fatal_signals[] = {SIGTERM, SIGHUP, SIGQUIT};

static void restore_and_die(int signal_number)
{
	if (terminal_fd >= 0)
		tcsetattr(terminal_fd, TCSADRAIN, &usual_mode);
	sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal_number);
}

static void on_resize(int signal_number)
{
	(void)signal_number; /* read() returns, and the text is shown anew */
}

bool orma_line_editor_works(int in_fd, int out_fd)
{
	struct termios mode;
	const char *terminal = getenv("TERM");
	return terminal && strcmp(terminal, "dumb") != 0 && tcgetattr(in_fd, &mode) == 0 &&
	       isatty(out_fd);
}

static struct orma_str text_of(const struct edit *edit)
{
	return (struct orma_str){(const char *)edit->text->data, edit->text->size};
}

static int insert(struct edit *edit, const char *bytes, size_t size)
{
	if (size == 0 || edit->text->size + size > TEXT_MAX_BYTES)
		return 0;
	int r = orma_base_buf_reserve(edit->text, size);
	if (r < 0)
		return r;
	uint8_t *at = edit->text->data + edit->cursor;
	memmove(at + size, at, edit->text->size - edit->cursor);
	memcpy(at, bytes, size);
	edit->text->size += size;
	edit->cursor += size;
	return 0;
}

static void erase(struct edit *edit, size_t from, size_t to)
{
	memmove(edit->text->data + from, edit->text->data + to, edit->text->size - to);
	edit->text->size -= to - from;
	edit->cursor = from;
}

static int kill_part(struct edit *edit, size_t from, size_t to)
{
	if (from == to)
		return 0;
	edit->killed.size = 0;
	int r = orma_base_buf_append(&edit->killed, edit->text->data + from, to - from);
	erase(edit, from, to);
	return r;
}

static size_t line_begin(const struct edit *edit)
{
	size_t at = edit->cursor;
	while (at > 0 && edit->text->data[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const struct edit *edit)
{
	size_t at = edit->cursor;
	while (at < edit->text->size && edit->text->data[at] != '\n')
		at++;
	return at;
}

static bool is_word(unsigned char byte)
{
	return isalnum(byte) || byte == '_' || byte >= 0x80;
}

static size_t word_begin(const struct edit *edit)
{
	const uint8_t *data = edit->text->data;
	size_t at = edit->cursor;
	while (at > 0 && !is_word(data[at - 1]))
		at--;
	while (at > 0 && is_word(data[at - 1]))
		at--;
	return at;
}

static size_t word_end(const struct edit *edit)
{
	const uint8_t *data = edit->text->data;
	size_t at = edit->cursor;
	while (at < edit->text->size && !is_word(data[at]))
		at++;
	while (at < edit->text->size && is_word(data[at]))
		at++;
	return at;
}

/* Shows an entry of the history, or what is typed now. */
static int go_to_entry(struct edit *edit, size_t entry)
{
	const struct orma_line_history *history = edit->editor->history;
	if (entry > history->count)
		return 0;
	int r = 0;
	if (edit->history_at == history->count) {
		edit->typed.size = 0;
		r = orma_base_buf_append(&edit->typed, edit->text->data, edit->text->size);
	}
	edit->history_at = entry;
	edit->text->size = 0;
	if (r == 0)
		r = entry < history->count
			    ? orma_base_buf_append_str(edit->text, history->entries[entry])
			    : orma_base_buf_append(edit->text, edit->typed.data, edit->typed.size);
	edit->cursor = edit->text->size;
	return r;
}

/* Up and down move within a text of several lines, and beyond it through the history. */
static int move_up(struct edit *edit)
{
	size_t begin = line_begin(edit), column = edit->cursor - begin;
	if (begin == 0)
		return edit->history_at > 0 ? go_to_entry(edit, edit->history_at - 1) : 0;
	edit->cursor = begin - 1;
	edit->cursor = ORMA_MIN(line_begin(edit) + column, begin - 1);
	while (edit->cursor > 0 && (edit->text->data[edit->cursor] & 0xc0) == 0x80)
		edit->cursor--;
	return 0;
}

static int move_down(struct edit *edit)
{
	size_t column = edit->cursor - line_begin(edit), end = line_end(edit);
	if (end == edit->text->size)
		return go_to_entry(edit, edit->history_at + 1);
	edit->cursor = end + 1;
	edit->cursor = ORMA_MIN(end + 1 + column, line_end(edit));
	while ((edit->text->data[edit->cursor] & 0xc0) == 0x80 && edit->cursor < edit->text->size)
		edit->cursor--;
	return 0;
}

static int paste(struct edit *edit)
{
	int r = 0;
	for (int byte; r == 0 && (byte = orma_line_keys_paste(edit->keys)) >= 0;) {
		char c = (char)(byte == '\r' ? '\n' : byte);
		r = insert(edit, &c, 1);
	}
	return r;
}

/* The longest beginning that all names have. */
static size_t common_size(struct orma_str names)
{
	size_t size = strlen(names.data);
	for (size_t at = size + 1; at < names.size; at += strlen(names.data + at) + 1) {
		size_t same = 0;
		while (same < size && names.data[at + same] == names.data[same])
			same++;
		size = same;
	}
	return size;
}

static int complete(struct edit *edit)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	size_t begin = edit->cursor;
	if (edit->cursor == line_begin(edit))
		return insert(edit, "  ", 2);
	int r = edit->editor->complete(edit->editor->ctx, text_of(edit), &begin, &names);
	if (r < 0 || names.size == 0)
		return r;
	struct orma_str all = {(const char *)names.data, names.size};
	size_t size = common_size(all), cursor = edit->cursor;
	bool is_only = all.data[size] == '\0' && size + 1 == all.size;
	if (is_only || size > cursor - begin) {
		erase(edit, begin, cursor);
		r = insert(edit, all.data, size);
		return r == 0 && is_only ? insert(edit, " ", 1) : r;
	}
	if (edit->last_key == '\t')
		orma_line_view_list(&edit->view, all);
	return 0;
}

static bool is_in(const char *entry, struct orma_str part)
{
	for (; *entry; entry++)
		if (strncmp(entry, part.data, part.size) == 0)
			return true;
	return false;
}

/* Finds the last entry before `from` that contains the part, or returns `from`. */
static size_t find_entry(const struct orma_line_history *history, size_t from, struct orma_str part)
{
	for (size_t i = from; i > 0 && part.size > 0; i--)
		if (is_in(history->entries[i - 1], part))
			return i - 1;
	return from;
}

/* Ctrl-R: shows the last entry that contains what is typed now. Returns the key that ended the search. */
static int search(struct edit *edit)
{
	const struct orma_line_history *history = edit->editor->history;
	char part[64] = "", prompt[96];
	size_t size = 0, at = history->count;
	for (;;) {
		const char *found = at < history->count ? history->entries[at] : "";
		snprintf(prompt, sizeof(prompt), "search \"%s\": ", part);
		orma_line_view_show(&edit->view, prompt, orma_base_str(found), 0);
		int key = orma_line_keys_read(edit->keys);
		if (key == ORMA_KEY_TEXT && size + edit->keys->size < sizeof(part)) {
			memcpy(part + size, edit->keys->bytes, edit->keys->size);
			size += edit->keys->size;
			at = find_entry(history, ORMA_MIN(at + 1, history->count),
					(struct orma_str){part, size});
		} else if (key == ORMA_KEY_CTRL('r')) {
			at = find_entry(history, at, (struct orma_str){part, size});
		} else if (key == ORMA_KEY_DELETE_BACK || key == ORMA_KEY_CTRL('h')) {
			size -= orma_line_size_before((struct orma_str){part, size}, size);
			at = find_entry(history, history->count, (struct orma_str){part, size});
		} else if (key != ORMA_KEY_NONE && key != ORMA_KEY_TEXT) {
			int r = at < history->count && key != ORMA_KEY_CTRL('c')
					? go_to_entry(edit, at)
					: 0;
			return r < 0 ? r : key;
		}
		part[size] = '\0';
	}
}

static int press_enter(struct edit *edit)
{
	if (!edit->editor->is_complete(edit->editor->ctx, text_of(edit)))
		return insert(edit, "\n", 1);
	return ENDS + ORMA_LINE_TEXT;
}

static int press_delete(struct edit *edit)
{
	erase(edit, edit->cursor, edit->cursor + orma_line_size_at(text_of(edit), edit->cursor));
	return 0;
}

/* Carries out a key that moves the cursor. Returns false when it is another one. */
static bool press_mover(struct edit *edit, int key)
{
	switch (key) {
	case ORMA_KEY_LEFT:
	case ORMA_KEY_CTRL('b'):
		edit->cursor -= orma_line_size_before(text_of(edit), edit->cursor);
		return true;
	case ORMA_KEY_RIGHT:
	case ORMA_KEY_CTRL('f'):
		edit->cursor += orma_line_size_at(text_of(edit), edit->cursor);
		return true;
	case ORMA_KEY_WORD_LEFT:
		edit->cursor = word_begin(edit);
		return true;
	case ORMA_KEY_WORD_RIGHT:
		edit->cursor = word_end(edit);
		return true;
	case ORMA_KEY_HOME:
	case ORMA_KEY_CTRL('a'):
		edit->cursor = line_begin(edit);
		return true;
	case ORMA_KEY_END:
	case ORMA_KEY_CTRL('e'):
		edit->cursor = line_end(edit);
		return true;
	default:
		return false;
	}
}

/* Returns ENDS + the result when the text has ended; else 0 or -ENOMEM. */
static int press(struct edit *edit, int key)
{
	size_t cursor = edit->cursor;
	if (press_mover(edit, key))
		return 0;
	switch (key) {
	case ORMA_KEY_GONE:
		return ENDS + ORMA_LINE_END;
	case ORMA_KEY_CTRL('c'):
		return ENDS + ORMA_LINE_STOPPED;
	case ORMA_KEY_CTRL('d'):
		return edit->text->size == 0 ? ENDS + ORMA_LINE_END : press_delete(edit);
	case ORMA_KEY_DELETE:
		return press_delete(edit);
	case '\r':
	case '\n':
		return press_enter(edit);
	case '\t':
		return complete(edit);
	case ORMA_KEY_TEXT:
		return insert(edit, edit->keys->bytes, edit->keys->size);
	case ORMA_KEY_PASTE:
		return paste(edit);
	case ORMA_KEY_UP:
	case ORMA_KEY_CTRL('p'):
		return move_up(edit);
	case ORMA_KEY_DOWN:
	case ORMA_KEY_CTRL('n'):
		return move_down(edit);
	case ORMA_KEY_DELETE_BACK:
	case ORMA_KEY_CTRL('h'):
		erase(edit, cursor - orma_line_size_before(text_of(edit), cursor), cursor);
		return 0;
	case ORMA_KEY_DELETE_WORD:
		return kill_part(edit, cursor, word_end(edit));
	case ORMA_KEY_DELETE_WORD_BACK:
	case ORMA_KEY_CTRL('w'):
		return kill_part(edit, word_begin(edit), cursor);
	case ORMA_KEY_CTRL('k'):
		return kill_part(edit, cursor, line_end(edit));
	case ORMA_KEY_CTRL('u'):
		return kill_part(edit, line_begin(edit), cursor);
	case ORMA_KEY_CTRL('y'):
		return insert(edit, (const char *)edit->killed.data, edit->killed.size);
	case ORMA_KEY_CTRL('l'):
		(void)orma_base_fd_write_all(edit->view.fd, "\x1b[H\x1b[2J", 7);
		edit->view.cursor_row = 0;
		return 0;
	default:
		return 0;
	}
}

static int run(struct edit *edit)
{
	for (;;) {
		orma_line_view_show(&edit->view, edit->editor->prompt, text_of(edit), edit->cursor);
		int key = orma_line_keys_read(edit->keys);
		if (key == ORMA_KEY_CTRL('r'))
			key = search(edit);
		if (key == -ENOMEM)
			return key;
		int r = press(edit, key);
		if (r != 0)
			return r;
		edit->last_key = key;
	}
}

static void set_signals(const struct sigaction *actions, struct sigaction *ret_before)
{
	size_t count = ORMA_ARRAY_SIZE(fatal_signals);
	for (size_t i = 0; i < count; i++)
		sigaction(fatal_signals[i], &actions[i], ret_before ? &ret_before[i] : NULL);
	sigaction(SIGWINCH, &actions[count], ret_before ? &ret_before[count] : NULL);
}

int orma_line_editor_read(struct orma_line_editor *editor, struct orma_buf *ret)
{
	static const char begin_pastes[] = "\x1b[?2004h", end_pastes[] = "\x1b[?2004l";
	struct sigaction before[ORMA_ARRAY_SIZE(fatal_signals) + 1],
		actions[ORMA_ARRAY_SIZE(fatal_signals) + 1];
	struct edit edit = {.editor = editor,
			    .keys = &editor->keys,
			    .view = {.fd = editor->out_fd},
			    .text = ret,
			    .history_at = editor->history->count};
	ret->size = 0;
	if (tcgetattr(editor->keys.fd, &usual_mode) < 0)
		return ORMA_LINE_END;
	struct termios mode = usual_mode;
	mode.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
	mode.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(actions); i++)
		actions[i] = (struct sigaction){.sa_handler = i < ORMA_ARRAY_SIZE(fatal_signals)
								      ? restore_and_die
								      : on_resize};
	terminal_fd = editor->keys.fd;
	set_signals(actions, before);
	tcsetattr(editor->keys.fd, TCSADRAIN, &mode);
	(void)orma_base_fd_write_all(editor->out_fd, begin_pastes, sizeof(begin_pastes) - 1);
	int r = run(&edit);
	edit.cursor = ret->size;
	orma_line_view_show(&edit.view, editor->prompt, text_of(&edit), edit.cursor);
	orma_line_view_end(&edit.view);
	(void)orma_base_fd_write_all(editor->out_fd, end_pastes, sizeof(end_pastes) - 1);
	tcsetattr(editor->keys.fd, TCSADRAIN, &usual_mode);
	set_signals(before, NULL);
	terminal_fd = -1;
	orma_base_buf_done(&edit.typed);
	orma_base_buf_done(&edit.killed);
	return r == -ENOMEM ? r : r - ENDS;
}
