/* SPDX-License-Identifier: Apache-2.0
 * standard_fds_test.c - a program that has closed descriptors 0, 1 and 2 and records itself:
 * none of the library's descriptors takes these numbers. Otherwise the program's output would go
 * into a connection or into shared memory.
 */
#include <fcntl.h>
#include <orma/orma.h>
#include <sched.h>
#include <unistd.h>

#include "daemon.h"
#include "harness.h"

ORMA_CATEGORY_DEFINE(work, "work", NULL);

enum { SAVED_FD = 100 };

static void close_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		CHECK_INT(fcntl(fd, F_DUPFD_CLOEXEC, SAVED_FD + fd), SAVED_FD + fd);
		close(fd);
	}
}

/* Without them a failed check could not be reported. Do not call this while the library's thread
 * runs: a descriptor that it opens may have such a number until it is moved, and would be
 * replaced here. */
static void restore_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		dup2(SAVED_FD + fd, fd);
		close(SAVED_FD + fd);
	}
}

/* Counts the numbers that are taken permanently. */
static int count_taken(void)
{
	enum { LOOKS = 1000 };
	int taken = STDERR_FILENO + 1;

	for (int i = 0; i < LOOKS && taken > 0; i++) {
		taken = 0;
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			taken += fcntl(fd, F_GETFD) >= 0;
		sched_yield();
	}
	return taken;
}

static int count_packet(void *ctx, const void *packet, size_t size)
{
	(void)packet;
	(void)size;
	++*(int *)ctx;
	return 0;
}

/* Checks the descriptors that are open while it records, before any of them is closed. */
static int record(struct orma_session *session, int *ret_taken)
{
	static const char config[] =
		"buffers { size_kb: 256 } data_sources { config { name: \"track_event\" } }";
	struct orma_error error = {0};
	int packets = 0;
	int r = orma_session_enable_text(session, "config", config, sizeof(config) - 1, -1, &error);

	if (r == 0)
		r = orma_session_wait_started(session, 10000);
	ORMA_INSTANT(work, "now");
	if (r == 0)
		r = orma_session_flush(session, 0, 0);
	if (r == 0)
		r = orma_session_stop(session);
	if (r == 0)
		r = orma_session_read(session, count_packet, &packets);
	*ret_taken = count_taken();
	return r ? r : packets;
}

/* Ends the session and the library. */
static void check_recording(struct orma_session *session)
{
	int taken, result = record(session, &taken);

	orma_session_free(session);
	orma_shutdown();
	restore_standard_fds();
	CHECK(result > 0);
	CHECK_INT(taken, 0);
}

ORMA_TEST(the_library_takes_no_standard_descriptor)
{
	struct orma_test_daemon daemon;
	struct orma_session *session;
	struct orma_error error = {0};
	int result;

	orma_test_daemon_start(&daemon);
	close_standard_fds();
	result = orma_init(&(struct orma_init_options){
		.struct_size = sizeof(struct orma_init_options),
		.producer_socket = daemon.producers,
	});
	if (result == 0)
		result = orma_sync(10000);
	if (result == 0)
		result = orma_session_new(
			&(struct orma_session_options){
				.struct_size = sizeof(struct orma_session_options),
				.consumer_socket = daemon.consumers,
			},
			&session, &error);
	if (result) {
		restore_standard_fds();
		orma_test_fail(__FILE__, __LINE__, "connecting: %d", result);
	}
	check_recording(session);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(the_service_inside_the_process_takes_none_either)
{
	struct orma_session *session;
	int result;

	close_standard_fds();
	result = orma_init(&(struct orma_init_options){
		.struct_size = sizeof(struct orma_init_options),
		.backends = ORMA_BACKEND_IN_PROCESS,
	});
	if (result == 0)
		result = orma_session_new(
			&(struct orma_session_options){
				.struct_size = sizeof(struct orma_session_options),
				.in_process = true,
			},
			&session, NULL);
	if (result) {
		restore_standard_fds();
		orma_test_fail(__FILE__, __LINE__, "starting: %d", result);
	}
	check_recording(session);
}
