/* SPDX-License-Identifier: Apache-2.0
 * raw_producer.h - a producer without the client library: follows the service's commands, maps
 * the shared memory and writes chunks into it byte by byte.
 */
#ifndef ORMA_TESTS_INTEGRATION_RAW_PRODUCER_H
#define ORMA_TESTS_INTEGRATION_RAW_PRODUCER_H

#include "base/buf.h"
#include "raw_client.h"
#include "schema/gen/producer_port.pb.h"
#include "shm/abi.h"

#define ORMA_RAW_INSTANCES_MAX 16

struct orma_raw_instance {
	uint64_t id;
	char name[64];
	uint32_t target_buffer;
	bool is_started, is_stopped;
};

struct orma_raw_producer {
	struct orma_raw_client client;
	uint64_t commands_id; /* the id of the GetAsyncCommand call */
	bool uses_own_memory; /* the service took the memory that was offered */
	bool is_emulated;     /* no memory is shared, chunks go inside commits */
	int shm_fd;           /* from the service, -1 = none yet */
	uint8_t *shm;         /* mapping; NULL = none yet */
	size_t shm_bytes;
	uint32_t page_bytes;
	struct orma_raw_instance instances[ORMA_RAW_INSTANCES_MAX];
	size_t instance_count;
	uint64_t flush_request_id; /* the last one asked for */
};

/* Connects and binds, and sends nothing else. */
void orma_raw_producer_connect(struct orma_raw_producer *producer, const char *path);
void orma_raw_producer_connect_tcp(struct orma_raw_producer *producer, uint16_t port);
/* Sends InitializeConnection with these arguments (text format) and a descriptor or -1; returns
 * the reply. */
struct orma_raw_frame *orma_raw_producer_initialize(struct orma_raw_producer *producer,
						    const char *args, int shm_fd);
/* Asks for the stream of commands. */
void orma_raw_producer_listen(struct orma_raw_producer *producer);
/* All of the above; scraping is allowed. */
void orma_raw_producer_open(struct orma_raw_producer *producer, const char *path, const char *name);
void orma_raw_producer_close(struct orma_raw_producer *producer);

/* RegisterDataSource with a descriptor in text format; fails the test when it is refused. */
void orma_raw_producer_register(struct orma_raw_producer *producer, const char *descriptor);
/* Waits for one command, records and returns it. */
const struct orma_pb_get_async_command_response *
orma_raw_producer_command(struct orma_raw_producer *producer);
/* Read commands until the named data source has been started or stopped, or until a flush is
 * requested. */
struct orma_raw_instance *orma_raw_producer_await_start(struct orma_raw_producer *producer,
							const char *name);
void orma_raw_producer_await_stop(struct orma_raw_producer *producer, const char *name);
uint64_t orma_raw_producer_await_flush(struct orma_raw_producer *producer);
/* A fence: returns when everything that was sent before has been handled. */
void orma_raw_producer_sync(struct orma_raw_producer *producer);

/* --- chunks ----------------------------------------------------------------------------------- */

struct orma_raw_chunk {
	uint32_t page_idx;
	enum orma_shm_layout layout; /* 0 = the whole page */
	uint32_t chunk_idx;
	enum orma_shm_state state; /* 0 = complete */
	uint32_t chunk_id;
	uint16_t writer_id;
	uint16_t fragment_count;
	uint8_t flags;
	struct orma_str payload;
};

/* Writes the chunk and then its page's word; other chunks of the page stay as they are. */
void orma_raw_producer_write(struct orma_raw_producer *producer,
			     const struct orma_raw_chunk *chunk);
/* Sends CommitData (text format), without a reply or waiting for it. */
void orma_raw_producer_commit(struct orma_raw_producer *producer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Commits a chunk that lies in the message itself, header included. */
void orma_raw_producer_commit_bytes(struct orma_raw_producer *producer, struct orma_str chunk,
				    uint32_t target_buffer, bool is_incomplete);
/* Writes one whole chunk and commits it. */
void orma_raw_producer_write_and_commit(struct orma_raw_producer *producer,
					const struct orma_raw_chunk *chunk, uint32_t target_buffer);

/* Appends a fragment: size and bytes. */
void orma_raw_fragment(struct orma_buf *payload, const void *data, size_t size);
/* A fragment with a test packet whose text is given. */
void orma_raw_test_packet(struct orma_buf *payload, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
