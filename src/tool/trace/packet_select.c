/* SPDX-License-Identifier: Apache-2.0
 * packet_select.c - turns options into a choice of packets, with a first pass over the trace where the
 * options depend on it.
 *
 * The first pass (struct survey) finds the period of the trace's events and the ids of named
 * processes. A process may be named after its first packet, and a trace is not ordered by time, so
 * neither is known before the end. Rejected: guessing both from the beginning of the trace, which makes
 * the result depend on the order of packets.
 */
#include "tool/trace/packet_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "proto/codec.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "tool/tool.h"
#include "tool/trace/trace_file.h"

#define FIELDS_MAX 128 /* as many names of fields are compared with a wrong one */

void orma_packet_select_done(struct orma_packet_select *select)
{
	orma_base_map_done(&select->pids);
}

/* --- options ---------------------------------------------------------------------------------- */

static int too_many(void)
{
	return orma_tool_usage_error("an option is given more than %d times", ORMA_SELECT_MAX);
}

static int tell_unknown_field(const char *name)
{
	const struct orma_proto_desc *desc = &orma_pb_trace_packet_desc;
	const char *names[FIELDS_MAX], *meant;
	size_t count = ORMA_MIN(desc->field_count, (size_t)FIELDS_MAX);

	for (size_t i = 0; i < count; i++)
		names[i] = orma_proto_field_name(desc, &desc->fields[i]);
	meant = orma_tool_closest(name, names, count);
	return meant ? orma_tool_usage_error("a packet has no field \"%s\"; did you mean \"%s\"?",
					     name, meant)
		     : orma_tool_usage_error("a packet has no field \"%s\"; `orma dump FILE` shows "
					     "the names of fields",
					     name);
}

int orma_packet_select_add_kind(struct orma_packet_select *select, const char *value)
{
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find_name(&orma_pb_trace_packet_desc, orma_base_str(value));

	if (!field)
		return tell_unknown_field(value);
	if (select->kind_count == ORMA_SELECT_MAX)
		return too_many();
	select->kinds[select->kind_count++] = field->id;
	return -1;
}

int orma_packet_select_add_process(struct orma_packet_select *select, const char *value)
{
	if (*value == '\0')
		return orma_tool_usage_error("a process has an id or a name");
	if (select->process_count == ORMA_SELECT_MAX)
		return too_many();
	select->processes[select->process_count++] = value;
	return -1;
}

/* "1.5" of a unit, in nanoseconds. False when it is not a number or too large. */
static bool parse_decimal(const char *text, const char **ret_end, uint64_t unit_ns, uint64_t *ret)
{
	uint64_t whole = 0, part = 0, scale = unit_ns;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(whole, UINT64_C(10), &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
			return false;
	if (at == text)
		return false;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++)
			part += (uint64_t)(*at - '0') * (scale /= 10);
	*ret_end = at;
	return !__builtin_mul_overflow(whole, unit_ns, &whole) &&
	       !__builtin_add_overflow(whole, part, ret);
}

bool orma_time_limit_parse(const char *text, struct orma_time_limit *ret)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {
		{"", ORMA_NS_PER_SEC},
		{"s", ORMA_NS_PER_SEC},
		{"ms", 1000000},
		{"us", 1000},
		{"ns", 1},
		{"m", 60 * ORMA_NS_PER_SEC},
		{"h", 3600 * ORMA_NS_PER_SEC},
	};
	const char *end, *number = text + (*text == '-' || *text == '@');

	if (*text == '@') {
		ret->base = ORMA_TIME_ABSOLUTE;
		return orma_base_parse_u64(number, 10, &ret->ns) == 0;
	}
	ret->base = *text == '-' ? ORMA_TIME_BEFORE_END : ORMA_TIME_AFTER_BEGIN;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(units); i++)
		if (parse_decimal(number, &end, units[i].ns, &ret->ns) &&
		    strcmp(end, units[i].suffix) == 0)
			return true;
	return false;
}

int orma_packet_select_take(struct orma_packet_select *select, int id, const char *value)
{
	struct orma_time_limit *limit = id == ORMA_SELECT_FROM ? &select->from : &select->to;
	uint64_t sequence;

	if (id != ORMA_SELECT_SEQUENCE)
		return orma_time_limit_parse(value, limit)
			       ? -1
			       : orma_tool_usage_error("\"%s\" is not a time like 1.5s, 200ms, -3s "
						       "(before the end) or @NANOSECONDS",
						       value);
	if (orma_base_parse_u64(value, 10, &sequence) || sequence > UINT32_MAX)
		return orma_tool_usage_error("\"%s\" is not the number of a sequence", value);
	if (select->sequence_count == ORMA_SELECT_MAX)
		return too_many();
	select->sequences[select->sequence_count++] = (uint32_t)sequence;
	return -1;
}

/* --- the first pass --------------------------------------------------------------------------- */

struct survey {
	struct orma_packet_select *select;
	struct orma_packet_clocks clocks;
	struct orma_arena arena;
	uint64_t first_ns, last_ns;
	bool has_events;
};

static int add_pid(struct orma_packet_select *select, int32_t pid)
{
	static char present;

	return orma_base_map_put(&select->pids, (uint64_t)(uint32_t)pid + 1, &present);
}

/* Does a name, or the last part of its path, match one of the patterns? */
static bool is_chosen_name(const struct orma_packet_select *select, struct orma_str name)
{
	char text[256];

	if (name.size == 0 || name.size >= sizeof(text))
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	const char *slash = strrchr(text, '/');
	for (size_t i = 0; i < select->process_count; i++)
		if (fnmatch(select->processes[i], text, 0) == 0 ||
		    (slash && fnmatch(select->processes[i], slash + 1, 0) == 0))
			return true;
	return false;
}

static int survey_tree(struct survey *survey, struct orma_str bytes)
{
	struct orma_pb_process_tree *tree;
	int r = orma_pb_process_tree_decode(bytes.data, bytes.size, &survey->arena, &tree);

	for (size_t i = 0; r == 0 && i < tree->processes.count; i++) {
		const struct orma_pb_process_tree_process *process = tree->processes.items[i];

		if (process->cmdline.count > 0 &&
		    is_chosen_name(survey->select, process->cmdline.items[0]))
			r = add_pid(survey->select, process->pid);
	}
	for (size_t i = 0; r == 0 && i < tree->threads.count; i++) {
		const struct orma_pb_process_tree_thread *thread = tree->threads.items[i];

		if (thread->tid == thread->tgid && is_chosen_name(survey->select, thread->name))
			r = add_pid(survey->select, thread->tgid);
	}
	return r == -EBADMSG ? 0 : r;
}

static int survey_process(struct survey *survey, const struct orma_pb_process_descriptor *process)
{
	if (!process || !is_chosen_name(survey->select, process->process_name))
		return 0;
	return add_pid(survey->select, process->pid);
}

static int survey_names(struct survey *survey, const struct orma_packet_view *packet)
{
	struct orma_pb_process_descriptor *process;
	struct orma_pb_track_descriptor *track;
	const char *data = packet->content.data;
	size_t size = packet->content.size;

	orma_base_arena_clear(&survey->arena);
	switch (packet->kind) {
	case ORMA_PB_TRACE_PACKET_PROCESS_TREE:
		return survey_tree(survey, packet->content);
	case ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR:
		return orma_pb_track_descriptor_decode(data, size, &survey->arena, &track) == 0
			       ? survey_process(survey, track->process)
			       : 0;
	case ORMA_PB_TRACE_PACKET_PROCESS_DESCRIPTOR:
		return orma_pb_process_descriptor_decode(data, size, &survey->arena, &process) == 0
			       ? survey_process(survey, process)
			       : 0;
	default:
		return 0;
	}
}

static int survey_packet(void *ctx, const void *data, size_t size)
{
	struct survey *survey = ctx;
	struct orma_packet_times times;
	struct orma_packet_view packet;
	int r = orma_packet_view_read(data, size, &packet);

	if (r < 0)
		return r;
	r = orma_packet_clocks_take(&survey->clocks, &packet, &times);
	if (r < 0)
		return r;
	if (r > 0 && orma_packet_is_event(packet.kind)) {
		if (!survey->has_events || times.first_ns < survey->first_ns)
			survey->first_ns = times.first_ns;
		if (!survey->has_events || times.last_ns > survey->last_ns)
			survey->last_ns = times.last_ns;
		survey->has_events = true;
	}
	return survey->select->process_count > 0 ? survey_names(survey, &packet) : 0;
}

static bool is_relative(const struct orma_time_limit *limit)
{
	return limit->base == ORMA_TIME_AFTER_BEGIN || limit->base == ORMA_TIME_BEFORE_END;
}

static bool is_pid(const char *process, uint64_t *ret)
{
	return orma_base_parse_u64(process, 10, ret) == 0 && *ret <= INT32_MAX;
}

static bool needs_survey(const struct orma_packet_select *select)
{
	uint64_t pid;

	for (size_t i = 0; i < select->process_count; i++)
		if (!is_pid(select->processes[i], &pid))
			return true;
	return is_relative(&select->from) || is_relative(&select->to);
}

static uint64_t resolve_time(const struct orma_time_limit *limit, const struct survey *survey,
			     uint64_t otherwise)
{
	uint64_t ns;

	switch (limit->base) {
	case ORMA_TIME_ABSOLUTE:
		return limit->ns;
	case ORMA_TIME_AFTER_BEGIN:
		return __builtin_add_overflow(survey->first_ns, limit->ns, &ns) ? UINT64_MAX : ns;
	case ORMA_TIME_BEFORE_END:
		return __builtin_sub_overflow(survey->last_ns, limit->ns, &ns) ? 0 : ns;
	default:
		return otherwise;
	}
}

static int run_survey(struct survey *survey, int fd, const char *name)
{
	struct orma_error error = {0};

	if (lseek(fd, 0, SEEK_CUR) < 0)
		return orma_tool_fail("%s is a pipe, which can be read only once: give times as "
				      "@NANOSECONDS and processes by their ids",
				      name);
	int r = orma_tool_trace_read(fd, survey_packet, survey, &error);
	if (r < 0 && r != -EBADMSG)
		return orma_tool_fail("%s: %s", name,
				      error.message[0] ? error.message : strerror(-r));
	if (lseek(fd, 0, SEEK_SET) < 0)
		return orma_tool_fail("cannot read %s twice: %s", name, strerror(errno));
	return ORMA_EXIT_OK;
}

/* Times that have different references are compared in the trace only. */
static bool is_backwards(const struct orma_time_limit *from, const struct orma_time_limit *to)
{
	if (from->base != to->base || from->base == ORMA_TIME_NONE)
		return false;
	return from->base == ORMA_TIME_BEFORE_END ? from->ns < to->ns : from->ns > to->ns;
}

int orma_packet_select_prepare(struct orma_packet_select *select, int fd, const char *name)
{
	struct survey survey = {.select = select};
	int status = ORMA_EXIT_OK;
	uint64_t pid;

	if (is_backwards(&select->from, &select->to))
		return orma_tool_usage_error("--from is behind --to");
	orma_base_map_done(&select->pids); /* the processes of a trace before */
	for (size_t i = 0; i < select->process_count && status == ORMA_EXIT_OK; i++)
		if (is_pid(select->processes[i], &pid) && add_pid(select, (int32_t)pid) < 0)
			status = orma_tool_fail("out of memory");
	if (status == ORMA_EXIT_OK && needs_survey(select))
		status = run_survey(&survey, fd, name);
	orma_packet_clocks_done(&survey.clocks);
	orma_base_arena_done(&survey.arena);
	select->from_ns = resolve_time(&select->from, &survey, 0);
	select->to_ns = resolve_time(&select->to, &survey, UINT64_MAX);
	if (status == ORMA_EXIT_OK && survey.has_events &&
	    (select->from_ns > survey.last_ns || select->to_ns < survey.first_ns))
		orma_tool_warn(
			"%s: nothing happened in the time that was asked for; the trace covers "
			"%.3f s",
			name, (double)(survey.last_ns - survey.first_ns) / 1e9);
	if (status == ORMA_EXIT_OK && select->process_count > 0 && select->pids.count == 0)
		return orma_tool_fail("%s: no process of that name is in the trace; `orma dump -f "
				      "process_tree -f track_descriptor` shows the names that are",
				      name);
	return status;
}

/* --- the choice ------------------------------------------------------------------------------- */

bool orma_packet_select_has_time(const struct orma_packet_select *select)
{
	return select->from.base != ORMA_TIME_NONE || select->to.base != ORMA_TIME_NONE;
}

static bool is_among(const uint32_t *values, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] == value)
			return true;
	return count == 0;
}

bool orma_packet_select_wants_kind(const struct orma_packet_select *select, uint32_t kind)
{
	return is_among(select->kinds, select->kind_count, kind);
}

bool orma_packet_select_wants_sequence(const struct orma_packet_select *select, uint32_t sequence)
{
	return is_among(select->sequences, select->sequence_count, sequence);
}

bool orma_packet_select_wants_process(const struct orma_packet_select *select,
				      const struct orma_packet_view *packet)
{
	return select->process_count == 0 ||
	       (packet->has_pid &&
		orma_base_map_get(&select->pids, (uint64_t)(uint32_t)packet->pid + 1));
}
