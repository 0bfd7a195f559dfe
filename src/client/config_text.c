/* SPDX-License-Identifier: Apache-2.0
 * config_text.c - TraceConfig from text to bytes.
 *
 * The codec does the work; this file owns only the arena in between. Rejected: handing out the
 * decoded struct (its layout would become ABI), parsing straight to bytes (fields of one message
 * may be scattered over the text and have to be merged).
 */
#include <errno.h>
#include <orma/session.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "proto/codec.h"
#include "schema/gen/trace_config.pb.h"

int orma_config_parse(const char *name, const char *text, size_t size, void **ret_config,
		      size_t *ret_size, struct orma_error *reterr)
{
	struct orma_arena arena = {0};
	struct orma_buf buf = {0};
	struct orma_pb_trace_config *config;
	int r;

	if (!ret_config || !ret_size || (!text && size > 0))
		return orma_base_error_set(reterr, -EINVAL, "no text, or no place for the result");
	r = orma_proto_text_parse(&orma_pb_trace_config_desc, name ? name : "config", text, size, 0,
				  &arena, &config, reterr);
	if (r >= 0) {
		r = orma_proto_encode(config, &buf);
		/* An empty config is valid, and its bytes must not be NULL, which means "none". */
		if (r >= 0)
			r = orma_base_buf_reserve(&buf, 1);
		if (r < 0)
			orma_base_error_set(reterr, r, "no memory for the config");
	}
	orma_base_arena_done(&arena);
	if (r < 0) {
		orma_base_buf_done(&buf);
		return r;
	}
	*ret_config = buf.data;
	*ret_size = buf.size;
	return 0;
}
