/* SPDX-License-Identifier: Apache-2.0
 * top_rows_test.c - no event is lost when names come and go, and memory has a limit.
 */
#include "tool/top/top_rows.h"

#include "harness.h"

static struct orma_top_row *get(struct orma_top_rows *rows, const char *name)
{
	return orma_top_rows_get(rows, orma_base_str(name));
}

static void add(struct orma_top_rows *rows, const char *name, uint64_t ns)
{
	struct orma_top_row *row = get(rows, name);
	row->running.events++;
	orma_top_row_add_value(rows, row, ns);
}

static uint64_t events_of_all(const struct orma_top_rows *rows)
{
	uint64_t events = 0;
	for (size_t i = 0; i < rows->count; i++) {
		const struct orma_top_row *row = rows->all[i];
		events += row->all.events + row->running.events;
		if (row->values)
			CHECK_INT(row->values->all.count + row->values->running.count,
				  row->all.events + row->running.events);
	}
	return events;
}

static void start(struct orma_top_rows *rows, size_t max)
{
	CHECK_INT(orma_top_rows_init(rows, max, 12345), 0);
}

ORMA_TEST(figures_of_an_interval_become_the_last_ones_and_are_added_to_all)
{
	struct orma_top_rows rows;
	start(&rows, 10);
	add(&rows, "a", 100);
	add(&rows, "a", 300);
	orma_top_rows_end_interval(&rows);
	add(&rows, "a", 50);
	const struct orma_top_row *a = get(&rows, "a");
	CHECK_INT(a->last.events, 2);
	CHECK_INT(a->all.events, 2);
	CHECK_INT(a->running.events, 1);
	CHECK_INT(a->values->last.max, 300);
	orma_top_rows_end_interval(&rows);
	CHECK_INT(a->last.events, 1);
	CHECK_INT(a->all.events, 3);
	CHECK_INT(a->values->last.max, 50);
	CHECK_INT(a->values->all.max, 300);
	orma_top_rows_end_interval(&rows);
	CHECK_INT(a->last.events, 0);
	CHECK_INT(a->values->last.count, 0);
	orma_top_rows_done(&rows);
}

ORMA_TEST(the_past_is_a_ring)
{
	struct orma_top_rows rows;
	start(&rows, 10);
	for (int i = 0; i < ORMA_TOP_PAST + 5; i++) {
		add(&rows, "a", 1);
		if (i == ORMA_TOP_PAST)
			add(&rows, "a", 1);
		orma_top_rows_end_interval(&rows);
	}
	const struct orma_top_row *a = get(&rows, "a");
	unsigned newest = (rows.now + ORMA_TOP_PAST - 1) % ORMA_TOP_PAST;
	CHECK_INT(a->past[newest], 1);
	CHECK_INT(a->past[(newest + ORMA_TOP_PAST - 4) % ORMA_TOP_PAST], 2);
	CHECK_INT(a->past[rows.now], 0);
	CHECK_INT(a->values->heat[newest][1], 1);
	CHECK_INT(a->values->heat[rows.now][1], 0);
	orma_top_rows_done(&rows);
}

ORMA_TEST(names_without_room_are_counted_as_other)
{
	struct orma_top_rows rows;
	start(&rows, 4);
	add(&rows, "a", 1);
	add(&rows, "b", 1);
	add(&rows, "c", 1);
	add(&rows, "d", 1);
	add(&rows, "e", 1);
	CHECK_INT(rows.count, 4);
	CHECK(orma_top_rows_find(&rows, ORMA_STR("d")) == NULL);
	CHECK(orma_top_rows_find(&rows, ORMA_STR("(other)")) == rows.other);
	CHECK_INT(rows.other->running.events, 2);
	CHECK_INT(events_of_all(&rows), 5);
	orma_top_rows_done(&rows);
}

ORMA_TEST(quiet_rows_are_folded_when_room_is_needed)
{
	struct orma_top_rows rows;
	char name[16];
	uint64_t added = 0;
	start(&rows, 8);
	get(&rows, "held")->held++;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 5; i++) {
			snprintf(name, sizeof(name), "%d.%d", round, i);
			add(&rows, name, (uint64_t)i * 1000);
			added++;
		}
		CHECK_INT(events_of_all(&rows), added);
		for (int i = 0; i < ORMA_TOP_PAST + 1; i++)
			orma_top_rows_end_interval(&rows);
		CHECK_INT(events_of_all(&rows), added);
	}
	CHECK(rows.folded > 0);
	CHECK(orma_top_rows_find(&rows, ORMA_STR("9.4")));
	CHECK(!orma_top_rows_find(&rows, ORMA_STR("0.0")));
	CHECK(orma_top_rows_find(&rows, ORMA_STR("held")));
	orma_top_rows_done(&rows);
}

ORMA_TEST(zeroed_rows_have_no_figures_and_held_ones_stay)
{
	struct orma_top_rows rows;
	start(&rows, 8);
	add(&rows, "a", 5);
	add(&rows, "b", 5);
	struct orma_top_row *b = get(&rows, "b");
	b->held = 1;
	orma_top_rows_end_interval(&rows);
	orma_top_rows_zero(&rows);
	CHECK_INT(rows.count, 2);
	CHECK(get(&rows, "b") == b);
	CHECK_INT(b->all.events + b->last.events, 0);
	CHECK(b->values == NULL);
	CHECK_INT(events_of_all(&rows), 0);
	orma_top_rows_done(&rows);
}

ORMA_TEST(long_names_are_cut_between_characters)
{
	struct orma_top_rows rows;
	char name[ORMA_TOP_NAME_MAX_BYTES + 10];
	memset(name, 'a', sizeof(name));
	memcpy(name + ORMA_TOP_NAME_MAX_BYTES - 1, "\xc3\xa4", 2);
	start(&rows, 4);
	const struct orma_top_row *row =
		orma_top_rows_get(&rows, (struct orma_str){name, sizeof(name)});
	CHECK_INT(row->name_size, ORMA_TOP_NAME_MAX_BYTES - 1);
	CHECK(orma_top_rows_get(&rows, (struct orma_str){name, sizeof(name)}) == row);
	orma_top_rows_done(&rows);
}

ORMA_TEST(without_memory_events_are_counted_as_other)
{
	struct orma_top_rows rows;
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		int r = orma_top_rows_init(&rows, 4, 1);
		if (r == 0) {
			add(&rows, "a", 7);
			get(&rows, "b")->running.events++;
			orma_top_rows_end_interval(&rows);
		}
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(r == 0 || (r == -ENOMEM && has_failed));
		uint64_t events = 0;
		for (size_t i = 0; r == 0 && i < rows.count; i++)
			events += rows.all[i]->all.events;
		CHECK_INT(events, r == 0 ? 2 : 0);
		orma_top_rows_done(&rows);
		if (!has_failed)
			return;
	}
}
