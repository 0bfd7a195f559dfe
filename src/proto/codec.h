/* SPDX-License-Identifier: Apache-2.0
 * codec.h - messages as C structs, driven by generated tables: decode, encode, text format.
 *
 * tools/protogen turns src/schema/protos/<file>.proto into src/schema/gen/<file>.pb.{h,c}. The text
 * `message TraceConfig { ... }` becomes
 *
 *   struct orma_pb_trace_config {
 *           struct orma_proto_message base;   // which fields are present; the unknown ones
 *           uint32_t has[1];                  // absent when no field has a has bit
 *           uint32_t duration_ms;             // scalar; 0 when absent
 *           struct orma_str output_path;      // string, bytes
 *           struct orma_pb_builtin_data_sources *builtin_data_sources;  // message, NULL = absent
 *           ORMA_PROTO_REPEATED(struct orma_pb_trace_config_buffer_config *) buffers;
 *   };
 *   extern const struct orma_proto_desc orma_pb_trace_config_desc;
 *   enum { ORMA_PB_TRACE_CONFIG_BUFFERS = 1, ... };         // field ids
 *   enum orma_pb_trace_config_lockdown_mode_operation {
 *           ORMA_PB_TRACE_CONFIG_LOCKDOWN_MODE_OPERATION_LOCKDOWN_UNCHANGED = 0, ... };
 *
 * and, as static inline functions,
 *
 *   struct orma_pb_trace_config *orma_pb_trace_config_new(arena);
 *   int  orma_pb_trace_config_decode(data, size, arena, struct orma_pb_trace_config **ret);
 *   bool orma_pb_trace_config_has_duration_ms(m);
 *   void orma_pb_trace_config_set_duration_ms(m, value);    // sets the has bit
 *   struct orma_pb_x *orma_pb_trace_config_set_new_x(m, arena);          // singular messages
 *   struct orma_pb_x *orma_pb_trace_config_add_buffers(m, arena);        // repeated messages
 *   int  orma_pb_trace_config_add_numbers(m, arena, value);              // repeated scalars
 *
 * Members are in the order of their sizes, not of their declaration. The name of a nested message
 * begins with the names of its parents. All names are in snake case; a member whose name would be a
 * C keyword, `base` or `has` ends in an underscore. Enum fields are int32_t. A field is encoded
 * when its has bit is set (scalars, strings), when its pointer is not NULL (messages) or when its
 * count is not 0 (repeated fields). Setting a member of a oneof clears the others.
 *
 * A header only declares the messages of other .proto files. A source includes the header of each
 * message that it reads or makes.
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

#define ORMA_PROTO_DEPTH_MAX 100       /* levels of nested messages; more do not decode or parse */
#define ORMA_PROTO_SIZE_MAX  INT32_MAX /* bytes of an encoded message, as in protobuf */

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

/*
 * All names of a message or an enum are in one string, and the tables hold offsets into it. A
 * pointer would cost 8 bytes and, in a shared library, a relocation of 24 bytes, and there are
 * thousands.
 */
struct orma_proto_enum_desc {
	const char *name; /* "BufferConfig.FillPolicy"; then, each after a NUL, the values' names */
	const int32_t *numbers; /* the values, in the order of their names */
	uint16_t value_count;
	/* Many names are packed: ORMA_PROTO_PAIRS pairs of bytes come before them, and byte 128 + i of
	 * a name stands for pair i, whose bytes may stand for pairs in turn. */
	bool is_packed;
};
enum { ORMA_PROTO_PAIRS = 128, ORMA_PROTO_ENUM_NAME_BYTES = 128 /* with the NUL */ };

struct orma_proto_desc;

union orma_proto_type {
	const struct orma_proto_desc *message;
	const struct orma_proto_enum_desc *enumeration;
};

/* There are thousands of these, so each takes 12 bytes. The generator refuses larger numbers. */
struct orma_proto_field_desc {
	uint32_t id : 29;
	uint32_t flags : 3;
	uint16_t name_offset;   /* from desc->name */
	uint16_t offset;        /* in the struct */
	uint32_t has_bit : 9;   /* index into has; for singular fields other than messages */
	uint32_t type_idx : 12; /* into desc->types, for messages and enums */
	uint32_t kind : 5;      /* enum orma_proto_kind */
	uint32_t oneof : 6;     /* number of the oneof in this message, from 1; 0 = none */
};
_Static_assert(sizeof(struct orma_proto_field_desc) == 12, "no padding");

struct orma_proto_desc {
	const char
		*name; /* "TraceConfig.BufferConfig"; then, each after a NUL, the fields' names */
	const struct orma_proto_field_desc *fields; /* ascending ids */
	const union orma_proto_type *types;
	uint16_t struct_size;
	uint16_t field_count;
	uint16_t has_words;
};

struct orma_proto_unknown {
	struct orma_proto_unknown *next; /* in wire order */
	struct orma_str bytes;           /* whole fields, tags included */
};

/* The first member of every generated struct; has[desc->has_words] follows it in memory. */
struct orma_proto_message {
	const struct orma_proto_desc *desc;
	struct orma_proto_unknown *unknown, *unknown_last;
};

#define ORMA_PROTO_REPEATED(type)                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
	}
/* The codec's view of every ORMA_PROTO_REPEATED; it may alias any of them. */
struct __attribute__((may_alias)) orma_proto_repeated {
	void *items;
	size_t count;
};

static inline uint32_t *orma_proto_has_words(const struct orma_proto_message *message)
{
	return (uint32_t *)(message + 1);
}

static inline bool orma_proto_has_bit(const struct orma_proto_message *message, unsigned bit)
{
	return orma_proto_has_words(message)[bit / 32] >> bit % 32 & 1;
}

static inline void orma_proto_set_has_bit(struct orma_proto_message *message, unsigned bit)
{
	orma_proto_has_words(message)[bit / 32] |= UINT32_C(1) << bit % 32;
}

static inline void orma_proto_clear_has_bit(struct orma_proto_message *message, unsigned bit)
{
	orma_proto_has_words(message)[bit / 32] &= ~(UINT32_C(1) << bit % 32);
}

static inline const char *orma_proto_field_name(const struct orma_proto_desc *desc,
						const struct orma_proto_field_desc *field)
{
	return desc->name + field->name_offset;
}

/* Both return NULL when there is no such field. */
const struct orma_proto_field_desc *orma_proto_desc_find(const struct orma_proto_desc *desc,
							 uint32_t field_id);
const struct orma_proto_field_desc *orma_proto_desc_find_name(const struct orma_proto_desc *desc,
							      struct orma_str name);
/* The first name of a value, in the table or in `buffer`, or NULL. */
const char *orma_proto_enum_name(const struct orma_proto_enum_desc *desc, int32_t number,
				 char buffer[ORMA_PROTO_ENUM_NAME_BYTES]);
bool orma_proto_enum_find(const struct orma_proto_enum_desc *desc, struct orma_str name,
			  int32_t *ret_number);

/* True when the field is encoded, by its has bit, pointer or count. */
bool orma_proto_has(const struct orma_proto_message *message,
		    const struct orma_proto_field_desc *field);
/* Clears the other members of the field's oneof, if the field is in one. */
void orma_proto_select_oneof(struct orma_proto_message *message,
			     const struct orma_proto_field_desc *field);

/* Makes an empty message. NULL when out of memory. */
void *orma_proto_new(const struct orma_proto_desc *desc, struct orma_arena *arena);
/*
 * Appends a zeroed item to a repeated field and returns its address, or NULL when out of memory.
 * The list must be empty or made by this function, which relies on a capacity of the next power of
 * two (at least four).
 */
void *orma_proto_repeated_add(struct orma_proto_repeated *repeated, size_t item_size,
			      struct orma_arena *arena);
/* Appends a new message to a list of messages. NULL when out of memory. */
void *orma_proto_repeated_add_new(struct orma_proto_repeated *repeated,
				  const struct orma_proto_desc *desc, struct orma_arena *arena);
/* Bytes that a value of this kind takes in memory. */
size_t orma_proto_kind_size(enum orma_proto_kind kind);

/*
 * Decodes untrusted bytes. Strings and unknown fields point into `data`, which must outlive the
 * message; orma_proto_decode_copy() copies `data` into the arena first. If a singular scalar occurs
 * several times, the last one counts; singular messages merge. A value of the wrong wire type is an
 * unknown field. Repeated scalars may be packed or not. Returns 0, -EBADMSG (also for messages
 * nested deeper than ORMA_PROTO_DEPTH_MAX) or -ENOMEM. `ret_message` is the address of a `struct
 * orma_pb_x *`, which is set on success only.
 */
int orma_proto_decode(const struct orma_proto_desc *desc, const void *data, size_t size,
		      struct orma_arena *arena, void *ret_message);
int orma_proto_decode_copy(const struct orma_proto_desc *desc, const void *data, size_t size,
			   struct orma_arena *arena, void *ret_message);
/* Decodes into an existing message. After an error some of the fields may have been set. */
int orma_proto_merge(void *message, const void *data, size_t size, struct orma_arena *arena);

/*
 * Appends the encoding: known fields in ascending order of their ids, then unknown fields. Returns
 * 0, -ENOMEM or -EMSGSIZE (over ORMA_PROTO_SIZE_MAX or ORMA_PROTO_DEPTH_MAX). After an error buf is
 * as before.
 */
int orma_proto_encode(const void *message, struct orma_buf *buf);

/* --- text format ------------------------------------------------------------------------------ */

enum {
	ORMA_PROTO_TEXT_LOSSY =
		1, /* skip unknown fields and enum values instead of refusing them */
};

/*
 * Parses the text format: all of protobuf's (lists, both quotes, hex, exponents, inf, nan, <...>,
 * commas, numeric enum values, \x \u escapes), and what Perfetto's own parser accepts besides
 * (`name value` without a colon, line breaks in strings). A field may be named by its number; its
 * value then says how it is encoded: `7: 5` is a varint, 0x with exactly 8 or 16 digits is a
 * fixed32 or fixed64, a string or { } is length-delimited. The number need not be known. Strings
 * are in the arena. Returns 0, -ENOMEM or -EBADMSG, which fills `reterr` with
 *   NAME:LINE:COLUMN: found X, expected Y
 *   <the source line>
 *       ^~~~
 * `name` is the name of the text in messages, for instance a file's.
 */
int orma_proto_text_parse(const struct orma_proto_desc *desc, const char *name, const char *text,
			  size_t size, unsigned flags, struct orma_arena *arena, void *ret_message,
			  struct orma_error *reterr);

/*
 * Fields that a message has besides those of its own table: `fields` is a second table, whose
 * fields are singular messages. A program that only passes such fields on does not link the second
 * table.
 */
struct orma_proto_extension {
	const struct orma_proto_desc *extendee, *fields;
};
struct orma_proto_text_options {
	const struct orma_proto_extension *extension; /* NULL = none */
	unsigned flags;
};
/* The same as orma_proto_text_parse(). Fields of the extension become unknown fields of the
 * extendee. */
int orma_proto_text_parse_extended(const struct orma_proto_desc *desc,
				   const struct orma_proto_text_options *options, const char *name,
				   const char *text, size_t size, struct orma_arena *arena,
				   void *ret_message, struct orma_error *reterr);

/*
 * Appends the message as text, two spaces per level, beginning with `indent` levels. Unknown fields
 * are printed by number, as above, so that parsing gives the same bytes. An unknown
 * length-delimited field is printed as a message if it is not printable text and its bytes are a
 * message in canonical form, otherwise as a string. Returns 0, -ENOMEM or -EMSGSIZE. After an error
 * buf is as before.
 */
int orma_proto_text_print(const void *message, unsigned indent, struct orma_buf *buf);
/* Does the same with encoded fields of which no table is known. Also returns -EBADMSG. */
int orma_proto_text_print_unknown(struct orma_str fields, unsigned indent, struct orma_buf *buf);

#endif
