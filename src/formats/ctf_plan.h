/* SPDX-License-Identifier: Apache-2.0
 * ctf_plan.h - how fields are read from the packets of a trace: the types as a flat list of steps.
 *
 * A plan is made once for each class of events, and read for each event. Loops over arrays and the choices of variants are
 * jumps between steps. Lengths and tags are kept in numbered slots when they are read, so that nothing is looked up by name.
 */
#ifndef ORMA_FORMATS_CTF_PLAN_H
#define ORMA_FORMATS_CTF_PLAN_H

#include "base/map.h"
#include "formats/ctf_metadata.h"

enum {
	ORMA_CTF_STEPS_MAX = 1 << 14,     /* in one plan */
	ORMA_CTF_ALL_STEPS_MAX = 1 << 22, /* in all plans of a trace */
	ORMA_CTF_LOOKUPS_MAX = 1 << 28,   /* steps that are looked at to find lengths and tags */
	ORMA_CTF_NESTING_MAX = 64,        /* structures, variants and arrays inside of each other */
	ORMA_CTF_SLOTS_MAX = 512,         /* lengths and tags that events share, and of one event */
	ORMA_CTF_CHOICES_MAX = 1024,      /* labels that choose in one variant */
	ORMA_CTF_OVERLAPPING_MAX = 256,   /* labels that are tried when they overlap */
	ORMA_CTF_VALUES_MAX = 1 << 16,    /* values of one event */
	ORMA_CTF_NO_SLOT = UINT16_MAX,
};

enum orma_ctf_scope {
	ORMA_CTF_PACKET_HEADER,
	ORMA_CTF_PACKET_CONTEXT,
	ORMA_CTF_EVENT_HEADER,
	ORMA_CTF_STREAM_CONTEXT, /* each event of the stream has it */
	ORMA_CTF_EVENT_CONTEXT,
	ORMA_CTF_EVENT_FIELDS,
	ORMA_CTF_SCOPES,
};

enum orma_ctf_op {
	ORMA_CTF_READ_BYTES, /* an integer of whole bytes, which begins at a byte */
	ORMA_CTF_READ_BITS,
	ORMA_CTF_READ_FLOAT,
	ORMA_CTF_READ_STRING,
	ORMA_CTF_READ_TEXT,    /* an array of characters */
	ORMA_CTF_BEGIN_STRUCT, /* from here on these are values, too */
	ORMA_CTF_BEGIN_VARIANT,
	ORMA_CTF_BEGIN_ARRAY,
	ORMA_CTF_END,
	ORMA_CTF_END_ARRAY,
	ORMA_CTF_JUMP,
};

/* The values of a tag for which an alternative is read. */
struct orma_ctf_choice {
	uint64_t first, last;
	uint32_t target;
};

/* An integer may be used for more than its value. */
enum { ORMA_CTF_IS_ID = 1, ORMA_CTF_IS_TIME = 2, ORMA_CTF_IS_LENGTH = 4 };

struct orma_ctf_step {
	uint8_t op; /* enum orma_ctf_op */
	uint8_t bits;
	uint8_t roles;
	bool is_big_endian, is_signed,
		has_length; /* has_length: `length`, instead of slot `from` */
	uint16_t slot, from;
	uint32_t align_mask; /* the alignment in bits, less one */
	uint32_t name;       /* in the trace's names; 0 = none, as elements of arrays */
	uint32_t length;
	uint32_t jump; /* the step behind; of the end of an array: its first one */
	uint32_t choice_count;
	const struct orma_ctf_choice *choices;
	const struct orma_ctf_type *type;
	struct orma_str raw_name; /* as the metadata has it */
};

struct orma_ctf_plan {
	struct orma_ctf_step *steps;
	uint32_t count, capacity;
};

/* Where a scope's steps are; its structure is the first. */
struct orma_ctf_scope_steps {
	struct orma_ctf_plan *plan;
	uint32_t first;
};

/* Names of fields and events, without the underscore that tracers put before them. Numbers begin at 1. */
struct orma_ctf_names {
	struct orma_arena *arena;
	struct orma_map by_hash;
	ORMA_CTF_LIST(struct orma_str) list;
};
/* Returns 0 when out of memory. */
uint32_t orma_ctf_name_add(struct orma_ctf_names *names, struct orma_str name);

struct orma_ctf_planner {
	const struct orma_ctf_metadata *metadata;
	struct orma_arena *arena;
	struct orma_ctf_names *names;
	struct orma_ctf_scope_steps scopes[ORMA_CTF_SCOPES];
	uint32_t shared_slots, own_slots, step_count;
	uint64_t lookups;
	struct orma_error *reterr;
};

/* Adds the steps for a scope; `type` may be NULL. Also lengths in scopes before it are found. 0, -ENOMEM, or -EBADMSG with
 * reterr. */
int orma_ctf_plan_add(struct orma_ctf_planner *planner, struct orma_ctf_plan *plan,
		      enum orma_ctf_scope scope, const struct orma_ctf_type *type);
/* Finds the field that a length or tag refers to; `open` are the steps of the structures around it. NULL: there is none. */
struct orma_ctf_step *orma_ctf_plan_find(struct orma_ctf_planner *planner,
					 const struct orma_ctf_plan *plan, const uint32_t *open,
					 uint32_t open_count, enum orma_ctf_scope scope,
					 struct orma_str path);

/* The label of a value of an enumeration, or an empty string. */
struct orma_str orma_ctf_label_of(const struct orma_ctf_type *type, uint64_t value);
#endif
