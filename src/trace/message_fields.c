/* SPDX-License-Identifier: Apache-2.0
 * message_fields.c - see message_fields.h.
 */
#include "trace/message_fields.h"

void orma_message_read(struct orma_message *message, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	message->bytes = bytes;
	message->present = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id >= ORMA_MESSAGE_FIELDS_MAX)
			continue;
		bool is_bytes = field.type == ORMA_PROTO_BYTES;
		message->present |= UINT32_C(1) << field.id;
		message->fields[field.id].number = is_bytes ? 0 : field.value;
		message->fields[field.id].bytes =
			is_bytes ? field.bytes : (struct orma_str){NULL, 0};
	}
}

bool orma_message_next(struct orma_proto_reader *reader, uint32_t field_id, struct orma_str *ret)
{
	struct orma_proto_field field;
	while (orma_proto_reader_next(reader, &field) > 0)
		if (field.id == field_id && field.type == ORMA_PROTO_BYTES) {
			*ret = field.bytes;
			return true;
		}
	return false;
}
