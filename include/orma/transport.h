/* SPDX-License-Identifier: Apache-2.0
 * orma/transport.h - the library as a producer over a transport of the program's own.
 *
 * For embedders whose processes talk to each other already: track events and data sources reach a
 * service (orma/service.h) in another process over that connection instead of the daemon's socket.
 * With ORMA_BACKEND_CUSTOM and a transport in orma_init_options, the library calls the functions of
 * struct orma_transport_ops, one per function of a producer port; the program sends them over, and
 * calls the functions below with what the other side's struct orma_producer_callbacks were told:
 *
 *	the library --ops-->  program . . . . . . program --orma_producer_port_x()--> the service
 *	the library <--orma_transport_x()-- program . . . . . program <--callbacks--  the service
 *
 * One connection: connect() -> orma_transport_up() -> ... -> disconnect(). When it is lost, or
 * refused, the program says orma_transport_down(), and the library connects anew after a while
 * (100 ms, later up to 2 s). Everything is registered anew then.
 *
 * Memory: either sealed memory that came with a descriptor (the service's struct
 * orma_shared_memory), or none that is shared (a service that was told cannot_pass_fds): then each
 * chunk travels in its commit. Nothing that comes from the service is trusted; what is wrong ends
 * the connection.
 *
 * Threads: ops are called on the library's thread (with caller_drives: inside orma_dispatch(),
 *          orma_init() and orma_shutdown()), one at a time; they must not block for long, and must
 *          not call orma_init() or orma_shutdown(). The functions below are MT-safe; what they bring
 *          is carried out on the library's thread, in order.
 * fork:    the child has no connection. When it becomes a producer of its own, connect() is called in
 *          it with the same context; disconnect() is not.
 */
#ifndef ORMA_TRANSPORT_H
#define ORMA_TRANSPORT_H

#include <orma/api.h>
#include <orma/service.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's side of one connection: valid from connect() until disconnect() has returned. No
 * thread of the program's may use it afterwards. */
struct orma_transport;

/* `ctx` is transport_ctx of the options. Only poll_fd, readable, has_room, update_data_source,
 * register_writer, unregister_writer and activate_triggers may be NULL. */
struct orma_transport_ops {
	size_t struct_size;
	/*
	 * Begin a connection. `hello` is borrowed: name, hints, scraping_mode; its uid and pid are
	 * the process's own word, and the other side had better ask the kernel. 0, and then
	 * orma_transport_up() or _down() follows, from in here or later; negative: no connection,
	 * and `transport` is not valid.
	 */
	int (*connect)(void *ctx, struct orma_transport *transport,
		       const struct orma_producer_info *hello);
	/* The connection is over, whoever ended it. Once per connect() that returned 0. */
	void (*disconnect)(void *ctx, struct orma_transport *transport);
	/* A descriptor that the library's thread polls for reading while connected, calling
	 * readable(); asked once after connect(). -1 = none. The program keeps it open until
	 * disconnect(). */
	int (*poll_fd)(void *ctx);
	void (*readable)(void *ctx);
	/* False: the library holds its commits back, asks again every millisecond, and counts what
	 * finds no room meanwhile as lost. NULL = there is always room. */
	bool (*has_room)(void *ctx);

	/* Serialized DataSourceDescriptors. Negative: not registered, and not tried again. NULL for
	 * update: unregistered and registered anew while nobody uses it. */
	int (*register_data_source)(void *ctx, const void *descriptor, size_t size);
	int (*update_data_source)(void *ctx, const void *descriptor, size_t size);
	void (*unregister_data_source)(void *ctx, const char *name);
	/* For orma_producer_port_commit(); orma_commit_encode() makes bytes of it. */
	void (*commit)(void *ctx, const struct orma_commit *commit);
	void (*register_writer)(void *ctx, uint32_t writer_id, uint32_t target_buffer);
	void (*unregister_writer)(void *ctx, uint32_t writer_id);
	void (*data_source_started)(void *ctx, uint64_t instance_id);
	void (*data_source_stopped)(void *ctx, uint64_t instance_id);
	/* orma_transport_synced() is to follow once the service has seen all that was sent before.
	 * Negative: it will not. */
	int (*sync)(void *ctx);
	void (*activate_triggers)(void *ctx, const char *const *names, size_t count);
};

/**
 * orma_transport_up() - connected: data sources can be registered. Once, and before everything
 * else.
 * orma_transport_down() - the connection is lost or was refused; the last call.
 * @error: a negative errno value; -EPROTO makes the library wait longer before it connects anew.
 *
 * These and all below return 0, -EINVAL, -ENOMEM, or -ENOBUFS (4,096 commands wait to be carried
 * out); the last two end the connection.
 */
ORMA_API int orma_transport_up(struct orma_transport *transport);
ORMA_API int orma_transport_down(struct orma_transport *transport, int error);
/**
 * orma_transport_setup_tracing() - the memory, once, before the first data source is set up.
 * @memory_fd: a memfd sealed against shrinking, duplicated; -1 = none that is shared.
 * @page_size_bytes: as the service says.
 *
 * Returns what orma_transport_up() says.
 */
ORMA_API int orma_transport_setup_tracing(struct orma_transport *transport, int memory_fd,
					  uint32_t page_size_bytes);
/**
 * What the callbacks of struct orma_producer_callbacks were told. `config` is a serialized
 * DataSourceConfig. All pointers are borrowed. Return what orma_transport_up() says.
 */
ORMA_API int orma_transport_setup_data_source(struct orma_transport *transport,
					      uint64_t instance_id, const void *config,
					      size_t size);
ORMA_API int orma_transport_start_data_source(struct orma_transport *transport,
					      uint64_t instance_id, const void *config,
					      size_t size);
ORMA_API int orma_transport_stop_data_source(struct orma_transport *transport,
					     uint64_t instance_id);
ORMA_API int orma_transport_flush(struct orma_transport *transport, uint64_t request_id,
				  const uint64_t *instance_ids, size_t count, uint64_t flags);
ORMA_API int orma_transport_clear_incremental_state(struct orma_transport *transport,
						    const uint64_t *instance_ids, size_t count);
/** orma_transport_synced() - the answer to one sync(). Returns what orma_transport_up() says. */
ORMA_API int orma_transport_synced(struct orma_transport *transport);

/**
 * orma_commit_encode() - a commit as bytes (a serialized CommitDataRequest), chunks included.
 * @ret_data: owned by the caller, freed with orma_config_free().
 *
 * For orma_producer_port_commit_encoded() at the other end. Returns 0, -EINVAL, -ENOMEM.
 */
ORMA_API int orma_commit_encode(const struct orma_commit *commit, void **ret_data,
				size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
