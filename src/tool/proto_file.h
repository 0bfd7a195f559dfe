/* SPDX-License-Identifier: Apache-2.0
 * proto_file.h - .proto files as they are written: parsed, their types found.
 *
 * What `orma protogen` reads. proto2, proto3 and editions: messages, enums, all scalar types,
 * oneofs, maps, extensions; options are read over, services too. Groups are refused, whatever they
 * are called: traces have none, and Perfetto reads none.
 *
 * Everything lives in the set's arena and points into the texts, which stay there too.
 */
#ifndef ORMA_TOOL_PROTO_FILE_H
#define ORMA_TOOL_PROTO_FILE_H

#include <orma/error.h>

#include "base/arena.h"
#include "base/map.h"
#include "proto/text_lexer.h"

#define ORMA_TOOL_PROTO_DEPTH_MAX 32   /* blocks in one another */
#define ORMA_TOOL_PROTO_FILES_MAX 1000 /* imports of imports */
#define ORMA_TOOL_PROTO_FIELD_MAX 536870911

struct orma_tool_proto_value {
	struct orma_tool_proto_value *next;
	struct orma_str name;
	int32_t number;
};

struct orma_tool_proto_range {
	struct orma_tool_proto_range *next;
	uint32_t first, last;
};

struct orma_tool_proto_field {
	struct orma_tool_proto_field *next;
	struct orma_str name, type_name; /* type_name: as written, for messages and enums */
	uint32_t number;
	enum orma_proto_kind kind; /* of what has a type_name known after resolving */
	bool is_repeated, is_required, is_packed, is_packed_said;
	struct orma_tool_proto_type *type;
	struct orma_str at; /* in the file, for errors */
};

/* A message or an enum. */
struct orma_tool_proto_type {
	struct orma_tool_proto_type *next; /* in the file, in the order of their beginnings */
	struct orma_tool_proto_file *file;
	const char *name; /* with packages and messages around it: "my.app.Outer.Inner" */
	bool is_enum;
	struct orma_tool_proto_field *fields;
	struct orma_tool_proto_value *values;
	struct orma_tool_proto_range *reserved;
	struct orma_str at;
};

/* extend X { ... } */
struct orma_tool_proto_extension {
	struct orma_tool_proto_extension *next;
	struct orma_tool_proto_file *file;
	const char *scope; /* of the message around it or the package */
	struct orma_str extendee, at;
	struct orma_tool_proto_field *fields;
};

struct orma_tool_proto_file {
	struct orma_tool_proto_file *next;
	const char *path;
	struct orma_proto_lexer lexer;
	const char *package; /* "" = none */
	bool is_proto3;      /* or an edition: no labels, and repeated numbers are packed */
	bool is_edition;     /* which may say otherwise of the latter */
	bool is_expanded;
	struct orma_tool_proto_type *types;
	struct orma_tool_proto_extension *extensions;
	struct orma_tool_proto_import *imports;
};

struct orma_tool_proto_import {
	struct orma_tool_proto_import *next;
	const char *path;
	struct orma_str at;
};

struct orma_tool_proto_set {
	struct orma_arena arena;
	struct orma_tool_proto_file *files; /* in the order of their loading */
	size_t file_count;
	struct orma_map types;   /* by hash of the name, see orma_tool_proto_find() */
	struct orma_error error; /* of what failed */
};

void orma_tool_proto_set_done(struct orma_tool_proto_set *set);
/*
 * Parses one file; its text is copied. Imports are left to the caller, who adds them in the same
 * way. 0, -EBADMSG (the set's error says where and what), -EMSGSIZE, -ENOMEM.
 */
int orma_tool_proto_parse(struct orma_tool_proto_set *set, const char *path, const char *text,
			  size_t size, struct orma_tool_proto_file **ret);
/* Finds the types that the fields of all files name. 0, -EBADMSG, -ENOMEM. */
int orma_tool_proto_resolve(struct orma_tool_proto_set *set);
/* NULL when there is none of that name. */
struct orma_tool_proto_type *orma_tool_proto_find(const struct orma_tool_proto_set *set,
						  const char *name, size_t size);
/* Appends the C header for the types and extensions of a file. 0, -EBADMSG, -ENOMEM. */
int orma_tool_proto_emit(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
			 const char *guard, const char *prefix, struct orma_buf *out);
/* Whether an extension is of protobuf's own messages: options of .proto files, nothing to write. */
bool orma_tool_proto_is_option(struct orma_str extendee);
/* The last part of a dotted name. */
const char *orma_tool_proto_last(const char *name);

#endif
