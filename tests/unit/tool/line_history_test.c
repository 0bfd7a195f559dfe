/* SPDX-License-Identifier: Apache-2.0
 * line_history_test.c - the file of a history: escapes, its length, several programs, and folders that are not there.
 */
#include "tool/ask/line_history.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"

static struct orma_line_history history;

static void open_in(const char *folder)
{
	setenv("XDG_STATE_HOME", folder, 1);
	orma_line_history_open(&history, "test_history");
}

static void add(const char *text)
{
	orma_line_history_add(&history, orma_base_str(text));
}

static const char *last(size_t from_end)
{
	return history.entries[history.count - 1 - from_end];
}

ORMA_TEST(entries_come_back_as_they_were)
{
	open_in(orma_test_tmpdir());
	add("select 1;\n-- a\\nb \\\\ \n;");
	add("");
	add(" secret");
	add("last");
	add("last");
	orma_line_history_done(&history);
	open_in(orma_test_tmpdir());
	CHECK_INT(history.count, 2);
	CHECK_STR(last(1), "select 1;\n-- a\\nb \\\\ \n;");
	CHECK_STR(last(0), "last");
	orma_line_history_done(&history);
}

ORMA_TEST(the_oldest_entries_go)
{
	char text[32];
	struct orma_buf file = {0};
	size_t lines = 0;
	open_in(orma_test_tmpdir());
	for (int i = 0; i < 2 * ORMA_LINE_HISTORY_MAX + 5; i++) {
		snprintf(text, sizeof(text), "entry %d", i);
		add(text);
	}
	CHECK_INT(history.count, ORMA_LINE_HISTORY_MAX);
	CHECK_STR(last(0), "entry 2004");
	CHECK_STR(history.entries[0], "entry 1005");
	orma_line_history_done(&history);
	/* The next program makes the file short again. */
	open_in(orma_test_tmpdir());
	CHECK_STR(history.entries[0], "entry 1005");
	CHECK_INT(orma_base_file_read(AT_FDCWD, history.path, 1 << 20, &file), 0);
	for (size_t i = 0; i < file.size; i++)
		lines += file.data[i] == '\n';
	CHECK_INT(lines, ORMA_LINE_HISTORY_MAX);
	orma_base_buf_done(&file);
	orma_line_history_done(&history);
}

ORMA_TEST(without_a_folder_the_history_is_kept_in_memory)
{
	setenv("HOME", "nowhere", 1);
	open_in("relative");
	CHECK(!history.path);
	add("one");
	CHECK_STR(last(0), "one");
	orma_line_history_done(&history);
	open_in("/dev/null");
	CHECK(!history.path);
	orma_line_history_done(&history);
}
