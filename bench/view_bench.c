/* SPDX-License-Identifier: Apache-2.0
 * view_bench.c - the cost of a page of `orma view`: the lanes of a trace, screens of 50 rows by 1,920 pixels at three zooms, and
 * answers about rows.
 *
 * Usage: bench_view TRACE
 *
 * All times are of the CPU, of one thread. Each request is made five times, and the fastest counts.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "view/counters.h"
#include "view/density.h"
#include "view/tile_request.h"
#include "view/tiles.h"
#include "view/view_state.h"
#include "view/view_tracks.h"

enum { RUNS = 5, SCREEN_ROWS = 50, SCREEN_PIXELS = 1920 };

static double milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The first lanes of a table that fill a screen. Returns how many there are. */
static size_t choose_lanes(const struct orma_view *view, enum orma_view_table table, uint32_t *ret)
{
	const struct orma_lanes *lanes = &view->lanes[table];
	size_t count = 0, rows = 0;
	for (uint32_t lane = 0; lane < lanes->lane_count && rows < SCREEN_ROWS; lane++) {
		uint32_t first, end = orma_lanes_lines(lanes, lane, &first);
		rows += end - first;
		if (end > first)
			ret[count++] = orma_view_lane_of(view, table, lane);
	}
	return count;
}

/* Asks for what is in [start, start + length) of some lanes, at one or two pixels a bucket. */
static struct orma_buf make_request(const uint32_t *lanes, size_t lane_count, uint64_t start,
				    uint64_t length)
{
	uint32_t head[4] = {0};
	struct orma_buf request = {0};
	while ((length >> head[0]) > SCREEN_PIXELS)
		head[0]++;
	unsigned shift = head[0] + ORMA_TILE_SHIFT;
	uint64_t first = start >> shift, last = (start + length - 1) >> shift;
	head[2] = (uint32_t)(lane_count * (last - first + 1));
	int r = orma_base_buf_append(&request, head, sizeof(head));
	for (size_t i = 0; i < lane_count; i++)
		for (uint64_t tile = first; tile <= last && r == 0; tile++) {
			uint64_t pair[2] = {lanes[i], tile};
			r = orma_base_buf_append(&request, pair, sizeof(pair));
		}
	if (r < 0)
		abort();
	return request;
}

static void measure(struct orma_view *view, enum orma_view_table table, orma_view_fn *fn,
		    const char *name)
{
	static const unsigned zooms[] = {1, 10, 1000};
	uint32_t lanes[SCREEN_ROWS];
	size_t lane_count = choose_lanes(view, table, lanes);
	uint64_t all = view->lanes[table].end_ns;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(zooms) && lane_count > 0; i++) {
		uint64_t length = all / zooms[i], start = (all - length) / 2;
		struct orma_buf request = make_request(lanes, lane_count, start, length);
		struct orma_str body = {(const char *)request.data, request.size};
		double best = 1e9;
		size_t bytes = 0;
		for (int run = 0; run < RUNS; run++) {
			struct orma_buf answer = {0};
			struct orma_error error = {0};
			double before = milliseconds();
			if (fn(view, body, &answer, &error) < 0)
				printf("%s\n", error.message);
			best = ORMA_MIN(best, milliseconds() - before);
			bytes = answer.size;
			orma_base_buf_done(&answer);
		}
		printf("%9.2f ms %8zu bytes  %s, %zu lanes, 1/%u of the trace\n", best, bytes, name,
		       lane_count, zooms[i]);
		orma_base_buf_done(&request);
	}
}

static void print_memory(const struct orma_view *view)
{
	size_t bytes = 0, rows = 0;
	for (size_t i = 0; i < ORMA_VIEW_TABLES; i++) {
		bytes += view->lanes[i].memory.size_bytes;
		rows += orma_store_table_rows(view->lanes[i].table);
	}
	printf("%9.2f bytes per row of %zu rows\n", rows ? (double)bytes / (double)rows : 0, rows);
}

static void ask(struct orma_view *view, const char *name, const char *request)
{
	const struct orma_view_route *route = orma_view_routes;
	double best = 1e9;
	size_t bytes = 0;
	while (strcmp(route->name, name) != 0)
		route++;
	for (int run = 0; run < RUNS; run++) {
		struct orma_buf answer = {0};
		struct orma_error error = {0};
		double before = milliseconds();
		if (route->fn(view, orma_base_str(request), &answer, &error) < 0)
			printf("%s\n", error.message);
		best = ORMA_MIN(best, milliseconds() - before);
		bytes = answer.size;
		orma_base_buf_done(&answer);
	}
	printf("%9.2f ms %8zu bytes  %s %s\n", best, bytes, name, request);
}

/* A click, an area of a million slices, and a search. */
static void ask_about_rows(struct orma_view *view)
{
	uint64_t slices = orma_store_table_rows(view->lanes[ORMA_VIEW_SLICES].table);
	double end = (double)view->lanes[ORMA_VIEW_SLICES].end_ns;
	char request[128];
	if (slices == 0)
		return;
	snprintf(request, sizeof(request), "{\"table\":\"slice\",\"id\":%llu}",
		 (unsigned long long)slices / 2);
	ask(view, "detail", request);
	double part = ORMA_MIN(1.0, 1e6 / (double)slices);
	snprintf(request, sizeof(request), "{\"start\":%.0f,\"end\":%.0f}", end / 4,
		 end / 4 + end * part);
	ask(view, "area", request);
	ask(view, "flame", request);
	ask(view, "search", "{\"text\":\"name_7\"}");
}

/* The map of the whole trace, and of its first process. */
static void ask_density(struct orma_view *view)
{
	const struct {
		double start, end;
		uint32_t buckets, count, ids[2];
	} question = {0,
		      (double)view->lanes[ORMA_VIEW_SLICES].end_ns,
		      2048,
		      2,
		      {ORMA_VIEW_DENSITY_OF_ALL, 0}};
	struct orma_str request = {(const char *)&question, sizeof(question)};
	double best = 1e9;
	for (int run = 0; run < RUNS; run++) {
		struct orma_buf answer = {0};
		struct orma_error error = {0};
		double before = milliseconds();
		if (orma_view_density(view, request, &answer, &error) < 0)
			printf("%s\n", error.message);
		best = ORMA_MIN(best, milliseconds() - before);
		orma_base_buf_done(&answer);
	}
	printf("%9.2f ms  density of all and of one process, 2,048 parts of the trace\n", best);
}

/* Opens the trace by an index, as a second `orma view` does, and makes the lanes. */
static int open_by_index(struct orma_trace_database *database, int fd)
{
	struct orma_trace_database *again;
	struct orma_view *view;
	struct orma_error error = {0};
	FILE *file = tmpfile();
	struct orma_trace_index index = {.fd = file ? fileno(file) : -1};
	int r = file ? orma_trace_database_write_index(database, fd, &index) : -1;
	double before = milliseconds();
	if (r == 0)
		r = orma_trace_database_open_index(fd, &index, NULL, &again, &error);
	if (r == 0) {
		printf("%9.2f ms  opened by its index\n", milliseconds() - before);
		r = orma_view_new(again, "trace", &view);
		printf("%9.2f ms  and lanes and tree made\n", milliseconds() - before);
		if (r == 0)
			orma_view_free(view);
		orma_trace_database_free(again);
	}
	if (file)
		fclose(file);
	return r;
}

int main(int argc, char **argv)
{
	struct orma_trace_database *database = NULL;
	struct orma_view *view = NULL;
	struct orma_error error = {0};
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: %s TRACE\n", argv[0]);
		return 2;
	}
	if (orma_trace_database_open(fd, NULL, &database, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	double before = milliseconds();
	if (orma_view_new(database, argv[1], &view) < 0)
		return 1;
	printf("%9.2f ms  lanes of all tables\n", milliseconds() - before);
	print_memory(view);
	measure(view, ORMA_VIEW_SLICES, orma_view_tiles, "slices");
	measure(view, ORMA_VIEW_SCHED, orma_view_tiles, "CPUs");
	measure(view, ORMA_VIEW_THREAD_STATES, orma_view_tiles, "states of threads");
	measure(view, ORMA_VIEW_COUNTERS, orma_view_counters, "counters");
	ask_about_rows(view);
	ask_density(view);
	orma_view_free(view);
	if (open_by_index(database, fd) < 0)
		fprintf(stderr, "the trace cannot be opened by its index\n");
	orma_trace_database_free(database);
	close(fd);
	return 0;
}
