/* SPDX-License-Identifier: Apache-2.0
 * systrace_test.c - kernel events as text: lines of several programs, web pages, and what is no event.
 */
#include "convert_fixture.h"
#include "formats/ftrace_line.h"

static bool read_line(const char *text, struct orma_ftrace_line *ret)
{
	return orma_ftrace_line_read(orma_base_str(text), ret);
}

ORMA_TEST(lines_of_kernels_and_programs_are_cut_into_their_parts)
{
	static const struct {
		const char *text, *task, *event, *args;
		uint32_t tid, tgid, cpu;
		int64_t ns;
	} lines[] = {
		{"  <idle>-0     [001] d..2.  12.000345: cpu_idle: state=1 cpu_id=1", "<idle>",
		 "cpu_idle", "state=1 cpu_id=1", 0, 0, 1, 12000345000},
		{"kworker/u16:1-77  (   70) [004] ....   316.1: print: x: y", "kworker/u16:1",
		 "print", "x: y", 77, 70, 4, 316100000000},
		{" a-1 [0] (b)-9 (-----) [002] 1.5: x:", "a-1 [0] (b)", "x", "", 9, 0, 2,
		 1500000000},
		{"t-3 [007] dNh21.25: e: v", "t", "e", "v", 3, 0, 7, 1250000000},
	};
	struct orma_ftrace_line line;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		CHECK(read_line(lines[i].text, &line));
		CHECK(orma_base_str_is(line.task, lines[i].task));
		CHECK(orma_base_str_is(line.event, lines[i].event));
		CHECK(orma_base_str_is(line.args, lines[i].args));
		CHECK_INT(line.tid, lines[i].tid);
		CHECK_INT(line.tgid, lines[i].tgid);
		CHECK_INT(line.cpu, lines[i].cpu);
		CHECK_INT(line.ns, lines[i].ns);
	}
	CHECK(!read_line("t-3 [007] .... 125: e: v", &line) &&
	      !read_line("t-3 [x] 1.5: e: v", &line) && !read_line("", &line) &&
	      !read_line("t-3", &line) && !read_line("t-3 [1] 1.5: e", &line) &&
	      !read_line("t-99999999999 [1] 1.5: e: v", &line));
}

ORMA_TEST(values_go_on_to_the_next_key)
{
	struct orma_ftrace_field fields[ORMA_FTRACE_FIELDS_MAX];
	unsigned count = orma_ftrace_fields_read(
		ORMA_STR("clk prev_comm=a b=c d prev_pid=3, state=S ==> x="), fields);
	CHECK_INT(count, 6);
	CHECK(orma_base_str_is(orma_ftrace_field_find(fields, count, "name"), "clk"));
	CHECK(orma_base_str_is(orma_ftrace_field_find(fields, count, "prev_comm"), "a"));
	CHECK(orma_base_str_is(orma_ftrace_field_find(fields, count, "b"), "c d"));
	CHECK(orma_base_str_is(orma_ftrace_field_find(fields, count, "prev_pid"), "3"));
	CHECK(orma_base_str_is(orma_ftrace_field_find(fields, count, "state"), "S"));
	CHECK(orma_ftrace_field_find(fields, count, "x").data);
	CHECK(!orma_ftrace_field_find(fields, count, "y").data);
	CHECK_INT(orma_ftrace_fields_read(ORMA_STR(""), fields), 0);
	CHECK_INT(orma_ftrace_fields_read(ORMA_STR("=="), fields), 1);
}

#define HEADER "# tracer: nop\n#\n"

ORMA_TEST(switches_and_wakings_are_scheduling)
{
	static struct import_fixture fixture;
	convert_text(&fixture, HEADER "  a-5 (  5) [000] d..2. 1.0: sched_waking: comm=b c pid=6 "
				      "prio=120 target_cpu=001\n"
				      "  a-5 (  5) [000] d..2. 2.0: sched_switch: prev_comm=a "
				      "prev_pid=5 prev_prio=120 prev_state=R+ ==> "
				      "next_comm=b c next_pid=6 next_prio=110\n"
				      "  b c-6 (  5) [000] d..2. 3.0: sched_switch: b c:6 [110] "
				      "D|K ==> swapper/0:0 [120]\n"
				      "  <...>-7 [000] d..2. 4.0: sched_blocked_reason: pid=6 "
				      "iowait=1 caller=lock_page+0x1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur utid end_state priority"),
		  "2000000000 1000000000 2 DK 110\n3000000000 -1 0 - 120\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD_STATE,
			      "ts dur utid state io_wait blocked_function"),
		  "1000000000 1000000000 2 R - -\n2000000000 -1 1 R+ - -\n"
		  "2000000000 1000000000 2 Running - -\n3000000000 -1 2 DK 1 lock_page+0x1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		  "0 swapper 0\n5 a 1\n6 b c 1\n7 - -\n");
	import_done(&fixture);
}

ORMA_TEST(markers_and_counters_are_slices_and_counters)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		"cpus=2\n"
		"a-5 [000] .... 1.0: tracing_mark_write: B|5|work\n"
		"a-5 [000] .... 2.0: print: tracing_mark_write: E|5\n"
		"a-5 [001] .... 2.5: 0: C|5|depth|7\n"
		"a-5 [001] .... 3.0: cpu_frequency: state=1800000 cpu_id=1\n"
		"a-5 [001] .... 3.5: cpu_frequency_limits: min=5 max=9 cpu_id=1\n"
		"a-5 [001] .... 4.0: clock_set_rate: bus state=100 cpu_id=0\n"
		"a-5 [000] .... 5.0: workqueue_execute_start: work struct 0xff: function flush_it\n"
		"a-5 [000] .... 6.0: workqueue_execute_end: work struct 0xff\n"
		"a-5 [000] .... 7.0: irq_handler_entry: irq=3 name=timer\n"
		"a-5 [000] .... 8.0: irq_handler_exit: irq=3 ret=handled\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "1000000000 1000000000 work\n5000000000 1000000000 flush_it\n"
		  "7000000000 1000000000 IRQ (timer)\n");
	CHECK_STR(
		import_counters(&fixture),
		"-:\ndepth: 7\ncpufreq: 1800000\nCpu 1 Max Freq Limit: 9\nCpu 1 Min Freq Limit: 5\n"
		"bus Frequency: 100\nIrq Cpu 0:\n");
	CHECK_INT(import_stat(&fixture, "systrace_parse_failure"), 0);
	import_done(&fixture);
}

ORMA_TEST(unknown_events_are_generic)
{
	static struct import_fixture fixture;
	convert_text(&fixture, " a-5 [000] .... 1.0: my_event: some words count=-7 text=a b\n"
			       " a-5 [000] .... 2.0: cpu_idle: nothing known\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name utid"),
		  "1000000000 my_event 1\n2000000000 cpu_idle 1\n");
	CHECK_STR(import_event_args(&fixture, 0), "name=some words count=-7 text=a b");
	CHECK_STR(import_event_args(&fixture, 1), "name=nothing known");
	import_done(&fixture);
}

ORMA_TEST(lines_that_are_no_events_are_counted)
{
	static struct import_fixture fixture;
	convert_text(&fixture,
		     HEADER "\n# comment\nCPU:1 [LOST 5 EVENTS]\n a-5 [9999] .... 1.0: x: y\n"
			    " a-5 [000] .... 1.0: x: y\n");
	CHECK_INT(import_stat(&fixture, "systrace_parse_failure"), 2);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "name"), "x\n");
	import_done(&fixture);
}

ORMA_TEST(a_web_page_has_events_processes_and_threads)
{
	static struct import_fixture fixture;
	static const char script[] = "<script class=\"trace-data\" type=\"application/text\">\n";
	char page[2000];
	snprintf(page, sizeof(page),
		 "<!DOCTYPE html>\n<script>x-1 [000] .... 1.0: x: y</script>\n%s"
		 "PROCESS DUMP\nUSER PID PPID VSZ RSS WCHAN PC S NAME CMD LINE\n"
		 "root 9 1 0 0 0 0 S server /bin/server -x\nbad x 1 0 0 0 0 S n c\n"
		 "USER PID TID CMD\nroot 9 10 worker one\n</script>\n%s"
		 "#   TASK-PID CPU\n x-10 [000] .... 1.0: print: B|9|a\n</script>\n x-1 [000] .... "
		 "3.0: x: y\n",
		 script, script);
	convert_text(&fixture, page);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name"), "0 -\n1 -\n9 server\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name"), "1000000000 a\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "name"), "print\n");
	CHECK_INT(import_stat(&fixture, "systrace_parse_failure"), 1);
	import_done(&fixture);
}
