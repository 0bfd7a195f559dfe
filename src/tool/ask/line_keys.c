/* SPDX-License-Identifier: Apache-2.0
 * line_keys.c - reads escape sequences of terminals of the kind of xterm, as all have been for decades. So terminfo, and a
 * library that reads it, are not needed.
 */
#include "tool/ask/line_keys.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"

/* The rest of a sequence comes at once; alone, the byte is the key Esc. */
enum { SEQUENCE_MS = 50, PASTE_BEGIN = 200 };

static int next_byte(struct orma_line_keys *keys)
{
	if (keys->at == keys->end) {
		ssize_t got = read(keys->fd, keys->waiting, sizeof(keys->waiting));
		if (got < 0 && errno == EINTR)
			return -EINTR;
		if (got <= 0)
			return ORMA_KEY_GONE;
		keys->at = 0;
		keys->end = (size_t)got;
	}
	return keys->waiting[keys->at++];
}

static int next_of_sequence(struct orma_line_keys *keys)
{
	struct pollfd input = {.fd = keys->fd, .events = POLLIN};
	if (keys->at == keys->end && poll(&input, 1, SEQUENCE_MS) <= 0)
		return ORMA_KEY_GONE;
	return next_byte(keys);
}

/* F1 is 11, and the numbers have gaps behind F5 and F10. */
static int key_of_function(unsigned number)
{
	if (number >= 11 && number <= 15)
		return ORMA_KEY_F1 + (int)number - 11;
	if (number >= 17 && number <= 21)
		return ORMA_KEY_F1 + (int)number - 12;
	return number == 23 || number == 24 ? ORMA_KEY_F1 + (int)number - 13 : ORMA_KEY_NONE;
}

static int key_of_number(unsigned number)
{
	switch (number) {
	case 1:
	case 7:
		return ORMA_KEY_HOME;
	case 3:
		return ORMA_KEY_DELETE;
	case 4:
	case 8:
		return ORMA_KEY_END;
	case 5:
		return ORMA_KEY_PAGE_UP;
	case 6:
		return ORMA_KEY_PAGE_DOWN;
	case PASTE_BEGIN:
		return ORMA_KEY_PASTE;
	default:
		return key_of_function(number);
	}
}

static int key_of_letter(int letter, bool has_modifier)
{
	switch (letter) {
	case 'A':
		return ORMA_KEY_UP;
	case 'B':
		return ORMA_KEY_DOWN;
	case 'C':
		return has_modifier ? ORMA_KEY_WORD_RIGHT : ORMA_KEY_RIGHT;
	case 'D':
		return has_modifier ? ORMA_KEY_WORD_LEFT : ORMA_KEY_LEFT;
	case 'F':
		return ORMA_KEY_END;
	case 'H':
		return ORMA_KEY_HOME;
	case 'P':
	case 'Q':
	case 'R':
	case 'S':
		return ORMA_KEY_F1 + letter - 'P';
	default:
		return ORMA_KEY_NONE;
	}
}

/* Reads what follows Esc [: numbers with semicolons between, and a letter or ~. */
static int read_sequence(struct orma_line_keys *keys)
{
	unsigned number = 0;
	bool has_modifier = false;
	for (;;) {
		int byte = next_of_sequence(keys);
		if (byte >= '0' && byte <= '9' && !has_modifier)
			number = ORMA_MIN(number * 10 + (unsigned)(byte - '0'), 10000u);
		else if (byte == ';')
			has_modifier = true;
		else if (byte == '~')
			return key_of_number(number);
		else if (byte >= 0x40 && byte < 0x7f)
			return key_of_letter(byte, has_modifier);
		else if (byte < 0x20)
			return ORMA_KEY_NONE;
	}
}

static int read_escape(struct orma_line_keys *keys)
{
	int byte = next_of_sequence(keys);
	switch (byte) {
	case '[':
		return read_sequence(keys);
	case 'O':
		return key_of_letter(next_of_sequence(keys), false);
	case 'b':
		return ORMA_KEY_WORD_LEFT;
	case 'f':
		return ORMA_KEY_WORD_RIGHT;
	case 'd':
		return ORMA_KEY_DELETE_WORD;
	case ORMA_KEY_CTRL('h'):
	case 0x7f:
		return ORMA_KEY_DELETE_WORD_BACK;
	case ORMA_KEY_GONE:
		return ORMA_KEY_ESCAPE;
	default:
		return ORMA_KEY_NONE;
	}
}

int orma_line_keys_read(struct orma_line_keys *keys)
{
	int byte = next_byte(keys);
	if (byte == -EINTR)
		return ORMA_KEY_NONE;
	if (byte == 0x1b)
		return read_escape(keys);
	if (byte < 0x20 || byte == 0x7f)
		return byte == 0 ? ORMA_KEY_NONE : byte;
	keys->bytes[0] = (char)byte;
	keys->size = 1;
	size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
	while (keys->size < size) {
		int more = next_of_sequence(keys);
		if (more < 0x80 || more > 0xbf)
			return ORMA_KEY_NONE;
		keys->bytes[keys->size++] = (char)more;
	}
	return ORMA_KEY_TEXT;
}

int orma_line_keys_paste(struct orma_line_keys *keys)
{
	static const char end[] = "[201~";
	int byte = next_byte(keys);
	while (byte == -EINTR)
		byte = next_byte(keys);
	if (byte != 0x1b)
		return byte;
	for (size_t i = 0; end[i]; i++)
		if (next_of_sequence(keys) != end[i])
			return ' '; /* an escape sequence in the text, of which the terminal shall see nothing */
	return ORMA_KEY_GONE;
}
