/* SPDX-License-Identifier: Apache-2.0
 * address_test.c - the syntax of socket addresses, listening, connecting, default names.
 */
#include "ipc/address.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

#define LONGEST_PATH                                                                               \
	"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"a"                                                                                        \
	"aaaaaaaaaaaaaaaaaa"

ORMA_TEST(addresses_are_parsed_by_their_syntax)
{
	static const struct {
		const char *text;
		int result, family;
		const char *formatted; /* NULL = as the text */
	} cases[] = {
		{"", -EINVAL, 0, NULL},
		{"@", -EINVAL, 0, NULL},
		{"@name", 0, AF_UNIX, NULL},
		{"@name:80", 0, AF_UNIX, NULL},
		{"/run/perfetto/traced-producer.sock", 0, AF_UNIX, NULL},
		{"relative.sock", 0, AF_UNIX, NULL},
		{"/tmp/with:1234", 0, AF_UNIX, NULL},
		{"name:", 0, AF_UNIX, NULL},
		{"name:x1", 0, AF_UNIX, NULL},
		{LONGEST_PATH, 0, AF_UNIX, NULL},
		{LONGEST_PATH "b", -ENAMETOOLONG, 0, NULL},
		{"@" LONGEST_PATH, 0, AF_UNIX, NULL},
		{"@" LONGEST_PATH "b", -ENAMETOOLONG, 0, NULL},
		{"vsock://2:3000", 0, AF_VSOCK, NULL},
		{"vsock://-1:3000", 0, AF_VSOCK, "vsock://4294967295:3000"},
		{"vsock://2", -EINVAL, 0, NULL},
		{"vsock://:3000", -EINVAL, 0, NULL},
		{"vsock://2:", -EINVAL, 0, NULL},
		{"vsock://2:x", -EINVAL, 0, NULL},
		{"vsock://x:2", -EINVAL, 0, NULL},
		{"vsock://2:4294967296", -EINVAL, 0, NULL},
		{"127.0.0.1:32278", 0, AF_INET, NULL},
		{"0.0.0.0:0", 0, AF_INET, NULL},
		{"localhost:80", 0, AF_INET, "127.0.0.1:80"},
		{"127.0.0.1:65536", -EINVAL, 0, NULL},
		{"127.0.0:80", -EINVAL, 0, NULL},
		{"example.org:80", -EINVAL, 0, NULL},
		{":80", -EINVAL, 0, NULL},
		{"::1:80", -EINVAL, 0, NULL},
		{"[::1]:80", 0, AF_INET6, NULL},
		{"[fe80::1:2]:65535", 0, AF_INET6, NULL},
		{"[]:80", -EINVAL, 0, NULL},
		{"[::1:80", -EINVAL, 0, NULL},
		{"[x]:80", -EINVAL, 0, NULL},
		{"[:80", -EINVAL, 0, NULL},
		{"[::1]:99999", -EINVAL, 0, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct orma_ipc_address address;
		char text[ORMA_IPC_ADDRESS_TEXT_BYTES];
		int result = orma_ipc_address_parse(cases[i].text, &address);

		if (result != cases[i].result)
			orma_test_fail(__FILE__, __LINE__, "\"%s\" gives %d", cases[i].text,
				       result);
		if (result < 0)
			continue;
		CHECK_INT(orma_ipc_address_family(&address), cases[i].family);
		orma_ipc_address_format(&address, text);
		CHECK_STR(text, cases[i].formatted ? cases[i].formatted : cases[i].text);
	}
}

ORMA_TEST(an_abstract_name_has_no_trailing_nul_and_no_path)
{
	struct orma_ipc_address address;

	CHECK_INT(orma_ipc_address_parse("@ab", &address), 0);
	CHECK_INT(address.size, offsetof(struct sockaddr_un, sun_path) + 3);
	CHECK(orma_ipc_address_path(&address) == NULL);
	CHECK_INT(orma_ipc_address_parse("ab", &address), 0);
	CHECK_STR(orma_ipc_address_path(&address), "ab");
}

ORMA_TEST(a_list_is_cut_at_its_commas)
{
	const char *list = ",@a,,/b,127.0.0.1:1,";
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES], text[300];

	CHECK_INT(orma_ipc_address_list_next(&list, item), 1);
	CHECK_STR(item, "@a");
	CHECK_INT(orma_ipc_address_list_next(&list, item), 1);
	CHECK_STR(item, "/b");
	CHECK_INT(orma_ipc_address_list_next(&list, item), 1);
	CHECK_STR(item, "127.0.0.1:1");
	CHECK_INT(orma_ipc_address_list_next(&list, item), 0);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	list = text;
	CHECK_INT(orma_ipc_address_list_next(&list, item), -ENAMETOOLONG);
}

ORMA_TEST(the_environment_names_the_sockets)
{
	setenv("PERFETTO_PRODUCER_SOCK_NAME", "@p,@q", 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", "127.0.0.1:9", 1);
	CHECK_STR(orma_ipc_producer_address(), "@p,@q");
	CHECK_STR(orma_ipc_consumer_address(), "127.0.0.1:9");
	setenv("PERFETTO_PRODUCER_SOCK_NAME", "", 1);
	unsetenv("PERFETTO_CONSUMER_SOCK_NAME");
	bool is_in_run = access("/run/perfetto/", X_OK) == 0;
	CHECK_STR(orma_ipc_producer_address(),
		  is_in_run ? "/run/perfetto/traced-producer.sock" : "/tmp/perfetto-producer");
	CHECK_STR(orma_ipc_consumer_address(),
		  is_in_run ? "/run/perfetto/traced-consumer.sock" : "/tmp/perfetto-consumer");
}

static void check_flags(int fd)
{
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void parse_in_tmpdir(const char *name, struct orma_ipc_address *address)
{
	char text[256];

	snprintf(text, sizeof(text), "%s/%s", orma_test_tmpdir(), name);
	CHECK_INT(orma_ipc_address_parse(text, address), 0);
}

ORMA_TEST(a_stale_socket_is_replaced_and_a_live_one_on_request_is_not)
{
	struct orma_ipc_address address;
	bool is_pending;

	parse_in_tmpdir("s", &address);
	int first = orma_ipc_listen(&address, 0);
	CHECK(first >= 0);
	check_flags(first);
	CHECK_INT(orma_ipc_listen(&address, ORMA_IPC_LISTEN_KEEP_LIVE), -EADDRINUSE);
	close(first);
	CHECK_INT(orma_ipc_connect(&address, &is_pending), -ECONNREFUSED);
	int second = orma_ipc_listen(&address, ORMA_IPC_LISTEN_KEEP_LIVE);
	CHECK(second >= 0);
	int third = orma_ipc_listen(&address, 0);
	CHECK(third >= 0);
	int fd = orma_ipc_connect(&address, &is_pending);
	CHECK(fd >= 0);
	CHECK(!is_pending);
	check_flags(fd);
	close(fd);
	close(second);
	close(third);
}

enum { STARTERS = 4, STARTS = 100 };

struct starter {
	const struct orma_ipc_address *address;
	pthread_barrier_t *barrier;
	pthread_t thread;
	int fd;
};

static void *start(void *arg)
{
	struct starter *starter = arg;

	pthread_barrier_wait(starter->barrier);
	starter->fd = orma_ipc_listen(starter->address, ORMA_IPC_LISTEN_KEEP_LIVE);
	return NULL;
}

ORMA_TEST(of_several_that_begin_to_listen_at_the_same_time_one_succeeds)
{
	struct orma_ipc_address address;
	struct starter starters[STARTERS];
	pthread_barrier_t barrier;

	parse_in_tmpdir("contended", &address);
	CHECK_INT(pthread_barrier_init(&barrier, NULL, STARTERS), 0);
	/* From the second round on there is also a stale socket. */
	for (int i = 0; i < STARTS; i++) {
		int count = 0;
		for (int j = 0; j < STARTERS; j++) {
			starters[j] = (struct starter){.address = &address, .barrier = &barrier};
			CHECK_INT(pthread_create(&starters[j].thread, NULL, start, &starters[j]),
				  0);
		}
		for (int j = 0; j < STARTERS; j++)
			pthread_join(starters[j].thread, NULL);
		for (int j = 0; j < STARTERS; j++) {
			count += starters[j].fd >= 0;
			if (starters[j].fd >= 0)
				close(starters[j].fd);
			else
				CHECK_INT(starters[j].fd, -EADDRINUSE);
		}
		CHECK_INT(count, 1);
	}
	pthread_barrier_destroy(&barrier);
}

ORMA_TEST(a_file_that_is_no_socket_is_never_removed)
{
	struct orma_ipc_address address;
	struct stat info;

	parse_in_tmpdir("precious", &address);
	close(open(orma_ipc_address_path(&address), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	CHECK_INT(orma_ipc_listen(&address, 0), -EADDRINUSE);
	CHECK_INT(stat(orma_ipc_address_path(&address), &info), 0);
}

ORMA_TEST(listening_in_a_missing_folder_and_connecting_to_nothing_fail)
{
	struct orma_ipc_address address;
	bool is_pending;

	parse_in_tmpdir("missing/s", &address);
	CHECK_INT(orma_ipc_listen(&address, 0), -ENOENT);
	CHECK_INT(orma_ipc_connect(&address, &is_pending), -ENOENT);
}

ORMA_TEST(tcp_sockets_listen_and_connect)
{
	struct orma_ipc_address address;
	bool is_pending;

	CHECK_INT(orma_ipc_address_parse("127.0.0.1:0", &address), 0);
	int listener = orma_ipc_listen(&address, 0);
	CHECK(listener >= 0);
	address.size = sizeof(address.storage);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&address.storage, &address.size), 0);
	int fd = orma_ipc_connect(&address, &is_pending);
	CHECK(fd >= 0);
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
	CHECK_INT(poll(&poll_fd, 1, 5000), 1);
	close(fd);
	close(listener);
}

ORMA_TEST(a_full_backlog_says_try_again)
{
	struct orma_ipc_address address;
	bool is_pending;
	int fds[8], count = 0, result = 0;

	parse_in_tmpdir("s", &address);
	int listener = orma_ipc_listen(&address, 0);
	CHECK_INT(listen(listener, 1), 0);
	while (count < 8 && (result = orma_ipc_connect(&address, &is_pending)) >= 0)
		fds[count++] = result;
	CHECK_INT(result, -EAGAIN);
	while (count > 0)
		close(fds[--count]);
	close(listener);
}
