/* SPDX-License-Identifier: Apache-2.0
 * config_test.c - which configs are refused, with which words, and that a refusal changes nothing.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "fixture.h"

static const struct refusal {
	const char *config;
	int error;
	const char *message;
} refusals[] = {
	{"duration_ms: 604800001", -EINVAL,
	 "duration_ms: 604800001 is more than the maximum of 604800000"},
	{"duration_ms: 86400001 enable_extra_guardrails: true", -EINVAL,
	 "duration_ms: 86400001 is more than the maximum of 86400000"},
	{"deferred_start: true enable_extra_guardrails: true", -EINVAL,
	 "deferred_start: not allowed together with enable_extra_guardrails"},
	{"buffers { size_kb: 6 } enable_extra_guardrails: true", -EINVAL,
	 "buffers[0].size_kb: 6 is not a multiple of 4 (enable_extra_guardrails)"},
	{"buffers { size_kb: 131076 } enable_extra_guardrails: true", -EINVAL,
	 "buffers: 131076 kB in all are more than the 131072 kB of enable_extra_guardrails"},
	{"buffers { size_kb: 131072 } buffers { size_kb: 68932 } enable_extra_guardrails: true "
	 "guardrail_overrides { max_tracing_buffer_size_kb: 200000 }",
	 -EINVAL,
	 "buffers: 200004 kB in all are more than the 200000 kB of enable_extra_guardrails"},
	{"buffers { size_kb: 131076 } enable_extra_guardrails: true "
	 "guardrail_overrides { max_tracing_buffer_size_kb: 4 }",
	 -EINVAL,
	 "buffers: 131076 kB in all are more than the 131072 kB of enable_extra_guardrails"},
	{"write_into_file: true output_path: '/tmp/x\\000y'", -EINVAL, "output_path: not a path"},
	{"trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1 "
	 "triggers { name: 'a\\000b' } }",
	 -EINVAL, "trigger_config.triggers[0].name: not a name of at most 1024 bytes"},
	{"buffers { size_kb: 0 }", -EINVAL, "buffers[0].size_kb: 0 or missing"},
	{"buffers { size_kb: 4 } buffers {}", -EINVAL, "buffers[1].size_kb: 0 or missing"},
	{"buffers { size_kb: 4194303 }", -EINVAL,
	 "buffers[0].size_kb: 4194303 is more than the maximum of 4194300"},
	{"buffers { size_kb: 4294967295 }", -EINVAL,
	 "buffers[0].size_kb: 4294967295 is more than the maximum of 4194300"},
	{"buffers { size_kb: 4 fill_policy: 9 }", -EINVAL,
	 "buffers[0].fill_policy: 9 is not a policy"},
	{"buffers { size_kb: 4 name: 'a' } buffers { size_kb: 4 } buffers { size_kb: 4 name: 'a' }",
	 -EINVAL, "buffers[2].name: \"a\" is the name of buffers[0] too"},
	{"data_sources { config { name: 'x' } }", -EINVAL,
	 "data_sources[0].config.target_buffer: 0, but the number of buffers is 0"},
	{"buffers { size_kb: 4 } data_sources { config { target_buffer: 1 } }", -EINVAL,
	 "data_sources[0].config.target_buffer: 1, but the number of buffers is 1"},
	{"buffers { size_kb: 4 name: 'a' } data_sources { config { target_buffer_name: 'b' } }",
	 -EINVAL, "data_sources[0].config.target_buffer_name: no buffer is called \"b\""},
	{"buffers { size_kb: 4 name: 'a' } buffers { size_kb: 4 } "
	 "data_sources { config { target_buffer_name: 'a' target_buffer: 1 } }",
	 -EINVAL,
	 "data_sources[0].config.target_buffer: 1, but target_buffer_name says buffers[0]"},
	{"bugreport_filename: 'a/b'", -EINVAL,
	 "bugreport_filename: only letters, digits and \".\", \"_\", \"-\" are allowed"},
	{"write_into_file: true", -EINVAL,
	 "write_into_file: needs either a file descriptor or output_path, and not both"},
	{"output_path: '/tmp/x'", -EINVAL, "output_path: needs write_into_file"},
	{"write_into_file: true output_path: '/no/such/folder/x'", -ENOENT,
	 "output_path: the file cannot be created: its folder does not exist"},
	{"lockdown_mode: 7", -EINVAL, "lockdown_mode: 7 is not a mode"},
	{"write_flush_mode: 9", -EINVAL, "write_flush_mode: 9 is not a mode"},
	{"fflush_post_write: 9", -EINVAL, "fflush_post_write: 9 is not a mode"},
	{"buffers { size_kb: 4 } data_sources { producer_name_regex_filter: '(' }", -EINVAL,
	 "data_sources[0].producer_name_regex_filter[0]: not a POSIX expression"},
	{"buffers { size_kb: 4 } data_sources { producer_name_regex_filter: '(a{1,999}){1,999}' }",
	 -EINVAL, "data_sources[0].producer_name_regex_filter[0]: repeats too often"},
	{"buffers { size_kb: 4 } data_sources { producer_name_regex_filter: '(a*)\\\\1' }", -EINVAL,
	 "data_sources[0].producer_name_regex_filter[0]: \"\\1\" is not supported here"},
	{"trace_filter { bytecode: 'x' }", -EINVAL,
	 "trace_filter.bytecode: the checksum is 78, not 84222325"},
	{"buffers { size_kb: 4 } data_sources { config { protovm_config {} } }", -ENOTSUP,
	 "data_sources[0].config.protovm_config: this service has no ProtoVM"},
};

ORMA_TEST(bad_configs_are_refused_by_name_and_change_nothing)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	CHECK_INT(register_source(&producer, "name: 'x'"), 0);
	consumer_open(&world, &consumer);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		int r = enable(&consumer, refusals[i].config);

		if (r != refusals[i].error)
			orma_test_fail(__FILE__, __LINE__, "\"%s\": %d, %s", refusals[i].config, r,
				       consumer.error.message);
		CHECK_STR(consumer.error.message, refusals[i].message);
		CHECK_LOG(&producer.log, "");
	}
	CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	enable_ok(&consumer, "buffers { size_kb: 4 }");
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(bytes_that_are_no_config_are_refused)
{
	struct world world;
	struct consumer consumer;
	static uint8_t large[(1 << 20) + 1];

	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK_INT(orma_consumer_port_enable(consumer.port, "\x0a\x7f", 2, -1, &consumer.error),
		  -EBADMSG);
	CHECK_STR(consumer.error.message, "the config is not an encoded TraceConfig");
	CHECK_INT(
		orma_consumer_port_enable(consumer.port, large, sizeof(large), -1, &consumer.error),
		-EMSGSIZE);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(more_than_128_buffers_are_refused)
{
	struct world world;
	struct consumer consumer;
	struct orma_buf text = {0};

	world_open(&world);
	consumer_open(&world, &consumer);
	for (int i = 0; i < 129; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "buffers { size_kb: 4 }"), 0);
	CHECK_INT(enable(&consumer, orma_base_buf_cstr(&text)), -EINVAL);
	CHECK_STR(consumer.error.message, "buffers: 129 are more than the maximum of 128");
	orma_base_buf_done(&text);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(long_lists_are_refused)
{
	static const struct {
		const char *head, *item, *tail, *message;
		unsigned count;
	} cases[] = {
		{"", "session_semaphores {} ", "",
		 "session_semaphores: 65 are more than the maximum of 64", 65},
		{"", "producers {} ", "", "producers: 1025 are more than the maximum of 1024",
		 1025},
		{"buffers { size_kb: 4 } data_sources { ", "producer_name_filter: 'a' ", "}",
		 "data_sources[0].producer_name_filter: 1025 are more than the maximum of 1024",
		 1025},
		{"buffers { size_kb: 4 } data_sources { ", "machine_name_filter: 'a' ", "}",
		 "data_sources[0].machine_name_filter: 1025 are more than the maximum of 1024",
		 1025},
		{"buffers { size_kb: 4 } ", "data_sources { producer_name_regex_filter: 'a' } ", "",
		 "data_sources: 513 expressions in producer_name_regex_filter are more than the "
		 "maximum of 512",
		 513},
		{"trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1 ",
		 "triggers { name: 'a' } ", "}",
		 "trigger_config.triggers: 257 are more than the maximum of 256", 257},
		{"unique_session_name: '", "a", "'", "unique_session_name: longer than 1024 bytes",
		 1025},
		{"bugreport_filename: '", "a", "'", "bugreport_filename: longer than 1024 bytes",
		 1025},
		{"trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1 "
		 "triggers { name: '",
		 "a", "' } }", "trigger_config.triggers[0].name: not a name of at most 1024 bytes",
		 1025},
		{"write_into_file: true output_path: '", "/", "'", "output_path: not a path", 4096},
		{"buffers { size_kb: 4 } ", "data_sources {} ", "",
		 "data_sources: 4097 are more than the maximum of 4096", 4097},
	};
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct orma_buf text = {0};

		CHECK_INT(orma_base_buf_append_str(&text, cases[i].head), 0);
		for (unsigned n = 0; n < cases[i].count; n++)
			CHECK_INT(orma_base_buf_append_str(&text, cases[i].item), 0);
		CHECK_INT(orma_base_buf_append_str(&text, cases[i].tail), 0);
		CHECK_INT(enable(&consumer, orma_base_buf_cstr(&text)), -EINVAL);
		CHECK_STR(consumer.error.message, cases[i].message);
		orma_base_buf_done(&text);
	}
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(refused_config_does_not_lock_the_service_down)
{
	struct orma_producer_info other = producer_info("other");
	struct world world;
	struct producer producer;
	struct consumer consumer;

	other.uid = getuid() + 1;
	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK(enable(&consumer, "lockdown_mode: LOCKDOWN_SET buffers {}") < 0);
	CHECK_INT(producer_try(&world, &producer, &other), 0);
	producer_close(&producer);
	CHECK(enable(&consumer, "lockdown_mode: LOCKDOWN_SET write_into_file: true "
				"output_path: '/no/such/folder/x'") < 0);
	CHECK_INT(producer_try(&world, &producer, &other), 0);
	producer_close(&producer);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(lockdown_refuses_producers_of_other_users_until_cleared)
{
	struct orma_producer_info other = producer_info("other");
	struct world world;
	struct producer early, late;
	struct consumer consumer;

	other.uid = getuid() + 1;
	world_open(&world);
	CHECK_INT(producer_try(&world, &early, &other), 0);
	CHECK_INT(register_source(&early, "name: 'test'"), 0);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER "lockdown_mode: LOCKDOWN_SET");
	CHECK_LOG(&early.log, "");
	CHECK_INT(producer_try(&world, &late, &other), -EACCES);
	orma_consumer_port_free_buffers(consumer.port);
	CHECK_INT(producer_try(&world, &late, &other), -EACCES);
	enable_ok(&consumer, ONE_BUFFER "lockdown_mode: LOCKDOWN_CLEAR");
	CHECK_LOG(&early.log, "memory:256/4 setup:1 start:1");
	CHECK_INT(producer_try(&world, &late, &other), 0);
	producer_close(&late);
	producer_close(&early);
	consumer_close(&consumer);
	world_close(&world);
}

/* Nobody vouches for who it says it is. */
ORMA_TEST(lockdown_is_for_producers_whose_user_is_not_known_too)
{
	struct orma_producer_info info = producer_info("p");
	struct world world;
	struct producer early, late;
	struct consumer consumer;

	info.is_unverified = true;
	world_open(&world);
	CHECK_INT(producer_try(&world, &early, &info), 0);
	CHECK_INT(register_source(&early, "name: 'test'"), 0);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER "lockdown_mode: LOCKDOWN_SET");
	CHECK_LOG(&early.log, "");
	CHECK_INT(producer_try(&world, &late, &info), -EACCES);
	producer_close(&early);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(consumer_has_one_session_at_a_time)
{
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER);
	CHECK_INT(enable(&consumer, ONE_BUFFER), -EBUSY);
	orma_consumer_port_disable(consumer.port);
	CHECK_INT(enable(&consumer, ONE_BUFFER), -EBUSY);
	orma_consumer_port_free_buffers(consumer.port);
	enable_ok(&consumer, ONE_BUFFER);
	consumer_close(&consumer);
	world_close(&world);
}

static void open_session(struct world *world, struct consumer *consumer, uid_t uid)
{
	consumer_open_as(world, consumer, uid);
	enable_ok(consumer, ONE_BUFFER);
}

ORMA_TEST(sessions_are_capped_per_user_and_in_all)
{
	struct world world;
	struct consumer consumers[17];

	world_open(&world);
	for (int i = 0; i < 5; i++)
		open_session(&world, &consumers[i], 1000);
	consumer_open_as(&world, &consumers[5], 1000);
	CHECK_INT(enable(&consumers[5], ONE_BUFFER), -EBUSY);
	CHECK_STR(consumers[5].error.message, "too many sessions: user 1000 has 5, the maximum");
	for (int i = 6; i < 16; i++)
		open_session(&world, &consumers[i], 1001 + (uid_t)i / 4);
	consumer_open_as(&world, &consumers[16], 1002);
	CHECK_INT(enable(&consumers[16], ONE_BUFFER), -EBUSY);
	CHECK_STR(consumers[16].error.message,
		  "too many sessions: the service has 15, the maximum for users that have one");
	consumer_close(&consumers[0]);
	enable_ok(&consumers[16], ONE_BUFFER);
	for (int i = 1; i < 17; i++)
		consumer_close(&consumers[i]);
	world_close(&world);
}

ORMA_TEST(users_that_take_every_place_leave_one_for_each_other_user_and_all_for_root)
{
	enum { ALL = ORMA_SERVICE_SESSIONS_MAX + ORMA_SERVICE_SESSIONS_FIRST, ROOTS = 5 };
	const uid_t own_uid = geteuid();
	struct world world;
	struct consumer consumers[ALL], late, roots[ROOTS], own[ROOTS];

	world_open(&world);
	for (uint32_t i = 0; i < ALL; i++)
		open_session(&world, &consumers[i],
			     i < ORMA_SERVICE_SESSIONS_MAX ? 1000 + i / 5 : 2000 + i);
	consumer_open_as(&world, &late, 3000);
	CHECK_INT(enable(&late, ONE_BUFFER), -EBUSY);
	CHECK_STR(late.error.message,
		  "too many sessions: the service has 32, the maximum for users that have none");
	for (int i = 0; i < ROOTS; i++)
		open_session(&world, &roots[i], 0);
	for (int i = 0; own_uid != 0 && i < ROOTS; i++)
		open_session(&world, &own[i], own_uid);
	/* Which take no place of the others. */
	consumer_close(&consumers[0]);
	enable_ok(&late, ONE_BUFFER);
	consumer_close(&late);
	for (int i = 1; i < ALL; i++)
		consumer_close(&consumers[i]);
	for (int i = 0; i < ROOTS; i++)
		consumer_close(&roots[i]);
	for (int i = 0; own_uid != 0 && i < ROOTS; i++)
		consumer_close(&own[i]);
	world_close(&world);
}

ORMA_TEST(session_names_are_unique_while_in_use)
{
	struct world world;
	struct consumer one, two;

	world_open(&world);
	consumer_open(&world, &one);
	consumer_open(&world, &two);
	enable_ok(&one, ONE_BUFFER "unique_session_name: 'n'");
	CHECK_INT(enable(&two, ONE_BUFFER "unique_session_name: 'n'"), -EEXIST);
	CHECK_STR(two.error.message, "unique_session_name: a session \"n\" exists already");
	enable_ok(&two, ONE_BUFFER "unique_session_name: 'm'");
	orma_consumer_port_free_buffers(two.port);
	consumer_close(&one);
	enable_ok(&two, ONE_BUFFER "unique_session_name: 'n'");
	consumer_close(&two);
	world_close(&world);
}

ORMA_TEST(guarded_sessions_of_one_name_keep_300_seconds_apart)
{
	struct world world;
	struct consumer consumer;
	const char *config = ONE_BUFFER "enable_extra_guardrails: true unique_session_name: 'n'";

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, config);
	orma_consumer_port_free_buffers(consumer.port);
	pass_ms(&world, 299999);
	CHECK_INT(enable(&consumer, config), -EBUSY);
	pass_ms(&world, 1);
	enable_ok(&consumer, config);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(semaphores_count_other_sessions_by_the_smallest_maximum)
{
	struct world world;
	struct consumer one, two, three;

	world_open(&world);
	consumer_open(&world, &one);
	consumer_open(&world, &two);
	consumer_open(&world, &three);
	enable_ok(&one, "session_semaphores { name: 's' max_other_session_count: 1 }");
	enable_ok(&two, "session_semaphores { name: 's' max_other_session_count: 5 }");
	CHECK_INT(enable(&three, "session_semaphores { name: 's' max_other_session_count: 5 }"),
		  -EBUSY);
	CHECK_STR(three.error.message,
		  "session_semaphores: \"s\" is held by 2 other sessions, 1 is allowed");
	orma_consumer_port_disable(one.port);
	enable_ok(&three, "session_semaphores { name: 's' max_other_session_count: 5 }");
	consumer_close(&one);
	consumer_close(&two);
	consumer_close(&three);
	world_close(&world);
}

ORMA_TEST(descriptor_that_cannot_be_written_is_refused)
{
	struct world world;
	struct consumer consumer;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK_INT(enable_into(&consumer, fd, ONE_BUFFER "write_into_file: true"), -EINVAL);
	CHECK_STR(consumer.error.message,
		  "write_into_file: the file descriptor cannot be written to");
	close(fd);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(existing_output_path_is_refused_and_untouched)
{
	struct world world;
	struct consumer consumer;
	char config[512], path[256];
	struct stat info;
	int fd;

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	snprintf(config, sizeof(config), ONE_BUFFER "write_into_file: true output_path: '%s'",
		 path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(write(fd, "abc", 3) == 3);
	close(fd);
	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK_INT(enable(&consumer, config), -EEXIST);
	CHECK_STR(consumer.error.message,
		  "output_path: the file cannot be created: a file of that name exists already");
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_size, 3);
	consumer_close(&consumer);
	world_close(&world);
}

/* Opening and enabling with every single allocation failing in turn: an error, no leak, no trace of
 * it. */
ORMA_TEST(no_memory_at_any_point_of_enabling_changes_nothing)
{
	const char *config = "buffers { size_kb: 64 name: 'b' } buffers { size_kb: 64 } "
			     "data_sources { config { name: 'test' target_buffer_name: 'b' } "
			     "producer_name_filter: 'p' producer_name_regex_filter: 'q.*' } "
			     "data_sources { config { name: 'other' target_buffer: 1 } }";
	struct orma_buf bytes = encode_text(&orma_pb_trace_config_desc, config);
	struct world world;
	struct producer producer;
	struct consumer consumer;
	int r = -ENOMEM;

	world_open(&world);
	producer_open(&world, &producer, "p");
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_INT(register_source(&producer, "name: 'other'"), 0);
	consumer_open(&world, &consumer);
	for (uint64_t nth = 1; nth < 1000; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_consumer_port_enable(consumer.port, bytes.data, bytes.size, -1,
					      &consumer.error);
		if (!orma_test_allocation_failed())
			break;
		orma_test_fail_allocation(0);
		if (r == 0) {
			/* The failed allocation was for an event of the trace: the session goes
			 * without it. */
			orma_consumer_port_free_buffers(consumer.port);
			log_clear(&producer.log);
			log_clear(&consumer.log);
			continue;
		}
		CHECK_INT(r, -ENOMEM);
		CHECK(consumer.error.message[0]);
		CHECK_INT(producer.log.size, 0);
		CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	}
	orma_test_fail_allocation(0);
	CHECK_INT(r, 0);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
	orma_base_buf_done(&bytes);
}

ORMA_TEST(no_memory_at_any_point_of_opening_is_an_error)
{
	struct orma_service_options options = {.struct_size = sizeof(options)};
	struct orma_producer_info info = producer_info("p");
	struct orma_service *service;
	struct world world;
	struct producer producer;
	bool is_over = false;

	for (uint64_t nth = 1; !is_over; nth++) {
		orma_test_fail_allocation(nth);
		if (orma_service_new(&options, &service) == 0) {
			orma_service_free(service);
			is_over = true;
		}
	}
	orma_test_fail_allocation(0);
	world_open(&world);
	is_over = false;
	for (uint64_t nth = 1; !is_over; nth++) {
		orma_test_fail_allocation(nth);
		is_over = producer_try(&world, &producer, &info) == 0;
	}
	orma_test_fail_allocation(0);
	for (uint64_t nth = 1; nth < 100; nth++) {
		struct orma_buf bytes =
			encode_text(&orma_pb_data_source_descriptor_desc, "name: 'a' id: 3");
		int r;

		orma_test_fail_allocation(nth);
		r = orma_producer_port_register_data_source(producer.port, bytes.data, bytes.size);
		orma_test_fail_allocation(0);
		orma_base_buf_done(&bytes);
		if (r == 0)
			break;
		CHECK_INT(r, -ENOMEM);
	}
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(guardrails_of_buffers_can_be_widened)
{
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, "buffers { size_kb: 131072 } buffers { size_kb: 68928 } "
			     "enable_extra_guardrails: true "
			     "guardrail_overrides { max_tracing_buffer_size_kb: 200000 }");
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(semaphores_of_other_names_do_not_count)
{
	struct world world;
	struct consumer one, two;

	world_open(&world);
	consumer_open(&world, &one);
	consumer_open(&world, &two);
	enable_ok(&one, "session_semaphores { name: 's' } session_semaphores { name: 't' }");
	enable_ok(&two, "session_semaphores { name: 'u' }");
	consumer_close(&one);
	consumer_close(&two);
	world_close(&world);
}

ORMA_TEST(statsd_may_have_ten_sessions)
{
	struct consumer consumers[11];
	struct world world;

	world_open(&world);
	for (size_t i = 0; i < 11; i++) {
		consumer_open_as(&world, &consumers[i], ORMA_SERVICE_STATSD_UID);
		CHECK_INT(enable(&consumers[i], ""), i < 10 ? 0 : -EBUSY);
	}
	CHECK_STR(consumers[10].error.message, "too many sessions: user 1066 has 10, the maximum");
	for (size_t i = 0; i < 11; i++)
		consumer_close(&consumers[i]);
	world_close(&world);
}

ORMA_TEST(a_service_that_shuts_down_begins_nothing)
{
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	orma_service_shut_down(world.service, 100);
	CHECK_INT(enable(&consumer, "buffers { size_kb: 4 }"), -ESHUTDOWN);
	CHECK_STR(consumer.error.message, "the service is shutting down");
	consumer_close(&consumer);
	world_close(&world);
}
