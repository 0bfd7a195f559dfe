/* SPDX-License-Identifier: Apache-2.0
 * ftrace_page_fuzz.c - a raw page of the kernel's ring buffer. Bit 0 of the first byte is a 32-bit kernel, the rest is the
 * page. Its records are encoded by the plans of typed, generic and legacy events, and into the columns of compact sched.
 *
 * The page and each output have exactly the size that they claim, so that AddressSanitizer sees a byte too many.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/ftrace/compact_sched.h"
#include "probes/ftrace/generic_event.h"
#include "schema/gen/ftrace_event.pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define FORMAT(name, id, fields)                                                                   \
	"name: " name "\nID: " #id "\nformat:\n" FIELD("unsigned short common_type", 0, 2, 0)      \
		FIELD("unsigned char common_flags", 2, 1, 0)                                       \
			FIELD("unsigned char common_preempt_count", 3, 1, 0)                       \
				FIELD("int common_pid", 4, 4, 1) "\n" fields

/* Ids are below 16, so that a byte of input selects an event. */
static const char *const formats[] = {
	FORMAT("sched_switch", 1,
	       FIELD("char prev_comm[16]", 8, 16, 0) FIELD("pid_t prev_pid", 24, 4,
							   1) FIELD("int prev_prio", 28, 4, 1)
		       FIELD("long prev_state", 32, 8, 1) FIELD("char next_comm[16]", 40, 16, 0)
			       FIELD("pid_t next_pid", 56, 4, 1) FIELD("int next_prio", 60, 4, 1)),
	FORMAT("sched_waking", 2,
	       FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)
		       FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1)),
	FORMAT("print", 3, FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0)),
	FORMAT("sched_process_exec", 4,
	       FIELD("__data_loc char[] filename", 8, 4, 0) FIELD("pid_t pid", 12, 4, 1)
		       FIELD("pid_t old_pid", 16, 4, 1)),
	FORMAT("sys_enter", 5, FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0)),
	FORMAT("mm_filemap_add_to_page_cache", 6,
	       FIELD("unsigned long pfn", 8, 8, 0) FIELD("ino_t i_ino", 16, 8, 0)
		       FIELD("unsigned long index", 24, 8, 0) FIELD("dev_t s_dev", 32, 4, 0)),
	FORMAT("workqueue_execute_start", 7,
	       FIELD("void * work", 8, 8, 0) FIELD("void * function", 16, 8, 0)),
	FORMAT("task_rename", 8,
	       FIELD("pid_t pid", 8, 4, 1) FIELD("char oldcomm[16]", 12, 16, 0)
		       FIELD("char newcomm[16]", 28, 16, 0) FIELD("short oom_score_adj", 44, 2, 1)),
	FORMAT("made_up", 9,
	       FIELD("u32 count", 8, 4, 0) FIELD("__rel_loc char[] label", 12, 4, 0)
		       FIELD("__u8 mac[6]", 16, 6, 0) FIELD("u16 ports[3]", 22, 6, 0)
			       FIELD("__data_loc s16[] words", 28, 4, 0)
				       FIELD("__data_loc u8[] bytes", 32, 4, 0)
					       FIELD("const char * text", 36, 8, 0)
						       FIELD("struct thing whole", 44, 3, 0)),
};

struct event {
	const struct orma_event_plan *typed, *generic;
	const struct orma_legacy_event *legacy;
};

static struct event events[ORMA_ARRAY_SIZE(formats) + 1];
static struct orma_compact_format compact_format;
static struct orma_compact_sched compact, added;
static struct orma_met met;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void make_plans(void)
{
	static struct orma_arena arena;
	struct orma_buf descriptor = {0};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(formats); i++) {
		struct orma_ftrace_format format;
		struct orma_event_plan *plan;
		require(orma_ftrace_format_parse(orma_base_str(formats[i]), &arena, &format) == 0);
		struct event *event = &events[format.id];
		const struct orma_proto_field_desc *member =
			orma_proto_desc_find_name(&orma_pb_ftrace_event_desc, format.name);
		require(orma_event_plan_generic(&format, 65536, &arena, &plan) == 0);
		event->generic = plan;
		require(orma_legacy_event_plan(&format, &arena,
					       (struct orma_legacy_event **)&event->legacy) == 0);
		require(orma_generic_event_describe(&format, "group", 65536, &descriptor) == 0);
		if (!member)
			continue;
		require(orma_event_plan_typed(
				&format, orma_pb_ftrace_event_desc.types[member->type_idx].message,
				member->id, &arena, &plan) == 0);
		event->typed = plan;
		struct orma_ftrace_event known = {
			.id = format.id, .encoding = ORMA_FTRACE_TYPED, .field_id = member->id};
		orma_compact_format_learn(&compact_format, &known, &format);
	}
	require(orma_compact_format_is_whole(&compact_format));
	require(orma_compact_sched_init(&compact) == 0);
	require(orma_compact_sched_init(&added) == 0);
	orma_base_buf_done(&descriptor);
}

/* The result is a bundle with one event. */
static void check_encoding(const uint8_t *begin, const uint8_t *end, size_t room)
{
	struct orma_arena arena = {0};
	void *message;

	if (!end)
		return;
	require((size_t)(end - begin) <= room);
	/* The field `event` of FtraceEventBundle is the field `print` of no message that decodes otherwise. */
	require(begin[0] == 0x12);
	require(orma_proto_decode(&orma_pb_ftrace_event_desc, begin, (size_t)(end - begin), &arena,
				  &message) == 0);
	orma_base_arena_done(&arena);
}

static void encode_by_plan(const struct orma_event_plan *plan,
			   const struct orma_ftrace_record *record)
{
	size_t room = ORMA_EVENT_HEAD_BYTES + orma_event_plan_bytes(plan, record->size);
	uint8_t *at = malloc(room);

	check_encoding(at, orma_event_plan_encode(plan, record, &met, at), room);
	free(at);
}

static void encode_legacy(const struct orma_legacy_event *event,
			  const struct orma_ftrace_record *record)
{
	size_t room = orma_legacy_event_bytes(event, record->size);
	uint8_t *at = malloc(room);

	check_encoding(at, orma_legacy_event_encode(event, record, &met, at), room);
	free(at);
}

/* Adds all events of a page; with `take`, those that are known straight from the page. */
static void add_page(struct orma_compact_sched *sched, struct orma_ftrace_page page, bool take)
{
	struct orma_ftrace_record record;

	for (;;) {
		while (take && orma_compact_sched_take(sched, &page))
			continue;
		if (!orma_ftrace_page_next(&page, &record))
			return;
		bool is_switch = record.id == compact_format.switch_id;
		if ((!is_switch && record.id != compact_format.waking_id) ||
		    record.size <
			    (is_switch ? compact_format.switch_bytes : compact_format.waking_bytes))
			continue;
		if (orma_compact_sched_add(sched, &compact_format, &record, &met))
			continue;
		orma_compact_sched_clear(sched);
		require(orma_compact_sched_add(sched, &compact_format, &record, &met));
	}
}

static void require_equal(const struct orma_compact_ends *a, const uint8_t *a_columns,
			  const struct orma_compact_ends *b, const uint8_t *b_columns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t offset = i * ORMA_COMPACT_COLUMN_BYTES;
		size_t size = (size_t)(a->at[i] - a_columns) - offset;
		require(size == (size_t)(b->at[i] - b_columns) - offset);
		require(size <= ORMA_COMPACT_COLUMN_BYTES);
		require(memcmp(a->at[i] - size, b->at[i] - size, size) == 0);
	}
}

/* Events that are taken from the page are the same as if each was added. */
static void compare_columns(const struct orma_ftrace_page *page)
{
	add_page(&compact, *page, true);
	add_page(&added, *page, false);
	require(compact.switch_count == added.switch_count);
	require(compact.waking_count == added.waking_count);
	require_equal(&compact.switches, compact.memory->switches[0], &added.switches,
		      added.memory->switches[0], ORMA_SWITCH_COLUMNS);
	require_equal(&compact.wakings, compact.memory->wakings[0], &added.wakings,
		      added.memory->wakings[0], ORMA_WAKING_COLUMNS);
	orma_compact_sched_clear(&compact);
	orma_compact_sched_clear(&added);
}

static void encode(const struct orma_ftrace_record *record)
{
	if (record->id >= ORMA_ARRAY_SIZE(events) || !events[record->id].generic)
		return;
	const struct event *event = &events[record->id];
	if (event->typed)
		encode_by_plan(event->typed, record);
	encode_by_plan(event->generic, record);
	encode_legacy(event->legacy, record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_ftrace_record record;
	struct orma_ftrace_page page;

	if (size < 1 + 16)
		return 0;
	if (!events[1].generic)
		make_plans();
	bool is_32_bit = data[0] & 1;
	struct orma_ftrace_page_layout layout = {
		.page_bytes = (uint32_t)ORMA_MIN(size - 1, (size_t)65536),
		.commit_bytes = is_32_bit ? 4 : 8,
		.commit_offset = 8,
		.data_offset = is_32_bit ? 12 : 16,
	};
	uint8_t *copy = malloc(layout.page_bytes);
	memcpy(copy, data + 1, layout.page_bytes);
	orma_ftrace_page_begin(&layout, copy, &page);
	compare_columns(&page);
	while (orma_ftrace_page_next(&page, &record))
		encode(&record);
	orma_met_deliver(&met);
	orma_symbol_index_clear(&met.symbols);
	free(copy);
	return 0;
}
