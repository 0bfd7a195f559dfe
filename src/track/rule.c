/* SPDX-License-Identifier: Apache-2.0
 * rule.c - which categories a config enables: upstream's rule for C++.
 *
 * Exact names come first, then patterns (one trailing '*'), then the lone '*'; in each of these
 * rounds enabled categories, disabled categories, disabled tags, enabled tags, and the first match
 * decides. What nothing matches is enabled. "slow" and "debug" are disabled tags of configs that
 * name no tags.
 *
 * Of groups (category.c) upstream asks once more, without its tags, for a member that its tags have
 * disabled: "a,b" of two slow categories is enabled there by an empty config, and not here.
 *
 * Rejected: upstream's other rule, for C, where an empty config enables nothing; patterns with a
 * '*' elsewhere (no service or tool of theirs knows them: what is behind the '*' is ignored).
 */
#include "track/track.h"

enum match { MATCH_EXACT, MATCH_PREFIX, MATCH_ALL };

static bool matches(struct orma_str pattern, struct orma_str text, enum match match)
{
	const char *star = pattern.size > 0 ? memchr(pattern.data, '*', pattern.size) : NULL;
	size_t prefix = star ? (size_t)(star - pattern.data) : 0;

	if (!star)
		return match == MATCH_EXACT && orma_base_str_is_equal(pattern, text);
	if (prefix == 0)
		return match == MATCH_ALL;
	return match == MATCH_PREFIX && text.size >= prefix &&
	       memcmp(pattern.data, text.data, prefix) == 0;
}

static bool any_matches(const struct orma_str *patterns, size_t count, struct orma_str text,
			enum match match)
{
	for (size_t i = 0; i < count; i++)
		if (matches(patterns[i], text, match))
			return true;
	return false;
}

bool orma_track_list_next(const char **at, struct orma_str *ret)
{
	while (*at && **at) {
		*ret = (struct orma_str){*at, strcspn(*at, ",")};
		*at += ret->size + ((*at)[ret->size] == ',');
		if (ret->size > 0)
			return true;
	}
	return false;
}

static bool tag_matches(const char *tags, const struct orma_str *patterns, size_t count,
			enum match match)
{
	struct orma_str tag;

	while (orma_track_list_next(&tags, &tag))
		if (any_matches(patterns, count, tag, match))
			return true;
	return false;
}

bool orma_track_category_matches(const struct orma_pb_track_event_config *config,
				 struct orma_str name, const char *tags)
{
	static const struct orma_str off_by_default[] = {{"slow", 4}, {"debug", 5}};
	bool has_tags = config->enabled_tags.count > 0 || config->disabled_tags.count > 0;

	for (enum match match = MATCH_EXACT; match <= MATCH_ALL; match++) {
		if (any_matches(config->enabled_categories.items, config->enabled_categories.count,
				name, match))
			return true;
		if (any_matches(config->disabled_categories.items,
				config->disabled_categories.count, name, match))
			return false;
		if (tag_matches(tags, has_tags ? config->disabled_tags.items : off_by_default,
				has_tags ? config->disabled_tags.count
					 : ORMA_ARRAY_SIZE(off_by_default),
				match))
			return false;
		if (tag_matches(tags, config->enabled_tags.items, config->enabled_tags.count,
				match))
			return true;
	}
	return true;
}
