/* SPDX-License-Identifier: Apache-2.0
 * endpoint_local.c - the service of this process, on the same loop and thread.
 *
 * The library reaches it over an internal transport: the operations call a producer port of the service,
 * and the port's callbacks queue commands (endpoint_transport.c). The queue is needed because the service
 * must not be called from its own callbacks, and callbacks of data sources call it (they commit).
 * Memory is mapped a second time from its descriptor, because writers may outlive the service's own
 * mapping. Consumers of this process are served over socket pairs by the same host that serves a
 * daemon's.
 *
 * Rejected: the producer over a socket pair as well (twice the copies and wake-ups of every commit).
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "client/endpoint.h"
#include "host/host.h"

struct orma_client_local {
	struct orma_service *service;
	struct orma_host *host;
	struct orma_producer_port *port;  /* the endpoint's; NULL = none */
	struct orma_transport *transport; /* while there is a port */
};

/* --- commands of the service ------------------------------------------------------------------ */

static void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	/* The service's own descriptor: children of forks must not keep it. */
	orma_base_fd_set_close_on_fork(memory->fd);
	orma_transport_setup_tracing(ctx, memory->fd, memory->page_size_bytes);
}

static void on_setup_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	orma_transport_setup_data_source(ctx, instance_id, config, size);
}

static void on_start_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	orma_transport_start_data_source(ctx, instance_id, config, size);
}

static void on_stop_source(void *ctx, uint64_t instance_id)
{
	orma_transport_stop_data_source(ctx, instance_id);
}

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		     uint64_t flags)
{
	orma_transport_flush(ctx, request_id, instance_ids, count, flags);
}

static void on_clear(void *ctx, const uint64_t *instance_ids, size_t count)
{
	orma_transport_clear_incremental_state(ctx, instance_ids, count);
}

static const struct orma_producer_callbacks callbacks = {
	.struct_size = sizeof(callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup_source,
	.start_data_source = on_start_source,
	.stop_data_source = on_stop_source,
	.flush = on_flush,
	.clear_incremental_state = on_clear,
};

/* --- calls to the service --------------------------------------------------------------------- */

static int connect_port(void *ctx, struct orma_transport *transport,
			const struct orma_producer_info *hello)
{
	struct orma_client_local *local = ctx;
	struct orma_producer_info info = *hello;
	int r;

	ORMA_ASSERT(!local->port);
	info.is_in_process = true;
	r = orma_transport_up(transport);
	if (r == 0)
		r = orma_producer_port_open(local->service, &info, &callbacks, transport, NULL,
					    &local->port);
	local->transport = transport;
	return r;
}

static void disconnect_port(void *ctx, struct orma_transport *transport)
{
	struct orma_client_local *local = ctx;

	ORMA_ASSERT(local->transport == transport);
	orma_producer_port_close(ORMA_TAKE(local->port));
	orma_host_schedule(local->host);
}

static int register_source(void *ctx, const void *descriptor, size_t size)
{
	struct orma_client_local *local = ctx;
	int r = orma_producer_port_register_data_source(local->port, descriptor, size);

	orma_host_schedule(local->host);
	return r;
}

static int update_source(void *ctx, const void *descriptor, size_t size)
{
	struct orma_client_local *local = ctx;
	int r = orma_producer_port_update_data_source(local->port, descriptor, size);

	orma_host_schedule(local->host);
	return r;
}

static void unregister_source(void *ctx, const char *name)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_unregister_data_source(local->port, name);
	orma_host_schedule(local->host);
}

static void register_writer(void *ctx, uint32_t writer_id, uint32_t target_buffer)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_register_writer(local->port, writer_id, target_buffer);
}

static void unregister_writer(void *ctx, uint32_t writer_id)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_unregister_writer(local->port, writer_id);
}

static void commit(void *ctx, const struct orma_commit *commit)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_commit(local->port, commit);
	orma_host_schedule(local->host);
}

static void source_started(void *ctx, uint64_t instance_id)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_data_source_started(local->port, instance_id);
	orma_host_schedule(local->host);
}

static void source_stopped(void *ctx, uint64_t instance_id)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_data_source_stopped(local->port, instance_id);
	orma_host_schedule(local->host);
}

/* All earlier calls have taken effect already; only commands that they caused may still be queued. */
static int sync_with(void *ctx)
{
	struct orma_client_local *local = ctx;

	return orma_transport_synced(local->transport);
}

static void activate_triggers(void *ctx, const char *const *names, size_t count)
{
	struct orma_client_local *local = ctx;

	orma_producer_port_activate_triggers(local->port, names, count);
	orma_host_schedule(local->host);
}

static const struct orma_transport_ops ops = {
	.struct_size = sizeof(ops),
	.connect = connect_port,
	.disconnect = disconnect_port,
	.register_data_source = register_source,
	.update_data_source = update_source,
	.unregister_data_source = unregister_source,
	.register_writer = register_writer,
	.unregister_writer = unregister_writer,
	.commit = commit,
	.data_source_started = source_started,
	.data_source_stopped = source_stopped,
	.sync = sync_with,
	.activate_triggers = activate_triggers,
};

int orma_client_local_endpoint_new(struct orma_client_local *local,
				   const struct orma_client_endpoint_config *config,
				   struct orma_client_endpoint **ret)
{
	return orma_client_transport_endpoint_new(config, &ops, local, ret);
}

/* --- the service ------------------------------------------------------------------------------ */

int orma_client_local_new(struct orma_loop *loop, struct orma_client_local **ret)
{
	const struct orma_service_options options = {.struct_size = sizeof(options),
						     .scrape_by_default = true};
	struct orma_client_local *local = orma_base_zalloc(sizeof(*local));
	int r;

	if (!local)
		return -ENOMEM;
	r = orma_service_new(&options, &local->service);
	if (r == 0)
		r = orma_host_new(loop, local->service, &local->host);
	if (r < 0) {
		orma_client_local_free(local);
		return r;
	}
	*ret = local;
	return 0;
}

void orma_client_local_free(struct orma_client_local *local)
{
	if (!local)
		return;
	ORMA_ASSERT(!local->port);
	orma_host_free(local->host);
	orma_service_free(local->service);
	orma_base_free(local);
}

void orma_client_local_add_consumer(struct orma_client_local *local, int fd)
{
	if (orma_host_add_consumer_fd(local->host, fd) < 0)
		orma_base_fd_close(fd);
}
