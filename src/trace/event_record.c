/* SPDX-License-Identifier: Apache-2.0
 * event_record.c - a record says what the fields of a TrackEvent and its LegacyEvent would say.
 *
 * Invariant: an event that was converted to a record gets the same rows as one that was converted to fields, which are for other
 * readers of packets. Nothing of a record is trusted, because a file may have the field as well. Rejected: records in a file of their
 * own, without packets around them. They would need a merge, an index, and a way to arguments of their own, and events that have
 * more than numbers are packets anyway.
 */
#include "trace/event_record.h"

#include <errno.h>
#include <string.h>

#include "trace/conversion_fields.h"

static size_t size_of_numbers(uint32_t flags)
{
	size_t count = 0;
	for (unsigned i = 0; i < ORMA_RECORD_NUMBERS; i++)
		count += flags >> i & 1;
	return count * sizeof(uint64_t);
}

/* Reads the number of a flag, if the record has it, and goes on behind it. */
static inline uint64_t take_number(const char **at, uint32_t flags, uint32_t flag)
{
	uint64_t number = 0;
	if (flags & flag) {
		memcpy(&number, *at, sizeof(number));
		*at += sizeof(number);
	}
	return number;
}

static void make_event(const struct orma_event_record *head, struct orma_track_event *ret)
{
	ret->bytes = ret->name = ret->legacy = (struct orma_str){NULL, 0};
	ret->name_iid = head->name_iid;
	ret->category_iid = head->category_iid;
	ret->track_uuid = 0;
	ret->type = 0;
	ret->categories = head->category_iid != 0;
	ret->flags = head->flags & ORMA_RECORD_HAS_ARGS ? ORMA_EVENT_HAS_ARGS : 0;
}

/* All but the numbers. Member by member, because a compiler clears a structure of this size slowly. */
static void make_legacy(const struct orma_event_record *head, struct orma_legacy_event *ret)
{
	uint32_t flags = head->flags;
	ret->name_iid = 0;
	ret->id_scope = ret->text = (struct orma_str){NULL, 0};
	ret->number = ret->io_wait = ret->thread_instruction_delta = 0;
	ret->phase = head->phase;
	ret->pid_override = (int32_t)head->pid;
	ret->tid_override = (int32_t)head->tid;
	ret->flow_direction =
		(flags & ORMA_RECORD_FLOW_IN ? 1u : 0) | (flags & ORMA_RECORD_FLOW_OUT ? 2u : 0);
	ret->instant_scope = head->scope;
	ret->style = ORMA_EVENT_STYLE_JSON;
	ret->has_thread_time = (flags & ORMA_RECORD_THREAD_TIME) != 0;
	ret->has_thread_duration = (flags & ORMA_RECORD_THREAD_DURATION) != 0;
	ret->has_number = ret->has_io_wait = false;
	ret->has_phase = ret->has_pid_override = ret->has_tid_override = true;
	ret->has_id = (flags & ORMA_RECORD_ID) != 0;
	ret->is_local_id = (flags & ORMA_RECORD_ID_IS_LOCAL) != 0;
	ret->has_unscoped_id = (flags & ORMA_RECORD_ID_IS_UNSCOPED) != 0;
	ret->has_bind_id = ret->has_direction = (flags & ORMA_RECORD_BIND_ID) != 0;
	ret->binds_enclosing = (flags & ORMA_RECORD_BINDS_ENCLOSING) != 0;
}

int orma_event_record_read(struct orma_str record, struct orma_track_event *ret,
			   struct orma_legacy_event *ret_legacy)
{
	struct orma_event_record head;
	if (record.size < sizeof(head))
		return -EBADMSG;
	const char *at = record.data + sizeof(head);
	memcpy(&head, record.data, sizeof(head));
	uint32_t flags = head.flags;
	if (record.size - sizeof(head) < size_of_numbers(flags))
		return -EBADMSG;
	make_event(&head, ret);
	make_legacy(&head, ret_legacy);
	ret_legacy->duration_ns = (int64_t)take_number(&at, flags, ORMA_RECORD_DURATION);
	ret_legacy->thread_time_ns = (int64_t)take_number(&at, flags, ORMA_RECORD_THREAD_TIME);
	ret_legacy->thread_duration_ns =
		(int64_t)take_number(&at, flags, ORMA_RECORD_THREAD_DURATION);
	ret_legacy->id = take_number(&at, flags, ORMA_RECORD_ID);
	ret_legacy->bind_id = take_number(&at, flags, ORMA_RECORD_BIND_ID);
	return 0;
}

struct orma_str orma_event_record_args(struct orma_str record)
{
	struct orma_event_record head;
	if (record.size < sizeof(head))
		return (struct orma_str){NULL, 0};
	memcpy(&head, record.data, sizeof(head));
	size_t before = sizeof(head) + size_of_numbers(head.flags);
	if (!(head.flags & ORMA_RECORD_HAS_ARGS) || record.size <= before)
		return (struct orma_str){NULL, 0};
	return (struct orma_str){record.data + before, record.size - before};
}
