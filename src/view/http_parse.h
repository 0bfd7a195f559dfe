/* SPDX-License-Identifier: Apache-2.0
 * http_parse.h - the head of a request of HTTP/1.1 (RFC 9112), as much of it as the server of `orma view` needs.
 */
#ifndef ORMA_VIEW_HTTP_PARSE_H
#define ORMA_VIEW_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
	ORMA_HTTP_HEAD_MAX_BYTES = 8 << 10,
	ORMA_HTTP_BODY_MAX_BYTES = 1 << 20,
};

enum orma_http_method { ORMA_HTTP_GET, ORMA_HTTP_POST, ORMA_HTTP_OTHER };

/* The fields that somebody reads; a request that has one of them twice is refused. */
enum orma_http_field {
	ORMA_HTTP_CONNECTION,
	ORMA_HTTP_CONTENT_LENGTH,
	ORMA_HTTP_EXPECT,
	ORMA_HTTP_GENERATION,
	ORMA_HTTP_HOST,
	ORMA_HTTP_ORIGIN,
	ORMA_HTTP_SEC_FETCH_SITE,
	ORMA_HTTP_TOKEN,
	ORMA_HTTP_TRANSFER_ENCODING,
	ORMA_HTTP_FIELD_COUNT
};

/* All texts point into the head. */
struct orma_http_request {
	enum orma_http_method method;
	struct orma_str path,
		query; /* as they were sent: nothing is decoded. The query has no question mark. */
	struct orma_str fields[ORMA_HTTP_FIELD_COUNT]; /* .data = NULL: there is none */
	size_t head_bytes, body_bytes;
	bool keeps_alive;
};

/*
 * Reads the head with which `input` begins. Returns 0; -ENODATA when more has to be received; or -EBADMSG when the head is wrong.
 * Then *ret_status is the status of the answer, and the connection has to be closed behind that answer.
 */
int orma_http_parse(struct orma_str input, struct orma_http_request *ret, int *ret_status);

#endif
