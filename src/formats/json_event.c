/* SPDX-License-Identifier: Apache-2.0
 * json_event.c - reads the fields of an event, in whatever order they are.
 *
 * The values of the fields that most events have are read in place when they are as nearly all are: short numbers, strings without
 * escapes. All others, and those at the end of the window, are read as values of any kind and then looked at.
 */
#include "formats/json_event.h"

#include "base/macros.h"
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

/* Each of these returns the address behind the value, or NULL when the value is of another form, or may go on behind the end. */

static inline bool is_behind_number(char c)
{
	return c == ',' || c == '}';
}

static inline const char *read_phase(const char *at, const char *end, char *ret)
{
	if (end - at < 3 || at[0] != '"' || at[1] == '"' || at[1] == '\\' || at[2] != '"')
		return NULL;
	*ret = at[1];
	return at + 3;
}

/* Reads a number of up to seven digits. */
static inline const char *read_task(const char *at, const char *end, struct orma_json_id *ret)
{
	uint64_t word;
	if (end - at < (ptrdiff_t)sizeof(word))
		return NULL;
	unsigned count = orma_json_load_digits(at, &word);
	if (count == 0 || count == sizeof(word) || !is_behind_number(at[count]))
		return NULL;
	ret->kind = ORMA_JSON_ID_NUMBER;
	ret->number = orma_json_join_digits(word << (64 - 8 * count));
	return at + count;
}

/* Reads microseconds of up to fifteen digits, and up to three behind the point. */
static const char *read_us(const char *at, const char *end, int64_t *ret_ns, bool *ret_has)
{
	enum { US_DIGITS_MAX = 15, NS_DIGITS = 3 };
	uint64_t digits = 0;
	size_t decimals = 0;
	const char *behind = orma_json_read_digits(at, end, &digits);
	if (behind == at || behind - at > US_DIGITS_MAX || behind == end)
		return NULL;
	if (*behind == '.') {
		at = behind + 1;
		behind = orma_json_read_digits(at, end, &digits);
		decimals = (size_t)(behind - at);
		if (decimals == 0 || decimals > NS_DIGITS || behind == end)
			return NULL;
	}
	if (!is_behind_number(*behind))
		return NULL;
	*ret_ns = (int64_t)(digits * orma_json_powers[NS_DIGITS - decimals]);
	*ret_has = true;
	return behind;
}

static inline const char *read_text(const char *at, const char *end, struct orma_str *ret)
{
	bool has_escapes;
	if (at == end || *at != '"')
		return NULL;
	at++;
	const char *quote = orma_json_find_quote(at, end, &has_escapes);
	if (!quote || has_escapes)
		return NULL;
	*ret = (struct orma_str){quote == at ? NULL : at, (size_t)(quote - at)};
	return quote + 1;
}

static inline const char *read_object(const char *at, const char *end, struct orma_str *ret)
{
	if (at == end || *at != '{')
		return NULL;
	at++;
	const char *close = orma_json_find_close(at, end, '{', '}');
	if (!close)
		return NULL;
	*ret = (struct orma_str){at, (size_t)(close - at)};
	return close + 1;
}

/* Reads the value of a field that most events have. */
static inline const char *read_usual(const char *at, const char *end, unsigned field,
				     struct orma_json_event *event)
{
	switch (field) {
	case ORMA_JSON_FIELD_ARGS:
		return read_object(at, end, &event->args);
	case ORMA_JSON_FIELD_CATEGORY:
		return read_text(at, end, &event->category);
	case ORMA_JSON_FIELD_DURATION:
		return read_us(at, end, &event->dur_ns, &event->has_dur);
	case ORMA_JSON_FIELD_NAME:
		return read_text(at, end, &event->name);
	case ORMA_JSON_FIELD_PHASE:
		return read_phase(at, end, &event->phase);
	case ORMA_JSON_FIELD_PID:
		return read_task(at, end, &event->pid);
	case ORMA_JSON_FIELD_TID:
		return read_task(at, end, &event->tid);
	case ORMA_JSON_FIELD_TIME:
		return read_us(at, end, &event->ns, &event->has_ts);
	case ORMA_JSON_FIELD_THREAD_DURATION:
		return read_us(at, end, &event->tdur_ns, &event->has_tdur);
	case ORMA_JSON_FIELD_THREAD_TIME:
		return read_us(at, end, &event->tts_ns, &event->has_tts);
	default:
		return NULL;
	}
}

/* --- keys ------------------------------------------------------------------------------------- */

static enum orma_json_field field_of(struct orma_str key)
{
	static const struct {
		char key[8];
		enum orma_json_field field;
	} fields[] = {
		{"args", ORMA_JSON_FIELD_ARGS},
		{"cat", ORMA_JSON_FIELD_CATEGORY},
		{"dur", ORMA_JSON_FIELD_DURATION},
		{"name", ORMA_JSON_FIELD_NAME},
		{"ph", ORMA_JSON_FIELD_PHASE},
		{"pid", ORMA_JSON_FIELD_PID},
		{"tid", ORMA_JSON_FIELD_TID},
		{"ts", ORMA_JSON_FIELD_TIME},
		{"tdur", ORMA_JSON_FIELD_THREAD_DURATION},
		{"tts", ORMA_JSON_FIELD_THREAD_TIME},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++)
		if (orma_base_str_is(key, fields[i].key))
			return fields[i].field;
	return ORMA_JSON_FIELD_OTHER;
}

enum { GUESS_BYTES = ORMA_JSON_GUESS_WORDS * sizeof(uint64_t) };

/* Finds the guess that a text begins with, or NULL. */
static inline const struct orma_json_guess *find_guess(const struct orma_json_guess *guesses,
						       const char *at, const char *end)
{
	if (end - at < (ptrdiff_t)GUESS_BYTES)
		return NULL;
	uint64_t first = orma_json_load(at), second = orma_json_load(at + sizeof(first));
	for (size_t i = 0; i < ORMA_JSON_GUESSES; i++) {
		const struct orma_json_guess *guess = &guesses[i];
		uint64_t differences = ((first ^ guess->text[0]) & guess->mask[0]) |
				       ((second ^ guess->text[1]) & guess->mask[1]);
		if (differences == 0)
			return guess->size > 0 ? guess : NULL;
	}
	return NULL;
}

/* Keeps a text that was met, if it is short, in place of the one that is guessed last. */
static void learn(struct orma_json_guess *guesses, struct orma_str text, struct orma_str key,
		  enum orma_json_field field)
{
	char bytes[GUESS_BYTES] = {0}, mask[GUESS_BYTES] = {0};
	struct orma_json_guess *guess = &guesses[0];
	if (text.size > sizeof(bytes))
		return;
	memmove(guess + 1, guess, (ORMA_JSON_GUESSES - 1) * sizeof(*guess));
	memcpy(bytes, text.data, text.size);
	memset(mask, 0xff, text.size);
	memcpy(guess->text, bytes, sizeof(bytes));
	memcpy(guess->mask, mask, sizeof(mask));
	guess->size = (uint8_t)text.size;
	guess->field = (uint8_t)field;
	guess->key = (uint8_t)(key.data - text.data);
	guess->key_size = (uint8_t)key.size;
}

/* Reads a key, and learns what is around it. *field is the field before, and becomes this one. */
static __attribute__((noinline)) enum orma_json_next read_key(struct orma_json_scan *scan,
							      struct orma_json_guesses *guesses,
							      struct orma_str *ret, unsigned *field)
{
	struct orma_json_value key;
	const char *begin = scan->at;
	enum orma_json_next next = orma_json_read_key(scan, &key);
	if (next != ORMA_JSON_MEMBER)
		return next;
	orma_json_pass_blanks(scan);
	enum orma_json_field found = field_of(key.text);
	learn(guesses->after[*field], (struct orma_str){begin, (size_t)(scan->at - begin)},
	      key.text, found);
	*ret = key.text;
	*field = found;
	return ORMA_JSON_MEMBER;
}

/* Reads a value of any form. */
static __attribute__((noinline)) enum orma_json_next read_any(struct orma_json_scan *scan,
							      struct orma_str key,
							      struct orma_arena *arena,
							      struct orma_json_event *event)
{
	struct orma_json_value value;
	enum orma_json_next next = orma_json_read_value(scan, &value);
	if (next == ORMA_JSON_MEMBER)
		take_field(key, &value, arena, event);
	return next;
}

static inline void clear_id(struct orma_json_id *id)
{
	id->kind = ORMA_JSON_ID_NONE;
	id->number = 0;
}

/* Member by member, because a compiler clears a structure of this size slowly. A text of an id is read only if its kind says so. */
static inline void clear(struct orma_json_event *event)
{
	event->phase = event->scope = 0;
	event->has_fields = event->has_ts = event->has_dur = event->has_tts = event->has_tdur =
		false;
	event->flow_in = event->flow_out = event->binds_enclosing = event->is_wrong = false;
	event->ns = event->dur_ns = event->tts_ns = event->tdur_ns = 0;
	clear_id(&event->pid);
	clear_id(&event->tid);
	clear_id(&event->id);
	clear_id(&event->local_id);
	clear_id(&event->global_id);
	clear_id(&event->bind_id);
	event->name = event->category = event->args = (struct orma_str){NULL, 0};
}

enum orma_json_next orma_json_event_read(struct orma_json_scan *scan,
					 struct orma_json_guesses *guesses,
					 struct orma_arena *arena, struct orma_json_event *ret)
{
	const char *end = scan->end, *at = scan->at, *behind;
	unsigned field = ORMA_JSON_FIELD_NONE;
	enum orma_json_next next;
	clear(ret);
	for (;;) {
		struct orma_str key;
		if (at < end && *at == '}') {
			scan->at = at + 1;
			return ORMA_JSON_MEMBER;
		}
		const struct orma_json_guess *guess = find_guess(guesses->after[field], at, end);
		if (ORMA_LIKELY(guess != NULL)) {
			key = (struct orma_str){at + guess->key, guess->key_size};
			field = guess->field;
			at += guess->size;
		} else {
			scan->at = at;
			next = read_key(scan, guesses, &key, &field);
			if (next != ORMA_JSON_MEMBER)
				return next == ORMA_JSON_END ? ORMA_JSON_MEMBER : next;
			at = scan->at;
		}
		behind = read_usual(at, end, field, ret);
		if (ORMA_UNLIKELY(!behind)) {
			scan->at = at;
			next = read_any(scan, key, arena, ret);
			if (next != ORMA_JSON_MEMBER)
				return next;
			behind = scan->at;
		}
		at = behind;
		ret->has_fields = true;
	}
}
