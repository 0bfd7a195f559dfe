/* SPDX-License-Identifier: Apache-2.0
 * category_id.h - the id of a category in traces, by the category's name.
 */
#ifndef ORMA_TRACK_CATEGORY_ID_H
#define ORMA_TRACK_CATEGORY_ID_H

#include "base/str.h"
#include "track/track_limits.h"

/*
 * Returns the id of a category by its name, which need not be a category of the program. Equal
 * names have equal ids as long as the process lives. Returns ORMA_TRACK_CATEGORIES_MAX when the
 * name gets no id. *ret_text is set to a copy of the name that is never freed.
 */
uint32_t orma_track_category_id(struct orma_str name, const char **ret_text);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_category_ids_forked(void);

#endif
