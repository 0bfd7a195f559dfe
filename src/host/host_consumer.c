/* SPDX-License-Identifier: Apache-2.0
 * host_consumer.c - ConsumerPort: each method decodes its arguments and calls the consumer's port.
 * This file keeps the calls of EnableTracing, ObserveEvents and ReadBuffers until they are answered.
 * host_flush.c keeps the calls of Flush.
 */
#include "host/host_consumer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "host/host_reply.h"
#include "ipc/frame.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"
#include "schema/gen/trace_stats.pb.h"

/* --- lifetime --------------------------------------------------------------------------------- */

static void on_tracing_disabled(void *ctx, const char *error);
static void on_events(void *ctx, const void *events, size_t size);
static void on_readable(void *ctx);

static const struct orma_consumer_callbacks callbacks = {
	.struct_size = sizeof(callbacks),
	.tracing_disabled = on_tracing_disabled,
	.events = on_events,
	.readable = on_readable,
};

static void forget_consumer(struct orma_host_peer *peer)
{
	struct orma_host_consumer *consumer = (struct orma_host_consumer *)peer;

	orma_base_list_remove(&peer->link);
	orma_base_list_remove(&consumer->stream);
	orma_host_query_cancel(consumer);
	orma_host_stream_clear(consumer);
	orma_ipc_peer_set_data(peer->ipc, NULL);
	/* No callback follows, not even one of the flushes and clones below. */
	orma_consumer_port_close(consumer->port);
	orma_host_schedule(peer->host);
	orma_host_flush_forget_all(consumer);
	orma_host_clone_forget_all(consumer);
	orma_base_free(consumer);
}

int orma_host_consumer_accepted(void *ctx, struct orma_ipc_peer *ipc)
{
	struct orma_host *host = ctx;
	const struct orma_ipc_peer_identity *identity = orma_ipc_peer_identity(ipc);
	struct orma_consumer_info info = {
		.struct_size = sizeof(info),
		.uid = identity->uid,
		.pid = identity->pid,
		.is_unverified = !identity->is_trusted,
	};
	struct orma_host_consumer *consumer = orma_base_zalloc(sizeof(*consumer));
	if (!consumer)
		return -ENOMEM;
	int r = orma_consumer_port_open(host->service, &info, &callbacks, consumer,
					&consumer->port);
	if (r) {
		orma_base_free(consumer);
		return r;
	}
	consumer->peer = (struct orma_host_peer){
		.host = host, .ipc = ipc, .forget = forget_consumer, .is_consumer = true};
	orma_base_list_init(&consumer->flushes);
	orma_base_list_init(&consumer->clones);
	orma_base_list_init(&consumer->stream);
	orma_base_list_init(&consumer->waiting);
	orma_base_list_append(&host->peers, &consumer->peer.link);
	orma_ipc_peer_set_data(ipc, consumer);
	return 0;
}

void orma_host_consumer_closed(void *ctx, struct orma_ipc_peer *ipc, int error)
{
	(void)ctx;
	(void)error;
	struct orma_host_consumer *consumer = orma_ipc_peer_data(ipc);
	if (consumer)
		forget_consumer(&consumer->peer);
}

static void wake_stream(struct orma_host_consumer *consumer)
{
	if (!consumer->read)
		return;
	orma_base_list_remove(&consumer->stream);
	orma_base_list_append(&consumer->peer.host->streams, &consumer->stream);
	orma_host_schedule(consumer->peer.host);
}

static void on_readable(void *ctx)
{
	wake_stream(ctx);
}

void orma_host_consumer_drained(void *ctx, struct orma_ipc_peer *ipc)
{
	(void)ctx;
	struct orma_host_consumer *consumer = orma_ipc_peer_data(ipc);
	if (!consumer)
		return;
	orma_host_query_continue(consumer);
	wake_stream(consumer);
}

/* Returns the calling consumer. Schedules a run, because any call may change the service's next
 * deadline. */
static struct orma_host_consumer *get_caller(struct orma_ipc_peer *ipc)
{
	struct orma_host_consumer *consumer = orma_ipc_peer_data(ipc);
	if (consumer)
		orma_host_schedule(consumer->peer.host);
	return consumer;
}

/* --- replies ---------------------------------------------------------------------------------- */

static void reply_disabled(struct orma_host *host, struct orma_ipc_call *call, const char *error)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = orma_host_reply_begin(host, &heap);

	orma_proto_write_bool(writer, ORMA_PB_ENABLE_TRACING_RESPONSE_DISABLED, true);
	if (error)
		orma_proto_write_string(writer, ORMA_PB_ENABLE_TRACING_RESPONSE_ERROR, error);
	int r = orma_host_reply_send(host, &heap, call, false);
	if (r == -ENOMEM || r == -EMSGSIZE)
		orma_ipc_call_reject(call);
}

static void on_tracing_disabled(void *ctx, const char *error)
{
	struct orma_host_consumer *consumer = ctx;
	if (consumer->enable) {
		reply_disabled(consumer->peer.host, ORMA_TAKE(consumer->enable), error);
		return;
	}
	consumer->has_missed_end = true;
	snprintf(consumer->missed_error, sizeof(consumer->missed_error), "%s", error ? error : "");
}

static void on_events(void *ctx, const void *events, size_t size)
{
	struct orma_host_consumer *consumer = ctx;
	if (consumer->observe)
		(void)orma_host_reply_bytes(consumer->peer.host, consumer->observe,
					    ORMA_PB_OBSERVE_EVENTS_RESPONSE_EVENTS, events, size,
					    true);
}

/* --- methods ---------------------------------------------------------------------------------- */

static void replace_call(struct orma_ipc_call **slot, struct orma_ipc_call *call)
{
	if (*slot)
		orma_ipc_call_reject(*slot);
	*slot = call;
}

/* Answers `call` when the session that the consumer attached to ends, or at once when it has ended
 * already. */
static void await_end(struct orma_host_consumer *consumer, struct orma_ipc_call *call)
{
	const char *error = consumer->missed_error;
	if (!consumer->has_missed_end) {
		replace_call(&consumer->enable, call);
		return;
	}
	consumer->has_missed_end = false;
	reply_disabled(consumer->peer.host, call, error[0] ? error : NULL);
}

static int enable(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
		  size_t size, int file_fd)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	struct orma_proto_field config, notify_only;
	struct orma_error error = {0};

	if (!consumer)
		return -ECONNRESET;
	int has_config = orma_proto_reader_find(
		args, size, ORMA_PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, &config);
	int has_notify = orma_proto_reader_find(
		args, size, ORMA_PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY, &notify_only);
	if (has_config < 0 || has_notify < 0 || (has_config && config.type != ORMA_PROTO_BYTES))
		return -EBADMSG;
	if (has_notify && notify_only.type == ORMA_PROTO_VARINT && notify_only.value) {
		await_end(consumer, call);
		return 0;
	}
	if (!has_config)
		config.bytes = (struct orma_str){"", 0};
	/* The new session may end inside the call below, so its own call must be in place by
	 * then. */
	struct orma_ipc_call *earlier = consumer->enable;
	consumer->enable = call;
	consumer->has_missed_end = false;
	int r = orma_consumer_port_enable(consumer->port, config.bytes.data, config.bytes.size,
					  file_fd, &error);
	if (r == 0) {
		if (earlier)
			orma_ipc_call_reject(earlier);
		return 0;
	}
	consumer->enable = earlier;
	reply_disabled(consumer->peer.host, call, error.message[0] ? error.message : strerror(-r));
	return 0;
}

static int on_enable_tracing(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	int file_fd = orma_ipc_call_take_fd(call);
	int r = enable(ipc, call, args, size, file_fd);

	orma_ipc_call_close_fd(call, file_fd);
	return r;
}

static int on_disable_tracing(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			      const void *args, size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	if (!consumer)
		return -ECONNRESET;
	orma_consumer_port_disable(consumer->port);
	return orma_host_reply_empty(call);
}

static int on_start_tracing(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			    size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	struct orma_error error = {0};
	if (!consumer)
		return -ECONNRESET;
	int r = orma_consumer_port_start(consumer->port, &error);
	if (r)
		orma_base_log(ORMA_LOG_WARNING, "StartTracing: %s",
			      error.message[0] ? error.message : strerror(-r));
	return r ? r : orma_host_reply_empty(call);
}

static int on_change_trace_config(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				  const void *args, size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	struct orma_proto_field config;
	if (!consumer)
		return -ECONNRESET;
	int found = orma_proto_reader_find(
		args, size, ORMA_PB_CHANGE_TRACE_CONFIG_REQUEST_TRACE_CONFIG, &config);
	if (found <= 0 || config.type != ORMA_PROTO_BYTES)
		return -EBADMSG;
	(void)orma_consumer_port_change_config(consumer->port, config.bytes.data,
					       config.bytes.size);
	return orma_host_reply_empty(call);
}

static int on_read_buffers(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			   size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	if (!consumer || !orma_ipc_call_wants_reply(call))
		return -ECONNRESET;
	replace_call(&consumer->read, call);
	orma_host_stream_restart(consumer);
	wake_stream(consumer);
	return 0;
}

static int on_free_buffers(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			   size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	if (!consumer)
		return -ECONNRESET;
	orma_host_stream_cancel(consumer);
	orma_consumer_port_free_buffers(consumer->port);
	return orma_host_reply_empty(call);
}

static int on_flush(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
		    size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	return consumer ? orma_host_flush(consumer, call, args, size) : -EBADMSG;
}

/* Detach and Attach have their key in field 1. */
static int take_key(const void *args, size_t size, char **ret)
{
	struct orma_proto_field key;
	int found = orma_proto_reader_find(args, size, ORMA_PB_DETACH_REQUEST_KEY, &key);
	if (found <= 0 || key.type != ORMA_PROTO_BYTES)
		return -EBADMSG;
	*ret = orma_base_str_dup(key.bytes);
	return *ret ? 0 : -ENOMEM;
}

static int on_detach(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
		     size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	ORMA_AUTO(orma_base_freep) char *key = NULL;
	int r = consumer ? take_key(args, size, &key) : -ECONNRESET;
	if (r == 0)
		r = orma_consumer_port_detach(consumer->port, key);
	return r ? r : orma_host_reply_empty(call);
}

static int on_attach(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
		     size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	ORMA_AUTO(orma_base_freep) char *key = NULL;
	const void *config;
	size_t config_size;
	int r = consumer ? take_key(args, size, &key) : -ECONNRESET;
	if (r == 0)
		r = orma_consumer_port_attach(consumer->port, key);
	if (r == 0)
		consumer->has_missed_end = false;
	if (r == 0)
		r = orma_consumer_port_get_config(consumer->port, &config, &config_size);
	return r ? r
		 : orma_host_reply_bytes(consumer->peer.host, call,
					 ORMA_PB_ATTACH_RESPONSE_TRACE_CONFIG, config, config_size,
					 false);
}

/* Leaves the statistics per writer out when the whole does not fit a frame, as with thousands of
 * writers. */
static int reply_stats(struct orma_host *host, struct orma_ipc_call *call, const uint8_t *stats,
		       size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf shorter = {0};
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;

	orma_proto_reader_init(&reader, stats, size);
	while (size > ORMA_IPC_BODY_BYTES_MAX - 16 && r == 0 &&
	       orma_proto_reader_next(&reader, &field) > 0)
		if (field.id != ORMA_PB_TRACE_STATS_WRITER_STATS)
			r = orma_base_buf_append(&shorter, field.begin,
						 (size_t)(reader.at - field.begin));
	if (r)
		return r;
	return orma_host_reply_bytes(host, call, ORMA_PB_GET_TRACE_STATS_RESPONSE_TRACE_STATS,
				     shorter.size ? shorter.data : stats,
				     shorter.size ? shorter.size : size, false);
}

static int on_get_trace_stats(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			      const void *args, size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	const void *stats;
	size_t stats_size;
	if (!consumer || !orma_ipc_call_wants_reply(call))
		return -ECONNRESET;
	int r = orma_consumer_port_get_stats(consumer->port, &stats, &stats_size);
	return r ? r : reply_stats(consumer->peer.host, call, stats, stats_size);
}

static int on_observe_events(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	struct orma_pb_observe_events_request *request;
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	uint32_t types = 0;

	if (!consumer || !orma_ipc_call_wants_reply(call))
		return -ECONNRESET;
	int r = orma_proto_decode(&orma_pb_observe_events_request_desc, args, size, &arena,
				  &request);
	if (r)
		return r;
	for (size_t i = 0; i < request->events_to_observe.count; i++)
		types |= (uint32_t)request->events_to_observe.items[i];
	if (consumer->observe)
		(void)orma_host_reply_empty(
			ORMA_TAKE(consumer->observe)); /* the earlier stream ends */
	consumer->observe = call;
	r = orma_consumer_port_observe(consumer->port, types);
	if (r)
		consumer->observe = NULL;
	return r;
}

static int on_query_service_state(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				  const void *args, size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	struct orma_proto_field only = {0};
	const void *state;
	size_t state_size;
	if (!consumer ||
	    orma_proto_reader_find(args, size, ORMA_PB_QUERY_SERVICE_STATE_REQUEST_SESSIONS_ONLY,
				   &only) < 0)
		return -EBADMSG;
	/* The state can be tens of megabytes, so it is not encoded when nobody wants the reply. */
	if (consumer->query || !orma_ipc_call_wants_reply(call))
		return -EBUSY;
	int r = orma_consumer_port_query_state(consumer->port, only.value != 0, &state,
					       &state_size);
	return r ? r : orma_host_query_begin(consumer, call, state, state_size);
}

static int on_query_capabilities(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				 const void *args, size_t size)
{
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	const void *data;
	size_t data_size;
	int r = consumer ? orma_consumer_port_query_capabilities(consumer->port, &data, &data_size)
			 : -ECONNRESET;
	return r ? r
		 : orma_host_reply_bytes(consumer->peer.host, call,
					 ORMA_PB_QUERY_CAPABILITIES_RESPONSE_CAPABILITIES, data,
					 data_size, false);
}

/* A retired method: the reply leaves `success` unset and gives a reason. */
static int on_save_trace_for_bugreport(struct orma_ipc_peer *ipc, struct orma_ipc_call *call,
				       const void *args, size_t size)
{
	static const char reason[] = "SaveTraceForBugreport was replaced by CloneSession";
	(void)args;
	(void)size;
	struct orma_host_consumer *consumer = get_caller(ipc);
	return consumer ? orma_host_reply_bytes(consumer->peer.host, call,
						ORMA_PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_MSG,
						reason, sizeof(reason) - 1, false)
			: -ECONNRESET;
}

static int on_clone_session(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			    size_t size)
{
	struct orma_host_consumer *consumer = get_caller(ipc);
	return consumer ? orma_host_clone_session(consumer, call, args, size) : -ECONNRESET;
}

static const struct orma_ipc_method methods[] = {
	{"EnableTracing", on_enable_tracing},
	{"DisableTracing", on_disable_tracing},
	{"ReadBuffers", on_read_buffers},
	{"FreeBuffers", on_free_buffers},
	{"Flush", on_flush},
	{"StartTracing", on_start_tracing},
	{"ChangeTraceConfig", on_change_trace_config},
	{"Detach", on_detach},
	{"Attach", on_attach},
	{"GetTraceStats", on_get_trace_stats},
	{"ObserveEvents", on_observe_events},
	{"QueryServiceState", on_query_service_state},
	{"QueryCapabilities", on_query_capabilities},
	{"SaveTraceForBugreport", on_save_trace_for_bugreport},
	{"CloneSession", on_clone_session},
};

const struct orma_ipc_service orma_host_consumer_services[1] = {
	{"ConsumerPort", methods, ORMA_ARRAY_SIZE(methods)},
};
