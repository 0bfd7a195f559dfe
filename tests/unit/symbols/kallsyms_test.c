/* SPDX-License-Identifier: Apache-2.0
 * kallsyms_test.c - the table of functions, and the thread that reads it; the kernel's counters.
 */
#include "symbols/kallsyms.h"

#include "../probes/fake_api.h"
#include "probes/ftrace/ftrace_stats.h"
#include "schema/gen/ftrace_stats.pb.h"

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000300 t inner\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000100 T first_name\n"
			   "ffffffff81000100 T second_name\n"
			   "ffffffff81000400 D some_data\n"
			   "ffffffff81000500 d more_data\n"
			   "ffffffff81000200 W weak_one\n"
			   "not a line\n"
			   "ffffffff8100zzzz T broken\n"
			   "ffffffffc0000000 t module_function\t[ext4]\n";

static void check_name(const struct orma_kallsyms *kallsyms, uint64_t address, const char *name)
{
	struct orma_str found = orma_kallsyms_find(kallsyms, address);
	CHECK_MEM(found.data, found.size, name, strlen(name));
}

ORMA_TEST(an_address_is_in_the_function_before_it)
{
	struct orma_kallsyms *kallsyms;
	CHECK_INT(orma_kallsyms_parse(orma_base_str(text), &kallsyms), 0);
	CHECK_INT(orma_kallsyms_count(kallsyms), 6);
	CHECK(orma_kallsyms_bytes(kallsyms) > 0);
	check_name(kallsyms, 0xffffffff81000000, "startup_64");
	check_name(kallsyms, 0xffffffff810000ff, "startup_64");
	check_name(kallsyms, 0xffffffff81000100, "first_name");
	check_name(kallsyms, 0xffffffff81000250, "weak_one");
	check_name(kallsyms, 0xffffffff810003ff, "inner");
	check_name(kallsyms, 0xffffffffc0000010, "module_function");
	/* Data, addresses before the first function, and those far behind the last one. */
	check_name(kallsyms, 0xffffffff81000400, "");
	check_name(kallsyms, 0xffffffff81000600, "");
	check_name(kallsyms, 0xffffffff80ffffff, "");
	check_name(kallsyms, 0xffff888012345678, "");
	check_name(kallsyms, 0xffffffffc0200000, "");
	orma_kallsyms_free(kallsyms);
}

ORMA_TEST(hidden_addresses_and_empty_files_are_told_apart)
{
	struct orma_kallsyms *kallsyms;
	CHECK_INT(orma_kallsyms_parse(ORMA_STR("0000000000000000 T startup_64\n"
					       "0000000000000000 t inner\n"),
				      &kallsyms),
		  -EACCES);
	CHECK_INT(orma_kallsyms_parse(ORMA_STR(""), &kallsyms), -ENODATA);
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		int r = orma_kallsyms_parse(orma_base_str(text), &kallsyms);
		if (!orma_test_allocation_failed()) {
			CHECK(nth > 1);
			break;
		}
		if (r == 0) { /* the table could not be made smaller */
			orma_kallsyms_free(kallsyms);
			continue;
		}
		CHECK_INT(r, -ENOMEM);
	}
	orma_test_fail_allocation(0);
	orma_kallsyms_free(kallsyms);
}

static int loaded_result = 1;
static struct orma_kallsyms *loaded;

static void on_loaded(void *ctx, int result, struct orma_kallsyms *kallsyms)
{
	CHECK(ctx == &loaded);
	loaded_result = result;
	loaded = kallsyms;
}

static void load(const char *path)
{
	struct orma_loop *loop;
	struct orma_kallsyms_load *load;
	CHECK_INT(orma_base_loop_new(&loop), 0);
	CHECK_INT(orma_kallsyms_load_start(loop, path, on_loaded, &loaded, &load), 0);
	while (loaded_result == 1)
		CHECK(orma_base_loop_turn(loop, -1) >= 0);
	orma_kallsyms_load_free(load);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_thread_reads_the_file)
{
	char path[512];
	fake_put("kallsyms", text);
	snprintf(path, sizeof(path), "%s/kallsyms", fake_root);
	load(path);
	CHECK_INT(loaded_result, 0);
	check_name(loaded, 0xffffffff81000250, "weak_one");
	orma_kallsyms_free(loaded);
}

ORMA_TEST(a_file_that_is_not_there_is_reported)
{
	load("/nowhere/kallsyms");
	CHECK_INT(loaded_result, -ENOENT);
	CHECK(!loaded);
}

ORMA_TEST(a_load_can_be_given_up)
{
	struct orma_loop *loop;
	struct orma_kallsyms_load *load;
	char path[512];
	fake_put("kallsyms", text);
	snprintf(path, sizeof(path), "%s/kallsyms", fake_root);
	CHECK_INT(orma_base_loop_new(&loop), 0);
	CHECK_INT(orma_kallsyms_load_start(loop, path, on_loaded, &loaded, &load), 0);
	orma_kallsyms_load_free(load);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK_INT(loaded_result, 1);
	orma_kallsyms_load_free(NULL);
	orma_base_loop_free(loop);
}

/* ---- counters ---- */

static const char stats_text[] = "entries: 129\noverrun: 3\ncommit overrun: 2\nbytes: 6020\n"
				 "oldest event ts:   1045.157722\nnow ts:  1046.000009\n"
				 "dropped events: 5\nread events: 4444444444\n";

ORMA_TEST(the_counters_of_a_cpu_are_read)
{
	struct orma_ftrace_cpu_stats stats = {.cpu = 3};
	orma_ftrace_cpu_stats_parse(orma_base_str(stats_text), &stats);
	CHECK_INT(stats.cpu, 3);
	CHECK_INT(stats.entries, 129);
	CHECK_INT(stats.overrun, 3);
	CHECK_INT(stats.commit_overrun, 2);
	CHECK_INT(stats.bytes, 6020);
	CHECK_INT(stats.dropped_events, 5);
	CHECK_INT(stats.read_events, 4444444444);
	CHECK_INT(stats.oldest_event_s * 1e6 + 0.5, 1045157722);
	CHECK_INT(stats.now_s * 1e6 + 0.5, 1046000009);
	orma_ftrace_cpu_stats_parse(ORMA_STR("entries: many\nnow ts: 1.x\n\nbytes\n"), &stats);
	CHECK_INT(stats.entries, 0);
}

ORMA_TEST(ftrace_stats_have_the_cpus_that_exist)
{
	struct orma_ftrace_stats stats;
	char path[512];
	fake_put("t/per_cpu/cpu0/stats", stats_text);
	fake_put("t/per_cpu/cpu2/stats", "entries: 1\n");
	snprintf(path, sizeof(path), "%s/t", fake_root);
	CHECK_INT(orma_ftrace_stats_read(path, 4, &stats), 0);
	CHECK_INT(stats.cpu_count, 2);
	stats.kernel_symbols_parsed = 9;
	stats.cpu_buffer_size_pages = 512;
	orma_ftrace_stats_add_kprobes(&stats, ORMA_STR("  p_one   10   2\n  p_two 5 0\nbroken\n"));
	struct orma_ftrace_session_stats session = {
		.phase = ORMA_PB_FTRACE_STATS_PHASE_END_OF_TRACE,
		.parse_errors = 1u << 15 | 1u << 3,
		.unknown_events = {"a/b\0c", 6},
		.failed_events = {"d/e", 4},
		.exclusive_feature_error = ORMA_STR("busy"),
		.atrace_errors = ORMA_STR("other"),
		.preserve_buffer = true,
	};
	fake_source.started = 1;
	struct orma_packet *packet = orma_packet_begin(&fake_source, 0);
	orma_ftrace_stats_write(&stats, &session, packet);
	orma_packet_end(packet);
	CHECK_STR(fake_text(fake_packet(0)->ftrace_stats),
		  "phase: END_OF_TRACE "
		  "cpu_stats { cpu: 0 entries: 129 overrun: 3 commit_overrun: 2 bytes_read: 6020 "
		  "oldest_event_ts: 1045.157722 now_ts: 1046.000009 dropped_events: 5 read_events: "
		  "4444444444 } "
		  "cpu_stats { cpu: 2 entries: 1 overrun: 0 commit_overrun: 0 bytes_read: 0 "
		  "oldest_event_ts: 0 now_ts: 0 dropped_events: 0 read_events: 0 } "
		  "kernel_symbols_parsed: 9 kernel_symbols_mem_kb: 0 atrace_errors: \"other\" "
		  "unknown_ftrace_events: \"a/b\" "
		  "unknown_ftrace_events: \"c\" failed_ftrace_events: \"d/e\" "
		  "preserve_ftrace_buffer: true ftrace_parse_errors: "
		  "FTRACE_STATUS_PARTIAL_PAGE_READ ftrace_parse_errors: "
		  "FTRACE_STATUS_ABI_END_OVERFLOW kprobe_stats { hits: 15 misses: 2 } "
		  "cpu_buffer_size_pages: 512 cached_cpu_buffer_size_pages: 0 "
		  "exclusive_feature_error: \"busy\"");
	orma_ftrace_stats_done(&stats);
	fake_forget_packets();
	orma_base_arena_done(&fake_arena);
}
