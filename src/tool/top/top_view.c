/* SPDX-License-Identifier: Apache-2.0
 * top_view.c - sentences about the traffic, the losses and the producers.
 */
#include "tool/top/top_view.h"

#include <inttypes.h>

#include "base/macros.h"
#include "tool/ask/units.h"

int orma_top_append_traffic(const struct orma_top_view *view, struct orma_buf *out)
{
	const struct orma_top_traffic *last = &view->decoder->last;
	const struct orma_top_buffers *buffers = &view->buffers;
	double seconds = view->seconds;
	char packets[ORMA_UNIT_BYTES], events[ORMA_UNIT_BYTES], size[ORMA_UNIT_BYTES];
	double fill = buffers->size_bytes > 0
			      ? (double)buffers->waiting_bytes * 100 / (double)buffers->size_bytes
			      : 0;
	/* Nothing is known of the session before its first interval has ended. */
	if (seconds <= 0)
		return orma_base_buf_append_str(out, "measuring the first interval");
	orma_units_count((uint64_t)((double)last->packets / seconds + 0.5), packets);
	orma_units_count((uint64_t)((double)last->events / seconds + 0.5), events);
	orma_units_size((double)buffers->size_bytes, size);
	return orma_base_buf_printf(
		out, "%s packets/s, %s events/s, buffer %.0f%% of %s, %" PRIu32 " %s", packets,
		events, fill, size, buffers->producer_count,
		orma_base_noun(buffers->producer_count, "producer", "producers"));
}

static const char *loss_text(enum orma_tool_gap gap)
{
	switch (gap) {
	case ORMA_TOOL_GAP_FULL:
		return "shared memory was full";
	case ORMA_TOOL_GAP_OVERWRITTEN:
		return "the buffer was overwritten";
	default:
		return "other reasons";
	}
}

int orma_top_append_losses(const struct orma_top_view *view, struct orma_buf *out)
{
	const struct orma_top_traffic *all = &view->decoder->all, *last = &view->decoder->last;
	const char *lead = "lost data: ";
	char count[ORMA_UNIT_BYTES], new[ORMA_UNIT_BYTES];
	int r = 0;
	for (int gap = ORMA_TOOL_GAP_FULL; r == 0 && gap < ORMA_TOOL_GAP_KINDS; gap++) {
		if (all->losses[gap] == 0)
			continue;
		r = orma_base_buf_printf(out, "%s%s %s (%s)", lead,
					 orma_units_count(all->losses[gap], count),
					 orma_base_noun(all->losses[gap], "gap", "gaps"),
					 loss_text((enum orma_tool_gap)gap));
		if (r == 0 && last->losses[gap] > 0)
			r = orma_base_buf_printf(out, ", now %s",
						 orma_units_count(last->losses[gap], new));
		lead = "; ";
	}
	if (r == 0 && all->undecoded > 0)
		r = orma_base_buf_printf(out, "%s%s %s without names", lead,
					 orma_units_count(all->undecoded, count),
					 orma_base_noun(all->undecoded, "event", "events"));
	return r;
}

/* The producers with the most packets, in order. */
static size_t find_busiest(const struct orma_top_decoder *decoder, size_t max,
			   const struct orma_top_producer **ret)
{
	const struct orma_map_slot *slot;
	size_t position = 0, count = 0;
	while ((slot = orma_base_map_next(&decoder->producers, &position))) {
		const struct orma_top_producer *producer = slot->value;
		size_t place = count;
		for (; place > 0 && (ret[place - 1]->last.packets < producer->last.packets ||
				     (ret[place - 1]->last.packets == producer->last.packets &&
				      ret[place - 1]->pid > producer->pid));
		     place--)
			if (place < max)
				ret[place] = ret[place - 1];
		if (place < max)
			ret[place] = producer;
		count = ORMA_MIN(count + 1, max);
	}
	return count;
}

int orma_top_append_producers(const struct orma_top_view *view, size_t max, struct orma_buf *out)
{
	enum { SHOWN_MAX = 8 };
	const struct orma_top_producer *busiest[SHOWN_MAX];
	size_t count = find_busiest(view->decoder, ORMA_MIN(max, (size_t)SHOWN_MAX), busiest);
	double seconds = view->seconds > 0 ? view->seconds : 1;
	char label[ORMA_TOP_LABEL_BYTES], number[ORMA_UNIT_BYTES];
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct orma_top_producer *producer = busiest[i];
		uint64_t lost = 0;
		for (int gap = ORMA_TOOL_GAP_FULL; gap < ORMA_TOOL_GAP_KINDS; gap++)
			lost += producer->all.losses[gap];
		orma_units_count((uint64_t)((double)producer->last.packets / seconds + 0.5),
				 number);
		r = orma_base_buf_printf(
			out, "%s%s %s/s", i > 0 ? ", " : "",
			orma_top_producer_label(view->decoder, producer->pid, label), number);
		if (r == 0 && lost > 0)
			r = orma_base_buf_printf(out, " (%s lost)", orma_units_count(lost, number));
	}
	return r;
}

const char *orma_top_why_empty(const struct orma_top_view *view)
{
	const struct orma_top_buffers *buffers = &view->buffers;
	if (view->table->count > 0 || view->seconds <= 0)
		return NULL;
	/* The first row is that of names that found no room. */
	if (view->choice.filter[0] && view->decoder->rows.count > 1)
		return "No row fits the filter.";
	if (view->choice.by == ORMA_TOP_BY_CPU)
		return buffers->has_kernel ? "No scheduling events: the probes may not read the "
					     "kernel's tracefs; "
					     "`orma doctor` says why."
					   : "No scheduling events: no producer offers "
					     "linux.ftrace; start `orma "
					     "probes` as root.";
	if (buffers->producer_count == 0)
		return "No program is connected.";
	return "The programs that are connected have sent no such events yet.";
}
