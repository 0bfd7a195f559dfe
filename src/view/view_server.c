/* SPDX-License-Identifier: Apache-2.0
 * view_server.c - routes: what a request is for, whether it may have it, and who answers.
 */
#include "view/view_server.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/str.h"
#include "view/json_request.h"
#include "view/peer_user.h"
#include "view/view_respond.h"
#include "view/view_server_state.h"

#define QUERY_NS (60 * ORMA_NS_PER_SEC)
#define WAIT_NS  (25 * ORMA_NS_PER_SEC) /* after which a page that waits is answered all the same */

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
	struct orma_view_shown *shown =
		server->shown ? orma_view_shown_find(server, generation) : NULL;
	if (orma_base_str_is(name, "progress"))
		orma_view_respond_progress(server, connection, 200);
	else if (!route && !is_news && !orma_base_str_is(name, "sql"))
		orma_view_respond_error(connection, 404, "There is no such question.");
	else if (!server->shown && (is_news || generation.data))
		orma_view_respond_progress(server, connection, 503);
	else if (!server->shown)
		orma_view_questions_wait(server, connection, route, body);
	else if (is_news)
		orma_view_questions_ask_news(server, connection, body);
	else if (!shown)
		orma_view_respond_error(connection, 410, "The trace has grown since; ask again.");
	else
		orma_view_questions_answer(server, connection, route, shown, body);
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

static void on_abandoned(void *ctx, struct orma_http_connection *connection)
{
	orma_view_questions_abandon(ctx, connection);
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
		r = orma_view_worker_new(server->loop, orma_view_questions_interrupt, server,
					 &server->worker);
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
	orma_view_shown_release(server, server->shown);
	for (size_t i = 0; i < ORMA_VIEW_KEPT_BEFORE; i++)
		orma_view_shown_release(server, server->before[i]);
	orma_base_free(server);
}

int orma_view_server_listen(struct orma_view_server *server, int fd)
{
	return orma_http_server_listen(server->http, fd);
}

void orma_view_server_set_live(struct orma_view_server *server, bool has_ended, bool is_cut)
{
	bool is_news = has_ended && !server->has_ended;
	server->has_ended = has_ended;
	server->is_cut = is_cut;
	if (is_news)
		orma_view_questions_answer_waiting(server);
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
