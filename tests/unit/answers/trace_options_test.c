/* SPDX-License-Identifier: Apache-2.0
 * trace_options_test.c - a database tells how far its loading is, can be stopped while it loads, and has the user's modules.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "harness.h"
#include "trace_fixture.h"

enum { PACKETS = 20000 };

struct loading {
	uint64_t steps, read_bytes, all_bytes;
	uint64_t stop_at; /* this step */
};

static int on_progress(void *ctx, uint64_t read_bytes, uint64_t all_bytes)
{
	struct loading *loading = ctx;
	CHECK(read_bytes >= loading->read_bytes);
	CHECK(read_bytes <= all_bytes);
	loading->read_bytes = read_bytes;
	loading->all_bytes = all_bytes;
	return ++loading->steps == loading->stop_at ? -ECANCELED : 0;
}

/* A trace with instants. */
static int make_trace(void)
{
	static const unsigned char packet[] =
		"\x0a\x0c\x40\x64\x50\x01\x5a\x06\x48\x03\xba\x01\x01n";
	struct orma_buf bytes = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(fd >= 0);
	for (int i = 0; i < PACKETS; i++)
		CHECK_INT(orma_base_buf_append(&bytes, packet, sizeof(packet) - 1), 0);
	CHECK_INT(write(fd, bytes.data, bytes.size), bytes.size);
	orma_base_buf_done(&bytes);
	return fd;
}

ORMA_TEST(the_progress_ends_with_the_whole_trace)
{
	struct loading loading = {0};
	struct orma_trace_options options = {.progress = on_progress, .progress_ctx = &loading};
	struct orma_trace_database *database;
	int fd = make_trace();
	CHECK_INT(orma_trace_database_open(fd, &options, &database, NULL), 0);
	CHECK(loading.steps > 2);
	CHECK(loading.all_bytes >= PACKETS * 14);
	CHECK(loading.read_bytes > loading.all_bytes / 2);
	/* Queries are no part of the loading. */
	uint64_t steps = loading.steps;
	fixture_check(database, "select count(extract_arg(arg_set_id, 'x')) from slice", "0\n");
	CHECK_INT(loading.steps, steps);
	orma_trace_database_free(database);
	close(fd);
}

ORMA_TEST(a_loading_that_is_stopped_has_no_database)
{
	int fd = make_trace();
	for (uint64_t step = 1; step < 4; step++) {
		struct loading loading = {.stop_at = step};
		struct orma_trace_options options = {.progress = on_progress,
						     .progress_ctx = &loading};
		struct orma_trace_database *database;
		CHECK_INT(orma_trace_database_open(fd, &options, &database, NULL), -ECANCELED);
		CHECK(!database);
		CHECK_INT(loading.steps, step);
	}
	close(fd);
}

ORMA_TEST(modules_of_the_user_have_names_of_their_own)
{
	struct orma_module_list modules = {0};
	struct orma_str text = ORMA_STR("create perfetto table mine as select 1 as n");
	CHECK_INT(orma_modules_add(&modules, "a.b_1.c", text, false), 0);
	CHECK_INT(orma_modules_add(&modules, "a.b_1.c", text, false), -EEXIST);
	CHECK_INT(orma_modules_add(&modules, "a.b_1.c", text, true), 0);
	CHECK_INT(orma_modules_add(&modules, "slices.mine", text, false), -EEXIST);
	CHECK_INT(orma_modules_add(&modules, "slicesx.mine", text, false), 0);
	CHECK_INT(orma_modules_add(&modules, "a..b", text, false), -EINVAL);
	CHECK_INT(orma_modules_add(&modules, "a.", text, false), -EINVAL);
	CHECK_INT(orma_modules_add(&modules, "", text, false), -EINVAL);
	CHECK_INT(orma_modules_add(&modules, "a.1", text, false), -EINVAL);
	CHECK_INT(modules.count, 2);
	int fd = make_trace();
	struct orma_trace_options options = {.modules = &modules};
	struct orma_trace_database *database;
	CHECK_INT(orma_trace_database_open(fd, &options, &database, NULL), 0);
	CHECK_INT(modules.count, 0);
	fixture_check(database, "include perfetto module a.b_1.c; select n from mine", "1\n");
	orma_trace_database_free(database);
	close(fd);
}

ORMA_TEST(a_module_without_memory_is_not_added)
{
	for (uint64_t nth = 1; nth < 4; nth++) {
		struct orma_module_list modules = {0};
		orma_base_alloc_fail_nth(nth);
		CHECK_INT(orma_modules_add(&modules, "a.b", ORMA_STR("select 1"), false), -ENOMEM);
		orma_base_alloc_fail_nth(0);
		CHECK_INT(modules.count, 0);
		CHECK_INT(orma_modules_add(&modules, "a.b", ORMA_STR("select 1"), false), 0);
		orma_modules_done(&modules);
	}
}

/* Tables and rows of queries need some megabytes here. */
static const char queries[] = "include perfetto module intervals.intersect;"
			      "create perfetto table t as with recursive n(i) as (select 0 union "
			      "all select i + 1 from n where i < 200000)"
			      " select i as id, i * 10 as ts, 5 + (i * 7919) % 7 as dur, (i * "
			      "2654435761) % 1000000007 as x, i * 77 as y from n;"
			      "select count(*), sum(id_0 * 3 + id_1), sum(ts), sum(dur) from "
			      "_interval_intersect!((t, t), ());"
			      "select sum(x), sum(y), max(x), sum(id * x % 1001) from t;";

ORMA_TEST(answers_are_the_same_within_a_small_budget)
{
	for (size_t memory_bytes = 0; memory_bytes <= 1 << 20; memory_bytes += 1 << 20) {
		struct orma_trace_options options = {.memory_bytes = memory_bytes};
		struct orma_trace_database *database;
		int fd = make_trace();
		CHECK_INT(orma_trace_database_open(fd, &options, &database, NULL), 0);
		const struct orma_memory_budget *budget = &database->tables.budget;
		CHECK(budget->limit_bytes >= (memory_bytes ? memory_bytes : 64 << 20));
		fixture_check(database, queries,
			      "257143,102856857148,257142428580,1657150\n\n"
			      "\"sum(x)\",\"sum(y)\",\"max(x)\",\"sum(id * x % 1001)\"\n"
			      "100000953937963,1540007700000,999997511,99181077\n");
		/* Each table keeps the megabyte that it adds to. */
		if (memory_bytes > 0)
			CHECK(budget->used_bytes <= (size_t)4 << 20);
		orma_trace_database_free(database);
		close(fd);
	}
}

ORMA_TEST(the_tables_of_a_trace_cannot_be_dropped_or_hidden)
{
	static const char refused[] =
		"belongs to the trace, and can be neither dropped nor replaced";
	static const char *const dropping[] = {
		"drop view slice",
		"DROP VIEW IF EXISTS main.Slice",
		"drop table args",
		"alter table args rename to other",
		"create temp view thread as select 1",
		"create temp table thread(x)",
		"create or replace perfetto view sched as select 1 as x",
		"create or replace perfetto table args as select 1 as x",
		"create table __intrinsic_slice(x)",
		"create or replace perfetto table __intrinsic_slice as select 1 as x",
		/* A module makes these views when one of them is first used. */
		"create view perf_sample as select 1 as x",
		"create temp view perf_sample as select 1 as x",
		"select count(*) from perf_sample; drop view perf_sample",
		"drop view perf_session",
		"include perfetto module prelude.after_eof.memory; drop view heap_profile",
	};
	struct orma_trace_database *database =
		fixture_open("packet { timestamp: 5 trusted_packet_sequence_id: 1 "
			     "track_event { type: TYPE_INSTANT name: \"x\" track_uuid: 1 } }");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(dropping); i++)
		fixture_refuse(database, dropping[i], refused);
	fixture_check(database, "select name from slice", "\"x\"\n");
	fixture_check(database, "select count(*) from perf_sample", "0\n");
	fixture_check(database, "select count(*) from heap_profile", "0\n");
	fixture_check(database, "select count(*) from __intrinsic_aggregate_profile", "0\n");
	/* Queries may drop and replace their own tables and views. */
	fixture_check(database,
		      "create view mine as select 1 as x; create or replace perfetto view mine as "
		      "select 2 as x; create table plain(x); alter table plain add column y; "
		      "create or replace perfetto table t as select 3 as x; drop table plain; "
		      "drop table t; create temp view t as select 4 as x; drop view mine; "
		      "create view if not exists slice as select 1; select x from t",
		      "4\n");
	fixture_close(database);
}
