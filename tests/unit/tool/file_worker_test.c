/* SPDX-License-Identifier: Apache-2.0
 * file_worker_test.c - files that threads of their own write: order, limits, failures, readers that
 * hang.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/macros.h"
#include "harness.h"
#include "tool/daemon/file_worker.h"
#include "tool/daemon/output_folder.h"

struct events {
	struct orma_file_worker *worker;
	struct orma_loop *loop;
	int room, ended, failed, created, last_status;
};

static void take_event(void *ctx, uint64_t session_id, int status)
{
	struct events *events = ctx;
	CHECK_INT(session_id, 7);
	events->last_status = status;
	if (status == ORMA_FILE_CLOSED)
		events->ended++;
	else if (status == ORMA_FILE_CREATED)
		events->created++;
	else if (status == ORMA_FILE_READY)
		events->room++;
	else
		events->failed++;
}

static void on_wake(void *ctx)
{
	struct events *events = ctx;
	orma_file_worker_dispatch(events->worker, take_event, events);
}

static void start(struct events *events)
{
	*events = (struct events){0};
	CHECK_INT(orma_base_loop_new(&events->loop), 0);
	CHECK_INT(orma_file_worker_new(events->loop, &events->worker), 0);
	orma_base_loop_set_wake_handler(events->loop, on_wake, events);
}

static void stop(struct events *events)
{
	orma_file_worker_free(events->worker);
	orma_base_loop_free(events->loop);
}

static int write_bytes(struct events *events, void *file, const void *data, size_t size)
{
	struct iovec iov[2] = {
		{.iov_base = (void *)data, .iov_len = size / 2},
		{.iov_base = (char *)data + size / 2, .iov_len = size - size / 2},
	};
	return orma_file_worker_ops.write(events->worker, file, iov, 2);
}

ORMA_TEST(what_is_queued_reaches_the_file_in_order_before_the_end_is_reported)
{
	struct events events;
	void *file;
	int fd = memfd_create("out", MFD_CLOEXEC), copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_INT(write_bytes(&events, file, &i, sizeof(i)), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 0);
	CHECK_INT(lseek(copy, 0, SEEK_SET), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t value;
		CHECK_INT(read(copy, &value, sizeof(value)), sizeof(value));
		CHECK_INT(value, i);
	}
	close(copy);
	stop(&events);
}

ORMA_TEST(a_reader_that_hangs_fills_the_queue_and_an_event_tells_when_there_is_room)
{
	static uint8_t block[1 << 20];
	struct events events;
	void *file;
	int fds[2], accepted = 0, r;
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fds[1], 7, &file), 0);
	while ((r = write_bytes(&events, file, block, sizeof(block))) == 0)
		CHECK(++accepted < 64);
	CHECK_INT(r, -EAGAIN);
	size_t drained = 0;
	while (events.room == 0) {
		ssize_t got = read(fds[0], block, sizeof(block));
		CHECK(got > 0);
		drained += (size_t)got;
		CHECK(orma_base_loop_turn(events.loop, 0) >= 0);
	}
	orma_file_worker_ops.close(events.worker, file, true);
	while (drained < (size_t)accepted * sizeof(block)) {
		ssize_t got = read(fds[0], block, sizeof(block));
		CHECK(got > 0);
		drained += (size_t)got;
	}
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	close(fds[0]);
	stop(&events);
}

ORMA_TEST(a_full_disk_is_reported_once_and_the_file_still_ends)
{
	struct events events;
	void *file;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		orma_test_skip("/dev/full");
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, "12345678", 8), 0);
	while (events.failed == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.last_status, -ENOSPC);
	CHECK_INT(write_bytes(&events, file, "12345678", 8), -ENOSPC);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 1);
	stop(&events);
}

ORMA_TEST(a_file_at_its_size_limit_ends_behind_a_whole_packet)
{
	static const char packets[] = "\x0a\x06one 1 \x0a\x06two 2 \x0a\x06three ";
	const struct rlimit limit = {20, 20};
	struct events events;
	struct stat info;
	void *file;
	int fd = memfd_create("out", MFD_CLOEXEC), copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	start(&events);
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, packets, sizeof(packets) - 1), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 1);
	CHECK_INT(fstat(copy, &info), 0);
	CHECK_INT(info.st_size, 16);
	close(copy);
	stop(&events);
}

ORMA_TEST(a_failure_is_told_although_room_was_asked_for_before_it)
{
	static uint8_t block[1 << 20];
	struct events events;
	void *file;
	int fds[2], r;
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fds[1], 7, &file), 0);
	while ((r = write_bytes(&events, file, block, sizeof(block))) == 0)
		;
	CHECK_INT(r, -EAGAIN);
	orma_file_worker_ops.close(events.worker, file, true);
	close(fds[0]);
	/* The thread drops all blocks before the first event is handled. */
	while (fcntl(fds[1], F_GETFD) >= 0)
		sched_yield();
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 1);
	CHECK_INT(events.room, 0);
	stop(&events);
}

ORMA_TEST(freeing_the_worker_writes_what_is_queued)
{
	struct events events;
	void *file;
	char text[6] = {0};
	int fd = memfd_create("out", MFD_CLOEXEC), copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, "hello", 5), 0);
	stop(&events);
	CHECK_INT(pread(copy, text, 5, 0), 5);
	CHECK_STR(text, "hello");
	close(copy);
}

ORMA_TEST(without_memory_a_file_is_refused_and_its_descriptor_closed)
{
	struct events events;
	void *file;
	int fd = memfd_create("out", MFD_CLOEXEC);
	start(&events);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), -ENOMEM);
	CHECK_INT(fcntl(fd, F_GETFD), -1);
	stop(&events);
}

ORMA_TEST(freeing_the_worker_gives_a_pipe_up_that_nobody_reads)
{
	static uint8_t block[200000];
	struct events events;
	void *files[3];
	int fds[3][2];
	start(&events);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(pipe2(fds[i], O_CLOEXEC), 0);
		CHECK_INT(orma_file_worker_ops.open(events.worker, fds[i][1], 7, &files[i]), 0);
		CHECK_INT(write_bytes(&events, files[i], block, sizeof(block)), 0);
	}
	stop(&events);
	for (int i = 0; i < 3; i++)
		close(fds[i][0]);
}

static int listening_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr address = {.sa_family = AF_UNIX};

	/* The kernel chooses an abstract name. */
	CHECK_INT(bind(fd, &address, sizeof(address.sa_family)), 0);
	CHECK_INT(listen(fd, 1), 0);
	return fd;
}

ORMA_TEST(a_descriptor_that_takes_no_stream_fails_at_once)
{
	int datagrams[2], pair[2];
	CHECK_INT(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, datagrams), 0);
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	int fds[] = {
		epoll_create1(EPOLL_CLOEXEC),
		eventfd(0, EFD_CLOEXEC),
		listening_socket(),
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
		datagrams[0],
		pair[0],
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fds); i++) {
		struct events events;
		void *file;
		CHECK(fds[i] >= 0);
		start(&events);
		CHECK_INT(orma_file_worker_ops.open(events.worker, fds[i], 7, &file), 0);
		while (events.failed == 0)
			CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
		CHECK_INT(events.last_status, -ENOTSUP);
		CHECK_INT(write_bytes(&events, file, "12345678", 8), -ENOTSUP);
		orma_file_worker_ops.close(events.worker, file, true);
		while (events.ended == 0)
			CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
		CHECK_INT(events.failed, 1);
		stop(&events);
	}
	close(datagrams[1]);
	close(pair[1]);
}

ORMA_TEST(files_pipes_devices_and_connections_are_written_to)
{
	int pair[2], pipe_fds[2];
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	int fds[] = {
		memfd_create("out", MFD_CLOEXEC),
		pair[0],
		pipe_fds[1],
		open("/dev/null", O_WRONLY | O_CLOEXEC),
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fds); i++) {
		struct events events;
		void *file;
		start(&events);
		CHECK_INT(orma_file_worker_ops.open(events.worker, fds[i], 7, &file), 0);
		CHECK_INT(write_bytes(&events, file, "12345678", 8), 0);
		orma_file_worker_ops.close(events.worker, file, true);
		while (events.ended == 0)
			CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
		CHECK_INT(events.failed, 0);
		stop(&events);
	}
	close(pair[1]);
	close(pipe_fds[0]);
}

ORMA_TEST(a_pipe_that_nobody_reads_fails_after_its_time)
{
	struct events events;
	void *file;
	int fds[2];
	static char data[200000];
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	start(&events);
	orma_file_worker_set_stall_ms(events.worker, 50);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fds[1], 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, data, sizeof(data)), 0);
	while (events.failed == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.last_status, -ETIMEDOUT);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	close(fds[0]);
	stop(&events);
}

ORMA_TEST(a_pipe_that_does_not_block_is_waited_for)
{
	static uint8_t block[300000];
	struct events events;
	void *file;
	int fds[2];
	size_t drained = 0;
	CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fds[1], 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, block, sizeof(block)), 0);
	while (drained < sizeof(block)) {
		ssize_t got = read(fds[0], block, sizeof(block));
		CHECK(got > 0 || errno == EAGAIN);
		drained += got > 0 ? (size_t)got : 0;
	}
	orma_file_worker_ops.close(events.worker, file, false);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 0);
	close(fds[0]);
	stop(&events);
}

ORMA_TEST(a_sync_between_writes_reports_nothing_unless_it_fails)
{
	struct events events;
	void *file, *pipe_file;
	int fd = memfd_create("out", MFD_CLOEXEC), fds[2];
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fds[1], 7, &pipe_file), 0);
	for (int i = 0; i < 20; i++) {
		CHECK_INT(write_bytes(&events, file, "12345678", 8), 0);
		CHECK_INT(write_bytes(&events, pipe_file, "12345678", 8), 0);
		char written[8];
		CHECK_INT(read(fds[0], written, sizeof(written)), sizeof(written));
		/* The threads have no more work now. */
		orma_file_worker_ops.sync(events.worker, file);
		orma_file_worker_ops.sync(events.worker, pipe_file);
	}
	orma_file_worker_ops.close(events.worker, file, true);
	orma_file_worker_ops.close(events.worker, pipe_file, true);
	while (events.ended < 2)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 0);
	CHECK_INT(events.room, 0);
	close(fds[0]);
	stop(&events);
}

ORMA_TEST(copy_has_what_the_source_was_given_so_far_and_then_what_follows)
{
	struct events events;
	void *source, *file;
	int source_fd = memfd_create("source", MFD_CLOEXEC), fd = memfd_create("copy", MFD_CLOEXEC);
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	char text[32];

	start(&events);
	CHECK_INT(write(source_fd, "before", 6), 6);
	CHECK_INT(orma_file_worker_ops.open(events.worker, source_fd, 7, &source), 0);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, source, "one two ", 8), 0);
	/* Four of these bytes are queued only afterwards. */
	CHECK_INT(orma_file_worker_ops.copy(events.worker, file, source, 12), 0);
	CHECK_INT(write_bytes(&events, file, "end", 3), 0);
	CHECK_INT(write_bytes(&events, source, "three four", 10), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	orma_file_worker_ops.close(events.worker, source, false);
	while (events.ended == 1)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(pread(copy, text, sizeof(text), 0), 15);
	CHECK_MEM(text, 15, "one two threend", 15);
	CHECK_INT(close(copy), 0);
	stop(&events);
}

ORMA_TEST(copy_of_what_cannot_be_read_again_is_refused)
{
	struct events events;
	void *pipe_file, *file, *blind;
	int pipe_fds[2], fd = memfd_create("copy", MFD_CLOEXEC);

	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, pipe_fds[1], 7, &pipe_file), 0);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(orma_file_worker_ops.open(events.worker,
					    open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), 7,
					    &blind),
		  0);
	CHECK_INT(orma_file_worker_ops.copy(events.worker, file, pipe_file, 1), -ESPIPE);
	CHECK_INT(orma_file_worker_ops.copy(events.worker, file, blind, 1), -ESPIPE);
	orma_file_worker_ops.close(events.worker, file, false);
	orma_file_worker_ops.close(events.worker, pipe_file, false);
	orma_file_worker_ops.close(events.worker, blind, false);
	while (events.ended < 3)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(close(pipe_fds[0]), 0);
	stop(&events);
}

ORMA_TEST(copy_whose_file_is_given_up_ends_at_once)
{
	struct events events;
	void *source, *file;

	start(&events);
	CHECK_INT(orma_file_worker_ops.open(events.worker, memfd_create("a", MFD_CLOEXEC), 7,
					    &source),
		  0);
	CHECK_INT(
		orma_file_worker_ops.open(events.worker, memfd_create("b", MFD_CLOEXEC), 7, &file),
		0);
	/* This byte is never written. */
	CHECK_INT(orma_file_worker_ops.copy(events.worker, file, source, 1), 0);
	orma_file_worker_ops.close(events.worker, file, false);
	orma_file_worker_ops.close(events.worker, source, false);
	while (events.ended < 2)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	stop(&events);
}

static void check_content(const char *name, const char *content)
{
	struct orma_buf buf = {0};

	CHECK_INT(orma_base_file_read(AT_FDCWD, name, 1000, &buf), 0);
	CHECK_MEM(buf.data, buf.size, content, strlen(content));
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_file_goes_on_in_a_new_one_between_two_writes)
{
	struct events events;
	char path[256], older[260];
	void *file;

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	snprintf(older, sizeof(older), "%s.1", path);
	start(&events);
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, "one", 3), 0);
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, file, path, 2), 0);
	CHECK_INT(write_bytes(&events, file, "two", 3), 0);
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, file, path, 2), 0);
	CHECK_INT(write_bytes(&events, file, "three", 5), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 0);
	check_content(path, "three");
	check_content(older, "two");
	stop(&events);
}

ORMA_TEST(a_rotation_that_fails_is_reported_and_writes_nothing_more)
{
	struct events events;
	char path[256];
	void *file;

	snprintf(path, sizeof(path), "%s/other", orma_test_tmpdir());
	start(&events);
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, "one", 3), 0);
	snprintf(path, sizeof(path), "%s/none/other", orma_test_tmpdir());
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, file, path, 2), 0);
	while (events.failed == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.last_status, -ENOENT);
	/* Later writes fail for the same reason. */
	CHECK_INT(write_bytes(&events, file, "two", 3), -ENOENT);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	snprintf(path, sizeof(path), "%s/other", orma_test_tmpdir());
	check_content(path, "one");
	stop(&events);
}

ORMA_TEST(a_file_is_not_copied_while_it_is_being_replaced)
{
	struct events events;
	char path[256];
	void *file, *copy, *stuck;
	int pipe_fds[2];

	snprintf(path, sizeof(path), "%s/third", orma_test_tmpdir());
	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	start(&events);
	/* Nothing reads the pipe, so that the rotation stays queued behind the write. */
	CHECK_INT(orma_file_worker_ops.open(events.worker, pipe_fds[1], 7, &stuck), 0);
	static char data[200000];
	CHECK_INT(write_bytes(&events, stuck, data, sizeof(data)), 0);
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, stuck, path, 2), 0);
	CHECK_INT(orma_file_worker_ops.open(events.worker, memfd_create("copy", MFD_CLOEXEC), 7,
					    &copy),
		  0);
	CHECK_INT(orma_file_worker_ops.copy(events.worker, copy, stuck, 1), -EBUSY);
	/* Copying reads the new file after a rotation. */
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	CHECK_INT(orma_file_worker_ops.open(events.worker, fd, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, "one", 3), 0);
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, file, path, 2), 0);
	CHECK_INT(write_bytes(&events, file, "two", 3), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	while (events.ended == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	check_content(path, "two");
	close(pipe_fds[0]);
	orma_file_worker_ops.close(events.worker, copy, false);
	orma_file_worker_ops.close(events.worker, stuck, false);
	while (events.ended < 3)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.failed, 1); /* the pipe broke */
	stop(&events);
}

/* --- files of output_path --------------------------------------------------------------------- */

static void wait_for_end(struct events *events)
{
	while (events->ended == 0)
		CHECK(orma_base_loop_turn(events->loop, -1) >= 0);
}

static void in_tmpdir(char path[300], const char *name)
{
	snprintf(path, 300, "%s/%s", orma_test_tmpdir(), name);
}

ORMA_TEST(a_file_is_created_by_its_thread_and_written)
{
	struct events events;
	struct stat info;
	char path[300];
	void *file;

	in_tmpdir(path, "trace");
	start(&events);
	CHECK_INT(orma_file_worker_ops.create(events.worker, path, 0, 7, &file), 0);
	while (events.created == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(write_bytes(&events, file, "12345678", 8), 0);
	orma_file_worker_ops.close(events.worker, file, false);
	wait_for_end(&events);
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_size, 8);
	CHECK_INT(info.st_mode & 0777, 0644);
	CHECK_INT(events.failed, 0);
	stop(&events);
}

ORMA_TEST(a_file_that_nothing_was_written_to_is_removed)
{
	struct events events;
	char path[300];
	void *file;

	in_tmpdir(path, "trace");
	for (int waits = 0; waits < 2; waits++) {
		start(&events);
		CHECK_INT(orma_file_worker_ops.create(events.worker, path, 0, 7, &file), 0);
		while (waits && events.created == 0)
			CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
		orma_file_worker_ops.close(events.worker, file, false);
		wait_for_end(&events);
		CHECK_INT(access(path, F_OK), -1);
		stop(&events);
	}
	/* The file is not removed if it is to be kept, or if another file has its name now. */
	start(&events);
	CHECK_INT(orma_file_worker_ops.create(events.worker, path, 0, 7, &file), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	wait_for_end(&events);
	CHECK_INT(unlink(path), 0);
	events.ended = events.created = 0;
	CHECK_INT(orma_file_worker_ops.create(events.worker, path, 0, 7, &file), 0);
	while (events.created == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(mkdir(path, 0700), 0);
	orma_file_worker_ops.close(events.worker, file, false);
	wait_for_end(&events);
	CHECK_INT(access(path, F_OK), 0);
	stop(&events);
}

ORMA_TEST(a_new_file_that_a_full_disk_leaves_empty_is_removed)
{
	static const char packet[] = "\x0a\x06one 1 ", larger[] = "\x0a\x0alarger 123";
	const struct rlimit limit = {8, 8}; /* as if the disk were full after the first packet */
	struct events events;
	char path[300], older[304];
	void *file;

	in_tmpdir(path, "trace");
	snprintf(older, sizeof(older), "%s.1", path);
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	start(&events);
	CHECK_INT(orma_file_worker_ops.create(events.worker, path, 2, 7, &file), 0);
	CHECK_INT(write_bytes(&events, file, packet, 8), 0);
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, file, path, 2), 0);
	CHECK_INT(write_bytes(&events, file, larger, 12), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	wait_for_end(&events);
	CHECK_INT(events.failed, 1);
	CHECK_INT(access(path, F_OK), -1);
	CHECK_INT(access(older, F_OK), 0);
	stop(&events);
}

ORMA_TEST(a_file_that_cannot_be_created_fails_and_leaves_what_is_there)
{
	static const struct {
		const char *name;
		int status;
	} cases[] = {{"there", -EEXIST}, {"numbered", -ENOTUNIQ}, {"none/x", -ENOENT}};
	char path[300], numbered[300];

	in_tmpdir(path, "there");
	in_tmpdir(numbered, "numbered.2");
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK_INT(mkdir(numbered, 0700), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct events events;
		void *file;

		in_tmpdir(path, cases[i].name);
		start(&events);
		CHECK_INT(orma_file_worker_ops.create(events.worker, path, 3, 7, &file), 0);
		while (events.failed == 0)
			CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
		CHECK_INT(events.last_status, cases[i].status);
		orma_file_worker_ops.close(events.worker, file, false);
		wait_for_end(&events);
		CHECK_INT(events.created, 0);
		CHECK_INT(events.failed, 1);
		stop(&events);
	}
	in_tmpdir(path, "numbered");
	CHECK_INT(access(path, F_OK), -1);
	CHECK_INT(access(numbered, F_OK), 0);
}

static int create_for_other(struct events *events, const char *path, void **ret_file)
{
	struct orma_error error = {0};
	const struct orma_file_request request = {
		.struct_size = sizeof(request), .path = path, .count = 2, .session_id = 7};

	return orma_file_worker_ops.create_for_other(events->worker, &request, ret_file, &error);
}

ORMA_TEST(files_of_other_users_are_created_below_their_folder_alone)
{
	struct orma_output_folder folder;
	struct orma_error error;
	struct events events;
	char path[300];
	void *file;

	CHECK_INT(orma_output_folder_open(orma_test_tmpdir(), &folder, &error), 0);
	in_tmpdir(path, "link");
	CHECK_INT(symlink(".", path), 0);
	start(&events);
	CHECK_INT(create_for_other(&events, "trace", &file), -EACCES);
	orma_file_worker_set_output_folder(events.worker, &folder);
	CHECK_INT(create_for_other(&events, "/etc/trace", &file), -EXDEV);
	CHECK_INT(create_for_other(&events, "link/trace", &file), 0);
	while (events.failed == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	CHECK_INT(events.last_status, -ELOOP);
	orma_file_worker_ops.close(events.worker, file, false);
	wait_for_end(&events);
	in_tmpdir(path, "trace");
	CHECK_INT(access(path, F_OK), -1);
	stop(&events);
	orma_output_folder_close(&folder);
}

ORMA_TEST(a_file_of_another_user_is_rotated_in_the_folder_that_it_was_created_in)
{
	struct orma_output_folder folder;
	struct orma_error error;
	struct events events;
	char path[300], moved[300];
	void *file;

	in_tmpdir(path, "sub");
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK_INT(orma_output_folder_open(orma_test_tmpdir(), &folder, &error), 0);
	start(&events);
	orma_file_worker_set_output_folder(events.worker, &folder);
	CHECK_INT(create_for_other(&events, "sub/trace", &file), 0);
	while (events.created == 0)
		CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
	/* Now the name of the folder is a link. */
	in_tmpdir(moved, "moved");
	CHECK_INT(rename(path, moved), 0);
	CHECK_INT(symlink(".", path), 0);
	CHECK_INT(write_bytes(&events, file, "one", 3), 0);
	CHECK_INT(orma_file_worker_ops.rotate(events.worker, file, "sub/trace", 2), 0);
	CHECK_INT(write_bytes(&events, file, "two", 3), 0);
	orma_file_worker_ops.close(events.worker, file, true);
	wait_for_end(&events);
	CHECK_INT(events.failed, 0);
	in_tmpdir(path, "moved/trace");
	check_content(path, "two");
	in_tmpdir(path, "moved/trace.1");
	check_content(path, "one");
	stop(&events);
	orma_output_folder_close(&folder);
}

ORMA_TEST(without_memory_no_file_is_created)
{
	bool has_failed = true;
	char path[300];

	in_tmpdir(path, "trace");
	for (uint64_t nth = 1; has_failed; nth++) {
		struct events events;
		void *file = NULL;

		start(&events);
		orma_test_fail_allocation(nth);
		int r = orma_file_worker_ops.create(events.worker, path, 0, 7, &file);
		/* The allocation that fails may be one of the thread. */
		if (r == 0)
			while (events.created + events.failed == 0)
				CHECK(orma_base_loop_turn(events.loop, -1) >= 0);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(has_failed ? r == -ENOMEM || events.last_status == -ENOMEM
				 : events.created == 1);
		if (r == 0) {
			orma_file_worker_ops.close(events.worker, file, false);
			wait_for_end(&events);
		}
		CHECK_INT(access(path, F_OK), -1);
		stop(&events);
	}
}
