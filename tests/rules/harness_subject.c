/* SPDX-License-Identifier: Apache-2.0
 * harness_subject.c - tests that misbehave in each way that the harness catches. harness-catches
 * runs them.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "harness.h"

ORMA_TEST(passes_and_its_folder_goes_away)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/sub", orma_test_tmpdir());
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	printf("tmpdir %s\n", orma_test_tmpdir());
}

ORMA_TEST(fails_a_check)
{
	CHECK_INT(1 + 1, 3);
}

ORMA_TEST(compares_strings)
{
	CHECK_STR("a", "b");
}

ORMA_TEST(leaks_a_descriptor)
{
	CHECK(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
}

ORMA_TEST(closes_a_descriptor_of_others)
{
	close(0);
}

ORMA_TEST(leaves_a_child)
{
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	printf("child %d\n", (int)pid);
	fflush(stdout);
}

ORMA_TEST(leaves_an_orphan_in_its_own_session)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	if (child == 0) {
		pid_t orphan = fork();
		if (orphan == 0) {
			setsid();
			close(ends[1]);
			pause();
			_exit(0);
		}
		_exit(write(ends[1], &orphan, sizeof(orphan)) != sizeof(orphan));
	}
	pid_t orphan;
	CHECK(read(ends[0], &orphan, sizeof(orphan)) == sizeof(orphan));
	close(ends[0]);
	close(ends[1]);
	printf("child %d\n", (int)orphan);
	fflush(stdout);
}

ORMA_TEST(never_ends)
{
	for (;;)
		pause();
}

ORMA_TEST(crashes)
{
	raise(SIGKILL);
}

ORMA_TEST(exits_with_a_status)
{
	exit(3);
}

ORMA_TEST(is_skipped)
{
	orma_test_skip("a thing");
}
