/* SPDX-License-Identifier: Apache-2.0
 * raw_events_test.c - rows of kernel events that are made later are those that were left out, where they belong.
 */
#include "trace/raw_events.h"

#include <errno.h>
#include <stdlib.h>

#include "harness.h"

enum { EVENTS = 30000, CPUS = 3, UTIDS = 40, SWITCH_NAME = 7, OTHER_NAME = 8 };

/* A trace that is being read, and the rows that its events have to become. */
struct world {
	struct orma_tables tables;
	struct orma_raw_events events;
	uint64_t state;
	int64_t running[CPUS]; /* utids; -1 = not known */
	int64_t (*rows)[ORMA_FTRACE_EVENT_COLUMNS];
	uint64_t row_count;
};

static uint32_t draw(struct world *world, uint32_t below)
{
	world->state = world->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(world->state >> 33) % below;
}

static void begin(struct world *world)
{
	*world = (struct world){.state = 1, .running = {-1, -1, -1}};
	world->events.tables = &world->tables;
	world->events.switch_name = SWITCH_NAME;
	CHECK_INT(orma_tables_init(&world->tables, 0, NULL), 0);
	world->rows = calloc(EVENTS, sizeof(*world->rows));
	CHECK(world->rows);
}

static void end(struct world *world)
{
	orma_raw_events_done(&world->events);
	orma_tables_done(&world->tables);
	free(world->rows);
}

static int64_t *expect(struct world *world, int64_t ts, int64_t name, int64_t utid, int64_t ucpu)
{
	int64_t *row = world->rows[world->row_count++];
	for (size_t i = 0; i < ORMA_FTRACE_EVENT_COLUMNS; i++)
		row[i] = ORMA_CELL_NULL;
	row[ORMA_FTRACE_EVENT_TS] = ts;
	row[ORMA_FTRACE_EVENT_NAME] = name;
	row[ORMA_FTRACE_EVENT_UTID] = utid;
	row[ORMA_FTRACE_EVENT_UCPU] = ucpu;
	row[ORMA_FTRACE_EVENT_COMMON_FLAGS] = 0;
	return row;
}

static int add_other(struct world *world, int64_t ts)
{
	int64_t *row = expect(world, ts, OTHER_NAME, draw(world, UTIDS), draw(world, CPUS));
	row[ORMA_FTRACE_EVENT_COMMON_FLAGS] = draw(world, 4);
	row[ORMA_FTRACE_EVENT_PACKET] = draw(world, 2) ? ts * 10 : ORMA_CELL_NULL;
	return orma_raw_events_add(&world->events, row);
}

/* Some rows of sched tell their event, some events have a row of their own, and some rows of sched have no event. */
static int add_switch(struct world *world, int64_t ts)
{
	uint32_t cpu = draw(world, CPUS), how = draw(world, 10);
	int64_t stopped = world->running[cpu], next = draw(world, UTIDS);
	int64_t cells[ORMA_SCHED_COLUMNS] = {[ORMA_SCHED_TS] = ts,
					     [ORMA_SCHED_DUR] = -1,
					     [ORMA_SCHED_UTID] = next,
					     [ORMA_SCHED_END_STATE] = ORMA_CELL_NULL,
					     [ORMA_SCHED_UCPU] = cpu};
	struct orma_table *sched = &world->tables.all[ORMA_TABLE_SCHED];
	uint64_t row = orma_store_table_rows(sched);
	int r = orma_store_table_append(sched, cells);
	world->running[cpu] = next;
	if (r < 0 || how == 0)
		return r;
	if (how == 1 || stopped < 0)
		return orma_raw_events_add(&world->events,
					   expect(world, ts, SWITCH_NAME, stopped + UTIDS, cpu));
	expect(world, ts, SWITCH_NAME, stopped, cpu);
	return orma_raw_events_tell(&world->events, row);
}

/* `others`: of ten events, how many are no switches. */
static void add_events(struct world *world, uint32_t others)
{
	for (int i = 0; i < EVENTS; i++)
		CHECK_INT(draw(world, 10) < others ? add_other(world, 100 + i)
						   : add_switch(world, 100 + i),
			  0);
	CHECK_INT(orma_tables_seal(&world->tables), 0);
}

static void check_rows(const struct world *world)
{
	const struct orma_table *table = &world->tables.all[ORMA_TABLE_FTRACE_EVENT];
	CHECK_INT(orma_store_table_rows(table), world->row_count);
	for (size_t i = 0; i < ORMA_FTRACE_EVENT_COLUMNS; i++)
		for (uint64_t row = 0; row < world->row_count; row++)
			CHECK_INT(orma_store_column_get(&table->columns[i], row),
				  world->rows[row][i]);
}

ORMA_TEST(rows_that_were_left_out_come_where_they_belong)
{
	for (uint32_t others = 0; others <= 10; others += 5) {
		struct world world;
		begin(&world);
		add_events(&world, others);
		CHECK_INT(orma_raw_events_count(&world.events), world.row_count);
		CHECK_INT(orma_raw_events_finish(&world.events), 0);
		CHECK_INT(orma_raw_events_count(&world.events), world.row_count);
		check_rows(&world);
		CHECK_INT(orma_raw_events_finish(&world.events), 0);
		check_rows(&world);
		end(&world);
	}
}

ORMA_TEST(switches_alone_have_no_rows_until_they_are_asked_for)
{
	struct world world;
	begin(&world);
	add_events(&world, 0);
	CHECK(orma_store_table_rows(&world.tables.all[ORMA_TABLE_FTRACE_EVENT]) < EVENTS / 5);
	end(&world);
}

ORMA_TEST(each_allocation_of_the_rows_may_fail)
{
	for (uint64_t nth = 1;; nth++) {
		struct world world;
		begin(&world);
		add_events(&world, 5);
		orma_test_fail_allocation(nth);
		int r = orma_raw_events_finish(&world.events);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		/* Half of the rows are not all of them, so there is no second try. */
		CHECK_INT(orma_raw_events_finish(&world.events), r);
		end(&world);
		if (!has_failed)
			break;
	}
}
