/* SPDX-License-Identifier: Apache-2.0
 * session_query.c - questions to the service: statistics, its state, its capabilities.
 *
 * An answer may come in several replies. They are serialized messages, so appending one to the other merges
 * them.
 */
#include <errno.h>

#include "base/error_message.h"
#include "client/session_read.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

#define ANSWER_BYTES_MAX ((size_t)256 * 1024 * 1024)

static int on_query_reply(struct orma_client_call *call, const void *data_untrusted, size_t size)
{
	struct orma_client_query *query = ORMA_CONTAINER_OF(call, struct orma_client_query, call);
	struct orma_proto_reader fields;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&fields, data_untrusted, size);
	while ((r = orma_proto_reader_next(&fields, &field)) == 1) {
		if (field.id != query->field_id || field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.bytes.size > ANSWER_BYTES_MAX - query->answer.size)
			return -EMSGSIZE;
		r = orma_base_buf_append(&query->answer, field.bytes.data, field.bytes.size);
		if (r < 0)
			return r;
	}
	return r;
}

int orma_client_query_init(struct orma_client_query *query, enum orma_session_query what)
{
	uint8_t *end;

	*query = (struct orma_client_query){.call = {.reply = on_query_reply}};
	switch (what) {
	case ORMA_SESSION_QUERY_STATS:
		query->method = ORMA_CLIENT_GET_TRACE_STATS;
		query->field_id = ORMA_PB_GET_TRACE_STATS_RESPONSE_TRACE_STATS;
		return 0;
	case ORMA_SESSION_QUERY_SESSIONS:
	case ORMA_SESSION_QUERY_STATE:
		query->method = ORMA_CLIENT_QUERY_SERVICE_STATE;
		query->field_id = ORMA_PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE;
		break;
	case ORMA_SESSION_QUERY_CAPABILITIES:
		query->method = ORMA_CLIENT_QUERY_CAPABILITIES;
		query->field_id = ORMA_PB_QUERY_CAPABILITIES_RESPONSE_CAPABILITIES;
		return 0;
	default:
		return -EINVAL;
	}
	if (what == ORMA_SESSION_QUERY_STATE)
		return 0;
	end = orma_proto_put_varint(
		query->arg_bytes, orma_proto_tag(ORMA_PB_QUERY_SERVICE_STATE_REQUEST_SESSIONS_ONLY,
						 ORMA_PROTO_VARINT));
	*end++ = 1;
	query->args.data = query->arg_bytes;
	query->args.size = (size_t)(end - query->arg_bytes);
	return 0;
}

int orma_client_query_error(int error, struct orma_error *reterr)
{
	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -ESTALE, "the service has nothing to say to it");
	if (error < 0)
		return orma_base_error_set(reterr, error, "the query failed: %s",
					   orma_base_error_words(error));
	return 0;
}

static int run_query(struct orma_session *session, enum orma_session_query what, void **ret_data,
		     size_t *ret_size)
{
	struct orma_client_query query;
	int r;

	if (!session || !ret_data || !ret_size)
		return -EINVAL;
	r = orma_client_query_init(&query, what);
	if (r == 0)
		r = orma_client_session_call(session, query.method, &query.args, -1,
					     session->timeout_ns, &query.call);
	/* An empty answer is valid; its memory must differ from NULL. */
	if (r == 0)
		r = orma_base_buf_reserve(&query.answer, 1);
	if (r < 0) {
		orma_base_buf_done(&query.answer);
		return orma_client_query_error(r, NULL);
	}
	*ret_data = query.answer.data;
	*ret_size = query.answer.size;
	return 0;
}

int orma_session_get_stats(struct orma_session *session, void **ret_data, size_t *ret_size)
{
	return run_query(session, ORMA_SESSION_QUERY_STATS, ret_data, ret_size);
}

int orma_session_read_stats(struct orma_session *session, struct orma_trace_stats **ret)
{
	if (!session || !ret)
		return -EINVAL;

	void *data;
	size_t size;
	int r = orma_session_get_stats(session, &data, &size);

	if (r < 0)
		return r;
	r = orma_trace_stats_parse(data, size, ret);
	orma_config_free(data);
	return r;
}

int orma_session_query_state(struct orma_session *session, bool sessions_only, void **ret_data,
			     size_t *ret_size)
{
	return run_query(session,
			 sessions_only ? ORMA_SESSION_QUERY_SESSIONS : ORMA_SESSION_QUERY_STATE,
			 ret_data, ret_size);
}

int orma_session_read_state(struct orma_session *session, bool sessions_only,
			    struct orma_service_state **ret)
{
	if (!session || !ret)
		return -EINVAL;

	void *data;
	size_t size;
	int r = orma_session_query_state(session, sessions_only, &data, &size);

	if (r < 0)
		return r;
	r = orma_service_state_parse(data, size, ret);
	orma_config_free(data);
	return r;
}

int orma_session_query_capabilities(struct orma_session *session, void **ret_data, size_t *ret_size)
{
	return run_query(session, ORMA_SESSION_QUERY_CAPABILITIES, ret_data, ret_size);
}
