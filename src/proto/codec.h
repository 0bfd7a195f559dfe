/* SPDX-License-Identifier: Apache-2.0
 * codec.h - messages as C structs, driven by generated tables: decode, encode, text format both
 * ways.
 *
 * tools/protogen turns a descriptor set into src/schema/gen/<file>.pb.{h,c}. For `message
 * TraceConfig { ... }` of src/schema/protos it emits
 *
 *   struct orma_pb_trace_config {
 *           struct orma_proto_message base;       // which fields are present; the unknown ones
 *           uint32_t duration_ms;                 // scalar; 0 / the declared default when absent
 *           struct orma_str output_path;          // string, bytes
 *           struct orma_pb_builtin_data_sources *builtin_data_sources;        // message: NULL when
 * absent ORMA_PROTO_REPEATED(struct orma_pb_trace_config_buffer_config *) buffers;   // {items,
 * count}
 *   };
 *   extern const struct orma_proto_desc orma_pb_trace_config_desc;
 *   enum { ORMA_PB_TRACE_CONFIG_BUFFERS = 1, ... };         // field ids
 *   enum orma_pb_trace_config_lockdown_mode_operation {
 * ORMA_PB_TRACE_CONFIG_LOCKDOWN_MODE_OPERATION_LOCKDOWN_UNCHANGED = 0, ... }; static inline bool
 * orma_pb_trace_config_has_duration_ms(const struct orma_pb_trace_config *m); static inline void
 * orma_pb_trace_config_set_duration_ms(struct orma_pb_trace_config *m, uint32_t v);  // sets the
 * has bit
 *
 * Nested messages are named with their parents' names; snake case throughout. Enum fields are
 * int32_t. A field is encoded when its has bit is set (scalars, strings), when its pointer is not
 * NULL (messages) or count > 0. The has bit of a message field is not used. In a oneof the last one
 * set wins: setters clear the others.
 */
#ifndef ORMA_PROTO_CODEC_H
#define ORMA_PROTO_CODEC_H

#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define ORMA_PROTO_DEPTH_MAX 100 /* nested messages; deeper ones do not decode or parse */

enum orma_proto_kind {
	ORMA_PROTO_KIND_BOOL,
	ORMA_PROTO_KIND_INT32,
	ORMA_PROTO_KIND_INT64,
	ORMA_PROTO_KIND_UINT32,
	ORMA_PROTO_KIND_UINT64,
	ORMA_PROTO_KIND_SINT32,
	ORMA_PROTO_KIND_SINT64,
	ORMA_PROTO_KIND_FIXED32,
	ORMA_PROTO_KIND_FIXED64,
	ORMA_PROTO_KIND_SFIXED32,
	ORMA_PROTO_KIND_SFIXED64,
	ORMA_PROTO_KIND_FLOAT,
	ORMA_PROTO_KIND_DOUBLE,
	ORMA_PROTO_KIND_ENUM,
	ORMA_PROTO_KIND_STRING,
	ORMA_PROTO_KIND_BYTES,
	ORMA_PROTO_KIND_MESSAGE,
};

enum { ORMA_PROTO_REPEATED_FLAG = 1, ORMA_PROTO_PACKED_FLAG = 2, ORMA_PROTO_REQUIRED_FLAG = 4 };

struct orma_proto_enum_value {
	const char *name;
	int32_t number;
};

struct orma_proto_enum_desc {
	const char *name; /* as in the .proto: "perfetto.protos.BufferConfig.FillPolicy" without the
			     package */
	const struct orma_proto_enum_value *values;
	uint16_t value_count;
};

struct orma_proto_desc;

struct orma_proto_field_desc {
	const char *name;
	uint32_t id;
	uint16_t offset;  /* of the member in the struct */
	uint16_t has_bit; /* index into orma_proto_message.has */
	uint8_t kind;     /* enum orma_proto_kind */
	uint8_t flags;
	uint8_t oneof; /* 1.. = number of the oneof in this message, 0 = none */
	union {
		const struct orma_proto_desc *message;
		const struct orma_proto_enum_desc *enumeration;
	} type;
	uint64_t default_bits; /* scalar default as it would lie in memory (double and float as
				  their bits) */
};

struct orma_proto_desc {
	const char *name; /* "TraceConfig.BufferConfig" */
	uint32_t struct_size;
	uint16_t field_count;
	uint16_t has_words;
	const struct orma_proto_field_desc *fields; /* ascending ids */
};

struct orma_proto_unknown {
	struct orma_proto_unknown *next; /* in wire order */
	struct orma_str bytes;           /* whole fields, tags included */
};

#define ORMA_PROTO_HAS_WORDS_MAX 8 /* tables use as many as they need */

/* The head of every generated struct; the has words follow it in memory (uint32_t
 * has[desc->has_words]). */
struct orma_proto_message {
	const struct orma_proto_desc *desc;
	struct orma_proto_unknown *unknown;
};

#define ORMA_PROTO_REPEATED(type) \
	struct {                  \
		type *items;      \
		size_t count;     \
	}
/* What every ORMA_PROTO_REPEATED looks like to the codec. */
struct orma_proto_repeated {
	void *items;
	size_t count;
};

static inline uint32_t *orma_proto_has_words(const struct orma_proto_message *message)
{
	return (uint32_t *)(message + 1);
}

const struct orma_proto_field_desc *orma_proto_desc_find(const struct orma_proto_desc *desc,
							 uint32_t field_id);
const struct orma_proto_field_desc *orma_proto_desc_find_name(const struct orma_proto_desc *desc,
							      struct orma_str name);
bool orma_proto_has(const struct orma_proto_message *message,
		    const struct orma_proto_field_desc *field);
void orma_proto_set_has(struct orma_proto_message *message,
			const struct orma_proto_field_desc *field, bool has);

/* An empty message with its defaults; NULL without memory. */
void *orma_proto_new(const struct orma_proto_desc *desc, struct orma_arena *arena);
/* Appends room for one item to a repeated field; the item's address (zeroed) or NULL. */
void *orma_proto_repeated_add(struct orma_proto_repeated *repeated, size_t item_size,
			      struct orma_arena *arena);

/*
 * Decodes untrusted bytes. Strings and unknown fields point into `data`, which must outlive the
 * message (_copy copies it into the arena first). Last one wins for singular scalars; singular
 * messages merge. A value of the wrong wire type is an unknown field; packed and unpacked repeated
 * scalars are both read. 0, -EBADMSG (also nested deeper than ORMA_PROTO_DEPTH_MAX), -ENOMEM.
 */
int orma_proto_decode(const struct orma_proto_desc *desc, const void *data, size_t size,
		      struct orma_arena *arena, void *ret_message);
int orma_proto_decode_copy(const struct orma_proto_desc *desc, const void *data, size_t size,
			   struct orma_arena *arena, void *ret_message);
/* `ret_message` above is the address of a `struct orma_pb_x *`. */

/* Appends the encoding: known fields by ascending id, then the unknown ones. 0 or -ENOMEM (buf as
 * before), -EMSGSIZE. */
int orma_proto_encode(const void *message, struct orma_buf *buf);
/* The same as a field of an outer message: tag, minimal length, content. */
int orma_proto_encode_field(const void *message, uint32_t field_id, struct orma_buf *buf);

/* --- text format
 * --------------------------------------------------------------------------------------------- */

enum {
	ORMA_PROTO_TEXT_LOSSY = 1, /* unknown fields are skipped instead of refused */
};

/*
 * Parses the text format: all of protobuf's (lists, both quotes, hex, exponents, inf, nan, <...>,
 * commas, numeric enum values, numeric field names for unknown fields, \x \u escapes) beside what
 * upstream's own parser takes. -EBADMSG fills `reterr` with NAME:LINE:COLUMN: found X, expected Y
 *   <the source line>
 *       ^~~~
 * `name` is what the text is called in messages (a file's name). Strings live in the arena.
 */
int orma_proto_text_parse(const struct orma_proto_desc *desc, const char *name, const char *text,
			  size_t size, unsigned flags, struct orma_arena *arena, void *ret_message,
			  struct orma_error *reterr);

/*
 * Appends the message as text, two spaces per level from `indent` levels on. Unknown fields are
 * printed by number so that parsing gives the same bytes back: varints in decimal, fixed32 and
 * fixed64 as 0x with 8 and 16 digits, length-delimited as a message when its bytes are exactly one
 * in canonical form, else as a string.
 */
int orma_proto_text_print(const void *message, unsigned indent, struct orma_buf *buf);

#endif
