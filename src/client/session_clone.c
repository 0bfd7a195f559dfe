/* SPDX-License-Identifier: Apache-2.0
 * session_clone.c - a session that becomes a copy of another one.
 *
 * The service's refusal is text inside a successful answer. Rejected: a type of its own for clones
 * (they are read like any session).
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/options.h"
#include "client/session_read.h"
#include "proto/codec.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

static int on_clone_reply(struct orma_client_call *call, const void *data_untrusted, size_t size)
{
	struct orma_client_clone *clone = ORMA_CONTAINER_OF(call, struct orma_client_clone, call);
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_clone_session_response *response;
	int r = orma_proto_decode(&orma_pb_clone_session_response_desc, data_untrusted, size,
				  &arena, &response);

	if (r < 0)
		return orma_base_error_set(&clone->error, r, "the service's answer is malformed");
	if (!response->success)
		return orma_base_error_set(
			&clone->error, -EPROTO, "%.*s",
			(int)ORMA_MIN(response->error.size, (size_t)ORMA_ERROR_MESSAGE_BYTES),
			response->error.data ? response->error.data : "");
	clone->result.uuid_msb = (uint64_t)response->uuid_msb;
	clone->result.uuid_lsb = (uint64_t)response->uuid_lsb;
	clone->result.was_write_into_file = response->was_write_into_file;
	return 0;
}

static int encode(const struct orma_session_clone_options *options, struct orma_buf *args)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;

	orma_proto_heap_writer_init(&heap, args);
	if (options->session_id)
		orma_proto_write_varint(writer, ORMA_PB_CLONE_SESSION_REQUEST_SESSION_ID,
					options->session_id);
	else
		orma_proto_write_string(writer, ORMA_PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME,
					options->unique_session_name);
	orma_proto_write_bool(writer, ORMA_PB_CLONE_SESSION_REQUEST_SKIP_TRACE_FILTER,
			      options->skips_trace_filter);
	orma_proto_write_bool(writer, ORMA_PB_CLONE_SESSION_REQUEST_FOR_BUGREPORT,
			      options->is_for_bugreport);
	if (!options->trigger_name)
		return orma_proto_heap_writer_finish(&heap);
	orma_proto_write_string(writer, ORMA_PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_NAME,
				options->trigger_name);
	if (options->trigger_producer_name)
		orma_proto_write_string(writer,
					ORMA_PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_PRODUCER_NAME,
					options->trigger_producer_name);
	orma_proto_write_varint(writer,
				ORMA_PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_TRUSTED_PRODUCER_UID,
				(uint64_t)(int64_t)(int32_t)options->trigger_producer_uid);
	orma_proto_write_varint(writer, ORMA_PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_BOOT_TIME_NS,
				options->trigger_boot_time_ns);
	orma_proto_write_varint(writer, ORMA_PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_DELAY_MS,
				options->trigger_delay_ms);
	return orma_proto_heap_writer_finish(&heap);
}

static int describe(int error, struct orma_error *reterr)
{
	switch (error) {
	case -ENOTSUP:
		return orma_base_error_set(reterr, error, "the service cannot clone sessions");
	case -EREMOTEIO:
		return orma_base_error_set(reterr, -EPROTO, "the service rejected the clone");
	case -ETIMEDOUT:
		return orma_base_error_set(reterr, error, "the service does not answer in time");
	case -ECONNRESET:
		return orma_base_error_set(reterr, error, "the connection to the service is lost");
	default:
		return orma_base_error_set(reterr, error, "cloning failed: %s",
					   orma_base_error_words(error));
	}
}

int orma_client_clone_init(const struct orma_session *session,
			   const struct orma_session_clone_options *options,
			   struct orma_client_clone *clone, struct orma_buf *args, int *ret_fd,
			   struct orma_error *reterr)
{
	struct orma_session_clone_options whole = {.struct_size = sizeof(whole)};
	int r;

	if (!options || orma_base_options_copy(&whole, sizeof(whole), options) < 0 ||
	    (!whole.session_id && !whole.unique_session_name))
		return orma_base_error_set(reterr, -EINVAL,
					   "the options are of another size, or name no session");
	if (session->is_enabled)
		return orma_base_error_set(reterr, -EBUSY, "this session was enabled already");
	*clone = (struct orma_client_clone){.call = {.reply = on_clone_reply},
					    .result = {.struct_size = sizeof(clone->result)}};
	r = encode(&whole, args);
	if (r < 0)
		return orma_base_error_set(reterr, r, "no memory for the request");
	/* 0 means none: it is the default of the options, and standard input is not a useful output. */
	*ret_fd = whole.file_fd > 0 ? whole.file_fd : -1;
	return 0;
}

int orma_client_clone_error(const struct orma_client_clone *clone, int error,
			    struct orma_error *reterr)
{
	if (error == 0)
		return 0;
	if (clone->error.code == 0)
		return describe(error, reterr);
	if (reterr)
		*reterr = clone->error;
	return clone->error.code;
}

int orma_session_clone(struct orma_session *session,
		       const struct orma_session_clone_options *options,
		       struct orma_session_clone_result *ret, struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct orma_client_clone clone;
	size_t ret_size;
	int fd, r;

	if (!session)
		return orma_base_error_set(reterr, -EINVAL, "there is no session");
	if (ret && ret->struct_size < sizeof(ret->struct_size))
		return orma_base_error_set(reterr, -EINVAL, "the result has no size");
	r = orma_client_clone_init(session, options, &clone, &args, &fd, reterr);
	if (r < 0)
		return r;
	r = orma_client_session_call(session, ORMA_CLIENT_CLONE_SESSION, &args, fd,
				     session->timeout_ns, &clone.call);
	if (r < 0)
		return orma_client_clone_error(&clone, r, reterr);
	if (!ret)
		return 0;
	ret_size = ORMA_MIN(ret->struct_size, sizeof(*ret));
	clone.result.struct_size = ret->struct_size;
	memcpy(ret, &clone.result, ret_size);
	return 0;
}
