/* SPDX-License-Identifier: Apache-2.0
 * heap_service.h - the private tracing service behind the profiler's socket, to which profiled processes connect.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_SERVICE_H
#define ORMA_PROBES_HEAP_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/str.h"

struct orma_heap_service;
struct orma_heap_session;

/* The service begins to listen when the first session opens. `socket` is borrowed; NULL = orma_heap_socket(). 0 or -ENOMEM. */
int orma_heap_service_new(struct orma_loop *loop, const char *socket,
			  struct orma_heap_service **ret);
/* All sessions must be closed before. */
void orma_heap_service_free(struct orma_heap_service *service);

struct orma_heap_session_options {
	struct orma_str heapprofd_config; /* serialized; passed on to the processes */
	uint32_t buffer_kb, shm_kb;
	uint32_t stop_timeout_ms;
	bool waits_for_room; /* a process whose memory is full waits, instead of dropping a sample */
	void *ctx;
	/* A TracePacket of a process; valid during the call. */
	void (*packet)(void *ctx, struct orma_str packet);
};

/* Begins a session of orma.heap. The first session makes the service listen at the profiler's socket. 0; -EADDRINUSE if another profiler
 * listens there; or another -errno. */
int orma_heap_session_open(struct orma_heap_service *service,
			   const struct orma_heap_session_options *options,
			   struct orma_heap_session **ret);
/* Must not be called inside of packet(). NULL does nothing. */
void orma_heap_session_close(struct orma_heap_session *session);
typedef void orma_heap_session_fn(void *ctx);
/* Asks the processes for all their data, and waits for it at most timeout_ms. Then a later turn of the loop calls fn(); packet() has got
 * the data before that. Returns 0, or -EBUSY while another flush or a stop is in progress. */
int orma_heap_session_flush(struct orma_heap_session *session, uint32_t timeout_ms,
			    orma_heap_session_fn *fn);
/* Ends the session in the same way. */
int orma_heap_session_stop(struct orma_heap_session *session, orma_heap_session_fn *fn);

/* Returns $ORMA_HEAP_SOCK, or the default path. */
const char *orma_heap_socket(void);

#endif
