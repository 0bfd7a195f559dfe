/* SPDX-License-Identifier: Apache-2.0
 * view_server.c - routes: what a request is for, whether it may have it, and who answers.
 *
 * A request for the worker is a `struct answer`, which holds a copy of the body. It belongs to the worker until it is done.
 * Its connection may end before: then `connection` is NULL, the job is cancelled, and the answer goes nowhere.
 *
 * While the trace is being loaded there is no view, and questions wait for it.
 * A live trace is loaded again and again, and a page shows the one before for a moment. So a question says of which
 * generation it is, and the last ones are kept: rows and lanes of another one would be other rows and lanes.
 *
 * The two counters of the progress are the only data that both threads touch without the worker's mutex.
 */
#include "view/view_server.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/str.h"
#include "view/http_server.h"
#include "view/json_request.h"
#include "view/peer_user.h"
#include "view/trace_view.h"
#include "view/view_respond.h"
#include "view/view_sql.h"
#include "view/view_worker.h"

#define QUERY_NS (60 * ORMA_NS_PER_SEC)
#define WAIT_NS  (25 * ORMA_NS_PER_SEC) /* after which a page that waits is answered all the same */

/* How many generations are kept beside the one that is shown: a page has to get the next one while the trace is loaded again. */
enum { KEPT_BEFORE = 2, GENERATION_MAX_DIGITS = 10 };

struct orma_view_server {
	struct orma_view_server_options options;
	struct orma_loop *loop;
	struct orma_http_server *http;
	struct orma_view_worker *worker;
	struct orma_view_access access;
	struct shown *shown;               /* NULL until the trace is loaded */
	struct shown *before[KEPT_BEFORE]; /* the ones before it, the latest first; NULL = none */
	struct orma_list all;
	uint32_t generation; /* counts the traces that were loaded; the first is 0 */
	bool has_ended, is_cut;
	struct orma_list
		waiting; /* struct answer: what waits for the trace, or for its next generation */
	struct orma_timer wait_end;
	uint64_t last_use_ns;
	/* Written by the worker's thread and read by the loop's; relaxed, because they are only shown. */
	_Atomic uint64_t read_bytes, all_bytes;
};

/* A trace that was loaded. A live one is replaced by the next while questions about it are answered. Only the loop's thread
 * counts the users. */
struct shown {
	struct orma_view_trace trace;
	struct orma_view *view;
	uint32_t generation;
	unsigned use_count;
	bool is_listed; /* in the list of all: it is loaded */
	struct orma_list link;
};

/* A job that loads the trace. */
struct loading {
	struct orma_view_job job;
	struct orma_view_server *server;
	struct shown *shown;
	int result;
};

/* A job that answers a request. */
struct answer {
	struct orma_view_job job;
	struct orma_view_server *server;
	struct orma_http_connection *connection; /* NULL = it has ended */
	const struct orma_view_route *route;     /* NULL = /api/sql */
	struct shown *shown;
	/* It is no job yet, and one for news never becomes one. */
	bool is_waiting, is_for_news;
	struct orma_list link;
	struct orma_buf request, body;
	struct orma_error error;
	int result;
};

static void answer_waiting(struct orma_view_server *server);

/* --- loading ---------------------------------------------------------------------------------- */

static int note_progress(void *ctx, uint64_t read_bytes, uint64_t all_bytes)
{
	struct loading *loading = ctx;
	atomic_store_explicit(&loading->server->read_bytes, read_bytes, memory_order_relaxed);
	atomic_store_explicit(&loading->server->all_bytes, all_bytes, memory_order_relaxed);
	return orma_view_job_is_cancelled(&loading->job) ? -ECANCELED : 0;
}

static void release(struct orma_view_server *server, struct shown *shown)
{
	if (!shown || --shown->use_count > 0)
		return;
	if (shown->is_listed)
		orma_base_list_remove(&shown->link);
	orma_view_free(shown->view);
	if (server->options.unload && shown->trace.owner)
		server->options.unload(server->options.ctx, shown->trace.owner);
	orma_base_free(shown);
}

static void run_loading(struct orma_view_job *job)
{
	struct loading *loading = ORMA_CONTAINER_OF(job, struct loading, job);
	const struct orma_view_server_options *options = &loading->server->options;
	struct shown *shown = loading->shown;
	loading->result = options->load(options->ctx, note_progress, loading, &shown->trace);
	if (loading->result == 0)
		loading->result =
			orma_view_new(shown->trace.database, options->title, &shown->view);
}

/* Shows a trace instead of the one before. Returns the one that is kept no longer, or NULL. */
static struct shown *show(struct orma_view_server *server, struct shown *shown)
{
	struct shown *before = server->shown;
	server->shown = shown;
	for (size_t i = 0; i < KEPT_BEFORE; i++) {
		struct shown *older = server->before[i];
		server->before[i] = before;
		before = older;
	}
	return before;
}

/* Finds what a question is about: the trace that is shown, unless it names a generation. NULL = it is gone. */
static struct shown *find_shown(const struct orma_view_server *server, struct orma_str generation)
{
	char text[GENERATION_MAX_DIGITS + 1];
	uint64_t number;
	if (!generation.data)
		return server->shown;
	if (generation.size >= sizeof(text))
		return NULL;
	memcpy(text, generation.data, generation.size);
	text[generation.size] = 0;
	if (orma_base_parse_u64(text, 10, &number) < 0)
		return NULL;
	if (server->shown->generation == number)
		return server->shown;
	for (size_t i = 0; i < KEPT_BEFORE; i++)
		if (server->before[i] && server->before[i]->generation == number)
			return server->before[i];
	return NULL;
}

static void end_loading(struct orma_view_job *job)
{
	struct loading *loading = ORMA_CONTAINER_OF(job, struct loading, job);
	struct orma_view_server *server = loading->server;
	struct shown *shown = loading->shown;
	int r = job->has_run ? loading->result : -ECANCELED;
	if (r == 0) {
		server->generation += server->shown != NULL;
		orma_view_set_generation(shown->view, server->generation, server->options.is_live);
		shown->generation = server->generation;
		orma_base_list_append(&server->all, &shown->link);
		shown->is_listed = true;
		shown = show(server, shown);
		answer_waiting(server);
	}
	release(server, shown);
	orma_base_free(loading);
	if (server->options.loaded)
		server->options.loaded(server->options.ctx, r);
}

int orma_view_server_load(struct orma_view_server *server)
{
	struct loading *loading = orma_base_zalloc(sizeof(*loading));
	struct shown *shown = orma_base_zalloc(sizeof(*shown));
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

static void respond_progress(struct orma_view_server *server,
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

/* --- news ------------------------------------------------------------------------------------- */

static void respond_news(struct orma_view_server *server, struct orma_http_connection *connection)
{
	struct orma_buf json = {0};
	int r = orma_base_buf_printf(&json, "{\"generation\":%u,\"ended\":%s,\"cut\":%s}",
				     server->generation, server->has_ended ? "true" : "false",
				     server->is_cut ? "true" : "false");
	orma_view_respond_json(connection, 200, NULL, r, &json);
}

void orma_view_server_set_live(struct orma_view_server *server, bool has_ended, bool is_cut)
{
	bool is_news = has_ended && !server->has_ended;
	server->has_ended = has_ended;
	server->is_cut = is_cut;
	if (is_news)
		answer_waiting(server);
}

/* --- the worker's answers --------------------------------------------------------------------- */

/* Stops the query that runs. */
static void interrupt(void *ctx)
{
	struct orma_view_server *server = ctx;
	struct shown *shown;
	ORMA_LIST_FOR_EACH (shown, &server->all, link)
		orma_sql_interrupt(shown->trace.database->sql);
}

static void run_answer(struct orma_view_job *job)
{
	struct answer *answer = ORMA_CONTAINER_OF(job, struct answer, job);
	struct shown *shown = answer->shown;
	struct orma_str request = {(const char *)answer->request.data, answer->request.size};
	if (!answer->route) {
		answer->result = orma_view_sql(shown->trace.database->sql, request, &answer->body);
		return;
	}
	orma_view_set_stop(shown->view, &job->is_cancelled);
	answer->result = answer->route->fn(shown->view, request, &answer->body, &answer->error);
	/* The job may be freed before the next question. */
	orma_view_set_stop(shown->view, NULL);
}

/* The answer to SQL that is wrong has its place in it. */
static void respond_sql(struct answer *answer)
{
	struct orma_buf *body = &answer->body;
	if (answer->result == -EINVAL && body->size > 0)
		orma_view_respond_json(answer->connection, 400, NULL, 0, body);
	else
		orma_view_respond_result(answer->connection, true, answer->result, body,
					 &answer->error);
}

static void end_answer(struct orma_view_job *job)
{
	struct answer *answer = ORMA_CONTAINER_OF(job, struct answer, job);
	orma_base_buf_done(&answer->request);
	if (!answer->connection)
		orma_base_buf_done(&answer->body);
	else if (answer->route)
		orma_view_respond_result(answer->connection, answer->route->is_json, answer->result,
					 &answer->body, &answer->error);
	else
		respond_sql(answer);
	release(answer->server, answer->shown);
	orma_base_free(answer);
}

/* Notes who asks what, for later. NULL when there is no memory, which is answered. */
static struct answer *new_answer(struct orma_view_server *server,
				 struct orma_http_connection *connection,
				 const struct orma_view_route *route, struct orma_str body)
{
	struct answer *answer = orma_base_zalloc(sizeof(*answer));
	if (!answer || orma_base_buf_append(&answer->request, body.data, body.size) < 0) {
		orma_base_free(answer);
		orma_view_respond_error(connection, 500, orma_base_error_words(ENOMEM));
		return NULL;
	}
	answer->server = server;
	answer->connection = connection;
	answer->route = route;
	orma_http_connection_set_ctx(connection, answer);
	return answer;
}

/* Passes a request on to the worker. */
static void ask_worker(struct orma_view_server *server, struct orma_http_connection *connection,
		       const struct orma_view_route *route, struct shown *shown,
		       struct orma_str body)
{
	struct answer *answer = new_answer(server, connection, route, body);
	if (!answer)
		return;
	answer->shown = shown;
	shown->use_count++;
	answer->job.run = run_answer;
	answer->job.done = end_answer;
	answer->job.limit_ns = server->options.query_ns;
	orma_view_worker_add(server->worker, &answer->job);
}

/* Answers a question at once, or passes it on. */
static void answer_shown(struct orma_view_server *server, struct orma_http_connection *connection,
			 const struct orma_view_route *route, struct shown *shown,
			 struct orma_str body)
{
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	if (!route || !route->is_quick) {
		ask_worker(server, connection, route, shown, body);
		return;
	}
	int r = route->fn(shown->view, body, &answer, &error);
	orma_view_respond_result(connection, route->is_json, r, &answer, &error);
}

/* Answers what waits: news as they are, and questions if the trace is there. */
static void answer_waiting(struct orma_view_server *server)
{
	struct answer *answer, *next;
	orma_base_timer_disarm(&server->wait_end);
	ORMA_LIST_FOR_EACH_SAFE (answer, next, &server->waiting, link) {
		orma_base_list_remove(&answer->link);
		if (answer->is_for_news)
			respond_news(server, answer->connection);
		else if (server->shown)
			answer_shown(server, answer->connection, answer->route, server->shown,
				     (struct orma_str){(const char *)answer->request.data,
						       answer->request.size});
		else
			respond_progress(server, answer->connection, 503);
		orma_base_buf_done(&answer->request);
		orma_base_free(answer);
	}
}

static void end_waiting(struct orma_timer *timer)
{
	answer_waiting(ORMA_CONTAINER_OF(timer, struct orma_view_server, wait_end));
}

/* Keeps a question until the trace is loaded, or for news, once more. */
static void wait_for_loading(struct orma_view_server *server,
			     struct orma_http_connection *connection,
			     const struct orma_view_route *route, bool is_for_news,
			     struct orma_str body)
{
	if (!server->wait_end.is_armed &&
	    orma_base_loop_arm_in(server->loop, &server->wait_end, server->options.wait_ns,
				  end_waiting) < 0) {
		orma_view_respond_error(connection, 500, orma_base_error_words(ENOMEM));
		return;
	}
	struct answer *answer = new_answer(server, connection, route, body);
	if (!answer)
		return;
	answer->is_waiting = true;
	answer->is_for_news = is_for_news;
	orma_base_list_append(&server->waiting, &answer->link);
}

/* Answers at once if the page is behind, and otherwise when the trace has been loaded again. */
static void ask_news(struct orma_view_server *server, struct orma_http_connection *connection,
		     struct orma_str body)
{
	struct orma_json_request request;
	double generation = -1;
	if (orma_json_request_init(&request, body) == 0) {
		(void)orma_json_request_number(&request, "generation", &generation);
		orma_json_request_done(&request);
	}
	if (generation < 0) {
		orma_view_respond_error(connection, 400, "The request has no generation.");
		return;
	}
	if (!server->options.is_live || server->has_ended ||
	    (uint64_t)generation != server->generation) {
		respond_news(server, connection);
		return;
	}
	wait_for_loading(server, connection, NULL, true, body);
}

static void on_abandoned(void *ctx, struct orma_http_connection *connection)
{
	struct orma_view_server *server = ctx;
	struct answer *answer = orma_http_connection_ctx(connection);
	if (answer->is_waiting) {
		orma_base_list_remove(&answer->link);
		orma_base_buf_done(&answer->request);
		orma_base_free(answer);
		return;
	}
	answer->connection = NULL;
	orma_view_worker_cancel(server->worker, &answer->job);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Exchanges the ticket of the URL for the token. */
static void answer_hello(struct orma_view_server *server, struct orma_http_connection *connection,
			 struct orma_str body)
{
	static const char *const words[] = {
		[ORMA_VIEW_TICKET_WRONG] = "This address is not valid any more.",
		[ORMA_VIEW_TICKET_USED] = "This address was used before.",
		[ORMA_VIEW_TICKET_LATE] = "This address was valid for a minute only."};
	struct orma_json_request request;
	struct orma_str ticket = {NULL, 0};
	struct orma_buf json = {0};
	bool is_request = orma_json_request_init(&request, body) == 0;
	if (is_request)
		(void)orma_json_request_string(&request, "ticket", &ticket);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	enum orma_view_ticket state = orma_view_access_take(&server->access, ticket, now_ns);
	if (is_request)
		orma_json_request_done(&request);
	if (state == ORMA_VIEW_TICKET_USED && server->options.warn)
		server->options.warn(
			server->options.ctx,
			"The address was used a second time. If your browser shows no trace, "
			"somebody else may have used it.");
	if (state != ORMA_VIEW_TICKET_OK) {
		orma_view_respond_error(connection, 403, words[state]);
		return;
	}
	server->last_use_ns = now_ns;
	int r = orma_base_buf_printf(&json, "{\"token\":\"%s\",\"version\":1,\"program\":\"%s\"}",
				     server->access.token, server->options.program);
	orma_view_respond_json(connection, 200, NULL, r, &json);
}

static const struct orma_view_route *find_route(struct orma_str name)
{
	for (const struct orma_view_route *route = orma_view_routes; route->name; route++)
		if (orma_base_str_is(name, route->name))
			return route;
	return NULL;
}

/* Answers what the page asks about the trace. */
static void answer_question(struct orma_view_server *server,
			    struct orma_http_connection *connection, struct orma_str name,
			    struct orma_str generation, struct orma_str body)
{
	const struct orma_view_route *route = find_route(name);
	bool is_news = orma_base_str_is(name, "news");
	struct shown *shown = server->shown ? find_shown(server, generation) : NULL;
	if (orma_base_str_is(name, "progress"))
		respond_progress(server, connection, 200);
	else if (!route && !is_news && !orma_base_str_is(name, "sql"))
		orma_view_respond_error(connection, 404, "There is no such question.");
	else if (!server->shown && (is_news || generation.data))
		respond_progress(server, connection, 503);
	else if (!server->shown)
		wait_for_loading(server, connection, route, false, body);
	else if (is_news)
		ask_news(server, connection, body);
	else if (!shown)
		orma_view_respond_error(connection, 410, "The trace has grown since; ask again.");
	else
		answer_shown(server, connection, route, shown, body);
}

static void answer_api(struct orma_view_server *server, struct orma_http_connection *connection,
		       const struct orma_http_request *request, struct orma_str name,
		       struct orma_str body)
{
	if (request->method != ORMA_HTTP_POST) {
		orma_view_respond_refusal(connection, 405, "Allow: POST\r\n",
					  "Questions are asked with POST.");
	} else if (orma_base_str_is(name, "hello")) {
		answer_hello(server, connection, body);
	} else if (!orma_view_access_has_token(&server->access, request)) {
		orma_view_respond_error(connection, 403, "The token is missing or wrong.");
	} else {
		server->last_use_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		answer_question(server, connection, name, request->fields[ORMA_HTTP_GENERATION],
				body);
	}
}

static const struct orma_view_asset *find_asset(const struct orma_view_server *server,
						struct orma_str path)
{
	for (const struct orma_view_asset *asset = server->options.assets; asset->path; asset++)
		if (orma_base_str_is(path, asset->path))
			return asset;
	return NULL;
}

static void on_request(void *ctx, struct orma_http_connection *connection,
		       const struct orma_http_request *request, struct orma_str body)
{
	static const struct orma_str api = {"/api/", 5};
	struct orma_view_server *server = ctx;
	struct orma_str path = request->path;
	const char *refusal = orma_view_access_check(&server->access, request);
	const struct orma_view_asset *asset = find_asset(server, path);
	if (refusal)
		orma_view_respond_error(connection, 403, refusal);
	else if (path.size > api.size && memcmp(path.data, api.data, api.size) == 0)
		answer_api(server, connection, request,
			   (struct orma_str){path.data + api.size, path.size - api.size}, body);
	else if (!asset)
		orma_view_respond_error(connection, 404, "There is no such file.");
	else if (request->method != ORMA_HTTP_GET)
		orma_view_respond_refusal(connection, 405, "Allow: GET\r\n",
					  "Files are read with GET.");
	else
		orma_view_respond_asset(connection, asset, orma_view_access_is_embedded(request));
}

static bool on_accept(void *ctx, int fd)
{
	struct orma_view_server *server = ctx;
	return server->options.address || orma_view_peer_is_welcome(fd);
}

/* --- the server ------------------------------------------------------------------------------- */

static int make_parts(struct orma_view_server *server)
{
	struct orma_http_server_options http = {.ctx = server,
						.accept = on_accept,
						.request = on_request,
						.abandoned = on_abandoned,
						.common_fields = orma_view_common_fields,
						.idle_ns = server->options.idle_ns};
	int r = orma_view_access_init(&server->access, server->options.address);
	if (r == 0)
		r = orma_view_worker_new(server->loop, interrupt, server, &server->worker);
	if (r == 0)
		r = orma_http_server_new(server->loop, &http, &server->http);
	return r;
}

int orma_view_server_new(struct orma_loop *loop, const struct orma_view_server_options *options,
			 struct orma_view_server **ret)
{
	struct orma_view_server *server = orma_base_zalloc(sizeof(*server));
	if (!server)
		return -ENOMEM;
	server->options = *options;
	server->loop = loop;
	orma_base_list_init(&server->waiting);
	orma_base_list_init(&server->all);
	if (server->options.query_ns == 0)
		server->options.query_ns = QUERY_NS;
	if (server->options.wait_ns == 0)
		server->options.wait_ns = WAIT_NS;
	int r = make_parts(server);
	if (r < 0) {
		orma_view_server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

void orma_view_server_free(struct orma_view_server *server)
{
	if (!server)
		return;
	/* Connections that end cancel their jobs, so that they go first. */
	orma_http_server_free(server->http);
	orma_view_worker_free(server->worker);
	orma_base_timer_disarm(&server->wait_end);
	release(server, server->shown);
	for (size_t i = 0; i < KEPT_BEFORE; i++)
		release(server, server->before[i]);
	orma_base_free(server);
}

int orma_view_server_listen(struct orma_view_server *server, int fd)
{
	return orma_http_server_listen(server->http, fd);
}

int orma_view_server_renew(struct orma_view_server *server, const char **ret_ticket)
{
	int r = orma_view_access_renew(&server->access, orma_base_clock_ns(CLOCK_MONOTONIC));
	if (r == 0)
		*ret_ticket = server->access.ticket;
	return r;
}

uint64_t orma_view_server_last_use_ns(const struct orma_view_server *server)
{
	return server->last_use_ns;
}
