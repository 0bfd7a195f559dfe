/* SPDX-License-Identifier: Apache-2.0
 * category_descriptor.c - the list of categories in the descriptor of the data source.
 *
 * A descriptor is sent whole, in one frame of 128 KiB, and each update replaces it: it cannot be
 * sent in parts. When the list does not fit, names and tags take precedence over descriptions, and
 * newer categories over older ones. Categories that do not fit even then are left out. That affects
 * only people and tools that read the list: a session enables categories by their names, whether
 * they are listed or not. Groups are not listed, as in upstream's libraries; their members are
 * listed if they are defined.
 *
 * Rejected: a second data source for the rest (it would be started beside the first, and every
 * event would be in the trace twice).
 */
#include "track/category_descriptor.h"

#include <string.h>

#include "proto/writer.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/track_event_descriptor.pb.h"
#include "track/category_rule.h"
#include "track/sanitize_text.h"
#include "track/track_limits.h"

/* Tag and length of a message; tag, length and content of a text in it. */
#define MESSAGE_BYTES 5
#define TEXT_BYTES(s) (1 + orma_proto_varint_size(s) + (s))

static bool is_listed(const struct orma_category *category)
{
	return !strchr(category->name, ',');
}

/* Bytes of a category without its description. */
static size_t name_bytes(const struct orma_category *category)
{
	size_t bytes = MESSAGE_BYTES + TEXT_BYTES(strlen(category->name));
	const char *tags = category->tags;
	struct orma_str tag;

	while (orma_track_list_next(&tags, &tag))
		bytes += TEXT_BYTES(tag.size);
	return bytes;
}

/* Bytes of the description alone. */
static size_t description_bytes(const struct orma_category *category)
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

/* The room that the names and tags of all categories leave for descriptions. */
static size_t spare_bytes(const struct orma_category *first, size_t room)
{
	for (; first; first = first->next) {
		size_t bytes = name_bytes(first);

		if (is_listed(first) && bytes <= room)
			room -= bytes;
	}
	return room;
}

int orma_track_category_descriptor_write(const struct orma_category *first, struct orma_buf *buf)
{
	size_t room = ORMA_TRACK_DESCRIPTION_BYTES - MESSAGE_BYTES, spare;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested descriptor;

	spare = spare_bytes(first, room);
	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_nested_begin(&heap.writer, &descriptor,
				ORMA_PB_DATA_SOURCE_DESCRIPTOR_TRACK_EVENT_DESCRIPTOR);
	for (; first; first = first->next) {
		size_t bytes = name_bytes(first), more = description_bytes(first);

		if (!is_listed(first) || bytes > room)
			continue;
		describe(&heap.writer, first, more <= spare);
		room -= bytes;
		spare -= more <= spare ? more : 0;
	}
	orma_proto_nested_end(&heap.writer, &descriptor);
	return orma_proto_heap_writer_finish(&heap);
}
