/* SPDX-License-Identifier: Apache-2.0
 * record_progress_test.c - the line that a recording shows on a terminal.
 */
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "tool/record/record_progress.h"

static void check_line(double seconds, uint32_t duration_ms, const char *expected)
{
	struct orma_record_progress progress = {.is_shown = true, .is_asked = true};
	char text[256] = "";
	int fds[2], saved = dup(STDERR_FILENO);

	CHECK(saved >= 0);
	CHECK_INT(pipe(fds), 0);
	CHECK(dup2(fds[1], STDERR_FILENO) >= 0);
	orma_record_progress_show(&progress, NULL, seconds, duration_ms);
	fflush(stderr);
	CHECK(dup2(saved, STDERR_FILENO) >= 0);
	CHECK(read(fds[0], text, sizeof(text) - 1) > 0);
	CHECK(strstr(text, expected));
	close(saved);
	close(fds[0]);
	close(fds[1]);
}

ORMA_TEST(the_time_on_the_line_does_not_pass_the_duration)
{
	check_line(2.4, 3000, "Recording: 2.4 s of 3.0 s  (Ctrl-C stops)");
	check_line(5.4, 3000, "Recording: 3.0 s of 3.0 s  (waiting for the last data)");
	check_line(5.4, 0, "Recording: 5.4 s  (Ctrl-C stops)");
}
