/* SPDX-License-Identifier: Apache-2.0
 * json_request.h - the body of a request as a flat object of JSON: strings, numbers, words, and arrays of numbers.
 *
 *	{"table": "slice", "id": 7, "nodes": [1, 2, 3]}
 */
#ifndef ORMA_VIEW_JSON_REQUEST_H
#define ORMA_VIEW_JSON_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum { ORMA_JSON_REQUEST_FIELDS_MAX = 16 };

enum orma_json_request_kind {
	ORMA_JSON_REQUEST_WORD, /* true, false or null */
	ORMA_JSON_REQUEST_NUMBER,
	ORMA_JSON_REQUEST_STRING,
	ORMA_JSON_REQUEST_NUMBERS,
};

struct orma_json_request_field {
	struct orma_str key;
	enum orma_json_request_kind kind;
	struct orma_str
		value; /* a string decoded; a number, a word and what is between brackets as it stands there */
};

struct orma_json_request {
	struct orma_json_request_field fields[ORMA_JSON_REQUEST_FIELDS_MAX];
	size_t count;
	struct orma_arena arena; /* strings that had escapes */
};

/*
 * Reads a body, which has to live as long as the request. 0, -ENOMEM, or -EINVAL: it is not such an object, a key comes
 * twice, or there are too many. After an error there is nothing to release.
 */
int orma_json_request_init(struct orma_json_request *request, struct orma_str body);
void orma_json_request_done(struct orma_json_request *request);

/* False when there is no such key, or its value is of another kind. The strings belong to the request. */
bool orma_json_request_string(const struct orma_json_request *request, const char *key,
			      struct orma_str *ret);
bool orma_json_request_number(const struct orma_json_request *request, const char *key,
			      double *ret);
/* Writes the first `max` numbers of an array, and returns how many it has; 0 also when there is no such array. */
size_t orma_json_request_numbers(const struct orma_json_request *request, const char *key,
				 double *ret, size_t max);

#endif
