/* SPDX-License-Identifier: Apache-2.0
 * ctf_parser.h - what the two halves of the parser of TSDL share: statements and blocks, and types.
 */
#ifndef ORMA_FORMATS_CTF_PARSER_H
#define ORMA_FORMATS_CTF_PARSER_H

#include "base/map.h"
#include "formats/ctf_metadata.h"
#include "proto/text_lexer.h"

enum orma_ctf_block {
	ORMA_CTF_BLOCK_FILE,
	ORMA_CTF_BLOCK_TRACE,
	ORMA_CTF_BLOCK_STREAM,
	ORMA_CTF_BLOCK_EVENT,
	ORMA_CTF_BLOCK_CLOCK,
	ORMA_CTF_BLOCK_ENV,
	ORMA_CTF_BLOCK_CALLSITE,
	ORMA_CTF_BLOCK_TYPE, /* the fields of a structure or a variant */
};

/* Says what follows a type. */
enum orma_ctf_purpose {
	ORMA_CTF_FOR_NAME,  /* a declaration of a named type: a semicolon */
	ORMA_CTF_FOR_FIELD, /* names of fields */
	ORMA_CTF_FOR_ALIAS, /* := and a name */
	ORMA_CTF_FOR_TYPEDEF,
	ORMA_CTF_FOR_TARGET, /* a semicolon; the type is what an attribute is set to */
};

struct orma_ctf_pending {
	enum orma_ctf_purpose purpose;
	const struct orma_ctf_type **target;
};

struct orma_ctf_frame {
	enum orma_ctf_block block;
	struct orma_ctf_type *type; /* for ORMA_CTF_BLOCK_TYPE */
	uint32_t field_capacity;
	struct orma_str type_name;       /* empty = it has none */
	struct orma_ctf_pending pending; /* says what follows the type */
	uint32_t symbol_count;           /* how many names were visible before */
};

/* A name of a type. Structures, variants and enumerations have their own names, which begin with their first letter and
 * a space. */
struct orma_ctf_symbol {
	struct orma_str name;
	const struct orma_ctf_type *type;
	uint64_t hash;
	struct orma_ctf_symbol *hidden; /* an older one of the same hash */
};

struct orma_ctf_parser {
	struct orma_proto_lexer lexer;
	struct orma_ctf_metadata *metadata;
	struct orma_ctf_frame frames[ORMA_CTF_DEPTH_MAX];
	uint32_t depth;
	struct orma_map symbols_by_name;
	struct orma_ctf_symbol **symbols;
	uint32_t symbol_count, symbol_capacity;
	struct orma_buf text; /* a name that is being put together */
	/* The stream or event of the innermost block. */
	struct orma_ctf_stream_class stream;
	struct orma_ctf_event_class event;
	struct orma_ctf_clock clock;
};

static inline bool orma_ctf_token_is(const struct orma_ctf_parser *parser, const char *word)
{
	return parser->lexer.token.kind == ORMA_PROTO_TOKEN_IDENT &&
	       orma_base_str_is(parser->lexer.token.text, word);
}
static inline bool orma_ctf_is_word(const struct orma_ctf_parser *parser)
{
	return parser->lexer.token.kind == ORMA_PROTO_TOKEN_IDENT;
}
static inline int orma_ctf_expect(struct orma_ctf_parser *parser, char punct)
{
	return orma_proto_lexer_take(&parser->lexer, punct)
		       ? 0
		       : orma_proto_lexer_expected(&parser->lexer, "'%c'", punct);
}

/* All of these return 0, -ENOMEM, or -EBADMSG with the place in reterr. */
int orma_ctf_declare(struct orma_ctf_parser *parser, char kind, struct orma_str name,
		     const struct orma_ctf_type *type);
/* Fails when there is none. */
int orma_ctf_find_type(struct orma_ctf_parser *parser, char kind, struct orma_str name,
		       const struct orma_ctf_type **ret);
/* Forgets the names that were declared since. */
void orma_ctf_leave_scope(struct orma_ctf_parser *parser, uint32_t symbol_count);

/* A word, or words with points between them. */
int orma_ctf_read_path(struct orma_ctf_parser *parser, struct orma_str *ret);
/* An integer with its sign. */
int orma_ctf_read_number(struct orma_ctf_parser *parser, uint64_t *ret);
/* One word, path, string or number, as text. */
int orma_ctf_read_value(struct orma_ctf_parser *parser, struct orma_str *ret);

int orma_ctf_push(struct orma_ctf_parser *parser, enum orma_ctf_block block);
/* Reads a type, and what its purpose says comes after it. The fields of a structure are left to the caller: the block is
 * pushed. */
int orma_ctf_parse_type(struct orma_ctf_parser *parser, struct orma_ctf_pending pending);
/* Ends the fields of a structure or variant, behind their brace. */
int orma_ctf_end_type(struct orma_ctf_parser *parser);

#endif
