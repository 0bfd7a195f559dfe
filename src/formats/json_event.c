/* SPDX-License-Identifier: Apache-2.0
 * json_event.c - reads the fields of an event, in whatever order they are.
 *
 * The values of the fields that most events have are read in place when they are as nearly all are: short numbers, strings without
 * escapes. All others, and those at the end of the window, are read as values of any kind and then looked at.
 */
#include "formats/json_event.h"
#include "formats/text_lines.h"
#include "trace/json_key.h"

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

static void take_field(struct orma_str key, const struct orma_json_value *value,
		       struct orma_arena *arena, struct orma_json_event *event)
{
	if (key.size > 3)
		take_long_field(key, value, arena, event);
	else if (key.size == 3)
		take_field_of_three(key, value, arena, event);
	else if (key.size > 0)
		take_short_field(key, value, arena, event);
}

/* --- ids -------------------------------------------------------------------------------------- */

/* Reads a hexadecimal number, with or without 0x. False when the text is another one. */
static bool read_hexadecimal(struct orma_str digits, uint64_t *ret)
{
	if (digits.size > 2 && digits.data[0] == '0' && (digits.data[1] | 0x20) == 'x') {
		digits.data += 2;
		digits.size -= 2;
	}
	return orma_text_read_u64(digits, 16, ret);
}

uint64_t orma_json_id_number(const struct orma_json_id *id)
{
	uint64_t number = 0;
	if (id->kind != ORMA_JSON_ID_TEXT)
		return id->number;
	if (read_hexadecimal(id->text, &number))
		return number;
	return orma_base_fnv1a(ORMA_FNV1A_INIT, id->text.data, id->text.size);
}

bool orma_json_id_is_flow(const struct orma_json_id *id)
{
	uint64_t number;
	if (id->kind != ORMA_JSON_ID_TEXT)
		return id->kind == ORMA_JSON_ID_NUMBER;
	return read_hexadecimal(id->text, &number);
}

/* --- values as nearly all are ----------------------------------------------------------------- */

/* Each of these returns false, and has read nothing, when the value is of another form, or may go on behind the end. */

static inline bool is_behind_number(char c)
{
	return c == ',' || c == '}';
}

static inline bool read_phase(struct orma_json_scan *scan, char *ret)
{
	const char *at = scan->at;
	if (scan->end - at < 3 || at[0] != '"' || at[1] == '"' || at[1] == '\\' || at[2] != '"')
		return false;
	*ret = at[1];
	scan->at += 3;
	return true;
}

/* Reads a number of up to seven digits. */
static inline bool read_task(struct orma_json_scan *scan, struct orma_json_id *ret)
{
	uint64_t word;
	if (scan->end - scan->at < (ptrdiff_t)sizeof(word))
		return false;
	unsigned count = orma_json_load_digits(scan->at, &word);
	if (count == 0 || count == sizeof(word) || !is_behind_number(scan->at[count]))
		return false;
	ret->kind = ORMA_JSON_ID_NUMBER;
	ret->number = orma_json_join_digits(word << (64 - 8 * count));
	scan->at += count;
	return true;
}

/* Reads microseconds of up to fifteen digits, and up to three behind the point. */
static inline bool read_us(struct orma_json_scan *scan, int64_t *ret_ns)
{
	enum { US_DIGITS_MAX = 15, NS_DIGITS = 3 };
	const char *at = scan->at, *end = scan->end, *behind;
	uint64_t digits = 0;
	size_t decimals = 0;
	behind = orma_json_read_digits(at, end, &digits);
	if (behind == at || behind - at > US_DIGITS_MAX || behind == end)
		return false;
	if (*behind == '.') {
		at = behind + 1;
		behind = orma_json_read_digits(at, end, &digits);
		decimals = (size_t)(behind - at);
		if (decimals == 0 || decimals > NS_DIGITS || behind == end)
			return false;
	}
	if (!is_behind_number(*behind))
		return false;
	*ret_ns = (int64_t)(digits * orma_json_powers[NS_DIGITS - decimals]);
	scan->at = behind;
	return true;
}

static inline bool read_text(struct orma_json_scan *scan, struct orma_str *ret)
{
	const char *begin = scan->at + 1;
	bool has_escapes;
	if (scan->at == scan->end || *scan->at != '"')
		return false;
	const char *quote = orma_json_find_quote(begin, scan->end, &has_escapes);
	if (!quote || has_escapes)
		return false;
	*ret = (struct orma_str){quote == begin ? NULL : begin, (size_t)(quote - begin)};
	scan->at = quote + 1;
	return true;
}

static inline bool read_object(struct orma_json_scan *scan, struct orma_str *ret)
{
	const char *begin = scan->at + 1;
	if (scan->at == scan->end || *scan->at != '{')
		return false;
	const char *close = orma_json_find_close(begin, scan->end, '{', '}');
	if (!close)
		return false;
	*ret = (struct orma_str){begin, (size_t)(close - begin)};
	scan->at = close + 1;
	return true;
}

/* Reads a field that most events have. */
static inline bool read_usual(struct orma_json_scan *scan, struct orma_str key,
			      struct orma_json_event *event)
{
	if (key.size == 3) {
		if (IS(key, "pid"))
			return read_task(scan, &event->pid);
		if (IS(key, "tid"))
			return read_task(scan, &event->tid);
		if (IS(key, "cat"))
			return read_text(scan, &event->category);
		if (!IS(key, "dur") || !read_us(scan, &event->dur_ns))
			return false;
		event->has_dur = true;
		return true;
	}
	if (key.size == 2) {
		if (IS(key, "ph"))
			return read_phase(scan, &event->phase);
		if (!IS(key, "ts") || !read_us(scan, &event->ns))
			return false;
		event->has_ts = true;
		return true;
	}
	if (key.size == 4 && IS(key, "name"))
		return read_text(scan, &event->name);
	return key.size == 4 && IS(key, "args") && read_object(scan, &event->args);
}

enum orma_json_next orma_json_event_read(struct orma_json_scan *scan, struct orma_arena *arena,
					 struct orma_json_event *ret)
{
	struct orma_json_value key, value;
	enum orma_json_next next;
	*ret = (struct orma_json_event){0};
	while ((next = orma_json_read_key(scan, &key)) == ORMA_JSON_MEMBER) {
		orma_json_pass_blanks(scan);
		if (!read_usual(scan, key.text, ret)) {
			next = orma_json_read_value(scan, &value);
			if (next != ORMA_JSON_MEMBER)
				return next;
			take_field(key.text, &value, arena, ret);
		}
		ret->has_fields = true;
	}
	return next == ORMA_JSON_END ? ORMA_JSON_MEMBER : next;
}
