/* SPDX-License-Identifier: Apache-2.0
 * http_server.h - HTTP/1.1 on a loop: connections, requests one after the other, answers at once or later.
 *
 * Nothing blocks, and what a client can make the server hold is bounded: ORMA_HTTP_CONNECTIONS_MAX connections with one head
 * and one body each, and the answer to one request.
 */
#ifndef ORMA_VIEW_HTTP_SERVER_H
#define ORMA_VIEW_HTTP_SERVER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "view/http_parse.h"

enum {
	ORMA_HTTP_CONNECTIONS_MAX = 32,
	ORMA_HTTP_LISTENERS_MAX = 2,
};

struct orma_http_server;
struct orma_http_connection;

struct orma_http_server_options {
	void *ctx;
	/* A new connection: false closes it. May be NULL. */
	bool (*accept)(void *ctx, int fd);
	/*
	 * Answers a request with orma_http_respond(), now or later. Until then the connection takes no other request. The
	 * request and its body are valid during the call.
	 */
	void (*request)(void *ctx, struct orma_http_connection *connection,
			const struct orma_http_request *request, struct orma_str body);
	/* A connection ended before its answer was given: it must not be answered any more. May be NULL. */
	void (*abandoned)(void *ctx, struct orma_http_connection *connection);
	/* Lines of the head of each answer, each with its end. */
	const char *common_fields;
	uint64_t
		idle_ns; /* the time for a request to come, and for an answer to make progress; 0 = 60 s */
};

struct orma_http_response {
	int status;
	const char *type;          /* the Content-Type */
	const char *fields;        /* further lines of the head, each with its end; NULL = none */
	struct orma_str permanent; /* the body, if it outlives the server; or else */
	struct orma_buf body;      /* the body, which the server frees */
};

int orma_http_server_new(struct orma_loop *loop, const struct orma_http_server_options *options,
			 struct orma_http_server **ret);
void orma_http_server_free(struct orma_http_server *server);
/* Takes connections from a listening, non-blocking socket, which becomes the server's. 0, or a negative errno value. */
int orma_http_server_listen(struct orma_http_server *server, int fd);
/* The number of connections. */
size_t orma_http_server_count(const struct orma_http_server *server);

void orma_http_respond(struct orma_http_connection *connection, struct orma_http_response response);
/* A pointer for the one who answers later; NULL at first. */
void orma_http_connection_set_ctx(struct orma_http_connection *connection, void *ctx);
void *orma_http_connection_ctx(const struct orma_http_connection *connection);

#endif
