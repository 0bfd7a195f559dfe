/* SPDX-License-Identifier: Apache-2.0
 * thread_states_test.c - states that are made later are those that would have been made at once.
 */
#include "trace/thread_states.h"

#include "harness.h"
#include "trace/sched.h"

enum { EVENTS = 3 * ORMA_BLOCK_ROWS, CPUS = 4, TASKS = 30 };

struct world {
	struct orma_tables tables;
	struct orma_processes processes;
	struct orma_row_args args;
	struct orma_sched sched;
	uint32_t random;
};

static uint32_t draw(struct world *world, uint32_t below)
{
	world->random = world->random * 1664525 + 1013904223;
	return (world->random >> 8) % below;
}

static int begin(struct world *world)
{
	*world = (struct world){.random = 7};
	world->processes.tables = world->sched.tables = world->sched.states.tables = &world->tables;
	world->processes.process_args = world->processes.thread_args = &world->args;
	world->sched.processes = world->sched.states.processes = &world->processes;
	int r = orma_tables_init(&world->tables, 0, NULL);
	if (r == 0)
		r = orma_processes_add_machine(&world->processes, 0);
	return r == 0 ? orma_processes_set_idle(&world->processes, 0) : r;
}

static void end(struct world *world)
{
	orma_sched_done(&world->sched);
	orma_processes_done(&world->processes);
	orma_tables_done(&world->tables);
}

static int add_switch(struct world *world, int64_t ts)
{
	struct orma_sched_switch event = {.ts = ts,
					  .cpu = draw(world, CPUS),
					  .prev_tid = draw(world, TASKS),
					  .prev_state = draw(world, 3),
					  .next_tid = draw(world, TASKS),
					  .prev_comm = ORMA_CELL_NULL,
					  .next_comm = ORMA_CELL_NULL};
	int64_t running = orma_sched_running(&world->sched, 0, event.cpu);
	event.is_compact = draw(world, 3) > 0;
	event.is_early = draw(world, 50) == 0;
	/* Most switches agree with the one before. */
	if (running >= 0 && draw(world, 10) > 0)
		event.prev_tid = world->processes.threads[running].tid;
	int r = orma_sched_switch(&world->sched, &event);
	return r < 0 ? r : 0;
}

static int add_event(struct world *world, int64_t ts)
{
	int64_t tid = 1 + draw(world, TASKS - 1);
	int64_t utid = orma_processes_thread(&world->processes, 0, tid);
	int64_t other = orma_processes_thread(&world->processes, 0, 1 + draw(world, TASKS - 1));
	if (utid < 0 || other < 0)
		return -ENOMEM;
	switch (draw(world, 8)) {
	case 0:
	case 1:
		return orma_sched_waking(&world->sched, ts, 0, tid, draw(world, 5) ? other : -1,
					 draw(world, 2) ? (int32_t)draw(world, 0x20) : -1);
	case 2:
		return draw(world, 4) ? 0 : orma_sched_new_task(&world->sched, ts, utid, other);
	case 3:
		return orma_sched_blocked_reason(&world->sched, utid, draw(world, 2),
						 draw(world, 2) ? 1 : ORMA_CELL_NULL);
	default:
		return add_switch(world, ts);
	}
}

/* `applied_at`: the event before which all rows are made. */
static int run(struct world *world, int applied_at)
{
	int r = begin(world);
	for (int i = 0; i < EVENTS && r == 0; i++) {
		if (i == applied_at)
			r = orma_sched_apply_states(&world->sched);
		if (r == 0)
			r = add_event(world, 100 + i);
	}
	if (r == 0)
		r = orma_tables_seal(&world->tables);
	return r == 0 ? orma_thread_states_finish(&world->sched.states) : r;
}

static void compare(const struct world *a, const struct world *b, enum orma_table_id id)
{
	const struct orma_table *x = &a->tables.all[id], *y = &b->tables.all[id];
	uint64_t rows = orma_store_table_rows(x);
	CHECK(rows > 100);
	CHECK_INT(orma_store_table_rows(y), rows);
	for (size_t i = 0; i < x->column_count; i++) {
		CHECK_INT(orma_store_column_rows(&x->columns[i]), rows);
		CHECK_INT(orma_store_column_rows(&y->columns[i]), rows);
		for (uint64_t row = 0; row < rows; row++)
			CHECK_INT(orma_store_column_get(&x->columns[i], row),
				  orma_store_column_get(&y->columns[i], row));
	}
}

ORMA_TEST(rows_that_are_made_later_are_those_that_are_made_at_once)
{
	static const int applied_at[] = {1, EVENTS / 2, EVENTS};
	struct world *at_once = calloc(1, sizeof(*at_once)), *later = calloc(1, sizeof(*later));
	CHECK(at_once && later);
	CHECK_INT(run(at_once, 0), 0);
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(run(later, applied_at[i]), 0);
		compare(at_once, later, ORMA_TABLE_THREAD_STATE);
		compare(at_once, later, ORMA_TABLE_SPURIOUS_WAKEUP);
		end(later);
	}
	end(at_once);
	free(at_once);
	free(later);
}

ORMA_TEST(states_that_nobody_asks_for_have_no_rows)
{
	struct world *world = calloc(1, sizeof(*world));
	CHECK(world);
	CHECK_INT(begin(world), 0);
	for (int i = 0; i < EVENTS; i++)
		CHECK_INT(add_event(world, 100 + i), 0);
	CHECK_INT(orma_store_table_rows(&world->tables.all[ORMA_TABLE_THREAD_STATE]), 0);
	CHECK(orma_store_table_rows(&world->tables.all[ORMA_TABLE_SCHED]) > EVENTS / 4);
	end(world);
	free(world);
}

ORMA_TEST(each_allocation_of_the_states_may_fail)
{
	struct world *world = calloc(1, sizeof(*world));
	CHECK(world);
	for (uint64_t nth = 1;; nth++) {
		CHECK_INT(begin(world), 0);
		for (int i = 0; i < 2000; i++)
			CHECK_INT(add_event(world, 100 + i), 0);
		orma_test_fail_allocation(nth);
		int r = orma_thread_states_finish(&world->sched.states);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		/* Half of the rows are not all of them, so there is no second try. */
		CHECK_INT(orma_thread_states_finish(&world->sched.states), r);
		end(world);
		if (!has_failed)
			break;
	}
	free(world);
}

/* A tid is asked for with each switch, so the answer is remembered; it must not outlive the thread. */
ORMA_TEST(a_tid_means_its_newest_live_thread)
{
	enum { OTHER_TID = 7 + ORMA_RECENT_THREADS };
	struct world world;
	CHECK_INT(begin(&world), 0);
	struct orma_processes *processes = &world.processes;
	CHECK_INT(orma_processes_add_machine(processes, 1), 0);
	int64_t first = orma_processes_thread(processes, 0, 7);
	int64_t other = orma_processes_thread(processes, 0, OTHER_TID);
	int64_t foreign = orma_processes_thread(processes, 1, 7);
	CHECK(first >= 0 && other >= 0 && foreign >= 0);
	CHECK(first != other && first != foreign && other != foreign);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(orma_processes_thread(processes, 0, 7), first);
		CHECK_INT(orma_processes_thread(processes, 0, OTHER_TID), other);
		CHECK_INT(orma_processes_thread(processes, 1, 7), foreign);
	}
	CHECK_INT(orma_processes_thread(processes, 0, 7), first);
	CHECK_INT(orma_processes_end_thread(processes, 0, 10, 7), 0);
	int64_t second = orma_processes_thread(processes, 0, 7);
	CHECK(second > foreign);
	int64_t third = orma_processes_start_thread(processes, 0, 20, 7);
	CHECK(third > second);
	CHECK_INT(orma_processes_thread(processes, 0, 7), third);
	CHECK(orma_processes_start_process(processes, 0, 30, -1, 7, ORMA_CELL_NULL,
					   ORMA_THREAD_NAME_FTRACE) >= 0);
	int64_t fourth = orma_processes_thread(processes, 0, 7);
	CHECK(fourth > third);
	CHECK_INT(orma_processes_thread(processes, 1, 7), foreign);
	end(&world);
}

/* Does something that changes threads, processes or what numbers mean, or asks for a thread. Returns what the function returns. */
static int64_t change_or_ask(struct world *world)
{
	struct orma_processes *processes = &world->processes;
	uint32_t machine_idx = draw(world, 2), kind = draw(world, 16);
	int64_t tid = draw(world, 12), pid = draw(world, 6);
	int64_t utid = draw(world, processes->thread_count);
	int64_t other = draw(world, processes->thread_count);
	switch (kind) {
	case 0:
		return orma_processes_start_thread(processes, machine_idx, 5, tid);
	case 1:
		return orma_processes_start_process(processes, machine_idx, 5, -1, pid,
						    ORMA_CELL_NULL, ORMA_THREAD_NAME_OTHER);
	case 2:
		return orma_processes_end_thread(processes, machine_idx, 6, tid);
	case 3:
		/* Threads of one process are of one machine. */
		return processes->threads[utid].machine_idx != processes->threads[other].machine_idx
			       ? 0
			       : orma_processes_link_threads(processes, utid, other);
	case 4:
		return orma_processes_thread(processes, machine_idx, tid);
	default:
		return orma_processes_thread_of(processes, machine_idx, tid, pid);
	}
}

ORMA_TEST(a_thread_that_is_remembered_is_the_one_that_a_search_finds)
{
	struct world remembers, forgets;
	CHECK_INT(begin(&remembers), 0);
	CHECK_INT(begin(&forgets), 0);
	CHECK_INT(orma_processes_add_machine(&remembers.processes, 1), 0);
	CHECK_INT(orma_processes_add_machine(&forgets.processes, 1), 0);
	for (int i = 0; i < 20000; i++) {
		memset(forgets.processes.found, 0, sizeof(forgets.processes.found));
		CHECK_INT(change_or_ask(&remembers), change_or_ask(&forgets));
		CHECK_INT(remembers.processes.thread_count, forgets.processes.thread_count);
	}
	for (uint32_t i = 0; i < remembers.processes.thread_count; i++)
		CHECK_INT(remembers.processes.threads[i].upid, forgets.processes.threads[i].upid);
	end(&remembers);
	end(&forgets);
}
