/* SPDX-License-Identifier: Apache-2.0
 * fd_test.c - new descriptors, complete reads and writes, memory files and their seals.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness.h"
#include "sandbox/seccomp_filter.h"

#ifdef SYS_fcntl64
#define FCNTL_NUMBER SYS_fcntl64
#else
#define FCNTL_NUMBER SYS_fcntl
#endif
enum { LARGE_NUMBER = 10000 };

ORMA_TEST(closing_preserves_errno_and_ignores_negative_descriptors)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	errno = EDOM;
	CHECK_INT(orma_base_fd_close(fd), -1);
	CHECK_INT(orma_base_fd_close(-1), -1);
	CHECK_INT(errno, EDOM);
	CHECK(fcntl(fd, F_GETFD) < 0);
}

ORMA_TEST(a_file_written_whole_reads_back_whole)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/file", orma_test_tmpdir());
	static uint8_t data[100000];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	{
		ORMA_AUTO(orma_base_fd_closep)
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		CHECK_INT(orma_base_fd_write_all(fd, data, sizeof(data)), 0);
	}
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_buf_append_str(&buf, "x"), 0);
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, sizeof(data), &buf), 0);
	CHECK_MEM(buf.data + 1, buf.size - 1, data, sizeof(data));
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, sizeof(data) - 1, &buf), -EFBIG);
	CHECK_INT(buf.size, sizeof(data) + 1);
	orma_base_buf_done(&buf);
	orma_test_fail_allocation(3);
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, sizeof(data), &buf), -ENOMEM);
	CHECK_INT(buf.size, 0);
	orma_base_buf_done(&buf);
}

ORMA_TEST(files_of_proc_without_a_size_are_read_to_the_end)
{
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_file_read(AT_FDCWD, "/proc/self/maps", 1 << 20, &buf), 0);
	CHECK(buf.size > 100 && buf.data[buf.size - 1] == '\n');
	orma_base_buf_done(&buf);
}

ORMA_TEST(reading_what_is_not_there_or_not_readable_gives_errno)
{
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_file_read(AT_FDCWD, "/nonexistent", 10, &buf), -ENOENT);
	CHECK_INT(orma_base_file_read(AT_FDCWD, "/", 10, &buf), -EISDIR);
	CHECK_INT(orma_base_fd_write_all(-1, "a", 1), -EBADF);
	CHECK_INT(orma_base_fd_set_nonblock(-1), -EBADF);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_nonblocking_pipe_says_again_when_it_is_empty)
{
	int ends[2];
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(orma_base_fd_set_nonblock(ends[0]), 0);
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_fd_read_all(ends[0], 10, &buf), -EAGAIN);
	orma_base_buf_done(&buf);
	orma_base_fd_close(ends[0]);
	orma_base_fd_close(ends[1]);
}

ORMA_TEST(a_memory_file_cannot_change_its_size_or_seals)
{
	size_t size = 0;
	int fd = orma_base_memfd_new("test", 8192);
	CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	CHECK_INT(orma_base_memfd_check(fd, &size), 0);
	CHECK_INT(size, 8192);
	CHECK(ftruncate(fd, 4096) < 0 && ftruncate(fd, 16384) < 0);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0);
	orma_base_fd_close(fd);
}

ORMA_TEST(memory_that_could_still_shrink_is_refused)
{
	size_t size = 7;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL) == 0);
	CHECK_INT(orma_base_memfd_check(fd, &size), -EINVAL);
	orma_base_fd_close(fd);
	int ends[2];
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(orma_base_memfd_check(ends[0], &size), -EINVAL);
	CHECK_INT(orma_base_memfd_check(-1, &size), -EINVAL);
	CHECK_INT(size, 7);
	orma_base_fd_close(ends[0]);
	orma_base_fd_close(ends[1]);
}

/* Huge pages come from a pool. When it is empty, touching a hole is a SIGBUS in spite of the seals. */
ORMA_TEST(memory_of_huge_pages_is_refused)
{
	size_t size = 7;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd < 0)
		orma_test_skip("memory files of huge pages");
	CHECK_INT(ftruncate(fd, 2 << 20), 0);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	CHECK_INT(orma_base_memfd_check(fd, &size), -EINVAL);
	CHECK_INT(size, 7);
	orma_base_fd_close(fd);
}

ORMA_TEST(a_memory_file_that_is_too_large_leaves_no_descriptor)
{
	CHECK_INT(orma_base_memfd_new("test", SIZE_MAX), -EFBIG);
}

ORMA_TEST(a_new_descriptor_is_moved_away_from_the_standard_ones)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 50), fds[2];

	close(STDIN_FILENO);
	int moved = orma_base_fd_avoid_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
	int kept = orma_base_fd_avoid_standard(fcntl(moved, F_DUPFD_CLOEXEC, 20));
	int duplicate = orma_base_fd_duplicate(moved);
	int r = orma_base_socketpair(fds);
	bool is_free = fcntl(STDIN_FILENO, F_GETFD) < 0;
	dup2(input, STDIN_FILENO);
	close(input);
	CHECK(is_free);
	CHECK(moved > STDERR_FILENO && duplicate > STDERR_FILENO);
	CHECK(fcntl(moved, F_GETFD) == FD_CLOEXEC && fcntl(duplicate, F_GETFD) == FD_CLOEXEC);
	CHECK(kept >= 20);
	CHECK_INT(r, 0);
	CHECK(fds[0] > STDERR_FILENO && fds[1] > STDERR_FILENO);
	const int opened[] = {moved, kept, duplicate, fds[0], fds[1]};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(opened); i++)
		close(opened[i]);
	CHECK_INT(orma_base_fd_avoid_standard(-1), -1);
	CHECK_INT(orma_base_fd_duplicate(-1), -EBADF);
}

ORMA_TEST(standard_descriptors_that_are_closed_are_held_and_fail_as_before)
{
	int error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 50);
	char byte;

	close(STDERR_FILENO);
	int r = orma_base_fds_hold_standard();
	int flags = fcntl(STDERR_FILENO, F_GETFD);
	ssize_t written = write(STDERR_FILENO, "x", 1);
	int write_errno = errno;
	ssize_t got = read(STDERR_FILENO, &byte, 1);
	int read_errno = errno;
	dup2(error, STDERR_FILENO);
	close(error);
	CHECK_INT(r, 0);
	CHECK_INT(flags, FD_CLOEXEC);
	CHECK_INT(written, -1);
	CHECK_INT(write_errno, EBADF);
	CHECK_INT(got, -1);
	CHECK_INT(read_errno, EBADF);
}

ORMA_TEST(a_number_that_somebody_else_has_taken_is_left_alone)
{
	int pipe_fds[2], fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	char byte;

	CHECK(fd >= 0 && pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == 0);
	orma_base_fd_set_close_on_fork(fd);
	CHECK(orma_base_fd_is_own(fd) && orma_base_fds_are_own());
	CHECK_INT(orma_base_fd_next_kept(0), fd);
	CHECK_INT(dup2(pipe_fds[1], fd), fd);
	CHECK(!orma_base_fd_is_own(fd) && !orma_base_fds_are_own());
	orma_base_fd_wake(fd);
	CHECK(read(pipe_fds[0], &byte, 1) < 0 && errno == EAGAIN);
	orma_base_fd_close(fd);
	CHECK(fcntl(fd, F_GETFD) >= 0 && orma_base_fds_are_own());
	/* It is nobody's any more. */
	orma_base_fd_close(fd);
	CHECK(fcntl(fd, F_GETFD) < 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* The second number is the program's. */
static void check_child_closes_first(const int fds[2])
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		orma_base_fds_close_in_child();
		_exit(fcntl(fds[0], F_GETFD) >= 0 || fcntl(fds[1], F_GETFD) < 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

ORMA_TEST(a_child_leaves_numbers_alone_that_the_program_has_taken)
{
	int fds[2] = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};

	orma_base_fd_set_close_on_fork(fds[0]);
	orma_base_fd_set_close_on_fork(fds[1]);
	CHECK_INT(dup2(STDERR_FILENO, fds[1]), fds[1]);
	check_child_closes_first(fds);
	orma_base_fd_close(fds[0]);
	orma_base_fd_close(fds[1]);
	close(fds[1]);
}

ORMA_TEST(large_numbers_are_looked_at_like_small_ones)
{
	int small = eventfd(0, EFD_CLOEXEC), fds[2];
	struct rlimit limit;

	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 2; i++)
		fds[i] = fcntl(small, F_DUPFD_CLOEXEC, LARGE_NUMBER);
	if (fds[1] < 0)
		orma_test_skip("10,000 descriptors");
	for (int i = 0; i < 2; i++)
		orma_base_fd_set_close_on_fork(fds[i]);
	CHECK_INT(orma_base_fd_next_kept(0), fds[0]);
	CHECK_INT(orma_base_fd_next_kept(fds[0] + 1), fds[1]);
	CHECK_INT(orma_base_fd_next_kept(fds[1] + 1), INT_MAX);
	CHECK_INT(dup2(STDERR_FILENO, fds[1]), fds[1]);
	CHECK(orma_base_fd_is_own(fds[0]) && !orma_base_fd_is_own(fds[1]));
	CHECK(!orma_base_fds_are_own());
	check_child_closes_first(fds);
	for (int i = 0; i < 2; i++)
		orma_base_fd_close(fds[i]);
	CHECK(orma_base_fds_are_own());
	CHECK_INT(close(fds[1]), 0);
	close(small);
}

/* From now on, the kernel answers to this command of fcntl() with the error; 0: it does nothing. False where there are no filters: on
 * 32 bits and in emulators. */
static bool answer_to_fcntl(uint32_t command, unsigned error)
{
	struct orma_seccomp_filter filter;

	orma_seccomp_filter_begin(&filter, ORMA_SECCOMP_ALLOW);
	orma_seccomp_filter_skip_unless(&filter, FCNTL_NUMBER, 3);
	orma_seccomp_filter_load_low(&filter, 1);
	orma_seccomp_filter_skip_unless(&filter, command, 1);
	orma_seccomp_filter_answer(&filter, ORMA_SECCOMP_REFUSE(error));
	return orma_seccomp_filter_install(&filter) == 0;
}

/* All that the library does with its descriptors goes on. Numbers that the program has taken are not told apart. */
static void check_without_labels(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), status;
	eventfd_t wakes = 0;

	orma_base_fd_set_close_on_fork(fd);
	CHECK(orma_base_fd_is_own(fd) && orma_base_fds_are_own());
	orma_base_fd_wake(fd);
	CHECK(eventfd_read(fd, &wakes) == 0 && wakes == 1);
	pid_t child = fork();
	if (child == 0) {
		orma_base_fds_close_in_child();
		_exit(fcntl(fd, F_GETFD) >= 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	CHECK_INT(dup2(STDERR_FILENO, fd), fd);
	CHECK(orma_base_fd_is_own(fd));
	orma_base_fd_close(fd);
	CHECK(fcntl(fd, F_GETFD) < 0);
}

ORMA_TEST(descriptors_that_cannot_get_a_label_are_the_librarys)
{
	if (answer_to_fcntl(F_SETSIG, EINVAL))
		check_without_labels();
}

ORMA_TEST(descriptors_whose_label_cannot_be_read_are_the_librarys)
{
	if (answer_to_fcntl(F_GETSIG, EINVAL))
		check_without_labels();
}

ORMA_TEST(descriptors_that_do_not_keep_their_label_are_the_librarys)
{
	if (answer_to_fcntl(F_SETSIG, 0))
		check_without_labels();
}
