/* SPDX-License-Identifier: Apache-2.0
 * compact_sched.c - collects scheduling events in columns.
 *
 *	switch_timestamp   | 1000000 |  250 |  310 | ...      the first is absolute, the others are differences
 *	switch_next_pid    |     712 |    0 |  712 | ...
 *	switch_next_comm   |       0 |    1 |    0 | ...  ->  intern_table: "bash", "swapper/0"
 *
 * A context switch takes 8 to 10 bytes in this form and 85 as a message of its own. prev_pid and prev_comm are left out,
 * because they are the next_pid and next_comm of the switch before on the same CPU. This is why wakings are only written
 * in columns beside switches: their common_pid is the task that runs.
 *
 * Invariants: each column of a kind holds as many varints as its count says. comms[0 .. comm_count) are different, and
 * comm_slots finds each by linear probing. The columns have room for ORMA_COMPACT_EVENTS_MAX of the longest varints, so
 * adding checks the counts only. A task in `tasks` has been reported to struct orma_met, which forgets its tasks only after
 * the columns were cleared.
 *
 * Names are compared as two words with the bytes behind the NUL cleared; kernels before 5.4 leave old bytes there. Rejected:
 * a search through all names, as upstream does (up to 64 comparisons of strings for each event). Most events do not come
 * here, because compact_known.c takes them straight from the page.
 */
#include "probes/ftrace/compact_sched.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "probes/ftrace/put.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"

#define COMM_BYTES 16
#define INLINE     __attribute__((always_inline))

/* --- the kernel's format -------------------------------------------------------------------- */

/* Sets the offset of a field if it is of this kind and size. */
static bool find(const struct orma_ftrace_format *format, const char *name,
		 enum orma_ftrace_kind kind, uint16_t size, uint16_t *ret_offset)
{
	const struct orma_ftrace_field *field =
		orma_ftrace_format_field(format, orma_base_str(name));

	if (!field)
		return false;
	*ret_offset = field->offset;
	return field->kind == kind && field->size == size;
}

static void learn_switch(struct orma_compact_format *compact,
			 const struct orma_ftrace_format *format)
{
	bool is_long =
		find(format, "prev_state", ORMA_FTRACE_INTEGER, 8, &compact->prev_state_offset);

	compact->prev_state_bytes = is_long ? 8 : 4;
	compact->switch_id = 0;
	if ((is_long ||
	     find(format, "prev_state", ORMA_FTRACE_INTEGER, 4, &compact->prev_state_offset)) &&
	    find(format, "next_pid", ORMA_FTRACE_PID, 4, &compact->next_pid_offset) &&
	    find(format, "next_prio", ORMA_FTRACE_INTEGER, 4, &compact->next_prio_offset) &&
	    find(format, "next_comm", ORMA_FTRACE_TEXT, COMM_BYTES, &compact->next_comm_offset)) {
		compact->switch_id = format->id;
		compact->switch_bytes = format->record_bytes;
		compact->is_usual_switch = orma_compact_is_usual_switch(compact);
	}
}

static void learn_waking(struct orma_compact_format *compact,
			 const struct orma_ftrace_format *format)
{
	compact->waking_id = 0;
	if (find(format, "pid", ORMA_FTRACE_PID, 4, &compact->pid_offset) &&
	    find(format, "target_cpu", ORMA_FTRACE_INTEGER, 4, &compact->target_cpu_offset) &&
	    find(format, "prio", ORMA_FTRACE_INTEGER, 4, &compact->prio_offset) &&
	    find(format, "comm", ORMA_FTRACE_TEXT, COMM_BYTES, &compact->comm_offset) &&
	    find(format, "common_flags", ORMA_FTRACE_INTEGER, 1, &compact->flags_offset)) {
		compact->waking_id = format->id;
		compact->waking_bytes = format->record_bytes;
		compact->is_usual_waking = orma_compact_is_usual_waking(compact);
	}
}

void orma_compact_format_learn(struct orma_compact_format *compact,
			       const struct orma_ftrace_event *event,
			       const struct orma_ftrace_format *format)
{
	if (event->encoding != ORMA_FTRACE_TYPED)
		return;
	if (event->field_id == ORMA_PB_FTRACE_EVENT_SCHED_SWITCH)
		learn_switch(compact, format);
	else if (event->field_id == ORMA_PB_FTRACE_EVENT_SCHED_WAKING)
		learn_waking(compact, format);
}

void orma_compact_format_forget(struct orma_compact_format *compact, uint16_t id)
{
	if (compact->switch_id == id)
		compact->switch_id = 0;
	if (compact->waking_id == id)
		compact->waking_id = 0;
}

/* --- names ---------------------------------------------------------------------------------- */

/* The word with all bytes behind its first NUL cleared. */
static uint64_t clear_behind_nul(uint64_t word, bool *has_nul)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t little = le64toh(word);
	/* The lowest set bit marks the first NUL; marks above it may be wrong. */
	uint64_t marks = (little - ones) & ~little & ones << 7;

	if (marks == 0)
		return word;
	*has_nul = true;
	return htole64(little & ((marks & -marks) - 1) >> 7 /* bytes before the mark */);
}

static struct orma_compact_comm clean_comm(struct orma_compact_comm comm)
{
	bool has_nul = false;

	comm.words[0] = clear_behind_nul(comm.words[0], &has_nul);
	comm.words[1] = has_nul ? 0 : clear_behind_nul(comm.words[1], &has_nul);
	return comm;
}

static uint32_t home_slot(struct orma_compact_comm comm)
{
	uint64_t hash = (comm.words[0] ^ (comm.words[1] << 32 | comm.words[1] >> 32)) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(hash >> 56) % ORMA_COMPACT_SLOTS;
}

/* Returns the slot that has the name, or the empty one where it belongs. */
static uint32_t find_slot(const struct orma_compact_sched *sched, struct orma_compact_comm comm)
{
	uint32_t slot = home_slot(comm);

	for (;; slot = (slot + 1) % ORMA_COMPACT_SLOTS) {
		uint32_t index = sched->comm_slots[slot];
		if (index == 0)
			return slot;
		const struct orma_compact_comm *known = &sched->comms[index - 1];
		if (known->words[0] == comm.words[0] && known->words[1] == comm.words[1])
			return slot;
	}
}

/* Returns the index of a name; -1 = no room. */
static int add_comm(struct orma_compact_sched *sched, const uint8_t *at)
{
	struct orma_compact_comm comm;

	memcpy(&comm, at, sizeof(comm));
	comm = clean_comm(comm);
	uint32_t slot = find_slot(sched, comm);
	if (sched->comm_slots[slot] != 0)
		return sched->comm_slots[slot] - 1;
	if (sched->comm_count == ORMA_COMPACT_COMMS_MAX)
		return -1;
	sched->comms[sched->comm_count++] = comm;
	sched->comm_slots[slot] = (uint8_t)sched->comm_count;
	return (int)sched->comm_count - 1;
}

/* --- columns -------------------------------------------------------------------------------- */

static void append(uint8_t **end, int64_t value)
{
	*end = orma_put_varint(*end, (uint64_t)value);
}

static bool add_switch(struct orma_compact_sched *sched, const struct orma_compact_format *format,
		       const struct orma_ftrace_record *record, struct orma_met *met)
{
	const uint8_t *data = record->data, *state = data + format->prev_state_offset;
	const uint8_t *comm = data + format->next_comm_offset;
	uint8_t **ends = sched->switches.at;
	int32_t pid = orma_ftrace_load_i32(data + format->next_pid_offset);
	int32_t prio = orma_ftrace_load_i32(data + format->next_prio_offset);
	int index = sched->switch_count < ORMA_COMPACT_EVENTS_MAX ? add_comm(sched, comm) : -1;

	ORMA_ASSERT(record->size >= format->switch_bytes);
	if (index < 0)
		return false;
	orma_met_task(met, pid, comm);
	append(&ends[ORMA_SWITCH_TIMESTAMP],
	       (int64_t)(record->timestamp_ns - sched->last_switch_ns));
	append(&ends[ORMA_SWITCH_PREV_STATE], format->prev_state_bytes == 8
						      ? (int64_t)orma_ftrace_load_u64(state)
						      : orma_ftrace_load_i32(state));
	append(&ends[ORMA_SWITCH_NEXT_PID], pid);
	append(&ends[ORMA_SWITCH_NEXT_PRIO], prio);
	append(&ends[ORMA_SWITCH_NEXT_COMM], index);
	sched->last_switch_ns = record->timestamp_ns;
	sched->switch_count++;
	if (format->is_usual_switch)
		orma_compact_know_switch(sched, record, (uint8_t)index);
	return true;
}

static bool add_waking(struct orma_compact_sched *sched, const struct orma_compact_format *format,
		       const struct orma_ftrace_record *record, struct orma_met *met)
{
	const uint8_t *data = record->data, *comm = data + format->comm_offset;
	uint8_t **ends = sched->wakings.at;
	int32_t pid = orma_ftrace_load_i32(data + format->pid_offset);
	int32_t prio = orma_ftrace_load_i32(data + format->prio_offset);
	int index = sched->waking_count < ORMA_COMPACT_EVENTS_MAX ? add_comm(sched, comm) : -1;

	ORMA_ASSERT(record->size >= format->waking_bytes);
	if (index < 0)
		return false;
	orma_met_task(met, pid, comm);
	append(&ends[ORMA_WAKING_TIMESTAMP],
	       (int64_t)(record->timestamp_ns - sched->last_waking_ns));
	append(&ends[ORMA_WAKING_PID], pid);
	append(&ends[ORMA_WAKING_TARGET_CPU],
	       orma_ftrace_load_i32(data + format->target_cpu_offset));
	append(&ends[ORMA_WAKING_PRIO], prio);
	append(&ends[ORMA_WAKING_COMM], index);
	append(&ends[ORMA_WAKING_FLAGS], data[format->flags_offset]);
	sched->last_waking_ns = record->timestamp_ns;
	sched->waking_count++;
	if (format->is_usual_waking)
		orma_compact_know_waking(sched, format, record, (uint8_t)index);
	return true;
}

bool orma_compact_sched_add(struct orma_compact_sched *sched,
			    const struct orma_compact_format *format,
			    const struct orma_ftrace_record *record, struct orma_met *met)
{
	return record->id == format->switch_id ? add_switch(sched, format, record, met)
					       : add_waking(sched, format, record, met);
}

/* --- the bundle ----------------------------------------------------------------------------- */

static void write_column(struct orma_packet *packet, uint32_t field_id, const uint8_t *begin,
			 const uint8_t *end)
{
	if (end > begin)
		orma_packet_bytes(packet, field_id, begin, (size_t)(end - begin));
}

#define FIELD(name) ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##name

static void write_columns(const struct orma_compact_sched *sched, struct orma_packet *packet)
{
	static const uint8_t switch_fields[ORMA_SWITCH_COLUMNS] = {
		[ORMA_SWITCH_TIMESTAMP] = FIELD(SWITCH_TIMESTAMP),
		[ORMA_SWITCH_PREV_STATE] = FIELD(SWITCH_PREV_STATE),
		[ORMA_SWITCH_NEXT_PID] = FIELD(SWITCH_NEXT_PID),
		[ORMA_SWITCH_NEXT_PRIO] = FIELD(SWITCH_NEXT_PRIO),
		[ORMA_SWITCH_NEXT_COMM] = FIELD(SWITCH_NEXT_COMM_INDEX),
	};
	static const uint8_t waking_fields[ORMA_WAKING_COLUMNS] = {
		[ORMA_WAKING_TIMESTAMP] = FIELD(WAKING_TIMESTAMP),
		[ORMA_WAKING_PID] = FIELD(WAKING_PID),
		[ORMA_WAKING_TARGET_CPU] = FIELD(WAKING_TARGET_CPU),
		[ORMA_WAKING_PRIO] = FIELD(WAKING_PRIO),
		[ORMA_WAKING_COMM] = FIELD(WAKING_COMM_INDEX),
		[ORMA_WAKING_FLAGS] = FIELD(WAKING_COMMON_FLAGS),
	};

	for (uint32_t i = 0; i < ORMA_SWITCH_COLUMNS; i++)
		write_column(packet, switch_fields[i], sched->memory->switches[i],
			     sched->switches.at[i]);
	for (uint32_t i = 0; i < ORMA_WAKING_COLUMNS; i++)
		write_column(packet, waking_fields[i], sched->memory->wakings[i],
			     sched->wakings.at[i]);
}

void orma_compact_sched_write(const struct orma_compact_sched *sched, struct orma_packet *packet)
{
	struct orma_nested nested;

	if (sched->switch_count + sched->waking_count == 0)
		return;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED);
	for (uint32_t i = 0; i < sched->comm_count; i++) {
		const char *comm = (const char *)sched->comms[i].words;
		orma_packet_bytes(packet, FIELD(INTERN_TABLE), comm, strnlen(comm, COMM_BYTES));
	}
	write_columns(sched, packet);
	orma_packet_nested_end(packet, &nested);
}

static void clear(struct orma_compact_sched *sched)
{
	for (uint32_t i = 0; i < ORMA_SWITCH_COLUMNS; i++)
		sched->switches.at[i] = sched->memory->switches[i];
	for (uint32_t i = 0; i < ORMA_WAKING_COLUMNS; i++)
		sched->wakings.at[i] = sched->memory->wakings[i];
	sched->switch_count = sched->waking_count = 0;
	sched->last_switch_ns = sched->last_waking_ns = 0;
	sched->comm_count = 0;
	memset(sched->comm_slots, 0, sizeof(sched->comm_slots));
	orma_compact_forget(sched);
}

void orma_compact_sched_clear(struct orma_compact_sched *sched)
{
	if (sched->switch_count + sched->waking_count > 0)
		clear(sched);
}

int orma_compact_sched_init(struct orma_compact_sched *sched)
{
	*sched = (struct orma_compact_sched){.memory = orma_base_alloc(sizeof(*sched->memory))};
	if (!sched->memory)
		return -ENOMEM;
	clear(sched);
	return 0;
}

void orma_compact_sched_done(struct orma_compact_sched *sched)
{
	orma_base_free(sched->memory);
	*sched = (struct orma_compact_sched){0};
}
