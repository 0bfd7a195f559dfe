/* SPDX-License-Identifier: Apache-2.0
 * line_keys.h - what a terminal sends, as keys.
 */
#ifndef ORMA_TOOL_LINE_KEYS_H
#define ORMA_TOOL_LINE_KEYS_H

#include <stddef.h>

#define ORMA_KEY_CTRL(letter) ((letter)&0x1f)

enum orma_key {
	ORMA_KEY_GONE = -1, /* the terminal has gone */
	ORMA_KEY_NONE = 0, /* a sequence without a meaning here; or the window's size has changed */
	/* Up to 0x1f it is the control character. */
	ORMA_KEY_DELETE_BACK = 0x7f,
	ORMA_KEY_TEXT = 0x100, /* a character; in .bytes */
	ORMA_KEY_PASTE, /* begins a text that the user has not typed; see orma_line_keys_paste() */
	ORMA_KEY_UP,
	ORMA_KEY_DOWN,
	ORMA_KEY_LEFT,
	ORMA_KEY_RIGHT,
	ORMA_KEY_WORD_LEFT,
	ORMA_KEY_WORD_RIGHT,
	ORMA_KEY_HOME,
	ORMA_KEY_END,
	ORMA_KEY_DELETE,
	ORMA_KEY_DELETE_WORD,      /* behind the cursor */
	ORMA_KEY_DELETE_WORD_BACK, /* before it */
	ORMA_KEY_PAGE_UP,
	ORMA_KEY_PAGE_DOWN,
	ORMA_KEY_ESCAPE,
	ORMA_KEY_F1, /* up to ORMA_KEY_F1 + 11 */
};

/* {.fd = FD} is ready. */
struct orma_line_keys {
	int fd;
	char bytes[4]; /* the character of ORMA_KEY_TEXT */
	size_t size;
	unsigned char waiting[256];
	size_t at, end;
};

int orma_line_keys_read(struct orma_line_keys *keys);
/* Reads a byte of what is pasted; -1 behind its end. */
int orma_line_keys_paste(struct orma_line_keys *keys);

#endif
