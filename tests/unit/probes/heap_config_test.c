/* SPDX-License-Identifier: Apache-2.0
 * heap_config_test.c - what android.heapprofd takes from its configuration, and what it says about the rest.
 */
#include "probes/heap/heap_config.h"

#include <errno.h>

#include "base/buf.h"
#include "base/log_message.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"

static struct orma_arena arena;
static struct orma_buf messages;

static void keep_message(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx, (void)level;
	CHECK(orma_base_buf_printf(&messages, "%s\n", message) == 0);
}

static int parse(const char *fields, struct orma_heap_config *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	struct orma_error error;
	char text[512];
	void *message = NULL;

	snprintf(text, sizeof(text), "stop_timeout_ms: 3000 heapprofd_config { %s }", fields);
	CHECK(orma_proto_text_parse(&orma_pb_data_source_config_desc, "test", text, strlen(text), 0,
				    &arena, &message, &error) == 0);
	CHECK(orma_proto_encode(message, &bytes) == 0);
	messages.size = 0;
	return orma_heap_config_parse(bytes.data, bytes.size, &arena, ret);
}

static bool has_said(const char *text)
{
	const char *said = orma_base_buf_cstr(&messages);

	return said && strstr(said, text);
}

static void begin(void)
{
	orma_log_set_sink(keep_message, NULL);
}

static void finish(void)
{
	orma_log_set_sink(NULL, NULL);
	orma_base_buf_done(&messages);
	orma_base_arena_done(&arena);
}

ORMA_TEST(fields_that_the_profiler_needs_are_taken)
{
	struct orma_heap_config config;

	begin();
	CHECK_INT(parse("all: true sampling_interval_bytes: 4096 dump_at_max: true "
			"stream_allocations: true block_client: true min_anonymous_memory_kb: 5 "
			"max_heapprofd_memory_kb: 6 max_heapprofd_cpu_secs: 7 "
			"skip_symbol_prefix: 'a' continuous_dump_config { dump_phase_ms: 8 "
			"dump_interval_ms: 900 }",
			&config),
		  0);
	CHECK_INT(messages.size, 0);
	CHECK(config.interval_bytes == 4096 && config.dumps_at_max && config.streams);
	CHECK(config.waits_for_room && config.min_anonymous_kb == 5);
	CHECK(config.max_memory_kb == 6 && config.max_cpu_secs == 7);
	CHECK(config.skipped_prefix_count == 1 && config.dump_phase_ms == 8);
	CHECK_INT(config.dump_interval_ms, 900);
	CHECK_INT(config.stop_timeout_ms, 3000);
	finish();
}

ORMA_TEST(shared_memory_of_the_profiler_is_a_power_of_two_with_limits)
{
	static const struct {
		const char *fields;
		uint32_t kb;
	} cases[] = {
		{"", 8192},
		{"shmem_size_bytes: 1", 128},
		{"shmem_size_bytes: 131073", 256},
		{"shmem_size_bytes: 1048576", 1024},
		{"shmem_size_bytes: 18446744073709551615", 32768},
	};
	struct orma_heap_config config;
	char fields[160];

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(fields, sizeof(fields), "sampling_interval_bytes: 1 all: true %s",
			 cases[i].fields);
		CHECK_INT(parse(fields, &config), 0);
		CHECK_INT(config.shm_kb, cases[i].kb);
		CHECK(config.buffer_kb >= 4 * config.shm_kb && config.buffer_kb >= 32768);
	}
	finish();
}

ORMA_TEST(an_invalid_config_is_refused_with_the_reason)
{
	static const char *const cases[][2] = {
		{"all: true", "sampling_interval_bytes is not set"},
		{"all: true heaps: 'a' heap_sampling_intervals: 1 heap_sampling_intervals: 2",
		 "as many numbers as heaps"},
		{"all: true heaps: 'a' heap_sampling_intervals: 0", "contains 0"},
	};
	struct orma_heap_config config;

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(parse(cases[i][0], &config), -EINVAL);
		CHECK(has_said(cases[i][1]));
	}
	CHECK_INT(parse("sampling_interval_bytes: 1", &config), 0);
	CHECK(has_said("names no process"));
	finish();
}

ORMA_TEST(fields_that_are_ignored_are_named)
{
	static const char *const cases[][2] = {
		{"target_installed_by: 'a'", "target_installed_by is ignored"},
		{"disable_fork_teardown: true", "disable_vfork_detection are ignored"},
		{"disable_vfork_detection: true", "disable_vfork_detection are ignored"},
		{"shmem_size_bytes: 65536", "shared memory of a process has 2 MiB"},
	};
	struct orma_heap_config config;
	char fields[160];

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(fields, sizeof(fields), "sampling_interval_bytes: 1 all: true %s",
			 cases[i][0]);
		CHECK_INT(parse(fields, &config), 0);
		CHECK(has_said(cases[i][1]));
	}
	finish();
}
