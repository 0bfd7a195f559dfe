/* SPDX-License-Identifier: Apache-2.0
 * host_commit.c - decodes CommitDataRequest, the most frequent message.
 *
 * The generated tables would allocate a struct per chunk from an arena. This decoder reads the
 * fields once, into flat arrays that keep their capacity. An entry with more patches than a chunk
 * may have is dropped as a whole, as upstream does.
 */
#include "host/host_commit.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "proto/reader.h"
#include "schema/gen/commit_data.pb.h"
#include "service/service_limits.h"

void orma_host_commit_done(struct orma_host_commit *commit)
{
	orma_base_free(commit->moves);
	orma_base_free(commit->chunk_patches);
	orma_base_free(commit->first_patch);
	orma_base_free(commit->patches);
	*commit = (struct orma_host_commit){0};
}

/* Makes room for one more item by doubling the array. */
static int grow(void *array, size_t count, size_t *capacity, size_t item_size)
{
	void *old;
	memcpy(&old, array, sizeof(old));
	if (count < *capacity)
		return 0;
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *larger = orma_base_realloc_array(old, wanted, item_size);
	if (!larger)
		return -ENOMEM;
	memcpy(array, &larger, sizeof(larger));
	*capacity = wanted;
	return 0;
}

/* UINT32_MAX stands for a value that does not fit: the service refuses it as out of range. */
static uint32_t to_u32(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static int decode_move(struct orma_host_commit *commit, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = grow(&commit->moves, commit->move_count, &commit->move_capacity,
		     sizeof(*commit->moves));
	if (r)
		return r;
	struct orma_chunk_move *move = &commit->moves[commit->move_count];
	*move = (struct orma_chunk_move){0};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE)
			move->page_idx = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK)
			move->chunk_idx = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER)
			move->target_buffer = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK_INCOMPLETE)
			move->is_incomplete = field.value != 0;
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_DATA &&
			 field.type == ORMA_PROTO_BYTES) {
			move->data = field.bytes.data;
			move->size = field.bytes.size;
		}
	}
	if (r == 0)
		commit->move_count++;
	return r;
}

static int decode_patch(struct orma_host_commit *commit, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = grow(&commit->patches, commit->patch_count, &commit->patch_capacity,
		     sizeof(*commit->patches));
	if (r)
		return r;
	struct orma_patch *patch = &commit->patches[commit->patch_count];
	bool has_data = false;
	*patch = (struct orma_patch){0};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET)
			patch->offset = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA &&
			 field.type == ORMA_PROTO_BYTES) {
			has_data = field.bytes.size == sizeof(patch->data);
			if (has_data)
				memcpy(patch->data, field.bytes.data, sizeof(patch->data));
		}
	}
	if (r == 0 && !has_data)
		patch->offset =
			UINT32_MAX; /* outside every chunk: the service counts it as failed */
	if (r == 0)
		commit->patch_count++;
	return r;
}

static int grow_chunk_patches(struct orma_host_commit *commit)
{
	size_t capacity = commit->chunk_patch_capacity;
	int r = grow(&commit->first_patch, commit->chunk_patch_count, &capacity,
		     sizeof(*commit->first_patch));
	return r ? r
		 : grow(&commit->chunk_patches, commit->chunk_patch_count,
			&commit->chunk_patch_capacity, sizeof(*commit->chunk_patches));
}

static int decode_chunk_patch(struct orma_host_commit *commit, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = grow_chunk_patches(commit);
	if (r)
		return r;
	struct orma_chunk_patch *entry = &commit->chunk_patches[commit->chunk_patch_count];
	size_t first = commit->patch_count;
	*entry = (struct orma_chunk_patch){0};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER)
			entry->target_buffer = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID)
			entry->writer_id = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID)
			entry->chunk_id = to_u32(field.value);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES)
			entry->has_more_patches = field.value != 0;
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES &&
			 field.type == ORMA_PROTO_BYTES && (r = decode_patch(commit, field.bytes)))
			return r;
	}
	entry->count = commit->patch_count - first;
	if (r == 0 && entry->count <= ORMA_SERVICE_PATCHES_PER_CHUNK)
		commit->first_patch[commit->chunk_patch_count++] = first;
	return r;
}

static int decode_fields(struct orma_host_commit *commit, const void *data, size_t size)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;
	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE &&
		    field.type == ORMA_PROTO_BYTES)
			r = decode_move(commit, field.bytes);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH &&
			 field.type == ORMA_PROTO_BYTES)
			r = decode_chunk_patch(commit, field.bytes);
		else if (field.id == ORMA_PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID)
			commit->flush_request_id = field.value;
		if (r < 0)
			return r;
	}
	return r;
}

int orma_host_commit_decode(struct orma_host_commit *commit, const void *data_untrusted,
			    size_t size, struct orma_commit *ret)
{
	commit->move_count = commit->chunk_patch_count = commit->patch_count = 0;
	commit->flush_request_id = 0;
	int r = decode_fields(commit, data_untrusted, size);
	if (r)
		return r;
	for (size_t i = 0; i < commit->chunk_patch_count; i++)
		commit->chunk_patches[i].patches =
			commit->patches ? &commit->patches[commit->first_patch[i]] : NULL;
	*ret = (struct orma_commit){
		.moves = commit->moves,
		.move_count = commit->move_count,
		.patches = commit->chunk_patches,
		.patch_count = commit->chunk_patch_count,
		.flush_request_id = commit->flush_request_id,
	};
	return 0;
}

int orma_producer_port_commit_encoded(struct orma_producer_port *port, const void *data,
				      size_t size)
{
	if (!port || (!data && size > 0))
		return -EINVAL;

	struct orma_host_commit decoded = {0};
	struct orma_commit commit;
	int r = orma_host_commit_decode(&decoded, data, size, &commit);

	if (r == 0)
		orma_producer_port_commit(port, &commit);
	orma_host_commit_done(&decoded);
	return r;
}
