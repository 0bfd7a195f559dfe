/* SPDX-License-Identifier: Apache-2.0
 * ftrace_print.c - text that programs write to trace_marker: B|tgid|name, E|tgid, C|tgid|name|value, and others.
 *
 * The letter is the kind: B and E are a slice of the thread, I is an instant there, C is a counter of the process; S and F
 * are the two ends of an asynchronous slice, G and H those of one on a named track, N is an instant on a named track. Other
 * text is a message, which is counted.
 */
#include <errno.h>
#include <stdlib.h>

#include "schema/gen/ftrace_print.pb.h"
#include "trace/kernel_event.h"
#include "trace/power_packets.h"

struct marker {
	char phase;
	bool has_tgid;
	int64_t tgid; /* 0 = not known */
	struct orma_str name, track;
	int64_t number; /* a counter's value or a cookie */
};

static const struct orma_track_kind counter_kind = {.type = "atrace_counter",
						    .name = "%1",
						    .dimensions = {{"upid", false}, {"name", true}},
						    .is_counter = true};
static const struct orma_track_kind async_kind = {.type = "atrace_async_slice",
						  .name = "%1",
						  .dimensions = {{"upid", false}, {"name", true}}};
static const struct orma_track_kind named_kind = {.type = "atrace_async_slice_for_track",
						  .name = "%1",
						  .dimensions = {{"upid", false}, {"name", true}}};

static struct orma_str next_field(struct orma_str *rest)
{
	size_t size = 0;
	while (size < rest->size && rest->data[size] != '|' && rest->data[size] != '\0')
		size++;
	struct orma_str field = {rest->data, size};
	size_t taken = size < rest->size ? size + 1 : size;
	rest->data += taken;
	rest->size -= taken;
	return field;
}

/* A whole decimal number of at most 64 bits. */
static bool read_number(struct orma_str text, int64_t *ret)
{
	char digits[24], *end;
	if (text.size == 0 || text.size >= sizeof(digits))
		return false;
	memcpy(digits, text.data, text.size);
	digits[text.size] = '\0';
	errno = 0;
	*ret = strtoll(digits, &end, 10);
	return *end == '\0' && errno == 0;
}

enum result { MARKER_WHOLE, MARKER_BROKEN, MARKER_SYNC };

static enum result check(bool is_whole)
{
	return is_whole ? MARKER_WHOLE : MARKER_BROKEN;
}

static enum result read_rest(struct marker *marker, struct orma_str rest)
{
	struct orma_str last;
	switch (marker->phase) {
	case 'B':
		marker->name = rest.size > 0 ? rest : ORMA_STR("[empty slice name]");
		return check(marker->has_tgid);
	case 'E':
		return MARKER_WHOLE;
	case 'I':
		marker->name = next_field(&rest);
		return check(marker->has_tgid && marker->name.size > 0);
	case 'S':
	case 'F':
	case 'C':
		marker->name = next_field(&rest);
		return check(marker->has_tgid && marker->name.size > 0 &&
			     read_number(next_field(&rest), &marker->number));
	case 'N':
		marker->track = next_field(&rest);
		marker->name = next_field(&rest);
		return check(marker->has_tgid && marker->track.size > 0 && marker->name.size > 0);
	case 'G':
	case 'H':
		marker->track = next_field(&rest);
		marker->name = next_field(&rest);
		last = next_field(&rest);
		/* The end may leave out the name. */
		if (marker->phase == 'H' && last.size == 0)
			last = marker->name;
		return check(marker->has_tgid && marker->track.size > 0 && marker->name.size > 0 &&
			     read_number(last, &marker->number));
	default:
		return MARKER_BROKEN;
	}
}

static enum result read_marker(struct orma_str text, struct marker *ret)
{
	static const char sync[] = "trace_event_clock_sync:";
	*ret = (struct marker){0};
	while (text.size > 0 &&
	       (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\0'))
		text.size--;
	/* Systrace writes these to relate clocks. */
	if (text.size >= sizeof(sync) - 1 && memcmp(text.data, sync, sizeof(sync) - 1) == 0)
		return MARKER_SYNC;
	struct orma_str phase = next_field(&text);
	if (phase.size == 0)
		return MARKER_BROKEN;
	/* A word that begins with such a letter is no marker. */
	ret->phase = (char)(phase.size == 1 ? phase.data[0] : '\0');
	struct orma_str tgid = next_field(&text);
	ret->has_tgid = read_number(tgid, &ret->tgid) && ret->tgid >= 0 && ret->tgid <= UINT32_MAX;
	ret->tgid = ret->has_tgid ? (int32_t)ret->tgid : 0;
	return read_rest(ret, text);
}

/* The track of the thread that wrote, which is of the process that it names. */
static int64_t own_track(const struct orma_kernel_call *call, const struct marker *marker)
{
	int64_t utid = marker->tgid == 0 ? orma_kernel_thread(call, call->tid)
					 : orma_processes_thread_of(call->system->processes,
								    call->machine_idx, call->tid,
								    marker->tgid);
	return utid < 0 ? utid
			: orma_system_track(call->system, call->machine_idx, &orma_thread_kind,
					    &utid);
}

static int end_own(const struct orma_kernel_call *call, const struct marker *marker)
{
	bool is_known = orma_processes_find_thread(call->system->processes, call->machine_idx,
						   call->tid) >= 0;
	if (marker->tgid == 0 && !is_known)
		return 0;
	return orma_kernel_end(call, own_track(call, marker), ORMA_CELL_NULL, ORMA_CELL_NULL);
}

static int64_t find_lane(const struct orma_kernel_call *call, const struct marker *marker,
			 const struct orma_track_kind *kind, enum orma_lane_use use)
{
	int64_t upid =
		orma_processes_process(call->system->processes, call->machine_idx, marker->tgid);
	if (upid < 0)
		return upid;
	int64_t name =
		orma_system_text(call->system, kind == &async_kind ? marker->name : marker->track);
	return orma_system_lane(call->system, call->machine_idx, kind, ORMA_DIMENSIONS(upid, name),
				use == ORMA_LANE_INSTANT ? INT64_MIN : marker->number, use);
}

static struct orma_arg_list *new_args(const struct orma_kernel_call *call)
{
	call->system->args.tables = call->system->tables;
	orma_arg_list_clear(&call->system->args);
	return &call->system->args;
}

static void add_thread(struct orma_arg_list *args, const char *key, int64_t utid)
{
	orma_arg_list_add(args, orma_base_str(key), orma_base_str(key), ORMA_ARG_UINT, utid);
}

static int set_args(const struct orma_kernel_call *call, int64_t slice)
{
	return orma_store_column_set(
		orma_tables_column(call->system->tables, ORMA_TABLE_SLICE, ORMA_SLICE_ARG_SET_ID),
		(uint64_t)slice, orma_system_take_args(call->system));
}

/* A second begin while the slice is open is only counted. */
static int begin_async(const struct orma_kernel_call *call, const struct marker *marker)
{
	struct orma_kernel_state *kernel = &call->system->kernel;
	int64_t track = find_lane(call, marker, &async_kind, ORMA_LANE_BEGIN);
	if (track < 0)
		return (int)track;
	int64_t *begins = orma_kernel_sum(kernel, 'S', 0, (uint64_t)track);
	int64_t *last_ts = orma_kernel_sum(kernel, 'T', 0, (uint64_t)track);
	if (!begins || !last_ts)
		return -ENOMEM;
	bool is_open = orma_slices_top(call->system->slices, (uint32_t)track) != ORMA_NO_SLICE;
	++*begins;
	*last_ts = call->ts;
	if (is_open)
		return 0;
	orma_arg_list_add_int(new_args(call), "cookie", marker->number);
	return orma_kernel_begin(call, track, ORMA_CELL_NULL,
				 orma_system_text(call->system, marker->name),
				 orma_system_take_args(call->system));
}

static int end_async(const struct orma_kernel_call *call, const struct marker *marker)
{
	struct orma_kernel_state *kernel = &call->system->kernel;
	int64_t track = find_lane(call, marker, &async_kind, ORMA_LANE_END);
	if (track < 0)
		return (int)track;
	int64_t slice = orma_slices_find(call->system->slices, (uint32_t)track, ORMA_CELL_NULL,
					 ORMA_CELL_NULL);
	const int64_t *begins = orma_kernel_sum(kernel, 'S', 0, (uint64_t)track);
	const int64_t *last_ts = orma_kernel_sum(kernel, 'T', 0, (uint64_t)track);
	if (!begins || !last_ts)
		return -ENOMEM;
	int r = orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	if (r < 0 || slice == ORMA_NO_SLICE)
		return r;
	struct orma_arg_list *args = new_args(call);
	orma_arg_list_add_int(args, "cookie", marker->number);
	orma_arg_list_add_int(args, "legacy_unnestable_begin_count", *begins);
	orma_arg_list_add_int(args, "legacy_unnestable_last_begin_ts", *last_ts);
	return set_args(call, slice);
}

/* Which thread began a slice is kept by track and depth until it ends. */
static int64_t *beginner(const struct orma_kernel_call *call, int64_t track, int64_t slice)
{
	int64_t depth = orma_store_column_get(
		orma_tables_column(call->system->tables, ORMA_TABLE_SLICE, ORMA_SLICE_DEPTH),
		(uint64_t)slice);
	return orma_kernel_sum(&call->system->kernel, 'G', (uint32_t)depth, (uint64_t)track);
}

static int begin_named(const struct orma_kernel_call *call, const struct marker *marker)
{
	bool is_instant = marker->phase == 'N';
	int64_t track = find_lane(call, marker, &named_kind,
				  is_instant ? ORMA_LANE_INSTANT : ORMA_LANE_BEGIN);
	int64_t utid = track < 0 ? track : orma_kernel_thread(call, call->tid);
	if (utid < 0)
		return (int)utid;
	int64_t name = orma_system_text(call->system, marker->name);
	add_thread(new_args(call), "utid", utid);
	int64_t set = orma_system_take_args(call->system);
	if (is_instant)
		return orma_kernel_instant(call, track, ORMA_CELL_NULL, name, set);
	int r = orma_kernel_begin(call, track, ORMA_CELL_NULL, name, set);
	int64_t slice = orma_slices_top(call->system->slices, (uint32_t)track);
	if (r < 0 || slice == ORMA_NO_SLICE)
		return r;
	int64_t *who = beginner(call, track, slice);
	if (who)
		*who = utid;
	return who ? 0 : -ENOMEM;
}

static int end_named(const struct orma_kernel_call *call, const struct marker *marker)
{
	int64_t track = find_lane(call, marker, &named_kind, ORMA_LANE_END);
	int64_t utid = track < 0 ? track : orma_kernel_thread(call, call->tid);
	if (utid < 0)
		return (int)utid;
	int64_t slice = orma_slices_find(call->system->slices, (uint32_t)track, ORMA_CELL_NULL,
					 ORMA_CELL_NULL);
	int r = orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	if (r < 0 || slice == ORMA_NO_SLICE)
		return r;
	const int64_t *who = beginner(call, track, slice);
	if (!who)
		return -ENOMEM;
	add_thread(new_args(call), "utid", *who);
	add_thread(&call->system->args, "end_utid", utid);
	return set_args(call, slice);
}

/* A counter is of the process that it names, and any thread may write it. */
static int add_counter(const struct orma_kernel_call *call, const struct marker *marker)
{
	struct orma_system *system = call->system;
	int promoted = orma_promoted_counter(system, call->machine_idx, call->ts, marker->name,
					     (double)marker->number);
	if (promoted != ORMA_NOT_PROMOTED)
		return promoted;
	int64_t upid = orma_processes_process(system->processes, call->machine_idx, marker->tgid);
	int64_t utid = orma_processes_find_thread(system->processes, call->machine_idx, call->tid);
	if (upid < 0)
		return (int)upid;
	new_args(call);
	if (utid >= 0)
		add_thread(&system->args, "utid", utid);
	int64_t set = orma_system_take_args(system);
	return orma_system_count(system, call->machine_idx, call->ts, &counter_kind,
				 ORMA_DIMENSIONS(upid, orma_system_text(system, marker->name)),
				 (double)marker->number, set);
}

static int take_marker(const struct orma_kernel_call *call, const struct marker *marker)
{
	switch (marker->phase) {
	case 'B':
		return orma_kernel_begin(
			call, own_track(call, marker), ORMA_CELL_NULL,
			orma_tables_passing_string(call->system->tables, marker->name),
			ORMA_CELL_NULL);
	case 'E':
		return end_own(call, marker);
	case 'I':
		return orma_kernel_instant(
			call, own_track(call, marker), ORMA_CELL_NULL,
			orma_tables_passing_string(call->system->tables, marker->name),
			ORMA_CELL_NULL);
	case 'S':
		return begin_async(call, marker);
	case 'F':
		return end_async(call, marker);
	case 'C':
		return add_counter(call, marker);
	case 'H':
		return end_named(call, marker);
	default:
		return begin_named(call, marker);
	}
}

static int count_broken(const struct orma_kernel_call *call)
{
	orma_stats_add(&call->system->stats, call->machine_idx, ORMA_STAT_systrace_parse_failure, 0,
		       1);
	return 0;
}

int orma_ftrace_print(const struct orma_kernel_call *call)
{
	struct marker marker;
	int r = orma_ftrace_cut_write(call);
	if (r < 0)
		return r;
	enum result result =
		read_marker(orma_kernel_text(call, ORMA_PB_PRINT_FTRACE_EVENT_BUF), &marker);
	if (result == MARKER_WHOLE)
		return take_marker(call, &marker);
	return result == MARKER_BROKEN ? count_broken(call) : 0;
}

/* Drivers of displays and graphics write such markers with events of their own, which differ in the numbers of their fields. */
int orma_ftrace_driver_mark(const struct orma_kernel_call *call)
{
	static const struct {
		uint16_t id;
		uint8_t tgid, name, phase, is_begin, value; /* fields; 0 = none */
	} events[] = {{80, 1, 2, 0, 3, 0},  {333, 1, 2, 3, 5, 4}, {348, 1, 4, 5, 0, 6},
		      {349, 1, 4, 5, 0, 6}, {350, 2, 1, 3, 0, 4}, {467, 3, 4, 2, 0, 5},
		      {484, 1, 2, 4, 0, 5}};
	enum { DPU = 348 };
	size_t i = 0;
	while (events[i].id != call->id)
		if (++i == sizeof(events) / sizeof(*events))
			return 0;
	uint64_t phase = events[i].phase ? orma_kernel_number(call, events[i].phase) : 0;
	if (phase == 0 && events[i].is_begin && orma_kernel_has(call, events[i].is_begin))
		phase = orma_kernel_number(call, events[i].is_begin) ? 'B' : 'E';
	struct marker marker = {.phase = (char)phase,
				.tgid = (int32_t)orma_kernel_number(call, events[i].tgid),
				.has_tgid = true,
				.name = orma_kernel_text(call, events[i].name)};
	if (events[i].value)
		marker.number = (int64_t)orma_kernel_number(call, events[i].value);
	/* This driver names processes that its threads are not of. */
	if (call->id == DPU && phase != 'C')
		marker.tgid = 0;
	if (phase != 'B' && phase != 'E' && phase != 'I' && phase != 'C')
		return count_broken(call);
	return take_marker(call, &marker);
}
