/* SPDX-License-Identifier: Apache-2.0
 * generic_event.h - events without a message of their own.
 */
#ifndef ORMA_PROBES_GENERIC_EVENT_H
#define ORMA_PROBES_GENERIC_EVENT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "probes/ftrace/event_plan.h"
#include "probes/ftrace/ftrace_format.h"

/* Appends the field generic_event_descriptors of FtraceEventBundle for an event whose plan is generic. 0 or -ENOMEM. */
int orma_generic_event_describe(const struct orma_ftrace_format *format, const char *group,
				uint32_t field_id, struct orma_buf *buf);

/* How a generic event is written as GenericFtraceEvent. */
struct orma_legacy_field {
	struct orma_str name;
	const struct orma_event_plan *plan; /* writes its value */
};
struct orma_legacy_event {
	struct orma_str name;
	struct orma_legacy_field *fields;
	uint16_t field_count;
	uint16_t record_bytes;
	const struct orma_event_plan *head; /* has common_pid */
};

/* Everything is in the arena, also the names. 0, -EBADMSG or -ENOMEM. */
int orma_legacy_event_plan(const struct orma_ftrace_format *format, struct orma_arena *arena,
			   struct orma_legacy_event **ret);
/* The most bytes that orma_legacy_event_encode() writes. */
size_t orma_legacy_event_bytes(const struct orma_legacy_event *event, size_t record_bytes);
/* Does what orma_event_plan_encode() does. */
uint8_t *orma_legacy_event_encode(const struct orma_legacy_event *event,
				  const struct orma_ftrace_record *record, struct orma_met *met,
				  uint8_t *at);

#endif
