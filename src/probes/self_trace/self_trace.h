/* SPDX-License-Identifier: Apache-2.0
 * self_trace.h - the spans and counters of the probes themselves, for the data sources orma.self
 * and perfetto.metatrace.
 *
 * A span costs one load while no session records them. Every function takes NULL for the object and
 * does nothing then. Everything happens on the thread of the probes' loop.
 *
 *	uint64_t begin_ns = orma_self_begin(env->self);
 *	...
 *	orma_self_end(env->self, "drain ftrace", begin_ns);
 */
#ifndef ORMA_PROBES_SELF_TRACE_H
#define ORMA_PROBES_SELF_TRACE_H

#include <stdint.h>

#include "base/clock_ns.h"

/* A member of the listener's own struct. */
struct orma_self_listener {
	/* The name is a constant. Spans arrive when they end, so an inner one before the outer
	 * one. */
	void (*on_span)(void *ctx, const char *name, uint64_t begin_ns, uint64_t end_ns);
	void (*on_counter)(void *ctx, const char *name, uint64_t now_ns, int64_t value);
	void *ctx;
	struct orma_self_listener *next; /* owned by self_trace.c */
};

/* {0} has no listeners. */
struct orma_self_trace {
	struct orma_self_listener *first;
};

/* ---- for probes ---- */

void orma_self_add_span(const struct orma_self_trace *self, const char *name, uint64_t begin_ns);
void orma_self_add_counter(const struct orma_self_trace *self, const char *name, int64_t value);

/* Returns the time on CLOCK_BOOTTIME; 0 = nobody listens. */
static inline uint64_t orma_self_begin(const struct orma_self_trace *self)
{
	return self && self->first ? orma_base_clock_ns(CLOCK_BOOTTIME) : 0;
}

static inline void orma_self_end(const struct orma_self_trace *self, const char *name,
				 uint64_t begin_ns)
{
	if (begin_ns > 0)
		orma_self_add_span(self, name, begin_ns);
}

static inline void orma_self_counter(const struct orma_self_trace *self, const char *name,
				     int64_t value)
{
	if (self && self->first)
		orma_self_add_counter(self, name, value);
}

/* ---- for listeners ---- */

void orma_self_listen(struct orma_self_trace *self, struct orma_self_listener *listener);
/* Does nothing for a listener that does not listen. */
void orma_self_unlisten(struct orma_self_trace *self, struct orma_self_listener *listener);

#endif
