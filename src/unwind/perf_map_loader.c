/* SPDX-License-Identifier: Apache-2.0
 * perf_map_loader.c - a thread that reads perf maps.
 *
 * A map lies in the mount namespace of its process. A user may serve that file system, and let each read() wait for ever. The
 * reader of samples must serve other processes meanwhile. So it waits at most MAX_NS at once and a tenth of the time in the long
 * run (patience.h), and asks again later. Tables have a thread of their own (unwind_files.c), so that they never wait for names.
 */
#include "unwind/perf_map_loader.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "unwind/load_queue.h"
#include "unwind/patience.h"

/* A map of 10 MiB takes 50 ms on an idle machine. */
#define MAX_NS (500 * ORMA_NS_PER_MS)

struct orma_perf_map_loader {
	struct orma_load_queue *queue;
	orma_perf_map_read_fn *fn;
	struct orma_unwind_patience patience;
};

struct orma_perf_map_load {
	struct orma_load_job job; /* first */
	struct orma_perf_map_loader *loader;
	orma_perf_map_read_fn *fn; /* the thread may outlive the loader */
	int32_t pid;
	struct orma_perf_map_mark mark;
	int result;
	struct orma_perf_map *map;
};

/* --- on the thread ---------------------------------------------------------------------------- */

static void read_map(struct orma_load_job *job)
{
	struct orma_perf_map_load *load = ORMA_CONTAINER_OF(job, struct orma_perf_map_load, job);

	load->result = load->fn(load->pid, &load->mark, &load->map);
}

static void run_nothing(void *ctx, struct orma_load_job *job)
{
	(void)ctx, (void)job;
}

static void free_load(struct orma_load_job *job)
{
	struct orma_perf_map_load *load = ORMA_CONTAINER_OF(job, struct orma_perf_map_load, job);

	orma_perf_map_free(load->map);
	orma_base_free(load);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static const struct orma_load_queue_ops ops = {
	.open = read_map,
	.run = run_nothing,
	.free = free_load,
	.rest = nothing,
	.stop = nothing,
	.end = nothing,
};

/* --- interface -------------------------------------------------------------------------------- */

int orma_perf_map_loader_new(orma_perf_map_read_fn *fn, struct orma_perf_map_loader **ret)
{
	struct orma_perf_map_loader *loader = orma_base_zalloc(sizeof(*loader));

	if (!loader)
		return -ENOMEM;
	loader->fn = fn ? fn : orma_perf_map_read;
	loader->patience = (struct orma_unwind_patience){.max_ns = MAX_NS, .left_ns = MAX_NS};
	int r = orma_load_queue_new(&ops, NULL, &loader->queue);
	if (r < 0) {
		orma_base_free(loader);
		return r;
	}
	*ret = loader;
	return 0;
}

void orma_perf_map_loader_free(struct orma_perf_map_loader *loader)
{
	if (!loader)
		return;
	orma_load_queue_free(loader->queue);
	orma_base_free(loader);
}

static int begin(struct orma_perf_map_loader *loader, int32_t pid,
		 const struct orma_perf_map_mark *mark, struct orma_perf_map_load **ret)
{
	struct orma_perf_map_load *load = orma_base_zalloc(sizeof(*load));

	if (!load)
		return -ENOMEM;
	load->job.place = (uint64_t)pid;
	load->loader = loader;
	load->fn = loader->fn;
	load->pid = pid;
	load->mark = *mark;
	int r = orma_load_queue_add(loader->queue, &load->job);
	if (r < 0)
		orma_base_free(load);
	else
		*ret = load;
	return r;
}

int orma_perf_map_loader_read(struct orma_perf_map_loader *loader, int32_t pid,
			      struct orma_perf_map_mark *mark, struct orma_perf_map_load **load,
			      struct orma_perf_map **ret)
{
	int r = *load ? 0 : begin(loader, pid, mark, load);

	if (r < 0)
		return r;
	uint64_t left_ns =
		orma_unwind_patience_left(&loader->patience, orma_base_clock_ns(CLOCK_MONOTONIC));
	bool is_done = orma_load_queue_wait(loader->queue, &(*load)->job, left_ns);
	orma_unwind_patience_spend(&loader->patience, orma_base_clock_ns(CLOCK_MONOTONIC));
	if (!is_done)
		return -EAGAIN;
	r = (*load)->result;
	if (r == 0) {
		*mark = (*load)->mark;
		*ret = ORMA_TAKE((*load)->map);
	}
	orma_perf_map_load_free(ORMA_TAKE(*load));
	return r;
}

void orma_perf_map_load_free(struct orma_perf_map_load *load)
{
	if (load)
		orma_load_queue_unref(load->loader->queue, &load->job);
}
