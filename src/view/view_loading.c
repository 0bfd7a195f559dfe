/* SPDX-License-Identifier: Apache-2.0
 * view_loading.c - loads the trace on the worker's thread, and tells how far that is.
 *
 * The two counters of the progress are the only data that both threads touch without the worker's mutex.
 */
#include <errno.h>

#include "base/alloc.h"
#include "view/view_respond.h"
#include "view/view_server_state.h"

/* A job that loads the trace. */
struct loading {
	struct orma_view_job job;
	struct orma_view_server *server;
	struct orma_view_shown *shown;
	int result;
};

static int note_progress(void *ctx, uint64_t read_bytes, uint64_t all_bytes)
{
	struct loading *loading = ctx;
	atomic_store_explicit(&loading->server->read_bytes, read_bytes, memory_order_relaxed);
	atomic_store_explicit(&loading->server->all_bytes, all_bytes, memory_order_relaxed);
	return orma_view_job_is_cancelled(&loading->job) ? -ECANCELED : 0;
}

static void run_loading(struct orma_view_job *job)
{
	struct loading *loading = ORMA_CONTAINER_OF(job, struct loading, job);
	const struct orma_view_server_options *options = &loading->server->options;
	struct orma_view_shown *shown = loading->shown;
	loading->result = options->load(options->ctx, note_progress, loading, &shown->trace);
	if (loading->result == 0)
		loading->result =
			orma_view_new(shown->trace.database, options->title, &shown->view);
}

static void end_loading(struct orma_view_job *job)
{
	struct loading *loading = ORMA_CONTAINER_OF(job, struct loading, job);
	struct orma_view_server *server = loading->server;
	struct orma_view_shown *shown = loading->shown;
	int r = job->has_run ? loading->result : -ECANCELED;
	if (r == 0) {
		orma_view_shown_add(server, shown);
		orma_view_questions_answer_waiting(server);
	} else {
		orma_view_shown_release(server, shown);
	}
	orma_base_free(loading);
	if (server->options.loaded)
		server->options.loaded(server->options.ctx, r);
}

int orma_view_server_load(struct orma_view_server *server)
{
	struct loading *loading = orma_base_zalloc(sizeof(*loading));
	struct orma_view_shown *shown = orma_base_zalloc(sizeof(*shown));
	if (!loading || !shown) {
		orma_base_free(loading);
		orma_base_free(shown);
		return -ENOMEM;
	}
	shown->use_count = 1;
	loading->server = server;
	loading->shown = shown;
	loading->job.run = run_loading;
	loading->job.done = end_loading;
	orma_view_worker_add(server->worker, &loading->job);
	return 0;
}

void orma_view_respond_progress(const struct orma_view_server *server,
				struct orma_http_connection *connection, int status)
{
	struct orma_buf json = {0};
	uint64_t read_bytes = atomic_load_explicit(&server->read_bytes, memory_order_relaxed);
	uint64_t all_bytes = atomic_load_explicit(&server->all_bytes, memory_order_relaxed);
	int r = orma_base_buf_printf(&json,
				     "{\"loading\":%s,\"read_bytes\":%llu,\"all_bytes\":%llu,"
				     "\"error\":null}",
				     server->shown ? "false" : "true",
				     (unsigned long long)read_bytes, (unsigned long long)all_bytes);
	orma_view_respond_json(connection, status, NULL, r, &json);
}
