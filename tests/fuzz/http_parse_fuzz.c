/* SPDX-License-Identifier: Apache-2.0
 * http_parse_fuzz.c - the head of a request. The texts that were read lie in the head, which does not depend on what follows it.
 */
#include <errno.h>
#include <stdlib.h>

#include "view/http_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_in_head(struct orma_str text, const char *head, size_t size)
{
	if (text.data && (text.data < head || text.data + text.size > head + size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_http_request request, again;
	int status = 0;
	char *copy = malloc(size + 1); /* malloc(0) may be NULL */
	memcpy(copy, data, size);
	int r = orma_http_parse((struct orma_str){copy, size}, &request, &status);
	if (r == -EBADMSG && (status < 400 || status > 599))
		abort();
	if (r == 0) {
		size_t head_bytes = request.head_bytes;
		if (head_bytes > size || head_bytes > ORMA_HTTP_HEAD_MAX_BYTES ||
		    request.body_bytes > ORMA_HTTP_BODY_MAX_BYTES)
			abort();
		check_in_head(request.path, copy, head_bytes);
		check_in_head(request.query, copy, head_bytes);
		for (size_t i = 0; i < ORMA_HTTP_FIELD_COUNT; i++)
			check_in_head(request.fields[i], copy, head_bytes);
		if (orma_http_parse((struct orma_str){copy, head_bytes}, &again, &status) != 0 ||
		    again.head_bytes != head_bytes || again.body_bytes != request.body_bytes)
			abort();
	}
	free(copy);
	return 0;
}
