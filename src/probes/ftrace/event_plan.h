/* SPDX-License-Identifier: Apache-2.0
 * event_plan.h - how the records of one event become an FtraceEvent: compiled once from the kernel's format and the
 * message's descriptor, then run for every record.
 */
#ifndef ORMA_PROBES_EVENT_PLAN_H
#define ORMA_PROBES_EVENT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "probes/ftrace/ftrace_format.h"
#include "probes/ftrace/met.h"
#include "probes/ftrace/page_parse.h"
#include "proto/codec.h"

/* A number of at most 8 bytes that becomes a varint. */
struct orma_plan_number {
	uint64_t mask;       /* bits of the value that the message's field has */
	uint32_t tag;        /* the bytes of the tag, in the order of memory */
	uint16_t end_offset; /* in the record; the field's last byte is before it */
	uint8_t shift;       /* 64 minus the field's bits */
	uint8_t tag_bytes;
};

/* A char array of fixed size that becomes a string. */
struct orma_plan_text {
	uint32_t tag;
	uint16_t offset, size;
	uint8_t tag_bytes;
};

enum orma_plan_op {
	ORMA_PLAN_DYNAMIC_TEXT,    /* string of __data_loc or __rel_loc */
	ORMA_PLAN_DYNAMIC_BYTES,   /* bytes of the same */
	ORMA_PLAN_DYNAMIC_NUMBERS, /* a varint for each element of the same */
	ORMA_PLAN_TEXT_TAIL,
	ORMA_PLAN_TEXT_POINTER,
	ORMA_PLAN_BYTES, /* the field has a fixed size */
	ORMA_PLAN_DEVICE,
	ORMA_PLAN_INODE,
	ORMA_PLAN_ADDRESS,
};

/* A field that needs more than its bytes. */
struct orma_plan_other {
	enum orma_plan_op op;
	uint32_t tag;
	uint16_t offset, size;
	uint8_t tag_bytes;
	uint8_t element_bytes;
	bool is_signed, is_relative;
};

/* A field that names a task, or a descriptor of the task that has the event. */
struct orma_plan_task {
	enum orma_met_kind kind;
	uint16_t tid_offset;         /* not of system calls */
	uint16_t comm_offset;        /* 0 = the record does not have the task's name */
	uint16_t clone_flags_offset; /* 8 bytes; of new tasks */
	/* System calls. */
	uint16_t number_offset, result_offset;
	uint8_t long_bytes; /* size of both */
};

struct orma_event_plan {
	uint16_t record_bytes; /* shorter records are not understood */
	uint16_t number_count, text_count, other_count, task_count;
	uint16_t pid_offset; /* where common_pid is; 0 = the format has none */
	uint16_t
		fixed_bytes; /* the most that the fields of known size take in the event's own message */
	/* The most that the other fields take for each byte of the record. */
	uint16_t dynamic_factor;
	/* Bytes of the lengths of the event's own message and of FtraceEvent, when dynamic_factor is 0. */
	uint8_t inner_length_bytes, outer_length_bytes;
	uint8_t tag_bytes;
	uint32_t tag; /* begins the event's own message in FtraceEvent */
	const struct orma_plan_number *numbers;
	const struct orma_plan_text *texts;
	const struct orma_plan_other *others;
	const struct orma_plan_task *tasks;
	/* Encoded fields that are the same in all events, written last; may be NULL. */
	const uint8_t *constant;
	uint16_t constant_bytes;
};

/*
 * A plan for a message of its own. `field_id` is that of `message` in FtraceEvent. -EBADMSG when no field of the message
 * fits a field of the format although both have some. Fields of the kernel that the message does not have, or whose
 * types do not fit, are left out. Plans are in the arena. 0, -EBADMSG, -ENOMEM.
 */
int orma_event_plan_typed(const struct orma_ftrace_format *format,
			  const struct orma_proto_desc *message, uint32_t field_id,
			  struct orma_arena *arena, struct orma_event_plan **ret);
/* A plan for a generic event, whose fields are numbered from 1 in the format's order. 0 or -ENOMEM. */
int orma_event_plan_generic(const struct orma_ftrace_format *format, uint32_t field_id,
			    struct orma_arena *arena, struct orma_event_plan **ret);
/* A plan for an event whose only fields are `constant`, which must outlive it. 0, -EBADMSG or -ENOMEM. */
int orma_event_plan_constant(const struct orma_ftrace_format *format, uint32_t field_id,
			     const uint8_t *constant, uint16_t constant_bytes,
			     struct orma_arena *arena, struct orma_event_plan **ret);
/* A plan for one of a format's fields alone, which gets the number `field_id`; for orma_event_plan_put_fields(). */
int orma_event_plan_one_field(const struct orma_ftrace_format *format,
			      const struct orma_ftrace_field *field, uint32_t field_id,
			      struct orma_arena *arena, struct orma_event_plan **ret);
/* The type of a generic event's field (enum FieldDescriptorProto.Type), and whether it is repeated; 0 = it is left out. */
int orma_event_plan_generic_type(const struct orma_ftrace_field *field, bool *ret_is_repeated);
/* Generic events have at most this many fields, because Trace Processor refuses descriptors with more. */
#define ORMA_EVENT_GENERIC_FIELDS_MAX 31

/* The most bytes that orma_event_plan_encode() writes for a record of this size. */
static inline size_t orma_event_plan_bytes(const struct orma_event_plan *plan, size_t record_bytes)
{
	return plan->fixed_bytes + plan->dynamic_factor * record_bytes;
}
/* Two tags of one byte, a time below 2^63 and a pid. */
#define ORMA_EVENT_TIME_AND_PID_BYTES 21
/* The most bytes of the tags, lengths, time and pid around them, and of stores past the end. */
#define ORMA_EVENT_HEAD_BYTES 64

/*
 * Encodes a record, with FtraceEventBundle's tag of an event, at `at`, which has room for ORMA_EVENT_HEAD_BYTES and
 * orma_event_plan_bytes(). Returns the end, or NULL for a record that is too short. `met` collects what the event names.
 */
uint8_t *orma_event_plan_encode(const struct orma_event_plan *plan,
				const struct orma_ftrace_record *record, struct orma_met *met,
				uint8_t *at);
/* The two parts of that, for messages of another form: the time and the pid of FtraceEvent; and the fields of the event's
 * own message. Neither looks at the record's size. */
uint8_t *orma_event_plan_put_head(const struct orma_event_plan *plan,
				  const struct orma_ftrace_record *record, struct orma_met *met,
				  uint8_t *at);
uint8_t *orma_event_plan_put_fields(const struct orma_event_plan *plan,
				    const struct orma_ftrace_record *record, struct orma_met *met,
				    uint8_t *at);

#endif
