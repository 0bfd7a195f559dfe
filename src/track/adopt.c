/* SPDX-License-Identifier: Apache-2.0
 * adopt.c - which sessions may go on with track events that were recorded at startup.
 *
 * Upstream's rule: both configs have a TrackEventConfig, and the same categories and tags are
 * enabled and disabled, in any order. What else a session wants (clocks, filters) is not looked at:
 * what was recorded is recorded.
 */
#include "base/arena.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"
#include "track/track.h"

static const struct orma_pb_track_event_config *decode(const void *config_untrusted, size_t size,
						       struct orma_arena *arena)
{
	struct orma_pb_track_event_config *config;
	struct orma_proto_field field;

	if (orma_proto_reader_find(config_untrusted, size,
				   ORMA_PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG, &field) != 1 ||
	    field.type != ORMA_PROTO_BYTES || field.bytes.size == 0 ||
	    orma_pb_track_event_config_decode(field.bytes.data, field.bytes.size, arena, &config) <
		    0)
		return NULL;
	return config;
}

static size_t count_of(const struct orma_str *texts, size_t count, struct orma_str text)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += orma_base_str_is_equal(texts[i], text);
	return found;
}

static bool are_same(const struct orma_str *a, size_t a_count, const struct orma_str *b,
		     size_t b_count)
{
	if (a_count != b_count || a_count > ORMA_TRACK_ADOPTED_MAX)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (count_of(a, a_count, a[i]) != count_of(b, b_count, a[i]))
			return false;
	return true;
}

#define ARE_SAME(member)                                                                           \
	are_same(early->member.items, early->member.count, late->member.items, late->member.count)

bool orma_track_may_adopt(const void *startup_config, size_t startup_size, const void *config,
			  size_t size)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	const struct orma_pb_track_event_config *early =
		decode(startup_config, startup_size, &arena);
	const struct orma_pb_track_event_config *late = decode(config, size, &arena);

	return early && late && ARE_SAME(enabled_categories) && ARE_SAME(disabled_categories) &&
	       ARE_SAME(enabled_tags) && ARE_SAME(disabled_tags);
}
