/* SPDX-License-Identifier: Apache-2.0
 * ctf_parser_names.c - the names of types and their scopes, words and numbers.
 */
#include <errno.h>

#include "formats/ctf_parser.h"

void *orma_ctf_list_add(struct orma_arena *arena, void *items_pointer, uint32_t *count,
			uint32_t *capacity, size_t item_size)
{
	void *items;
	memcpy(&items, items_pointer, sizeof(items));
	if (*count == *capacity) {
		uint32_t wanted = *capacity ? *capacity * 2 : 4;
		items = orma_base_arena_grow(arena, items, *capacity * item_size,
					     wanted * item_size);
		if (!items)
			return NULL;
		*capacity = wanted;
		memcpy(items_pointer, &items, sizeof(items));
	}
	return memset((char *)items + (*count)++ * item_size, 0, item_size);
}

static uint64_t hash_of(char kind, struct orma_str name)
{
	return orma_base_fnv1a(orma_base_fnv1a(ORMA_FNV1A_INIT, &kind, 1), name.data, name.size);
}

static bool is_named(const struct orma_ctf_symbol *symbol, char kind, struct orma_str name)
{
	return symbol->name.data[0] == kind && symbol->name.size == name.size + 1 &&
	       memcmp(symbol->name.data + 1, name.data, name.size) == 0;
}

int orma_ctf_declare(struct orma_ctf_parser *parser, char kind, struct orma_str name,
		     const struct orma_ctf_type *type)
{
	struct orma_arena *arena = &parser->metadata->arena;
	struct orma_ctf_symbol *symbol = orma_base_arena_alloc(arena, sizeof(*symbol));
	char *text = orma_base_arena_alloc(arena, name.size + 1);
	if (!symbol || !text)
		return -ENOMEM;
	if (parser->symbol_count >= ORMA_CTF_SYMBOLS_MAX)
		return orma_proto_lexer_fail_at(&parser->lexer, parser->lexer.token.text,
						"more than %d names of types are visible here",
						ORMA_CTF_SYMBOLS_MAX);
	struct orma_ctf_symbol **slot =
		orma_ctf_list_add(arena, &parser->symbols, &parser->symbol_count,
				  &parser->symbol_capacity, sizeof(struct orma_ctf_symbol *));
	if (!slot)
		return -ENOMEM;
	text[0] = kind;
	memcpy(text + 1, name.data, name.size);
	*symbol = (struct orma_ctf_symbol){
		.name = {text, name.size + 1}, .type = type, .hash = hash_of(kind, name)};
	symbol->hidden = orma_base_map_get(&parser->symbols_by_name, symbol->hash);
	*slot = symbol;
	return orma_base_map_put(&parser->symbols_by_name, symbol->hash, symbol);
}

int orma_ctf_find_type(struct orma_ctf_parser *parser, char kind, struct orma_str name,
		       const struct orma_ctf_type **ret)
{
	struct orma_ctf_symbol *symbol =
		orma_base_map_get(&parser->symbols_by_name, hash_of(kind, name));
	while (symbol && !is_named(symbol, kind, name))
		symbol = symbol->hidden;
	if (!symbol)
		return orma_proto_lexer_fail_at(&parser->lexer, parser->lexer.token.text,
						"no type is called %s",
						orma_proto_quote(name).text);
	*ret = symbol->type;
	return 0;
}

void orma_ctf_leave_scope(struct orma_ctf_parser *parser, uint32_t symbol_count)
{
	while (parser->symbol_count > symbol_count) {
		struct orma_ctf_symbol *symbol = parser->symbols[--parser->symbol_count];
		orma_base_map_remove(&parser->symbols_by_name, symbol->hash);
		/* There was room for this one, so there is room for the older. */
		if (symbol->hidden)
			(void)orma_base_map_put(&parser->symbols_by_name, symbol->hash,
						symbol->hidden);
	}
}

static bool has_only_suffix(struct orma_str text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!strchr("uUlL", text.data[i]))
			return false;
	return true;
}

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 255;
}

bool orma_ctf_to_number(struct orma_str text, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t value = 0;
	size_t i = 0;
	bool is_negative = text.size > 0 && text.data[0] == '-';
	if (is_negative)
		text = (struct orma_str){text.data + 1, text.size - 1};
	if (text.size > 2 && text.data[0] == '0' && strchr("xXbB", text.data[1])) {
		base = (text.data[1] | 0x20) == 'x' ? 16 : 2;
		i = 2;
	} else if (text.size > 1 && text.data[0] == '0') {
		base = 8;
	}
	size_t first = i;
	for (; i < text.size && digit_of(text.data[i]) < base; i++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_of(text.data[i]), &value))
			return false;
	*ret = is_negative ? 0 - value : value;
	return i > first && has_only_suffix((struct orma_str){text.data + i, text.size - i});
}

/* The lexer takes 1...2 for one number. */
static void split_range(struct orma_ctf_parser *parser)
{
	struct orma_str *text = &parser->lexer.token.text;
	const char *points = parser->lexer.token.kind == ORMA_PROTO_TOKEN_NUMBER
				     ? memmem(text->data, text->size, "...", 3)
				     : NULL;
	if (!points)
		return;
	text->size = (size_t)(points - text->data);
	parser->lexer.at = points;
}

int orma_ctf_read_number(struct orma_ctf_parser *parser, uint64_t *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	bool is_negative = orma_proto_lexer_take(lexer, '-');
	if (!is_negative)
		orma_proto_lexer_take(lexer, '+');
	split_range(parser);
	if (lexer->token.kind != ORMA_PROTO_TOKEN_NUMBER ||
	    !orma_ctf_to_number(lexer->token.text, ret))
		return orma_proto_lexer_expected(lexer, "an integer");
	if (is_negative)
		*ret = 0 - *ret;
	orma_proto_lexer_next(lexer);
	return 0;
}

int orma_ctf_read_path(struct orma_ctf_parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	parser->text.size = 0;
	do {
		struct orma_str word = lexer->token.text;
		if (!orma_ctf_is_word(parser))
			return orma_proto_lexer_expected(lexer, "a name");
		if (parser->text.size + word.size > ORMA_CTF_NAME_MAX)
			return orma_proto_lexer_fail_at(lexer, word, "a name is too long");
		if ((parser->text.size > 0 && orma_base_buf_append_str(&parser->text, ".") < 0) ||
		    orma_base_buf_append(&parser->text, word.data, word.size) < 0)
			return -ENOMEM;
		orma_proto_lexer_next(lexer);
	} while (orma_proto_lexer_take(lexer, '.'));
	struct orma_str path = {(const char *)parser->text.data, parser->text.size};
	char *copy = orma_base_arena_strdup(&parser->metadata->arena, path);
	*ret = (struct orma_str){copy, path.size};
	return copy ? 0 : -ENOMEM;
}

static int read_string(struct orma_ctf_parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	parser->text.size = 0;
	int r = orma_proto_text_unescape(lexer, lexer->token.text, &parser->text);
	if (r < 0)
		return r;
	orma_proto_lexer_next(lexer);
	struct orma_str text = {(const char *)parser->text.data, parser->text.size};
	char *copy = orma_base_arena_strdup(&parser->metadata->arena, text);
	*ret = (struct orma_str){copy, text.size};
	return copy ? 0 : -ENOMEM;
}

int orma_ctf_read_value(struct orma_ctf_parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *begin = lexer->token.text.data;
	if (lexer->token.kind == ORMA_PROTO_TOKEN_STRING)
		return read_string(parser, ret);
	if (orma_ctf_is_word(parser))
		return orma_ctf_read_path(parser, ret);
	if (orma_proto_lexer_is(lexer, '-') || orma_proto_lexer_is(lexer, '+'))
		orma_proto_lexer_next(lexer);
	if (lexer->token.kind != ORMA_PROTO_TOKEN_NUMBER)
		return orma_proto_lexer_expected(lexer, "a value");
	*ret = (struct orma_str){begin,
				 (size_t)(lexer->token.text.data - begin) + lexer->token.text.size};
	orma_proto_lexer_next(lexer);
	return 0;
}

int orma_ctf_push(struct orma_ctf_parser *parser, enum orma_ctf_block block)
{
	if (parser->depth == ORMA_CTF_DEPTH_MAX)
		return orma_proto_lexer_fail_at(&parser->lexer, parser->lexer.token.text,
						"blocks are nested deeper than %d levels",
						ORMA_CTF_DEPTH_MAX);
	parser->frames[parser->depth++] =
		(struct orma_ctf_frame){.block = block, .symbol_count = parser->symbol_count};
	return 0;
}
