/* SPDX-License-Identifier: Apache-2.0
 * tiles_test.c - tiles against a model that reads all rows of a line for each tile, and requests that are wrong.
 */
#include "view/tiles.h"

#include <math.h>

#include "harness.h"
#include "view_fixture.h"

enum { TRACKS = 6, ROWS = 3000, BOXES_MAX = 4 * ROWS, DEPTHS = 40, START = 1000000007 };

/* A slice as the model sees it. */
struct model_row {
	uint32_t track, depth;
	uint64_t start; /* since START */
	int64_t dur;
	uint64_t end; /* as drawn */
};

struct model {
	struct model_row rows[ROWS];
	uint32_t count;
	uint64_t end; /* the trace's */
};

struct open {
	uint64_t end; /* UINT64_MAX = it has none */
};

static uint64_t random_up_to(uint64_t *state, uint64_t most)
{
	/* All magnitudes are as likely. */
	uint64_t bits = view_fixture_random(state) % 64;
	uint64_t value = view_fixture_random(state) >> bits;
	return most == UINT64_MAX ? value : value % (most + 1);
}

/* Slices that nest, in the order of time; `spread` is the largest time between two of them. */
static void make_rows(struct model *model, uint64_t seed, uint64_t spread)
{
	struct open stacks[TRACKS][DEPTHS];
	uint32_t depths[TRACKS] = {0};
	uint64_t now = 0, random = seed;
	model->count = 0;
	while (model->count < ROWS) {
		/* The last track has no slices. */
		uint32_t track = (uint32_t)(view_fixture_random(&random) % (TRACKS - 1));
		if (model->count > 0 && view_fixture_random(&random) % 4 > 0)
			now += random_up_to(&random, spread);
		while (depths[track] > 0 && stacks[track][depths[track] - 1].end <= now)
			depths[track]--;
		uint32_t depth = depths[track];
		if (depth == DEPTHS)
			continue;
		uint64_t outer = depth > 0 ? stacks[track][depth - 1].end : UINT64_MAX;
		bool is_open = outer == UINT64_MAX && view_fixture_random(&random) % 64 == 0;
		uint64_t room = outer == UINT64_MAX ? spread * 100 : outer - now;
		uint64_t dur =
			view_fixture_random(&random) % 5 == 0 ? 0 : random_up_to(&random, room);
		model->rows[model->count++] =
			(struct model_row){.track = track,
					   .depth = depth,
					   .start = now,
					   .dur = is_open ? -1 : (int64_t)dur};
		stacks[track][depths[track]++].end = is_open ? UINT64_MAX : now + dur;
		model->end =
			is_open || now + dur < model->end ? ORMA_MAX(model->end, now) : now + dur;
	}
	for (uint32_t i = 0; i < model->count; i++) {
		struct model_row *row = &model->rows[i];
		row->end = row->dur < 0 ? model->end : row->start + (uint64_t)row->dur;
	}
}

static void open_model(const struct model *model, struct orma_view *ret)
{
	struct orma_trace_database *database = view_fixture_new();
	for (uint32_t i = 0; i < TRACKS; i++)
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_TRACK, ORMA_TRACK_PARENT_ID, ORMA_CELL_NULL);
	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_row *row = &model->rows[i];
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_SLICE, ORMA_SLICE_TS,
				 START + (int64_t)row->start, ORMA_SLICE_DUR, row->dur,
				 ORMA_SLICE_TRACK_ID, row->track, ORMA_SLICE_DEPTH, row->depth,
				 ORMA_SLICE_NAME, 1 + i % 7);
	}
	view_fixture_open(database, START, START + (int64_t)model->end, ret);
}

/* Times a quarter of a power of two: what is the longest is only told apart by them. */
static unsigned model_class(uint64_t dur)
{
	unsigned class = 0;
	if (dur == 0)
		return 0;
	for (unsigned log2 = 0; log2 < 64 && dur >> log2 > 0; log2++)
		for (uint64_t quarters = 4; quarters < 8; quarters++)
			class += (long double)dur * 4 >= ldexpl((long double)quarters, (int)log2);
	return class;
}

static bool is_power_or_more(uint64_t dur, unsigned log2)
{
	return log2 < 64 && dur >= UINT64_C(1) << log2;
}

/* Adds the boxes of a line that overlap [start, end). Small rows join within 2^join; 2^least is no more small. */
static uint32_t model_line(const struct model *model, uint32_t track, uint32_t depth,
			   long double start, long double end, unsigned join, unsigned least,
			   struct orma_box *boxes, uint32_t count)
{
	bool is_joinable = false;
	uint64_t bucket = 0;
	struct orma_box box = {0};
	uint64_t longest = 0, box_start = 0, box_end = 0;
	for (uint32_t i = 0; i <= model->count; i++) {
		const struct model_row *row = &model->rows[i];
		if (i < model->count && (row->track != track || row->depth != depth))
			continue;
		bool is_small = i < model->count && !is_power_or_more(row->end - row->start, least);
		if (box.count > 0 && (i == model->count || !is_small || !is_joinable ||
				      row->start >> join != bucket)) {
			if ((long double)box_start < end &&
			    ((long double)box_start >= start || (long double)box_end > start)) {
				CHECK(count < BOXES_MAX);
				boxes[count++] = box;
			}
			box.count = 0;
		}
		if (i == model->count)
			break;
		uint64_t dur = row->end - row->start;
		if (box.count == 0) {
			box = (struct orma_box){.start = (double)row->start,
						.depth = (uint16_t)depth};
			box_start = row->start;
			bucket = row->start >> join;
			is_joinable = is_small;
		}
		if (box.count == 0 || model_class(dur) > model_class(longest)) {
			longest = dur;
			box.row = i;
			box.name = 1 + i % 7;
		}
		box.flags =
			(uint8_t)((box.count > 0 ? ORMA_BOX_IS_MERGED : 0) |
				  (model->rows[box.row].dur == 0 ? ORMA_BOX_IS_INSTANT : 0) |
				  (box.count == 0 && row->dur < 0 ? ORMA_BOX_IS_UNFINISHED : 0));
		box.count++;
		box.end = (double)row->end;
		box_end = row->end;
	}
	return count;
}

struct expected {
	struct orma_box boxes[BOXES_MAX];
	uint32_t ends[64]; /* by tile */
	uint32_t count;
};

static void model_tiles(const struct model *model, unsigned level, uint32_t max_items,
			const struct view_fixture_tile *tiles, uint32_t count, struct expected *ret)
{
	unsigned join = level, least = level, most = ORMA_MIN(level + 9, 63U);
	for (;;) {
		ret->count = 0;
		for (uint32_t i = 0; i < count; i++) {
			long double width = ldexpl(512, (int)level),
				    start = width * (long double)tiles[i].tile;
			for (uint32_t depth = 0; depth < DEPTHS; depth++)
				ret->count = model_line(model, tiles[i].lane, depth, start,
							start + width, join, least, ret->boxes,
							ret->count);
			ret->ends[i] = ret->count;
		}
		if (ret->count <= max_items)
			return;
		if (join < most)
			join++;
		else if (least < most)
			least++;
		else
			return;
	}
}

static void check_tiles(struct orma_view *view, const struct model *model, unsigned level,
			uint32_t max_items, const struct view_fixture_tile *tiles, uint32_t count)
{
	static struct expected expected;
	struct orma_buf request = view_fixture_request(level, max_items, tiles, count),
			answer = {0};
	struct orma_error error;
	CHECK_INT(orma_view_tiles(view, view_fixture_str(&request), &answer, &error), 0);
	model_tiles(model, level, max_items, tiles, count, &expected);
	for (uint32_t i = 0; i < count; i++) {
		struct view_fixture_section section =
			view_fixture_section(&answer, sizeof(struct orma_box), count, i);
		uint32_t begin = i > 0 ? expected.ends[i - 1] : 0;
		CHECK_INT(section.lane, tiles[i].lane);
		CHECK(section.tile == tiles[i].tile);
		CHECK_INT(section.count, expected.ends[i] - begin);
		for (uint32_t k = 0; k < section.count; k++) {
			struct orma_box box;
			memcpy(&box, (const char *)section.items + k * sizeof(box), sizeof(box));
			CHECK_MEM(&box, sizeof(box), &expected.boxes[begin + k], sizeof(box));
		}
	}
	orma_base_buf_done(&answer);
	orma_base_buf_done(&request);
}

static uint64_t random_tile(const struct model *model, unsigned level, uint64_t *random)
{
	uint64_t time = model->rows[view_fixture_random(random) % model->count].start;
	uint64_t tile = level + 9 < 64 ? time >> (level + 9) : 0;
	switch (view_fixture_random(random) % 8) {
	case 0:
		return tile + 1;
	case 1:
		return tile > 0 ? tile - 1 : tile;
	case 2:
		return view_fixture_random(random);
	default:
		return tile;
	}
}

static void compare_with_model(uint64_t seed, uint64_t spread)
{
	static struct model model;
	struct orma_view view;
	uint64_t random = seed;
	model.end = 0;
	make_rows(&model, seed, spread);
	open_model(&model, &view);
	for (unsigned i = 0; i < 60; i++) {
		struct view_fixture_tile tiles[4] = {{0}};
		unsigned level = (unsigned)(view_fixture_random(&random) % 63);
		uint32_t count = 1 + (uint32_t)(view_fixture_random(&random) % 4);
		for (uint32_t k = 0; k < count; k++) {
			tiles[k].lane = (uint32_t)(view_fixture_random(&random) % TRACKS);
			tiles[k].tile = random_tile(&model, level, &random);
		}
		uint32_t limit =
			i % 3 ? 100000 : 1 + (uint32_t)(view_fixture_random(&random) % 300);
		check_tiles(&view, &model, level, limit, tiles, count);
	}
	view_fixture_close(&view);
}

ORMA_TEST(tiles_of_dense_slices_are_as_in_the_model)
{
	compare_with_model(1, 8);
}

ORMA_TEST(tiles_of_slices_at_few_times_are_as_in_the_model)
{
	compare_with_model(2, 1);
}

ORMA_TEST(tiles_of_common_slices_are_as_in_the_model)
{
	compare_with_model(3, 50000);
}

ORMA_TEST(tiles_of_sparse_slices_are_as_in_the_model)
{
	compare_with_model(4, UINT64_C(1) << 40);
}

ORMA_TEST(tiles_of_a_trace_of_many_years_are_as_in_the_model)
{
	compare_with_model(5, UINT64_C(1) << 44);
}

/* Two CPUs and two threads; thread 1 waits for I/O. */
static void open_kernel_rows(struct orma_view *view)
{
	struct orma_trace_database *database = view_fixture_new();
	uint32_t states[3] = {0};
	static const char *const texts[] = {"Running", "D", "R"};
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(orma_tables_add_string(&database->tables, orma_base_str(texts[i]),
						 &states[i]),
			  0);
	for (int i = 0; i < 2; i++) {
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_CPU, ORMA_CPU_CPU, i);
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID, i);
	}
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 100, ORMA_SCHED_DUR, 10,
			 ORMA_SCHED_UTID, 1, ORMA_SCHED_PRIORITY, 98, ORMA_SCHED_UCPU, 1);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 110, ORMA_SCHED_DUR, -1,
			 ORMA_SCHED_UTID, 0, ORMA_SCHED_PRIORITY, 120, ORMA_SCHED_UCPU, 1);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD_STATE, ORMA_THREAD_STATE_TS, 100,
			 ORMA_THREAD_STATE_DUR, 20, ORMA_THREAD_STATE_UTID, 1,
			 ORMA_THREAD_STATE_STATE, states[0]);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD_STATE, ORMA_THREAD_STATE_TS, 120,
			 ORMA_THREAD_STATE_DUR, 30, ORMA_THREAD_STATE_UTID, 1,
			 ORMA_THREAD_STATE_STATE, states[1], ORMA_THREAD_STATE_IO_WAIT, 1);
	view_fixture_open(database, 100, 200, view);
}

static struct orma_box only_box(struct orma_view *view, uint32_t lane, uint32_t level,
				uint64_t tile, uint32_t idx, uint32_t count)
{
	struct view_fixture_tile wanted = {.lane = lane, .tile = tile};
	struct orma_buf request = view_fixture_request(level, 0, &wanted, 1), answer = {0};
	struct orma_error error;
	struct orma_box box;
	CHECK_INT(orma_view_tiles(view, view_fixture_str(&request), &answer, &error), 0);
	struct view_fixture_section section =
		view_fixture_section(&answer, sizeof(struct orma_box), 1, 0);
	CHECK_INT(section.count, count);
	memcpy(&box, (const char *)section.items + idx * sizeof(box), sizeof(box));
	orma_base_buf_done(&request);
	orma_base_buf_done(&answer);
	return box;
}

ORMA_TEST(boxes_tell_the_category_of_their_longest_slice)
{
	/* These numbers are those of signOfCategory() in web/colour.js. */
	static const uint8_t expected[] = {138, 200, 200, 0, 245, 48, 237};
	static const char *const texts[] = {"gpu",      "cpu1",     "cpu22", NULL,
					    "Zähler 7", "описание", "計測🚀"};
	enum { COUNT = ORMA_ARRAY_SIZE(expected) };
	struct orma_trace_database *database = view_fixture_new();
	uint32_t ids[COUNT] = {0};
	for (size_t i = 0; i < COUNT; i++)
		if (texts[i])
			CHECK_INT(orma_store_pool_add(&database->tables.strings,
						      orma_base_str(texts[i]), &ids[i]),
				  0);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_TRACK, ORMA_TRACK_PARENT_ID, ORMA_CELL_NULL);
	for (int i = 0; i < COUNT; i++)
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_SLICE, ORMA_SLICE_TS, 10 * i, ORMA_SLICE_DUR,
				 i + 1, ORMA_SLICE_TRACK_ID, 0, ORMA_SLICE_DEPTH, 0,
				 ORMA_SLICE_NAME, ids[0], ORMA_SLICE_CATEGORY,
				 ids[i] ? ids[i] : ORMA_CELL_NULL);
	struct orma_view view;
	view_fixture_open(database, 0, 100, &view);
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK_INT(only_box(&view, 0, 0, 0, i, COUNT).category, expected[i]);
	struct orma_box joined = only_box(&view, 0, 4, 0, 0, 4);
	CHECK_INT(joined.count, 2);
	CHECK_INT(joined.category, expected[1]);
	view_fixture_close(&view);
}

ORMA_TEST(boxes_of_cpus_name_threads_and_tell_their_priority)
{
	struct orma_view view;
	open_kernel_rows(&view);
	struct orma_box box =
		only_box(&view, orma_view_lane_of(&view, ORMA_VIEW_SCHED, 1), 0, 0, 0, 2);
	CHECK_INT(box.name, 1);
	CHECK_INT(box.flags, ORMA_BOX_IS_REAL_TIME);
	box = only_box(&view, orma_view_lane_of(&view, ORMA_VIEW_SCHED, 1), 0, 0, 1, 2);
	CHECK_INT(box.name, 0);
	CHECK_INT(box.flags, ORMA_BOX_IS_UNFINISHED);
	CHECK_INT((long long)box.start, 10);
	CHECK_INT((long long)box.end, 100);
	view_fixture_close(&view);
}

ORMA_TEST(boxes_of_threads_have_states_and_whether_they_wait_for_io)
{
	struct orma_view view;
	open_kernel_rows(&view);
	uint32_t lane = orma_view_lane_of(&view, ORMA_VIEW_THREAD_STATES, 1);
	struct orma_box box = only_box(&view, lane, 0, 0, 1, 2);
	CHECK(box.name < view.thread_state_count);
	CHECK(view.thread_states[box.name].is_io_wait);
	CHECK(orma_base_str_is(
		orma_store_pool_get(&view.strings, (uint32_t)view.thread_states[box.name].state),
		"D"));
	box = only_box(&view, lane, 0, 0, 0, 2);
	CHECK(!view.thread_states[box.name].is_io_wait);
	view_fixture_close(&view);
}

static void check_refused(struct orma_view *view, const void *bytes, size_t size, int expected,
			  const char *part)
{
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	struct orma_str request = {bytes, size};
	CHECK_INT(orma_view_tiles(view, request, &answer, &error), expected);
	if (!strstr(error.message, part))
		orma_test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.message,
			       part);
	CHECK_INT(answer.size, 0);
	orma_base_buf_done(&answer);
}

ORMA_TEST(requests_that_are_wrong_are_refused)
{
	struct orma_view view;
	struct view_fixture_tile tile = {.lane = 0};
	open_kernel_rows(&view);
	check_refused(&view, "", 0, -EINVAL, "0 bytes");
	struct orma_buf request = view_fixture_request(63, 0, &tile, 1);
	check_refused(&view, request.data, request.size, -EINVAL, "level 63");
	check_refused(&view, request.data, 15, -EINVAL, "15 bytes");
	request.data[0] = 0;
	check_refused(&view, request.data, request.size - 1, -EINVAL, "31 bytes");
	request.data[12] = 1;
	check_refused(&view, request.data, request.size, -EINVAL, "32 bytes");
	request.data[12] = 0;
	request.data[9] = 16;
	check_refused(&view, request.data, request.size, -EINVAL, "more than 4096");
	request.data[9] = 0;
	/* The lanes are those of two CPUs and two threads. */
	request.data[16] = 4;
	check_refused(&view, request.data, request.size, -ENOENT, "no lane 4");
	request.data[16] = 3;
	request.data[20] = 1;
	check_refused(&view, request.data, request.size, -EINVAL, "lane 3");
	orma_base_buf_done(&request);
	view_fixture_close(&view);
}

ORMA_TEST(a_request_of_no_tiles_is_a_head)
{
	struct orma_view view;
	struct orma_buf request = view_fixture_request(0, 0, NULL, 0), answer = {0};
	struct orma_error error;
	open_kernel_rows(&view);
	CHECK_INT(orma_view_tiles(&view, view_fixture_str(&request), &answer, &error), 0);
	CHECK_INT(answer.size, 16);
	orma_base_buf_done(&answer);
	orma_base_buf_done(&request);
	view_fixture_close(&view);
}

ORMA_TEST(tiles_behind_the_end_of_time_are_empty)
{
	struct orma_view view;
	uint32_t count = 0;
	open_kernel_rows(&view);
	struct view_fixture_tile tiles[] = {{.lane = 1, .tile = UINT64_MAX},
					    {.lane = 1, .tile = UINT64_MAX >> 9},
					    {.lane = 1, .tile = 1}};
	for (uint32_t level = 0; level <= 62; level++) {
		struct orma_buf request = view_fixture_request(level, 0, tiles, 3), answer = {0};
		struct orma_error error;
		CHECK_INT(orma_view_tiles(&view, view_fixture_str(&request), &answer, &error), 0);
		for (uint32_t i = 0; i < 3; i++)
			count += view_fixture_section(&answer, sizeof(struct orma_box), 3, i).count;
		orma_base_buf_done(&answer);
		orma_base_buf_done(&request);
	}
	CHECK_INT(count, 0);
	view_fixture_close(&view);
}

ORMA_TEST(tiles_report_that_memory_is_short)
{
	static struct model model;
	struct orma_view view = {0};
	struct view_fixture_tile tile = {.lane = 1};
	make_rows(&model, 1, 8);
	open_model(&model, &view);
	struct orma_buf request = view_fixture_request(4, 0, &tile, 1);
	for (uint64_t n = 1; n <= 2; n++) {
		struct orma_buf answer = {0};
		struct orma_error error;
		orma_test_fail_allocation(n);
		CHECK_INT(orma_view_tiles(&view, view_fixture_str(&request), &answer, &error),
			  -ENOMEM);
		orma_base_buf_done(&answer);
	}
	orma_test_fail_allocation(0);
	orma_base_buf_done(&request);
	view_fixture_close(&view);
}

ORMA_TEST(lanes_report_that_memory_is_short)
{
	static struct model model;
	struct orma_view view = {0};
	make_rows(&model, 1, 8);
	open_model(&model, &view);
	struct orma_view other = {.database = view.database};
	uint64_t failures = 0;
	for (uint64_t n = 1;; n++) {
		orma_test_fail_allocation(n);
		int r = orma_view_state_init(&other);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_view_state_done(&other);
		if (!has_failed)
			break;
		CHECK_INT(r, -ENOMEM);
		failures++;
	}
	CHECK(failures > 20);
	view_fixture_close(&view);
}
