/* SPDX-License-Identifier: Apache-2.0
 * peer.h - a service and the library in one thread, bound to each other by the public API alone:
 * the library's calls of its transport become calls of a producer port, whose callbacks go back
 * into the transport.
 */
#ifndef ORMA_TESTS_OUTSIDE_PEER_H
#define ORMA_TESTS_OUTSIDE_PEER_H

#include <orma/orma.h>
#include <poll.h>
#include <unistd.h>

#include "harness.h"

struct peer {
	struct orma_service *service;
	struct orma_producer_port *port;
	struct orma_consumer_port *consumer;
	struct orma_transport *transport; /* NULL = not connected */
	bool is_emulated;
	int connects, disconnects, registrations, updates, unregistrations, commits, writers;
	int refusals; /* the number of connects that fail */
	bool is_full;
	bool is_mute;                         /* orma_transport_up() is not called */
	void (*in_commit)(struct peer *peer); /* may be NULL */
	struct orma_data_source *source;      /* for in_commit */
	int is_disabled;
	char disabled_error[256];
};

static inline void peer_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	struct peer *peer = ctx;

	CHECK_INT(memory->fd < 0, peer->is_emulated);
	CHECK_INT(
		orma_transport_setup_tracing(peer->transport, memory->fd, memory->page_size_bytes),
		0);
}

static inline void peer_setup(void *ctx, uint64_t id, const void *config, size_t size)
{
	struct peer *peer = ctx;

	CHECK_INT(orma_transport_setup_data_source(peer->transport, id, config, size), 0);
}

static inline void peer_start(void *ctx, uint64_t id, const void *config, size_t size)
{
	struct peer *peer = ctx;

	CHECK_INT(orma_transport_start_data_source(peer->transport, id, config, size), 0);
}

static inline void peer_stop(void *ctx, uint64_t id)
{
	struct peer *peer = ctx;

	CHECK_INT(orma_transport_stop_data_source(peer->transport, id), 0);
}

static inline void peer_flush(void *ctx, uint64_t request_id, const uint64_t *ids, size_t count,
			      uint64_t flags)
{
	struct peer *peer = ctx;

	CHECK_INT(orma_transport_flush(peer->transport, request_id, ids, count, flags), 0);
}

static inline void peer_clear(void *ctx, const uint64_t *ids, size_t count)
{
	struct peer *peer = ctx;

	CHECK_INT(orma_transport_clear_incremental_state(peer->transport, ids, count), 0);
}

static const struct orma_producer_callbacks peer_callbacks = {
	.struct_size = sizeof(peer_callbacks),
	.setup_tracing = peer_setup_tracing,
	.setup_data_source = peer_setup,
	.start_data_source = peer_start,
	.stop_data_source = peer_stop,
	.flush = peer_flush,
	.clear_incremental_state = peer_clear,
};

static inline int peer_connect(void *ctx, struct orma_transport *transport,
			       const struct orma_producer_info *hello)
{
	struct peer *peer = ctx;
	struct orma_producer_info info = *hello;

	CHECK(!peer->transport);
	peer->connects++;
	if (peer->refusals > 0) {
		peer->refusals--;
		return -ECONNREFUSED;
	}
	peer->transport = transport;
	if (peer->is_mute)
		return 0;
	CHECK_STR(hello->name, "outside");
	CHECK_INT(hello->pid, getpid());
	info.cannot_pass_fds = peer->is_emulated;
	CHECK_INT(orma_producer_port_open(peer->service, &info, &peer_callbacks, peer, NULL,
					  &peer->port),
		  0);
	return orma_transport_up(transport);
}

static inline void peer_disconnect(void *ctx, struct orma_transport *transport)
{
	struct peer *peer = ctx;

	CHECK(transport == peer->transport);
	peer->disconnects++;
	peer->transport = NULL;
	orma_producer_port_close(peer->port);
	peer->port = NULL;
}

static inline bool peer_has_room(void *ctx)
{
	return !((struct peer *)ctx)->is_full;
}

static inline int peer_register(void *ctx, const void *descriptor, size_t size)
{
	struct peer *peer = ctx;

	peer->registrations++;
	return orma_producer_port_register_data_source(peer->port, descriptor, size);
}

static inline int peer_update(void *ctx, const void *descriptor, size_t size)
{
	struct peer *peer = ctx;

	peer->updates++;
	return orma_producer_port_update_data_source(peer->port, descriptor, size);
}

static inline void peer_unregister(void *ctx, const char *name)
{
	struct peer *peer = ctx;

	peer->unregistrations++;
	orma_producer_port_unregister_data_source(peer->port, name);
}

static inline void peer_commit(void *ctx, const struct orma_commit *commit)
{
	struct peer *peer = ctx;
	void *data;
	size_t size;

	if (peer->in_commit)
		peer->in_commit(peer);
	/* Alternately as a struct and as bytes. */
	if (peer->commits++ % 2) {
		orma_producer_port_commit(peer->port, commit);
		return;
	}
	CHECK_INT(orma_commit_encode(commit, &data, &size), 0);
	CHECK_INT(orma_producer_port_commit_encoded(peer->port, data, size), 0);
	orma_config_free(data);
}

static inline void peer_register_writer(void *ctx, uint32_t writer_id, uint32_t target_buffer)
{
	struct peer *peer = ctx;

	peer->writers++;
	orma_producer_port_register_writer(peer->port, writer_id, target_buffer);
}

static inline void peer_unregister_writer(void *ctx, uint32_t writer_id)
{
	struct peer *peer = ctx;

	peer->writers--;
	orma_producer_port_unregister_writer(peer->port, writer_id);
}

static inline void peer_started(void *ctx, uint64_t id)
{
	orma_producer_port_data_source_started(((struct peer *)ctx)->port, id);
}

static inline void peer_stopped(void *ctx, uint64_t id)
{
	orma_producer_port_data_source_stopped(((struct peer *)ctx)->port, id);
}

static inline int peer_sync(void *ctx)
{
	return orma_transport_synced(((struct peer *)ctx)->transport);
}

static inline void peer_activate_triggers(void *ctx, const char *const *names, size_t count)
{
	orma_producer_port_activate_triggers(((struct peer *)ctx)->port, names, count);
}

static const struct orma_transport_ops peer_ops = {
	.struct_size = sizeof(peer_ops),
	.connect = peer_connect,
	.disconnect = peer_disconnect,
	.has_room = peer_has_room,
	.register_data_source = peer_register,
	.update_data_source = peer_update,
	.unregister_data_source = peer_unregister,
	.commit = peer_commit,
	.register_writer = peer_register_writer,
	.unregister_writer = peer_unregister_writer,
	.data_source_started = peer_started,
	.data_source_stopped = peer_stopped,
	.sync = peer_sync,
	.activate_triggers = peer_activate_triggers,
};

static inline struct orma_init_options peer_options(struct peer *peer)
{
	return (struct orma_init_options){
		.struct_size = sizeof(struct orma_init_options),
		.backends = ORMA_BACKEND_CUSTOM,
		.producer_name = "outside",
		.caller_drives = true,
		.transport = &peer_ops,
		.transport_ctx = peer,
	};
}

/* --- a session of the service's ----------------------------------------------------------------- */

static inline void peer_on_disabled(void *ctx, const char *error)
{
	struct peer *peer = ctx;

	peer->is_disabled++;
	snprintf(peer->disabled_error, sizeof(peer->disabled_error), "%s", error ? error : "");
}

static inline void peer_enable(struct peer *peer, const char *text)
{
	static const struct orma_consumer_callbacks callbacks = {
		.struct_size = sizeof(callbacks),
		.tracing_disabled = peer_on_disabled,
	};
	const struct orma_consumer_info info = {.struct_size = sizeof(info), .uid = getuid()};
	struct orma_error error = {0};
	void *config;
	size_t size;

	CHECK_INT(orma_consumer_port_open(peer->service, &info, &callbacks, peer, &peer->consumer),
		  0);
	CHECK_INT(orma_config_parse("test", text, strlen(text), &config, &size, &error), 0);
	if (orma_consumer_port_enable(peer->consumer, config, size, -1, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	orma_config_free(config);
}

/* One round of both sides: handles what is readable and what is due. */
static inline void peer_turn(struct peer *peer)
{
	struct pollfd poll_fd = {.fd = orma_poll_fd(), .events = POLLIN};

	poll(&poll_fd, 1, 1);
	CHECK_INT(orma_dispatch(), 0);
	orma_service_run(peer->service);
}

#define PEER_TURN_UNTIL(peer, condition)                                                           \
	do {                                                                                       \
		int turns_ = 0;                                                                    \
		while (!(condition)) {                                                             \
			CHECK(turns_++ < 20000);                                                   \
			peer_turn(peer);                                                           \
		}                                                                                  \
	} while (0)

static inline void peer_on_flushed(void *ctx, bool is_complete)
{
	*(int *)ctx = is_complete ? 1 : -1;
}

static inline int peer_flush_all(struct peer *peer)
{
	int done = 0;

	CHECK_INT(orma_consumer_port_flush(peer->consumer, 10000, 0, peer_on_flushed, &done), 0);
	PEER_TURN_UNTIL(peer, done != 0);
	return done;
}

/* Counts how often the bytes occur in the packets that can be read now. */
static inline size_t peer_read_and_count(struct peer *peer, const char *bytes, size_t size)
{
	struct orma_trace_batch batch;
	size_t count = 0;

	do {
		CHECK_INT(orma_consumer_port_read(peer->consumer, 1 << 20, &batch), 0);
		for (size_t i = 0; i < batch.count; i++)
			for (size_t at = 0; at + size <= batch.slices[i].size; at++)
				count += memcmp((const char *)batch.slices[i].data + at, bytes,
						size) == 0;
	} while (batch.has_more);
	return count;
}

#endif
