/* SPDX-License-Identifier: Apache-2.0
 * compress_worker.h - compresses the output of sessions on a thread per session, so that
 * compression takes no time from the service's thread.
 */
#ifndef ORMA_TOOL_COMPRESS_WORKER_H
#define ORMA_TOOL_COMPRESS_WORKER_H

#include <orma/service.h>

#include "base/loop.h"

struct orma_compress_worker;

/* Wakes `loop` when orma_compress_worker_dispatch() has something to report. */
int orma_compress_worker_new(struct orma_loop *loop, struct orma_compress_worker **ret);
/* Joins all threads. Blocks that were not taken are dropped. */
void orma_compress_worker_free(struct orma_compress_worker *worker);
/* Returns the operations for orma_service_options; compressor_ctx is the worker. */
struct orma_compressor_ops orma_compress_worker_ops(void);
/* Reports the sessions whose blocks have been finished since the last call. Returns true when there
 * was one. */
typedef void orma_compress_event_fn(void *ctx, uint64_t session_id);
bool orma_compress_worker_dispatch(struct orma_compress_worker *worker, orma_compress_event_fn *fn,
				   void *ctx);

#endif
