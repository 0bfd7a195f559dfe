/* SPDX-License-Identifier: Apache-2.0
 * orma/orma.h - all of orma's public interface.
 *
 * The interface has three tiers, and each can be used without the next: events on a timeline,
 * packets of your own format, and services and sessions. Each header can be included alone.
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
 * orma/init.h:        once per process: connecting to the tracing system, fork and dlclose
 * orma/category.h:    groups of events that a session enables together
 * orma/track_event.h: slices, instants, counters, states
 * orma/event_item.h:  the contents of events: arguments, flows, times, source locations
 * orma/track.h:       the tracks that events are on; names of threads and processes
 *
 * orma/data_source.h: packets of your own format, when a session asks for them
 * orma/packet.h:      writing their fields; `orma protogen` generates setters from a .proto file
 * orma/field.h:       reading the fields of a config or packet
 *
 * orma/session.h:     being a consumer: configure, start, stop and read back a recording
 * orma/stats.h:       counts of a session's data and losses
 * orma/state.h:       the producers and sessions of a service
 * orma/service.h:     a service inside a program that connects processes by itself
 * orma/transport.h:   a connection to a service over the program's own transport
 *
 * orma/error.h:       error descriptions in words
 * orma/log.h:         the library's own messages
 *
 * Errors: functions that can fail return a negative errno value. Each page lists the values and
 *         their meaning. No function exits, aborts, prints, or waits without a bound.
 * NULL:   where a pointer is required, functions that return int return -EINVAL for NULL, and all
 *         others do nothing and return 0, false or NULL, unless their pages say otherwise. The
 *         functions behind the event macros (orma/track_event.h) do not check.
 * Units:  names end with them: _ns, _ms, _bytes.
 * Ownership: arguments are borrowed for the call, and results belong to the caller, unless the
 *         pages say otherwise.
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
