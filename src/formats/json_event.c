/* SPDX-License-Identifier: Apache-2.0
 * json_event.c - reads the fields of an event, in whatever order they are.
 */
#include "formats/json_event.h"

#include <math.h>

/* Times are numbers, or texts that hold a number. */
static bool take_time(const struct orma_json_value *value, int64_t *ret_ns)
{
	bool may_be = value->kind == ORMA_JSON_INTEGER || value->kind == ORMA_JSON_REAL ||
		      value->kind == ORMA_JSON_STRING;
	return may_be && orma_json_read_us(value->text, ret_ns);
}

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
	} else if (value->kind == ORMA_JSON_INTEGER && orma_json_read_i64(value->text, &number)) {
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
	if (value->kind == ORMA_JSON_REAL && orma_json_read_double(value->text, &real)) {
		ret->kind = ORMA_JSON_ID_NUMBER;
		ret->number = real >= 0 && real <= UINT32_MAX ? (uint64_t)real : 0;
	} else if (value->kind == ORMA_JSON_INTEGER) {
		bool fits = orma_json_read_i64(value->text, &number) && number >= 0 &&
			    number <= UINT32_MAX;
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

enum field {
	FIELD_ARGS,
	FIELD_BIND_ID,
	FIELD_BP,
	FIELD_CAT,
	FIELD_DUR,
	FIELD_FLOW_IN,
	FIELD_FLOW_OUT,
	FIELD_ID,
	FIELD_ID2,
	FIELD_NAME,
	FIELD_PH,
	FIELD_PID,
	FIELD_S,
	FIELD_TDUR,
	FIELD_TID,
	FIELD_TS,
	FIELD_TTS,
	FIELDS,
};

static enum field find_field(struct orma_str key)
{
	static const struct {
		char name[9];
		uint8_t size;
	} names[FIELDS] = {
		[FIELD_ARGS] = {"args", 4},
		[FIELD_BIND_ID] = {"bind_id", 7},
		[FIELD_BP] = {"bp", 2},
		[FIELD_CAT] = {"cat", 3},
		[FIELD_DUR] = {"dur", 3},
		[FIELD_FLOW_IN] = {"flow_in", 7},
		[FIELD_FLOW_OUT] = {"flow_out", 8},
		[FIELD_ID] = {"id", 2},
		[FIELD_ID2] = {"id2", 3},
		[FIELD_NAME] = {"name", 4},
		[FIELD_PH] = {"ph", 2},
		[FIELD_PID] = {"pid", 3},
		[FIELD_S] = {"s", 1},
		[FIELD_TDUR] = {"tdur", 4},
		[FIELD_TID] = {"tid", 3},
		[FIELD_TS] = {"ts", 2},
		[FIELD_TTS] = {"tts", 3},
	};
	/* The first field of each length, in the order in which events have them. */
	for (unsigned i = 0; i < FIELDS; i++)
		if (key.size == names[i].size && key.data[0] == names[i].name[0] &&
		    memcmp(key.data, names[i].name, key.size) == 0)
			return (enum field)i;
	return FIELDS;
}

static void take_field(enum field field, const struct orma_json_value *value,
		       struct orma_arena *arena, struct orma_json_event *event)
{
	switch (field) {
	case FIELD_ARGS:
		if (value->kind == ORMA_JSON_OBJECT)
			event->args = value->text;
		break;
	case FIELD_BIND_ID:
		take_id(value, arena, &event->bind_id);
		break;
	case FIELD_BP:
		event->binds_enclosing =
			value->kind == ORMA_JSON_STRING && orma_base_str_is(value->text, "e");
		break;
	case FIELD_CAT:
		event->category = take_text(value, arena);
		break;
	case FIELD_DUR:
		event->has_dur = take_time(value, &event->dur_ns);
		event->is_wrong |= !event->has_dur;
		break;
	case FIELD_FLOW_IN:
		event->flow_in = value->kind == ORMA_JSON_TRUE;
		break;
	case FIELD_FLOW_OUT:
		event->flow_out = value->kind == ORMA_JSON_TRUE;
		break;
	case FIELD_ID:
		take_id(value, arena, &event->id);
		break;
	case FIELD_ID2:
		take_id2(value, arena, event);
		break;
	case FIELD_NAME:
		event->name = take_text(value, arena);
		break;
	case FIELD_PH:
		event->phase = 0;
		if (value->kind == ORMA_JSON_STRING && value->text.size > 0)
			event->phase = value->text.data[0];
		break;
	case FIELD_PID:
		take_task(value, arena, &event->pid);
		break;
	case FIELD_S:
		event->scope = take_scope(value);
		break;
	case FIELD_TDUR:
		event->has_tdur = take_time(value, &event->tdur_ns);
		event->is_wrong |= !event->has_tdur;
		break;
	case FIELD_TID:
		take_task(value, arena, &event->tid);
		break;
	case FIELD_TS:
		event->has_ts = take_time(value, &event->ns);
		break;
	case FIELD_TTS:
		event->has_tts = take_time(value, &event->tts_ns);
		event->is_wrong |= !event->has_tts;
		break;
	case FIELDS:
		break;
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
		take_field(key.text.size > 0 ? find_field(key.text) : FIELDS, &value, arena, ret);
	}
	return next == ORMA_JSON_END ? ORMA_JSON_MEMBER : next;
}
