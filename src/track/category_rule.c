/* SPDX-License-Identifier: Apache-2.0
 * category_rule.c - which categories a config enables: upstream's rule for C++.
 *
 * There are three rounds: exact names, then patterns (one trailing '*'), then the lone '*'. Each
 * round tries enabled categories, disabled categories, disabled tags and enabled tags in this
 * order, and the first match decides. A category that nothing matches is enabled. In a config that
 * names no tags, "slow" and "debug" are disabled tags.
 *
 * Upstream differs in groups (category_list.c): when the tags of a member disable it, upstream asks
 * once more without them. There an empty config enables "a,b" of two slow categories; here it does
 * not.
 *
 * Rejected: upstream's other rule, for C, where an empty config enables nothing; patterns with a
 * '*' elsewhere (upstream's services and tools do not know them, and ignore what is behind the
 * '*').
 */
#include "track/category_rule.h"

#include <string.h>

#include "base/macros.h"

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
