/* SPDX-License-Identifier: Apache-2.0
 * ctf_parser_types.c - types in TSDL: integers, floats, strings, enumerations, structures, variants, arrays, sequences.
 *
 * Structures nest, so their fields are read by the caller's loop and not by recursion: parse_structure() pushes a block, and
 * orma_ctf_end_type() goes on where it stopped.
 */
#include <errno.h>

#include "base/macros.h"
#include "formats/ctf_parser.h"

enum { ALIGN_MAX_BITS = 1 << 16 };

/* The attributes of an integer, a float or a string. */
struct attributes {
	struct orma_ctf_type *type;
	uint64_t size, align, exponent, mantissa;
};

static struct orma_ctf_type *new_type(struct orma_ctf_parser *parser, enum orma_ctf_kind kind)
{
	struct orma_ctf_type *type = orma_base_arena_alloc(&parser->metadata->arena, sizeof(*type));
	if (type)
		*type = (struct orma_ctf_type){.kind = kind, .base = 10, .align = 1};
	return type;
}

static int fail(struct orma_ctf_parser *parser, const char *problem)
{
	return orma_proto_lexer_fail_at(&parser->lexer, parser->lexer.token.text, "%s", problem);
}

static bool is_one_of(struct orma_str text, const char *const *words)
{
	for (; *words; words++)
		if (orma_base_str_is(text, *words))
			return true;
	return false;
}

static uint8_t base_of(struct orma_str text)
{
	static const char *const hex[] = {"16", "hexadecimal", "hex", "x", "X", "p", NULL};
	static const char *const octal[] = {"8", "octal", "oct", "o", NULL};
	static const char *const binary[] = {"2", "binary", "b", NULL};
	return is_one_of(text, hex)      ? 16
	       : is_one_of(text, octal)  ? 8
	       : is_one_of(text, binary) ? 2
					 : 10;
}

static enum orma_ctf_byte_order byte_order_of(struct orma_str text)
{
	return orma_base_str_is(text, "le") ? ORMA_CTF_LITTLE_ENDIAN
	       : orma_base_str_is(text, "be") || orma_base_str_is(text, "network")
		       ? ORMA_CTF_BIG_ENDIAN
		       : ORMA_CTF_NATIVE;
}

/* clock.NAME.value */
static struct orma_str clock_of(struct orma_str path)
{
	static const struct orma_str before = {"clock.", 6}, behind = {".value", 6};
	if (path.size > before.size && memcmp(path.data, before.data, before.size) == 0)
		path = (struct orma_str){path.data + before.size, path.size - before.size};
	if (path.size > behind.size &&
	    memcmp(path.data + path.size - behind.size, behind.data, behind.size) == 0)
		path.size -= behind.size;
	return path;
}

static void set_attribute(struct attributes *attributes, struct orma_str name,
			  struct orma_str value)
{
	static const char *const truths[] = {"true", "TRUE", "1", NULL};
	static const char *const encodings[] = {"UTF8", "UTF-8", "ASCII", NULL};
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {{"size", &attributes->size},
		       {"align", &attributes->align},
		       {"exp_dig", &attributes->exponent},
		       {"mant_dig", &attributes->mantissa}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(numbers); i++)
		/* A text that is not a number becomes a wrong size. */
		if (orma_base_str_is(name, numbers[i].name) &&
		    !orma_ctf_to_number(value, numbers[i].number))
			*numbers[i].number = UINT64_MAX;
	if (orma_base_str_is(name, "signed"))
		attributes->type->is_signed = is_one_of(value, truths);
	else if (orma_base_str_is(name, "byte_order"))
		attributes->type->byte_order = byte_order_of(value);
	else if (orma_base_str_is(name, "base"))
		attributes->type->base = base_of(value);
	else if (orma_base_str_is(name, "encoding"))
		attributes->type->is_text = is_one_of(value, encodings);
	else if (orma_base_str_is(name, "map"))
		attributes->type->clock = clock_of(value);
}

static int read_attributes(struct orma_ctf_parser *parser, struct attributes *attributes)
{
	int r = orma_ctf_expect(parser, '{');
	while (r == 0 && !orma_proto_lexer_take(&parser->lexer, '}')) {
		struct orma_str name, value;
		r = orma_ctf_read_path(parser, &name);
		if (r == 0)
			r = orma_ctf_expect(parser, '=');
		if (r == 0)
			r = orma_ctf_read_value(parser, &value);
		if (r == 0)
			set_attribute(attributes, name, value);
		if (r == 0)
			r = orma_ctf_expect(parser, ';');
	}
	return r;
}

static int check_align(struct orma_ctf_parser *parser, uint64_t align)
{
	return align == 0 || align > ALIGN_MAX_BITS || (align & (align - 1)) != 0
		       ? fail(parser, "an alignment is not a power of two, or too large")
		       : 0;
}

static int parse_integer(struct orma_ctf_parser *parser, const struct orma_ctf_type **ret)
{
	struct attributes attributes = {.type = new_type(parser, ORMA_CTF_INTEGER)};
	if (!attributes.type)
		return -ENOMEM;
	int r = read_attributes(parser, &attributes);
	if (r < 0)
		return r;
	if (attributes.size == 0 || attributes.size > 64)
		return fail(parser, "the size of an integer is not from 1 to 64 bits");
	if (attributes.align == 0)
		attributes.align = attributes.size % 8 == 0 ? 8 : 1;
	attributes.type->bits = (uint8_t)attributes.size;
	attributes.type->align = (uint32_t)attributes.align;
	*ret = attributes.type;
	return check_align(parser, attributes.align);
}

static int parse_float(struct orma_ctf_parser *parser, const struct orma_ctf_type **ret)
{
	struct attributes attributes = {.type = new_type(parser, ORMA_CTF_FLOAT),
					.align = 8,
					.exponent = 8,
					.mantissa = 24};
	if (!attributes.type)
		return -ENOMEM;
	int r = read_attributes(parser, &attributes);
	if (r < 0)
		return r;
	bool is_single = attributes.exponent == 8 && attributes.mantissa == 24;
	if (!is_single && (attributes.exponent != 11 || attributes.mantissa != 53))
		return fail(parser, "a floating-point number has neither 32 nor 64 bits");
	attributes.type->bits = is_single ? 32 : 64;
	attributes.type->align = (uint32_t)attributes.align;
	*ret = attributes.type;
	return check_align(parser, attributes.align);
}

static int parse_string(struct orma_ctf_parser *parser, const struct orma_ctf_type **ret)
{
	struct attributes attributes = {.type = new_type(parser, ORMA_CTF_STRING)};
	if (!attributes.type)
		return -ENOMEM;
	attributes.type->align = 8;
	*ret = attributes.type;
	return orma_proto_lexer_is(&parser->lexer, '{') ? read_attributes(parser, &attributes) : 0;
}

/* Reads the words of a type's name, and the stars of a pointer, into `text`. With `ret_last`, the last word is not the
 * type's but the name of what has it. */
static int read_words(struct orma_ctf_parser *parser, struct orma_str *ret_last)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	size_t before = 0;
	parser->text.size = 0;
	while (orma_ctf_is_word(parser) || orma_proto_lexer_is(lexer, '*')) {
		struct orma_str word = lexer->token.text;
		before = parser->text.size;
		if (parser->text.size + word.size > ORMA_CTF_NAME_MAX)
			return fail(parser, "a name is too long");
		if (!orma_base_str_is(word, "const") &&
		    ((before > 0 && orma_base_buf_append_str(&parser->text, " ") < 0) ||
		     orma_base_buf_append(&parser->text, word.data, word.size) < 0))
			return -ENOMEM;
		if (ret_last)
			*ret_last = word;
		orma_proto_lexer_next(lexer);
	}
	if (ret_last)
		parser->text.size = before;
	return parser->text.size > 0 ? 0 : orma_proto_lexer_expected(lexer, "a name");
}

static struct orma_str words_of(const struct orma_ctf_parser *parser)
{
	return (struct orma_str){(const char *)parser->text.data, parser->text.size};
}

static int find_alias(struct orma_ctf_parser *parser, struct orma_str *ret_last,
		      const struct orma_ctf_type **ret)
{
	int r = read_words(parser, ret_last);
	return r < 0 ? r : orma_ctf_find_type(parser, 'a', words_of(parser), ret);
}

/* "...", of which the lexer may take the last point for the beginning of a number. */
static bool take_range(struct orma_ctf_parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	if (!orma_proto_lexer_is(lexer, '.') || lexer->end - lexer->token.text.data < 3 ||
	    memcmp(lexer->token.text.data, "...", 3) != 0)
		return false;
	lexer->at = lexer->token.text.data + 3;
	orma_proto_lexer_next(lexer);
	return true;
}

static int parse_label(struct orma_ctf_parser *parser, struct orma_ctf_label *label, uint64_t next)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	int r = orma_ctf_read_value(parser, &label->name);
	label->first = label->last = next;
	if (r < 0 || !orma_proto_lexer_is(lexer, '='))
		return r;
	orma_proto_lexer_next(lexer);
	r = orma_ctf_read_number(parser, &label->first);
	label->last = label->first;
	return r == 0 && take_range(parser) ? orma_ctf_read_number(parser, &label->last) : r;
}

static int parse_labels(struct orma_ctf_parser *parser, struct orma_ctf_type *type)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	uint32_t capacity = 0;
	uint64_t next = 0;
	type->has_ordered_labels = true;
	orma_proto_lexer_next(lexer);
	while (!orma_proto_lexer_take(lexer, '}')) {
		if (type->label_count == ORMA_CTF_FIELDS_MAX)
			return fail(parser, "an enumeration has too many labels");
		struct orma_ctf_label *label =
			orma_ctf_list_add(&parser->metadata->arena, &type->labels,
					  &type->label_count, &capacity, sizeof(*label));
		int r = label ? parse_label(parser, label, next) : -ENOMEM;
		if (r < 0)
			return r;
		if ((type->label_count > 1 &&
		     !orma_ctf_is_less(type, label[-1].last, label->first)) ||
		    orma_ctf_is_less(type, label->last, label->first))
			type->has_ordered_labels = false;
		next = label->last + 1;
		if (!orma_proto_lexer_is(lexer, '}') && !orma_proto_lexer_take(lexer, ','))
			return orma_proto_lexer_expected(lexer, "',' or '}'");
	}
	return 0;
}

static int parse_container(struct orma_ctf_parser *parser, struct orma_ctf_type *type)
{
	const struct orma_ctf_type *container;
	int r;
	if (!orma_proto_lexer_take(&parser->lexer, ':')) {
		r = orma_ctf_find_type(parser, 'a', ORMA_STR("int"), &container);
	} else if (orma_ctf_token_is(parser, "integer")) {
		orma_proto_lexer_next(&parser->lexer);
		r = parse_integer(parser, &container);
	} else {
		r = find_alias(parser, NULL, &container);
	}
	if (r == 0 && container->kind != ORMA_CTF_INTEGER)
		return fail(parser, "an enumeration is of a type that is not an integer");
	if (r == 0) {
		*type = *container;
		type->kind = ORMA_CTF_ENUM;
	}
	return r;
}

static int parse_enum(struct orma_ctf_parser *parser, const struct orma_ctf_type **ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str name = {0};
	if (orma_ctf_is_word(parser)) {
		name = lexer->token.text;
		orma_proto_lexer_next(lexer);
	}
	if (name.size > 0 && !orma_proto_lexer_is(lexer, ':') && !orma_proto_lexer_is(lexer, '{'))
		return orma_ctf_find_type(parser, 'e', name, ret);
	struct orma_ctf_type *type = new_type(parser, ORMA_CTF_ENUM);
	int r = type ? parse_container(parser, type) : -ENOMEM;
	if (r == 0 && !orma_proto_lexer_is(lexer, '{'))
		r = orma_ctf_expect(parser, '{');
	if (r == 0)
		r = parse_labels(parser, type);
	if (r == 0 && name.size > 0)
		r = orma_ctf_declare(parser, 'e', name, type);
	*ret = type;
	return r;
}

static int read_dimension(struct orma_ctf_parser *parser, struct orma_ctf_type **ret)
{
	struct orma_ctf_type *type = *ret = new_type(parser, ORMA_CTF_SEQUENCE);
	uint64_t length;
	int r = type ? 0 : -ENOMEM;
	orma_proto_lexer_next(&parser->lexer);
	if (r == 0 && orma_ctf_is_word(parser)) {
		r = orma_ctf_read_path(parser, &type->reference);
	} else if (r == 0) {
		type->kind = ORMA_CTF_ARRAY;
		r = orma_ctf_read_number(parser, &length);
		if (r == 0 && length > UINT32_MAX)
			r = fail(parser, "an array is too long");
		type->length = r == 0 ? (uint32_t)length : 0;
	}
	return r == 0 ? orma_ctf_expect(parser, ']') : r;
}

/* Makes arrays and sequences of a type, where brackets follow the name of what has it. */
static int read_dimensions(struct orma_ctf_parser *parser, const struct orma_ctf_type **type)
{
	struct orma_ctf_type *dimensions[ORMA_CTF_DIMENSIONS_MAX];
	size_t count = 0;
	while (orma_proto_lexer_is(&parser->lexer, '[')) {
		if (count == ORMA_CTF_DIMENSIONS_MAX)
			return fail(parser, "an array has too many dimensions");
		int r = read_dimension(parser, &dimensions[count++]);
		if (r < 0)
			return r;
	}
	while (count-- > 0) {
		dimensions[count]->element = *type;
		*type = dimensions[count];
	}
	return 0;
}

static int add_field(struct orma_ctf_parser *parser, struct orma_str name,
		     const struct orma_ctf_type *type)
{
	struct orma_ctf_frame *frame = &parser->frames[parser->depth - 1];
	if (frame->type->field_count == ORMA_CTF_FIELDS_MAX)
		return fail(parser, "a structure has too many fields");
	struct orma_ctf_field *field = orma_ctf_list_add(
		&parser->metadata->arena, &frame->type->fields, &frame->type->field_count,
		&frame->field_capacity, sizeof(*field));
	if (!field)
		return -ENOMEM;
	*field = (struct orma_ctf_field){name, type};
	return 0;
}

/* The names behind a type, of which the first may have been read. */
static int read_declarators(struct orma_ctf_parser *parser, bool is_field, struct orma_str name,
			    const struct orma_ctf_type *type)
{
	int r = 0;
	do {
		const struct orma_ctf_type *own = type;
		if (name.size == 0) {
			if (!orma_ctf_is_word(parser))
				return orma_proto_lexer_expected(&parser->lexer, "a name");
			name = parser->lexer.token.text;
			orma_proto_lexer_next(&parser->lexer);
		}
		r = read_dimensions(parser, &own);
		if (r == 0)
			r = is_field ? add_field(parser, name, own)
				     : orma_ctf_declare(parser, 'a', name, own);
		name.size = 0;
	} while (r == 0 && orma_proto_lexer_take(&parser->lexer, ','));
	return r == 0 ? orma_ctf_expect(parser, ';') : r;
}

/* := and the words of a name. */
static int read_alias(struct orma_ctf_parser *parser, const struct orma_ctf_type *type)
{
	int r = orma_ctf_expect(parser, ':');
	if (r == 0)
		r = orma_ctf_expect(parser, '=');
	if (r == 0)
		r = read_words(parser, NULL);
	if (r == 0)
		r = orma_ctf_declare(parser, 'a', words_of(parser), type);
	return r == 0 ? orma_ctf_expect(parser, ';') : r;
}

static int finish(struct orma_ctf_parser *parser, struct orma_ctf_pending pending,
		  struct orma_str name, const struct orma_ctf_type *type)
{
	/* `struct a { ... };` among fields declares a name only. */
	bool is_name = name.size == 0 && orma_proto_lexer_is(&parser->lexer, ';') &&
		       type->kind >= ORMA_CTF_ENUM;
	switch (pending.purpose) {
	case ORMA_CTF_FOR_FIELD:
		return is_name ? orma_ctf_expect(parser, ';')
			       : read_declarators(parser, true, name, type);
	case ORMA_CTF_FOR_TYPEDEF:
		return read_declarators(parser, false, name, type);
	case ORMA_CTF_FOR_ALIAS:
		return read_alias(parser, type);
	case ORMA_CTF_FOR_TARGET:
		*pending.target = type;
		break;
	case ORMA_CTF_FOR_NAME:
		break;
	}
	return orma_ctf_expect(parser, ';');
}

/* <NAME>, if there is one. */
static int read_tag(struct orma_ctf_parser *parser, struct orma_str *ret)
{
	if (!orma_proto_lexer_take(&parser->lexer, '<'))
		return 0;
	int r = orma_ctf_read_path(parser, ret);
	return r == 0 ? orma_ctf_expect(parser, '>') : r;
}

/* A named structure or variant; the variant gets its own tag. */
static int find_structure(struct orma_ctf_parser *parser, enum orma_ctf_kind kind,
			  struct orma_str name, struct orma_str tag,
			  const struct orma_ctf_type **ret)
{
	int r = orma_ctf_find_type(parser, kind == ORMA_CTF_STRUCT ? 's' : 'v', name, ret);
	if (r < 0 || tag.size == 0)
		return r;
	struct orma_ctf_type *copy = new_type(parser, kind);
	if (!copy)
		return -ENOMEM;
	*copy = **ret;
	copy->reference = tag;
	*ret = copy;
	return 0;
}

static int parse_structure(struct orma_ctf_parser *parser, enum orma_ctf_kind kind,
			   struct orma_ctf_pending pending)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str name = {0}, tag = {0};
	orma_proto_lexer_next(lexer);
	if (orma_ctf_is_word(parser)) {
		name = lexer->token.text;
		orma_proto_lexer_next(lexer);
	}
	int r = kind == ORMA_CTF_VARIANT ? read_tag(parser, &tag) : 0;
	if (r < 0)
		return r;
	if (name.size > 0 && !orma_proto_lexer_is(lexer, '{')) {
		const struct orma_ctf_type *type;
		r = find_structure(parser, kind, name, tag, &type);
		return r < 0 ? r : finish(parser, pending, (struct orma_str){0}, type);
	}
	struct orma_ctf_type *type = new_type(parser, kind);
	r = type ? orma_ctf_expect(parser, '{') : -ENOMEM;
	if (r == 0)
		r = orma_ctf_push(parser, ORMA_CTF_BLOCK_TYPE);
	if (r < 0)
		return r;
	type->reference = tag;
	struct orma_ctf_frame *frame = &parser->frames[parser->depth - 1];
	frame->type = type;
	frame->type_name = name;
	frame->pending = pending;
	return 0;
}

/* align(N), if it is there. */
static int read_align(struct orma_ctf_parser *parser, struct orma_ctf_type *type)
{
	uint64_t align;
	if (!orma_ctf_token_is(parser, "align"))
		return 0;
	orma_proto_lexer_next(&parser->lexer);
	int r = orma_ctf_expect(parser, '(');
	if (r == 0)
		r = orma_ctf_read_number(parser, &align);
	if (r == 0)
		r = check_align(parser, align);
	if (r == 0)
		type->align = (uint32_t)align;
	return r == 0 ? orma_ctf_expect(parser, ')') : r;
}

int orma_ctf_end_type(struct orma_ctf_parser *parser)
{
	struct orma_ctf_frame frame = parser->frames[--parser->depth];
	orma_ctf_leave_scope(parser, frame.symbol_count);
	bool is_struct = frame.type->kind == ORMA_CTF_STRUCT;
	int r = is_struct ? read_align(parser, frame.type) : 0;
	if (r == 0 && frame.type_name.size > 0)
		r = orma_ctf_declare(parser, is_struct ? 's' : 'v', frame.type_name, frame.type);
	return r < 0 ? r : finish(parser, frame.pending, (struct orma_str){0}, frame.type);
}

int orma_ctf_parse_type(struct orma_ctf_parser *parser, struct orma_ctf_pending pending)
{
	static const struct {
		const char *word;
		int (*parse)(struct orma_ctf_parser *parser, const struct orma_ctf_type **ret);
	} kinds[] = {{"integer", parse_integer},
		     {"floating_point", parse_float},
		     {"string", parse_string},
		     {"enum", parse_enum}};
	const struct orma_ctf_type *type;
	struct orma_str name = {0};
	if (orma_ctf_token_is(parser, "const"))
		orma_proto_lexer_next(&parser->lexer);
	if (orma_ctf_token_is(parser, "struct"))
		return parse_structure(parser, ORMA_CTF_STRUCT, pending);
	if (orma_ctf_token_is(parser, "variant"))
		return parse_structure(parser, ORMA_CTF_VARIANT, pending);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(kinds); i++) {
		if (!orma_ctf_token_is(parser, kinds[i].word))
			continue;
		orma_proto_lexer_next(&parser->lexer);
		int r = kinds[i].parse(parser, &type);
		return r < 0 ? r : finish(parser, pending, name, type);
	}
	bool has_name =
		pending.purpose == ORMA_CTF_FOR_FIELD || pending.purpose == ORMA_CTF_FOR_TYPEDEF;
	int r = find_alias(parser, has_name ? &name : NULL, &type);
	return r < 0 ? r : finish(parser, pending, name, type);
}
