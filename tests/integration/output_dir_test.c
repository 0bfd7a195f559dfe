/* SPDX-License-Identifier: Apache-2.0
 * output_dir_test.c - which files a daemon creates for consumers of other users.
 *
 * The daemon runs as root, and the test becomes another user while it connects.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "process.h"
#include "raw_consumer.h"

#define NOBODY      65534
#define EVERYBODY   "--set-socket-permissions=0:0666:0:0666"
#define NOT_ALLOWED "output_path: this service creates files only for root and its own user"
#define NOT_BELOW   "output_path: for users other than root and its own this service creates files"

/* A folder of the test that only root may write to. */
static void make_folder(char path[300], const char *name)
{
	snprintf(path, 300, "%s/%s", orma_test_tmpdir(), name);
	CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
	CHECK_INT(chmod(orma_test_tmpdir(), 0755), 0);
}

/* Uses the filter that ends the daemon, in builds that have one. */
static void start_filtered(struct orma_test_process *process)
{
	if (orma_test_process_start(process))
		return;
	orma_test_process_wait(process);
	process->options[0] = "--seccomp=off";
	CHECK(orma_test_process_start(process));
}

static void open_consumer_as(struct orma_raw_consumer *consumer,
			     const struct orma_test_process *process, uid_t uid)
{
	/* The kernel records the user that connects, not the one that sends. */
	CHECK_INT(seteuid(uid), 0);
	orma_raw_consumer_open(consumer, process->consumers);
	CHECK_INT(seteuid(0), 0);
}

/* Runs a whole session of that user without a producer; returns its error ("" = none). */
static const char *record_as(const struct orma_test_process *process, uid_t uid, const char *path)
{
	static char text[600];
	struct orma_raw_consumer consumer;

	open_consumer_as(&consumer, process, uid);
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 64 } write_into_file: true output_path: "
				 "\"%s\" duration_ms: 1 max_file_size_bytes: 1000000 "
				 "max_file_count: 3",
				 path);
	snprintf(text, sizeof(text), "%s", orma_raw_consumer_await_disabled(&consumer));
	orma_raw_consumer_close(&consumer);
	return text;
}

static bool begins_with(const char *text, const char *beginning)
{
	if (strncmp(text, beginning, strlen(beginning)) == 0)
		return true;
	orma_test_fail(__FILE__, __LINE__, "\"%s\" does not begin with \"%s\"", text, beginning);
}

static bool is_there(const char *folder, const char *name)
{
	char path[700];
	struct stat info;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return lstat(path, &info) == 0;
}

ORMA_TEST(a_consumer_of_another_user_names_no_file_of_the_daemon_s)
{
	struct orma_test_process process = {.options = {"--seccomp=kill", EVERYBODY}};
	char folder[300], path[400];

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	make_folder(folder, "roots");
	CHECK_INT(chmod(folder, 0700), 0);
	start_filtered(&process);
	snprintf(path, sizeof(path), "%s/theirs", folder);
	CHECK(begins_with(record_as(&process, NOBODY, path), NOT_ALLOWED));
	CHECK(!is_there(folder, "theirs"));
	CHECK_STR(record_as(&process, 0, path), "");
	CHECK(is_there(folder, "theirs"));
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(files_of_other_users_are_created_below_one_folder)
{
	char folder[300], path[400];
	struct orma_test_process process = {
		.options = {"--seccomp=kill", EVERYBODY, "--output-dir", folder}};

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	make_folder(folder, "traces");
	snprintf(path, sizeof(path), "%s/sub", folder);
	CHECK_INT(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/link", folder);
	CHECK_INT(symlink("/tmp", path), 0);
	start_filtered(&process);
	snprintf(path, sizeof(path), "%s/sub/absolute", folder);
	CHECK_STR(record_as(&process, NOBODY, path), "");
	CHECK(is_there(folder, "sub/absolute"));
	CHECK_STR(record_as(&process, NOBODY, "relative"), "");
	CHECK(is_there(folder, "relative"));

	CHECK_STR(record_as(&process, NOBODY, "relative"),
		  "output_path: the file cannot be created: a file of that name exists already");
	CHECK_STR(record_as(&process, NOBODY, "link/orma-test"),
		  "output_path: the file cannot be created: a symbolic link is in its path");
	CHECK(!is_there("/tmp", "orma-test"));
	CHECK(begins_with(record_as(&process, NOBODY, "../outside"), NOT_BELOW));
	snprintf(path, sizeof(path), "%s/../outside", folder);
	CHECK(begins_with(record_as(&process, NOBODY, path), NOT_BELOW));
	snprintf(path, sizeof(path), "%s/outside", orma_test_tmpdir());
	CHECK(begins_with(record_as(&process, NOBODY, path), NOT_BELOW));
	CHECK(!is_there(orma_test_tmpdir(), "outside"));
	/* Root may still use any path. */
	CHECK_STR(record_as(&process, 0, path), "");
	CHECK(is_there(orma_test_tmpdir(), "outside"));
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(a_daemon_without_its_folder_does_not_start)
{
	struct orma_test_process process = {.options = {"--output-dir", "/no/such/folder"}};

	CHECK(!orma_test_process_start(&process));
	CHECK_INT(orma_test_process_wait(&process), 1);
	CHECK(strstr(orma_test_process_messages(),
		     "--output-dir /no/such/folder: No such file or directory"));
}

/* Over a network every client counts as the user nobody, which is also the daemon's user here. */
ORMA_TEST(a_consumer_over_a_network_is_never_the_daemon_s_user)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct orma_test_process process = {
		.options = {"--allow-remote-consumers", "--user=65534", "--group=65534"},
		.fds = {fd},
		.fd_count = 1,
		.says_listen_pid = true,
		.variables = {"LISTEN_FDNAMES=consumer", "ASAN_OPTIONS=detect_leaks=0"},
	};
	struct orma_raw_consumer consumer = {.client = {.fd = -1}};
	char folder[300];

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	CHECK_INT(bind(fd, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(fd, 10), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	make_folder(folder, "everybody");
	CHECK_INT(chmod(folder, 0777), 0);
	CHECK(orma_test_process_start(&process));
	orma_raw_connect_tcp(&consumer.client, ntohs(address.sin_port));
	orma_raw_bind(&consumer.client, "ConsumerPort");
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 64 } write_into_file: true "
				 "output_path: \"%s/x\" duration_ms: 1",
				 folder);
	CHECK(begins_with(orma_raw_consumer_await_disabled(&consumer), NOT_ALLOWED));
	orma_raw_consumer_close(&consumer);
	CHECK_INT(orma_test_process_stop(&process), 0);
	close(fd);
}
