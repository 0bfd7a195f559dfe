/* SPDX-License-Identifier: Apache-2.0
 * json_record.c - an event of JSON becomes a record, when nobody but src/trace reads the packets.
 *
 * The text of the arguments is copied as it is. It is read when somebody asks for the arguments, which nobody does for most events.
 */
#include "formats/json_event.h"
#include "schema/gen/interned_data.pb.h"
#include "trace/event_record.h"
#include "trace/json_key.h"

/* Says whether an object has a member that is not null. */
static bool has_members(struct orma_str object)
{
	struct orma_json_scan scan = {object.data, object.data + object.size, true};
	struct orma_json_value key, value;
	enum orma_json_next next = orma_json_read_key(&scan, &key);
	/* A string that begins within the object ends there, because its bracket was found behind strings. */
	if (next == ORMA_JSON_MEMBER && scan.at < scan.end && *scan.at == '"')
		return true;
	scan.at = object.data;
	do
		next = orma_json_read_field(&scan, &key, &value);
	while (next == ORMA_JSON_MEMBER && value.kind == ORMA_JSON_NULL);
	return next == ORMA_JSON_MEMBER;
}

/* Finds the number of a name or a category. False when the text has to be written in place. */
static inline bool intern(struct orma_packet_output *output, uint32_t field, struct orma_str text,
			  uint32_t *ret)
{
	*ret = 0;
	if (!text.data)
		return true;
	*ret = (uint32_t)orma_packet_output_intern(output, field, text);
	return *ret != 0;
}

static inline uint8_t *put_number(uint8_t *at, uint64_t number)
{
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static uint8_t *put_ids(uint8_t *at, const struct orma_json_event *event, uint32_t *flags)
{
	const struct orma_json_id *id = event->id.kind          ? &event->id
					: event->global_id.kind ? &event->global_id
								: &event->local_id;
	if (id->kind) {
		*flags |= ORMA_RECORD_ID;
		*flags |= id == &event->id         ? ORMA_RECORD_ID_IS_UNSCOPED
			  : id == &event->local_id ? ORMA_RECORD_ID_IS_LOCAL
						   : 0u;
		at = put_number(at, orma_json_id_number(id));
	}
	if (event->bind_id.kind && orma_json_id_is_flow(&event->bind_id)) {
		*flags |= ORMA_RECORD_BIND_ID | (event->flow_in ? ORMA_RECORD_FLOW_IN : 0u) |
			  (event->flow_out ? ORMA_RECORD_FLOW_OUT : 0u);
		at = put_number(at, orma_json_id_number(&event->bind_id));
	}
	return at;
}

/* Puts the numbers that the event has. */
static inline uint8_t *put_numbers(uint8_t *at, const struct orma_json_event *event,
				   uint32_t *flags)
{
	if (event->has_dur) {
		*flags |= ORMA_RECORD_DURATION;
		at = put_number(at, (uint64_t)event->dur_ns);
	}
	if (event->has_tts) {
		*flags |= ORMA_RECORD_THREAD_TIME;
		at = put_number(at, (uint64_t)event->tts_ns);
	}
	if (event->has_tdur) {
		*flags |= ORMA_RECORD_THREAD_DURATION;
		at = put_number(at, (uint64_t)event->tdur_ns);
	}
	return put_ids(at, event, flags);
}

int orma_json_record_write(struct orma_packet_output *output, const struct orma_json_event *event,
			   uint32_t sequence, uint32_t order)
{
	uint8_t record[ORMA_RECORD_MAX_BYTES] = {0};
	struct orma_event_record head = {
		.ns = event->ns,
		.order = order,
		.sequence = sequence,
		.pid = (uint32_t)event->pid.number,
		.tid = (uint32_t)event->tid.number,
		.phase = (uint8_t)event->phase,
		.scope = orma_json_scope_number(event->scope),
	};
	struct orma_str text = {NULL, 0};
	if (!output->has_records || !orma_packet_output_choose(output, sequence) ||
	    !intern(output, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES, event->category,
		    &head.category_iid) ||
	    !intern(output, ORMA_PB_INTERNED_DATA_EVENT_NAMES, event->name, &head.name_iid))
		return 0;
	uint8_t *end = put_numbers(record + sizeof(head), event, &head.flags);
	if (event->binds_enclosing)
		head.flags |= ORMA_RECORD_BINDS_ENCLOSING;
	if (event->args.size > 0 && has_members(event->args)) {
		head.flags |= ORMA_RECORD_HAS_ARGS;
		text = event->args;
	}
	memcpy(record, &head, sizeof(head));
	int r = orma_packet_output_record(output, record, (size_t)(end - record), text);
	return r < 0 ? r : 1;
}
