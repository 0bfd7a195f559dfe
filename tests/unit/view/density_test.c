/* SPDX-License-Identifier: Apache-2.0
 * density_test.c - how busy processes are, of rows that are known.
 */
#include "view/density.h"

#include "harness.h"
#include "view/view_tracks.h"
#include "view_fixture.h"

enum { BUCKETS = 10 };

/* Process 0 has the thread 1, process 1 the thread 2; thread 0 is what a CPU does when it is idle. */
static struct orma_trace_database *make_tasks(void)
{
	struct orma_trace_database *database = view_fixture_new();
	for (int i = 0; i < 2; i++) {
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_CPU, ORMA_CPU_CPU, i);
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, i + 1);
	}
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID, 0, ORMA_THREAD_IS_IDLE, 1);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID, 1, ORMA_THREAD_UPID, 0);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID, 2, ORMA_THREAD_UPID, 1);
	return database;
}

static struct orma_buf make_request(double start, double end, uint32_t buckets, uint32_t count,
				    const uint32_t *ids)
{
	const uint32_t counts[] = {buckets, count};
	struct orma_buf request = {0};
	CHECK_INT(orma_base_buf_append(&request, &start, sizeof(start)), 0);
	CHECK_INT(orma_base_buf_append(&request, &end, sizeof(end)), 0);
	CHECK_INT(orma_base_buf_append(&request, counts, sizeof(counts)), 0);
	CHECK_INT(orma_base_buf_append(&request, ids, count * sizeof(*ids)), 0);
	return request;
}

/* Checks the bytes of process 0, of process 1 and of all. */
static void check(struct orma_view *view, double start, double end,
		  const uint8_t expected[3][BUCKETS])
{
	static const uint32_t ids[] = {0, 1, ORMA_VIEW_DENSITY_OF_ALL};
	struct orma_buf request = make_request(start, end, BUCKETS, 3, ids), answer = {0};
	struct orma_error error = {0};
	CHECK_INT(orma_view_density(view, view_fixture_str(&request), &answer, &error), 0);
	CHECK_MEM(answer.data + 16, answer.size - 16, expected, 3 * BUCKETS);
	orma_base_buf_done(&answer);
	orma_base_buf_done(&request);
}

ORMA_TEST(running_threads_are_shares_of_a_cpu_and_of_all)
{
	struct orma_trace_database *database = make_tasks();
	struct orma_view view;
	/* CPU 0 runs thread 1 from 100 to 125, and idles to 200; CPU 1 runs thread 2 from 140 to the end at 200. */
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 100, ORMA_SCHED_DUR, 25,
			 ORMA_SCHED_UTID, 1, ORMA_SCHED_UCPU, 0);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 125, ORMA_SCHED_DUR, 75,
			 ORMA_SCHED_UTID, 0, ORMA_SCHED_UCPU, 0);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 140, ORMA_SCHED_DUR, -1,
			 ORMA_SCHED_UTID, 2, ORMA_SCHED_UCPU, 1);
	view_fixture_open(database, 100, 200, &view);
	static const uint8_t whole[3][BUCKETS] = {{255, 255, 128, 0, 0, 0, 0, 0, 0, 0},
						  {0, 0, 0, 0, 255, 255, 255, 255, 255, 255},
						  {128, 128, 64, 0, 128, 128, 128, 128, 128, 128}};
	check(&view, 0, 100, whole);
	/* The range from 120 to 130 begins in a row. */
	static const uint8_t part[3][BUCKETS] = {{255, 255, 255, 255, 255, 0, 0, 0, 0, 0},
						 {0},
						 {128, 128, 128, 128, 128, 0, 0, 0, 0, 0}};
	check(&view, 20, 30, part);
	static const uint8_t behind[3][BUCKETS] = {{0}, {0}, {0}};
	check(&view, 1000, 2000, behind);
	view_fixture_close(&view);
}

ORMA_TEST(without_scheduling_slices_are_the_measure)
{
	struct orma_trace_database *database = make_tasks();
	struct orma_view view;
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, 1);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_TRACK, ORMA_TRACK_UPID, 1);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SLICE, ORMA_SLICE_TS, 100, ORMA_SLICE_DUR, 50,
			 ORMA_SLICE_TRACK_ID, 0, ORMA_SLICE_DEPTH, 0);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SLICE, ORMA_SLICE_TS, 110, ORMA_SLICE_DUR, 40,
			 ORMA_SLICE_TRACK_ID, 0, ORMA_SLICE_DEPTH, 1);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SLICE, ORMA_SLICE_TS, 190, ORMA_SLICE_DUR, 10,
			 ORMA_SLICE_TRACK_ID, 1, ORMA_SLICE_DEPTH, 0);
	view_fixture_open(database, 100, 200, &view);
	static const uint8_t whole[3][BUCKETS] = {{255, 255, 255, 255, 255, 0, 0, 0, 0, 0},
						  {0, 0, 0, 0, 0, 0, 0, 0, 0, 255},
						  {128, 128, 128, 128, 128, 0, 0, 0, 0, 128}};
	check(&view, 0, 100, whole);
	view_fixture_close(&view);
}

static void check_refused(struct orma_view *view, double start, double end, uint32_t buckets,
			  uint32_t count, size_t cut)
{
	static const uint32_t ids[600];
	struct orma_buf request = make_request(start, end, buckets, count, ids), answer = {0};
	struct orma_error error = {0};
	struct orma_str body = {(const char *)request.data, request.size - cut};
	CHECK_INT(orma_view_density(view, body, &answer, &error), -EINVAL);
	CHECK(error.message[0]);
	orma_base_buf_done(&request);
}

ORMA_TEST(requests_for_densities_that_are_wrong_are_refused)
{
	struct orma_view view;
	view_fixture_open(make_tasks(), 100, 200, &view);
	check_refused(&view, 0, 100, 10, 1, 28);
	check_refused(&view, 0, 100, 10, 1, 1);
	check_refused(&view, 0, 100, 0, 1, 0);
	check_refused(&view, 0, 100, 4097, 1, 0);
	check_refused(&view, 0, 100, 10, 513, 0);
	check_refused(&view, 100, 100, 10, 1, 0);
	check_refused(&view, -1, 100, 10, 1, 0);
	check_refused(&view, 0, 1e-323, 10, 1, 0);
	check_refused(&view, 0, 0.0 / 0.0, 10, 1, 0);
	check_refused(&view, 0, 1e30, 10, 1, 0);
	view_fixture_close(&view);
}
