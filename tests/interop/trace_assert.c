/* SPDX-License-Identifier: Apache-2.0
 * trace_assert.c - assertions about the fields at a path: how many there are, and their values.
 *
 * Owns the table of assertions. A path is walked with a stack as deep as the path, however deep
 * the messages of the trace are nested. Sets of values are arrays of 64-bit hashes, because traces
 * of the tests have a few hundred values. Rejected: a callback per data source (a path needs no C
 * code), protobuf reflection (the format consists of field numbers).
 */
#include "trace_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_ASSERTIONS = 128, MAX_VALUES = 4096 };

struct assertion {
	enum assertion_kind kind;
	int depth;            /* components of the path */
	const char *argument; /* as given, for the report */
	uint32_t path[MAX_DEPTH];
	char *copy;       /* memory of the text */
	const char *text; /* NULL = any value */
	size_t text_size;
	int64_t number;
	bool text_is_number;
	int64_t pid, other_pid; /* 0 = any */
	uint64_t wanted, found;
	/* COVERS: hashes of the values that each process sent. */
	uint64_t *values[2];
	size_t value_counts[2];
};

static struct assertion assertions[MAX_ASSERTIONS];
static int assertion_count;

static uint64_t hash_value(const struct wire_field *field)
{
	uint64_t hash = 0xcbf29ce484222325u;
	const uint8_t *at;

	if (field->type != WIRE_BYTES)
		return field->value;
	for (at = field->bytes.at; at < field->bytes.end; at++)
		hash = (hash ^ *at) * 0x100000001b3u;
	return hash;
}

static bool has_seen(const struct assertion *assertion, int side, uint64_t value)
{
	size_t i;

	for (i = 0; i < assertion->value_counts[side]; i++) {
		if (assertion->values[side][i] == value)
			return true;
	}
	return false;
}

static void remember_value(struct assertion *assertion, const struct wire_field *field, int64_t pid)
{
	int side = pid == assertion->pid ? 0 : 1;
	uint64_t value = hash_value(field);

	if ((side == 1 && pid != assertion->other_pid) || has_seen(assertion, side, value))
		return;
	if (assertion->value_counts[side] == MAX_VALUES) {
		fail("--covers %s: more than %d values", assertion->argument, MAX_VALUES);
		return;
	}
	assertion->values[side][assertion->value_counts[side]++] = value;
}

static bool value_matches(const struct assertion *assertion, const struct wire_field *field)
{
	if (!assertion->text)
		return true;
	if (field->type == WIRE_BYTES)
		return (size_t)(field->bytes.end - field->bytes.at) == assertion->text_size &&
		       memcmp(field->bytes.at, assertion->text, assertion->text_size) == 0;
	return assertion->text_is_number && field->value == (uint64_t)assertion->number;
}

static void count_field(struct assertion *assertion, const struct wire_field *field, int64_t pid)
{
	if (assertion->kind == COVERS)
		remember_value(assertion, field, pid);
	else if (value_matches(assertion, field))
		assertion->found++;
}

static void count_in_message(struct assertion *assertion, struct wire_span message, int64_t pid)
{
	struct wire_span stack[MAX_DEPTH];
	struct wire_field field;
	int level = 0, r;

	stack[0] = message;
	while (level >= 0) {
		r = wire_next(&stack[level], &field);
		if (r <= 0) {
			if (r < 0)
				fail("field %s: a message on its path is malformed",
				     assertion->argument);
			level--;
		} else if (field.id != assertion->path[level]) {
			continue;
		} else if (level == assertion->depth - 1) {
			count_field(assertion, &field, pid);
		} else if (field.type == WIRE_BYTES) {
			stack[++level] = field.bytes;
		}
	}
}

void assertions_count(const struct packet *packet)
{
	int i;

	for (i = 0; i < assertion_count; i++) {
		struct assertion *assertion = &assertions[i];

		if (assertion->pid && assertion->kind != COVERS && assertion->pid != packet->pid)
			continue;
		count_in_message(assertion, packet->body, packet->pid);
	}
}

static void judge_covers(const struct assertion *assertion)
{
	uint64_t missing = 0;
	size_t i;

	if (assertion->value_counts[1] == 0)
		fail("--covers %s: process %" PRId64 " sent none", assertion->argument,
		     assertion->other_pid);
	for (i = 0; i < assertion->value_counts[1]; i++)
		missing += !has_seen(assertion, 0, assertion->values[1][i]);
	if (missing > 0)
		fail("--covers %s: %" PRIu64 " of %zu values of process %" PRId64
		     " are not among the %zu of process %" PRId64,
		     assertion->argument, missing, assertion->value_counts[1], assertion->other_pid,
		     assertion->value_counts[0], assertion->pid);
}

void assertions_judge(void)
{
	int i;

	for (i = 0; i < assertion_count; i++) {
		const struct assertion *assertion = &assertions[i];

		if (assertion->kind == COVERS)
			judge_covers(assertion);
		else if (assertion->kind == HAS && assertion->found < assertion->wanted)
			fail("%s: found %" PRIu64 ", expected at least %" PRIu64,
			     assertion->argument, assertion->found, assertion->wanted);
		else if (assertion->kind != HAS && assertion->found != assertion->wanted)
			fail("%s: found %" PRIu64 ", expected %" PRIu64, assertion->argument,
			     assertion->found, assertion->wanted);
	}
}

uint64_t parse_number(const char *text, const char *argument)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		die_usage("not a number", argument);
	return number;
}

static void parse_path(char *path, struct assertion *assertion)
{
	char *part, *rest = NULL;

	for (part = strtok_r(path, ".", &rest); part; part = strtok_r(NULL, ".", &rest)) {
		if (assertion->depth == MAX_DEPTH)
			die_usage("path too deep", assertion->argument);
		assertion->path[assertion->depth++] =
			(uint32_t)parse_number(part, assertion->argument);
	}
	if (assertion->depth == 0)
		die_usage("empty path", assertion->argument);
}

static void parse_value(const char *value, struct assertion *assertion)
{
	char *end;

	assertion->text = value;
	assertion->text_size = strlen(value);
	assertion->number = strtoll(value, &end, 10);
	assertion->text_is_number = end != value && !*end;
}

static struct assertion *new_assertion(enum assertion_kind kind, const char *argument)
{
	struct assertion *assertion;

	if (assertion_count == MAX_ASSERTIONS)
		die_usage("too many assertions", argument);
	assertion = &assertions[assertion_count++];
	assertion->kind = kind;
	assertion->argument = argument;
	return assertion;
}

/* Parses PATH[=V][@PID][:N] from its end; V must not contain ':' or '@'. */
void assertion_add(enum assertion_kind kind, const char *path, const char *argument)
{
	struct assertion *assertion = new_assertion(kind, argument);
	char *text = strdup(path), *cut;

	if (!text)
		abort();
	assertion->copy = text;
	assertion->wanted = kind == NONE ? 0 : 1;
	cut = strrchr(text, ':');
	if (cut) {
		*cut = '\0';
		assertion->wanted = parse_number(cut + 1, argument);
	}
	cut = strrchr(text, '@');
	if (cut) {
		*cut = '\0';
		assertion->pid = (int64_t)parse_number(cut + 1, argument);
	}
	cut = strchr(text, '=');
	if (cut) {
		*cut = '\0';
		parse_value(cut + 1, assertion);
	}
	parse_path(text, assertion);
}

void assertion_add_source(const char *argument)
{
	static const struct {
		uint32_t id;
		const char *name;
	} sources[] = {
		{PACKET_PROCESS_TREE, "process_tree"},
		{PACKET_PROCESS_STATS, "process_stats"},
		{PACKET_SYS_STATS, "sys_stats"},
		{PACKET_TRACK_EVENT, "track_event"},
		{PACKET_TRACK_DESCRIPTOR, "track_descriptor"},
		{PACKET_SYSTEM_INFO, "system_info"},
		{PACKET_CPU_INFO, "cpu_info"},
	};
	size_t i, size = strcspn(argument, "@:");
	char path[64];

	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (strlen(sources[i].name) != size ||
		    strncmp(sources[i].name, argument, size) != 0)
			continue;
		snprintf(path, sizeof(path), "%" PRIu32 "%s", sources[i].id, argument + size);
		assertion_add(HAS, path, argument);
		return;
	}
	die_usage("unknown data source", argument);
}

void assertion_add_covers(char **arguments)
{
	struct assertion *assertion = new_assertion(COVERS, arguments[0]);
	char *path = strdup(arguments[0]);
	int side;

	if (!path)
		abort();
	parse_path(path, assertion);
	free(path);
	assertion->pid = (int64_t)parse_number(arguments[1], arguments[1]);
	assertion->other_pid = (int64_t)parse_number(arguments[2], arguments[2]);
	for (side = 0; side < 2; side++) {
		assertion->values[side] = calloc(MAX_VALUES, sizeof(uint64_t));
		if (!assertion->values[side])
			abort();
	}
}
