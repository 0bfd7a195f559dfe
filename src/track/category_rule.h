/* SPDX-License-Identifier: Apache-2.0
 * category_rule.h - whether a config enables a category.
 */
#ifndef ORMA_TRACK_CATEGORY_RULE_H
#define ORMA_TRACK_CATEGORY_RULE_H

#include "base/str.h"
#include "schema/gen/track_event_config.pb.h"

/* Moves *at past the next text of a comma-separated list, which may be NULL; skips empty texts.
 * False at the end. */
bool orma_track_list_next(const char **at, struct orma_str *ret);
/* `name` is a single category, not a group; `tags` is a comma-separated list or NULL. */
bool orma_track_category_matches(const struct orma_pb_track_event_config *config,
				 struct orma_str name, const char *tags);

#endif
