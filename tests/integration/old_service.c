/* SPDX-License-Identifier: Apache-2.0
 * old_service.c - a bridge that removes everything that was added after a certain time.
 *
 *   client --- host of src/ipc, old method table ---> a caller of today's daemon, one per client
 *          <-- replies without newer fields ------
 *          --- arguments without newer fields ---->
 *
 * So a client finds only the old methods and no newer feature, and its newer fields are dropped;
 * the data still reaches a trace. Calls wait until the daemon is bound. Fields are listed with
 * the time of their introduction, from upstream's tags v6.0 and v9.0 (for 2019, from comments in
 * those files). Rejected: writing an old service (its bugs would not be those of a real one);
 * upstream's own binary (none of that time is packaged).
 */
#include "old_service.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "harness.h"
#include "ipc/ipc_client.h"
#include "proto/reader.h"
#include "proto/writer.h"

/* --- known fields ------------------------------------------------------------------------------ */

struct known_field {
	uint32_t id;
	const struct known_field *nested; /* NULL = a value, or a message that is left alone */
	enum orma_old_era since;
	/* Values above this were not heard up to that time; 0 = all were. */
	uint64_t max;
	enum orma_old_era max_until;
};

#define VALUE(number)                                                                              \
	{                                                                                          \
		.id = (number)                                                                     \
	}
#define NESTED(number, fields)                                                                     \
	{                                                                                          \
		.id = (number), .nested = (fields)                                                 \
	}
#define SINCE(number, era)                                                                         \
	{                                                                                          \
		.id = (number), .since = (era)                                                     \
	}
#define UP_TO(number, largest, until)                                                              \
	{                                                                                          \
		.id = (number), .max = (largest), .max_until = (until)                             \
	}

static const struct known_field nothing[] = {{0}};
static const struct known_field only_1[] = {VALUE(1), {0}};
static const struct known_field fields_1_2[] = {VALUE(1), VALUE(2), {0}};

static const struct known_field source_config[] = {
	VALUE(1),   VALUE(2),   VALUE(3),   VALUE(4),    VALUE(6),    VALUE(7),
	VALUE(100), VALUE(101), VALUE(102), VALUE(103),  VALUE(104),  VALUE(105),
	VALUE(106), VALUE(107), VALUE(108), VALUE(109),  VALUE(110),  VALUE(111),
	VALUE(112), VALUE(113), VALUE(114), VALUE(1000), VALUE(1001), {0}};
static const struct known_field descriptor[] = {VALUE(1), VALUE(2), VALUE(3), VALUE(4),
						VALUE(5), VALUE(6), {0}};
static const struct known_field buffer_config[] = {VALUE(1), VALUE(4), {0}};
static const struct known_field config_source[] = {
	NESTED(1, source_config), VALUE(2), VALUE(3), {0}};
static const struct known_field trace_config[] = {NESTED(1, buffer_config),
						  NESTED(2, config_source),
						  VALUE(3),
						  VALUE(4),
						  VALUE(5),
						  VALUE(6),
						  VALUE(7),
						  VALUE(8),
						  VALUE(9),
						  VALUE(10),
						  VALUE(11),
						  VALUE(12),
						  VALUE(13),
						  VALUE(14),
						  VALUE(16),
						  VALUE(17),
						  VALUE(18),
						  VALUE(19),
						  VALUE(20),
						  VALUE(21),
						  VALUE(22),
						  VALUE(23),
						  VALUE(24),
						  VALUE(25),
						  VALUE(27),
						  VALUE(28),
						  VALUE(29),
						  {0}};

static const struct known_field initialize[] = {
	VALUE(1), VALUE(2), VALUE(3), VALUE(4), VALUE(5), SINCE(6, ORMA_OLD_V6), {0}};
static const struct known_field initialized[] = {SINCE(1, ORMA_OLD_V6), SINCE(2, ORMA_OLD_V9), {0}};
static const struct known_field register_source[] = {NESTED(1, descriptor), {0}};
static const struct known_field chunk_to_move[] = {VALUE(1), VALUE(2), VALUE(3), {0}};
static const struct known_field commit_data[] = {NESTED(1, chunk_to_move), VALUE(2), VALUE(3), {0}};
static const struct known_field instance[] = {VALUE(1), NESTED(2, source_config), {0}};
static const struct known_field command[] = {NESTED(1, instance),
					     VALUE(2),
					     NESTED(3, only_1),
					     NESTED(5, fields_1_2),
					     NESTED(6, instance),
					     NESTED(7, only_1),
					     {0}};

static const struct known_field enable[] = {NESTED(1, trace_config), VALUE(2), {0}};
static const struct known_field disabled[] = {VALUE(1), SINCE(3, ORMA_OLD_V9), {0}};
static const struct known_field has_config[] = {NESTED(1, trace_config), {0}};
static const struct known_field slices[] = {VALUE(2), {0}};
static const struct known_field observe[] = {UP_TO(1, 1, ORMA_OLD_2019), {0}};
/* The event that all sources have started was only sent to clients that already listened. */
static const struct known_field observe_late[] = {UP_TO(1, 1, ORMA_OLD_V9), {0}};
static const struct known_field state_producer[] = {VALUE(1), VALUE(2), VALUE(3), {0}};
static const struct known_field state_source[] = {NESTED(1, descriptor), VALUE(2), {0}};
static const struct known_field state[] = {
	NESTED(1, state_producer), NESTED(2, state_source), VALUE(3), VALUE(4), {0}};
static const struct known_field has_state[] = {NESTED(1, state), {0}};
static const struct known_field capabilities[] = {VALUE(1), VALUE(2), VALUE(3), {0}};
static const struct known_field has_capabilities[] = {NESTED(1, capabilities), {0}};

struct known_method {
	const char *name;
	const struct known_field *args, *reply;
};

/* In the order in which they were added; an era knows the first few. */
static const struct known_method producer_methods[] = {
	{"InitializeConnection", initialize, initialized},
	{"RegisterDataSource", register_source, only_1},
	{"UnregisterDataSource", only_1, nothing},
	{"CommitData", commit_data, nothing},
	{"GetAsyncCommand", nothing, command},
	{"RegisterTraceWriter", fields_1_2, nothing},
	{"UnregisterTraceWriter", only_1, nothing},
	{"NotifyDataSourceStarted", only_1, nothing},
	{"NotifyDataSourceStopped", only_1, nothing},
	{"ActivateTriggers", only_1, nothing},
	{"Sync", nothing, nothing},
};
static const struct known_method consumer_methods[] = {
	{"EnableTracing", enable, disabled},
	{"DisableTracing", nothing, nothing},
	{"ReadBuffers", nothing, slices},
	{"FreeBuffers", only_1, nothing},
	{"Flush", only_1, nothing},
	{"StartTracing", nothing, nothing},
	{"ChangeTraceConfig", has_config, nothing},
	{"Detach", only_1, nothing},
	{"Attach", only_1, has_config},
	{"GetTraceStats", nothing, only_1},
	{"ObserveEvents", observe, only_1},
	{"QueryServiceState", nothing, has_state},
	{"QueryCapabilities", nothing, has_capabilities},
};
enum { METHODS_MAX = ORMA_ARRAY_SIZE(consumer_methods) };
static const size_t producer_counts[] = {10, 11, 11}, consumer_counts[] = {11, 13, 13};

static const struct known_field *find_known(const struct known_field *fields, uint32_t id)
{
	for (; fields->id; fields++)
		if (fields->id == id)
			return fields;
	return NULL;
}

/* Appends the fields that the era knew. Recursion over our own tables, which are finite. */
static void copy_known(enum orma_old_era era, const struct known_field *fields, const void *data,
		       size_t size, struct orma_proto_writer *writer)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &field)) == 1) {
		const struct known_field *known = find_known(fields, field.id);
		struct orma_proto_nested nested;

		if (!known || known->since > era ||
		    (known->max && era <= known->max_until && field.value > known->max))
			continue;
		if (!known->nested) {
			orma_proto_write_raw(writer, field.begin,
					     (size_t)(reader.at - field.begin));
			continue;
		}
		CHECK_INT(field.type, ORMA_PROTO_BYTES);
		orma_proto_nested_begin(writer, &nested, field.id);
		copy_known(era, known->nested, field.bytes.data, field.bytes.size, writer);
		orma_proto_nested_end(writer, &nested);
	}
	CHECK_INT(r, 0);
}

static void cut(enum orma_old_era era, const struct known_field *fields, const void *data,
		size_t size, struct orma_buf *ret)
{
	struct orma_proto_heap_writer heap;

	orma_proto_heap_writer_init(&heap, ret);
	copy_known(era, fields, data, size, &heap.writer);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
}

/* --- the bridge ------------------------------------------------------------------------------- */

struct bridge_peer {
	struct orma_list link; /* in service->peers */
	struct orma_old_service *service;
	const struct known_method *methods;
	struct orma_ipc_peer *front;
	struct orma_ipc_client *back;
	bool has_enabled;
	struct orma_list calls; /* calls without a complete answer, oldest first */
};

struct bridge_call {
	struct orma_list link;
	struct bridge_peer *peer;
	struct orma_ipc_call *front;
	size_t method_idx;
	bool is_sent, wants_reply;
	struct orma_buf args;
	int fd;
};

static void free_call(struct bridge_call *call)
{
	orma_base_list_remove(&call->link);
	orma_base_fd_close(call->fd);
	orma_base_buf_done(&call->args);
	orma_base_free(call);
}

static void free_peer(struct bridge_peer *peer)
{
	struct bridge_call *call, *next;

	ORMA_LIST_FOR_EACH_SAFE (call, next, &peer->calls, link)
		free_call(call);
	orma_ipc_client_free(peer->back);
	orma_base_list_remove(&peer->link);
	orma_base_free(peer);
}

static void on_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	struct bridge_call *call = ctx;
	struct bridge_peer *peer = call->peer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf known = {0};

	/* When the daemon is gone, on_disconnected() follows. */
	if (!reply->success && reply->error != -EREMOTEIO)
		return;
	if (!reply->success) {
		orma_ipc_call_reject(call->front);
		free_call(call);
		return;
	}
	int fd = orma_ipc_client_take_fd(peer->back);
	cut(peer->service->era, peer->methods[call->method_idx].reply, reply->data, reply->size,
	    &known);
	(void)orma_ipc_call_reply(call->front, known.data, known.size, reply->has_more, fd);
	orma_base_fd_close(fd);
	if (!reply->has_more)
		free_call(call);
}

static void send_call(struct bridge_call *call)
{
	struct bridge_peer *peer = call->peer;

	call->is_sent = true;
	CHECK_INT(orma_ipc_client_invoke_fd(peer->back, call->method_idx, call->args.data,
					    call->args.size, call->fd,
					    call->wants_reply ? on_reply : NULL, call),
		  0);
	call->fd = orma_base_fd_close(call->fd);
	if (!call->wants_reply)
		free_call(call);
}

static void on_connected(void *ctx)
{
	struct bridge_peer *peer = ctx;
	struct bridge_call *call, *next;

	ORMA_LIST_FOR_EACH_SAFE (call, next, &peer->calls, link)
		send_call(call);
}

static void on_disconnected(void *ctx, int error)
{
	struct bridge_peer *peer = ctx;

	orma_ipc_peer_close(peer->front, error);
}

static void count(struct orma_old_service *service, const struct bridge_call *call)
{
	const char *name = call->peer->methods[call->method_idx].name;
	struct orma_proto_field field;

	if (strcmp(name, "UnregisterDataSource") == 0)
		service->unregistrations++;
	else if (strcmp(name, "CommitData") == 0 && call->args.size == 0)
		service->fences++;
	else if (strcmp(name, "CommitData") == 0 &&
		 orma_proto_reader_find(call->args.data, call->args.size, 2, &field) == 1)
		service->commits_with_patches++;
}

static const struct known_field *known_args(struct bridge_peer *peer, size_t method_idx)
{
	const struct known_method *method = &peer->methods[method_idx];

	peer->has_enabled |= strcmp(method->name, "EnableTracing") == 0;
	return method->args == observe && peer->has_enabled ? observe_late : method->args;
}

static int forward(struct orma_ipc_peer *front, struct orma_ipc_call *front_call, size_t method_idx,
		   const void *args, size_t size)
{
	struct bridge_peer *peer = orma_ipc_peer_data(front);
	struct bridge_call *call = orma_base_zalloc(sizeof(*call));

	CHECK(call);
	call->peer = peer;
	call->front = front_call;
	call->method_idx = method_idx;
	call->wants_reply = orma_ipc_call_wants_reply(front_call);
	call->fd = orma_ipc_call_take_fd(front_call);
	cut(peer->service->era, known_args(peer, method_idx), args, size, &call->args);
	count(peer->service, call);
	orma_base_list_append(&peer->calls, &call->link);
	/* Nothing waits for it, so the daemon's answer is ignored. */
	if (!call->wants_reply)
		(void)orma_ipc_call_reply(front_call, NULL, 0, false, -1);
	if (orma_ipc_client_is_connected(peer->back))
		send_call(call);
	return 0;
}

/* A handler is not told which method it is. */
/* clang-format off */
#define FORWARD(idx)                                                                               \
	static int forward_##idx(struct orma_ipc_peer *peer, struct orma_ipc_call *call,           \
				 const void *args, size_t size)                                    \
	{                                                                                          \
		return forward(peer, call, idx, args, size);                                       \
	}
FORWARD(0) FORWARD(1) FORWARD(2) FORWARD(3) FORWARD(4) FORWARD(5) FORWARD(6)
FORWARD(7) FORWARD(8) FORWARD(9) FORWARD(10) FORWARD(11) FORWARD(12)
	/* clang-format on */

	static orma_ipc_method_fn *const forwards[METHODS_MAX] = {
		forward_0, forward_1, forward_2, forward_3,  forward_4,  forward_5,  forward_6,
		forward_7, forward_8, forward_9, forward_10, forward_11, forward_12,
};

/* --- its two halves --------------------------------------------------------------------------- */

static int accept_peer(struct orma_old_service *service, struct orma_ipc_peer *front,
		       const struct known_method *methods, size_t method_count)
{
	static const char *producer_names[METHODS_MAX], *consumer_names[METHODS_MAX];
	bool is_producer = methods == producer_methods;
	const char **names = is_producer ? producer_names : consumer_names;
	struct bridge_peer *peer = orma_base_zalloc(sizeof(*peer));

	CHECK(peer);
	for (size_t i = 0; i < method_count; i++)
		names[i] = methods[i].name;
	const struct orma_ipc_client_options options = {
		.loop = service->loop,
		.service_name = is_producer ? "ProducerPort" : "ConsumerPort",
		.method_names = names,
		.method_count = method_count,
		.ctx = peer,
		.connected = on_connected,
		.disconnected = on_disconnected,
	};
	peer->service = service;
	peer->methods = methods;
	peer->front = front;
	orma_base_list_init(&peer->calls);
	orma_base_list_append(&service->peers, &peer->link);
	CHECK_INT(orma_ipc_client_new(&options,
				      is_producer ? service->daemon.producers
						  : service->daemon.consumers,
				      &peer->back),
		  0);
	orma_ipc_peer_set_data(front, peer);
	return 0;
}

static int on_producer(void *ctx, struct orma_ipc_peer *front)
{
	struct orma_old_service *service = ctx;

	return accept_peer(service, front, producer_methods, producer_counts[service->era]);
}

static int on_consumer(void *ctx, struct orma_ipc_peer *front)
{
	struct orma_old_service *service = ctx;

	return accept_peer(service, front, consumer_methods, consumer_counts[service->era]);
}

static void on_closed(void *ctx, struct orma_ipc_peer *front, int error)
{
	(void)ctx;
	(void)error;
	free_peer(orma_ipc_peer_data(front));
}

static struct orma_ipc_host *serve(struct orma_old_service *service, bool is_producer)
{
	static struct orma_ipc_method methods[2][METHODS_MAX];
	static struct orma_ipc_service services[2] = {{.name = "ConsumerPort"},
						      {.name = "ProducerPort"}};
	size_t method_count =
		is_producer ? producer_counts[service->era] : consumer_counts[service->era];
	const struct orma_ipc_host_options options = {
		.loop = service->loop,
		.services = &services[is_producer],
		.service_count = 1,
		.ctx = service,
		.accepted = is_producer ? on_producer : on_consumer,
		.closed = on_closed,
	};
	struct orma_ipc_host *host;

	for (size_t i = 0; i < method_count; i++)
		methods[is_producer][i] = (struct orma_ipc_method){
			is_producer ? producer_methods[i].name : consumer_methods[i].name,
			forwards[i]};
	services[is_producer].methods = methods[is_producer];
	services[is_producer].method_count = method_count;
	CHECK_INT(orma_ipc_host_new(&options, &host), 0);
	CHECK_INT(orma_ipc_host_listen(host, is_producer ? service->producers : service->consumers,
				       0),
		  0);
	return host;
}

static void *run(void *ctx)
{
	struct orma_old_service *service = ctx;

	if (orma_base_loop_run(service->loop) < 0)
		abort();
	return NULL;
}

static void stop_loop(void *ctx)
{
	orma_base_loop_stop(ctx);
}

void orma_old_service_start(struct orma_old_service *service, enum orma_old_era era)
{
	const char *folder = orma_test_tmpdir();

	*service = (struct orma_old_service){.era = era};
	orma_base_list_init(&service->peers);
	orma_test_daemon_start(&service->daemon);
	CHECK((size_t)snprintf(service->producers, sizeof(service->producers), "%s/old-p.sock",
			       folder) < sizeof(service->producers));
	CHECK((size_t)snprintf(service->consumers, sizeof(service->consumers), "%s/old-c.sock",
			       folder) < sizeof(service->consumers));
	CHECK_INT(orma_base_loop_new(&service->loop), 0);
	service->producer_host = serve(service, true);
	service->consumer_host = serve(service, false);
	orma_base_loop_set_wake_handler(service->loop, stop_loop, service->loop);
	CHECK_INT(pthread_create(&service->thread, NULL, run, service), 0);
}

void orma_old_service_stop(struct orma_old_service *service)
{
	orma_base_loop_wake(service->loop);
	CHECK_INT(pthread_join(service->thread, NULL), 0);
	orma_ipc_host_free(service->producer_host);
	orma_ipc_host_free(service->consumer_host);
	while (!orma_base_list_is_empty(&service->peers))
		free_peer(ORMA_LIST_ENTRY(service->peers.next, struct bridge_peer, link));
	orma_base_loop_free(service->loop);
	orma_test_daemon_stop(&service->daemon);
}
