/* SPDX-License-Identifier: Apache-2.0
 * ftrace_sink.c - a session's set of events, and what happens with each record.
 *
 *	record --> actions[id] --> IGNORE
 *	                           ENCODE: plan --> bundle.fields --+
 *	                           SWITCH, WAKING --> columns ------+--> one packet per batch of pages of a CPU
 *	                           (nearly all of these go there from the page: orma_compact_sched_take())
 *
 * `actions` has a byte for each id: what a session wants of the kernel's two thousand events, and all its options, are
 * one load and one jump per record. Invariant: an action other than IGNORE is of an event that is loaded, and the
 * columns have memory if an action is SWITCH or WAKING.
 *
 * Each sink works through the records of a page by itself. Rejected: encoding once and copying to the others. It would
 * hold for plans without addresses only, and several sessions on one buffer are rare.
 */
#include "probes/ftrace/ftrace_sink.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "probes/ftrace/sink_state.h"
#include "schema/gen/ftrace_event.pb.h"

/* --- the set of events ---------------------------------------------------------------------- */

static enum orma_sink_action action_of(const struct orma_ftrace_sink *sink, uint16_t id)
{
	return id < sink->wanted.limit ? sink->wanted.actions[id] : ORMA_SINK_IGNORE;
}

bool orma_ftrace_sink_wants(const struct orma_ftrace_sink *sink, uint16_t id)
{
	return action_of(sink, id) != ORMA_SINK_IGNORE;
}

static enum orma_sink_action choose_action(const struct orma_ftrace_sink *sink,
					   const struct orma_ftrace_event *event)
{
	switch (event->encoding) {
	case ORMA_FTRACE_GENERIC:
		return sink->describe_generic ? ORMA_SINK_DESCRIBE : ORMA_SINK_LEGACY;
	case ORMA_FTRACE_KPROBE:
		return ORMA_SINK_KPROBE;
	case ORMA_FTRACE_TYPED:
		break;
	}
	return event->field_id == ORMA_PB_FTRACE_EVENT_PRINT && sink->print_filter.rule_count > 0
		       ? ORMA_SINK_PRINT
		       : ORMA_SINK_ENCODE;
}

/* Wakings go into columns only beside switches, which tell who was running. */
static void choose_columns(struct orma_ftrace_sink *sink)
{
	const struct orma_compact_format *format = &sink->events->compact;
	bool is_compact = sink->bundle.sched.memory && orma_compact_format_is_whole(format) &&
			  orma_ftrace_sink_wants(sink, format->switch_id);

	if (!orma_compact_format_is_whole(format))
		return;
	if (orma_ftrace_sink_wants(sink, format->switch_id))
		sink->wanted.actions[format->switch_id] =
			is_compact ? ORMA_SINK_SWITCH : ORMA_SINK_ENCODE;
	if (orma_ftrace_sink_wants(sink, format->waking_id))
		sink->wanted.actions[format->waking_id] =
			is_compact ? ORMA_SINK_WAKING : ORMA_SINK_ENCODE;
}

int orma_ftrace_sink_want(struct orma_ftrace_sink *sink, const struct orma_ftrace_event *event)
{
	struct orma_event_set *wanted = &sink->wanted;

	if (event->id >= wanted->limit) {
		uint32_t limit = ORMA_MAX((uint32_t)event->id + 1, wanted->limit * 2);
		uint8_t *actions = orma_base_realloc(wanted->actions, limit);
		if (!actions)
			return -ENOMEM;
		memset(actions + wanted->limit, ORMA_SINK_IGNORE, limit - wanted->limit);
		wanted->actions = actions;
		wanted->limit = limit;
	}
	if (sink->wants_compact_sched && !sink->bundle.sched.memory &&
	    event->encoding == ORMA_FTRACE_TYPED &&
	    event->field_id == ORMA_PB_FTRACE_EVENT_SCHED_SWITCH &&
	    orma_ftrace_events_fit_compact_sched(sink->events)) {
		int r = orma_compact_sched_init(&sink->bundle.sched);
		if (r < 0)
			return r;
	}
	wanted->actions[event->id] = (uint8_t)choose_action(sink, event);
	choose_columns(sink);
	return 0;
}

int orma_ftrace_sink_set_kprobe_type(struct orma_ftrace_sink *sink, uint16_t id, int32_t type)
{
	struct orma_sink_kprobe kprobe = {id, (uint8_t)(type & 0x7f)};

	return orma_base_buf_append(&sink->kprobes, &kprobe, sizeof(kprobe));
}

/* The type that was set last. */
static uint8_t kprobe_type(const struct orma_ftrace_sink *sink, uint16_t id)
{
	struct orma_sink_kprobe kprobe;

	for (size_t at = sink->kprobes.size; at > 0; at -= sizeof(kprobe)) {
		memcpy(&kprobe, sink->kprobes.data + at - sizeof(kprobe), sizeof(kprobe));
		if (kprobe.id == id)
			return kprobe.type;
	}
	return 0;
}

/* --- one record ----------------------------------------------------------------------------- */

/* The fate of a record. */
enum outcome { WRITTEN, LEFT_OUT, TOO_SHORT, NO_MEMORY };

static enum outcome encode(struct orma_ftrace_sink *sink, const struct orma_event_plan *plan,
			   const struct orma_ftrace_record *record)
{
	size_t bytes = ORMA_EVENT_HEAD_BYTES + orma_event_plan_bytes(plan, record->size);
	uint8_t *at = orma_bundle_reserve(sink, bytes);

	if (ORMA_UNLIKELY(!at))
		return NO_MEMORY;
	uint8_t *end = orma_event_plan_encode(plan, record, &sink->met, at);
	if (ORMA_UNLIKELY(!end))
		return TOO_SHORT;
	sink->bundle.fields.size += (size_t)(end - at);
	return WRITTEN;
}

static enum outcome encode_kprobe(struct orma_ftrace_sink *sink, const struct orma_event_plan *plan,
				  const struct orma_ftrace_record *record)
{
	enum outcome outcome = encode(sink, plan, record);

	/* The plan ends with a type of one byte. */
	if (outcome == WRITTEN)
		sink->bundle.fields.data[sink->bundle.fields.size - 1] =
			kprobe_type(sink, record->id);
	return outcome;
}

static enum outcome encode_legacy(struct orma_ftrace_sink *sink,
				  const struct orma_legacy_event *event,
				  const struct orma_ftrace_record *record)
{
	uint8_t *at = orma_bundle_reserve(sink, orma_legacy_event_bytes(event, record->size));

	if (!at)
		return NO_MEMORY;
	uint8_t *end = orma_legacy_event_encode(event, record, &sink->met, at);
	if (!end)
		return TOO_SHORT;
	sink->bundle.fields.size += (size_t)(end - at);
	return WRITTEN;
}

/* Writes what the event is, and then encodes its records until the bundle ends. */
static enum outcome describe(struct orma_ftrace_sink *sink, const struct orma_event_entry *entry,
			     const struct orma_ftrace_record *record)
{
	struct orma_sink_bundle *bundle = &sink->bundle;
	uint8_t *at = orma_bundle_reserve(sink, entry->descriptor.size);

	if (!at || orma_base_buf_append(&bundle->described, &record->id, sizeof(record->id)) < 0)
		return NO_MEMORY;
	memcpy(at, entry->descriptor.data, entry->descriptor.size);
	bundle->fields.size += entry->descriptor.size;
	sink->wanted.actions[record->id] = ORMA_SINK_ENCODE;
	return encode(sink, entry->event.plan, record);
}

static enum outcome print(struct orma_ftrace_sink *sink, const struct orma_event_plan *plan,
			  const struct orma_ftrace_record *record)
{
	if (record->size < plan->record_bytes)
		return TOO_SHORT;
	for (uint16_t i = 0; i < plan->other_count; i++) {
		if (plan->others[i].op != ORMA_PLAN_TEXT_TAIL)
			continue;
		uint16_t offset = plan->others[i].offset;
		const char *text = (const char *)record->data + offset;
		struct orma_str rest = {text, strnlen(text, record->size - offset)};
		if (!orma_print_filter_allows(&sink->print_filter, rest))
			return LEFT_OUT;
	}
	return encode(sink, plan, record);
}

/* Columns without room get a new bundle. */
static enum outcome add_to_columns(struct orma_ftrace_sink *sink, uint16_t least_bytes,
				   const struct orma_ftrace_record *record)
{
	const struct orma_compact_format *format = &sink->events->compact;
	struct orma_compact_sched *sched = &sink->bundle.sched;

	if (record->size < least_bytes)
		return TOO_SHORT;
	if (sink->bundle.is_open && orma_compact_sched_add(sched, format, record, &sink->met))
		return WRITTEN;
	orma_bundle_end(sink);
	orma_bundle_begin(sink, false);
	if (!sink->bundle.is_open)
		return NO_MEMORY;
	return orma_compact_sched_add(sched, format, record, &sink->met) ? WRITTEN : LEFT_OUT;
}

static enum outcome write_record(struct orma_ftrace_sink *sink, enum orma_sink_action action,
				 const struct orma_ftrace_record *record)
{
	const struct orma_event_entry *entry = orma_event_table_get(sink->events, record->id);
	ORMA_ASSERT(entry);
	switch (action) {
	case ORMA_SINK_ENCODE:
		return encode(sink, entry->event.plan, record);
	case ORMA_SINK_DESCRIBE:
		return describe(sink, entry, record);
	case ORMA_SINK_LEGACY:
		return entry->legacy ? encode_legacy(sink, entry->legacy, record) : LEFT_OUT;
	case ORMA_SINK_KPROBE:
		return encode_kprobe(sink, entry->event.plan, record);
	case ORMA_SINK_PRINT:
		return print(sink, entry->event.plan, record);
	case ORMA_SINK_SWITCH:
		return add_to_columns(sink, sink->events->compact.switch_bytes, record);
	case ORMA_SINK_WAKING:
		return add_to_columns(sink, sink->events->compact.waking_bytes, record);
	default:
		return LEFT_OUT;
	}
}

/* --- a page --------------------------------------------------------------------------------- */

static void take_record(struct orma_ftrace_sink *sink, enum orma_sink_action action,
			const struct orma_ftrace_record *record)
{
	enum outcome outcome = write_record(sink, action, record);

	if (ORMA_LIKELY(outcome == WRITTEN))
		sink->bundle.end_ns = record->timestamp_ns;
	else if (outcome == TOO_SHORT)
		orma_sink_error(sink,
				action == ORMA_SINK_SWITCH || action == ORMA_SINK_WAKING
					? ORMA_FTRACE_STATUS(SHORT_COMPACT_EVENT)
					: ORMA_FTRACE_STATUS(INVALID_EVENT),
				record->timestamp_ns, NULL, 0);
	else if (outcome == NO_MEMORY)
		sink->has_dropped = true;
	orma_bundle_end_if_large(sink);
}

void orma_sink_page(struct orma_ftrace_sink *sink, uint32_t cpu,
		    const struct orma_ftrace_clock_pair *clock, struct orma_ftrace_page *page)
{
	struct orma_ftrace_record record;

	sink->bundle.cpu = cpu;
	sink->bundle.clock = *clock;
	if (page->has_lost_events) {
		orma_bundle_end(sink);
		orma_bundle_begin(sink, true);
	}
	for (;;) {
		/* Nothing is known while no bundle is open. */
		if (orma_compact_sched_take(&sink->bundle.sched, page))
			sink->bundle.end_ns = page->now_ns;
		if (!orma_ftrace_page_next(page, &record))
			break;
		enum orma_sink_action action = action_of(sink, record.id);
		if (action != ORMA_SINK_IGNORE)
			take_record(sink, action, &record);
	}
}

void orma_sink_end(struct orma_ftrace_sink *sink)
{
	orma_bundle_end(sink);
	orma_met_deliver(&sink->met);
}

/* --- the sink ------------------------------------------------------------------------------- */

int orma_ftrace_sink_new(struct orma_ftrace_events *events,
			 const struct orma_ftrace_sink_options *options,
			 struct orma_ftrace_sink **ret)
{
	struct orma_ftrace_sink *sink = orma_base_zalloc(sizeof(*sink));

	if (!sink)
		return -ENOMEM;
	sink->events = events;
	orma_base_list_init(&sink->wanted.link);
	orma_base_list_append(&events->sets, &sink->wanted.link);
	sink->source = options->source;
	sink->instance_idx = options->instance_idx;
	sink->cpu_count = options->cpu_count;
	sink->describe_generic = options->describe_generic;
	sink->keep_broken_pages = options->keep_broken_pages;
	sink->wants_compact_sched = options->compact_sched;
	sink->met.ctx = options->ctx;
	sink->met.on_task = options->on_task;
	sink->met.on_task_renamed = options->on_task_renamed;
	sink->met.on_new_task = options->on_new_task;
	sink->met.on_inode = options->on_inode;
	sink->met.on_fd = options->on_fd;
	sink->met.own_tid = (int32_t)syscall(SYS_gettid);
	sink->met.printk_formats = &events->printk_formats;
	sink->previous_end_ns =
		orma_base_alloc_array(options->cpu_count, sizeof(*sink->previous_end_ns));
	if (!sink->previous_end_ns ||
	    (options->print_filter &&
	     orma_print_filter_init(&sink->print_filter, options->print_filter) < 0)) {
		orma_ftrace_sink_free(sink);
		return -ENOMEM;
	}
	*ret = sink;
	return 0;
}

void orma_ftrace_sink_free(struct orma_ftrace_sink *sink)
{
	if (!sink)
		return;
	orma_base_list_remove(&sink->wanted.link);
	orma_base_free(sink->wanted.actions);
	orma_base_free(sink->previous_end_ns);
	orma_base_buf_done(&sink->kprobes);
	orma_base_buf_done(&sink->bundle.fields);
	orma_base_buf_done(&sink->bundle.described);
	orma_compact_sched_done(&sink->bundle.sched);
	orma_print_filter_done(&sink->print_filter);
	orma_symbol_index_clear(&sink->met.symbols);
	orma_base_free(sink);
}

void orma_ftrace_sink_set_kallsyms(struct orma_ftrace_sink *sink,
				   const struct orma_kallsyms *kallsyms)
{
	sink->kallsyms = kallsyms;
	sink->met.symbols.written = 0;
	sink->needs_clear = true;
}

void orma_ftrace_sink_clear(struct orma_ftrace_sink *sink)
{
	sink->needs_clear = true;
}

uint32_t orma_ftrace_sink_parse_errors(const struct orma_ftrace_sink *sink)
{
	return sink->parse_errors;
}
