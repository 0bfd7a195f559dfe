/* SPDX-License-Identifier: Apache-2.0
 * config_advice_test.c - what the config of a trace asked for that makes traces worse.
 */
#include "import_fixture.h"

static struct import_fixture fixture;

#define CONFIG(content) "packet { trace_config { " content " } } "
#define FTRACE(content)                                                                            \
	CONFIG("data_sources { config { name: 'linux.ftrace' ftrace_config { " content " } } }")

static const char *findings(const char *text, const char *columns)
{
	import_text(&fixture, text);
	CHECK_INT(fixture.result, 0);
	return import_rows(&fixture, ORMA_TABLE_DIAGNOSTIC, columns);
}

#define CHECK_FINDINGS(config, expected)                                                           \
	do {                                                                                       \
		CHECK_STR(findings(config, "key"), expected);                                      \
		import_done(&fixture);                                                             \
	} while (0)

ORMA_TEST(configs_that_ask_for_too_little_or_too_much_are_named)
{
	CHECK_FINDINGS("packet { timestamp: 1 }", "");
	CHECK_FINDINGS(FTRACE("buffer_size_kb: 8192 drain_period_ms: 250"), "");
	CHECK_FINDINGS(FTRACE("buffer_size_kb: 1023"), "tiny_ftrace_buffer\n");
	CHECK_FINDINGS(FTRACE("buffer_size_kb: 5119 drain_period_ms: 1000"),
		       "low_ftrace_drain_bandwidth\n");
	CHECK_FINDINGS(FTRACE("buffer_size_kb: 5120 drain_period_ms: 1000"), "");
	CHECK_FINDINGS(FTRACE("drain_period_ms: 99"), "extreme_ftrace_drain_period\n");
	CHECK_FINDINGS(FTRACE("drain_period_ms: 60001"), "extreme_ftrace_drain_period\n");
	CHECK_FINDINGS(FTRACE("ftrace_events: 'raw_syscalls/sys_exit'"),
		       "syscalls_without_filter\n");
	CHECK_FINDINGS(FTRACE("ftrace_events: 'raw_syscalls/sys_exit' syscall_events: 'sys_read'"),
		       "");
	CHECK_FINDINGS(FTRACE("enable_function_graph: true"),
		       "function_graph_requires_symbolize_ksyms\n");
	CHECK_FINDINGS(FTRACE("ftrace_events: 'sched/sched_blocked_reason'"),
		       "events_require_symbolize_ksyms\n");
	CHECK_FINDINGS(FTRACE("enable_function_graph: true symbolize_ksyms: true "
			      "ftrace_events: 'sched/sched_blocked_reason'"),
		       "");
	CHECK_FINDINGS(CONFIG("data_sources { config { name: 'android.heapprofd' heapprofd_config "
			      "{ sampling_interval_bytes: 4096 } } }"),
		       "heapprofd_sampling_interval_too_low\n");
}

ORMA_TEST(a_streamed_buffer_that_stops_when_it_is_full_is_named)
{
#define STREAMED(more, source)                                                                     \
	CONFIG("write_into_file: true " more " buffers { size_kb: 8 fill_policy: DISCARD } "       \
	       "data_sources { config { name: '" source "' } }")
	CHECK_FINDINGS(STREAMED("", "track_event"), "discard_buffer_for_streaming\n");
	CHECK_FINDINGS(STREAMED("", "linux.process_stats"), "");
	CHECK_FINDINGS(STREAMED("file_write_period_ms: 604800000", "track_event"), "");
	CHECK_FINDINGS(CONFIG("write_into_file: true buffers { size_kb: 8 } data_sources { config "
			      "{ name: 'track_event' target_buffer: 7 } }"),
		       "");
}

ORMA_TEST(old_events_are_named_when_the_system_had_booted_long_before)
{
#define STARTED_AT(ns)                                                                             \
	FTRACE("preserve_ftrace_buffer: true")                                                     \
	"packet { timestamp: " ns " service_event { tracing_started: true } }"
	CHECK_FINDINGS(FTRACE("preserve_ftrace_buffer: true"), "");
	CHECK_FINDINGS(STARTED_AT("300000000000"), "");
	CHECK_FINDINGS(STARTED_AT("301000000000"), "preserve_ftrace_buffer_late_start\n");
}

ORMA_TEST(a_finding_is_surer_when_data_was_lost)
{
	CHECK_STR(findings(FTRACE("buffer_size_kb: 544"), "confidence trace_id description"),
		  "0.55 0 buffer_size_kb is 544: the kernel's buffer of each CPU may overflow "
		  "when there are many events.\n");
	import_done(&fixture);
	CHECK_STR(findings(FTRACE("buffer_size_kb: 544") "packet { ftrace_events { cpu: 0 "
							 "lost_events: true } }",
			   "confidence"),
		  "0.9\n");
	import_done(&fixture);
}
