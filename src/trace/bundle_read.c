/* SPDX-License-Identifier: Apache-2.0
 * bundle_read.c - unpacks compact scheduling events, which are columns of packed numbers, into rows.
 *
 * Each list is sorted by (time, place in the bundle) if it is not already; the kernel's are. A bundle is some hundred
 * kilobytes at most, so its rows are made at once and the merge takes them one by one.
 */
#include "trace/bundle_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "store/grow.h"

enum { EVENT_TIMESTAMP_FIELD = 1, NAMES_MAX = 1 << 16 };

void orma_bundle_events_done(struct orma_bundle_events *events)
{
	orma_base_free(events->events);
	orma_base_free(events->switches);
	orma_base_free(events->wakings);
	orma_base_free(events->names);
	*events = (struct orma_bundle_events){0};
}

/* Converts the times of one bundle to the trace's clock. */
struct converter {
	const struct orma_clocks *clocks;
	uint64_t from;
	uint32_t snapshots;
	struct orma_clock_cache cache;
};

static bool convert(struct converter *converter, uint64_t ns, int64_t *ret)
{
	return orma_trace_clocks_convert(converter->clocks, converter->from, (int64_t)ns,
					 converter->clocks->trace_time, converter->snapshots,
					 &converter->cache, ret) == ORMA_CLOCK_CONVERTED;
}

static int add_event(struct orma_bundle_events *events, struct converter *converter,
		     struct orma_str bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.data, *end = at + bytes.size;
	struct orma_proto_field field = {0};
	if (bytes.size > 1 && at[0] == EVENT_TIMESTAMP_FIELD << 3)
		at = orma_proto_get_varint(at + 1, end, &field.value);
	else if (orma_proto_reader_find(bytes.data, bytes.size, EVENT_TIMESTAMP_FIELD, &field) <= 0)
		return 0;
	int r = orma_store_grow(&events->events, (uint64_t)events->event_count + 1,
				&events->event_capacity, sizeof(*events->events));
	if (r < 0)
		return r;
	struct orma_kernel_event *event = &events->events[events->event_count];
	*event = (struct orma_kernel_event){.bytes = bytes, .order = events->event_count};
	if (at && convert(converter, field.value, &event->ns))
		events->event_count++;
	return 0;
}

/* The columns of compact events, as packed numbers, and where each has been read to. */
enum column {
	SWITCH_TIMESTAMP,
	SWITCH_PREV_STATE,
	SWITCH_NEXT_PID,
	SWITCH_NEXT_PRIO,
	SWITCH_COMM,
	WAKING_TIMESTAMP,
	WAKING_PID,
	WAKING_CPU,
	WAKING_PRIO,
	WAKING_COMM,
	WAKING_FLAGS,
	COLUMNS,
	/* Each event has one of each of these. */
	SWITCH_COLUMNS = SWITCH_COMM - SWITCH_TIMESTAMP + 1,
	WAKING_COLUMNS = WAKING_COMM - WAKING_TIMESTAMP + 1,
};

struct numbers {
	const uint8_t *at, *end;
};

static int column_of(uint32_t field_id)
{
	switch (field_id) {
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP:
		return SWITCH_TIMESTAMP;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_PREV_STATE:
		return SWITCH_PREV_STATE;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID:
		return SWITCH_NEXT_PID;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PRIO:
		return SWITCH_NEXT_PRIO;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_COMM_INDEX:
		return SWITCH_COMM;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP:
		return WAKING_TIMESTAMP;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_PID:
		return WAKING_PID;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TARGET_CPU:
		return WAKING_CPU;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_PRIO:
		return WAKING_PRIO;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_COMM_INDEX:
		return WAKING_COMM;
	case ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_COMMON_FLAGS:
		return WAKING_FLAGS;
	default:
		return -1;
	}
}

static int add_name(struct orma_bundle_events *events, struct orma_str text)
{
	if (events->name_count == NAMES_MAX)
		return 0;
	int r = orma_store_grow(&events->names, (uint64_t)events->name_count + 1,
				&events->name_capacity, sizeof(*events->names));
	if (r == 0)
		events->names[events->name_count++] = (struct orma_compact_name){.text = text};
	return r;
}

static int read_columns(struct orma_bundle_events *events, struct orma_str bytes,
			struct numbers columns[COLUMNS])
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE) {
			r = add_name(events, field.bytes);
			continue;
		}
		int column = column_of(field.id);
		const uint8_t *at = (const uint8_t *)field.bytes.data;
		if (column >= 0)
			columns[column] = (struct numbers){at, at + field.bytes.size};
	}
	return r;
}

/* Returns false at the end of the column and when it can't be read. */
static inline bool next_number(struct numbers *column, uint64_t *ret)
{
	const uint8_t *at = column->at;
	if (at == column->end)
		return false;
	at = orma_proto_get_varint(at, column->end, ret);
	column->at = at ? at : column->end;
	return at != NULL;
}

/* The same for times, which mostly are some hundred microseconds apart: numbers of three bytes. */
static inline bool next_time(struct numbers *column, uint64_t *ret)
{
	const uint8_t *at = column->at;
	if (column->end - at < 3 || !(at[0] & at[1] & 0x80) || at[2] >= 0x80)
		return next_number(column, ret);
	*ret = (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (uint32_t)at[2] << 14;
	column->at = at + 3;
	return true;
}

/* Returns how many rows these columns have at most: a number takes a byte or more. */
static uint64_t rows_of(const struct numbers *columns, size_t count)
{
	ptrdiff_t least = columns[0].end - columns[0].at;
	for (size_t i = 1; i < count; i++)
		least = ORMA_MIN(least, columns[i].end - columns[i].at);
	return (uint64_t)least;
}

static inline struct orma_compact_name *name_at(const struct orma_bundle_events *events,
						uint64_t idx)
{
	return idx < events->name_count ? &events->names[idx] : NULL;
}

static int add_switches(struct orma_bundle_events *events, const struct numbers *columns,
			struct converter *converter)
{
	struct numbers times = columns[SWITCH_TIMESTAMP], states = columns[SWITCH_PREV_STATE],
		       pids = columns[SWITCH_NEXT_PID], prios = columns[SWITCH_NEXT_PRIO],
		       comms = columns[SWITCH_COMM];
	uint64_t ns = 0, delta, state, pid, prio, comm;
	int r = orma_store_grow(&events->switches,
				rows_of(&columns[SWITCH_TIMESTAMP], SWITCH_COLUMNS),
				&events->switch_capacity, sizeof(*events->switches));
	if (r < 0)
		return r;
	struct orma_compact_switch *row = events->switches;
	while (next_time(&times, &delta)) {
		ns += delta;
		if (!next_number(&states, &state) || !next_number(&pids, &pid) ||
		    !next_number(&prios, &prio) || !next_number(&comms, &comm)) {
			events->bad_compact++;
			break;
		}
		row->prev_state = (int64_t)state;
		row->next_pid = (int32_t)pid;
		row->next_prio = (int32_t)prio;
		row->next_comm = name_at(events, comm);
		row->order = (uint32_t)(row - events->switches);
		row += convert(converter, ns, &row->ns);
	}
	events->switch_count = (uint32_t)(row - events->switches);
	return 0;
}

static int add_wakings(struct orma_bundle_events *events, struct numbers *columns,
		       struct converter *converter)
{
	uint64_t ns = 0, delta, pid, cpu, prio, comm, flags;
	bool has_flags = columns[WAKING_FLAGS].at != NULL;
	int r = orma_store_grow(&events->wakings,
				rows_of(&columns[WAKING_TIMESTAMP], WAKING_COLUMNS),
				&events->waking_capacity, sizeof(*events->wakings));
	if (r < 0)
		return r;
	while (next_number(&columns[WAKING_TIMESTAMP], &delta)) {
		ns += delta;
		if (!next_number(&columns[WAKING_PID], &pid) ||
		    !next_number(&columns[WAKING_CPU], &cpu) ||
		    !next_number(&columns[WAKING_PRIO], &prio) ||
		    !next_number(&columns[WAKING_COMM], &comm)) {
			events->bad_compact++;
			return 0;
		}
		has_flags = has_flags && next_number(&columns[WAKING_FLAGS], &flags);
		struct orma_compact_waking *row = &events->wakings[events->waking_count];
		*row = (struct orma_compact_waking){.pid = (int32_t)pid,
						    .target_cpu = (int32_t)cpu,
						    .prio = (int32_t)prio,
						    .comm = name_at(events, comm),
						    .has_flags = has_flags,
						    .common_flags = has_flags ? (uint32_t)flags : 0,
						    .order = events->waking_count};
		events->waking_count += convert(converter, ns, &row->ns);
	}
	return 0;
}

#define DEFINE_SORT(type, name)                                                                    \
	static int compare_##name(const void *a, const void *b)                                    \
	{                                                                                          \
		const struct type *x = a, *y = b;                                                  \
		if (x->ns != y->ns)                                                                \
			return x->ns < y->ns ? -1 : 1;                                             \
		return x->order < y->order ? -1 : x->order > y->order;                             \
	}                                                                                          \
	static void sort_##name(struct type *rows, uint32_t count)                                 \
	{                                                                                          \
		for (uint32_t i = 1; i < count; i++)                                               \
			if (rows[i].ns < rows[i - 1].ns) {                                         \
				qsort(rows, count, sizeof(*rows), compare_##name);                 \
				return;                                                            \
			}                                                                          \
	}
DEFINE_SORT(orma_kernel_event, events)
DEFINE_SORT(orma_compact_switch, switches)
DEFINE_SORT(orma_compact_waking, wakings)

int orma_bundle_events_read(struct orma_bundle_events *events, const struct orma_clocks *clocks,
			    const struct orma_sequence *sequence, const struct orma_packet *packet,
			    uint32_t snapshots)
{
	struct orma_bundle_head head;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct numbers columns[COLUMNS] = {{NULL, NULL}};
	struct orma_str content = packet->content;
	events->event_count = events->switch_count = events->waking_count = 0;
	events->name_count = 0;
	int r = orma_bundle_frame_read(content, &head);
	if (r < 0)
		return 0;
	struct converter converter = {.clocks = clocks,
				      .from = orma_bundle_clock_key(sequence, head.clock),
				      .snapshots = snapshots};
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_EVENT && field.type == ORMA_PROTO_BYTES)
			r = add_event(events, &converter, field.bytes);
	if (r == 0)
		r = read_columns(events, head.compact, columns);
	if (r == 0)
		r = add_switches(events, columns, &converter);
	if (r == 0)
		r = add_wakings(events, columns, &converter);
	for (uint32_t i = 0; i < events->event_count; i++)
		events->events[i].offset =
			(uint32_t)(events->events[i].bytes.data - packet->bytes.data);
	sort_events(events->events, events->event_count);
	sort_switches(events->switches, events->switch_count);
	sort_wakings(events->wakings, events->waking_count);
	return r;
}
