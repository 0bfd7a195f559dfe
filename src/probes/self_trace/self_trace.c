/* SPDX-License-Identifier: Apache-2.0
 * self_trace.c - hands the probes' own spans and counters to the sessions that record them.
 *
 * Owns a list of listeners, normally empty. A span is handed over when it ends, with both of its
 * times, so nothing is stored and a span that is open when a session begins is left out. A listener
 * writes packets of a data source of its own, so it may be called while a packet of another one is
 * open. Rejected: a ring of records that a timer empties, as in Perfetto, which threads would need
 * and which loses records; the probes have one thread.
 */
#include "probes/self_trace/self_trace.h"

void orma_self_listen(struct orma_self_trace *self, struct orma_self_listener *listener)
{
	if (!self)
		return;
	listener->next = self->first;
	self->first = listener;
}

void orma_self_unlisten(struct orma_self_trace *self, struct orma_self_listener *listener)
{
	if (!self)
		return;
	struct orma_self_listener **at = &self->first;
	while (*at && *at != listener)
		at = &(*at)->next;
	if (*at)
		*at = listener->next;
}

void orma_self_add_span(const struct orma_self_trace *self, const char *name, uint64_t begin_ns)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_BOOTTIME);

	for (const struct orma_self_listener *at = self->first; at; at = at->next)
		at->on_span(at->ctx, name, begin_ns, end_ns);
}

void orma_self_add_counter(const struct orma_self_trace *self, const char *name, int64_t value)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_BOOTTIME);

	for (const struct orma_self_listener *at = self->first; at; at = at->next)
		at->on_counter(at->ctx, name, now_ns, value);
}
