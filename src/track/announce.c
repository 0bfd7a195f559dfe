/* SPDX-License-Identifier: Apache-2.0
 * announce.c - the list of categories in the data source's descriptor.
 *
 * A descriptor travels whole, in one frame of 128 KiB, and each update replaces it: there is no
 * announcing in parts. When all of the list has no room, names and tags go before descriptions, the
 * newest first; what has no room even so is not announced. That is for people and their tools: a
 * session enables categories by asking each, announced or not. Groups are not announced, as
 * upstream's are not; their members are, where they exist.
 *
 * Rejected: a second data source for the rest (it would be started beside the first, and every
 * event be there twice).
 */
#include "base/buf.h"
#include "proto/writer.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/track_event_descriptor.pb.h"
#include "track/track.h"

/* Tag and length of a message; of a text below it. */
#define MESSAGE_BYTES 5
#define TEXT_BYTES(s) (1 + orma_proto_varint_size(s) + (s))

static bool is_announced(const struct orma_category *category)
{
	return !strchr(category->name, ',');
}

static size_t described_bytes(const struct orma_category *category)
{
	size_t bytes = MESSAGE_BYTES + TEXT_BYTES(strlen(category->name));
	const char *tags = category->tags;
	struct orma_str tag;

	while (orma_track_list_next(&tags, &tag))
		bytes += TEXT_BYTES(tag.size);
	return bytes;
}

/* What the description takes. */
static size_t more_bytes(const struct orma_category *category)
{
	return category->description ? TEXT_BYTES(strlen(category->description)) : 0;
}

static void describe(struct orma_proto_writer *writer, const struct orma_category *category,
		     bool is_whole)
{
	const char *tags = category->tags;
	struct orma_proto_nested one;
	struct orma_str tag;

	orma_proto_nested_begin(writer, &one, ORMA_PB_TRACK_EVENT_DESCRIPTOR_AVAILABLE_CATEGORIES);
	orma_track_write_text(writer, ORMA_PB_TRACK_EVENT_CATEGORY_NAME, category->name,
			      strlen(category->name));
	if (is_whole && category->description)
		orma_track_write_text(writer, ORMA_PB_TRACK_EVENT_CATEGORY_DESCRIPTION,
				      category->description, strlen(category->description));
	while (orma_track_list_next(&tags, &tag))
		orma_track_write_text(writer, ORMA_PB_TRACK_EVENT_CATEGORY_TAGS, tag.data,
				      tag.size);
	orma_proto_nested_end(writer, &one);
}

/* How much room is left for descriptions. */
static size_t spare_bytes(const struct orma_category *first, size_t room)
{
	for (; first; first = first->next) {
		size_t bytes = described_bytes(first);

		if (is_announced(first) && bytes <= room)
			room -= bytes;
	}
	return room;
}

int orma_track_describe_list(const struct orma_category *first, struct orma_buf *buf)
{
	size_t room = ORMA_TRACK_DESCRIPTION_BYTES - MESSAGE_BYTES, spare;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested descriptor;

	spare = spare_bytes(first, room);
	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_nested_begin(&heap.writer, &descriptor,
				ORMA_PB_DATA_SOURCE_DESCRIPTOR_TRACK_EVENT_DESCRIPTOR);
	for (; first; first = first->next) {
		size_t bytes = described_bytes(first), more = more_bytes(first);

		if (!is_announced(first) || bytes > room)
			continue;
		describe(&heap.writer, first, more <= spare);
		room -= bytes;
		spare -= more <= spare ? more : 0;
	}
	orma_proto_nested_end(&heap.writer, &descriptor);
	return orma_proto_heap_writer_finish(&heap);
}
