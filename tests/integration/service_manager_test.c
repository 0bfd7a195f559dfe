/* SPDX-License-Identifier: Apache-2.0
 * service_manager_test.c - `orma traced` started as systemd starts it: with sockets that are
 * already open, and a manager that waits until it is ready.
 */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"
#include "process.h"
#include "raw_consumer.h"
#include "raw_producer.h"
#include "schema/gen/service_state.pb.h"

static socklen_t make_address(struct sockaddr_un *ret, const char *name, bool is_abstract)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	int size =
		snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", orma_test_tmpdir(), name);
	CHECK((size_t)size < sizeof(ret->sun_path));
	/* An abstract name begins with a NUL byte. */
	if (is_abstract)
		ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size + !is_abstract);
}

static int open_socket(const char *name, int type, bool is_abstract)
{
	struct sockaddr_un address;
	socklen_t size = make_address(&address, name, is_abstract);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	CHECK_INT(bind(fd, (struct sockaddr *)&address, size), 0);
	if (type == SOCK_STREAM)
		CHECK_INT(listen(fd, 10), 0);
	return fd;
}

static void in_folder(char path[108], const char *name)
{
	CHECK((size_t)snprintf(path, 108, "%s/%s", orma_test_tmpdir(), name) < 108);
}

/* Producers are served on the first path, consumers on the second. */
static void check_serves(const char *producers, const char *consumers)
{
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_raw_producer_open(&producer, producers, "served");
	orma_raw_consumer_open(&consumer, consumers);
	CHECK_INT(orma_raw_consumer_query(&consumer)->producers.count, 1);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
}

/* Two sockets, and what the daemon is told about them. */
static void run_with_sockets(const char *first, const char *second, const char *names,
			     bool says_own_addresses, const char *producers, const char *consumers)
{
	struct orma_test_process process = {
		.fds = {open_socket(first, SOCK_STREAM, false),
			open_socket(second, SOCK_STREAM, false)},
		.fd_count = 2,
		.says_listen_pid = true,
		.variables = {names},
	};
	char paths[2][108];

	in_folder(paths[0], producers);
	in_folder(paths[1], consumers);
	if (says_own_addresses) {
		memcpy(process.producers, paths[0], sizeof(paths[0]));
		memcpy(process.consumers, paths[1], sizeof(paths[1]));
	}
	CHECK(orma_test_process_start(&process));
	close(process.fds[0]);
	close(process.fds[1]);
	check_serves(paths[0], paths[1]);
	CHECK_INT(orma_test_process_stop(&process), 0);
	/* They belong to the manager, which continues to listen on them. */
	CHECK_INT(access(paths[0], F_OK), 0);
	CHECK_INT(access(paths[1], F_OK), 0);
	/* The daemon made none of its own. */
	if (!says_own_addresses) {
		CHECK(access(process.producers, F_OK) < 0);
		CHECK(access(process.consumers, F_OK) < 0);
	}
}

ORMA_TEST(inherited_sockets_are_told_apart_by_their_names)
{
	run_with_sockets("one", "two", "LISTEN_FDNAMES=consumer:producer", false, "two", "one");
}

ORMA_TEST(inherited_sockets_are_told_apart_by_their_addresses)
{
	run_with_sockets("one", "two", NULL, true, "two", "one");
}

ORMA_TEST(inherited_sockets_are_told_apart_by_their_order)
{
	run_with_sockets("one", "two", "LISTEN_FDNAMES=orma.socket:orma.socket", false, "one",
			 "two");
}

ORMA_TEST(sockets_for_another_process_are_not_taken)
{
	struct orma_test_process process = {
		.fds = {open_socket("one", SOCK_STREAM, false)},
		.fd_count = 1,
		.variables = {"LISTEN_FDS=1", "LISTEN_PID=1"},
	};

	CHECK(orma_test_process_start(&process));
	close(process.fds[0]);
	check_serves(process.producers, process.consumers);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(one_inherited_socket_leaves_the_other_to_the_daemon)
{
	struct orma_test_process process = {
		.fds = {open_socket("one", SOCK_STREAM, false)},
		.fd_count = 1,
		.says_listen_pid = true,
		.variables = {"LISTEN_FDNAMES=consumer"},
	};
	char path[108];

	in_folder(path, "one");
	CHECK(orma_test_process_start(&process));
	close(process.fds[0]);
	check_serves(process.producers, path);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

static void expect_refusal(struct orma_test_process *process, const char *message)
{
	CHECK(!orma_test_process_start(process));
	CHECK_INT(orma_test_process_wait(process), 1);
	if (!strstr(orma_test_process_messages(), message))
		orma_test_fail(__FILE__, __LINE__, "%s", orma_test_process_messages());
}

ORMA_TEST(what_is_no_listening_socket_is_refused_in_words)
{
	struct orma_test_process no_socket = {
		.fds = {open_socket("datagrams", SOCK_DGRAM, false)},
		.fd_count = 1,
		.says_listen_pid = true,
	};
	struct orma_test_process nothing = {
		.says_listen_pid = true,
		.variables = {"LISTEN_FDS=2"},
	};
	struct orma_test_process too_many = {
		.says_listen_pid = true,
		.variables = {"LISTEN_FDS=1000"},
	};
	struct orma_test_process no_number = {
		.says_listen_pid = true,
		.variables = {"LISTEN_FDS=x"},
	};

	expect_refusal(&no_socket, "inherited descriptor 3");
	close(no_socket.fds[0]);
	expect_refusal(&nothing, "descriptor 3 is not open");
	expect_refusal(&too_many, "more than 16 sockets");
	expect_refusal(&no_number, "\"x\" is not a number");
}

static void await_text(int fd, const char *text)
{
	char message[256];
	ssize_t size = recv(fd, message, sizeof(message) - 1, 0);

	CHECK(size > 0);
	message[size] = '\0';
	if (!strstr(message, text))
		orma_test_fail(__FILE__, __LINE__, "\"%s\" instead of \"%s\"", message, text);
}

static void check_notifies(bool is_abstract)
{
	char variable[200];
	int fd = open_socket("notify", SOCK_DGRAM, is_abstract);
	struct orma_test_process process = {.variables = {variable}};

	/* '@' replaces the first byte, which was a slash. */
	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s/notify", orma_test_tmpdir());
	if (is_abstract)
		variable[strlen("NOTIFY_SOCKET=")] = '@';
	CHECK(orma_test_process_start(&process));
	await_text(fd, "READY=1");
	CHECK_INT(orma_test_process_stop(&process), 0);
	await_text(fd, "STOPPING=1");
	close(fd);
}

ORMA_TEST(the_manager_is_told_of_beginning_and_end)
{
	check_notifies(false);
}

ORMA_TEST(the_manager_may_have_an_abstract_socket)
{
	check_notifies(true);
}

ORMA_TEST(the_watchdog_is_fed_when_there_is_one)
{
	char variable[200];
	int fd = open_socket("notify", SOCK_DGRAM, false);
	struct orma_test_process process = {.variables = {variable, "WATCHDOG_USEC=20000"}};

	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s/notify", orma_test_tmpdir());
	CHECK(orma_test_process_start(&process));
	await_text(fd, "READY=1");
	for (int i = 0; i < 3; i++)
		await_text(fd, "WATCHDOG=1");
	CHECK_INT(orma_test_process_stop(&process), 0);
	close(fd);
}

ORMA_TEST(a_manager_that_is_not_there_is_no_reason_not_to_start)
{
	struct orma_test_process process = {.variables = {"NOTIFY_SOCKET=/nowhere/at/all"}};
	struct orma_test_process other = {.variables = {"NOTIFY_SOCKET=vsock:2:1"}};

	CHECK(orma_test_process_start(&process));
	CHECK_INT(orma_test_process_stop(&process), 0);
	CHECK(orma_test_process_start(&other));
	CHECK_INT(orma_test_process_stop(&other), 0);
}
