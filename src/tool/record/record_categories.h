/* SPDX-License-Identifier: Apache-2.0
 * record_categories.h - the categories of track events that programs have declared, compared with
 * those that a config enables.
 */
#ifndef ORMA_TOOL_RECORD_CATEGORIES_H
#define ORMA_TOOL_RECORD_CATEGORIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct orma_session;
struct orma_pb_track_event_config;
struct orma_pb_tracing_service_state;

/* Enough for suggestions; a program may declare thousands. */
#define ORMA_RECORD_CATEGORIES_MAX 1024

/* {0} is empty. */
struct orma_record_categories {
	struct orma_arena arena; /* owns the names */
	const char *items[ORMA_RECORD_CATEGORIES_MAX];
	size_t count;
	bool lacks_some;         /* there are others that could not be taken */
	bool has_seen;           /* some program has recorded */
	bool must_ask, is_asked; /* orma_record_categories_step() */
};

/* Adds what the programs have declared that are connected now. */
void orma_record_categories_add(struct orma_record_categories *names,
				const struct orma_pb_tracing_service_state *state);
/* Asks the service for its programs if `must_ask` is set and no answer is under way. */
void orma_record_categories_step(struct orma_record_categories *names,
				 struct orma_session *session);
/* Calls `fn` for each category in the config that no program has declared, with the declared one
 * that was probably meant (NULL = none is similar). `config` may be NULL. Does nothing when no
 * category is declared. */
typedef void orma_record_category_fn(void *ctx, const char *wanted, const char *closest);
void orma_record_find_unknown_categories(struct orma_record_categories *names,
					 const struct orma_pb_track_event_config *config,
					 orma_record_category_fn *fn, void *ctx);
/* Warns of categories in the config that no program has declared. Returns true when there was one.
 * `config` may be NULL. */
bool orma_record_warn_of_categories(struct orma_record_categories *names,
				    const struct orma_pb_track_event_config *config,
				    bool has_events);
void orma_record_categories_done(struct orma_record_categories *names);

#endif
