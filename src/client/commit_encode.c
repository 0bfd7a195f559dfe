/* SPDX-License-Identifier: Apache-2.0
 * commit_encode.c - encodes a CommitDataRequest in one pass over a reused buffer.
 *
 * It is the one message that is sent at the rate of the trace, so it does not go through structs of
 * the codec. The ProtoZero writer's redundant lengths would cost three bytes for each of the many
 * small messages; they are all shorter than 128 bytes except those with patches or chunk data, so
 * sizes are computed first.
 */
#include "client/commit_encode.h"

#include <errno.h>
#include <orma/session.h>
#include <orma/transport.h>

#include "base/alloc.h"
#include "proto/wire.h"
#include "schema/gen/commit_data.pb.h"

static size_t varint_field_size(uint32_t field_id, uint64_t value)
{
	return orma_proto_varint_size(orma_proto_tag(field_id, ORMA_PROTO_VARINT)) +
	       orma_proto_varint_size(value);
}

static size_t bytes_field_size(uint32_t field_id, size_t size)
{
	return orma_proto_varint_size(orma_proto_tag(field_id, ORMA_PROTO_BYTES)) +
	       orma_proto_varint_size(size) + size;
}

static uint8_t *put_varint_field(uint8_t *at, uint32_t field_id, uint64_t value)
{
	at = orma_proto_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_VARINT));
	return orma_proto_put_varint(at, value);
}

static uint8_t *put_bytes_head(uint8_t *at, uint32_t field_id, size_t size)
{
	at = orma_proto_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_BYTES));
	return orma_proto_put_varint(at, size);
}

#define MOVE(field)  ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_##field
#define PATCH(field) ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_##field
#define ONE(field)   ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_##field

static size_t move_size(const struct orma_chunk_move *move)
{
	return varint_field_size(MOVE(PAGE), move->page_idx) +
	       varint_field_size(MOVE(CHUNK), move->chunk_idx) +
	       varint_field_size(MOVE(TARGET_BUFFER), move->target_buffer) +
	       (move->data ? bytes_field_size(MOVE(DATA), move->size) : 0) +
	       (move->is_incomplete ? varint_field_size(MOVE(CHUNK_INCOMPLETE), 1) : 0);
}

static uint8_t *put_move(uint8_t *at, const struct orma_chunk_move *move)
{
	at = put_bytes_head(at, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE, move_size(move));
	at = put_varint_field(at, MOVE(PAGE), move->page_idx);
	at = put_varint_field(at, MOVE(CHUNK), move->chunk_idx);
	at = put_varint_field(at, MOVE(TARGET_BUFFER), move->target_buffer);
	if (move->data) {
		at = put_bytes_head(at, MOVE(DATA), move->size);
		memcpy(at, move->data, move->size);
		at += move->size;
	}
	return move->is_incomplete ? put_varint_field(at, MOVE(CHUNK_INCOMPLETE), 1) : at;
}

static size_t one_size(const struct orma_patch *one)
{
	return varint_field_size(ONE(OFFSET), one->offset) +
	       bytes_field_size(ONE(DATA), sizeof(one->data));
}

static size_t patch_size(const struct orma_chunk_patch *patch)
{
	size_t size = varint_field_size(PATCH(TARGET_BUFFER), patch->target_buffer) +
		      varint_field_size(PATCH(WRITER_ID), patch->writer_id) +
		      varint_field_size(PATCH(CHUNK_ID), patch->chunk_id);

	for (size_t i = 0; i < patch->count; i++)
		size += bytes_field_size(PATCH(PATCHES), one_size(&patch->patches[i]));
	return size + (patch->has_more_patches ? varint_field_size(PATCH(HAS_MORE_PATCHES), 1) : 0);
}

static uint8_t *put_patch(uint8_t *at, const struct orma_chunk_patch *patch)
{
	at = put_bytes_head(at, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH, patch_size(patch));
	at = put_varint_field(at, PATCH(TARGET_BUFFER), patch->target_buffer);
	at = put_varint_field(at, PATCH(WRITER_ID), patch->writer_id);
	at = put_varint_field(at, PATCH(CHUNK_ID), patch->chunk_id);
	for (size_t i = 0; i < patch->count; i++) {
		const struct orma_patch *one = &patch->patches[i];

		at = put_bytes_head(at, PATCH(PATCHES), one_size(one));
		at = put_varint_field(at, ONE(OFFSET), one->offset);
		at = put_bytes_head(at, ONE(DATA), sizeof(one->data));
		memcpy(at, one->data, sizeof(one->data));
		at += sizeof(one->data);
	}
	return patch->has_more_patches ? put_varint_field(at, PATCH(HAS_MORE_PATCHES), 1) : at;
}

static size_t commit_size(const struct orma_commit *commit)
{
	size_t size = 0;

	for (size_t i = 0; i < commit->move_count; i++)
		size += bytes_field_size(ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE,
					 move_size(&commit->moves[i]));
	for (size_t i = 0; i < commit->patch_count; i++)
		size += bytes_field_size(ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH,
					 patch_size(&commit->patches[i]));
	if (commit->flush_request_id)
		size += varint_field_size(ORMA_PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID,
					  commit->flush_request_id);
	return size;
}

int orma_client_commit_encode(const struct orma_commit *commit, struct orma_buf *buf)
{
	uint8_t *at;
	int r;

	buf->size = 0;
	r = orma_base_buf_reserve(buf, commit_size(commit));
	if (r < 0)
		return r;
	at = buf->data;
	for (size_t i = 0; i < commit->move_count; i++)
		at = put_move(at, &commit->moves[i]);
	for (size_t i = 0; i < commit->patch_count; i++)
		at = put_patch(at, &commit->patches[i]);
	if (commit->flush_request_id)
		at = put_varint_field(at, ORMA_PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID,
				      commit->flush_request_id);
	buf->size = (size_t)(at - buf->data);
	return 0;
}

int orma_commit_encode(const struct orma_commit *commit, void **ret_data, size_t *ret_size)
{
	struct orma_buf buf = {0};
	int r;

	if (!commit || !ret_data || !ret_size)
		return -EINVAL;
	r = orma_client_commit_encode(commit, &buf);
	/* An empty commit is valid; its memory must differ from NULL. */
	if (r == 0)
		r = orma_base_buf_reserve(&buf, 1);
	if (r < 0) {
		orma_base_buf_done(&buf);
		return r;
	}
	*ret_data = buf.data;
	*ret_size = buf.size;
	return 0;
}

/* Here, because every build has commits, and a library for producers only has no configs. */
void orma_config_free(void *config)
{
	orma_base_free(config);
}
