/* SPDX-License-Identifier: Apache-2.0
 * line_history.c - a file with one entry per line; a line feed in an entry is \n and a backslash is \\.
 *
 * An entry is appended with one write(), so several programs may share the file. It is rewritten when it is read and has
 * become twice as long as the history. Only its owner may read it, because queries may contain names.
 */
#include "tool/ask/line_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/ask/state_file.h"

enum { FILE_MAX_BYTES = 16 << 20, ENTRY_MAX_BYTES = 1 << 16, PATH_BYTES = 4096 };

static bool keep(struct orma_line_history *history, struct orma_str text)
{
	char *entry = orma_base_str_dup(text);
	if (!entry)
		return false;
	if (history->count == ORMA_LINE_HISTORY_MAX) {
		orma_base_free(history->entries[0]);
		memmove(history->entries, history->entries + 1,
			(ORMA_LINE_HISTORY_MAX - 1) * sizeof(char *));
		history->count--;
	}
	history->entries[history->count++] = entry;
	return true;
}

/* Replaces the escapes in place, and returns the size. */
static size_t unescape(char *line, size_t size)
{
	size_t out = 0;
	for (size_t i = 0; i < size; i++) {
		bool is_escape = line[i] == '\\' && i + 1 < size;
		i += is_escape;
		line[out++] = (char)(is_escape && line[i] == 'n' ? '\n' : line[i]);
	}
	return out;
}

static int append_escaped(struct orma_buf *out, const char *entry)
{
	int r = 0;
	for (; *entry && r == 0; entry++)
		r = *entry == '\n'   ? orma_base_buf_append(out, "\\n", 2)
		    : *entry == '\\' ? orma_base_buf_append(out, "\\\\", 2)
				     : orma_base_buf_append(out, entry, 1);
	return r == 0 ? orma_base_buf_append(out, "\n", 1) : r;
}

static void rewrite(const struct orma_line_history *history)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	char path[PATH_BYTES + 80];
	snprintf(path, sizeof(path), "%s.%ld", history->path, (long)getpid());
	for (size_t i = 0; i < history->count; i++)
		if (append_escaped(&text, history->entries[i]) < 0)
			return;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	bool is_whole = orma_base_fd_write_all(fd, text.data, text.size) == 0;
	orma_base_fd_close(fd);
	if (!is_whole || rename(path, history->path) < 0)
		unlink(path);
}

void orma_line_history_open(struct orma_line_history *history, const char *name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	size_t lines = 0;
	*history = (struct orma_line_history){.path = orma_ask_state_path(name)};
	if (!history->path ||
	    orma_base_file_read(AT_FDCWD, history->path, FILE_MAX_BYTES, &text) < 0)
		return;
	for (size_t at = 0; at < text.size;) {
		char *line = (char *)text.data + at;
		const char *end = memchr(line, '\n', text.size - at);
		size_t size = end ? (size_t)(end - line) : text.size - at;
		at += size + 1;
		lines++;
		size = unescape(line, size);
		if (size > 0 && size <= ENTRY_MAX_BYTES && !memchr(line, '\0', size))
			(void)keep(history, (struct orma_str){line, size});
	}
	if (lines > (size_t)2 * ORMA_LINE_HISTORY_MAX)
		rewrite(history);
}

void orma_line_history_done(struct orma_line_history *history)
{
	for (size_t i = 0; i < history->count; i++)
		orma_base_free(history->entries[i]);
	orma_base_free(history->path);
	*history = (struct orma_line_history){0};
}

void orma_line_history_add(struct orma_line_history *history, struct orma_str text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	if (text.size == 0 || text.data[0] == ' ' || text.size > ENTRY_MAX_BYTES ||
	    (history->count > 0 && orma_base_str_is(text, history->entries[history->count - 1])) ||
	    !keep(history, text) || !history->path ||
	    append_escaped(&line, history->entries[history->count - 1]) < 0)
		return;
	int fd = open(history->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	/* A full disk loses the entry, and nothing else. */
	(void)orma_base_fd_write_all(fd, line.data, line.size);
	orma_base_fd_close(fd);
}
