/* SPDX-License-Identifier: Apache-2.0
 * endpoint.h - a producer's connection to a service: calls to the service, and events from it.
 *
 *   endpoint_socket.c      a daemon behind a socket
 *   endpoint_transport.c   a service behind a transport of the program's own (orma/transport.h)
 *   endpoint_local.c       the service of this process, behind a transport of ours
 *
 * All three are called through the same table of operations, struct orma_transport_ops, and answer
 * through the same events. Everything happens on the loop thread. Events come from the loop, never from
 * inside a function of the endpoint; every event may free the endpoint.
 */
#ifndef ORMA_CLIENT_ENDPOINT_H
#define ORMA_CLIENT_ENDPOINT_H

#include <errno.h>
#include <orma/transport.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "ipc/trust.h"

struct orma_client_link;

struct orma_client_shared {
	int fd;                /* borrowed; -1 = emulated: the producer uses private memory */
	bool is_own;           /* no `fd`: the service uses the memory that it was offered */
	uint32_t page_bytes;   /* untrusted */
	bool can_hold_chunks;  /* the service supports chunks that wait for their patches */
	bool wants_incomplete; /* emulated: unfinished chunks are to be sent at a flush */
};

/* Calls of the link, one for each command of the service. */
struct orma_client_endpoint_events {
	/* Data sources can be registered. `uses_own`: the memory that was offered is taken. */
	void (*up)(struct orma_client_link *link, bool uses_own);
	/* The last event: free the endpoint. */
	void (*down)(struct orma_client_link *link, int error);
	/* A negative return ends the connection. */
	int (*setup_tracing)(struct orma_client_link *link,
			     const struct orma_client_shared *shared);
	void (*setup_source)(struct orma_client_link *link, uint64_t instance_id,
			     const void *config, size_t size);
	void (*start_source)(struct orma_client_link *link, uint64_t instance_id,
			     const void *config, size_t size);
	void (*stop_source)(struct orma_client_link *link, uint64_t instance_id);
	void (*flush)(struct orma_client_link *link, uint64_t request_id,
		      const uint64_t *instance_ids, size_t count, uint64_t flags);
	void (*clear_incremental_state)(struct orma_client_link *link, const uint64_t *instance_ids,
					size_t count);
	/* The answer to one sync(): all calls before it have taken effect. */
	void (*synced)(struct orma_client_link *link);
};

/* The first member of each kind of endpoint. */
struct orma_client_endpoint {
	/* connect, disconnect, poll_fd and readable are called by endpoint_transport.c only. */
	const struct orma_transport_ops *ops;
	void *ops_ctx;
	void (*free)(struct orma_client_endpoint *endpoint);
	const struct orma_client_endpoint_events *events;
	struct orma_client_link *link; /* handed to the events */
};

struct orma_client_endpoint_config {
	struct orma_loop *loop;
	const struct orma_client_endpoint_events *events;
	struct orma_client_link *link;
	const char *producer_name;      /* borrowed for the endpoint's life */
	uint32_t shm_bytes, page_bytes; /* wishes, 0 = none */
	/* Memory that the service may use instead of its own, with pages of page_bytes; borrowed
	 * until `up` or `down`; -1 = none. */
	int own_fd;
	bool disable_scraping;
	const struct orma_ipc_trust *trust; /* for sockets */
};

/* These three: 0 or -errno; with 0 either `up` or `down` follows. */
int orma_client_socket_endpoint_new(const struct orma_client_endpoint_config *config,
				    const char *address, struct orma_client_endpoint **ret);
/* `ops` outlives the endpoint. */
int orma_client_transport_endpoint_new(const struct orma_client_endpoint_config *config,
				       const struct orma_transport_ops *ops, void *ops_ctx,
				       struct orma_client_endpoint **ret);
struct orma_client_local;
int orma_client_local_endpoint_new(struct orma_client_local *local,
				   const struct orma_client_endpoint_config *config,
				   struct orma_client_endpoint **ret);

/* Whether a transport has every required function. */
bool orma_client_transport_is_valid(const struct orma_transport_ops *ops);

/* The service of this process, and the host that serves its consumers. Outlives its endpoint, of which
 * there is one at a time. */
int orma_client_local_new(struct orma_loop *loop, struct orma_client_local **ret);
void orma_client_local_free(struct orma_client_local *local);
/* Takes the descriptor over, also on failure. */
void orma_client_local_add_consumer(struct orma_client_local *local, int fd);

/* --- calls to the service --------------------------------------------------------------------- */

/* Descriptors are serialized. Negative: not registered. */
static inline int orma_client_endpoint_register_source(struct orma_client_endpoint *endpoint,
						       const void *descriptor, size_t size)
{
	return endpoint->ops->register_data_source(endpoint->ops_ctx, descriptor, size);
}

/* -ENOTSUP: the source has to be unregistered and registered again to change its descriptor. */
static inline int orma_client_endpoint_update_source(struct orma_client_endpoint *endpoint,
						     const void *descriptor, size_t size)
{
	return endpoint->ops->update_data_source
		       ? endpoint->ops->update_data_source(endpoint->ops_ctx, descriptor, size)
		       : -ENOTSUP;
}

static inline void orma_client_endpoint_unregister_source(struct orma_client_endpoint *endpoint,
							  const char *name)
{
	endpoint->ops->unregister_data_source(endpoint->ops_ctx, name);
}

static inline void orma_client_endpoint_register_writer(struct orma_client_endpoint *endpoint,
							uint32_t writer_id, uint32_t target_buffer)
{
	if (endpoint->ops->register_writer)
		endpoint->ops->register_writer(endpoint->ops_ctx, writer_id, target_buffer);
}

static inline void orma_client_endpoint_unregister_writer(struct orma_client_endpoint *endpoint,
							  uint32_t writer_id)
{
	if (endpoint->ops->unregister_writer)
		endpoint->ops->unregister_writer(endpoint->ops_ctx, writer_id);
}

/* False: commits have to wait, or the queue grows without bound. */
static inline bool orma_client_endpoint_has_room(const struct orma_client_endpoint *endpoint)
{
	return !endpoint->ops->has_room || endpoint->ops->has_room(endpoint->ops_ctx);
}

static inline void orma_client_endpoint_commit(struct orma_client_endpoint *endpoint,
					       const struct orma_commit *commit)
{
	endpoint->ops->commit(endpoint->ops_ctx, commit);
}

static inline void orma_client_endpoint_source_started(struct orma_client_endpoint *endpoint,
						       uint64_t instance_id)
{
	endpoint->ops->data_source_started(endpoint->ops_ctx, instance_id);
}

static inline void orma_client_endpoint_source_stopped(struct orma_client_endpoint *endpoint,
						       uint64_t instance_id)
{
	endpoint->ops->data_source_stopped(endpoint->ops_ctx, instance_id);
}

/* The event `synced` follows. Negative: it will not. */
static inline int orma_client_endpoint_sync(struct orma_client_endpoint *endpoint)
{
	return endpoint->ops->sync(endpoint->ops_ctx);
}

static inline void orma_client_endpoint_activate_triggers(struct orma_client_endpoint *endpoint,
							  const char *const *names, size_t count)
{
	if (endpoint->ops->activate_triggers)
		endpoint->ops->activate_triggers(endpoint->ops_ctx, names, count);
}

#endif
