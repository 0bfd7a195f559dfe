/* SPDX-License-Identifier: Apache-2.0
 * crowd_test.c - exhausted resources: descriptors, names, the step limit of a regular
 * expression; and a daemon that ends while all of it goes on.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "process.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"

ORMA_TEST(a_hundred_thousand_data_sources)
{
	struct orma_stage stage;
	static struct orma_raw_producer producers[25];
	enum { EACH = 4000 };

	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(producers); i++) {
		struct orma_raw_client *client = &producers[i].client;

		orma_raw_producer_open(&producers[i], stage.daemon.producers, "crowd");
		uint32_t method = orma_raw_method_id(client, "RegisterDataSource");
		for (unsigned k = 0; k < EACH; k++) {
			char args[32] = "\x0a\x0c\x0a\x0a";
			snprintf(args + 4, sizeof(args) - 4, "s%09u", (unsigned)i * EACH + k);
			orma_raw_invoke_id(client, 1, method, (struct orma_str){args, 14}, -1,
					   ORMA_RAW_DROP_REPLY);
		}
		orma_raw_producer_sync(&producers[i]);
	}
	orma_bystander_check(&stage.bystander);
	CHECK_INT(orma_raw_consumer_query(&stage.bystander.consumer)->data_sources.count,
		  1 + EACH * ORMA_ARRAY_SIZE(producers));
	/* A session finds its own data source among them, and the others disconnect. */
	struct orma_raw_session session;
	orma_raw_session_open(&session, &stage.daemon, "s000050000", "", "");
	orma_raw_session_emit(&session, "found");
	orma_raw_session_close(&session);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(producers); i++)
		orma_raw_producer_close(&producers[i]);
	orma_stage_close(&stage);
}

static size_t resident_bytes(void)
{
	unsigned long total = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	CHECK(file && fscanf(file, "%lu %lu", &total, &resident) == 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

ORMA_TEST(commits_full_of_empty_entries_do_not_cost_memory_per_producer)
{
	struct orma_stage stage;
	static struct orma_raw_producer producers[100];
	static char entries[ORMA_IPC_BODY_BYTES_MAX];

	orma_stage_open(&stage);
	for (size_t i = 0; i < sizeof(entries); i += 2)
		entries[i] = 0x0a; /* chunks_to_move {} */
	size_t before = resident_bytes();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(producers); i++) {
		orma_raw_producer_open(&producers[i], stage.daemon.producers, "crowd");
		orma_raw_invoke(&producers[i].client, "CommitData",
				(struct orma_str){entries, sizeof(entries)}, -1,
				ORMA_RAW_DROP_REPLY);
		orma_raw_producer_sync(&producers[i]);
	}
	CHECK(resident_bytes() < before + ((size_t)100 << 20));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(producers); i++)
		orma_raw_producer_close(&producers[i]);
	orma_stage_close(&stage);
}

ORMA_TEST(a_daemon_without_descriptors_refuses_and_recovers)
{
	struct orma_stage stage;
	struct rlimit limit, low;
	int fds[100];
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	orma_stage_open(&stage);
	memcpy(address.sun_path, stage.daemon.consumers, strlen(stage.daemon.consumers) + 1);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fds); i++)
		CHECK((fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
	/* The daemon runs in this process: from here on it can open about ten more descriptors. */
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)fds[ORMA_ARRAY_SIZE(fds) - 1] + 10;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fds); i++)
		CHECK_INT(connect(fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
	for (int i = 0; i < 20; i++)
		orma_bystander_check(&stage.bystander);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fds); i++)
		close(fds[i]);
	struct orma_raw_session session;
	orma_raw_session_open(&session, &stage.daemon, "after", "", "");
	orma_raw_session_emit(&session, "served");
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_daemon_that_is_started_with_few_descriptors_takes_those_that_it_may_have)
{
	struct orma_test_process process = {0};
	static struct orma_raw_consumer consumers[100];
	struct rlimit limit, low;

	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK(limit.rlim_max >= 1024);
	low = limit;
	low.rlim_cur = 64;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &low), 0);
	CHECK(orma_test_process_start(&process));
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(consumers); i++)
		orma_raw_consumer_open(&consumers[i], process.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(consumers); i++)
		orma_raw_consumer_fence(&consumers[i]);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(consumers); i++)
		orma_raw_consumer_close(&consumers[i]);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(a_peer_does_not_fill_the_log)
{
	struct orma_test_process process = {0};
	struct orma_raw_producer producer;

	CHECK(orma_test_process_start(&process));
	orma_raw_producer_connect(&producer, process.producers);
	for (int i = 0; i < 5000; i++)
		orma_raw_invoke(&producer.client, "InitializeConnection", ORMA_STR("\x0a\x7f"), -1,
				ORMA_RAW_DROP_REPLY);
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"p\"", -1)->success);
	CHECK(strstr(orma_test_process_messages(), "refused"));
	CHECK(strlen(orma_test_process_messages()) < 20000);
	orma_raw_producer_close(&producer);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

ORMA_TEST(a_descriptor_on_a_frame_that_never_ends_is_closed)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	const uint8_t header[] = {100, 0, 0, 0};

	orma_stage_open(&stage);
	for (int i = 0; i < 100; i++) {
		ORMA_AUTO(orma_base_fd_closep) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		orma_raw_connect(&client, stage.daemon.producers);
		CHECK(orma_raw_send_frame(&client, "x", 1, fd)); /* undecodable, with one */
		CHECK(orma_raw_send(&client, header, sizeof(header)));
		CHECK(orma_raw_send_frame(&client, "y", 1, fd)); /* inside the cut frame */
		orma_raw_close(&client);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(descriptors_with_calls_that_take_none_are_closed)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	struct orma_raw_producer producer;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_producer_open(&producer, stage.daemon.producers, "generous");
	for (uint32_t method = 1; method <= 15; method++) {
		ORMA_AUTO(orma_base_fd_closep) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		orma_raw_invoke_id(&consumer.client, 1, method, ORMA_STR(""), fd,
				   ORMA_RAW_DROP_REPLY);
		orma_raw_invoke_id(&producer.client, 1, method, ORMA_STR(""), fd,
				   ORMA_RAW_DROP_REPLY);
	}
	orma_raw_consumer_enable(&consumer, 0, "buffers { size_kb: 64 }"); /* no write_into_file */
	orma_raw_consumer_fence(&consumer);
	orma_raw_producer_sync(&producer);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(an_expression_built_to_explode_does_not)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	static const char *const expressions[] = {
		"(a+)+",
		"(a|aa)+b",
		"(a*)*(a*)*(a*)*c",
		"((((a{99}){99})))",
		"(a?){500}a{500}",
		"(.*)(.*)(.*)(.*)(.*)(.*)x",
	};
	char args[1100] = "producer_name: \"";

	orma_stage_open(&stage);
	size_t at = strlen(args);
	memset(args + at, 'a', 900);
	strncpy(args + at + 900, "!\"", sizeof(args) - at - 900);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	CHECK(orma_raw_producer_initialize(&producer, args, -1)->success);
	orma_raw_producer_register(&producer, "name: \"x\"");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(expressions); i++) {
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		orma_raw_consumer_enable(&consumer, -1,
					 "buffers { size_kb: 64 } data_sources { config { name: "
					 "\"x\" } producer_name_regex_filter: \"%s\" }",
					 expressions[i]);
		orma_raw_consumer_fence(&consumer);
		orma_bystander_check(&stage.bystander);
		orma_raw_consumer_close(&consumer);
	}
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(triggers_by_the_thousand_hit_nothing)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "trigger.happy");
	for (int i = 0; i < 20000; i++)
		CHECK_INT(orma_base_buf_append(&args, "\x0a\x04trig", 6), 0);
	for (int i = 0; i < 20; i++)
		orma_raw_call(&producer.client, "ActivateTriggers",
			      (struct orma_str){(const char *)args.data, args.size});
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(the_daemon_ends_in_the_middle_of_everything)
{
	struct orma_test_daemon daemon;
	struct orma_raw_session sessions[4];
	struct orma_raw_consumer readers[4];
	struct orma_raw_client idle[20];

	orma_test_daemon_start(&daemon);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(idle); i++) {
		orma_raw_connect(&idle[i], i % 2 ? daemon.consumers : daemon.producers);
		orma_raw_send(&idle[i], "\x30\0\0", i % 4); /* half a header */
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(sessions); i++) {
		char name[16];
		snprintf(name, sizeof(name), "session.%zu", i);
		orma_raw_session_open(&sessions[i], &daemon, name, "will_notify_on_stop: true", "");
		orma_raw_session_emit(&sessions[i], "never read");
		orma_raw_consumer_flush(&sessions[i].consumer, 0);
		if (i % 2)
			orma_raw_invoke(&sessions[i].consumer.client, "DisableTracing",
					ORMA_STR(""), -1, 0);
		orma_raw_consumer_open(&readers[i], daemon.consumers);
		orma_raw_invoke(&readers[i].client, "ObserveEvents", ORMA_STR("\x08\x07"), -1, 0);
		orma_raw_invoke(&sessions[i].consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
	}
	orma_test_daemon_stop(&daemon);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(sessions); i++) {
		orma_raw_await_end(&sessions[i].producer.client);
		orma_raw_await_end(&sessions[i].consumer.client);
		orma_raw_session_close(&sessions[i]);
		orma_raw_consumer_close(&readers[i]);
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(idle); i++)
		orma_raw_close(&idle[i]);
}

ORMA_TEST(a_detached_session_is_attached_by_key_only)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	struct orma_raw_consumer second;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "detached", "", "");
	orma_raw_session_emit(&session, "before");
	CHECK(orma_raw_call(&session.consumer.client, "Detach", ORMA_STR("\x0a\x03key"))->success);
	CHECK(!orma_raw_call(&session.consumer.client, "Detach", ORMA_STR("\x0a\x03key"))->success);
	orma_raw_consumer_close(&session.consumer);
	orma_raw_session_emit(&session, "while nobody looks");
	orma_raw_consumer_open(&second, stage.daemon.consumers);
	CHECK(!orma_raw_call(&second.client, "Attach", ORMA_STR("\x0a\x03yek"))->success);
	CHECK(!orma_raw_call(&second.client, "Attach", ORMA_STR(""))->success);
	CHECK(orma_raw_call(&second.client, "Attach", ORMA_STR("\x0a\x03key"))->success);
	CHECK(!orma_raw_call(&second.client, "Attach", ORMA_STR("\x0a\x03key"))->success);
	/* This tells the new consumer that the daemon ends. */
	second.enable_id =
		orma_raw_invoke(&second.client, "EnableTracing", ORMA_STR("\x10\x01"), -1, 0);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&second);
	CHECK(orma_raw_trace_has(trace, "before") &&
	      orma_raw_trace_has(trace, "while nobody looks"));
	CHECK(orma_raw_call(&second.client, "DisableTracing", ORMA_STR(""))->success);
	CHECK_STR(orma_raw_consumer_await_disabled(&second), "");
	orma_raw_consumer_close(&second);
	orma_raw_producer_close(&session.producer);
	orma_stage_close(&stage);
}
