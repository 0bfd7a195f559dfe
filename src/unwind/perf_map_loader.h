/* SPDX-License-Identifier: Apache-2.0
 * perf_map_loader.h - reads perf maps of other processes, and waits for them no longer than a reader of samples can.
 *
 * Threads: a loader and its loads belong to one thread.
 */
#ifndef ORMA_UNWIND_PERF_MAP_LOADER_H
#define ORMA_UNWIND_PERF_MAP_LOADER_H

#include <stdint.h>

#include "unwind/perf_map.h"

struct orma_perf_map_loader;
struct orma_perf_map_load;

/* As orma_perf_map_read(); tests have others. It runs on the loader's thread. */
typedef int orma_perf_map_read_fn(int32_t pid, struct orma_perf_map_mark *mark,
				  struct orma_perf_map **ret);

/* `fn` may be NULL. 0, -ENOMEM or another -errno. */
int orma_perf_map_loader_new(orma_perf_map_read_fn *fn, struct orma_perf_map_loader **ret);
/* No load may exist any more. NULL does nothing. */
void orma_perf_map_loader_free(struct orma_perf_map_loader *loader);
/* `*load` is NULL at first. -EAGAIN sets it: call again later, or drop it. Otherwise as orma_perf_map_read(). */
int orma_perf_map_loader_read(struct orma_perf_map_loader *loader, int32_t pid,
			      struct orma_perf_map_mark *mark, struct orma_perf_map_load **load,
			      struct orma_perf_map **ret);
/* NULL does nothing. */
void orma_perf_map_load_free(struct orma_perf_map_load *load);

#endif
