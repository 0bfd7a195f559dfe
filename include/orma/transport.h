/* SPDX-License-Identifier: Apache-2.0
 * orma/transport.h - the library as a producer over the program's own transport.
 *
 * This is for programs whose processes have a connection already. Track events and data sources
 * reach a service (orma/service.h) in another process over that connection instead of the daemon's
 * socket. When orma_init_options has ORMA_BACKEND_CUSTOM and a transport, the library calls the
 * functions of struct orma_transport_ops, one for each function of a producer port. The program
 * transfers each call to the other process. It also transfers the calls of struct
 * orma_producer_callbacks in the other direction, and passes them to the functions below:
 *
 *	the library --ops-->  program . . . . . . program --orma_producer_port_x()--> the service
 *	the library <--orma_transport_x()-- program . . . . . program <--callbacks--  the service
 *
 * A connection goes through connect() -> orma_transport_up() -> ... -> disconnect(). When it is
 * lost or refused, the program calls orma_transport_down(). The library then connects again after
 * 100 ms, later up to 2 s, and registers everything again.
 *
 * Memory: the two sides either share sealed memory, which the program passes as a descriptor (the
 * service's struct orma_shared_memory), or share none (cannot_pass_fds in the service's options).
 * Without shared memory each commit contains its chunks. The library trusts nothing that the
 * service sends; invalid data ends the connection.
 *
 * Threads: ops are called on the library's thread (with caller_drives: inside orma_dispatch(),
 *          orma_init() and orma_shutdown()), one at a time. They must not block for long, and must
 *          not call orma_init() or orma_shutdown(). The functions below are MT-safe; the library's
 *          thread carries their commands out in order.
 * fork:    the child has no connection. When it becomes a producer of its own, the library calls
 *          connect() in it with the same context, without disconnect() before.
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
 * thread of the program may use it afterwards. */
struct orma_transport;

/* `ctx` is transport_ctx of the options. Only poll_fd, readable, has_room, update_data_source,
 * register_writer, unregister_writer and activate_triggers may be NULL. */
struct orma_transport_ops {
	size_t struct_size;
	/*
	 * Begin a connection. `hello` is borrowed and has name, hints and scraping_mode. Its uid
	 * and pid are claims of this process; the other side should ask the kernel instead. If
	 * connect() returns 0, the program calls orma_transport_up() or _down(), inside connect()
	 * or later. A negative value means that there is no connection; `transport` is not valid
	 * then.
	 */
	int (*connect)(void *ctx, struct orma_transport *transport,
		       const struct orma_producer_info *hello);
	/* The connection has ended, by either side. Called once per connect() that returned 0. */
	void (*disconnect)(void *ctx, struct orma_transport *transport);
	/* Returns a descriptor that the library's thread polls while connected, calling readable()
	 * when it is readable; -1 = none. Called once after connect(). The program keeps the
	 * descriptor open until disconnect(). */
	int (*poll_fd)(void *ctx);
	void (*readable)(void *ctx);
	/* While this returns false, the library holds commits back and asks again every
	 * millisecond. Packets that find no room meanwhile are counted as lost. NULL = there is
	 * always room. */
	bool (*has_room)(void *ctx);

	/* The descriptors are serialized DataSourceDescriptors. After a negative value the data
	 * source is not registered and not tried again. Without update_data_source, a changed data
	 * source is unregistered and registered again while it has no instance. */
	int (*register_data_source)(void *ctx, const void *descriptor, size_t size);
	int (*update_data_source)(void *ctx, const void *descriptor, size_t size);
	void (*unregister_data_source)(void *ctx, const char *name);
	/* The other side passes it to orma_producer_port_commit(). orma_commit_encode() serializes
	 * it. */
	void (*commit)(void *ctx, const struct orma_commit *commit);
	void (*register_writer)(void *ctx, uint32_t writer_id, uint32_t target_buffer);
	void (*unregister_writer)(void *ctx, uint32_t writer_id);
	void (*data_source_started)(void *ctx, uint64_t instance_id);
	void (*data_source_stopped)(void *ctx, uint64_t instance_id);
	/* The program calls orma_transport_synced() once the service has received everything that
	 * was sent before. A negative value means that it will not. */
	int (*sync)(void *ctx);
	void (*activate_triggers)(void *ctx, const char *const *names, size_t count);
};

/**
 * orma_transport_up() - the connection exists: data sources can be registered. Call it once, before
 * any other function.
 * orma_transport_down() - the connection is lost or was refused. This is the last call.
 * @error: a negative errno value; -EPROTO makes the library wait longer before it connects again.
 *
 * These and all functions below return 0, -EINVAL, -ENOMEM, or -ENOBUFS (4,096 commands are
 * waiting); the last two end the connection.
 */
ORMA_API int orma_transport_up(struct orma_transport *transport);
ORMA_API int orma_transport_down(struct orma_transport *transport, int error);
/**
 * orma_transport_setup_tracing() - pass the memory. Call it once, before the first data source is
 * set up.
 * @memory_fd: a memfd sealed against shrinking; the library duplicates it. -1 = no shared memory.
 * @page_size_bytes: the size that the service chose.
 *
 * Returns the values of orma_transport_up().
 */
ORMA_API int orma_transport_setup_tracing(struct orma_transport *transport, int memory_fd,
					  uint32_t page_size_bytes);
/**
 * These functions carry out the calls of struct orma_producer_callbacks. `config` is a serialized
 * DataSourceConfig. All pointers are borrowed. They return the values of orma_transport_up().
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
/** orma_transport_synced() - the answer to one sync(). Returns the values of orma_transport_up().
 */
ORMA_API int orma_transport_synced(struct orma_transport *transport);

/**
 * orma_commit_encode() - serialize a commit (as a CommitDataRequest) with its chunks.
 * @ret_data: owned by the caller; free it with orma_config_free().
 *
 * The other side passes them to orma_producer_port_commit_encoded(). Returns 0, -EINVAL, -ENOMEM.
 */
ORMA_API int orma_commit_encode(const struct orma_commit *commit, void **ret_data,
				size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
