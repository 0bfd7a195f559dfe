/* SPDX-License-Identifier: Apache-2.0
 * ftrace_format_fuzz.c - the kernel's descriptions: an event's format, a page's layout, and printk_formats. A format that
 * parses gets all kinds of plans, which are run for a record of its size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "probes/ftrace/generic_event.h"
#include "probes/ftrace/met.h"
#include "probes/ftrace/printk_formats.h"
#include "schema/gen/ftrace_event.pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct orma_met met;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void run(const struct orma_event_plan *plan, const struct orma_ftrace_record *record)
{
	size_t room = ORMA_EVENT_HEAD_BYTES + orma_event_plan_bytes(plan, record->size);
	uint8_t *at = malloc(room);
	uint8_t *end = orma_event_plan_encode(plan, record, &met, at);

	require(end && (size_t)(end - at) <= room);
	free(at);
}

static void run_legacy(const struct orma_legacy_event *event,
		       const struct orma_ftrace_record *record)
{
	size_t room = orma_legacy_event_bytes(event, record->size);
	uint8_t *at = malloc(room);
	uint8_t *end = orma_legacy_event_encode(event, record, &met, at);

	require(end && (size_t)(end - at) <= room);
	free(at);
}

/* A page's header and a record that is as short as the format allows; every byte of it is `fill`. */
static void run_all(const struct orma_ftrace_format *format, struct orma_arena *arena, uint8_t fill)
{
	enum { HEADER = 20 };
	struct orma_event_plan *plan;
	struct orma_legacy_event *legacy;
	uint8_t *page = malloc(HEADER + (size_t)format->record_bytes);
	struct orma_ftrace_record record = {
		.data = page + HEADER, .size = format->record_bytes, .id = format->id};
	const struct orma_proto_field_desc *member =
		orma_proto_desc_find_name(&orma_pb_ftrace_event_desc, format->name);

	memset(page, fill, HEADER + (size_t)format->record_bytes);
	if (member && member->kind == ORMA_PROTO_KIND_MESSAGE &&
	    orma_event_plan_typed(format, orma_pb_ftrace_event_desc.types[member->type_idx].message,
				  member->id, arena, &plan) == 0)
		run(plan, &record);
	if (orma_event_plan_generic(format, 65536, arena, &plan) == 0)
		run(plan, &record);
	if (orma_legacy_event_plan(format, arena, &legacy) == 0)
		run_legacy(legacy, &record);
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1); /* malloc(0) may be NULL */
	struct orma_str text = {copy, size};
	struct orma_arena arena = {0};
	struct orma_buf descriptor = {0};
	struct orma_ftrace_format format;
	struct orma_ftrace_page_layout layout;
	struct orma_printk_formats strings;

	memcpy(copy, data, size);
	if (orma_ftrace_format_parse(text, &arena, &format) == 0) {
		run_all(&format, &arena, 0);
		run_all(&format, &arena, 0xff);
		run_all(&format, &arena, 4);
		require(orma_generic_event_describe(&format, "group", 65536, &descriptor) == 0);
	}
	if (orma_ftrace_page_layout_parse(text, &layout) == 0)
		require(layout.data_offset < layout.page_bytes &&
			layout.commit_offset + layout.commit_bytes <= layout.data_offset);
	if (orma_printk_formats_parse(text, &strings) == 0) {
		require(orma_printk_formats_find(&strings, 0).size == 0);
		orma_printk_formats_done(&strings);
	}
	orma_met_deliver(&met);
	orma_symbol_index_clear(&met.symbols);
	orma_base_buf_done(&descriptor);
	orma_base_arena_done(&arena);
	free(copy);
	return 0;
}
