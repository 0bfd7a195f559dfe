/* SPDX-License-Identifier: Apache-2.0
 * json_request_fuzz.c - the body of a request to `orma view`. Values that were accepted can be read.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "view/json_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_field(const struct orma_json_request *request,
			const struct orma_json_request_field *field)
{
	char *key = orma_base_str_dup(field->key);
	struct orma_str text;
	double number = 0, numbers[4] = {0};
	if (memchr(field->key.data, '\0', field->key.size) || !key) {
		orma_base_free(key);
		return;
	}
	bool is_string = orma_json_request_string(request, key, &text);
	bool is_number = orma_json_request_number(request, key, &number);
	size_t count = orma_json_request_numbers(request, key, numbers, 4);
	if (is_string != (field->kind == ORMA_JSON_REQUEST_STRING) ||
	    is_number != (field->kind == ORMA_JSON_REQUEST_NUMBER) || !isfinite(number) ||
	    count > field->value.size)
		abort();
	for (size_t i = 0; i < 4; i++)
		if (!isfinite(numbers[i]))
			abort();
	orma_base_free(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_json_request request;
	char *copy = malloc(size + 1); /* malloc(0) may be NULL */
	memcpy(copy, data, size);
	if (orma_json_request_init(&request, (struct orma_str){copy, size}) == 0) {
		for (size_t i = 0; i < request.count; i++)
			check_field(&request, &request.fields[i]);
		orma_json_request_done(&request);
	}
	free(copy);
	return 0;
}
