/* SPDX-License-Identifier: Apache-2.0
 * proto_parser.h - the state of the parser of one .proto file, and what its files share.
 *
 * proto_parse.c has the loop over statements and the stack of blocks. It calls proto_field.c for
 * fields and maps, proto_option.c for options, and proto_declare.c to declare types, names and
 * numbers. All of them call proto_token.c for single tokens. Everything else includes proto_file.h.
 */
#ifndef ORMA_TOOL_PROTO_PARSER_H
#define ORMA_TOOL_PROTO_PARSER_H

#include "base/buf.h"
#include "tool/protogen/proto_file.h"

enum orma_tool_proto_block_kind {
	ORMA_TOOL_PROTO_BLOCK_FILE,
	ORMA_TOOL_PROTO_BLOCK_MESSAGE,
	ORMA_TOOL_PROTO_BLOCK_ENUM,
	ORMA_TOOL_PROTO_BLOCK_ONEOF,
	ORMA_TOOL_PROTO_BLOCK_EXTEND
};

/* The names and numbers that a message or an enum has declared so far. */
struct orma_tool_proto_members {
	struct orma_map names;    /* by the hash of the name: its struct orma_str */
	struct orma_map numbers;  /* messages only: the field that has the number */
	struct orma_buf reserved; /* messages only: ranges that no field may use */
};

/* A block that is open: a file, or the braces of a message, an enum, a oneof or an extension. */
struct orma_tool_proto_block {
	enum orma_tool_proto_block_kind kind;
	const char *scope; /* name of the message or package, for the types and fields in it */
	struct orma_tool_proto_type *type; /* the message or enum; in a oneof, its message */
	struct orma_tool_proto_members own_members; /* used by messages and enums */
	/* Points to own_members; in a oneof to its message's; in files and extensions it is
	 * NULL. */
	struct orma_tool_proto_members *members;
	struct orma_tool_proto_field **fields_tail; /* a oneof's fields join its message's list */
	struct orma_tool_proto_value **values_tail;
	unsigned oneof_count; /* messages only: oneofs so far */
	unsigned oneof;       /* oneofs only: number in the message */
};

struct orma_tool_proto_parser {
	struct orma_tool_proto_set *set;
	struct orma_tool_proto_file *file;
	struct orma_proto_lexer *lexer; /* the file's */
	struct orma_tool_proto_type **types_tail;
	struct orma_tool_proto_extension **extensions_tail;
	struct orma_tool_proto_import **imports_tail;
	struct orma_tool_proto_block blocks[ORMA_TOOL_PROTO_DEPTH_MAX];
	size_t depth; /* number of open blocks; the file is the first */
	bool saw_statement;
};

static inline struct orma_tool_proto_block *
orma_tool_proto_innermost(struct orma_tool_proto_parser *parser)
{
	return &parser->blocks[parser->depth - 1];
}

/* --- proto_token.c: the functions that return int return 0 or -EBADMSG ------------------------ */

bool orma_tool_proto_is_word(const struct orma_proto_lexer *lexer, const char *word);
bool orma_tool_proto_take_word(struct orma_proto_lexer *lexer, const char *word);
/* Returns true at the end of the text, or at a string that is not closed. */
bool orma_tool_proto_is_at_end(const struct orma_proto_lexer *lexer);
int orma_tool_proto_need(struct orma_proto_lexer *lexer, char punct);
/* Takes a name. The error message says that `what` was expected: "the field's name". */
int orma_tool_proto_need_name(struct orma_proto_lexer *lexer, const char *what,
			      struct orma_str *ret);
/* Takes a name with dots, such as a.b.C or .a.b.C. White space inside is refused. */
int orma_tool_proto_need_path(struct orma_proto_lexer *lexer, const char *what,
			      struct orma_str *ret);
int orma_tool_proto_need_number(struct orma_proto_lexer *lexer, const char *what, uint64_t max,
				uint64_t *ret);
/* Takes a string literal. *ret is its content, in the arena, and *ret_at the literal itself. Also
 * returns -ENOMEM. */
int orma_tool_proto_need_string(struct orma_tool_proto_parser *parser, const char *what,
				struct orma_str *ret_at, char **ret);

/* --- proto_declare.c -------------------------------------------------------------------------- */

/*
 * Adds a message or an enum to the file, inside the innermost block. Returns 0, -EEXIST (a type of
 * this name exists) or -ENOMEM.
 */
int orma_tool_proto_add_type(struct orma_tool_proto_parser *parser, struct orma_str name,
			     bool is_enum, struct orma_tool_proto_type **ret);

void orma_tool_proto_members_done(struct orma_tool_proto_members *members);
/* Returns 0, -EEXIST (a member of this name exists) or -ENOMEM. `name` must outlive the members. */
int orma_tool_proto_members_add_name(struct orma_tool_proto_members *members,
				     const struct orma_str *name);
int orma_tool_proto_members_reserve(struct orma_tool_proto_members *members, uint32_t first,
				    uint32_t last);
/* Sorts the reserved ranges and returns a field whose number is in one of them, or NULL. */
const struct orma_tool_proto_field *
orma_tool_proto_members_find_reserved(struct orma_tool_proto_members *members,
				      const struct orma_tool_proto_field *fields);

/* --- proto_option.c --------------------------------------------------------------------------- */

/* Parses "option name = value;" after the word "option". */
int orma_tool_proto_parse_option_statement(struct orma_tool_proto_parser *parser);
/* Parses "[packed = true, default = 5]", if there is a bracket. When `field` is NULL, nothing is
 * kept. */
int orma_tool_proto_parse_options(struct orma_tool_proto_parser *parser,
				  struct orma_tool_proto_field *field);
/* Called behind an opening brace: skips everything up to and including the matching closing
 * brace. */
int orma_tool_proto_skip_braces(struct orma_tool_proto_parser *parser);

/* --- proto_field.c ---------------------------------------------------------------------------- */

/* Parses a field of a message, a oneof or an extension. */
int orma_tool_proto_parse_field(struct orma_tool_proto_parser *parser);

#endif
