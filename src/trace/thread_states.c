/* SPDX-License-Identifier: Apache-2.0
 * thread_states.c - the states of threads from switches and wakings.
 *
 * The rows of threads are twice as many as switches, and cost as much as all else that a switch becomes. Many questions do not
 * need them. So while a trace is read, only what the rows of sched do not say is noted: wakings, new tasks, why a
 * thread blocks, and switches that contradict the one before. The rows are made when they are asked for. Invariants: as long as
 * `is_direct` is false, there are no rows of thread_state, and each row of sched is one switch; a note says how many rows of sched come
 * before it, and a switch that is noted replaces what that row says.
 *
 * A row is added when a state begins and gets its duration when it ends. That needs cells of the last row of each
 * thread, which are kept beside the table. The idle task is not a thread with states.
 */
#include "trace/thread_states.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"
#include "trace/row_reader.h"

enum { FLAG_HARDIRQ = 0x08, FLAG_SOFTIRQ = 0x10, NO_FLAGS = -1 };

enum note_kind { NOTE_SWITCH, NOTE_WAKING, NOTE_NEW_TASK, NOTE_BLOCKED };
enum {
	NOTE_ROW, /* number of the row of sched that comes after it */
	NOTE_KIND,
	NOTE_TS,
	NOTE_UTID,  /* the thread; for a switch, the one that stops */
	NOTE_OTHER, /* the waker or the parent; whether it waits for a disk */
	NOTE_CELL,  /* the state or the function */
	NOTE_FLAGS,
	NOTE_COLUMNS,
};
static const struct orma_column_spec note_columns[NOTE_COLUMNS] = {
	[NOTE_ROW] = {"row", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
	[NOTE_KIND] = {"kind", ORMA_COLUMN_INT, 0},
	[NOTE_TS] = {"ts", ORMA_COLUMN_INT, 0},
	[NOTE_UTID] = {"utid", ORMA_COLUMN_INT, 0},
	[NOTE_OTHER] = {"other", ORMA_COLUMN_INT, 0},
	[NOTE_CELL] = {"cell", ORMA_COLUMN_INT, ORMA_COLUMN_SPARSE},
	[NOTE_FLAGS] = {"flags", ORMA_COLUMN_INT, 0},
};

static void forget_notes(struct orma_thread_states *states)
{
	if (states->notes.columns) {
		orma_store_table_done(&states->notes);
		orma_store_extents_done(&states->extents);
	}
}

void orma_thread_states_done(struct orma_thread_states *states)
{
	forget_notes(states);
	orma_base_free(states->threads);
	states->threads = NULL;
	states->thread_count = 0;
}

static int find_thread(struct orma_thread_states *states, int64_t utid,
		       struct orma_thread_run **ret)
{
	if (ORMA_UNLIKELY(utid >= states->thread_count)) {
		uint32_t count = states->thread_count;
		int r = orma_store_grow(&states->threads, (uint64_t)utid + 1, &count,
					sizeof(*states->threads));
		if (r < 0)
			return r;
		for (; states->thread_count < count; states->thread_count++)
			states->threads[states->thread_count] =
				(struct orma_thread_run){.row = -1, .blocked_row = -1};
	}
	*ret = &states->threads[utid];
	return 0;
}

static int set_cell(struct orma_thread_states *states, size_t column, int64_t row, int64_t cell)
{
	return orma_store_column_set(
		orma_tables_column(states->tables, ORMA_TABLE_THREAD_STATE, column), (uint64_t)row,
		cell);
}

static int close_state(struct orma_thread_states *states, const struct orma_thread_run *thread,
		       int64_t ts)
{
	return thread->row < 0
		       ? 0
		       : set_cell(states, ORMA_THREAD_STATE_DUR, thread->row, ts - thread->ts);
}

static int64_t irq_context(int32_t flags)
{
	return flags == NO_FLAGS ? ORMA_CELL_NULL : (flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ)) != 0;
}

struct new_state {
	int64_t ts, utid, state, ucpu, waker_utid;
	int32_t flags;
};

static int open_state(struct orma_thread_states *states, const struct new_state *new)
{
	struct orma_table *table = &states->tables->all[ORMA_TABLE_THREAD_STATE];
	uint32_t machine_idx = states->processes->threads[new->utid].machine_idx;
	struct orma_thread_run *thread, *waker = NULL;
	bool has_waker = new->waker_utid >= 0;
	if (new->utid == states->processes->machines[machine_idx].idle_utid)
		return 0;
	int r = has_waker ? find_thread(states, new->waker_utid, &waker) : 0;
	bool is_waker_running =
		r == 0 && has_waker && waker->row >= 0 && waker->state == states->running;
	int64_t cells[ORMA_THREAD_STATE_COLUMNS] = {
		[ORMA_THREAD_STATE_TS] = new->ts,
		[ORMA_THREAD_STATE_DUR] = -1,
		[ORMA_THREAD_STATE_UTID] = new->utid,
		[ORMA_THREAD_STATE_STATE] = new->state,
		[ORMA_THREAD_STATE_IO_WAIT] = ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_BLOCKED_FUNCTION] = ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_WAKER_UTID] = has_waker ? new->waker_utid : ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_WAKER_ID] = is_waker_running ? waker->row : ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_IRQ_CONTEXT] = irq_context(new->flags),
		[ORMA_THREAD_STATE_UCPU] = new->ucpu >= 0 ? new->ucpu : ORMA_CELL_NULL,
	};
	/* The waker's entry is read above, because this may move it. */
	if (r == 0)
		r = find_thread(states, new->utid, &thread);
	int64_t row = (int64_t)orma_store_table_rows(table);
	if (r == 0)
		r = orma_store_table_append(table, cells);
	if (r != 0)
		return r;
	bool is_blocked = new->state != states->running &&new->state != states->runnable;
	if (is_blocked)
		thread->blocked_row = row;
	else if (new->state == states->running)
		thread->blocked_row = -1;
	thread->row = row;
	thread->ts = new->ts;
	thread->state = new->state;
	return 0;
}

/* One thread stops and another begins. */
static int apply_switch(struct orma_thread_states *states, const struct orma_thread_switch *event)
{
	struct orma_thread_run *prev, *next;
	int64_t ts = event->ts;
	int r = find_thread(states, event->prev_utid, &prev);
	/* If the thread did not run, its switch was lost, and when its last state ended is not known. */
	if (r == 0 && (prev->row < 0 || prev->state == states->running))
		r = close_state(states, prev, ts);
	if (r == 0)
		r = open_state(states, &(struct new_state){ts, event->prev_utid, event->prev_state,
							   -1, -1, NO_FLAGS});
	if (r == 0)
		r = find_thread(states, event->next_utid, &next);
	if (r == 0)
		r = close_state(states, next, ts);
	if (r == 0)
		r = open_state(states, &(struct new_state){ts, event->next_utid, states->running,
							   event->ucpu, -1, NO_FLAGS});
	return r;
}

static int add_spurious(struct orma_thread_states *states, int64_t ts, int64_t row, int64_t utid,
			int64_t waker_utid, int32_t flags)
{
	int64_t cells[ORMA_SPURIOUS_WAKEUP_COLUMNS] = {
		[ORMA_SPURIOUS_WAKEUP_TS] = ts,
		[ORMA_SPURIOUS_WAKEUP_THREAD_STATE_ID] = row,
		[ORMA_SPURIOUS_WAKEUP_IRQ_CONTEXT] = irq_context(flags),
		[ORMA_SPURIOUS_WAKEUP_UTID] = utid,
		[ORMA_SPURIOUS_WAKEUP_WAKER_UTID] = waker_utid};
	return orma_store_table_append(&states->tables->all[ORMA_TABLE_SPURIOUS_WAKEUP], cells);
}

static int apply_waking(struct orma_thread_states *states, int64_t ts, int64_t utid,
			int64_t waker_utid, int32_t flags)
{
	struct orma_thread_run *thread;
	int r = find_thread(states, utid, &thread);
	if (r < 0)
		return r;
	if (thread->row >= 0 &&
	    (thread->state == states->running || thread->state == states->runnable))
		return add_spurious(states, ts, thread->row, utid, waker_utid, flags);
	r = close_state(states, thread, ts);
	return r < 0 ? r
		     : open_state(states, &(struct new_state){ts, utid, states->runnable, -1,
							      waker_utid, flags});
}

static int apply_blocked(struct orma_thread_states *states, int64_t utid, int64_t io_wait,
			 int64_t function)
{
	int64_t row = utid < states->thread_count ? states->threads[utid].blocked_row : -1;
	int r = 0;
	if (row >= 0 && io_wait != ORMA_CELL_NULL)
		r = set_cell(states, ORMA_THREAD_STATE_IO_WAIT, row, io_wait);
	if (row >= 0 && r == 0 && function != ORMA_CELL_NULL)
		r = set_cell(states, ORMA_THREAD_STATE_BLOCKED_FUNCTION, row, function);
	return r;
}

static int add_note(struct orma_thread_states *states, int64_t cells[NOTE_COLUMNS])
{
	if (!states->notes.columns) {
		states->extents =
			(struct orma_extents){.fd = -1, .budget = &states->tables->budget};
		int r = orma_store_table_init(&states->notes, "notes", note_columns, NOTE_COLUMNS,
					      &states->extents);
		if (r < 0)
			return r;
	}
	cells[NOTE_ROW] = (int64_t)orma_store_table_rows(&states->tables->all[ORMA_TABLE_SCHED]);
	/* The row of the switch itself is there already. */
	cells[NOTE_ROW] -= cells[NOTE_KIND] == NOTE_SWITCH;
	return orma_store_table_append(&states->notes, cells);
}

int orma_thread_states_switch(struct orma_thread_states *states,
			      const struct orma_thread_switch *event)
{
	if (states->is_direct)
		return apply_switch(states, event);
	if (event->is_told)
		return 0;
	return add_note(states, (int64_t[NOTE_COLUMNS]){[NOTE_KIND] = NOTE_SWITCH,
							[NOTE_TS] = event->ts,
							[NOTE_UTID] = event->prev_utid,
							[NOTE_CELL] = event->prev_state});
}

int orma_thread_states_waking(struct orma_thread_states *states, int64_t ts, int64_t utid,
			      int64_t waker_utid, int32_t flags)
{
	if (states->is_direct)
		return apply_waking(states, ts, utid, waker_utid, flags);
	return add_note(states, (int64_t[NOTE_COLUMNS]){[NOTE_KIND] = NOTE_WAKING,
							[NOTE_TS] = ts,
							[NOTE_UTID] = utid,
							[NOTE_OTHER] = waker_utid,
							[NOTE_CELL] = ORMA_CELL_NULL,
							[NOTE_FLAGS] = flags});
}

int orma_thread_states_new_task(struct orma_thread_states *states, int64_t ts, int64_t utid,
				int64_t parent_utid)
{
	if (states->is_direct)
		return open_state(states, &(struct new_state){ts, utid, states->runnable, -1,
							      parent_utid, 0});
	return add_note(states, (int64_t[NOTE_COLUMNS]){[NOTE_KIND] = NOTE_NEW_TASK,
							[NOTE_TS] = ts,
							[NOTE_UTID] = utid,
							[NOTE_OTHER] = parent_utid,
							[NOTE_CELL] = ORMA_CELL_NULL});
}

int orma_thread_states_blocked(struct orma_thread_states *states, int64_t utid, int64_t io_wait,
			       int64_t function)
{
	if (states->is_direct)
		return apply_blocked(states, utid, io_wait, function);
	return add_note(states, (int64_t[NOTE_COLUMNS]){[NOTE_KIND] = NOTE_BLOCKED,
							[NOTE_UTID] = utid,
							[NOTE_OTHER] = io_wait,
							[NOTE_CELL] = function});
}

/* The thread that runs on a CPU, as the rows of sched so far say. */
struct cpu_run {
	int64_t utid, end_state;
};

struct replay {
	struct orma_thread_states *states;
	struct orma_row_reader sched, notes;
	struct cpu_run *cpus; /* by ucpu */
	uint32_t cpu_count;
};

static int apply_note(struct orma_thread_states *states, const int64_t *note)
{
	int64_t ts = ORMA_ROW_CELL(note, NOTE_TS), utid = ORMA_ROW_CELL(note, NOTE_UTID),
		other = ORMA_ROW_CELL(note, NOTE_OTHER);
	switch ((enum note_kind)ORMA_ROW_CELL(note, NOTE_KIND)) {
	case NOTE_WAKING:
		return apply_waking(states, ts, utid, other,
				    (int32_t)ORMA_ROW_CELL(note, NOTE_FLAGS));
	case NOTE_NEW_TASK:
		return open_state(states,
				  &(struct new_state){ts, utid, states->runnable, -1, other, 0});
	case NOTE_BLOCKED:
		return apply_blocked(states, utid, other, ORMA_ROW_CELL(note, NOTE_CELL));
	case NOTE_SWITCH:
		break; /* apply_row() takes it */
	}
	return 0;
}

/* Applies the notes before a row of sched. 1 (the note at hand replaces what the row says), 0 or a negative errno value. */
static int apply_notes(struct replay *replay, uint64_t row)
{
	const int64_t *note;
	while ((note = orma_row_reader_peek(&replay->notes)) &&
	       (uint64_t)ORMA_ROW_CELL(note, NOTE_ROW) <= row) {
		if (ORMA_ROW_CELL(note, NOTE_KIND) == NOTE_SWITCH)
			return 1;
		int r = apply_note(replay->states, note);
		if (r < 0)
			return r;
		replay->notes.next++;
	}
	return 0;
}

static struct cpu_run *find_cpu(struct replay *replay, int64_t ucpu)
{
	if (ucpu >= replay->cpu_count) {
		uint32_t old = replay->cpu_count;
		if (orma_store_grow(&replay->cpus, (uint64_t)ucpu + 1, &replay->cpu_count,
				    sizeof(*replay->cpus)) < 0)
			return NULL;
		for (; old < replay->cpu_count; old++)
			replay->cpus[old] = (struct cpu_run){0, 0};
	}
	return &replay->cpus[ucpu];
}

enum { ROW_TS, ROW_UTID, ROW_END_STATE, ROW_UCPU };
static const size_t row_columns[] = {ORMA_SCHED_TS, ORMA_SCHED_UTID, ORMA_SCHED_END_STATE,
				     ORMA_SCHED_UCPU};
static const size_t all_note_columns[NOTE_COLUMNS] = {NOTE_ROW,   NOTE_KIND, NOTE_TS,   NOTE_UTID,
						      NOTE_OTHER, NOTE_CELL, NOTE_FLAGS};

/* Applies a row of sched, which is a switch. `is_noted`: the note at hand says what stopped. */
static int apply_row(struct replay *replay, const int64_t *row, bool is_noted)
{
	struct cpu_run *cpu = find_cpu(replay, ORMA_ROW_CELL(row, ROW_UCPU));
	if (!cpu)
		return -ENOMEM;
	struct orma_thread_switch event = {.ts = ORMA_ROW_CELL(row, ROW_TS),
					   .ucpu = ORMA_ROW_CELL(row, ROW_UCPU),
					   .next_utid = ORMA_ROW_CELL(row, ROW_UTID),
					   .prev_utid = cpu->utid,
					   .prev_state = cpu->end_state};
	if (is_noted) {
		const int64_t *note = orma_row_reader_peek(&replay->notes);
		event.prev_utid = ORMA_ROW_CELL(note, NOTE_UTID);
		event.prev_state = ORMA_ROW_CELL(note, NOTE_CELL);
		replay->notes.next++;
	}
	cpu->utid = event.next_utid;
	cpu->end_state = ORMA_ROW_CELL(row, ROW_END_STATE);
	return apply_switch(replay->states, &event);
}

static int run(struct replay *replay)
{
	const int64_t *row;
	int r = 0;
	while (r >= 0 && (row = orma_row_reader_peek(&replay->sched))) {
		r = apply_notes(replay, replay->sched.next);
		if (r >= 0)
			r = apply_row(replay, row, r > 0);
		replay->sched.next++;
	}
	return r < 0 ? r : ORMA_MIN(apply_notes(replay, UINT64_MAX), 0);
}

static int apply_all(struct orma_thread_states *states)
{
	struct orma_table *sched = &states->tables->all[ORMA_TABLE_SCHED];
	struct replay replay = {.states = states};
	int r = orma_store_table_seal(sched);
	if (r == 0 && states->notes.columns)
		r = orma_store_table_seal(&states->notes);
	if (r == 0)
		r = orma_row_reader_begin(&replay.sched, sched, row_columns,
					  ORMA_ARRAY_SIZE(row_columns));
	if (r == 0)
		r = orma_row_reader_begin(&replay.notes, &states->notes, all_note_columns,
					  NOTE_COLUMNS);
	if (r == 0)
		r = run(&replay);
	orma_row_reader_done(&replay.sched);
	orma_row_reader_done(&replay.notes);
	orma_base_free(replay.cpus);
	return r;
}

int orma_thread_states_apply(struct orma_thread_states *states)
{
	if (states->is_direct || states->error < 0)
		return states->error;
	states->error = apply_all(states);
	states->is_direct = true;
	forget_notes(states);
	return states->error;
}

int orma_thread_states_finish(struct orma_thread_states *states)
{
	struct orma_table *all = states->tables->all;
	int r = orma_thread_states_apply(states);
	if (r == 0)
		r = orma_store_table_seal(&all[ORMA_TABLE_THREAD_STATE]);
	return r < 0 ? r : orma_store_table_seal(&all[ORMA_TABLE_SPURIOUS_WAKEUP]);
}

int orma_thread_states_push(struct orma_thread_states *states, int64_t ts, int64_t utid,
			    int64_t state, int64_t ucpu, bool *ret_is_repeated)
{
	struct orma_thread_run *thread;
	int r = find_thread(states, utid, &thread);
	if (r < 0)
		return r;
	*ret_is_repeated = thread->row >= 0 && thread->ts == ts;
	r = close_state(states, thread, ts);
	return r < 0 ? r
		     : open_state(states, &(struct new_state){ts, utid, state, ucpu, -1, NO_FLAGS});
}

int orma_thread_states_replace(struct orma_thread_states *states, int64_t utid, int64_t state)
{
	if (utid >= states->thread_count || states->threads[utid].row < 0)
		return 0;
	states->threads[utid].state = state;
	return set_cell(states, ORMA_THREAD_STATE_STATE, states->threads[utid].row, state);
}

int64_t orma_thread_states_of(const struct orma_thread_states *states, int64_t utid)
{
	return utid < states->thread_count && states->threads[utid].row >= 0
		       ? states->threads[utid].state
		       : ORMA_CELL_NULL;
}
