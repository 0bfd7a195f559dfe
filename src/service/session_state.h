/* SPDX-License-Identifier: Apache-2.0
 * session_state.h - a session: its members, and its state.
 *
 * LAYERS. Inside src/service calls go down this list, or stay within a line; tools/check-cycles
 * keeps cycles small. Lower layers report upwards through session_events.h.
 *
 *    service                                              the whole; installs the table of events
 *    consumer_port, state_query, shut_down, producer/producer_port   the ports of embedders
 *    producer/chunk_commit, producer/producer_source      what producers say
 *    clone/, config/, trigger/trigger_activate            make sessions, start and stop them
 *    exclusive
 *    session_life                                         start, stop, end, free
 *    output/                                              packets into files
 *    read/, relay, output/output_hold                     packets out of buffers
 *    flush
 *    scrape
 *    producer/chunk_store                                 chunks into buffers
 *    source_instance, then config_source, then observe    data sources in a session
 *    read/service_event, trigger/trigger_state, then read/clock_snapshot
 *    session_buffer, then incremental
 *    session_state, boost                                 a session as an object
 *    packet_sequence
 *    producer/producer, producer/producer_memory
 *    filter/, retire, service_check
 *    service_core                                         clocks, caches
 *    read/batch, quota, timer
 *
 * Invariants
 *  - A grant outlives the instance that it was made for, until its session's buffers go: data may
 *    still be on its way when a data source is unregistered.
 *  - `buffers` exist from enable until the session is freed; `output.file` only while it takes
 *    data.
 *  - consumer->session is this session exactly while `consumer` is not NULL. A session without a
 *    consumer is detached (detach_key is set) or orphaned, and an orphaned one is freed once its
 *    file is closed.
 */
#ifndef ORMA_SERVICE_SESSION_STATE_H
#define ORMA_SERVICE_SESSION_STATE_H

#include <orma/service.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "schema/gen/trace_config.pb.h"
#include "service/config_source.h"
#include "service/filter/filter.h"
#include "service/flush.h"
#include "service/incremental.h"
#include "service/output/output.h"
#include "service/output/output_compress.h"
#include "service/packet_sequence.h"
#include "service/read/clock_snapshot.h"
#include "service/read/read.h"
#include "service/read/service_event.h"
#include "service/relay.h"
#include "service/scrape.h"
#include "service/session_buffer.h"
#include "service/source_instance.h"
#include "service/timer.h"
#include "service/trigger/trigger_state.h"

enum orma_service_session_state {
	ORMA_SERVICE_SESSION_CONFIGURED,
	ORMA_SERVICE_SESSION_STARTED,
	ORMA_SERVICE_SESSION_STOPPING, /* waits for stop acknowledgements, or for the last scrape */
	ORMA_SERVICE_SESSION_DISABLED,
	ORMA_SERVICE_SESSION_CLONED,  /* a clone: it can only be read */
	ORMA_SERVICE_SESSION_OPENING, /* its file is being created; has no instances yet */
};

struct orma_service_session {
	struct orma_list link; /* service->sessions.list */
	struct orma_service *service;
	uint64_t id;
	enum orma_service_session_state state;
	uid_t uid;
	pid_t pid;
	bool has_rights;                     /* its consumer is root or the service's own user */
	struct orma_consumer_port *consumer; /* NULL = detached or orphaned */
	char *detach_key;
	char error[256];                              /* "" = none */
	bool is_orphaned;                             /* no consumer can reach it */
	bool has_said_disabled, has_said_all_started; /* to the consumer */
	bool starts_when_created;                     /* StartTracing came while OPENING */
	bool is_ending; /* stopped; only the last scrape and what follows it are left */

	struct orma_arena arena; /* owns `config` and the strings of the sources */
	const struct orma_pb_trace_config *config;
	struct orma_buf config_bytes;
	const char *name; /* "" = none */
	uint64_t uuid_msb, uuid_lsb;

	uint32_t duration_ms, stop_timeout_ms;
	uint64_t started_realtime_ns, started_boot_ns;
	struct orma_service_timer duration_timer, stop_timer, started_timer;

	struct orma_service_sources sources;
	struct orma_service_session_buffer *buffers;
	size_t buffer_count;
	struct orma_service_instances instances;
	struct orma_service_flushes flush;
	struct orma_service_scrape scrape;
	struct orma_service_incremental incremental;
	struct orma_service_sequences sequences;

	/* The next read begins with these. */
	struct orma_service_clocks clocks;
	struct orma_service_events events;
	struct orma_service_concurrent_events concurrent;
	struct orma_service_relay_position relays;

	struct orma_service_reader read;
	struct orma_service_session_filter filter;
	struct orma_service_output output;
	struct orma_service_compression compression;
	struct orma_service_triggers triggers;

	/* Clones only; see clone.c. */
	struct orma_service_clone *clone;              /* while its file is being written */
	struct orma_service_trigger_hit clone_trigger; /* name NULL = none */
};

/* An empty session of the consumer's user, DISABLED and in no list. */
int orma_service_session_new(struct orma_consumer_port *port, struct orma_service_session **ret);
/* Records the change in the sessions that asked for enable_concurrent_session_events. */
void orma_service_session_set_state(struct orma_service_session *session,
				    enum orma_service_session_state state);
/* No more data comes into its buffers. */
bool orma_service_session_has_ended(const struct orma_service_session *session);
/* Sets the error unless there is one already; NULL is none. */
void orma_service_session_set_error(struct orma_service_session *session, const char *error);
const char *orma_service_session_state_name(const struct orma_service_session *session);
/* NULL = it has gone. */
struct orma_service_session *orma_service_session_by_id(const struct orma_service *service,
							uint64_t id);

#endif
