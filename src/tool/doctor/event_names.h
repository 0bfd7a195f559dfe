/* SPDX-License-Identifier: Apache-2.0
 * event_names.h - names of data sources and ftrace events, and the known name that is nearest to a
 * wrong one.
 */
#ifndef ORMA_TOOL_EVENT_NAMES_H
#define ORMA_TOOL_EVENT_NAMES_H

#include <stdbool.h>

#include "base/arena.h"
#include "tool/doctor/doctor.h"

/* Returns true for a data source of orma's or Perfetto's probes, or of programs. Otherwise
 * *ret_closest is the probable name among those and the daemon's, in the arena; NULL = none. */
bool orma_doctor_is_known_source(const struct orma_doctor_daemon *daemon, const char *name,
				 struct orma_arena *arena, const char **ret_closest);

enum orma_doctor_event {
	ORMA_DOCTOR_EVENT_KNOWN,
	ORMA_DOCTOR_EVENT_MISSING,   /* this kernel does not have it */
	ORMA_DOCTOR_EVENT_UNCERTAIN, /* unknown to orma, but the kernel cannot be asked */
};

/* Looks up "group/name", "name", or a group with a star: in tracefs if it can be read, else among the
 * events for which orma has a message. *ret_closest is as above. */
enum orma_doctor_event orma_doctor_find_event(const char *root, const char *name,
					      struct orma_arena *arena, const char **ret_closest);

#endif
