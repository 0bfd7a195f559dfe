/* SPDX-License-Identifier: Apache-2.0
 * scrape.h - copying chunks that no producer has committed; see scrape.c.
 */
#ifndef ORMA_SERVICE_SCRAPE_H
#define ORMA_SERVICE_SCRAPE_H

#include "service/timer.h"
#include "shm/view.h"

struct orma_service_session;

/* The walk through the memory of one producer; {0} starts at its beginning. */
struct orma_service_scrape_walk {
	struct orma_shm_view_position position;
	bool has_gap;    /* a chunk came without its predecessor */
	bool fills_gaps; /* the second walk, which copies older chunks only */
};

/* The scrape of a session. */
struct orma_service_scrape {
	struct orma_service_timer timer;
	uint64_t serial, last_serial; /* the current producer's and the last one's */
	struct orma_service_scrape_walk walk;
	uint64_t deadline_ns;
	bool is_running;
	bool has_gaps; /* while it runs: a chunk may have come without its predecessor, which is still to come */
	bool is_cut; /* the last scrape ended at its deadline */
};

/* Scrapes all producers of the session from the beginning, also when a scrape runs already.
 * events->scraped() reports the end, before this returns when there is little to do. The scrape
 * ends at the deadline, but has ORMA_SERVICE_SCRAPE_NS_MIN in any case. */
void orma_service_scrape_begin(struct orma_service_session *session, uint64_t deadline_ns);
/* True while a scrape that goes on has left gaps, which a reader of the session must not pass. */
bool orma_service_scrape_fills_gaps(const struct orma_service_session *session);

#endif
