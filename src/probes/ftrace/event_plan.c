/* SPDX-License-Identifier: Apache-2.0
 * event_plan.c - compiles the plan of an event.
 *
 *	the kernel's format              the message's descriptor         the plan
 *	char prev_comm[16]  @8           string prev_comm = 1             texts:   @8, 16 bytes -> tag 0a
 *	pid_t prev_pid      @24     +    int32 prev_pid = 2         =     numbers: @28, 32 bits, sign -> tag 10
 *	int prev_prio       @28          int32 prev_prio = 3                       @32, 32 bits, sign -> tag 18
 *	long prev_state     @32          int64 prev_state = 4                      @40, 64 bits -> tag 20
 *
 * A plan has three lists, and each is run by a loop without a decision about what kind of field comes next. Nearly all
 * fields of the kernel are in the first list: whatever its size and sign, a number is the 8 bytes that end where the
 * field ends, shifted right, and masked. (The 8 bytes may begin before the record: there are always a header and a
 * timestamp of a page before it.) The second list is char arrays. Only the third list has a switch. The order of fields
 * in a message therefore is not the order of their numbers, which protobuf allows.
 *
 * Fields are matched by name. These pairs fit:
 *	number -> integer of at least its size; a number with a sign keeps it, and becomes two's complement in an
 *		  unsigned field
 *	dev_t, ino_t, void * -> uint64. A device becomes stat()'s number, an address an index (symbol_index.h), because
 *		  the layout of the kernel's memory is a secret.
 *	array of numbers -> repeated integer; or, of 2, 4 or 8 single bytes, an integer, as upstream has network addresses
 *	strings of all kinds -> string; bytes -> bytes
 * All else does not fit, and is left out.
 *
 * Invariant: fixed_bytes and dynamic_factor bound what the plan can write, whatever the record holds; and every fixed
 * field is within record_bytes. The encoder checks nothing else.
 *
 * Rejected: one list with a kind per step, which mispredicts at every change of event; compiling to machine code, which
 * needs a port per processor and memory that is writable and executable.
 */
#include "probes/ftrace/event_plan.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "probes/ftrace/plan_tasks.h"
#include "probes/ftrace/printk_formats.h"
#include "probes/probe_text.h"
#include "proto/wire.h"

#define ELEMENTS_MAX 64 /* numbers of one fixed array; longer ones do not fit */

/* Types of FieldDescriptorProto. */
enum { TYPE_INT64 = 3, TYPE_UINT64 = 4, TYPE_STRING = 9, TYPE_BYTES = 12 };

/* The lists with room for all steps that a format can give. */
struct builder {
	struct orma_event_plan *plan;
	struct orma_plan_number *numbers;
	struct orma_plan_text *texts;
	struct orma_plan_other *others;
	struct orma_plan_task *tasks;
	uint32_t fixed_bytes;
	uint32_t dynamic_factor;
};

static uint8_t encode_tag(uint32_t field_id, enum orma_proto_wire_type type, uint32_t *ret)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX] = {0};
	uint8_t *end = orma_proto_put_varint(bytes, orma_proto_tag(field_id, type));

	memcpy(ret, bytes, sizeof(*ret));
	return (uint8_t)(end - bytes);
}

/* --- steps ---------------------------------------------------------------------------------- */

struct number_type {
	uint8_t bytes;  /* size of the message's field: 4 or 8 */
	bool is_signed; /* sign of the message's field */
};

static void add_number(struct builder *builder, uint32_t field_id, uint32_t offset, uint32_t bytes,
		       bool is_signed, struct number_type to)
{
	struct orma_plan_number *step = &builder->numbers[builder->plan->number_count++];
	/* A field that changed its sign between kernels has the same bits. */
	bool extends = is_signed || (to.is_signed && bytes == to.bytes);

	step->tag_bytes = encode_tag(field_id, ORMA_PROTO_VARINT, &step->tag);
	step->end_offset = (uint16_t)(offset + bytes);
	step->shift = (uint8_t)(64 - 8 * bytes);
	step->mask = extends && (to.is_signed || to.bytes == 8)
			     ? UINT64_MAX
			     : UINT64_MAX >> (64 - 8 * (extends ? to.bytes : bytes));
	builder->fixed_bytes += step->tag_bytes + (uint32_t)orma_proto_varint_size(step->mask);
}

static void add_text(struct builder *builder, uint32_t field_id,
		     const struct orma_ftrace_field *field)
{
	struct orma_plan_text *step = &builder->texts[builder->plan->text_count++];

	step->tag_bytes = encode_tag(field_id, ORMA_PROTO_BYTES, &step->tag);
	step->offset = field->offset;
	step->size = field->size;
	builder->fixed_bytes +=
		step->tag_bytes + (uint32_t)orma_proto_varint_size(field->size) + field->size;
}

static void add_other(struct builder *builder, uint32_t field_id,
		      const struct orma_ftrace_field *field, enum orma_plan_op op)
{
	struct orma_plan_other *step = &builder->others[builder->plan->other_count++];
	bool is_varint = op == ORMA_PLAN_DEVICE || op == ORMA_PLAN_INODE ||
			 op == ORMA_PLAN_ADDRESS || op == ORMA_PLAN_DYNAMIC_NUMBERS;

	*step = (struct orma_plan_other){
		.op = op,
		.offset = field->offset,
		.size = field->size,
		.element_bytes = field->element_bytes,
		.is_signed = field->is_signed,
		.is_relative = field->is_relative,
	};
	step->tag_bytes =
		encode_tag(field_id, is_varint ? ORMA_PROTO_VARINT : ORMA_PROTO_BYTES, &step->tag);
	builder->fixed_bytes += step->tag_bytes + ORMA_PROTO_VARINT_MAX;
	if (op == ORMA_PLAN_BYTES)
		builder->fixed_bytes += field->size;
	else if (op == ORMA_PLAN_TEXT_POINTER)
		builder->fixed_bytes += ORMA_PRINTK_FORMAT_BYTES_MAX;
	else if (op == ORMA_PLAN_DYNAMIC_NUMBERS)
		builder->dynamic_factor += step->tag_bytes + ORMA_PROTO_VARINT_MAX;
	else if (op == ORMA_PLAN_DYNAMIC_TEXT || op == ORMA_PLAN_DYNAMIC_BYTES ||
		 op == ORMA_PLAN_TEXT_TAIL)
		builder->dynamic_factor++;
}

static bool add_array(struct builder *builder, uint32_t field_id,
		      const struct orma_ftrace_field *field, struct number_type to)
{
	uint32_t count = field->size / field->element_bytes;

	if (count > ELEMENTS_MAX || field->element_bytes > to.bytes)
		return false;
	for (uint32_t i = 0; i < count; i++)
		add_number(builder, field_id, field->offset + i * field->element_bytes,
			   field->element_bytes, field->is_signed, to);
	return true;
}

/* --- fitting fields ------------------------------------------------------------------------------ */

static bool fit_string(struct builder *builder, uint32_t field_id,
		       const struct orma_ftrace_field *field)
{
	switch (field->kind) {
	case ORMA_FTRACE_TEXT:
		add_text(builder, field_id, field);
		return true;
	case ORMA_FTRACE_TEXT_TAIL:
		add_other(builder, field_id, field, ORMA_PLAN_TEXT_TAIL);
		return true;
	case ORMA_FTRACE_TEXT_POINTER:
		add_other(builder, field_id, field, ORMA_PLAN_TEXT_POINTER);
		return true;
	case ORMA_FTRACE_DYNAMIC_TEXT:
		add_other(builder, field_id, field, ORMA_PLAN_DYNAMIC_TEXT);
		return true;
	default:
		return false;
	}
}

static bool fit_bytes(struct builder *builder, uint32_t field_id,
		      const struct orma_ftrace_field *field)
{
	if (field->kind == ORMA_FTRACE_DYNAMIC_ARRAY && field->element_bytes == 1)
		add_other(builder, field_id, field, ORMA_PLAN_DYNAMIC_BYTES);
	else if (field->kind == ORMA_FTRACE_ARRAY && field->element_bytes == 1)
		add_other(builder, field_id, field, ORMA_PLAN_BYTES);
	else
		return false;
	return true;
}

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool fit_number(struct builder *builder, uint32_t field_id,
		       const struct orma_ftrace_field *field, struct number_type to,
		       bool is_repeated)
{
	bool is_u64 = to.bytes == 8 && !to.is_signed;

	switch (field->kind) {
	case ORMA_FTRACE_DEVICE:
	case ORMA_FTRACE_INODE:
	case ORMA_FTRACE_ADDRESS:
		if (!is_u64)
			return false;
		add_other(builder, field_id, field,
			  field->kind == ORMA_FTRACE_DEVICE  ? ORMA_PLAN_DEVICE
			  : field->kind == ORMA_FTRACE_INODE ? ORMA_PLAN_INODE
							     : ORMA_PLAN_ADDRESS);
		return true;
	case ORMA_FTRACE_ARRAY:
		if (is_repeated)
			return add_array(builder, field_id, field, to);
		if (field->element_bytes != 1 || !is_number_size(field->size))
			return false;
		break;
	case ORMA_FTRACE_DYNAMIC_ARRAY:
		if (!is_repeated || field->element_bytes > to.bytes)
			return false;
		add_other(builder, field_id, field, ORMA_PLAN_DYNAMIC_NUMBERS);
		return true;
	case ORMA_FTRACE_INTEGER:
	case ORMA_FTRACE_PID:
		break;
	default:
		return false;
	}
	if (field->size > to.bytes)
		return false;
	add_number(builder, field_id, field->offset, field->size, field->is_signed, to);
	return true;
}

static bool fit_field(struct builder *builder, const struct orma_proto_field_desc *to,
		      const struct orma_ftrace_field *field)
{
	bool is_repeated = to->flags & ORMA_PROTO_REPEATED_FLAG;

	switch (to->kind) {
	case ORMA_PROTO_KIND_STRING:
		return fit_string(builder, to->id, field);
	case ORMA_PROTO_KIND_BYTES:
		return fit_bytes(builder, to->id, field);
	case ORMA_PROTO_KIND_BOOL:
	case ORMA_PROTO_KIND_UINT32:
		return fit_number(builder, to->id, field, (struct number_type){4, false},
				  is_repeated);
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_ENUM:
		return fit_number(builder, to->id, field, (struct number_type){4, true},
				  is_repeated);
	case ORMA_PROTO_KIND_UINT64:
		return fit_number(builder, to->id, field, (struct number_type){8, false},
				  is_repeated);
	case ORMA_PROTO_KIND_INT64:
		return fit_number(builder, to->id, field, (struct number_type){8, true},
				  is_repeated);
	default:
		return false;
	}
}

int orma_event_plan_generic_type(const struct orma_ftrace_field *field, bool *ret_is_repeated)
{
	*ret_is_repeated = false;
	switch (field->kind) {
	case ORMA_FTRACE_INTEGER:
	case ORMA_FTRACE_PID:
		return field->is_signed ? TYPE_INT64 : TYPE_UINT64;
	case ORMA_FTRACE_DEVICE:
	case ORMA_FTRACE_INODE:
	case ORMA_FTRACE_ADDRESS:
		return TYPE_UINT64;
	case ORMA_FTRACE_TEXT:
	case ORMA_FTRACE_TEXT_TAIL:
	case ORMA_FTRACE_TEXT_POINTER:
	case ORMA_FTRACE_DYNAMIC_TEXT:
		return TYPE_STRING;
	case ORMA_FTRACE_ARRAY:
		if (field->element_bytes == 1 || field->size / field->element_bytes > ELEMENTS_MAX)
			return TYPE_BYTES;
		*ret_is_repeated = true;
		return field->is_signed ? TYPE_INT64 : TYPE_UINT64;
	case ORMA_FTRACE_DYNAMIC_ARRAY:
		if (field->element_bytes == 1)
			return TYPE_BYTES;
		*ret_is_repeated = true;
		return field->is_signed ? TYPE_INT64 : TYPE_UINT64;
	case ORMA_FTRACE_UNKNOWN:
		return field->size > 0 ? TYPE_BYTES : 0;
	}
	return 0;
}

static void fit_generic_field(struct builder *builder, uint32_t field_id,
			      const struct orma_ftrace_field *field)
{
	bool is_repeated;
	int type = orma_event_plan_generic_type(field, &is_repeated);

	if (type == TYPE_STRING)
		fit_string(builder, field_id, field);
	else if (type == TYPE_BYTES)
		add_other(builder, field_id, field,
			  field->kind == ORMA_FTRACE_DYNAMIC_ARRAY ? ORMA_PLAN_DYNAMIC_BYTES
								   : ORMA_PLAN_BYTES);
	else if (type != 0)
		fit_number(builder, field_id, field, (struct number_type){8, type == TYPE_INT64},
			   is_repeated);
}

/* --- plans ---------------------------------------------------------------------------------- */

static size_t number_room(const struct orma_ftrace_format *format)
{
	size_t room = 0;

	for (uint16_t i = format->common_count; i < format->field_count; i++) {
		const struct orma_ftrace_field *field = &format->fields[i];
		uint32_t elements = 1;

		if (field->kind == ORMA_FTRACE_ARRAY)
			elements = (uint32_t)(field->size / field->element_bytes);
		room += ORMA_MIN(elements, (uint32_t)ELEMENTS_MAX);
	}
	return room;
}

static int builder_init(struct builder *builder, const struct orma_ftrace_format *format,
			uint32_t field_id, struct orma_arena *arena)
{
	size_t count = (size_t)format->field_count + 1;
	const struct orma_ftrace_field *pid =
		orma_ftrace_format_field(format, ORMA_STR("common_pid"));

	*builder = (struct builder){
		.plan = orma_base_arena_alloc(arena, sizeof(struct orma_event_plan)),
		.numbers = orma_base_arena_alloc(arena, (number_room(format) + 1) *
								sizeof(*builder->numbers)),
		.texts = orma_base_arena_alloc(arena, count * sizeof(*builder->texts)),
		.others = orma_base_arena_alloc(arena, count * sizeof(*builder->others)),
		.tasks = orma_base_arena_alloc(arena, count * sizeof(*builder->tasks)),
	};
	if (!builder->plan || !builder->numbers || !builder->texts || !builder->others ||
	    !builder->tasks)
		return -ENOMEM;
	*builder->plan = (struct orma_event_plan){
		.record_bytes = format->record_bytes,
		.pid_offset = pid && pid->size == 4 ? pid->offset : 0,
		.numbers = builder->numbers,
		.texts = builder->texts,
		.others = builder->others,
		.tasks = builder->tasks,
	};
	builder->plan->tag_bytes = encode_tag(field_id, ORMA_PROTO_BYTES, &builder->plan->tag);
	return 0;
}

/* Devices first, because an inode is reported with the device of its event. */
static void sort_others(struct builder *builder)
{
	uint16_t first = 0;

	for (uint16_t i = 0; i < builder->plan->other_count; i++) {
		if (builder->others[i].op != ORMA_PLAN_DEVICE)
			continue;
		struct orma_plan_other device = builder->others[i];
		builder->others[i] = builder->others[first];
		builder->others[first++] = device;
	}
}

/* Returns false when the bounds are too large for their types. */
static bool builder_finish(struct builder *builder, const struct orma_ftrace_format *format)
{
	struct orma_event_plan *plan = builder->plan;

	if (builder->fixed_bytes > UINT16_MAX || builder->dynamic_factor > UINT16_MAX)
		return false;
	plan->task_count = orma_plan_tasks_find(format, plan->pid_offset, builder->tasks);
	sort_others(builder);
	plan->fixed_bytes = (uint16_t)builder->fixed_bytes;
	plan->dynamic_factor = (uint16_t)builder->dynamic_factor;
	plan->inner_length_bytes = (uint8_t)orma_proto_varint_size(plan->fixed_bytes);
	plan->outer_length_bytes = (uint8_t)orma_proto_varint_size(
		(uint64_t)plan->fixed_bytes + plan->tag_bytes + plan->inner_length_bytes +
		ORMA_EVENT_TIME_AND_PID_BYTES);
	return true;
}

/* The function graph tracer declares its addresses as numbers. */
static void mark_addresses(const struct orma_ftrace_format *format)
{
	for (uint16_t i = format->common_count; i < format->field_count; i++) {
		struct orma_ftrace_field *field = &format->fields[i];
		if (field->kind == ORMA_FTRACE_INTEGER && field->size >= 4 &&
		    orma_base_str_is(field->name, "func"))
			field->kind = ORMA_FTRACE_ADDRESS;
	}
}

/* Which code of the kernel wrote the text says nothing, but its address tells where the kernel is in memory. */
static bool is_left_out(const struct orma_ftrace_format *format,
			const struct orma_ftrace_field *field)
{
	return orma_base_str_is(format->name, "print") && orma_base_str_is(field->name, "ip");
}

int orma_event_plan_typed(const struct orma_ftrace_format *format,
			  const struct orma_proto_desc *message, uint32_t field_id,
			  struct orma_arena *arena, struct orma_event_plan **ret)
{
	struct builder builder;
	uint32_t fitting = 0;
	int r = builder_init(&builder, format, field_id, arena);

	if (r < 0)
		return r;
	if (orma_probes_text_has_prefix(format->name, "funcgraph_"))
		mark_addresses(format);
	/* The format's order; a name that occurs twice is taken once. */
	for (uint16_t i = format->common_count; i < format->field_count; i++) {
		const struct orma_ftrace_field *field = &format->fields[i];
		const struct orma_proto_field_desc *to =
			orma_proto_desc_find_name(message, field->name);
		if (to && orma_ftrace_format_field(format, field->name) == field &&
		    !is_left_out(format, field))
			fitting += fit_field(&builder, to, field);
	}
	bool has_fields = message->field_count > 0 && format->field_count > format->common_count;
	if ((has_fields && fitting == 0) || !builder_finish(&builder, format))
		return -EBADMSG;
	*ret = builder.plan;
	return 0;
}

int orma_event_plan_generic(const struct orma_ftrace_format *format, uint32_t field_id,
			    struct orma_arena *arena, struct orma_event_plan **ret)
{
	struct builder builder;
	uint32_t id = 1;
	int r = builder_init(&builder, format, field_id, arena);

	if (r < 0)
		return r;
	for (uint16_t i = format->common_count;
	     i < format->field_count && id <= ORMA_EVENT_GENERIC_FIELDS_MAX; i++, id++)
		fit_generic_field(&builder, id, &format->fields[i]);
	if (!builder_finish(&builder, format))
		return -EBADMSG;
	*ret = builder.plan;
	return 0;
}

int orma_event_plan_constant(const struct orma_ftrace_format *format, uint32_t field_id,
			     const uint8_t *constant, uint16_t constant_bytes,
			     struct orma_arena *arena, struct orma_event_plan **ret)
{
	struct builder builder;
	int r = builder_init(&builder, format, field_id, arena);

	if (r < 0)
		return r;
	builder.plan->constant = constant;
	builder.plan->constant_bytes = constant_bytes;
	builder.fixed_bytes = constant_bytes;
	if (!builder_finish(&builder, format))
		return -EBADMSG;
	*ret = builder.plan;
	return 0;
}

int orma_event_plan_one_field(const struct orma_ftrace_format *format,
			      const struct orma_ftrace_field *field, uint32_t field_id,
			      struct orma_arena *arena, struct orma_event_plan **ret)
{
	struct builder builder;
	int r = builder_init(&builder, format, field_id, arena);

	if (r < 0)
		return r;
	fit_generic_field(&builder, field_id, field);
	if (!builder_finish(&builder, format))
		return -EBADMSG;
	*ret = builder.plan;
	return 0;
}
