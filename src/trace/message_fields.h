/* SPDX-License-Identifier: Apache-2.0
 * message_fields.h - a small message as its fields by number, for readers that need a few of them.
 */
#ifndef ORMA_TRACE_MESSAGE_FIELDS_H
#define ORMA_TRACE_MESSAGE_FIELDS_H

#include <stdbool.h>

#include "proto/reader.h"

enum { ORMA_MESSAGE_FIELDS_MAX = 32 };

/* Nothing in it is trusted. The array is not cleared, so only the fields in `present` are valid. */
struct orma_message {
	struct orma_str bytes;
	uint32_t present; /* a bit for each field */
	struct {
		uint64_t number;
		struct orma_str bytes; /* data is NULL for a number */
	} fields[ORMA_MESSAGE_FIELDS_MAX];
};

/* Reads the fields with numbers below ORMA_MESSAGE_FIELDS_MAX. If a field occurs again, the last one counts. Damage ends the
 * message. */
void orma_message_read(struct orma_message *message, struct orma_str bytes);

/* False also for a field with a number from ORMA_MESSAGE_FIELDS_MAX on, because such fields are not kept. */
static inline bool orma_message_has(const struct orma_message *message, uint32_t field)
{
	return field < ORMA_MESSAGE_FIELDS_MAX && (message->present >> field & 1);
}
/* 0 when there is no such field. */
static inline uint64_t orma_message_number(const struct orma_message *message, uint32_t field)
{
	return orma_message_has(message, field) ? message->fields[field].number : 0;
}
/* Data is NULL when there is no such field. */
static inline struct orma_str orma_message_bytes(const struct orma_message *message, uint32_t field)
{
	return orma_message_has(message, field) ? message->fields[field].bytes
						: (struct orma_str){NULL, 0};
}

/* Goes through the members of a repeated message or string. False at the end. */
bool orma_message_next(struct orma_proto_reader *reader, uint32_t field, struct orma_str *ret);

#endif
