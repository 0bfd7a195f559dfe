/* SPDX-License-Identifier: Apache-2.0
 * ctf_metadata.h - the types, streams and events of a trace in the Common Trace Format 1.8, as its metadata declares
 * them in the language TSDL.
 */
#ifndef ORMA_FORMATS_CTF_METADATA_H
#define ORMA_FORMATS_CTF_METADATA_H

#include <orma/error.h>

#include "base/arena.h"
#include "base/buf.h"

/* Limits of what metadata may ask for. */
enum {
	ORMA_CTF_DEPTH_MAX = 32,             /* blocks inside of blocks */
	ORMA_CTF_METADATA_MAX = 64 << 20,    /* bytes of text */
	ORMA_CTF_METADATA_ARENA = 512 << 20, /* bytes of memory for what the text declares */
	ORMA_CTF_SYMBOLS_MAX = 1 << 16,      /* names of types that are visible at one place */
	ORMA_CTF_FIELDS_MAX = 1 << 14, /* fields of one structure, labels of one enumeration */
	ORMA_CTF_EVENTS_MAX = 1 << 16,
	ORMA_CTF_STREAMS_MAX = 1 << 12,
	ORMA_CTF_CLOCKS_MAX = 64,
	ORMA_CTF_NAME_MAX = 1024, /* bytes of a name */
	ORMA_CTF_DIMENSIONS_MAX = 8,
};

enum orma_ctf_kind {
	ORMA_CTF_INTEGER,
	ORMA_CTF_FLOAT,
	ORMA_CTF_ENUM, /* has all that an integer has */
	ORMA_CTF_STRING,
	ORMA_CTF_STRUCT,
	ORMA_CTF_VARIANT,
	ORMA_CTF_ARRAY,
	ORMA_CTF_SEQUENCE,
};

enum orma_ctf_byte_order { ORMA_CTF_NATIVE, ORMA_CTF_LITTLE_ENDIAN, ORMA_CTF_BIG_ENDIAN };

/* The values of a label; those of a signed type are ordered as signed. */
struct orma_ctf_label {
	struct orma_str name;
	uint64_t first, last;
};

struct orma_ctf_field {
	struct orma_str name;
	const struct orma_ctf_type *type;
};

struct orma_ctf_type {
	enum orma_ctf_kind kind;
	enum orma_ctf_byte_order byte_order;
	uint8_t bits; /* 1 to 64 */
	uint8_t base; /* 2, 8, 10 or 16 */
	bool is_signed;
	bool is_text;            /* a character */
	bool has_ordered_labels; /* ascending, and no two overlap */
	uint32_t align;          /* in bits, a power of two; of a structure: at least */
	struct orma_str clock;   /* the clock that an integer is a reading of; empty = none */
	struct orma_ctf_label *labels;
	struct orma_ctf_field *fields; /* for structures and variants */
	uint32_t label_count, field_count;
	uint32_t length; /* for arrays */
	struct orma_str
		reference; /* the field with the length of a sequence, or the tag of a variant */
	const struct orma_ctf_type *element;
};

struct orma_ctf_clock {
	struct orma_str name, uuid;
	uint64_t frequency;
	int64_t offset_s, offset; /* seconds, and cycles besides */
};

struct orma_ctf_env {
	struct orma_ctf_env *next;
	struct orma_str name, text; /* `text` of numbers, too */
};

struct orma_ctf_stream_class {
	uint64_t id;
	const struct orma_ctf_type *packet_context, *event_header, *event_context;
};

struct orma_ctf_event_class {
	uint64_t id, stream_id;
	struct orma_str name;
	const struct orma_ctf_type *context, *fields;
};

#define ORMA_CTF_LIST(type)                                                                        \
	struct {                                                                                   \
		type *items;                                                                       \
		uint32_t count, capacity;                                                          \
	}

/* {0} is empty. All memory is the arena's. */
struct orma_ctf_metadata {
	struct orma_arena arena;
	enum orma_ctf_byte_order byte_order;
	struct orma_str uuid; /* as it is written */
	const struct orma_ctf_type *packet_header;
	struct orma_ctf_env *env;
	ORMA_CTF_LIST(struct orma_ctf_clock) clocks;
	ORMA_CTF_LIST(struct orma_ctf_stream_class) streams;
	ORMA_CTF_LIST(struct orma_ctf_event_class) events;
};

/* One item more in a list of an arena: {items, count, capacity}. Returns its address, zeroed, or NULL. */
void *orma_ctf_list_add(struct orma_arena *arena, void *items_pointer, uint32_t *count,
			uint32_t *capacity, size_t item_size);

static inline bool orma_ctf_is_less(const struct orma_ctf_type *type, uint64_t a, uint64_t b)
{
	return type->is_signed ? (int64_t)a < (int64_t)b : a < b;
}
static inline bool orma_ctf_is_in(const struct orma_ctf_type *type, uint64_t value, uint64_t first,
				  uint64_t last)
{
	return !orma_ctf_is_less(type, value, first) && !orma_ctf_is_less(type, last, value);
}

void orma_ctf_metadata_done(struct orma_ctf_metadata *metadata);
/* Parses text, which must live as long as the metadata; `name` is its file's, for errors. 0, -ENOMEM, or -EBADMSG with the place in reterr. */
int orma_ctf_metadata_parse(struct orma_ctf_metadata *metadata, const char *name,
			    struct orma_str text, struct orma_error *reterr);
/* An integer as it is written in metadata. */
bool orma_ctf_to_number(struct orma_str text, uint64_t *ret);
/* The value of a name in the trace's environment, or an empty string. */
struct orma_str orma_ctf_metadata_env(const struct orma_ctf_metadata *metadata, const char *name);

/* Whether a file that begins like this is the metadata of a trace. */
bool orma_ctf_metadata_is(struct orma_str begin);
/* Appends the text of a metadata file, which may be split into packets of either byte order, to `ret`. 0, -ENOMEM, or
 * -EBADMSG. A last packet that is cut is read as far as it goes. */
int orma_ctf_metadata_unpack(struct orma_str file, struct orma_buf *ret, struct orma_error *reterr);

#endif
