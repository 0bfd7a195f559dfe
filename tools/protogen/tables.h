/* SPDX-License-Identifier: Apache-2.0
 * tables.h - from parsed .proto files to the structs and tables of src/schema/gen.
 *
 * The messages, enums and fields are those of src/tool/protogen/proto_file.h. A layout adds what
 * only generated structs need: names of members, has bits, and positions in the tables.
 */
#ifndef ORMA_TOOLS_PROTOGEN_TABLES_H
#define ORMA_TOOLS_PROTOGEN_TABLES_H

#include "tool/protogen/proto_file.h"
#include "tool/protogen/proto_output.h"

struct pg_field {
	const struct orma_tool_proto_field *proto;
	const char *name;   /* as in the .proto file */
	const char *member; /* the same, or with an underscore behind it */
	unsigned has_bit;   /* 0 for repeated fields and messages, which have none */
	unsigned type_idx;  /* set for messages and enums */
};

struct pg_message {
	const struct orma_tool_proto_type *type;
	const char *symbol;      /* "buffer_config" */
	struct pg_field *fields; /* ascending numbers */
	size_t field_count;
	unsigned has_count; /* fields with a has bit */
};

struct pg_generator {
	struct orma_tool_proto_set set;
	struct orma_map constants; /* by the hash of the name: the field or value that it is of */
	struct orma_tool_proto_output output;
};

#define PG_PUT(...) orma_tool_proto_put(&generator->output, __VA_ARGS__)

/* --- tables_layout.c -------------------------------------------------------------------------- */

/*
 * Refuses what tables cannot express: extensions, declared defaults, and types that are used without
 * importing their file. Sorts the types and names all constants. Returns 0, -EBADMSG or -ENOMEM.
 */
int pg_prepare(struct pg_generator *generator);
/* Computes the layout of a message, in the arena. Returns 0, -EBADMSG, -EMSGSIZE or -ENOMEM. */
int pg_lay_out(struct pg_generator *generator, const struct orma_tool_proto_type *message,
	       struct pg_message *ret);
/* "BufferConfig.FillPolicy": the name without its package. */
const char *pg_local_name(const struct orma_tool_proto_type *type);
/* "buffer_config_fill_policy" */
const char *pg_symbol(struct pg_generator *generator, const struct orma_tool_proto_type *type);
/* "ORMA_PB_...": `owner` is the field or value that has this name in the type. */
const char *pg_constant(struct pg_generator *generator, const void *owner, const char *symbol,
			struct orma_str name);
/* The file's name without folders and ".proto". */
const char *pg_stem(struct pg_generator *generator, const char *path);

/* --- tables_pack.c: failures are noted in generator->output ------------------------------------ */

/* Emits the names of an enum that has many, packed as codec.h says. False: it has few; nothing is emitted. */
bool pg_emit_packed_names(struct pg_generator *generator, const struct orma_tool_proto_type *type);

/* --- tables_header.c and tables_source.c: failures are noted in generator->output -------------- */

/* <file>.pb.h: structs, field numbers, enums and accessors. */
void pg_emit_header(struct pg_generator *generator, const struct orma_tool_proto_file *file);
/* <file>.pb.c: the tables. */
void pg_emit_source(struct pg_generator *generator, const struct orma_tool_proto_file *file);

#endif
