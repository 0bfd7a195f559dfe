/* SPDX-License-Identifier: Apache-2.0
 * json_event.c - reads the fields of an event, in whatever order they are.
 */
#include "formats/json_event.h"

static struct orma_str take_text(const struct orma_json_value *value, struct orma_arena *arena)
{
	if (value->kind != ORMA_JSON_STRING || value->text.size == 0)
		return (struct orma_str){NULL, 0};
	return orma_json_unescape(value, arena);
}

static void take_id(const struct orma_json_value *value, struct orma_arena *arena,
		    struct orma_json_id *ret)
{
	int64_t number;
	if (value->kind == ORMA_JSON_STRING) {
		ret->kind = ORMA_JSON_ID_TEXT;
		ret->text = orma_json_unescape(value, arena);
	} else if (orma_json_value_i64(value, &number)) {
		ret->kind = ORMA_JSON_ID_NUMBER;
		ret->number = (uint64_t)number;
	}
}

/* A pid or a tid; a number that is none of a process becomes 0. */
static void take_task(const struct orma_json_value *value, struct orma_arena *arena,
		      struct orma_json_id *ret)
{
	double real;
	int64_t number;
	take_id(value, arena, ret);
	if (value->kind == ORMA_JSON_REAL && orma_json_value_double(value, &real)) {
		ret->kind = ORMA_JSON_ID_NUMBER;
		ret->number = real >= 0 && real <= UINT32_MAX ? (uint64_t)real : 0;
	} else if (value->kind == ORMA_JSON_INTEGER) {
		bool fits =
			orma_json_value_i64(value, &number) && number >= 0 && number <= UINT32_MAX;
		ret->kind = ORMA_JSON_ID_NUMBER;
		ret->number = fits ? (uint64_t)number : 0;
	}
}

static void take_id2(const struct orma_json_value *value, struct orma_arena *arena,
		     struct orma_json_event *event)
{
	struct orma_json_scan scan = {value->text.data, value->text.data + value->text.size, true};
	struct orma_json_value key, id;
	if (value->kind != ORMA_JSON_OBJECT)
		return;
	while (orma_json_read_field(&scan, &key, &id) == ORMA_JSON_MEMBER) {
		if (orma_base_str_is(key.text, "local"))
			take_id(&id, arena, &event->local_id);
		else if (orma_base_str_is(key.text, "global"))
			take_id(&id, arena, &event->global_id);
	}
}

static char take_scope(const struct orma_json_value *value)
{
	if (value->kind != ORMA_JSON_STRING)
		return 0;
	bool is_known = value->text.size == 1 && strchr("gpt", value->text.data[0]);
	return (char)(is_known ? value->text.data[0] : '?');
}

/* The size is a constant, so that the comparison is one of numbers. */
#define IS(key, name) (memcmp((key).data, name, sizeof(name) - 1) == 0)

static void take_short_field(struct orma_str key, const struct orma_json_value *value,
			     struct orma_arena *arena, struct orma_json_event *event)
{
	if (key.size == 1) {
		if (IS(key, "s"))
			event->scope = take_scope(value);
	} else if (IS(key, "ph")) {
		event->phase = 0;
		if (value->kind == ORMA_JSON_STRING && value->text.size > 0)
			event->phase = value->text.data[0];
	} else if (IS(key, "ts")) {
		event->has_ts = orma_json_value_us(value, &event->ns);
	} else if (IS(key, "id")) {
		take_id(value, arena, &event->id);
	} else if (IS(key, "bp")) {
		event->binds_enclosing =
			value->kind == ORMA_JSON_STRING && orma_base_str_is(value->text, "e");
	}
}

static void take_field_of_three(struct orma_str key, const struct orma_json_value *value,
				struct orma_arena *arena, struct orma_json_event *event)
{
	if (IS(key, "pid")) {
		take_task(value, arena, &event->pid);
	} else if (IS(key, "tid")) {
		take_task(value, arena, &event->tid);
	} else if (IS(key, "cat")) {
		event->category = take_text(value, arena);
	} else if (IS(key, "dur")) {
		event->has_dur = orma_json_value_us(value, &event->dur_ns);
		event->is_wrong |= !event->has_dur;
	} else if (IS(key, "tts")) {
		event->has_tts = orma_json_value_us(value, &event->tts_ns);
		event->is_wrong |= !event->has_tts;
	} else if (IS(key, "id2")) {
		take_id2(value, arena, event);
	}
}

static void take_long_field(struct orma_str key, const struct orma_json_value *value,
			    struct orma_arena *arena, struct orma_json_event *event)
{
	if (key.size == 4 && IS(key, "name")) {
		event->name = take_text(value, arena);
	} else if (key.size == 4 && IS(key, "args")) {
		if (value->kind == ORMA_JSON_OBJECT)
			event->args = value->text;
	} else if (key.size == 4 && IS(key, "tdur")) {
		event->has_tdur = orma_json_value_us(value, &event->tdur_ns);
		event->is_wrong |= !event->has_tdur;
	} else if (key.size == 7 && IS(key, "bind_id")) {
		take_id(value, arena, &event->bind_id);
	} else if (key.size == 7 && IS(key, "flow_in")) {
		event->flow_in = value->kind == ORMA_JSON_TRUE;
	} else if (key.size == 8 && IS(key, "flow_out")) {
		event->flow_out = value->kind == ORMA_JSON_TRUE;
	}
}

enum orma_json_next orma_json_event_read(struct orma_json_scan *scan, struct orma_arena *arena,
					 struct orma_json_event *ret)
{
	struct orma_json_value key, value;
	enum orma_json_next next;
	*ret = (struct orma_json_event){0};
	while ((next = orma_json_read_field(scan, &key, &value)) == ORMA_JSON_MEMBER) {
		ret->has_fields = true;
		if (key.text.size > 3)
			take_long_field(key.text, &value, arena, ret);
		else if (key.text.size == 3)
			take_field_of_three(key.text, &value, arena, ret);
		else if (key.text.size > 0)
			take_short_field(key.text, &value, arena, ret);
	}
	return next == ORMA_JSON_END ? ORMA_JSON_MEMBER : next;
}
