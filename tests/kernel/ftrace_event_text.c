/* SPDX-License-Identifier: Apache-2.0
 * ftrace_event_text.c - the line of one kernel event.
 *
 * The message of a typed event is described by the schema, and that of a generic event by the
 * DescriptorProto that came with it. A field that neither describes is printed by its number, so that a
 * comparison also covers it.
 */
#include "ftrace_event_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_text.h"
#include "schema/gen/ftrace_event.pb.h"

/* Field 327 is the generic event as it was before descriptions, with names in each event. */
enum { EVENT_OLD_GENERIC = 327, EVENT_DESCRIBED_FIRST = 65536 };
enum { FIELDS_MAX = 256 };
/* Values of FieldDescriptorProto.Type. */
enum { TYPE_INT64 = 3, TYPE_INT32 = 5 };

struct description {
	uint64_t sequence, id;
	struct wire_span group, message; /* message is a DescriptorProto */
	struct description *next;
};

struct symbol {
	uint64_t sequence, id;
	struct wire_span name;
};

bool ftrace_common_only;
static struct description *descriptions;
static struct {
	struct symbol *items;
	size_t count;
} symbols;
static struct {
	char (*items)[128]; /* "EVENT FIELD" */
	size_t count;
} pointers;

void text_append(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	for (;;) {
		va_start(args, format);
		n = vsnprintf(text->bytes ? text->bytes + text->size : NULL,
			      text->capacity - text->size, format, args);
		va_end(args);
		if (n < 0)
			abort();
		if ((size_t)n < text->capacity - text->size)
			break;
		text->capacity = text->capacity * 2 + (size_t)n + 64;
		text->bytes = realloc(text->bytes, text->capacity);
		if (!text->bytes)
			abort();
	}
	text->size += (size_t)n;
}

void text_append_string(struct text *text, struct wire_span string)
{
	text_append(text, "\"");
	for (; string.at < string.end; string.at++) {
		uint8_t byte = *string.at;

		if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
			text_append(text, "\\x%02x", byte);
		else
			text_append(text, "%c", byte);
	}
	text_append(text, "\"");
}

void ftrace_pointers_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char event[64], field[63];

	if (!file)
		ftrace_die("cannot open the list of pointers");
	while (fscanf(file, "%63s %62s", event, field) == 2) {
		pointers.items =
			realloc(pointers.items, (pointers.count + 1) * sizeof(*pointers.items));
		if (!pointers.items)
			abort();
		snprintf(pointers.items[pointers.count++], sizeof(*pointers.items), "%s %s", event,
			 field);
	}
	fclose(file);
}

static bool is_pointer(const char *event, const char *field)
{
	char name[128];
	size_t i;

	snprintf(name, sizeof(name), "%s %s", event, field);
	for (i = 0; i < pointers.count; i++) {
		if (strcmp(pointers.items[i], name) == 0)
			return true;
	}
	return false;
}

void ftrace_symbol_add(uint64_t sequence, struct wire_span interned)
{
	struct symbol symbol = {sequence, wire_get(interned, 1, 0), {NULL, NULL}};

	if (!wire_get_bytes(interned, 2, &symbol.name))
		ftrace_die("a kernel symbol has no name");
	symbols.items = realloc(symbols.items, (symbols.count + 1) * sizeof(*symbols.items));
	if (!symbols.items)
		abort();
	symbols.items[symbols.count++] = symbol;
}

void ftrace_symbols_clear(uint64_t sequence)
{
	size_t i, kept = 0;

	for (i = 0; i < symbols.count; i++) {
		if (symbols.items[i].sequence != sequence)
			symbols.items[kept++] = symbols.items[i];
	}
	symbols.count = kept;
}

/* Other pointers are those of objects. Upstream names them after whatever symbol is below in memory. */
static bool is_code_pointer(const char *field)
{
	static const char *const names[] = {"function",  "func",     "caller",  "callsite",
					    "call_site", "callback", "location"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(field, names[i]) == 0)
			return true;
	}
	return false;
}

static void append_pointer(struct text *text, const char *field, uint64_t sequence, uint64_t id)
{
	size_t i;

	for (i = 0; i < symbols.count && !ftrace_common_only && is_code_pointer(field); i++) {
		if (symbols.items[i].id == id && symbols.items[i].sequence == sequence) {
			text_append_string(text, symbols.items[i].name);
			return;
		}
	}
	/* An id is small; an address that was not replaced by one is not. */
	text_append(text, id < UINT32_MAX ? "(pointer)" : "(address)");
}

void generic_description_add(uint64_t sequence, struct wire_span bytes)
{
	struct description *description = calloc(1, sizeof(*description));

	if (!description)
		abort();
	description->sequence = sequence;
	description->id = wire_get(bytes, 1, 0);
	if (!wire_get_bytes(bytes, 2, &description->message))
		ftrace_die("a description of a generic event is empty");
	wire_get_bytes(bytes, 3, &description->group);
	description->next = descriptions;
	descriptions = description;
}

static const struct description *find_description(uint64_t sequence, uint64_t id)
{
	const struct description *description;

	for (description = descriptions; description; description = description->next) {
		if (description->id == id && description->sequence == sequence)
			return description;
	}
	return NULL;
}

static bool find_described_field(struct wire_span message, uint64_t id, struct wire_span *ret_field)
{
	struct wire_field field;

	while (wire_next(&message, &field) > 0) {
		if (field.id == 2 && field.type == WIRE_BYTES &&
		    wire_get(field.bytes, 3, 0) == id) {
			*ret_field = field.bytes;
			return true;
		}
	}
	return false;
}

/* Returns the fields in the order of their ids; fields of one id stay in their order. */
static size_t sort_fields(struct wire_span message, struct wire_field *fields)
{
	size_t count = 0, i;
	int r;

	for (;;) {
		if (count == FIELDS_MAX)
			ftrace_die("an event has too many fields");
		r = wire_next(&message, &fields[count]);
		if (r <= 0)
			break;
		for (i = count; i > 0 && fields[i - 1].id > fields[i].id; i--) {
			struct wire_field field = fields[i];

			fields[i] = fields[i - 1];
			fields[i - 1] = field;
		}
		count++;
	}
	if (r < 0)
		ftrace_die("an event is malformed");
	return count;
}

static void append_value(struct text *text, const struct wire_field *field, bool is_signed)
{
	if (field->type == WIRE_BYTES)
		text_append_string(text, field->bytes);
	else if (is_signed)
		text_append(text, "%" PRId64, (int64_t)field->value);
	else
		text_append(text, "%" PRIu64, field->value);
}

static bool is_signed_kind(uint8_t kind)
{
	return kind == ORMA_PROTO_KIND_INT32 || kind == ORMA_PROTO_KIND_INT64 ||
	       kind == ORMA_PROTO_KIND_ENUM;
}

/* The fields that the compact form of these events does not have. */
static bool is_left_out(const char *event, const char *field)
{
	if (!ftrace_common_only)
		return false;
	if (strcmp(event, "sched_switch") == 0)
		return strcmp(field, "prev_comm") == 0 || strcmp(field, "prev_pid") == 0 ||
		       strcmp(field, "prev_prio") == 0;
	return strcmp(event, "sched_waking") == 0 && strcmp(field, "success") == 0;
}

static void append_typed(struct text *text, const char *event, const struct orma_proto_desc *desc,
			 struct wire_span message, uint64_t sequence)
{
	struct wire_field fields[FIELDS_MAX];
	size_t count = sort_fields(message, fields), i;

	for (i = 0; i < count; i++) {
		const struct orma_proto_field_desc *field =
			orma_proto_desc_find(desc, fields[i].id);

		if (!field) {
			text_append(text, " #%" PRIu32 "=", fields[i].id);
			append_value(text, &fields[i], false);
			continue;
		}
		if (is_left_out(event, orma_proto_field_name(desc, field)))
			continue;
		text_append(text, " %s=", orma_proto_field_name(desc, field));
		if (pointers.count && is_pointer(event, orma_proto_field_name(desc, field)))
			append_pointer(text, orma_proto_field_name(desc, field), sequence,
				       fields[i].value);
		else
			append_value(text, &fields[i], is_signed_kind(field->kind));
	}
}

static void append_described(struct text *text, const struct description *description,
			     struct wire_span message, uint64_t sequence)
{
	struct wire_field fields[FIELDS_MAX];
	size_t count = sort_fields(message, fields), i;
	struct wire_span name = {NULL, NULL}, field;
	char event[64], label[64];

	wire_get_bytes(description->message, 1, &name);
	snprintf(event, sizeof(event), "%.*s", (int)(name.end - name.at), (const char *)name.at);
	text_append(text, "%.*s/%s", (int)(description->group.end - description->group.at),
		    (const char *)description->group.at, event);
	for (i = 0; i < count; i++) {
		uint64_t type;

		if (!find_described_field(description->message, fields[i].id, &field) ||
		    !wire_get_bytes(field, 1, &name)) {
			text_append(text, " #%" PRIu32 "=", fields[i].id);
			append_value(text, &fields[i], false);
			continue;
		}
		type = wire_get(field, 5, 0);
		snprintf(label, sizeof(label), "%.*s", (int)(name.end - name.at),
			 (const char *)name.at);
		text_append(text, " %s:%" PRIu64 "=", label, type);
		if (pointers.count && is_pointer(event, label))
			append_pointer(text, label, sequence, fields[i].value);
		else
			append_value(text, &fields[i], type == TYPE_INT64 || type == TYPE_INT32);
	}
}

static void append_old_generic(struct text *text, struct wire_span message)
{
	struct wire_span name = {NULL, NULL};
	struct wire_field field, inner;

	wire_get_bytes(message, 1, &name);
	text_append(text, "generic ");
	text_append_string(text, name);
	while (wire_next(&message, &field) > 0) {
		if (field.id != 2 || field.type != WIRE_BYTES)
			continue;
		while (wire_next(&field.bytes, &inner) > 0) {
			text_append(text, inner.id == 1 ? " " : "=");
			append_value(text, &inner, inner.id == 4);
		}
	}
}

static void append_event(struct text *text, const struct wire_field *event, uint64_t flags,
			 uint64_t sequence)
{
	const struct orma_proto_desc *desc = &orma_pb_ftrace_event_desc;
	const struct orma_proto_field_desc *field = orma_proto_desc_find(desc, event->id);
	const struct description *description;
	const char *name;

	if (event->id == EVENT_OLD_GENERIC) {
		append_old_generic(text, event->bytes);
	} else if (field && field->kind == ORMA_PROTO_KIND_MESSAGE) {
		name = orma_proto_field_name(desc, field);
		text_append(text, "%s", name);
		if (flags)
			text_append(text, " flags=%" PRIu64, flags);
		append_typed(text, name, desc->types[field->type_idx].message, event->bytes,
			     sequence);
	} else if ((description = find_description(sequence, event->id)) != NULL) {
		append_described(text, description, event->bytes, sequence);
	} else {
		text_append(text, "#%" PRIu32 " ", event->id);
		text_append_string(text, event->bytes);
	}
}

static bool has_compact_form(const struct wire_field *event)
{
	return event->id == ORMA_PB_FTRACE_EVENT_SCHED_SWITCH ||
	       event->id == ORMA_PB_FTRACE_EVENT_SCHED_WAKING;
}

void ftrace_event_add(struct wire_span message, uint64_t cpu, uint64_t sequence)
{
	uint64_t time = wire_get(message, FTRACE_EVENT_TIMESTAMP, 0);
	uint64_t pid = wire_get(message, FTRACE_EVENT_PID, UINT64_MAX);
	uint64_t flags = wire_get(message, FTRACE_EVENT_FLAGS, 0);
	struct text text = {0};
	struct wire_field field;
	bool found = false;
	int r;

	while ((r = wire_next(&message, &field)) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (found)
			ftrace_die("an event has two messages");
		found = true;
		if (ftrace_common_only && has_compact_form(&field))
			text_append(&text, "- ");
		else
			text_append(&text, "%" PRId64 " ", (int64_t)pid);
		append_event(&text, &field, flags, sequence);
	}
	if (r < 0)
		ftrace_die("an event is malformed");
	if (!found)
		text_append(&text, "%" PRId64 " (empty)", (int64_t)pid);
	ftrace_line_add(cpu, time, text.bytes);
}
