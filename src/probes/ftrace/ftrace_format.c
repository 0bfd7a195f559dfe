/* SPDX-License-Identifier: Apache-2.0
 * ftrace_format.c - parses event formats and the layout of a page.
 *
 *	name: sched_switch
 *	ID: 316
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		...
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *		field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 *
 *	print fmt: "prev_comm=%s ...
 *
 * Owns nothing. A field's offset, size and sign are taken from the numbers only, because they are what the kernel
 * guarantees. The C declaration decides what the bytes mean, and only where the two agree: an integer has 1, 2, 4 or 8
 * bytes, an array's size is a multiple of its element's, a pointer has the size of one. A field for which they do not
 * agree is ORMA_FTRACE_UNKNOWN, so that no later step has to guess.
 *
 * Invariant of a parsed format: the end of each field is within record_bytes, common_type is where page_parse.c reads
 * it, and every array has whole elements.
 *
 * Rejected: reading `print fmt`, which is C source code; regular expressions, because the declarations of a kernel are
 * a closed set of forms that a few comparisons of words tell apart.
 */
#include "probes/ftrace/ftrace_format.h"

#include <errno.h>

#include "probes/probe_text.h"

/* The kernel's limit of a sub-buffer is 4 MiB on the machines with the largest pages. */
#define PAGE_BYTES_MAX (4u << 20)

/* --- one line ------------------------------------------------------------------------------- */

struct field_line {
	struct orma_str declaration; /* "unsigned long args[6]" */
	uint64_t offset, size;
	bool is_signed;
};

static bool take_prefix(struct orma_str *text, const char *prefix)
{
	if (!orma_probes_text_has_prefix(*text, prefix))
		return false;
	size_t size = strlen(prefix);
	text->data += size;
	text->size -= size;
	return true;
}

/* Takes "LABEL:NUMBER;" */
static bool take_number(struct orma_str *rest, const char *label, uint64_t *ret)
{
	struct orma_str text;

	if (!orma_probes_text_until(rest, ';', &text))
		return false;
	text = orma_probes_text_trim(text);
	return take_prefix(&text, label) && orma_probes_text_u64(orma_probes_text_trim(text), ret);
}

static int parse_field_line(struct orma_str line, struct field_line *ret)
{
	uint64_t is_signed;

	line = orma_probes_text_trim(line);
	if (!take_prefix(&line, "field:") ||
	    !orma_probes_text_until(&line, ';', &ret->declaration) ||
	    !take_number(&line, "offset:", &ret->offset) ||
	    !take_number(&line, "size:", &ret->size) || !take_number(&line, "signed:", &is_signed))
		return -EBADMSG;
	if (ret->offset > PAGE_BYTES_MAX || ret->size > PAGE_BYTES_MAX - ret->offset ||
	    is_signed > 1)
		return -EBADMSG;
	ret->declaration = orma_probes_text_trim(ret->declaration);
	ret->is_signed = is_signed;
	return 0;
}

/* --- a declaration in C --------------------------------------------------------------------- */

struct declaration {
	struct orma_str type; /* "__data_loc char[]", "const char *", "unsigned long" */
	struct orma_str name;
	struct orma_str count; /* between the brackets behind the name */
	bool is_array;         /* there are brackets behind the name */
};

static bool is_name_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static int split_declaration(struct orma_str text, struct declaration *ret)
{
	*ret = (struct declaration){0};
	if (text.size > 0 && text.data[text.size - 1] == ']') {
		const char *open = memrchr(text.data, '[', text.size);
		if (!open)
			return -EBADMSG;
		size_t before = (size_t)(open - text.data);
		ret->is_array = true;
		ret->count = (struct orma_str){open + 1, text.size - before - 2};
		text.size = before;
	}
	size_t begin = text.size;
	while (begin > 0 && is_name_char(text.data[begin - 1]))
		begin--;
	ret->name = (struct orma_str){text.data + begin, text.size - begin};
	ret->type = orma_probes_text_trim((struct orma_str){text.data, begin});
	return ret->name.size > 0 && ret->type.size > 0 ? 0 : -EBADMSG;
}

static bool is_integer_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_one_of(struct orma_str type, const char *const *names)
{
	for (; *names; names++) {
		if (orma_base_str_is(type, *names))
			return true;
	}
	return false;
}

/* Sizes that do not depend on the machine; 0 = not known. */
static uint8_t element_bytes(struct orma_str type)
{
	static const char *const one[] = {"u8",      "__u8", "s8",   "__s8", "unsigned char",
					  "uint8_t", "char", "bool", NULL};
	static const char *const two[] = {"u16",   "__u16", "s16", "__s16", "unsigned short",
					  "short", NULL};
	static const char *const four[] = {"u32",          "__u32", "s32",      "__s32",
					   "unsigned int", "int",   "unsigned", NULL};
	static const char *const eight[] = {
		"u64", "__u64", "s64", "__s64", "unsigned long long", "long long", NULL};

	return is_one_of(type, one)     ? 1
	       : is_one_of(type, two)   ? 2
	       : is_one_of(type, four)  ? 4
	       : is_one_of(type, eight) ? 8
					: 0;
}

static bool is_signed_type(struct orma_str type)
{
	static const char *const names[] = {"s8",  "__s8",  "s16",   "__s16", "s32",       "__s32",
					    "s64", "__s64", "short", "int",   "long long", NULL};

	return is_one_of(type, names);
}

/* "__data_loc TYPE[]": the field holds where in the record the data are, and how many bytes. */
static void set_dynamic(struct orma_str type, struct orma_ftrace_field *field)
{
	type = orma_probes_text_trim(type);
	if (field->size != 4 && field->size != 8) /* 8 in synthetic events */
		return;
	if (orma_probes_text_has_suffix(type, "[]"))
		type.size -= 2;
	type = orma_probes_text_trim(type);
	if (orma_base_str_is(type, "char")) {
		field->kind = ORMA_FTRACE_DYNAMIC_TEXT;
		return;
	}
	field->kind = ORMA_FTRACE_DYNAMIC_ARRAY;
	field->element_bytes = element_bytes(type);
	if (field->element_bytes == 0)
		field->element_bytes = 1;
	field->is_signed = is_signed_type(type);
}

static void set_array(const struct declaration *declaration, struct orma_ftrace_field *field)
{
	uint64_t count;

	if (orma_base_str_is(declaration->type, "char")) {
		field->kind = field->size == 0 ? ORMA_FTRACE_TEXT_TAIL : ORMA_FTRACE_TEXT;
		return;
	}
	if (field->size == 0)
		return;
	uint64_t bytes = element_bytes(declaration->type);
	if (bytes == 0 && orma_probes_text_u64(declaration->count, &count) && count > 0 &&
	    field->size % count == 0)
		bytes = field->size / count;
	if (bytes == 0 || !is_integer_size(bytes) || field->size % bytes != 0)
		return;
	field->kind = ORMA_FTRACE_ARRAY;
	field->element_bytes = (uint8_t)bytes;
}

static void set_pointer(struct orma_str type, struct orma_ftrace_field *field)
{
	if (field->size != 4 && field->size != 8)
		return;
	type.size--;
	type = orma_probes_text_trim(type);
	take_prefix(&type, "const ");
	field->kind =
		orma_base_str_is(type, "char") ? ORMA_FTRACE_TEXT_POINTER : ORMA_FTRACE_ADDRESS;
}

static void set_scalar(struct orma_str type, struct orma_ftrace_field *field)
{
	if (orma_probes_text_has_prefix(type, "struct ") ||
	    orma_probes_text_has_prefix(type, "union "))
		return;
	if (orma_base_str_is(type, "char[]") && (field->size == 4 || field->size == 8)) {
		field->kind = ORMA_FTRACE_TEXT_POINTER;
		return;
	}
	if (orma_base_str_is(type, "char") && field->size == 0) {
		field->kind = ORMA_FTRACE_TEXT_TAIL;
		return;
	}
	if (!is_integer_size(field->size))
		return;
	field->kind = ORMA_FTRACE_INTEGER;
	if (orma_base_str_is(type, "pid_t") && field->size == 4)
		field->kind = ORMA_FTRACE_PID;
	else if (orma_base_str_is(type, "dev_t") && field->size >= 4)
		field->kind = ORMA_FTRACE_DEVICE;
	else if ((orma_base_str_is(type, "ino_t") || orma_base_str_is(field->name, "i_ino")) &&
		 field->size >= 4)
		field->kind = ORMA_FTRACE_INODE;
}

static int parse_field(struct orma_str line, struct orma_ftrace_field *ret)
{
	struct field_line parts;
	struct declaration declaration = {.is_array = false};
	int r = parse_field_line(line, &parts);
	if (r == 0)
		r = split_declaration(parts.declaration, &declaration);
	if (r < 0)
		return r;
	if (parts.offset + parts.size > ORMA_FTRACE_RECORD_BYTES_MAX)
		return -EBADMSG;
	*ret = (struct orma_ftrace_field){
		.name = declaration.name,
		.offset = (uint16_t)parts.offset,
		.size = (uint16_t)parts.size,
		.is_signed = parts.is_signed,
	};
	struct orma_str type = declaration.type;
	if (take_prefix(&type, "__data_loc ")) {
		set_dynamic(type, ret);
	} else if (take_prefix(&type, "__rel_loc ")) {
		ret->is_relative = true;
		set_dynamic(type, ret);
	} else if (declaration.is_array) {
		set_array(&declaration, ret);
	} else if (orma_probes_text_has_suffix(type, "*")) {
		set_pointer(type, ret);
	} else {
		set_scalar(type, ret);
	}
	return 0;
}

/* --- a format ------------------------------------------------------------------------------- */

static int add_field(struct orma_str line, struct orma_arena *arena,
		     struct orma_ftrace_format *format)
{
	if (format->field_count == ORMA_FTRACE_FIELDS_MAX)
		return -EBADMSG;
	struct orma_ftrace_field field;
	int r = parse_field(line, &field);
	if (r < 0)
		return r;
	size_t bytes = format->field_count * sizeof(field);
	struct orma_ftrace_field *fields =
		orma_base_arena_grow(arena, format->fields, bytes, bytes + sizeof(field));
	if (!fields)
		return -ENOMEM;
	format->fields = fields;
	fields[format->field_count++] = field;
	uint32_t end = (uint32_t)field.offset + field.size;
	if (end > format->record_bytes)
		format->record_bytes = (uint16_t)end;
	if (orma_probes_text_has_prefix(field.name, "common_")) {
		if (format->common_count + 1 != format->field_count)
			return -EBADMSG;
		format->common_count++;
	}
	return 0;
}

static bool has_usual_type(const struct orma_ftrace_format *format)
{
	for (uint16_t i = 0; i < format->common_count; i++) {
		const struct orma_ftrace_field *field = &format->fields[i];
		if (orma_base_str_is(field->name, "common_type"))
			return field->offset == 0 && field->size == 2;
	}
	return false;
}

int orma_ftrace_format_parse(struct orma_str text, struct orma_arena *arena,
			     struct orma_ftrace_format *ret)
{
	struct orma_ftrace_format format = {0};
	struct orma_str line;
	uint64_t id = 0;
	bool is_body = false;

	while (orma_probes_text_line(&text, &line)) {
		if (orma_probes_text_trim(line).size == 0)
			continue;
		if (take_prefix(&line, "print fmt:"))
			break;
		if (is_body) {
			int r = add_field(line, arena, &format);
			if (r < 0)
				return r;
		} else if (take_prefix(&line, "name:")) {
			format.name = orma_probes_text_trim(line);
		} else if (take_prefix(&line, "ID:")) {
			if (!orma_probes_text_u64(orma_probes_text_trim(line), &id))
				return -EBADMSG;
		} else if (take_prefix(&line, "format:")) {
			is_body = true;
		} else {
			return -EBADMSG;
		}
	}
	if (format.name.size == 0 || id == 0 || id > UINT16_MAX || !has_usual_type(&format))
		return -EBADMSG;
	format.id = (uint16_t)id;
	*ret = format;
	return 0;
}

const struct orma_ftrace_field *orma_ftrace_format_field(const struct orma_ftrace_format *format,
							 struct orma_str name)
{
	for (uint16_t i = 0; i < format->field_count; i++) {
		if (orma_base_str_is_equal(format->fields[i].name, name))
			return &format->fields[i];
	}
	return NULL;
}

/* --- a page --------------------------------------------------------------------------------- */

int orma_ftrace_page_layout_parse(struct orma_str text, struct orma_ftrace_page_layout *ret)
{
	struct field_line timestamp = {0}, commit = {0}, data = {0};
	struct orma_str line;

	while (orma_probes_text_line(&text, &line)) {
		struct field_line field;
		struct declaration declaration;
		if (parse_field_line(line, &field) < 0 ||
		    split_declaration(field.declaration, &declaration) < 0)
			return -EBADMSG;
		if (orma_base_str_is(declaration.name, "timestamp"))
			timestamp = field;
		else if (orma_base_str_is(declaration.name, "commit"))
			commit = field;
		else if (orma_base_str_is(declaration.name, "data"))
			data = field;
	}
	uint64_t page_bytes = data.offset + data.size;
	if (timestamp.size != 8 || (commit.size != 4 && commit.size != 8) ||
	    data.offset < timestamp.offset + timestamp.size ||
	    data.offset < commit.offset + commit.size || data.size < 8 ||
	    (page_bytes & (page_bytes - 1)) != 0)
		return -EBADMSG;
	*ret = (struct orma_ftrace_page_layout){
		.page_bytes = (uint32_t)page_bytes,
		.commit_bytes = (uint16_t)commit.size,
		.timestamp_offset = (uint16_t)timestamp.offset,
		.commit_offset = (uint16_t)commit.offset,
		.data_offset = (uint16_t)data.offset,
	};
	return 0;
}
