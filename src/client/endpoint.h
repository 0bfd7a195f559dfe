/* SPDX-License-Identifier: Apache-2.0
 * endpoint.h - a service as seen by a producer: what it can be told, what it says.
 *
 * Three kinds: a daemon behind a socket (endpoint_socket.c), the service of this process
 * (endpoint_local.c), one behind a transport of the program (endpoint_custom.c). All of it happens
 * on the loop thread. Events come from the loop, never from inside a function of the endpoint; in
 * every event the endpoint may be freed.
 */
#ifndef ORMA_CLIENT_ENDPOINT_H
#define ORMA_CLIENT_ENDPOINT_H

#include <orma/init.h>
#include <orma/service.h>
#include <orma/transport.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct orma_client_endpoint;

struct orma_client_shared {
	int fd;                /* borrowed; -1 = emulated: the producer uses private memory */
	bool is_own;           /* no `fd`: the service uses the memory that it was offered */
	uint32_t page_bytes;   /* untrusted */
	bool can_hold_chunks;  /* the service copes with chunks that wait for their patches */
	bool wants_incomplete; /* emulated: unfinished chunks are to be sent at a flush */
};

struct orma_client_endpoint_events {
	/* Data sources can be registered. `uses_own`: the memory that was offered is taken. */
	void (*up)(void *ctx, bool uses_own);
	/* The last event: free the endpoint. */
	void (*down)(void *ctx, int error);
	/* A negative return ends the connection. */
	int (*setup_tracing)(void *ctx, const struct orma_client_shared *shared);
	void (*setup_source)(void *ctx, uint64_t instance_id, const void *config, size_t size);
	void (*start_source)(void *ctx, uint64_t instance_id, const void *config, size_t size);
	void (*stop_source)(void *ctx, uint64_t instance_id);
	void (*flush)(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		      uint64_t flags);
	void (*clear_incremental_state)(void *ctx, const uint64_t *instance_ids, size_t count);
	/* The answer to one sync(): all calls before it have taken effect. */
	void (*synced)(void *ctx);
};

struct orma_client_endpoint_ops {
	void (*free)(struct orma_client_endpoint *endpoint);
	/* Descriptors are serialized. Negative: not registered. */
	int (*register_source)(struct orma_client_endpoint *endpoint, const void *descriptor,
			       size_t size);
	int (*update_source)(struct orma_client_endpoint *endpoint, const void *descriptor,
			     size_t size);
	void (*unregister_source)(struct orma_client_endpoint *endpoint, const char *name);
	void (*register_writer)(struct orma_client_endpoint *endpoint, uint32_t writer_id,
				uint32_t target_buffer);
	void (*unregister_writer)(struct orma_client_endpoint *endpoint, uint32_t writer_id);
	void (*commit)(struct orma_client_endpoint *endpoint, const struct orma_commit *commit);
	/* False: commits have to wait, or the queue grows without bound. */
	bool (*has_room)(struct orma_client_endpoint *endpoint);
	void (*source_started)(struct orma_client_endpoint *endpoint, uint64_t instance_id);
	void (*source_stopped)(struct orma_client_endpoint *endpoint, uint64_t instance_id);
	int (*sync)(struct orma_client_endpoint *endpoint);
	void (*activate_triggers)(struct orma_client_endpoint *endpoint, const char *const *names,
				  size_t count);
};

struct orma_client_endpoint {
	const struct orma_client_endpoint_ops *ops;
	const struct orma_client_endpoint_events *events;
	void *ctx; /* of the events */
};

struct orma_client_endpoint_config {
	struct orma_loop *loop;
	const struct orma_client_endpoint_events *events;
	void *ctx;
	const char *producer_name;      /* borrowed for the endpoint's life */
	uint32_t shm_bytes, page_bytes; /* wishes, 0 = none */
	/* Memory that the service may use instead of its own, with pages of page_bytes; borrowed
	 * until `up` or `down`; -1 = none. */
	int own_fd;
	bool disable_scraping;
	const struct orma_ipc_trust *trust; /* of sockets */
};

/* 0 or -errno; with 0 either `up` or `down` follows. */
int orma_client_socket_endpoint_new(const struct orma_client_endpoint_config *config,
				    const char *address, struct orma_client_endpoint **ret);

/* Whether everything that a transport must have is there. */
bool orma_client_custom_is_valid(const struct orma_transport_ops *ops);
/* Over the program's own transport; `ops` outlives the endpoint. */
int orma_client_custom_endpoint_new(const struct orma_client_endpoint_config *config,
				    const struct orma_transport_ops *ops, void *ops_ctx,
				    struct orma_client_endpoint **ret);

/* The service of this process, and what serves its consumers; outlives its endpoints. */
struct orma_client_local;

int orma_client_local_new(struct orma_loop *loop, struct orma_client_local **ret);
void orma_client_local_free(struct orma_client_local *local);
int orma_client_local_endpoint_new(struct orma_client_local *local,
				   const struct orma_client_endpoint_config *config,
				   struct orma_client_endpoint **ret);
/* Takes the descriptor over, also on failure. */
void orma_client_local_add_consumer(struct orma_client_local *local, int fd);

#endif
