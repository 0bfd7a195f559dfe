/* SPDX-License-Identifier: Apache-2.0
 * proto_file.h - .proto files: their messages, enums and extensions, parsed and resolved.
 *
 * This is the front end of both generators: `orma protogen` (proto_setters.h) and tools/protogen,
 * which makes src/schema/gen. It therefore uses only base and proto. It reads proto2, proto3 and
 * editions with messages, enums, all scalar types, oneofs, maps and extensions. It skips services,
 * and all options except those for a field's encoding and default. It refuses groups, because
 * traces contain none.
 *
 * Everything lives in the arena of the set, including a copy of each text. Names point into the
 * texts.
 */
#ifndef ORMA_TOOL_PROTO_FILE_H
#define ORMA_TOOL_PROTO_FILE_H

#include <orma/error.h>

#include "base/arena.h"
#include "base/map.h"
#include "proto/text_lexer.h"

#define ORMA_TOOL_PROTO_DEPTH_MAX 32   /* depth of nested blocks */
#define ORMA_TOOL_PROTO_FILES_MAX 1000 /* imports of imports included */
#define ORMA_TOOL_PROTO_FIELD_MAX 536870911

struct orma_tool_proto_value {
	struct orma_tool_proto_value *next;
	struct orma_str name;
	int32_t number;
};

struct orma_tool_proto_field {
	struct orma_tool_proto_field *next;
	struct orma_str name, type_name; /* type_name: as written; empty for scalars and maps */
	struct orma_str default_value;   /* the literal, without its sign; empty = none */
	uint32_t number;
	enum orma_proto_kind kind; /* valid after resolving when there is a type_name */
	bool is_repeated, is_required, is_packed;
	bool has_packed_option;            /* the file says itself whether the field is packed */
	unsigned oneof;                    /* 1.. = number of the oneof in its message, 0 = none */
	struct orma_tool_proto_type *type; /* a message's or an enum's, after resolving */
};

/* A message or an enum. */
struct orma_tool_proto_type {
	struct orma_tool_proto_type *next; /* in the file, in the order in which they begin */
	struct orma_tool_proto_file *file;
	const char *name;        /* with its package and outer messages: "my.app.Outer.Inner" */
	struct orma_str name_at; /* the place of the name in the text, for errors */
	unsigned level;          /* number of messages around it */
	bool is_enum;
	struct orma_tool_proto_field *fields;
	struct orma_tool_proto_value *values;
};

/* extend X { ... } */
struct orma_tool_proto_extension {
	struct orma_tool_proto_extension *next;
	struct orma_tool_proto_file *file;
	const char *scope; /* name of the message or package around it */
	struct orma_str extendee;
	struct orma_tool_proto_field *fields;
};

struct orma_tool_proto_import {
	struct orma_tool_proto_import *next;
	const char *path;
	struct orma_str path_at; /* the literal, for errors */
};

struct orma_tool_proto_file {
	struct orma_tool_proto_file *next;
	const char *path;
	struct orma_proto_lexer lexer; /* holds the text, whose lines errors show */
	const char *package;           /* "" = none */
	bool is_proto3;   /* or an edition: without labels; repeated numbers are packed */
	bool is_edition;  /* its options may change how repeated numbers are encoded */
	bool is_expanded; /* the edition's options say that they are not packed */
	struct orma_tool_proto_type *types;
	struct orma_tool_proto_extension *extensions;
	struct orma_tool_proto_import *imports;
};

/* {0} is an empty set. After a failure it holds the error and must be released, nothing else. */
struct orma_tool_proto_set {
	struct orma_arena arena;
	struct orma_tool_proto_file *files; /* in the order in which they were parsed */
	size_t file_count;
	struct orma_map types; /* by the hash of the full name, see orma_tool_proto_find() */
	struct orma_error error;
};

void orma_tool_proto_set_done(struct orma_tool_proto_set *set);
/*
 * Parses one file; its text is copied. The caller parses what it imports. Returns 0, -EBADMSG (the
 * set's error says where and what), -EMSGSIZE (too many files) or -ENOMEM.
 */
int orma_tool_proto_parse(struct orma_tool_proto_set *set, const char *path, const char *text,
			  size_t size, struct orma_tool_proto_file **ret);
/* Finds the types that the fields of all files name. Returns 0, -EBADMSG or -ENOMEM. */
int orma_tool_proto_resolve(struct orma_tool_proto_set *set);
/* Returns the type of this full name, or NULL. */
struct orma_tool_proto_type *orma_tool_proto_find(const struct orma_tool_proto_set *set,
						  const char *name, size_t size);
/* Returns true for a message of protobuf itself, whose extensions define options of .proto
 * files. */
bool orma_tool_proto_is_option(struct orma_str extendee);

#endif
