/* SPDX-License-Identifier: Apache-2.0
 * trust_test.c - a listener of another user learns nothing from root's programs.
 *
 * The listeners here never answer; the test checks if the first byte of a client arrives. A
 * socket belongs to the user that called listen(), so the test becomes another user for that
 * call, which needs root.
 */
#include <orma/orma.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

#define STRANGER 65533
#define USER     65534

static void make_path(char path[108], const char *name)
{
	CHECK((size_t)snprintf(path, 108, "%s/%s", orma_test_tmpdir(), name) < 108);
}

static int listen_as(uid_t uid, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(chmod(path, 0777), 0);
	CHECK_INT(chmod(orma_test_tmpdir(), 0755), 0);
	CHECK_INT(seteuid(uid), 0);
	CHECK_INT(listen(fd, 10), 0);
	CHECK_INT(seteuid(0), 0);
	return fd;
}

/* Accepts the next connection; true if anything arrived over it before its end. */
static bool gets_data(int listener)
{
	struct pollfd item = {listener, POLLIN, 0};
	char byte;

	CHECK_INT(poll(&item, 1, 20000), 1);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(fd >= 0);
	item.fd = fd;
	CHECK_INT(poll(&item, 1, 20000), 1);
	ssize_t size = recv(fd, &byte, 1, 0);
	close(fd);
	return size == 1;
}

static char log_text[1000];

static void on_log(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx;
	if (level == ORMA_LOG_WARNING)
		snprintf(log_text, sizeof(log_text), "%s", message);
}

ORMA_TEST(a_program_of_root_tells_a_stranger_s_service_nothing_and_finds_the_next)
{
	char path[108], expected[400];

	make_path(path, "producer");
	int listener = listen_as(STRANGER, path);
	CHECK_INT(setenv("PERFETTO_PRODUCER_SOCK_NAME", path, 1), 0);
	orma_log_set_sink(on_log, NULL);
	CHECK_INT(orma_init(NULL), 0);
	CHECK(!gets_data(listener));
	CHECK(!orma_is_connected());
	/* The listener changes. */
	CHECK_INT(unlink(path), 0);
	close(listener);
	listener = listen_as(0, path);
	CHECK(gets_data(listener));
	orma_shutdown();
	orma_log_set_sink(NULL, NULL);
	snprintf(expected, sizeof(expected),
		 "no tracing service at %s: a user whom this program does not trust runs it "
		 "(ORMA_TRUST_SERVICE); waiting for one",
		 path);
	CHECK_STR(log_text, expected);
	close(listener);
}

ORMA_TEST(the_environment_and_the_program_can_trust_a_stranger)
{
	struct orma_init_options options = {.struct_size = sizeof(options)};
	char path[108];

	make_path(path, "producer");
	int listener = listen_as(STRANGER, path);
	CHECK_INT(setenv("PERFETTO_PRODUCER_SOCK_NAME", path, 1), 0);
	CHECK_INT(setenv("ORMA_TRUST_SERVICE", "65533", 1), 0);
	CHECK_INT(orma_init(NULL), 0);
	CHECK(gets_data(listener));
	orma_shutdown();
	options.trusted_services = "";
	CHECK_INT(orma_init(&options), 0);
	CHECK(!gets_data(listener));
	orma_shutdown();
	CHECK_INT(unsetenv("ORMA_TRUST_SERVICE"), 0);
	options.trusted_services = NULL;
	options.producer_socket = path;
	CHECK_INT(orma_init(&options), 0);
	CHECK(gets_data(listener));
	orma_shutdown();
	options.trusted_services = "somebody";
	CHECK_INT(orma_init(&options), -EINVAL);
	close(listener);
}

ORMA_TEST(a_user_s_own_wish_where_to_connect_is_followed)
{
	char path[108];

	make_path(path, "producer");
	int listener = listen_as(STRANGER, path);
	CHECK_INT(setenv("PERFETTO_PRODUCER_SOCK_NAME", path, 1), 0);
	CHECK_INT(seteuid(USER), 0);
	CHECK_INT(orma_init(NULL), 0);
	CHECK(gets_data(listener));
	orma_shutdown();
	CHECK_INT(seteuid(0), 0);
	close(listener);
}

ORMA_TEST(a_consumer_of_root_tells_a_stranger_s_service_nothing)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_session *session;
	struct orma_error error;
	char path[108], expected[400];

	make_path(path, "consumer");
	int listener = listen_as(STRANGER, path);
	CHECK_INT(setenv("PERFETTO_CONSUMER_SOCK_NAME", path, 1), 0);
	CHECK_INT(orma_session_new(NULL, &session, &error), -EPERM);
	CHECK(!gets_data(listener));
	snprintf(expected, sizeof(expected),
		 "user 65533 runs the service at %s, and is neither you, root nor the system; "
		 "ORMA_TRUST_SERVICE=any connects anyway",
		 path);
	CHECK_STR(error.message, expected);
	options.trusted_services = "1,";
	CHECK_INT(orma_session_new(&options, &session, &error), -EINVAL);
	CHECK_STR(error.message, "trusted_services is neither \"any\" nor a list of user ids");
	options.trusted_services = "any";
	options.connects_later = true;
	CHECK_INT(orma_session_new(&options, &session, &error), 0);
	CHECK(gets_data(listener));
	orma_session_free(session);
	close(listener);
}

/* Makes a setuid copy of the program that belongs to USER; false if setuid has no effect there. */
static bool make_setuid_copy(char path[108])
{
	struct statvfs info;
	char command[1000];

	make_path(path, "setuid");
	snprintf(command, sizeof(command), "cp %s/orma %s", ORMA_BUILD_DIR, path);
	CHECK_INT(system(command), 0);
	CHECK_INT(chown(path, USER, USER), 0);
	CHECK_INT(chmod(path, 04755), 0);
	CHECK_INT(statvfs(path, &info), 0);
	return !(info.f_flag & ST_NOSUID);
}

ORMA_TEST(a_setuid_program_does_not_follow_the_environment_of_its_caller)
{
	char path[108], program[108], log[108];
	int status;

	make_path(path, "producer");
	int listener = listen_as(STRANGER, path);
	if (!make_setuid_copy(program))
		orma_test_skip("a file system with setuid programs");
	CHECK_INT(setenv("PERFETTO_PRODUCER_SOCK_NAME", path, 1), 0);
	CHECK_INT(setenv("ORMA_TRUST_SERVICE", "any", 1), 0);
	make_path(log, "messages");
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (!freopen(log, "we", stderr) || setresuid(STRANGER, STRANGER, STRANGER))
			_exit(126);
		execl(program, "orma", "trigger", "name", (char *)NULL);
		_exit(127);
	}
	CHECK(!gets_data(listener));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	close(listener);
}
