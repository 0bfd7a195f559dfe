/* SPDX-License-Identifier: Apache-2.0
 * view_respond.h - answers to the requests of a page.
 */
#ifndef ORMA_VIEW_VIEW_RESPOND_H
#define ORMA_VIEW_VIEW_RESPOND_H

#include <orma/error.h>
#include <stdbool.h>

#include "base/buf.h"
#include "view/http_server.h"
#include "view/view_assets.h"

/* The fields that all answers have, for the options of the HTTP server. */
extern const char orma_view_common_fields[];

/* Answers with JSON, which it takes, or with an error of the server if `r` says that its writing failed. `fields` are more
 * lines of the head, or NULL. */
void orma_view_respond_json(struct orma_http_connection *connection, int status, const char *fields,
			    int r, struct orma_buf *json);
/* Answers that a request is refused, with a sentence. */
void orma_view_respond_refusal(struct orma_http_connection *connection, int status,
			       const char *fields, const char *message);
void orma_view_respond_error(struct orma_http_connection *connection, int status,
			     const char *message);
/* Answers with what a question's function has returned, and takes the body. */
void orma_view_respond_result(struct orma_http_connection *connection, bool is_json, int r,
			      struct orma_buf *body, const struct orma_error *error);
/* Answers with a file of the page; one that is embedded may stand in other pages of the machine. */
void orma_view_respond_asset(struct orma_http_connection *connection,
			     const struct orma_view_asset *asset, bool is_embedded);

#endif
