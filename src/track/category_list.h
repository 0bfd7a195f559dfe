/* SPDX-License-Identifier: Apache-2.0
 * category_list.h - all categories of the program, and the bits of the instances that enable them.
 */
#ifndef ORMA_TRACK_CATEGORY_LIST_H
#define ORMA_TRACK_CATEGORY_LIST_H

#include <assert.h>
#include <orma/data_source.h>
#include <orma/track_event.h>

#include "base/buf.h"

/*
 * A category's word `enabled` has a bit per instance. In the child of a fork it is this mark alone:
 * no instance's bit is set, and the first event calls orma_client_revive().
 */
#define ORMA_TRACK_REVIVE (UINT32_C(1) << 31)
static_assert(ORMA_INSTANCES_MAX < 31, "the mark is not an instance's bit");

/* False: the category is in the list already. */
bool orma_track_category_add(struct orma_category *category);
/* Starts or stops an instance for the rule and sets or clears its bit in all categories. */
void orma_track_categories_enable(uint32_t idx);
void orma_track_categories_disable(uint32_t idx);
/* Sets the word of every category; async-signal-safe. */
void orma_track_categories_set_all(uint32_t enabled);
/* Whether the instance wants events of a category or group of this name; `tags` may be NULL. */
bool orma_track_categories_want(uint32_t idx, const char *name, const char *tags);
/* On the loop thread: calls the callbacks of categories whose bits have changed. */
void orma_track_categories_notify(void);
/* From now on the source's descriptor follows the list; NULL = no source any more. */
void orma_track_categories_attach(struct orma_data_source *source);
/* Appends the field track_event_descriptor; at most ORMA_TRACK_DESCRIPTION_BYTES. */
int orma_track_categories_describe(struct orma_buf *buf);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_categories_forked(void);

#endif
