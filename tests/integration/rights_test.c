/* SPDX-License-Identifier: Apache-2.0
 * rights_test.c - the rights that the daemon's process drops once its sockets are open, that it
 * still serves, and which peers may not connect.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "ipc/address.h"
#include "process.h"
#include "raw_consumer.h"
#include "raw_producer.h"
#include "schema/gen/trace_packet.pb.h"

#define NOBODY "65534"

/* Runs a whole session into a file that the daemon creates; returns the trusted uid of its
 * packets. */
static int record(const struct orma_test_process *process, const char *folder)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	struct orma_pb_trace *trace;
	char path[300];

	snprintf(path, sizeof(path), "%s/trace", folder);
	orma_raw_producer_open(&producer, process->producers, "rights");
	orma_raw_producer_register(&producer, "name: \"rights\"");
	orma_raw_consumer_open(&consumer, process->consumers);
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 64 } data_sources { config { name: "
				 "\"rights\" } } write_into_file: true output_path: \"%s\"",
				 path);
	orma_raw_producer_await_start(&producer, "rights");
	CHECK(orma_raw_call(&consumer.client, "DisableTracing", ORMA_STR(""))->success);
	CHECK_STR(orma_raw_consumer_await_disabled(&consumer), "");
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, 1 << 20, &content), 0);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(
		orma_proto_decode(&orma_pb_trace_desc, content.data, content.size, &arena, &trace),
		0);
	CHECK(trace->packet.count > 3);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	return trace->packet.items[0]->trusted_uid;
}

/* A folder in which all users may create files. */
static void open_folder(char path[300])
{
	snprintf(path, 300, "%s/everybody", orma_test_tmpdir());
	CHECK(mkdir(path, 0777) == 0 || errno == EEXIST);
	CHECK_INT(chmod(path, 0777), 0);
	CHECK_INT(chmod(orma_test_tmpdir(), 0755), 0);
}

ORMA_TEST(the_daemon_serves_behind_its_filter)
{
	struct orma_test_process process = {.options = {"--seccomp", "kill"}};
	char folder[300];

	open_folder(folder);
	if (!orma_test_process_start(&process)) {
		CHECK_INT(orma_test_process_wait(&process), 1);
		CHECK(strstr(orma_test_process_messages(), "not in this build"));
		return;
	}
	CHECK_STR(orma_test_process_status(&process, "Seccomp"), "2");
	CHECK_STR(orma_test_process_status(&process, "NoNewPrivs"), "1");
	CHECK_INT(record(&process, folder), geteuid());
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(without_a_filter_nothing_can_be_gained_either)
{
	struct orma_test_process process = {.options = {"--seccomp=off"}};

	CHECK(orma_test_process_start(&process));
	CHECK_STR(orma_test_process_status(&process, "Seccomp"), "0");
	CHECK_STR(orma_test_process_status(&process, "NoNewPrivs"), "1");
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(root_becomes_the_user_that_was_named_and_keeps_nothing)
{
	struct orma_test_process process = {
		.options = {"--user", NOBODY, "--group", NOBODY},
		/* LeakSanitizer traces its own process, which is not allowed after a change of
		 * user. */
		.variables = {"ASAN_OPTIONS=detect_leaks=0"},
	};
	char folder[300];

	if (geteuid() != 0) {
		CHECK(!orma_test_process_start(&process));
		CHECK_INT(orma_test_process_wait(&process), 1);
		CHECK(strstr(orma_test_process_messages(), "cannot become user " NOBODY));
		return;
	}
	open_folder(folder);
	CHECK(orma_test_process_start(&process));
	CHECK_STR(orma_test_process_status(&process, "Uid"), "65534\t65534\t65534\t65534");
	CHECK_STR(orma_test_process_status(&process, "Gid"), "65534\t65534\t65534\t65534");
	CHECK_STR(orma_test_process_status(&process, "Groups"), " ");
	CHECK_STR(orma_test_process_status(&process, "CapEff"), "0000000000000000");
	CHECK_STR(orma_test_process_status(&process, "CapPrm"), "0000000000000000");
	CHECK_STR(orma_test_process_status(&process, "CapInh"), "0000000000000000");
	CHECK_STR(orma_test_process_status(&process, "CapAmb"), "0000000000000000");
	CHECK_STR(orma_test_process_status(&process, "NoNewPrivs"), "1");
	CHECK_INT(record(&process, folder), 65534);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

static void expect_failure(struct orma_test_process process, int status, const char *message)
{
	CHECK(!orma_test_process_start(&process));
	CHECK_INT(orma_test_process_wait(&process), status);
	if (!strstr(orma_test_process_messages(), message))
		orma_test_fail(__FILE__, __LINE__, "%s", orma_test_process_messages());
}

ORMA_TEST(options_that_make_no_sense_are_refused)
{
	expect_failure((struct orma_test_process){.options = {"--user", "no such user"}}, 1,
		       "there is no user \"no such user\"");
	expect_failure((struct orma_test_process){.options = {"--user=0", "--group=no such"}}, 1,
		       "there is no group \"no such\"");
	expect_failure((struct orma_test_process){.options = {"--group", "0"}}, 1,
		       "--group needs --user");
	expect_failure((struct orma_test_process){.options = {"--user", "4000000000"}}, 1,
		       "has no group");
	expect_failure((struct orma_test_process){.options = {"--seccomp", "maybe"}}, 2,
		       "\"maybe\" is not errno, kill or off");
	expect_failure((struct orma_test_process){.options = {"--max-connections-per-user", "0"}},
		       2, "\"0\" is not a number of connections");
}

/* --- addresses of a network ------------------------------------------------------------------- */

static int listen_tcp(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	CHECK_INT(bind(fd, (struct sockaddr *)ret, size), 0);
	CHECK_INT(listen(fd, 10), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)ret, &size), 0);
	return fd;
}

ORMA_TEST(consumers_over_a_network_are_served_only_when_that_was_asked_for)
{
	struct sockaddr_in address;
	int fd = listen_tcp(&address);
	struct orma_test_process inherited = {
		.fds = {fd},
		.fd_count = 1,
		.says_listen_pid = true,
		.variables = {"LISTEN_FDNAMES=consumer"},
	};
	struct orma_test_process asked = {
		.options = {"--allow-remote-consumers", "--max-connections-per-user=1"},
		.fds = {fd},
		.fd_count = 1,
		.says_listen_pid = true,
		.variables = {"LISTEN_FDNAMES=consumer"},
	};
	char byte;

	expect_failure((struct orma_test_process){.consumers = "127.0.0.1:1"}, 1,
		       "not served on 127.0.0.1:1");
	expect_failure((struct orma_test_process){.consumers = "@abstract,vsock://2:1"}, 1,
		       "not served on vsock://2:1");
	expect_failure(inherited, 1, "--allow-remote-consumers");
	CHECK(orma_test_process_start(&asked));
	close(fd);
	struct orma_raw_client client = {.fd = -1};
	orma_raw_connect_tcp(&client, ntohs(address.sin_port));
	orma_raw_bind(&client, "ConsumerPort");
	struct orma_raw_client second = {.fd = -1};
	orma_raw_connect_tcp(&second, ntohs(address.sin_port));
	struct orma_raw_frame *frame;
	CHECK(orma_raw_next(&second, &frame));
	CHECK(orma_base_str_is(frame->body, "too many connections of this user"));
	CHECK(recv(second.fd, &byte, 1, 0) <= 0);
	orma_raw_close(&second);
	orma_raw_close(&client);
	CHECK_INT(orma_test_process_stop(&asked), 0);
}

ORMA_TEST(producers_are_served_on_vsock_where_there_is_one)
{
	static const char bind_request[] = "\x12\0\0\0\x10\x07\x1a\x0e\x0a\x0c"
					   "ProducerPort";
	struct orma_test_process process = {.producers = "vsock://-1:39117,@vsock-test"};
	struct orma_ipc_address address;
	bool is_pending = false;
	char reply[64];

	if (!orma_test_process_start(&process)) {
		CHECK_INT(orma_test_process_wait(&process), 1);
		CHECK(strstr(orma_test_process_messages(), "cannot listen for producers"));
		return;
	}
	/* The machine's own address; most machines cannot reach themselves otherwise. */
	CHECK_INT(orma_ipc_address_parse("vsock://1:39117", &address), 0);
	int fd = orma_ipc_connect(&address, &is_pending);
	if (fd >= 0) {
		struct pollfd item = {fd, POLLOUT, 0};
		CHECK_INT(poll(&item, 1, 10000), 1);
		if (send(fd, bind_request, sizeof(bind_request) - 1, MSG_NOSIGNAL) > 0) {
			item.events = POLLIN;
			CHECK_INT(poll(&item, 1, 10000), 1);
			CHECK(recv(fd, reply, sizeof(reply), 0) > 0);
		}
		close(fd);
	}
	CHECK_INT(orma_test_process_stop(&process), 0);
}
