/* SPDX-License-Identifier: Apache-2.0
 * view_questions.c - questions about a trace: those that wait for it, those that are answered at once, and the worker's.
 *
 * A request for the worker is a `struct answer`, which holds a copy of the body. It belongs to the worker until it is done.
 * Its connection may end before: then `connection` is NULL, the job is cancelled, and the answer goes nowhere.
 *
 * While the trace is being loaded there is no view, and questions wait for it.
 */
#include <errno.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "view/json_request.h"
#include "view/view_respond.h"
#include "view/view_server_state.h"
#include "view/view_sql.h"

/* A job that answers a request. */
struct answer {
	struct orma_view_job job;
	struct orma_view_server *server;
	struct orma_http_connection *connection; /* NULL = it has ended */
	const struct orma_view_route *route;     /* NULL = /api/sql */
	struct orma_view_shown *shown;
	/* It is no job yet, and one for news never becomes one. */
	bool is_waiting, is_for_news;
	struct orma_list link;
	struct orma_buf request, body;
	struct orma_error error;
	int result;
};

static void respond_news(struct orma_view_server *server, struct orma_http_connection *connection)
{
	struct orma_buf json = {0};
	int r = orma_base_buf_printf(&json, "{\"generation\":%u,\"ended\":%s,\"cut\":%s}",
				     server->generation, server->has_ended ? "true" : "false",
				     server->is_cut ? "true" : "false");
	orma_view_respond_json(connection, 200, NULL, r, &json);
}

/* --- the worker's answers --------------------------------------------------------------------- */

void orma_view_questions_interrupt(void *ctx)
{
	struct orma_view_server *server = ctx;
	struct orma_view_shown *shown;
	ORMA_LIST_FOR_EACH (shown, &server->all, link)
		orma_sql_interrupt(shown->trace.database->sql);
}

static void give_way(void *ctx)
{
	orma_view_worker_give_way(ctx);
}

static void run_sql(struct answer *answer, struct orma_str request)
{
	struct orma_sql *sql = answer->shown->trace.database->sql;
	orma_sql_set_pause(sql, give_way, answer->server->worker);
	answer->result = orma_view_sql(sql, request, &answer->body);
	orma_sql_set_pause(sql, NULL, NULL);
}

static void run_answer(struct orma_view_job *job)
{
	struct answer *answer = ORMA_CONTAINER_OF(job, struct answer, job);
	struct orma_view_shown *shown = answer->shown;
	struct orma_str request = {(const char *)answer->request.data, answer->request.size};
	if (!answer->route) {
		run_sql(answer, request);
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
	orma_view_shown_release(answer->server, answer->shown);
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
		       const struct orma_view_route *route, struct orma_view_shown *shown,
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
	answer->job.is_without_sql = route != NULL;
	orma_view_worker_add(server->worker, &answer->job);
}

void orma_view_questions_answer(struct orma_view_server *server,
				struct orma_http_connection *connection,
				const struct orma_view_route *route, struct orma_view_shown *shown,
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

void orma_view_questions_answer_waiting(struct orma_view_server *server)
{
	struct answer *answer, *next;
	orma_base_timer_disarm(&server->wait_end);
	ORMA_LIST_FOR_EACH_SAFE (answer, next, &server->waiting, link) {
		orma_base_list_remove(&answer->link);
		if (answer->is_for_news)
			respond_news(server, answer->connection);
		else if (server->shown)
			orma_view_questions_answer(
				server, answer->connection, answer->route, server->shown,
				(struct orma_str){(const char *)answer->request.data,
						  answer->request.size});
		else
			orma_view_respond_progress(server, answer->connection, 503);
		orma_base_buf_done(&answer->request);
		orma_base_free(answer);
	}
}

static void end_waiting(struct orma_timer *timer)
{
	orma_view_questions_answer_waiting(
		ORMA_CONTAINER_OF(timer, struct orma_view_server, wait_end));
}

/* Keeps a question until the trace is loaded, or for news, once more. */
static void keep_waiting(struct orma_view_server *server, struct orma_http_connection *connection,
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

void orma_view_questions_wait(struct orma_view_server *server,
			      struct orma_http_connection *connection,
			      const struct orma_view_route *route, struct orma_str body)
{
	keep_waiting(server, connection, route, false, body);
}

void orma_view_questions_ask_news(struct orma_view_server *server,
				  struct orma_http_connection *connection, struct orma_str body)
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
	keep_waiting(server, connection, NULL, true, body);
}

void orma_view_questions_abandon(struct orma_view_server *server,
				 struct orma_http_connection *connection)
{
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
