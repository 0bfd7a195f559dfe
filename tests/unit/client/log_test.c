/* SPDX-License-Identifier: Apache-2.0
 * log_test.c - the library's lines on stderr when ORMA_LOG asks for them, and none otherwise.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log_message.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

/* Replaces stderr by a file in memory. */
static void catch_stderr(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_INT(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
}

/* The text that was written; the caller frees it. */
static char *caught(void)
{
	off_t size = lseek(STDERR_FILENO, 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);

	CHECK(text);
	CHECK_INT(pread(STDERR_FILENO, text, (size_t)size, 0), size);
	return text;
}

/* Advances *at past the next line that contains the text. */
static void expect_line(const char **at, const char *text)
{
	char prefix[32];
	const char *found = strstr(*at, text), *line = found;

	if (!found)
		orma_test_fail(__FILE__, __LINE__, "no line with '%s' in: %s", text, *at);
	while (line > *at && line[-1] != '\n')
		line--;
	snprintf(prefix, sizeof(prefix), "orma[%d]: ", (int)getpid());
	CHECK(strncmp(line, prefix, strlen(prefix)) == 0);
	*at = strchr(found, '\n');
	CHECK(*at);
	++*at;
}

static void init_system(const struct daemon *daemon)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_socket = daemon->producer};

	CHECK_INT(orma_init(&options), 0);
}

/* Runs a connection, a session, the end of the daemon and the end of the library. */
static void live_a_life(void)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct daemon daemon;
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon.consumer};
	struct orma_session *session;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(&options);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	session_finish(session, &packets);
	packets_done(&packets);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	daemon_stop(&daemon);
	while (orma_is_connected())
		usleep(1000);
	orma_shutdown();
}

ORMA_TEST(orma_log_tells_what_becomes_of_the_connection)
{
	const char *at;
	char *text;

	setenv("ORMA_LOG", "debug", 1);
	catch_stderr();
	live_a_life();
	at = text = caught();
	expect_line(&at, "debug: connecting to /");
	expect_line(&at, "info: connected to the tracing service at /");
	expect_line(&at, "debug: data source test.source: registered");
	expect_line(&at, "debug: data source test.source: instance 0 set up");
	expect_line(&at, "debug: data source test.source: instance 0 started");
	expect_line(&at, "debug: data source test.source: instance 0 stopped");
	expect_line(&at, " ended: ");
	expect_line(&at, "debug: trying /");
	free(text);
}

ORMA_TEST(orma_log_tells_why_there_is_no_connection)
{
	struct daemon daemon;
	const char *at;
	char *text;

	setenv("ORMA_LOG", "info", 1);
	catch_stderr();
	daemon_addresses(&daemon);
	init_system(&daemon);
	/* Nothing listens. */
	while (lseek(STDERR_FILENO, 0, SEEK_END) == 0)
		usleep(1000);
	orma_shutdown();
	at = text = caught();
	expect_line(&at, "info: no tracing service at /");
	CHECK(strstr(text, "No such file or directory; waiting for one"));
	CHECK_STR(at, "");
	free(text);
}

ORMA_TEST(a_level_leaves_out_what_is_below_it)
{
	const char *at;
	char *text;

	setenv("ORMA_LOG", "info", 1);
	catch_stderr();
	live_a_life();
	at = text = caught();
	CHECK(!strstr(text, "debug: "));
	expect_line(&at, "info: connected to the tracing service at /");
	free(text);
}

static void check_silence(void)
{
	char *text;

	catch_stderr();
	live_a_life();
	text = caught();
	CHECK_STR(text, "");
	free(text);
}

ORMA_TEST(nothing_is_written_unless_orma_log_asks_for_it)
{
	unsetenv("ORMA_LOG");
	check_silence();
	setenv("ORMA_LOG", "loud", 1);
	check_silence();
	setenv("ORMA_LOG", "warn", 1);
	check_silence();
}

ORMA_TEST(the_environment_is_only_looked_at_in_orma_init)
{
	char *text;

	unsetenv("ORMA_LOG");
	init_in_process();
	setenv("ORMA_LOG", "debug", 1);
	catch_stderr();
	CHECK_INT(orma_sync(WAIT_MS), 0);
	orma_shutdown();
	text = caught();
	CHECK_STR(text, "");
	free(text);
}

ORMA_TEST(a_stderr_that_takes_nothing_costs_neither_time_nor_the_program)
{
	char bytes[4096] = {0};
	int ends[2];

	setenv("ORMA_LOG", "debug", 1);
	orma_base_log_read_environment();
	/* stderr is a full pipe. */
	CHECK_INT(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	CHECK_INT(fcntl(ends[1], F_SETFL, 0), 0);
	CHECK_INT(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	orma_base_log(ORMA_LOG_WARNING, "nobody reads this");
	/* stderr is a pipe without a reader. */
	close(ends[0]);
	orma_base_log(ORMA_LOG_WARNING, "nor this");
	close(ends[1]);
	/* stderr is closed. */
	CHECK_INT(close(STDERR_FILENO), 0);
	orma_base_log(ORMA_LOG_WARNING, "nor this");
	CHECK_INT(open("/dev/null", O_RDWR), STDERR_FILENO);
}

ORMA_TEST(a_message_is_one_line_without_control_characters)
{
	const char *at;
	char *text;

	setenv("ORMA_LOG", "warn", 1);
	orma_base_log_read_environment();
	catch_stderr();
	orma_base_log(ORMA_LOG_WARNING, "a\nb\033[2Jc\302\233d");
	orma_base_log(ORMA_LOG_INFO, "too little");
	orma_base_log_mute_stderr(true);
	orma_base_log(ORMA_LOG_ERROR, "held");
	orma_base_log_mute_stderr(false);
	at = text = caught();
	expect_line(&at, "warning: a?b?[2Jc\302?d");
	CHECK_STR(at, "");
	free(text);
}

static void check_child(void)
{
	const char *at;
	char *text;

	catch_stderr();
	CHECK_INT(orma_sync(WAIT_MS), 0);
	at = text = caught();
	expect_line(&at, "has a connection of its own from now on");
	free(text);
	orma_shutdown();
	_exit(0);
}

ORMA_TEST(a_child_of_a_fork_tells_of_its_own_connection)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true};
	pid_t child;
	int status;

	setenv("ORMA_LOG", "debug", 1);
	catch_stderr();
	CHECK_INT(orma_init(&options), 0);
	child = fork();
	if (child == 0)
		check_child();
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	orma_shutdown();
}
