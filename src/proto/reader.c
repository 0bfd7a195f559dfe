/* SPDX-License-Identifier: Apache-2.0
 * reader.c - one pass over the fields of an encoded message.
 *
 * Owns no memory: fields point into the caller's bytes. Invariant: begin <= at <= end, and every
 * field that is returned lies wholly in [begin, end). Rejected: an index of all fields that is
 * built first, because most callers want one or two of them; skipping groups, because they were
 * deprecated before this protocol existed, and skipping nested groups would need a depth limit.
 */
#include "proto/reader.h"

void orma_proto_reader_init(struct orma_proto_reader *reader, const void *data, size_t size)
{
	static const uint8_t nothing[1];

	reader->at = data ? data : nothing;
	reader->end = reader->at + (data ? size : 0);
}

/* One copy is enough for all that do not read a field for each event. */
__attribute__((noinline)) int orma_proto_reader_next(struct orma_proto_reader *reader,
						     struct orma_proto_field *field)
{
	return orma_proto_reader_step(reader, field);
}

int orma_proto_reader_find(const void *data, size_t size, uint32_t field_id,
			   struct orma_proto_field *field)
{
	struct orma_proto_reader reader;
	struct orma_proto_field candidate;
	int found = 0, r;

	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &candidate)) > 0) {
		if (candidate.id == field_id) {
			*field = candidate;
			found = 1;
		}
	}
	return r < 0 ? r : found;
}
