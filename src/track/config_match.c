/* SPDX-License-Identifier: Apache-2.0
 * config_match.c - whether a session may continue what startup tracing recorded.
 *
 * Upstream's rule: both configs have a TrackEventConfig, and the same categories and tags are
 * enabled and disabled, in any order. Other fields of the configs (clocks, filters) are not
 * compared, because they cannot change what has been recorded.
 */
#include "track/config_match.h"

#include "base/arena.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/track_event_config.pb.h"
#include "track/track_limits.h"

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

static size_t occurrences(const struct orma_str *texts, size_t count, struct orma_str text)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += orma_base_str_is_equal(texts[i], text);
	return found;
}

static bool is_same_set(const struct orma_str *a, size_t a_count, const struct orma_str *b,
			size_t b_count)
{
	if (a_count != b_count || a_count > ORMA_TRACK_STARTUP_MATCH_MAX)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (occurrences(a, a_count, a[i]) != occurrences(b, b_count, a[i]))
			return false;
	return true;
}

#define IS_SAME(member)                                                                            \
	is_same_set(startup->member.items, startup->member.count, session->member.items,           \
		    session->member.count)

bool orma_track_startup_matches(const void *startup_config, size_t startup_size, const void *config,
				size_t size)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	const struct orma_pb_track_event_config *startup =
		decode(startup_config, startup_size, &arena);
	const struct orma_pb_track_event_config *session = decode(config, size, &arena);

	return startup && session && IS_SAME(enabled_categories) && IS_SAME(disabled_categories) &&
	       IS_SAME(enabled_tags) && IS_SAME(disabled_tags);
}
