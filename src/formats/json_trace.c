/* SPDX-License-Identifier: Apache-2.0
 * json_trace.c - Chrome's JSON format: an array of events, or an object with such an array.
 *
 * Events are read in a window of the file. When the window ends in an event, it is read again from the event's beginning, and
 * larger if the event did not fit. An array may be cut anywhere, as programs append to it until they are killed. An object may
 * not. Chrome adds the kernel's events to an object, as the text of ftrace in one string, of which a line is read at a time.
 */
#include <errno.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "formats/format.h"
#include "formats/ftrace_output.h"
#include "formats/json_event.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/trace_attributes.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/clocks.h"

enum { WINDOW_BYTES = 256 << 10, EVENT_MAX_BYTES = 64 << 20, BEGINNING_BYTES = 8 };

struct json {
	struct orma_conversion *conversion;
	struct orma_trace_window window;
	uint64_t end;               /* the end of the file */
	struct orma_json_scan scan; /* within the window */
	struct orma_json_guesses guesses;
	struct orma_json_writer writer;
	struct orma_ftrace_output kernel;
};

/* Blanks do not count. */
static bool detect(int fd, struct orma_str beginning)
{
	char text[BEGINNING_BYTES];
	size_t size = 0;
	(void)fd;
	for (size_t i = 0; i < beginning.size && size < sizeof(text); i++)
		if (!strchr(" \t\r\n", beginning.data[i]))
			text[size++] = beginning.data[i];
	return (size >= 2 && memcmp(text, "{\"", 2) == 0) ||
	       (size >= 3 && memcmp(text, "[{\"", 3) == 0);
}

static uint64_t address_of(const struct json *json, const char *at)
{
	return json->window.address + (uint64_t)(at - (const char *)json->window.data);
}

/* Makes the window begin at `from`, and hold more behind it than it did. 1, 0 (the file ends), or a negative errno value. */
static int move_window(struct json *json, const char *from, struct orma_error *reterr)
{
	uint64_t address = json->window.data ? address_of(json, from) : 0;
	size_t have = json->window.data ? (size_t)(json->scan.end - from) : 0;
	uint64_t left = json->end - address;
	const uint8_t *data;
	if (have >= EVENT_MAX_BYTES)
		return orma_base_error_set(
			reterr, -EBADMSG,
			"Failure parsing JSON: what begins at byte %llu is longer than %d MiB",
			(unsigned long long)address, EVENT_MAX_BYTES >> 20);
	if (left == have)
		return 0;
	size_t wanted = (size_t)ORMA_MIN(left, (uint64_t)ORMA_MAX((size_t)WINDOW_BYTES, 2 * have));
	int r = orma_trace_window_refill(&json->window, json->conversion->input, address, wanted,
					 wanted, &data);
	if (r <= 0)
		return r;
	json->scan.at = (const char *)data;
	json->scan.end = json->scan.at + json->window.size;
	return 1;
}

static int damaged(struct json *json, const char *what, struct orma_error *reterr)
{
	return orma_base_error_set(reterr, -EBADMSG,
				   "Failure parsing JSON: it is %s at byte %llu (ERR:tp-corrupt)",
				   what, (unsigned long long)address_of(json, json->scan.at));
}

/* Skips blanks. 1 and the next character, 0 at the end of the file, or a negative errno value. */
static int peek(struct json *json, char *ret, struct orma_error *reterr)
{
	for (;;) {
		orma_json_skip_blanks(&json->scan);
		if (json->scan.at < json->scan.end) {
			*ret = *json->scan.at;
			return 1;
		}
		int r = move_window(json, json->scan.at, reterr);
		if (r <= 0)
			return r;
	}
}

/* Reads the event that begins here. 1, 0 (the file ends in it), or a negative errno value. */
static int take_event(struct json *json, struct orma_error *reterr)
{
	struct orma_json_event event;
	for (;;) {
		const char *begin = json->scan.at++;
		orma_base_arena_clear(&json->writer.arena);
		enum orma_json_next next = orma_json_event_read(&json->scan, &json->guesses,
								&json->writer.arena, &event);
		if (next == ORMA_JSON_MEMBER)
			break;
		if (next == ORMA_JSON_DAMAGED)
			return damaged(json, "damaged", reterr);
		int r = move_window(json, begin, reterr);
		if (r <= 0)
			return r;
	}
	int r = orma_json_event_write(&json->writer, &event);
	return r < 0 ? r : 1;
}

/* Reads the events of an array from behind its bracket. 1, 0 (the file ends in it), or a negative errno value. */
static int take_events(struct json *json, struct orma_error *reterr)
{
	for (;;) {
		char next;
		int r = peek(json, &next, reterr);
		if (r <= 0)
			return r;
		if (next == ',') {
			json->scan.at++;
			continue;
		}
		if (next == ']') {
			json->scan.at++;
			return 1;
		}
		if (next != '{')
			return damaged(json, "damaged", reterr);
		r = take_event(json, reterr);
		if (r <= 0)
			return r;
	}
}

/* The metadata of the file become attributes of the trace, with names that say where they are from. */
static void write_attribute(struct json *json, struct orma_proto_writer *to,
			    const struct orma_buf *name, const struct orma_json_value *value)
{
	struct orma_proto_nested attribute;
	int64_t number = value->kind == ORMA_JSON_TRUE;
	bool is_number = value->kind == ORMA_JSON_TRUE || value->kind == ORMA_JSON_FALSE ||
			 orma_json_value_i64(value, &number);
	orma_proto_nested_begin(to, &attribute, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE);
	orma_proto_write_bytes(to, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE_KEY, name->data, name->size);
	if (is_number)
		orma_proto_write_int(to, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE_LONG_VALUE, number);
	else
		orma_proto_write_str(to, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE,
				     value->kind == ORMA_JSON_STRING
					     ? orma_json_unescape(value, &json->writer.arena)
					     : value->text);
	orma_proto_nested_end(to, &attribute);
}

static int take_metadata(struct json *json, struct orma_str object)
{
	struct orma_json_scan scan = {object.data, object.data + object.size, true};
	struct orma_packet_output *output = json->conversion->output;
	struct orma_json_value key, value;
	struct orma_proto_nested attributes;
	struct orma_proto_writer *to = orma_packet_output_begin_untimed(output, 1);
	int r = 0;
	orma_proto_nested_begin(to, &attributes, ORMA_PB_TRACE_PACKET_TRACE_ATTRIBUTES);
	while (r >= 0 && orma_json_read_field(&scan, &key, &value) == ORMA_JSON_MEMBER) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf name = {0};
		struct orma_str text = orma_json_unescape(&key, &json->writer.arena);
		if (value.kind == ORMA_JSON_NULL)
			continue;
		r = orma_base_buf_printf(&name, "json_metadata.%.*s", (int)text.size,
					 text.data ? text.data : "");
		if (r >= 0)
			write_attribute(json, to, &name, &value);
	}
	int ended = orma_packet_output_end(output);
	return r < 0 ? r : ended;
}

/* A value whose content nobody needs may be larger than any window. 1, 0 (the file ends in it), or a negative errno value. */
static int skip_value(struct json *json, struct orma_error *reterr)
{
	bool is_in_string = false, is_escaped = false;
	uint64_t depth = 0;
	for (;;) {
		for (; json->scan.at < json->scan.end; json->scan.at++) {
			char c = *json->scan.at;
			if (is_in_string) {
				is_in_string = is_escaped || c != '"';
				is_escaped = !is_escaped && c == '\\';
				continue;
			}
			if (depth == 0 && (c == ',' || c == '}'))
				return 1;
			is_in_string = c == '"';
			depth += c == '{' || c == '[';
			if ((c == '}' || c == ']') && depth-- == 0)
				return damaged(json, "damaged", reterr);
		}
		int r = move_window(json, json->scan.at, reterr);
		if (r <= 0)
			return r;
	}
}

/* Reads a value that fits into a window. 1, 0 (the file ends in it), or a negative errno value. */
static int read_value(struct json *json, struct orma_json_value *ret, struct orma_error *reterr)
{
	for (;;) {
		const char *begin = json->scan.at;
		enum orma_json_next next = orma_json_read_value(&json->scan, ret);
		if (next == ORMA_JSON_MEMBER)
			return 1;
		json->scan.at = begin;
		if (next == ORMA_JSON_DAMAGED)
			return damaged(json, "damaged", reterr);
		int r = move_window(json, begin, reterr);
		if (r <= 0)
			return r;
	}
}

static int take_kernel_line(struct json *json, struct orma_str raw)
{
	const struct orma_json_value value = {
		.kind = ORMA_JSON_STRING, .has_escapes = true, .text = raw};
	struct orma_ftrace_line event;
	orma_base_arena_clear(&json->writer.arena);
	struct orma_str line = orma_json_unescape(&value, &json->writer.arena);
	if (line.size == 0 || line.data[0] == '#')
		return 0;
	if (orma_ftrace_line_read(line, &event))
		return orma_ftrace_output_add(&json->kernel, &event);
	orma_packet_output_count(json->conversion->output, ORMA_STAT_systrace_parse_failure);
	return 0;
}

/* Returns where a line of a string ends: at `\n` as it is written, or at the closing quote. NULL when it is not in the window. */
static const char *find_line_end(const char *at, const char *end)
{
	while (at < end && *at != '"') {
		bool is_escape = *at == '\\';
		if (is_escape && end - at < 2)
			return NULL;
		if (is_escape && at[1] == 'n')
			return at;
		at += is_escape ? 2 : 1;
	}
	return at < end ? at : NULL;
}

/* Kernel events are on the boot clock unless they say otherwise; here that is the clock of the file. */
static int write_kernel_clock(struct orma_packet_output *output)
{
	static const uint32_t clocks[] = {ORMA_CLOCK_TRACE_FILE, ORMA_CLOCK_BOOTTIME};
	struct orma_proto_nested snapshot, reading;
	struct orma_proto_writer *to = orma_packet_output_begin_untimed(output, 1);
	orma_proto_nested_begin(to, &snapshot, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clocks); i++) {
		orma_proto_nested_begin(to, &reading, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
		orma_proto_write_varint(to, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clocks[i]);
		orma_proto_write_int(to, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, 0);
		orma_packet_output_nested_end(output, &reading);
	}
	return orma_packet_output_end(output);
}

/* Reads the text of kernel events from its quote on. 1, 0 (the file ends in it), or a negative errno value. */
static int take_kernel_events(struct json *json, struct orma_error *reterr)
{
	int written = write_kernel_clock(json->conversion->output);
	if (written < 0)
		return written;
	json->scan.at++;
	for (;;) {
		const char *begin = json->scan.at, *end = find_line_end(begin, json->scan.end);
		if (!end) {
			int r = move_window(json, begin, reterr);
			if (r <= 0)
				return r;
			continue;
		}
		int r = take_kernel_line(json, (struct orma_str){begin, (size_t)(end - begin)});
		if (r < 0)
			return r;
		json->scan.at = end + (*end == '"' ? 1 : 2);
		if (*end == '"')
			return 1;
	}
}

static int take_member(struct json *json, struct orma_str key, struct orma_error *reterr)
{
	struct orma_json_value value;
	bool are_events = orma_base_str_is(key, "traceEvents");
	bool is_metadata = orma_base_str_is(key, "metadata");
	if (orma_base_str_is(key, "displayTimeUnit"))
		orma_packet_output_count(json->conversion->output,
					 ORMA_STAT_json_display_time_unit);
	char next;
	int r = peek(json, &next, reterr);
	if (r <= 0)
		return r;
	if (are_events && next == '[') {
		json->scan.at++;
		return take_events(json, reterr);
	}
	if (orma_base_str_is(key, "systemTraceEvents") && next == '"')
		return take_kernel_events(json, reterr);
	if (!is_metadata || next != '{')
		return skip_value(json, reterr);
	r = read_value(json, &value, reterr);
	if (r <= 0)
		return r;
	r = take_metadata(json, value.text);
	return r < 0 ? r : 1;
}

/* Reads the members of the outer object. 0 or a negative errno value. */
static int take_object(struct json *json, struct orma_error *reterr)
{
	for (;;) {
		char next;
		char name[32];
		struct orma_json_value key;
		int r = peek(json, &next, reterr);
		if (r > 0 && next == '}')
			return 0;
		if (r > 0 && next == ',') {
			json->scan.at++;
			continue;
		}
		if (r > 0 && next != '"')
			return damaged(json, "damaged", reterr);
		r = r > 0 ? read_value(json, &key, reterr) : r;
		/* The window may move. */
		size_t size = r > 0 ? ORMA_MIN(key.text.size, sizeof(name)) : 0;
		if (size > 0)
			memcpy(name, key.text.data, size);
		r = r > 0 ? peek(json, &next, reterr) : r;
		if (r > 0 && next != ':')
			return damaged(json, "damaged", reterr);
		if (r > 0) {
			json->scan.at++;
			r = take_member(json, (struct orma_str){name, size}, reterr);
		}
		if (r <= 0)
			return r < 0 ? r : damaged(json, "cut", reterr);
	}
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct json json = {.conversion = conversion,
			    .end = orma_trace_bytes_end(conversion->input),
			    .writer.output = conversion->output,
			    .kernel = {.output = conversion->output, .has_trace_clock = true}};
	char first;
	conversion->output->clock = ORMA_CLOCK_TRACE_FILE;
	conversion->output->lacks_idle_task = true;
	int r = move_window(&json, NULL, reterr);
	r = r > 0 ? peek(&json, &first, reterr) : r;
	if (r > 0) {
		json.scan.at++;
		r = first == '[' ? take_events(&json, reterr) : take_object(&json, reterr);
	}
	int ended = orma_ftrace_output_end(&json.kernel);
	r = r < 0 ? r : ended;
	/* Texts that could not be copied are missing. */
	if (r >= 0 && json.writer.arena.has_failed)
		r = -ENOMEM;
	orma_ftrace_output_done(&json.kernel);
	orma_json_writer_done(&json.writer);
	orma_trace_window_done(&json.window);
	return ORMA_MIN(r, 0);
}

const struct orma_format orma_format_json = {"json", false, false, detect, convert};
