/* SPDX-License-Identifier: Apache-2.0
 * closed_fds_test.c - a program that closes all descriptors with a system call, and opens files under the same numbers, while
 * it records: the library leaves the files alone, nobody waits, and a new connection follows.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/orma.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "daemon.h"
#include "harness.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { SOURCE_MS = 20000, NUMBERS_MAX = 100, MANY_FILES = 10000 };

static struct orma_test_daemon service;
static struct orma_session *session;
static _Atomic int starts;
/* The program takes the numbers from here on. */
static int first_number = STDERR_FILENO + 1;

static void on_start(void *ctx, const struct orma_instance *instance)
{
	(void)ctx, (void)instance;
	atomic_fetch_add(&starts, 1);
}

static void begin_session(void)
{
	static const char config[] = "buffers { size_kb: 256 } data_sources { config { name: "
				     "\"test.closer\" } }";
	struct orma_session_options options = {.struct_size = sizeof(options)};

	orma_test_daemon_start(&service);
	options.consumer_socket = service.consumers;
	CHECK_INT(orma_session_new(&options, &session, NULL), 0);
	CHECK_INT(orma_session_enable_text(session, "config", config, sizeof(config) - 1, -1, NULL),
		  0);
	CHECK_INT(orma_session_wait_started(session, SOURCE_MS), 0);
}

static int count_packet(void *ctx, const void *packet, size_t size)
{
	struct orma_field field;

	if (orma_field_find(packet, size, ORMA_PACKET_TIMESTAMP, &field) == 1 && field.value < 3)
		((int *)ctx)[field.value]++;
	return 0;
}

static void end_session(int counts[3])
{
	CHECK_INT(orma_session_stop(session), 0);
	CHECK_INT(orma_session_wait_stopped(session, SOURCE_MS, NULL), 0);
	CHECK(orma_session_read(session, count_packet, counts) >= 0);
	orma_session_free(session);
	orma_test_daemon_stop(&service);
}

/* --- the program, which ends with the number of the step that failed ----------------------------- */

static void step(int number, bool is_right)
{
	if (!is_right)
		_exit(number);
}

static void emit(struct orma_data_source *source, uint64_t timestamp)
{
	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		struct orma_packet *packet = orma_packet_begin(source, i);

		if (!packet)
			continue;
		orma_packet_varint(packet, ORMA_PACKET_TIMESTAMP, timestamp);
		orma_packet_end(packet);
		orma_data_source_flush_thread(source, i);
	}
}

static void await_start(int count)
{
	while (atomic_load(&starts) < count)
		usleep(1000);
}

static void open_files(int count)
{
	int last = STDERR_FILENO;

	for (int i = 0; i < count; i++)
		last = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	step(13, last >= 0);
	first_number = last + 1;
}

/* All numbers are one file's, with one position. */
static int take_numbers(ino_t *ret_inode)
{
	struct stat info;
	int fd = (int)syscall(SYS_memfd_create, "file", 0u);

	for (int i = 0; i < NUMBERS_MAX; i++)
		if (first_number + i != fd)
			step(14, dup2(fd, first_number + i) >= 0);
	step(10, fd >= 0 && fstat(fd, &info) == 0);
	*ret_inode = info.st_ino;
	return fd;
}

static void check_numbers(int fd, ino_t inode)
{
	struct stat info;

	step(11, fstat(fd, &info) == 0 && info.st_size == 0 && lseek(fd, 0, SEEK_CUR) == 0);
	for (int i = 0; i < NUMBERS_MAX; i++)
		step(12, fstat(first_number + i, &info) == 0 && info.st_ino == inode);
}

static void run_program(void)
{
	const struct orma_init_options init = {
		.struct_size = sizeof(init),
		.producer_socket = service.producers,
	};
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "test.closer",
		.on_start = on_start,
	};
	struct orma_data_source *source = NULL;
	uint64_t begin_ns;
	ino_t inode;
	int fd;

	step(1, orma_init(&init) == 0 && orma_data_source_register(&options, &source) == 0);
	await_start(1);
	emit(source, 1);
	step(2, orma_sync(SOURCE_MS) == 0);
	step(3, syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0u) == 0);
	fd = take_numbers(&inode);
	emit(source, 0);
	/* Nothing answers, and the call knows it at once. */
	begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	step(4, orma_sync(4 * SOURCE_MS) != -ETIMEDOUT);
	step(5, orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns < SOURCE_MS * ORMA_NS_PER_MS);
	await_start(2);
	emit(source, 2);
	step(6, orma_sync(SOURCE_MS) == 0);
	check_numbers(fd, inode);
	orma_shutdown();
	check_numbers(fd, inode);
	_exit(0);
}

/* There is no service. Returns how long the shutdown took. */
static uint64_t close_and_shut_down(void)
{
	const struct orma_init_options init = {
		.struct_size = sizeof(init),
		.producer_socket = "@orma-nobody-listens-here",
	};
	ino_t inode;

	step(21, orma_init(&init) == 0);
	/* Nobody answers; meanwhile the library's thread begins to wait. */
	(void)orma_sync(50);
	step(22, syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0u) == 0);
	int fd = take_numbers(&inode);
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	orma_shutdown();
	uint64_t ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	check_numbers(fd, inode);
	step(23, syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0u) == 0);
	return ns;
}

/* The library looks for closed descriptors each second. The shortest of several shutdowns is compared, because the machine may be busy. */
ORMA_TEST(a_program_that_has_closed_all_descriptors_shuts_down_at_once)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		uint64_t shortest_ns = UINT64_MAX;
		for (int i = 0; i < 5; i++)
			shortest_ns = ORMA_MIN(shortest_ns, close_and_shut_down());
		_exit(shortest_ns < 500 * ORMA_NS_PER_MS ? 0 : 24);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

/* The program begins before there are threads, and waits for the daemon's address. */
static void check_program(int file_count)
{
	int status, counts[3] = {0}, fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		step(9, read(fds[0], &service, sizeof(service)) == sizeof(service));
		if (file_count > 0)
			open_files(file_count);
		run_program();
	}
	begin_session();
	CHECK_INT(write(fds[1], &service, sizeof(service)), sizeof(service));
	close(fds[0]);
	close(fds[1]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	end_session(counts);
	CHECK_INT(counts[1], 1);
	CHECK_INT(counts[2], 1);
}

ORMA_TEST(files_under_the_numbers_of_the_library_stay_as_they_are)
{
	check_program(0);
}

ORMA_TEST(files_stay_as_they_are_in_a_program_with_ten_thousand_others)
{
	struct rlimit limit;

	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < MANY_FILES + 2 * NUMBERS_MAX)
		orma_test_skip("10,000 descriptors");
	check_program(MANY_FILES);
}
