/* SPDX-License-Identifier: Apache-2.0
 * snapshot.h - clones of running sessions, each into a file.
 */
#ifndef ORMA_TOOL_SNAPSHOT_H
#define ORMA_TOOL_SNAPSHOT_H

#include <orma/error.h>
#include <orma/session.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define ORMA_CLONE_TIMEOUT_MS 30000u /* for a clone: a flush, and the copy */

/* The hits of CLONE_SNAPSHOT triggers that wait for their clone. */
struct orma_snapshots {
	const char *out_path;
	const char *consumer_address; /* where the clones are asked for; NULL = the default */
	bool no_clobber;
	struct orma_list hits;
	size_t waiting_count;
	unsigned taken, failed;
};

void orma_snapshots_init(struct orma_snapshots *snapshots, const char *out_path, bool no_clobber);
void orma_snapshots_done(struct orma_snapshots *snapshots);
/* For the session's on_events: keeps the hits in a serialized ObservableEvents message. */
void orma_snapshots_take_events(struct orma_snapshots *snapshots, const void *events, size_t size);
/* Clones the oldest waiting hit into `out_path`.N; true while there was one. */
bool orma_snapshots_step(struct orma_snapshots *snapshots, bool is_quiet);

#endif
