/* SPDX-License-Identifier: Apache-2.0
 * trigger_state.h - the triggers of a session, and the hits that it obeyed; see trigger_state.c.
 */
#ifndef ORMA_SERVICE_TRIGGER_STATE_H
#define ORMA_SERVICE_TRIGGER_STATE_H

#include <orma/service.h>

#include "base/list.h"
#include "schema/gen/trace_config.pb.h"
#include "service/filter/regex.h"
#include "service/timer.h"

struct orma_service_session;

#define ORMA_SERVICE_TRIGGER_MODE(name) ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_##name

/* One entry of TraceConfig.trigger_config.triggers. */
struct orma_service_trigger {
	uint64_t name_hash;
	const char *name;
	struct orma_service_regex producer_regex; /* matches a whole name */
	bool has_producer_regex;
	uint32_t stop_delay_ms, max_per_24_h; /* max 0 = no limit */
	double skip_probability;
};

/* A trigger that a session obeyed; its names are on the heap. */
struct orma_service_trigger_hit {
	uint64_t boot_ns;
	char *name, *producer_name;
	uid_t producer_uid;
	uint64_t delay_ms;
};

/* A hit of a CLONE_SNAPSHOT trigger, which is reported to the consumer after the trigger's
 * delay. */
struct orma_service_pending_hit {
	struct orma_list link; /* session->triggers.pending */
	struct orma_service_timer timer;
	struct orma_service_session *session;
	struct orma_service_trigger_hit hit;
};

struct orma_service_triggers {
	uint32_t mode; /* TriggerMode, after use_clone_snapshot_if_available */
	struct orma_service_trigger *items;
	size_t count;
	bool has_been_triggered;
	struct orma_service_trigger_hit *hits; /* oldest first */
	size_t hit_count, hit_capacity;
	size_t written_hit_count; /* hits that the trace has, from the oldest on */
	struct orma_list pending;
	size_t pending_count;
	struct orma_service_timer timer;
};

/* When a trigger of a name was obeyed, for max_per_24_h. */
struct orma_service_trigger_use {
	uint64_t hash, time_ns;
};

/* The uses by all sessions, oldest first. */
struct orma_service_trigger_history {
	struct orma_service_trigger_use *items; /* NULL until the first */
	size_t count;
};

uint64_t orma_service_trigger_hash(const char *name);
int orma_service_triggers_init(struct orma_service_session *session, struct orma_error *reterr);
void orma_service_triggers_done(struct orma_service_session *session);
bool orma_service_triggers_defer_start(const struct orma_service_session *session);
/* True while the session waits for a trigger, and for good when only its clones can be read. */
bool orma_service_triggers_hide_data(const struct orma_service_session *session);
/* Keeps a copy of the hit for the trace. When out of memory, the hit is missing in the trace. */
void orma_service_triggers_record(struct orma_service_session *session,
				  const struct orma_service_trigger_hit *hit);
/* Writes the hits that the trace does not have. */
int orma_service_triggers_write(struct orma_service_session *session);
int orma_service_trigger_hit_copy(const struct orma_service_trigger_hit *hit,
				  struct orma_service_trigger_hit *ret);
int orma_service_trigger_hit_write(struct orma_service *service,
				   const struct orma_service_trigger_hit *hit, uint32_t field_id);
void orma_service_pending_hit_free(struct orma_service_pending_hit *pending);

#endif
