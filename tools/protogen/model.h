/* SPDX-License-Identifier: Apache-2.0
 * model.h - what protogen knows of the .proto files: flat lists of messages and enums.
 */
#ifndef ORMA_TOOLS_PROTOGEN_MODEL_H
#define ORMA_TOOLS_PROTOGEN_MODEL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "proto/codec.h"

struct pg_file;

struct pg_value {
	const char *name;
	const char *constant; /* "ORMA_PB_..." */
	int32_t number;
};

struct pg_enum {
	const struct pg_file *file;
	const char *full_name; /* ".perfetto.protos.BufferConfig.FillPolicy" */
	const char *display;   /* "BufferConfig.FillPolicy" */
	const char *symbol;    /* "buffer_config_fill_policy" */
	struct pg_value *values;
	size_t value_count;
};

struct pg_message;

struct pg_field {
	const char *name;                      /* as written */
	const char *member;                    /* the same, or with an underscore behind it */
	const char *constant;                  /* of the field id */
	const char *type_name, *default_value; /* may be NULL */
	uint32_t id;
	enum orma_proto_kind kind;
	bool is_repeated, is_packed, is_required;
	unsigned oneof; /* 1.. or 0 */
	unsigned has_bit, type_idx, default_idx;
	const struct pg_message *message;
	const struct pg_enum *enumeration;
};

struct pg_message {
	const struct pg_file *file;
	struct orma_str data; /* its descriptor */
	const char *full_name, *display, *symbol;
	struct pg_field *fields; /* ascending ids */
	size_t field_count;
	unsigned has_count; /* fields with a has bit */
};

struct pg_file {
	const char *name; /* without ".proto" */
	const char *package;
	const char **imports; /* without ".proto" */
	size_t import_count;
	bool is_proto3;
};

struct pg_model {
	struct orma_arena arena;
	struct pg_file **files;
	struct pg_message **messages; /* of all files, outer before inner */
	struct pg_enum **enums;
	size_t file_count, message_count, enum_count;
	struct orma_map constants; /* by the hash of their names */
};

/* Reads a FileDescriptorSet. 0 or a negative errno value with a line on standard error. */
int pg_model_read(struct pg_model *model, const void *data, size_t size);

/* Both give text in the arena. */
const char *pg_snake(struct orma_arena *arena, const char *camel);
const char *pg_upper(struct orma_arena *arena, const char *text);
const char *pg_printf(struct orma_arena *arena, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
