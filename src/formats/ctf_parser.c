/* SPDX-License-Identifier: Apache-2.0
 * ctf_parser.c - the statements of TSDL, and the blocks that they are in.
 *
 * Blocks nest, and are kept on a stack of their own: each turn of the loop reads one statement of the innermost block, or
 * its end. Callsites and unknown attributes are read over.
 */
#include <errno.h>

#include "base/macros.h"
#include "formats/ctf_parser.h"

static int set_clock(struct orma_ctf_parser *parser, struct orma_str name, struct orma_str value)
{
	struct orma_ctf_clock *clock = &parser->clock;
	uint64_t number = 0;
	bool is_number = orma_ctf_to_number(value, &number);
	if (orma_base_str_is(name, "name"))
		clock->name = value;
	else if (orma_base_str_is(name, "uuid"))
		clock->uuid = value;
	else if (orma_base_str_is(name, "freq") && is_number && number > 0)
		clock->frequency = number;
	else if (orma_base_str_is(name, "offset_s") && is_number)
		clock->offset_s = (int64_t)number;
	else if (orma_base_str_is(name, "offset") && is_number)
		clock->offset = (int64_t)number;
	return 0;
}

static int set_env(struct orma_ctf_parser *parser, struct orma_str name, struct orma_str value)
{
	struct orma_ctf_env *env = orma_base_arena_alloc(&parser->metadata->arena, sizeof(*env));
	if (!env)
		return -ENOMEM;
	*env = (struct orma_ctf_env){parser->metadata->env, name, value};
	parser->metadata->env = env;
	return 0;
}

/* Attributes that are texts or numbers. */
static int set_value(struct orma_ctf_parser *parser, enum orma_ctf_block block,
		     struct orma_str name, struct orma_str value)
{
	struct orma_ctf_metadata *metadata = parser->metadata;
	struct orma_str ignored;
	const struct {
		enum orma_ctf_block block;
		const char *name;
		uint64_t *number;
		struct orma_str *text;
	} targets[] = {
		{ORMA_CTF_BLOCK_TRACE, "uuid", NULL, &metadata->uuid},
		{ORMA_CTF_BLOCK_TRACE, "byte_order", NULL, &ignored},
		{ORMA_CTF_BLOCK_STREAM, "id", &parser->stream.id, NULL},
		{ORMA_CTF_BLOCK_EVENT, "id", &parser->event.id, NULL},
		{ORMA_CTF_BLOCK_EVENT, "stream_id", &parser->event.stream_id, NULL},
		{ORMA_CTF_BLOCK_EVENT, "name", NULL, &parser->event.name},
	};
	if (block == ORMA_CTF_BLOCK_CLOCK)
		return set_clock(parser, name, value);
	if (block == ORMA_CTF_BLOCK_ENV)
		return set_env(parser, name, value);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(targets); i++) {
		if (targets[i].block != block || !orma_base_str_is(name, targets[i].name))
			continue;
		if (targets[i].text)
			*targets[i].text = value;
		else if (!orma_ctf_to_number(value, targets[i].number))
			return orma_proto_lexer_fail_at(&parser->lexer, parser->lexer.token.text,
							"%s is not a number", targets[i].name);
	}
	if (block == ORMA_CTF_BLOCK_TRACE && orma_base_str_is(name, "byte_order"))
		metadata->byte_order =
			orma_base_str_is(value, "be") || orma_base_str_is(value, "network")
				? ORMA_CTF_BIG_ENDIAN
				: ORMA_CTF_LITTLE_ENDIAN;
	return 0;
}

/* Attributes that are types. */
static const struct orma_ctf_type **find_target(struct orma_ctf_parser *parser,
						enum orma_ctf_block block, struct orma_str name)
{
	const struct {
		enum orma_ctf_block block;
		const char *name;
		const struct orma_ctf_type **type;
	} targets[] = {
		{ORMA_CTF_BLOCK_TRACE, "packet.header", &parser->metadata->packet_header},
		{ORMA_CTF_BLOCK_STREAM, "packet.context", &parser->stream.packet_context},
		{ORMA_CTF_BLOCK_STREAM, "event.header", &parser->stream.event_header},
		{ORMA_CTF_BLOCK_STREAM, "event.context", &parser->stream.event_context},
		{ORMA_CTF_BLOCK_EVENT, "context", &parser->event.context},
		{ORMA_CTF_BLOCK_EVENT, "fields", &parser->event.fields},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(targets); i++)
		if (targets[i].block == block && orma_base_str_is(name, targets[i].name))
			return targets[i].type;
	return NULL;
}

static int parse_attribute(struct orma_ctf_parser *parser, enum orma_ctf_block block)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const struct orma_ctf_type *ignored = NULL;
	struct orma_str name, value;
	int r = orma_ctf_read_path(parser, &name);
	if (r == 0 && orma_proto_lexer_take(lexer, ':')) {
		const struct orma_ctf_type **target = find_target(parser, block, name);
		r = orma_ctf_expect(parser, '=');
		/* The type of an unknown attribute ends after this function has returned. */
		if (r == 0 && !target)
			target = orma_base_arena_memdup(&parser->metadata->arena, &ignored,
							sizeof(ignored));
		return r < 0    ? r
		       : target ? orma_ctf_parse_type(
					  parser,
					  (struct orma_ctf_pending){ORMA_CTF_FOR_TARGET, target})
				: -ENOMEM;
	}
	if (r == 0)
		r = orma_ctf_expect(parser, '=');
	if (r == 0)
		r = orma_ctf_read_value(parser, &value);
	if (r == 0)
		r = set_value(parser, block, name, value);
	return r == 0 ? orma_ctf_expect(parser, ';') : r;
}

static int begin_block(struct orma_ctf_parser *parser, enum orma_ctf_block block)
{
	orma_proto_lexer_next(&parser->lexer);
	int r = orma_ctf_expect(parser, '{');
	if (r == 0)
		r = orma_ctf_push(parser, block);
	parser->stream = (struct orma_ctf_stream_class){0};
	parser->event = (struct orma_ctf_event_class){0};
	parser->clock = (struct orma_ctf_clock){.frequency = UINT64_C(1000000000)};
	return r;
}

/* Adds an item to a list of the metadata, unless there are too many. */
#define ADD(parser, list, item, max, what)                                                         \
	((parser)->metadata->list.count >= (max)                                                   \
		 ? orma_proto_lexer_fail_at(&(parser)->lexer, (parser)->lexer.token.text,          \
					    "more than %d " what, (max))                           \
	 : orma_ctf_list_add(&(parser)->metadata->arena, &(parser)->metadata->list.items,          \
			     &(parser)->metadata->list.count, &(parser)->metadata->list.capacity,  \
			     sizeof(item))                                                         \
		 ? ((parser)->metadata->list.items[(parser)->metadata->list.count - 1] = (item),   \
		    0)                                                                             \
		 : -ENOMEM)

static int end_block(struct orma_ctf_parser *parser)
{
	enum orma_ctf_block block = parser->frames[parser->depth - 1].block;
	int r = 0;
	orma_proto_lexer_next(&parser->lexer);
	if (block == ORMA_CTF_BLOCK_TYPE)
		return orma_ctf_end_type(parser);
	orma_ctf_leave_scope(parser, parser->frames[--parser->depth].symbol_count);
	if (block == ORMA_CTF_BLOCK_STREAM)
		r = ADD(parser, streams, parser->stream, ORMA_CTF_STREAMS_MAX, "streams");
	else if (block == ORMA_CTF_BLOCK_EVENT)
		r = ADD(parser, events, parser->event, ORMA_CTF_EVENTS_MAX, "events");
	else if (block == ORMA_CTF_BLOCK_CLOCK)
		r = ADD(parser, clocks, parser->clock, ORMA_CTF_CLOCKS_MAX, "clocks");
	return r == 0 ? orma_ctf_expect(parser, ';') : r;
}

/* A statement that any block may hold. 1: it is none. */
static int parse_declaration(struct orma_ctf_parser *parser)
{
	static const struct {
		const char *word;
		enum orma_ctf_purpose purpose;
	} words[] = {{"typealias", ORMA_CTF_FOR_ALIAS},
		     {"typedef", ORMA_CTF_FOR_TYPEDEF},
		     {"struct", ORMA_CTF_FOR_NAME},
		     {"variant", ORMA_CTF_FOR_NAME},
		     {"enum", ORMA_CTF_FOR_NAME}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++) {
		if (!orma_ctf_token_is(parser, words[i].word))
			continue;
		if (words[i].purpose != ORMA_CTF_FOR_NAME)
			orma_proto_lexer_next(&parser->lexer);
		return orma_ctf_parse_type(parser,
					   (struct orma_ctf_pending){.purpose = words[i].purpose});
	}
	return 1;
}

static int parse_in_file(struct orma_ctf_parser *parser)
{
	static const char *const words[] = {
		[ORMA_CTF_BLOCK_TRACE] = "trace", [ORMA_CTF_BLOCK_STREAM] = "stream",
		[ORMA_CTF_BLOCK_EVENT] = "event", [ORMA_CTF_BLOCK_CLOCK] = "clock",
		[ORMA_CTF_BLOCK_ENV] = "env",     [ORMA_CTF_BLOCK_CALLSITE] = "callsite"};
	for (enum orma_ctf_block i = ORMA_CTF_BLOCK_TRACE; i <= ORMA_CTF_BLOCK_CALLSITE; i++)
		if (orma_ctf_token_is(parser, words[i]))
			return begin_block(parser, i);
	return orma_proto_lexer_expected(&parser->lexer, "a declaration");
}

static int parse_statement(struct orma_ctf_parser *parser)
{
	enum orma_ctf_block block =
		parser->depth > 0 ? parser->frames[parser->depth - 1].block : ORMA_CTF_BLOCK_FILE;
	if (orma_proto_lexer_take(&parser->lexer, ';'))
		return 0;
	if (block != ORMA_CTF_BLOCK_FILE && orma_proto_lexer_is(&parser->lexer, '}'))
		return end_block(parser);
	if (block == ORMA_CTF_BLOCK_TYPE && !orma_ctf_token_is(parser, "typealias") &&
	    !orma_ctf_token_is(parser, "typedef"))
		return orma_ctf_parse_type(
			parser, (struct orma_ctf_pending){.purpose = ORMA_CTF_FOR_FIELD});
	int r = parse_declaration(parser);
	if (r <= 0)
		return r;
	return block == ORMA_CTF_BLOCK_FILE ? parse_in_file(parser)
					    : parse_attribute(parser, block);
}

int orma_ctf_metadata_parse(struct orma_ctf_metadata *metadata, const char *name,
			    struct orma_str text, struct orma_error *reterr)
{
	struct orma_ctf_parser parser = {.metadata = metadata};
	int r = 0;
	metadata->arena.limit_bytes = ORMA_CTF_METADATA_ARENA;
	if (metadata->byte_order == ORMA_CTF_NATIVE)
		metadata->byte_order = ORMA_CTF_LITTLE_ENDIAN;
	orma_proto_lexer_init_schema(&parser.lexer, name, text.data, text.size, reterr);
	while (r == 0 && parser.lexer.token.kind != ORMA_PROTO_TOKEN_END)
		r = parse_statement(&parser);
	if (r == 0 && parser.depth > 0)
		r = orma_proto_lexer_expected(&parser.lexer, "'}'");
	orma_base_map_done(&parser.symbols_by_name);
	orma_base_buf_done(&parser.text);
	return r;
}
