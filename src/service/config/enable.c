/* SPDX-License-Identifier: Apache-2.0
 * enable.c - from the bytes of a TraceConfig to a configured session.
 *
 * Three steps: decode and check, which changes nothing; build everything that can fail in a session
 * that is not visible yet (buffers, expressions, instances and, last because it is visible outside,
 * the output file); then list it, which cannot fail. A failure in the first two steps leaves the
 * service as it was. Where creating a file may take long (output_create.c), the session waits for
 * its file between building its own parts and joining the producers. Meanwhile it is in the list,
 * but only its consumer knows it. Rejected: telling producers while building (upstream: a failed
 * session has already set them up).
 */
#include "service/config/enable.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/map.h"
#include "base/str.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/trace_config.pb.h"
#include "service/boost.h"
#include "service/config/config_check.h"
#include "service/config_source.h"
#include "service/consumer_port.h"
#include "service/exclusive.h"
#include "service/filter/filter.h"
#include "service/flush.h"
#include "service/output/output.h"
#include "service/output/output_create.h"
#include "service/output/output_file.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_buffer.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/source_instance.h"
#include "service/trigger/trigger_activate.h"
#include "service/trigger/trigger_state.h"

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

int orma_service_session_decode(struct orma_service_session *session, const void *config,
				size_t size, struct orma_error *reterr)
{
	struct orma_pb_trace_config *decoded = NULL;
	int r;

	if (size > ORMA_SERVICE_CONFIG_BYTES_MAX)
		return orma_base_error_set(reterr, -EMSGSIZE,
					   "the config has %zu bytes, more than the maximum of %u",
					   size, ORMA_SERVICE_CONFIG_BYTES_MAX);
	session->arena.limit_bytes = ORMA_SERVICE_CONFIG_ARENA_MAX;
	r = orma_base_buf_append(&session->config_bytes, config, size);
	if (r == 0)
		r = orma_proto_decode(&orma_pb_trace_config_desc, session->config_bytes.data, size,
				      &session->arena, &decoded);
	if (r == -EBADMSG)
		return orma_base_error_set(reterr, r, "the config is not an encoded TraceConfig");
	if (r < 0 || !decoded)
		return orma_base_error_set(reterr, r, "the config is too large to hold");
	session->config = decoded;
	return 0;
}

static void set_uuid(struct orma_service_session *session)
{
	const struct orma_pb_trace_config *config = session->config;
	uint64_t words[2];

	if (config->trace_uuid_msb || config->trace_uuid_lsb) {
		session->uuid_msb = (uint64_t)config->trace_uuid_msb;
		session->uuid_lsb = (uint64_t)config->trace_uuid_lsb;
		return;
	}
	session->service->random(session->service->ctx, words, sizeof(words));
	/* Version 4, variant 1. */
	session->uuid_msb = (words[0] & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
	session->uuid_lsb = (words[1] & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
}

static int take_config(struct orma_service_session *session)
{
	const struct orma_pb_trace_config *config = session->config;
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		config->builtin_data_sources;

	session->name = orma_base_arena_strdup(&session->arena, config->unique_session_name);
	if (!session->name)
		return -ENOMEM;
	session->duration_ms = config->duration_ms;
	session->flush.timeout_ms =
		or_default(config->flush_timeout_ms, ORMA_SERVICE_FLUSH_TIMEOUT_MS);
	session->stop_timeout_ms =
		or_default(config->data_source_stop_timeout_ms, ORMA_SERVICE_STOP_TIMEOUT_MS);
	session->clocks.interval_ms = or_default(builtin ? builtin->snapshot_interval_ms : 0,
						 ORMA_SERVICE_SNAPSHOT_INTERVAL_MS);
	session->incremental.period_ms = config->incremental_state_config
						 ? config->incremental_state_config->clear_period_ms
						 : 0;
	session->flush.period_ms = config->flush_period_ms;
	session->flush.strategy =
		config->flush_period_ms ? ORMA_SERVICE_FLUSH_PERIODIC : ORMA_SERVICE_FLUSH_NEVER;
	set_uuid(session);
	return 0;
}

static int make_filter(struct orma_service_session *session, struct orma_error *reterr)
{
	if (!session->config->trace_filter)
		return 0;
	return orma_service_filter_new(session->service, session->config->trace_filter,
				       &session->filter.program, reterr);
}

static int encode_source(struct orma_service_session *session, size_t idx, struct orma_str entry,
			 struct orma_error *reterr)
{
	int r = orma_service_source_encode(session, idx, entry);
	size_t size = session->sources.items[idx].config.size;

	if (r == 0 && size > ORMA_SERVICE_SOURCE_BYTES_MAX)
		return orma_base_error_set(reterr, -EMSGSIZE,
					   "data_sources[%zu].config: %zu bytes, including what "
					   "the service adds, are more "
					   "than the limit of %u for a message to a producer",
					   idx, size, ORMA_SERVICE_SOURCE_BYTES_MAX);
	return r;
}

static int make_sources(struct orma_service_session *session, struct orma_error *reterr)
{
	size_t count = session->config->data_sources.count;
	struct orma_proto_reader reader;
	struct orma_str entry;
	int r;

	orma_proto_reader_init(&reader, session->config_bytes.data, session->config_bytes.size);
	session->sources.items = orma_base_alloc_array(count + 1, sizeof(*session->sources.items));
	if (!session->sources.items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		session->sources.count++;
		r = orma_service_source_init(session, i, reterr);
		/* The decoder has counted the entries, so there is one more. */
		if (r == 0 && orma_service_source_entry_next(&reader, &entry) <= 0)
			r = -EBADMSG;
		if (r == 0)
			r = encode_source(session, i, entry, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_instances(struct orma_service_session *session)
{
	size_t looked_at_count = 0;

	for (size_t i = 0; i < session->sources.count; i++) {
		struct orma_service_source *source = &session->sources.items[i];
		struct orma_service_name *name =
			orma_service_name_find(session->service, orma_base_str(source->name));
		struct orma_service_data_source *data_source;
		struct orma_service_instance *instance;

		if (!name)
			continue;
		ORMA_LIST_FOR_EACH (data_source, &name->data_sources, name_link) {
			int r;

			if (orma_service_instances_are_full(session, looked_at_count))
				return 0;
			looked_at_count +=
				1 + source->producer_name_count / ORMA_SERVICE_NAMES_PER_MATCH +
				source->producer_regex_count * ORMA_SERVICE_MATCHES_PER_REGEX;
			r = orma_service_instance_new(session, source, data_source, &instance);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool lockdown_after(const struct orma_service_session *session)
{
	switch (session->config->lockdown_mode) {
	case ORMA_PB_TRACE_CONFIG_LOCKDOWN_MODE_OPERATION_LOCKDOWN_SET:
		return true;
	case ORMA_PB_TRACE_CONFIG_LOCKDOWN_MODE_OPERATION_LOCKDOWN_CLEAR:
		return false;
	default:
		return session->service->is_locked_down;
	}
}

/* Builds the parts that are the session's own. */
static int build(struct orma_service_session *session, struct orma_error *reterr)
{
	int r = take_config(session);

	session->id = session->service->sessions.last_id + 1;
	if (r == 0)
		r = make_filter(session, reterr);
	if (r == 0)
		r = orma_service_buffers_init(session, reterr);
	if (r == 0)
		r = make_sources(session, reterr);
	if (r == 0)
		r = orma_service_triggers_init(session, reterr);
	return r == 0 ? orma_service_output_init(session, reterr) : r;
}

/* Does what affects producers and other sessions; on failure it is undone. */
static int join(struct orma_service_session *session, int file_fd, struct orma_error *reterr)
{
	struct orma_service *service = session->service;
	bool was_locked_down = service->is_locked_down;
	int r;

	/* The lockdown decides which producers take part. */
	service->is_locked_down = lockdown_after(session);
	r = make_instances(session);
	if (r == 0)
		r = orma_service_boost_begin(service, session->config, reterr);
	if (r == 0 && !session->output.file)
		r = orma_service_output_open(session, file_fd, reterr);
	if (r < 0) {
		orma_service_instances_done(session);
		service->is_locked_down = was_locked_down;
		orma_service_boost_update(service);
	}
	return r;
}

static void note_name(struct orma_service *service, struct orma_str name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
	size_t at = 0;

	/* The entry of the same name, a free one, or the oldest. */
	for (size_t i = 0; i < service->name_history.count; i++) {
		if (service->name_history.items[i].hash == hash) {
			at = i;
			break;
		}
		if (service->name_history.items[i].time_ns <
		    service->name_history.items[at].time_ns)
			at = i;
	}
	if (service->name_history.count < ORMA_SERVICE_GUARDED_NAMES_MAX &&
	    (service->name_history.count == 0 || service->name_history.items[at].hash != hash))
		at = service->name_history.count++;
	service->name_history.items[at] =
		(struct orma_service_name_use){hash, orma_service_boot_ns(service)};
}

static void enlist(struct orma_service_session *session, struct orma_consumer_port *port)
{
	struct orma_service *service = session->service;

	service->sessions.last_id = session->id;
	service->sessions.count++;
	orma_base_list_append(&service->sessions.list, &session->link);
	session->consumer = port;
	port->session = session;
}

static void begin(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_instance *instance, *next;

	if (session->config->enable_extra_guardrails)
		note_name(service, session->config->unique_session_name);
	ORMA_LIST_FOR_EACH_SAFE (instance, next, &session->instances.list, session_link)
		orma_service_instance_setup(instance);
	orma_service_session_set_state(session, ORMA_SERVICE_SESSION_CONFIGURED);
	orma_service_triggers_arm(session);
	if (session->starts_when_created ||
	    (!session->config->deferred_start && !orma_service_triggers_defer_start(session)))
		orma_service_session_start(session);
}

static void explain(struct orma_error *error, int r)
{
	if (error->message[0])
		return;
	if (r == -ENOMEM)
		orma_base_error_set(error, r, "no memory for the session");
	else
		orma_base_error_set(error, r, "no shared memory for a producer: %s",
				    orma_base_error_words(r));
}

/* Other sessions may have begun or ended since the first check. The session leaves the list for
 * the second check, so that it is not compared with itself. */
void orma_service_session_begin_created(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_error error = {0};
	int r;

	orma_base_list_remove(&session->link);
	r = orma_service_config_check_rivals(service, session->uid, session->has_rights,
					     session->config, &error);
	if (r == 0)
		r = join(session, -1, &error);
	if (r == 0 && session->config->exclusive_prio)
		orma_service_end_for_exclusive(service, session->config->exclusive_prio);
	orma_base_list_append(&service->sessions.list, &session->link);
	if (r == 0) {
		begin(session);
		return;
	}
	explain(&error, r);
	orma_service_session_disable(session, true, error.message);
}

int orma_consumer_port_enable(struct orma_consumer_port *port, const void *config, size_t size,
			      int file_fd, struct orma_error *reterr)
{
	if (!port || (!config && size > 0))
		return orma_base_error_set(reterr, -EINVAL, "there is no port, or no config");

	struct orma_error unused, *error = reterr ? reterr : &unused;
	struct orma_service_session *session;
	int r = orma_service_session_new(port, &session);

	error->message[0] = '\0';
	if (r == 0) {
		r = orma_service_session_decode(session, config, size, error);
		if (r == 0)
			r = orma_service_config_check(port->service, port, session->config, file_fd,
						      error);
		if (r == 0)
			r = build(session, error);
		if (r == 0)
			r = orma_service_creation_is_wanted(session)
				    ? orma_service_creation_begin(session, error)
				    : join(session, file_fd, error);
		if (r < 0)
			orma_service_session_delete(session);
	}
	if (r < 0) {
		explain(error, r);
		return r;
	}
	if (session->config->base.unknown)
		orma_base_log(ORMA_LOG_WARNING,
			      "session %llu: the config has fields that this service does not know",
			      (unsigned long long)session->id);
	if (session->state == ORMA_SERVICE_SESSION_OPENING) {
		enlist(session, port);
		return 0;
	}
	if (session->config->exclusive_prio)
		orma_service_end_for_exclusive(port->service, session->config->exclusive_prio);
	enlist(session, port);
	begin(session);
	return 0;
}
