/* SPDX-License-Identifier: Apache-2.0
 * compact_known.c - scheduling events of a known kind, about a known task, go straight from the page into the columns.
 *
 * Nearly all events are such, and most of what else an event costs is left out: the record is not described by a struct, the
 * format's offsets and sizes are constants or values that the first event of a bundle had, and the varints of a task's
 * number and priority were made when the bundle met it.
 *
 * Invariants: an event is known if its header has the length of an event of the same id that
 * orma_compact_sched_add() has taken for this bundle, so its fields are within it. A task is known if its name, number and
 * priority are those of `tasks`, which has one task for each value of the low bits of the number. It has been reported to
 * struct orma_met, which forgets its tasks only after the columns were cleared. An event that is not known stays in the page, for
 * orma_compact_sched_add().
 */
#include <string.h>

#include "base/macros.h"
#include "probes/ftrace/compact_sched.h"
#include "probes/ftrace/put.h"

#define INLINE __attribute__((always_inline))

/*
 * Where the fields lie in the records of all 64-bit kernels so far. The task of an event is its name, number and priority,
 * one behind the other.
 */
enum {
	FLAGS_OFFSET = 2,
	SWITCH_STATE_OFFSET = 32,
	SWITCH_TASK_OFFSET = 40,
	WAKING_TASK_OFFSET = 8,
	PID_OFFSET = 16,
	PRIO_OFFSET = 20,
	/* These include the header. Records of wakings are longer in older kernels. */
	RECORD_BYTES_MIN = 40,
	SWITCH_BYTES = 68,
};
#define HEAD_MASK        (UINT64_C(0xffff) << 32 | 31)
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* --- known events and tasks ------------------------------------------------------------------ */

bool orma_compact_is_usual_switch(const struct orma_compact_format *format)
{
	return IS_LITTLE_ENDIAN && format->prev_state_bytes == 8 &&
	       format->prev_state_offset == SWITCH_STATE_OFFSET &&
	       format->next_comm_offset == SWITCH_TASK_OFFSET &&
	       format->next_pid_offset == SWITCH_TASK_OFFSET + PID_OFFSET &&
	       format->next_prio_offset == SWITCH_TASK_OFFSET + PRIO_OFFSET;
}

bool orma_compact_is_usual_waking(const struct orma_compact_format *format)
{
	return IS_LITTLE_ENDIAN && format->comm_offset == WAKING_TASK_OFFSET &&
	       format->pid_offset == WAKING_TASK_OFFSET + PID_OFFSET &&
	       format->prio_offset == WAKING_TASK_OFFSET + PRIO_OFFSET &&
	       format->flags_offset == FLAGS_OFFSET;
}

/*
 * Remembers what a record begins with, and its task, so that orma_compact_sched_take() understands the next one. Nothing is
 * remembered of a task with numbers that have no room.
 */
static void know(struct orma_compact_sched *sched, struct orma_compact_known *known,
		 const struct orma_ftrace_record *record, uint32_t task_offset, uint8_t comm_index)
{
	const uint8_t *at = record->data + task_offset;
	int32_t pid = orma_ftrace_load_i32(at + PID_OFFSET),
		prio = orma_ftrace_load_i32(at + PRIO_OFFSET);
	struct orma_compact_task *task = &sched->memory->tasks[(uint32_t)pid % ORMA_COMPACT_TASKS];
	uint8_t varint[ORMA_PROTO_VARINT_MAX + 8] = {0};

	if (record->size <= 4 * ORMA_FTRACE_SHORT_LENGTH_MAX) {
		known->head = record->size / 4 | (uint64_t)record->id << 32;
		known->bytes = 4 + record->size;
	}
	if (pid < 0 || pid >> 28 != 0 || prio < 0 || prio >> 14 != 0)
		return;
	memcpy(task->key, at, sizeof(task->key));
	task->pid_bytes = (uint8_t)(orma_put_varint(varint, (uint64_t)pid) - varint);
	memcpy(task->pid, varint, sizeof(task->pid));
	task->prio_extra_bytes = (uint8_t)(orma_put_varint(varint, (uint64_t)prio) - varint - 1);
	memcpy(task->prio, varint, sizeof(task->prio));
	task->comm_index = comm_index;
}

void orma_compact_know_switch(struct orma_compact_sched *sched,
			      const struct orma_ftrace_record *record, uint8_t comm_index)
{
	if (record->size + 4 == SWITCH_BYTES)
		know(sched, &sched->known_switch, record, SWITCH_TASK_OFFSET, comm_index);
}

void orma_compact_know_waking(struct orma_compact_sched *sched,
			      const struct orma_compact_format *format,
			      const struct orma_ftrace_record *record, uint8_t comm_index)
{
	sched->target_cpu_offset = format->target_cpu_offset;
	know(sched, &sched->known_waking, record, WAKING_TASK_OFFSET, comm_index);
}

void orma_compact_forget(struct orma_compact_sched *sched)
{
	sched->known_switch = sched->known_waking = (struct orma_compact_known){0};
	sched->head_mask = HEAD_MASK;
	memset(sched->memory->tasks, 0, sizeof(sched->memory->tasks));
	/* The only place where zeros could be taken for a task. */
	sched->memory->tasks[0].key[2] = UINT64_MAX;
}

/* --- columns -------------------------------------------------------------------------------- */

/*
 * Nearly all values of most columns have one byte. Such a column ends at at[column] + count, so that one addition moves
 * them all, and a longer value moves at[column]. The columns of times and numbers of tasks end at at[column]. An index of a
 * name always has one byte, so at[] is not used for it.
 */
struct cursor {
	struct orma_compact_ends ends;
	size_t count; /* events in the columns */
};

/* Returns false when a number has more than 14 bits. */
static inline INLINE bool put_small(struct cursor *cursor, size_t column, uint64_t value)
{
	uint16_t bytes;

	if (ORMA_LIKELY(value < 0x80)) {
		cursor->ends.at[column][cursor->count] = (uint8_t)value;
		return true;
	}
	if (value >= 0x4000)
		return false;
	bytes = (uint16_t)(value + (value & 0x3f80)) | 0x80;
	memcpy(cursor->ends.at[column] + cursor->count, &bytes, sizeof(bytes));
	cursor->ends.at[column]++;
	return true;
}

/* Inlined, it would take registers from the usual case. */
static __attribute__((noinline)) uint8_t *put_rare_time(uint8_t *at, uint64_t value)
{
	return orma_put_varint(at, value);
}

/* Differences of times from 128 ns to 2 ms are usual. */
static inline INLINE uint8_t *put_time(uint8_t *at, uint64_t value)
{
	/* The bits above the low 7 move up by one bit, and those above the low 14 by two. */
	uint32_t low = (uint32_t)value, above_7 = low & 0x1fff80, above_14 = low & 0x1fc000;

	if (ORMA_LIKELY(value - 0x80 < 0x4000 - 0x80)) {
		uint16_t bytes = (uint16_t)(low + above_7) | 0x80;
		memcpy(at, &bytes, sizeof(bytes));
		return at + 2;
	}
	if (ORMA_LIKELY(value - 0x4000 < 0x200000 - 0x4000)) {
		uint32_t bytes = (low + above_7 + 2 * above_14) | 0x8080;
		memcpy(at, &bytes, sizeof(bytes));
		return at + 3;
	}
	return put_rare_time(at, value);
}

/* The task that has the low bits of the number at `at`. */
static inline INLINE const struct orma_compact_task *
candidate(const struct orma_compact_task *tasks, const uint8_t *at)
{
	return &tasks[at[PID_OFFSET] % ORMA_COMPACT_TASKS];
}

static inline INLINE bool is_task(const struct orma_compact_task *task, const uint8_t *at)
{
	uint64_t difference = (orma_ftrace_load_u64(at) ^ task->key[0]) |
			      (orma_ftrace_load_u64(at + 8) ^ task->key[1]) |
			      (orma_ftrace_load_u64(at + 16) ^ task->key[2]);

	return ORMA_LIKELY(difference == 0);
}

static inline INLINE void put_task(struct cursor *cursor, const struct orma_compact_task *task,
				   size_t pid_column, size_t prio_column, uint8_t *comms)
{
	uint8_t **ends = cursor->ends.at;

	memcpy(ends[pid_column], task->pid, sizeof(task->pid));
	ends[pid_column] += task->pid_bytes;
	memcpy(ends[prio_column] + cursor->count, task->prio, sizeof(task->prio));
	ends[prio_column] += task->prio_extra_bytes;
	comms[cursor->count] = task->comm_index;
}

/* Nothing has changed when these return false: what is behind the end of a column has no meaning. */
static inline INLINE bool take_switch(struct orma_compact_memory *memory, const uint8_t *data,
				      uint64_t delta_ns, struct cursor *cursor)
{
	const struct orma_compact_task *task = candidate(memory->tasks, data + SWITCH_TASK_OFFSET);
	uint8_t *time_end;

	if (!is_task(task, data + SWITCH_TASK_OFFSET))
		return false;
	time_end = put_time(cursor->ends.at[ORMA_SWITCH_TIMESTAMP], delta_ns);
	if (!put_small(cursor, ORMA_SWITCH_PREV_STATE,
		       orma_ftrace_load_u64(data + SWITCH_STATE_OFFSET)))
		return false;
	cursor->ends.at[ORMA_SWITCH_TIMESTAMP] = time_end;
	put_task(cursor, task, ORMA_SWITCH_NEXT_PID, ORMA_SWITCH_NEXT_PRIO,
		 memory->switches[ORMA_SWITCH_NEXT_COMM]);
	cursor->count++;
	return true;
}

static inline INLINE bool take_waking(struct orma_compact_memory *memory, const uint8_t *data,
				      uint32_t target_cpu, uint64_t delta_ns, struct cursor *cursor)
{
	const struct orma_compact_task *task = candidate(memory->tasks, data + WAKING_TASK_OFFSET);
	uint8_t *time_end;

	if (!is_task(task, data + WAKING_TASK_OFFSET))
		return false;
	time_end = put_time(cursor->ends.at[ORMA_WAKING_TIMESTAMP], delta_ns);
	if (!put_small(cursor, ORMA_WAKING_TARGET_CPU, target_cpu))
		return false;
	cursor->ends.at[ORMA_WAKING_TIMESTAMP] = time_end;
	put_task(cursor, task, ORMA_WAKING_PID, ORMA_WAKING_PRIO,
		 memory->wakings[ORMA_WAKING_COMM]);
	put_small(cursor, ORMA_WAKING_FLAGS, data[FLAGS_OFFSET]);
	cursor->count++;
	return true;
}

static inline INLINE struct cursor begin_switches(const struct orma_compact_sched *sched)
{
	struct cursor cursor = {sched->switches, sched->switch_count};

	cursor.ends.at[ORMA_SWITCH_PREV_STATE] -= cursor.count;
	cursor.ends.at[ORMA_SWITCH_NEXT_PRIO] -= cursor.count;
	return cursor;
}

static inline INLINE void finish_switches(struct orma_compact_sched *sched, struct cursor cursor)
{
	cursor.ends.at[ORMA_SWITCH_PREV_STATE] += cursor.count;
	cursor.ends.at[ORMA_SWITCH_NEXT_PRIO] += cursor.count;
	cursor.ends.at[ORMA_SWITCH_NEXT_COMM] =
		sched->memory->switches[ORMA_SWITCH_NEXT_COMM] + cursor.count;
	sched->switches = cursor.ends;
	sched->switch_count = (uint32_t)cursor.count;
}

static inline INLINE struct cursor begin_wakings(const struct orma_compact_sched *sched)
{
	struct cursor cursor = {sched->wakings, sched->waking_count};

	cursor.ends.at[ORMA_WAKING_TARGET_CPU] -= cursor.count;
	cursor.ends.at[ORMA_WAKING_PRIO] -= cursor.count;
	cursor.ends.at[ORMA_WAKING_FLAGS] -= cursor.count;
	return cursor;
}

static inline INLINE void finish_wakings(struct orma_compact_sched *sched, struct cursor cursor)
{
	cursor.ends.at[ORMA_WAKING_TARGET_CPU] += cursor.count;
	cursor.ends.at[ORMA_WAKING_PRIO] += cursor.count;
	cursor.ends.at[ORMA_WAKING_FLAGS] += cursor.count;
	cursor.ends.at[ORMA_WAKING_COMM] = sched->memory->wakings[ORMA_WAKING_COMM] + cursor.count;
	sched->wakings = cursor.ends;
	sched->waking_count = (uint32_t)cursor.count;
}

/* The last place in the page where a record can be taken without looking at the page's end and at the columns' room. */
static const uint8_t *last_place(const struct orma_compact_sched *sched,
				 const struct orma_ftrace_page *page)
{
	size_t longest = ORMA_MAX(sched->known_switch.bytes, sched->known_waking.bytes);
	size_t left = (size_t)(page->end - page->at);
	size_t room = ORMA_COMPACT_EVENTS_MAX - ORMA_MAX(sched->switch_count, sched->waking_count);

	if (left < longest || room == 0)
		return NULL;
	return page->at + ORMA_MIN(left - longest, room * RECORD_BYTES_MIN - 1);
}

/* No record has the head of an event that is not known. */
static struct orma_compact_known known_or_none(const struct orma_compact_known *known)
{
	return known->head != 0 ? *known : (struct orma_compact_known){.head = UINT64_MAX};
}

bool orma_compact_sched_take_known(struct orma_compact_sched *sched, struct orma_ftrace_page *page)
{
	const struct orma_compact_known known_switch = known_or_none(&sched->known_switch);
	const struct orma_compact_known known_waking = known_or_none(&sched->known_waking);
	struct orma_compact_memory *memory = sched->memory;
	const uint8_t *at = page->at, *last = last_place(sched, page);
	const uint16_t target_cpu_offset = sched->target_cpu_offset;
	const uint64_t head_mask = sched->head_mask;
	uint64_t now_ns = page->now_ns;
	uint64_t last_switch_ns = sched->last_switch_ns, last_waking_ns = sched->last_waking_ns;
	struct cursor switches = begin_switches(sched), wakings = begin_wakings(sched);

	if (!last)
		return false;
	while (at <= last) {
		uint64_t head = orma_ftrace_load_u64(at);
		const uint8_t *data = at + 4;

		now_ns += orma_ftrace_header_delta((uint32_t)head);
		head &= head_mask;
		if (head == known_switch.head) {
			if (!take_switch(memory, data, now_ns - last_switch_ns, &switches))
				break;
			last_switch_ns = now_ns;
			at += SWITCH_BYTES;
		} else if (head == known_waking.head) {
			uint32_t target_cpu =
				(uint32_t)orma_ftrace_load_i32(data + target_cpu_offset);
			if (!take_waking(memory, data, target_cpu, now_ns - last_waking_ns,
					 &wakings))
				break;
			last_waking_ns = now_ns;
			at += known_waking.bytes;
		} else {
			break;
		}
	}
	if (at == page->at)
		return false;
	/* The time of a record that was not taken does not count. */
	if (at <= last)
		now_ns -= orma_ftrace_header_delta((uint32_t)orma_ftrace_load_i32(at));
	page->at = at;
	page->now_ns = now_ns;
	sched->last_switch_ns = last_switch_ns;
	sched->last_waking_ns = last_waking_ns;
	finish_switches(sched, switches);
	finish_wakings(sched, wakings);
	return true;
}
