/* SPDX-License-Identifier: Apache-2.0
 * ftrace_compact_text.c - the lines of compact scheduling events.
 *
 * A CompactSched has one packed column per field. All columns of switches must have the same length,
 * and so must those of wakings. Timestamps are differences to the one before; the first is absolute.
 * Task names are indices into the table of the same message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_event_text.h"
#include "ftrace_text.h"

enum {
	SWITCH_TIMESTAMP = 1,
	SWITCH_PREV_STATE = 2,
	SWITCH_NEXT_PID = 3,
	SWITCH_NEXT_PRIO = 4,
	INTERN_TABLE = 5,
	SWITCH_NEXT_COMM = 6,
	WAKING_TIMESTAMP = 7,
	WAKING_PID = 8,
	WAKING_TARGET_CPU = 9,
	WAKING_PRIO = 10,
	WAKING_COMM = 11,
	WAKING_FLAGS = 12,
	COLUMNS = 13,
};

struct column {
	uint64_t *values;
	size_t count;
};

struct compact {
	struct column columns[COLUMNS];
	struct wire_span *names;
	size_t name_count;
};

static void read_column(struct wire_span packed, struct column *column)
{
	uint64_t value;

	/* A varint has at least one byte. */
	column->values = realloc(column->values, (column->count + (size_t)(packed.end - packed.at) +
						  1) * sizeof(*column->values));
	if (!column->values)
		abort();
	while (packed.at < packed.end) {
		if (wire_take_varint(&packed, &value) < 0)
			ftrace_die("a column of a compact_sched is malformed");
		column->values[column->count++] = value;
	}
}

static void read_compact(struct wire_span message, struct compact *compact)
{
	struct wire_field field;
	int r;

	while ((r = wire_next(&message, &field)) > 0) {
		if (field.id == 0 || field.id >= COLUMNS || field.type != WIRE_BYTES)
			ftrace_die("a compact_sched has an unknown field");
		if (field.id != INTERN_TABLE) {
			read_column(field.bytes, &compact->columns[field.id]);
			continue;
		}
		compact->names = realloc(compact->names,
					 (compact->name_count + 1) * sizeof(*compact->names));
		if (!compact->names)
			abort();
		compact->names[compact->name_count++] = field.bytes;
	}
	if (r < 0)
		ftrace_die("a compact_sched is malformed");
}

static void check_lengths(const struct compact *compact, const unsigned int *ids, size_t count)
{
	size_t i;

	for (i = 1; i < count; i++) {
		if (compact->columns[ids[i]].count != compact->columns[ids[0]].count)
			ftrace_die("columns of a compact_sched differ in length");
	}
}

static struct wire_span name_of(const struct compact *compact, unsigned int id, size_t row)
{
	uint64_t idx = compact->columns[id].values[row];

	if (idx >= compact->name_count)
		ftrace_die("a compact_sched refers to a name that it does not have");
	return compact->names[idx];
}

static uint64_t take_time(uint64_t *last, uint64_t delta, uint64_t *times, size_t *count)
{
	*last += delta;
	if (*count == COMPACT_EVENTS_MAX)
		ftrace_die("a bundle has too many compact events");
	times[(*count)++] = *last;
	return *last;
}

static void add_switches(const struct compact *compact, uint64_t cpu, struct compact_times *times)
{
	const struct column *columns = compact->columns;
	uint64_t time = 0;
	size_t i;

	for (i = 0; i < columns[SWITCH_TIMESTAMP].count; i++) {
		struct text text = {0};

		take_time(&time, columns[SWITCH_TIMESTAMP].values[i], times->switches,
			  &times->switch_count);
		text_append(&text, "- sched_switch prev_state=%" PRId64,
			    (int64_t)columns[SWITCH_PREV_STATE].values[i]);
		text_append(&text, " next_comm=");
		text_append_string(&text, name_of(compact, SWITCH_NEXT_COMM, i));
		text_append(&text, " next_pid=%" PRId64 " next_prio=%" PRId64,
			    (int64_t)columns[SWITCH_NEXT_PID].values[i],
			    (int64_t)columns[SWITCH_NEXT_PRIO].values[i]);
		ftrace_line_add(cpu, time, text.bytes);
	}
}

static void add_wakings(const struct compact *compact, uint64_t cpu, struct compact_times *times)
{
	const struct column *columns = compact->columns;
	uint64_t time = 0;
	size_t i;

	for (i = 0; i < columns[WAKING_TIMESTAMP].count; i++) {
		struct text text = {0};

		take_time(&time, columns[WAKING_TIMESTAMP].values[i], times->wakings,
			  &times->waking_count);
		text_append(&text, "- sched_waking");
		if (!ftrace_common_only)
			text_append(&text, " flags=%" PRIu64, columns[WAKING_FLAGS].values[i]);
		text_append(&text, " comm=");
		text_append_string(&text, name_of(compact, WAKING_COMM, i));
		text_append(&text, " pid=%" PRId64 " prio=%" PRId64 " target_cpu=%" PRId64,
			    (int64_t)columns[WAKING_PID].values[i],
			    (int64_t)columns[WAKING_PRIO].values[i],
			    (int64_t)columns[WAKING_TARGET_CPU].values[i]);
		ftrace_line_add(cpu, time, text.bytes);
	}
}

void compact_sched_add(struct wire_span message, uint64_t cpu, struct compact_times *times)
{
	static const unsigned int switches[] = {SWITCH_TIMESTAMP, SWITCH_PREV_STATE,
						SWITCH_NEXT_PID, SWITCH_NEXT_PRIO,
						SWITCH_NEXT_COMM};
	static const unsigned int wakings[] = {WAKING_TIMESTAMP, WAKING_PID,  WAKING_TARGET_CPU,
					       WAKING_PRIO,      WAKING_COMM, WAKING_FLAGS};
	struct compact compact = {0};
	size_t i;

	read_compact(message, &compact);
	check_lengths(&compact, switches, sizeof(switches) / sizeof(*switches));
	check_lengths(&compact, wakings, sizeof(wakings) / sizeof(*wakings));
	add_switches(&compact, cpu, times);
	add_wakings(&compact, cpu, times);
	for (i = 0; i < COLUMNS; i++)
		free(compact.columns[i].values);
	free(compact.names);
}
