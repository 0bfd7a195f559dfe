/* SPDX-License-Identifier: Apache-2.0
 * orma/orma.h - all of orma's public interface.
 *
 * Three tiers, each usable without the next: events on a timeline, packets of one's own format,
 * and services and sessions. Any of the headers can be included by itself.
 *
 *	#include <orma/orma.h>
 *
 *	ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");
 *
 *	int main(void)
 *	{
 *		orma_init(NULL);
 *		for (int frame = 0; frame < 1000; frame++) {
 *			ORMA_SCOPE(gfx, "frame", "number", frame);
 *			...
 *		}
 *		orma_shutdown();
 *	}
 *
 *	cc app.c $(pkg-config --cflags --libs orma)
 *	orma record -t 5s & ./app
 *
 * orma/init.h:        once per process: joining the tracing system, leaving it, fork and dlclose
 * orma/category.h:    groups of events that a session switches on together
 * orma/track_event.h: slices, instants, counters, states
 * orma/event_item.h:  what events carry: arguments, flows, times, places in the source
 * orma/track.h:       the lines that events lie on; names of threads and processes
 *
 * orma/data_source.h: packets of one's own format, when a session asks for them
 * orma/packet.h:      writing their fields; `orma protogen` makes setters from a .proto file
 *
 * orma/session.h:     being a consumer: configure, start, stop and read back a recording
 * orma/stats.h:       what became of a session's data
 * orma/state.h:       who is connected to a service
 * orma/service.h:     a service for programs that bring processes together by themselves
 * orma/transport.h:   a connection to a service over a transport of the program's own
 *
 * orma/error.h:       what went wrong, in words
 * orma/log.h:         where the library's own messages go
 *
 * Errors: functions that can fail return a negative errno value; the pages say which, and what
 *         each means. Nothing here exits, aborts, prints, or waits without a bound.
 * NULL:   where there has to be something, functions that return int return -EINVAL, and all
 *         others do nothing and return 0, false or NULL, unless their pages say otherwise. The
 *         functions behind the macros of events (orma/track_event.h) do not look.
 * Units: the ends of names tell them: _ns, _ms, _bytes.
 * Ownership: arguments are borrowed for the call and results belong to the caller, where the pages
 *         do not say otherwise.
 */
#ifndef ORMA_ORMA_H
#define ORMA_ORMA_H

#include <orma/category.h>
#include <orma/data_source.h>
#include <orma/error.h>
#include <orma/event_item.h>
#include <orma/field.h>
#include <orma/init.h>
#include <orma/log.h>
#include <orma/packet.h>
#include <orma/service.h>
#include <orma/session.h>
#include <orma/state.h>
#include <orma/stats.h>
#include <orma/track.h>
#include <orma/track_event.h>
#include <orma/transport.h>

#endif
