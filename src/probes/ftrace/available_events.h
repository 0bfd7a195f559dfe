/* SPDX-License-Identifier: Apache-2.0
 * available_events.h - from the name of an event to its group.
 */
#ifndef ORMA_PROBES_AVAILABLE_EVENTS_H
#define ORMA_PROBES_AVAILABLE_EVENTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"

/* {0} has not been read. */
struct orma_available_events {
	struct orma_buf text;    /* "GROUP\0NAME\0" for each event */
	struct orma_map by_name; /* hash of the name -> its GROUP in the text */
	bool is_read;
};

/* Reads the list at its first use. `events_fd` is the folder `events` of the root or of an instance. Returns the first
 * group that has an event of this name, without those whose events exist for a session only. 0, -ENOENT, or the errno of
 * reading the list. */
int orma_available_events_find(struct orma_available_events *names, int events_fd, const char *name,
			       const char **ret_group);
/* Returns the name that is most similar to a wrong one, and its group, or NULL. Both are kept as the list is. It takes some
 * milliseconds. */
const char *orma_available_events_closest(struct orma_available_events *names, int events_fd,
					  struct orma_str wrong, const char **ret_group);
void orma_available_events_done(struct orma_available_events *names);

#endif
