/* SPDX-License-Identifier: Apache-2.0
 * record_absent_test.c - what a recorder says of missing data sources when the service answers its
 * query only after the session has ended, as on a busy machine.
 */
#include <orma/session.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "daemon.h"
#include "harness.h"
#include "tool/record/record.h"

/* Enables a session of one millisecond, waits for its end, and returns what the recorder says of
 * missing data sources then. The text is valid until the next call. */
static const char *say_after_the_end(struct orma_record_config *config, int expected_end)
{
	static char text[512];
	struct orma_test_daemon daemon;
	struct orma_session *session;
	int fds[2], saved = dup(STDERR_FILENO);

	orma_test_daemon_start(&daemon);
	struct orma_session_options options = {
		.struct_size = sizeof(options),
		.consumer_socket = daemon.consumers,
	};
	CHECK_INT(orma_session_new(&options, &session, NULL), 0);
	CHECK_INT(orma_session_enable(session, config->bytes.data, config->bytes.size, -1), 0);
	CHECK_INT(orma_session_wait_stopped(session, 10000, NULL), expected_end);

	CHECK_INT(pipe(fds), 0);
	CHECK(saved >= 0 && dup2(fds[1], STDERR_FILENO) >= 0);
	orma_record_warn_of_missing(session, &(struct orma_record_options){.config = config});
	fflush(stderr);
	CHECK(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	close(fds[1]);
	ssize_t size = read(fds[0], text, sizeof(text) - 1);
	CHECK(size >= 0);
	text[size] = '\0';
	close(fds[0]);

	orma_session_free(session);
	orma_test_daemon_stop(&daemon);
	return text;
}

ORMA_TEST(a_missing_source_is_named_also_when_the_recording_is_over_already)
{
	ORMA_AUTO(orma_record_config_done) struct orma_record_config config = {0};
	const struct orma_record_wish wish = {
		.duration_ms = 1,
		.sources = (const char *const[]){"sched:sched_switch"},
		.source_count = 1,
	};

	CHECK_INT(orma_record_config_make(&wish, &config, NULL), 0);
	CHECK(strstr(say_after_the_end(&config, 0),
		     "an event of the kernel is written sched/sched_switch"));
}

ORMA_TEST(a_refused_recording_names_no_missing_source)
{
	ORMA_AUTO(orma_record_config_done) struct orma_record_config config = {0};
	const struct orma_record_wish wish = {
		.duration_ms = 1,
		.buffer_kb = UINT64_C(1) << 31,
		.sources = (const char *const[]){"sched:sched_switch"},
		.source_count = 1,
	};

	CHECK_INT(orma_record_config_make(&wish, &config, NULL), 0);
	CHECK_STR(say_after_the_end(&config, -EPROTO), "");
}
