/* SPDX-License-Identifier: Apache-2.0
 * view_respond.c - statuses, types and header fields of what the server of a page answers.
 *
 * Each answer to a page has the fields that keep other sites out, and says that it is not kept. Errors are JSON, so that the page
 * can show their sentence.
 */
#include "view/view_respond.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/json_writer.h"
#include "base/str.h"

#define POLICY                                                                                     \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "       \
	"connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "    \
	"frame-ancestors "

static const char json_type[] = "application/json";
static const char binary_type[] = "application/octet-stream";
const char orma_view_common_fields[] = "X-Content-Type-Options: nosniff\r\n"
				       "Referrer-Policy: no-referrer\r\n"
				       "Cross-Origin-Resource-Policy: same-origin\r\n"
				       "Cross-Origin-Opener-Policy: same-origin\r\n"
				       "Cache-Control: no-store\r\n";

void orma_view_respond_json(struct orma_http_connection *connection, int status, const char *fields,
			    int r, struct orma_buf *json)
{
	struct orma_http_response response = {
		.status = status, .type = json_type, .fields = fields};
	if (r < 0) {
		response.status = 500;
		response.permanent = ORMA_STR("{\"error\":\"There is not enough memory.\"}");
		orma_base_buf_done(json);
	} else {
		response.body = *json;
	}
	orma_http_respond(connection, response);
}

void orma_view_respond_refusal(struct orma_http_connection *connection, int status,
			       const char *fields, const char *message)
{
	struct orma_buf json = {0};
	int r = orma_json_begin_element(&json);
	if (r == 0)
		r = orma_json_append_text(&json, "error", orma_base_str(message));
	if (r == 0)
		r = orma_base_buf_append_str(&json, "}");
	orma_view_respond_json(connection, status, fields, r, &json);
}

void orma_view_respond_error(struct orma_http_connection *connection, int status,
			     const char *message)
{
	orma_view_respond_refusal(connection, status, NULL, message);
}

void orma_view_respond_result(struct orma_http_connection *connection, bool is_json, int r,
			      struct orma_buf *body, const struct orma_error *error)
{
	const char *message = error->message[0] ? error->message : orma_base_error_words(r);
	if (r == 0) {
		orma_http_respond(connection, (struct orma_http_response){
						      .status = 200,
						      .type = is_json ? json_type : binary_type,
						      .body = *body});
		return;
	}
	orma_base_buf_done(body);
	if (r == -ECANCELED)
		message = "The question was stopped, because its answer took too long.";
	orma_view_respond_error(connection,
				r == -EINVAL      ? 400
				: r == -ENOENT    ? 404
				: r == -ECANCELED ? 503
						  : 500,
				message);
}

void orma_view_respond_asset(struct orma_http_connection *connection,
			     const struct orma_view_asset *asset, bool is_embedded)
{
	static const char *const fields[2][2] = {
		{POLICY "'none'\r\n", POLICY "'none'\r\nContent-Encoding: gzip\r\n"},
		{POLICY "http://127.0.0.1:* http://localhost:*\r\n",
		 POLICY "http://127.0.0.1:* http://localhost:*\r\nContent-Encoding: gzip\r\n"}};
	orma_http_respond(
		connection,
		(struct orma_http_response){.status = 200,
					    .type = asset->type,
					    .fields = fields[is_embedded][asset->is_packed],
					    .permanent = {(const char *)asset->data, asset->size}});
}
