/* SPDX-License-Identifier: Apache-2.0
 * event_encode.c - runs an event's plan for one record: the hottest code of linux.ftrace.
 *
 *	12 LL                        FtraceEventBundle.event
 *	   08 tttttttt               timestamp
 *	   10 pp                     pid
 *	   22 LL                     sched_switch
 *	      10 ..  18 ..  20 ..    numbers
 *	      0a LL "bash"           texts
 *
 * Owns nothing. Lengths are not known before the content. A nested message therefore reserves the bytes that its largest
 * possible length takes, which nearly always is one; a length with a byte more than it needs is valid protobuf.
 *
 * Why nothing is read or written out of bounds: the record has at least plan->record_bytes bytes, so each fixed field is
 * inside of it, or (the first of 8 bytes of a number) inside of the page before it. A dynamic field says itself where it
 * is; orma checks that against the record. The caller reserves what the plan's bounds say, and the bounds include stores
 * of 8 bytes that go past what counts.
 */
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "probes/ftrace/event_plan.h"
#include "probes/ftrace/met.h"
#include "probes/ftrace/put.h"

#define TAG_EVENT     0x12 /* FtraceEventBundle.event */
#define TAG_TIMESTAMP 0x08
#define TAG_PID       0x10

static uint64_t load_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t load_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
static uint64_t load_number(const uint8_t *at, unsigned bytes, bool is_signed)
{
	uint64_t value = load_u64(at + bytes - 8);
	unsigned shift = 64 - 8 * bytes;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	value <<= shift;
#endif
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static uint8_t *put_numbers(const struct orma_event_plan *plan, const uint8_t *data, uint8_t *at)
{
	const struct orma_plan_number *end = plan->numbers + plan->number_count;

	for (const struct orma_plan_number *step = plan->numbers; step < end; step++) {
		uint64_t value = load_u64(data + step->end_offset - 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
		value <<= step->shift;
#endif
		value = (uint64_t)((int64_t)value >> step->shift) & step->mask;
		at = orma_put_tag(at, step->tag, step->tag_bytes);
		at = orma_put_varint(at, value);
	}
	return at;
}

static uint8_t *put_text(uint8_t *at, uint32_t tag, unsigned tag_bytes, const uint8_t *text,
			 size_t size)
{
	at = orma_put_varint(orma_put_tag(at, tag, tag_bytes), size);
	memcpy(at, text, size);
	return at + size;
}

static uint8_t *put_texts(const struct orma_event_plan *plan, const uint8_t *data, uint8_t *at)
{
	const struct orma_plan_text *end = plan->texts + plan->text_count;

	for (const struct orma_plan_text *step = plan->texts; step < end; step++) {
		const uint8_t *text = data + step->offset;
		size_t size = strnlen((const char *)text, step->size);
		if (ORMA_LIKELY(step->size == 16)) { /* the name of a task */
			at = orma_put_tag(at, step->tag, step->tag_bytes);
			*at++ = (uint8_t)size;
			memcpy(at, text, 16);
			at += size;
		} else {
			at = put_text(at, step->tag, step->tag_bytes, text, size);
		}
	}
	return at;
}

/* --- fields that need more than their bytes ------------------------------------------------- */

/* Where the data of a dynamic field are. Returns an empty range for one that reaches out of the record. */
static struct orma_str dynamic_data(const struct orma_plan_other *step,
				    const struct orma_ftrace_record *record)
{
	uint32_t location = load_u32(record->data + step->offset);
	uint32_t begin = location & 0xffff, size = location >> 16;

	if (step->is_relative)
		begin += (uint32_t)step->offset + 4;
	if (begin > record->size || size > record->size - begin)
		return (struct orma_str){(const char *)record->data, 0};
	return (struct orma_str){(const char *)record->data + begin, size};
}

static uint8_t *put_dynamic_numbers(const struct orma_plan_other *step, struct orma_str data,
				    uint8_t *at)
{
	const uint8_t *from = (const uint8_t *)data.data;

	for (size_t i = 0; i + step->element_bytes <= data.size; i += step->element_bytes) {
		at = orma_put_tag(at, step->tag, step->tag_bytes);
		at = orma_put_varint(at,
				     load_number(from + i, step->element_bytes, step->is_signed));
	}
	return at;
}

/* The number that stat() has for a device of the kernel's. */
static uint64_t user_device(uint64_t device)
{
	uint64_t major = device >> 20, minor = device & 0xfffff;

	return (major & 0xfffff000) << 32 | (major & 0xfff) << 8 | (minor & 0xffffff00) << 12 |
	       (minor & 0xff);
}

static uint8_t *put_string(const struct orma_plan_other *step, struct orma_str text, uint8_t *at)
{
	return put_text(at, step->tag, step->tag_bytes, (const uint8_t *)text.data, text.size);
}

static struct orma_str until_nul(struct orma_str text)
{
	return (struct orma_str){text.data, strnlen(text.data, text.size)};
}

static struct orma_str pointed_text(const struct orma_met *met, uint64_t address)
{
	return met->printk_formats ? orma_printk_formats_find(met->printk_formats, address)
				   : ORMA_STR("");
}

struct other_state {
	const struct orma_ftrace_record *record;
	struct orma_met *met;
	int32_t pid;
	uint64_t device; /* the last one that the event named */
};

static uint8_t *put_varint_other(const struct orma_plan_other *step, struct other_state *state,
				 uint8_t *at)
{
	uint64_t value = load_number(state->record->data + step->offset, step->size, false);

	if (step->op == ORMA_PLAN_DEVICE) {
		value = user_device(value);
		state->device = value;
	} else if (step->op == ORMA_PLAN_INODE) {
		orma_met_inode(state->met, state->pid, state->device, value);
	} else {
		value = orma_symbol_index_of(&state->met->symbols, value);
	}
	return orma_put_varint(orma_put_tag(at, step->tag, step->tag_bytes), value);
}

static uint8_t *put_other(const struct orma_plan_other *step, struct other_state *state,
			  uint8_t *at)
{
	const struct orma_ftrace_record *record = state->record;
	const char *field = (const char *)record->data + step->offset;

	switch (step->op) {
	case ORMA_PLAN_DYNAMIC_TEXT:
		return put_string(step, until_nul(dynamic_data(step, record)), at);
	case ORMA_PLAN_DYNAMIC_BYTES:
		return put_string(step, dynamic_data(step, record), at);
	case ORMA_PLAN_DYNAMIC_NUMBERS:
		return put_dynamic_numbers(step, dynamic_data(step, record), at);
	case ORMA_PLAN_TEXT_TAIL:
		return put_string(
			step, until_nul((struct orma_str){field, record->size - step->offset}), at);
	case ORMA_PLAN_TEXT_POINTER:
		return put_string(step,
				  pointed_text(state->met, load_number(record->data + step->offset,
								       step->size, false)),
				  at);
	case ORMA_PLAN_BYTES:
		return put_string(step, (struct orma_str){field, step->size}, at);
	case ORMA_PLAN_DEVICE:
	case ORMA_PLAN_INODE:
	case ORMA_PLAN_ADDRESS:
		return put_varint_other(step, state, at);
	}
	return at;
}

static uint8_t *put_others(const struct orma_event_plan *plan,
			   const struct orma_ftrace_record *record, int32_t pid,
			   struct orma_met *met, uint8_t *at)
{
	struct other_state state = {.record = record, .met = met, .pid = pid};

	for (uint16_t i = 0; i < plan->other_count; i++)
		at = put_other(&plan->others[i], &state, at);
	return at;
}

/* --- tasks ---------------------------------------------------------------------------------- */

static inline int32_t record_pid(const struct orma_event_plan *plan,
				 const struct orma_ftrace_record *record)
{
	return plan->pid_offset > 0 ? (int32_t)load_u32(record->data + plan->pid_offset) : 0;
}

static void meet_tasks(const struct orma_event_plan *plan, const struct orma_ftrace_record *record,
		       struct orma_met *met)
{
	const uint8_t *data = record->data;
	const struct orma_plan_task *end = plan->tasks + plan->task_count;

	for (const struct orma_plan_task *task = plan->tasks; task < end; task++) {
		if (task->kind == ORMA_MET_SYSCALL) {
			orma_met_syscall(
				met, record_pid(plan, record),
				load_number(data + task->number_offset, task->long_bytes, false),
				(int64_t)load_number(data + task->result_offset, task->long_bytes,
						     true));
			continue;
		}
		int32_t tid = (int32_t)load_u32(data + task->tid_offset);
		const uint8_t *comm = task->comm_offset ? data + task->comm_offset : NULL;
		if (ORMA_LIKELY(task->kind == ORMA_MET_SEEN))
			orma_met_task(met, tid, comm);
		else if (task->kind == ORMA_MET_RENAMED)
			orma_met_rename(met, tid, comm);
		else
			orma_met_new_task(met, record_pid(plan, record), tid,
					  load_u64(data + task->clone_flags_offset), comm);
	}
}

/* --- the event ------------------------------------------------------------------------------ */

static inline uint8_t *put_head(const struct orma_event_plan *plan,
				const struct orma_ftrace_record *record, struct orma_met *met,
				uint8_t *at)
{
	*at++ = TAG_TIMESTAMP;
	at = orma_put_varint(at, record->timestamp_ns);
	if (ORMA_UNLIKELY(plan->pid_offset == 0))
		return at;
	int32_t pid = record_pid(plan, record);
	orma_met_task(met, pid, NULL);
	*at++ = TAG_PID;
	return orma_put_varint(at, (uint32_t)pid);
}

static inline uint8_t *put_fields(const struct orma_event_plan *plan,
				  const struct orma_ftrace_record *record, struct orma_met *met,
				  uint8_t *at)
{
	at = put_numbers(plan, record->data, at);
	at = put_texts(plan, record->data, at);
	if (plan->other_count > 0)
		at = put_others(plan, record, record_pid(plan, record), met, at);
	if (plan->constant_bytes > 0) {
		memcpy(at, plan->constant, plan->constant_bytes);
		at += plan->constant_bytes;
	}
	meet_tasks(plan, record, met);
	return at;
}

uint8_t *orma_event_plan_put_head(const struct orma_event_plan *plan,
				  const struct orma_ftrace_record *record, struct orma_met *met,
				  uint8_t *at)
{
	return put_head(plan, record, met, at);
}

uint8_t *orma_event_plan_put_fields(const struct orma_event_plan *plan,
				    const struct orma_ftrace_record *record, struct orma_met *met,
				    uint8_t *at)
{
	return put_fields(plan, record, met, at);
}

uint8_t *orma_event_plan_encode(const struct orma_event_plan *plan,
				const struct orma_ftrace_record *record, struct orma_met *met,
				uint8_t *at)
{
	unsigned inner_bytes = plan->inner_length_bytes, outer_bytes = plan->outer_length_bytes;

	if (ORMA_UNLIKELY(record->size < plan->record_bytes))
		return NULL;
	if (plan->dynamic_factor > 0) {
		size_t bytes = orma_event_plan_bytes(plan, record->size);
		inner_bytes = (unsigned)orma_proto_varint_size(bytes);
		outer_bytes = (unsigned)orma_proto_varint_size(
			bytes + plan->tag_bytes + inner_bytes + ORMA_EVENT_TIME_AND_PID_BYTES);
	}
	*at++ = TAG_EVENT;
	uint8_t *outer = at + outer_bytes;
	at = put_head(plan, record, met, outer);
	at = orma_put_tag(at, plan->tag, plan->tag_bytes);
	uint8_t *inner = at + inner_bytes;
	at = put_fields(plan, record, met, inner);
	ORMA_ASSERT((size_t)(at - inner) <= orma_event_plan_bytes(plan, record->size));
	orma_put_length(inner - inner_bytes, (uint32_t)(at - inner), inner_bytes);
	orma_put_length(outer - outer_bytes, (uint32_t)(at - outer), outer_bytes);
	return at;
}
