/* SPDX-License-Identifier: Apache-2.0
 * heap_profiles.c - dumps of heaps.
 *
 * A dump comes in several packets, and its call stacks may come in the last of them, so samples wait for the packet that
 * ends it. Samples are totals since the recording began. A row has the difference to the dump before.
 *
 * A call stack may get a new number in the middle of a recording, under which its totals begin at 0 again. The totals
 * before are then added to them: the bases of the number.
 */
#include "trace/heap_profiles.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "store/grow.h"
#include "trace/message_fields.h"

struct heap_totals {
	uint64_t count, size, freed_count, freed_size;
};

/* A heap of a process on a sequence, and a call stack or its number: totals at the last dump, or the number's bases. */
struct heap_site {
	struct heap_totals totals;
};

struct heap_sample {
	uint64_t stack; /* its number */
	int64_t ts, upid, heap;
	struct heap_totals totals;
};

struct orma_heap_sequence {
	uint64_t last_index;
	bool has_index;
	/* Tables in the dump itself, as tracers of 2018 wrote them. */
	struct orma_interning tables;
	uint32_t generation;
	struct heap_sample *waiting;
	uint32_t waiting_count, waiting_capacity;
};

/* A packet that is being read. */
struct dump {
	struct orma_heap_profiles *profiles;
	const struct orma_ordered_event *event;
	struct orma_heap_sequence *sequence;
	uint64_t key; /* stands for the sequence */
};

void orma_heap_profiles_done(struct orma_heap_profiles *profiles)
{
	size_t position = 0;
	struct orma_map_slot *slot;
	while ((slot = orma_base_map_next(&profiles->sequences, &position))) {
		struct orma_heap_sequence *sequence = slot->value;
		orma_interning_clear(&sequence->tables);
		orma_base_free(sequence->waiting);
	}
	orma_base_map_done(&profiles->sequences);
	orma_base_map_done(&profiles->sites);
	orma_base_map_done(&profiles->windows);
	orma_base_arena_done(&profiles->arena);
}

static void count(const struct dump *dump, enum orma_stat stat, int64_t idx)
{
	orma_stats_add(&dump->profiles->system->stats, dump->event->machine_idx, stat, (int32_t)idx,
		       1);
}

static struct orma_heap_sequence *find_sequence(struct orma_heap_profiles *profiles, uint64_t key)
{
	struct orma_heap_sequence *sequence = orma_base_map_get(&profiles->sequences, key);
	if (sequence)
		return sequence;
	sequence = orma_base_arena_alloc(&profiles->arena, sizeof(*sequence));
	return sequence && orma_base_map_put(&profiles->sequences, key, sequence) == 0 ? sequence
										       : NULL;
}

static void check_index(const struct dump *dump, uint64_t index)
{
	struct orma_heap_sequence *sequence = dump->sequence;
	uint64_t expected = sequence->has_index ? sequence->last_index + 1 : 0;
	if (index != expected)
		count(dump, ORMA_STAT_heapprofd_missing_packet, 0);
	sequence->last_index = index;
	sequence->has_index = true;
}

/* Takes the tables of an old dump, under the numbers that interned data has today. */
static int take_tables(const struct dump *dump)
{
	static const uint32_t fields[][3] = {
		[ORMA_PB_PROFILE_PACKET_STRINGS] = {ORMA_PB_INTERNED_DATA_FUNCTION_NAMES,
						    ORMA_PB_INTERNED_DATA_BUILD_IDS,
						    ORMA_PB_INTERNED_DATA_MAPPING_PATHS},
		[ORMA_PB_PROFILE_PACKET_FRAMES] = {ORMA_PB_INTERNED_DATA_FRAMES},
		[ORMA_PB_PROFILE_PACKET_CALLSTACKS] = {ORMA_PB_INTERNED_DATA_CALLSTACKS},
		[ORMA_PB_PROFILE_PACKET_MAPPINGS] = {ORMA_PB_INTERNED_DATA_MAPPINGS},
	};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf tables = {0};
	struct orma_str content = dump->event->packet->content;
	struct orma_proto_heap_writer writer;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	bool has_tables = false;
	orma_proto_heap_writer_init(&writer, &tables);
	orma_proto_reader_init(&reader, content.data, content.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id >= ORMA_ARRAY_SIZE(fields) || field.type != ORMA_PROTO_BYTES)
			continue;
		has_tables = true;
		for (size_t i = 0; i < 3 && fields[field.id][i]; i++)
			orma_proto_write_str(&writer.writer, fields[field.id][i], field.bytes);
	}
	int r = orma_proto_heap_writer_finish(&writer);
	return r == 0 && has_tables
		       ? orma_interning_take(
				 &dump->sequence->tables,
				 (struct orma_str){(const char *)tables.data, tables.size})
		       : r;
}

/* Converts a time of heapprofd. 1, or 0 and counted. */
static int find_time(const struct dump *dump, uint64_t value, int64_t *ret)
{
	struct orma_packet_index *index = dump->profiles->system->index;
	uint64_t clock =
		orma_trace_clock_key(dump->event->machine_idx, 0, ORMA_CLOCK_MONOTONIC_COARSE);
	enum orma_clock_failure failure = orma_trace_clocks_convert(
		&index->clocks, clock, (int64_t)value, index->clocks.trace_time,
		index->clocks.snapshot_count, &dump->profiles->clock_cache, ret);
	if (failure == ORMA_CLOCK_CONVERTED)
		return 1;
	index->counts[ORMA_COUNT_CLOCK_UNKNOWN_SOURCE + failure - ORMA_CLOCK_UNKNOWN_SOURCE]++;
	return 0;
}

static struct heap_site *find_site(const struct dump *dump, char what,
				   const struct heap_sample *sample, uint64_t stack,
				   uint64_t number, bool *ret_is_new)
{
	struct orma_heap_profiles *profiles = dump->profiles;
	uint64_t words[] = {(unsigned char)what,    dump->key, (uint64_t)sample->upid,
			    (uint64_t)sample->heap, stack,     number};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	struct heap_site *site = orma_base_map_get(&profiles->sites, key);
	*ret_is_new = !site;
	if (site)
		return site;
	site = orma_base_arena_alloc(&profiles->arena, sizeof(*site));
	return site && orma_base_map_put(&profiles->sites, key, site) == 0 ? site : NULL;
}

static int add_row(const struct dump *dump, const struct heap_sample *sample, int64_t callsite,
		   int64_t row_count, int64_t size)
{
	struct orma_tables *tables = dump->profiles->system->tables;
	int64_t cells[ORMA_HEAP_ALLOCATION_COLUMNS] = {
		[ORMA_HEAP_ALLOCATION_TS] = sample->ts,
		[ORMA_HEAP_ALLOCATION_UPID] = sample->upid,
		[ORMA_HEAP_ALLOCATION_HEAP_NAME] = sample->heap,
		[ORMA_HEAP_ALLOCATION_CALLSITE_ID] = callsite,
		[ORMA_HEAP_ALLOCATION_COUNT] = row_count,
		[ORMA_HEAP_ALLOCATION_SIZE] = size,
	};
	return row_count || size
		       ? orma_store_table_append(&tables->all[ORMA_TABLE_HEAP_ALLOCATION], cells)
		       : 0;
}

/* Adds what changed since the last dump. ART tells allocations only, and its frees are guesses. */
static int add_difference(const struct dump *dump, const struct heap_sample *sample,
			  int64_t callsite, const struct heap_totals *old,
			  const struct heap_totals *now)
{
	int64_t more = (int64_t)(now->count - old->count);
	int64_t more_size = (int64_t)(now->size - old->size);
	int64_t freed = (int64_t)(now->freed_count - old->freed_count);
	int64_t freed_size = (int64_t)(now->freed_size - old->freed_size);
	if (more < 0 || more_size < 0 || freed < 0 || freed_size < 0) {
		count(dump, ORMA_STAT_heapprofd_malformed_packet, sample->upid);
		return 0;
	}
	int r = add_row(dump, sample, callsite, more, more_size);
	bool is_art = sample->heap == orma_tables_string(dump->profiles->system->tables,
							 ORMA_STR("com.android.art"));
	if (r == 0 && !is_art)
		r = add_row(dump, sample, callsite, -freed, -freed_size);
	return r < 0 ? r : 1;
}

static int add_sample(const struct dump *dump, const struct heap_sample *sample, int64_t callsite)
{
	bool is_new, is_changed;
	struct heap_site *last = find_site(dump, 'c', sample, (uint64_t)callsite, 0, &is_new);
	struct heap_site *pair =
		find_site(dump, 'p', sample, (uint64_t)callsite, sample->stack, &is_changed);
	struct heap_site *base = find_site(dump, 'b', sample, 0, sample->stack, &is_new);
	if (!last || !pair || !base)
		return -ENOMEM;
	if (is_changed)
		base->totals = last->totals;
	struct heap_totals now = sample->totals;
	now.count += base->totals.count;
	now.size += base->totals.size;
	now.freed_count += base->totals.freed_count;
	now.freed_size += base->totals.freed_size;
	int r = add_difference(dump, sample, callsite, &last->totals, &now);
	if (r > 0)
		last->totals = now;
	return r < 0 ? r : 0;
}

static int64_t find_in_tables(const struct dump *dump, uint64_t stack)
{
	struct orma_stack_source source = {
		.interning = &dump->sequence->tables,
		.key = dump->key | UINT64_C(1) << 63,
		.generation = dump->sequence->generation,
		.machine_idx = dump->event->machine_idx,
		.has_empty_names = true,
	};
	return orma_interned_stacks_find_in(dump->profiles->interned, &source, ORMA_CELL_NULL,
					    stack);
}

/* The stacks of an old dump are known, whether samples use them or not. */
static int resolve_tables(const struct dump *dump)
{
	struct orma_str content = dump->event->packet->content;
	struct orma_proto_reader reader;
	struct orma_str bytes;
	struct orma_message stack;
	orma_proto_reader_init(&reader, content.data, content.size);
	while (orma_message_next(&reader, ORMA_PB_PROFILE_PACKET_CALLSTACKS, &bytes)) {
		orma_message_read(&stack, bytes);
		int64_t callsite =
			find_in_tables(dump, orma_message_number(&stack, ORMA_PB_CALLSTACK_IID));
		if (orma_is_failure(callsite))
			return (int)callsite;
	}
	return 0;
}

static int64_t find_callsite(const struct dump *dump, const struct heap_sample *sample)
{
	if (orma_interning_find(&dump->sequence->tables, ORMA_PB_INTERNED_DATA_CALLSTACKS,
				sample->stack))
		return find_in_tables(dump, sample->stack);
	return orma_interned_stacks_find(dump->profiles->interned, dump->event->state, sample->upid,
					 sample->stack);
}

/* The last packet of the dump is here. */
static int finish(const struct dump *dump)
{
	struct orma_heap_sequence *sequence = dump->sequence;
	int r = 0;
	for (uint32_t i = 0; i < sequence->waiting_count && r == 0; i++) {
		int64_t callsite = find_callsite(dump, &sequence->waiting[i]);
		if (callsite != ORMA_CELL_NULL)
			r = callsite < 0 ? (int)callsite
					 : add_sample(dump, &sequence->waiting[i], callsite);
	}
	sequence->waiting_count = 0;
	orma_interning_clear(&sequence->tables);
	sequence->generation++;
	return r;
}

static int add_window(const struct dump *dump, const struct orma_message *process, int64_t upid,
		      int64_t end)
{
	struct orma_heap_profiles *profiles = dump->profiles;
	struct orma_tables *tables = profiles->system->tables;
	struct orma_str heap =
		orma_message_bytes(process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_HEAP_NAME);
	int64_t start = end;
	int64_t name = heap.size > 0 ? orma_tables_string(tables, heap) : ORMA_CELL_NULL;
	uint64_t words[] = {(uint64_t)upid, (uint64_t)end, (uint64_t)name};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	if (orma_base_map_get(&profiles->windows, key))
		return 0;
	if (orma_message_has(process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_START_TIMESTAMP))
		find_time(dump,
			  orma_message_number(
				  process,
				  ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_START_TIMESTAMP),
			  &start);
	int64_t cells[ORMA_HEAP_PROFILE_COLUMNS] = {
		[ORMA_HEAP_PROFILE_TS] = start,
		[ORMA_HEAP_PROFILE_TS_END] = end,
		[ORMA_HEAP_PROFILE_DUR] = (int64_t)((uint64_t)end - (uint64_t)start),
		[ORMA_HEAP_PROFILE_UPID] = upid,
		[ORMA_HEAP_PROFILE_HEAP_NAME] = name,
	};
	int r = orma_base_map_put(&profiles->windows, key, profiles);
	return r < 0 ? r : orma_store_table_append(&tables->all[ORMA_TABLE_HEAP_PROFILE], cells);
}

/* Notes what heapprofd says about its work on a process. */
static void note_health(const struct dump *dump, const struct orma_message *process, int64_t pid)
{
	static const struct {
		uint32_t field;
		enum orma_stat stat;
	} flags[] = {
		{ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_DISCONNECTED,
		 ORMA_STAT_heapprofd_client_disconnected},
		{ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_BUFFER_CORRUPTED,
		 ORMA_STAT_heapprofd_buffer_corrupted},
		{ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_REJECTED_CONCURRENT,
		 ORMA_STAT_heapprofd_rejected_concurrent},
		{ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_HIT_GUARDRAIL,
		 ORMA_STAT_heapprofd_hit_guardrail},
		{ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_RECONNECTED,
		 ORMA_STAT_heapprofd_reconnected},
		{ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_ENDED_ABRUPTLY,
		 ORMA_STAT_heapprofd_ended_abruptly},
	};
	struct orma_stats *stats = &dump->profiles->system->stats;
	uint32_t machine_idx = dump->event->machine_idx;
	uint64_t error = orma_message_number(
		process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_CLIENT_ERROR);
	uint64_t asked = orma_message_number(
		process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_ORIG_SAMPLING_INTERVAL_BYTES);
	uint64_t used = orma_message_number(
		process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_SAMPLING_INTERVAL_BYTES);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(flags); i++)
		if (orma_message_number(process, flags[i].field))
			count(dump, flags[i].stat, pid);
	if (error ==
		    ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_CLIENT_ERROR_CLIENT_ERROR_HIT_TIMEOUT ||
	    orma_message_number(process,
				ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_BUFFER_OVERRAN))
		count(dump, ORMA_STAT_heapprofd_buffer_overran, pid);
	uint64_t unseen_bytes = orma_message_number(
		process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_UNSEEN_BYTES);
	if (unseen_bytes)
		orma_stats_set(stats, machine_idx, ORMA_STAT_heapprofd_unseen_bytes, (int32_t)pid,
			       (int64_t)ORMA_MIN(unseen_bytes, (uint64_t)INT64_MAX));
	if (error)
		orma_stats_set(stats, machine_idx, ORMA_STAT_heapprofd_client_error, (int32_t)pid,
			       (int64_t)error);
	if (asked)
		orma_stats_set(stats, machine_idx, ORMA_STAT_heapprofd_sampling_interval_adjusted,
			       (int32_t)pid, (int64_t)(used - asked));
}

static void note_work(const struct dump *dump, const struct orma_message *process, int64_t pid)
{
	static const struct {
		uint32_t field;
		enum orma_stat stat;
	} sums[] = {
		{ORMA_PB_PROFILE_PACKET_PROCESS_STATS_TOTAL_UNWINDING_TIME_US,
		 ORMA_STAT_heapprofd_unwind_time_us},
		{ORMA_PB_PROFILE_PACKET_PROCESS_STATS_HEAP_SAMPLES,
		 ORMA_STAT_heapprofd_unwind_samples},
		{ORMA_PB_PROFILE_PACKET_PROCESS_STATS_CLIENT_SPINLOCK_BLOCKED_US,
		 ORMA_STAT_heapprofd_client_spinlock_blocked},
	};
	struct orma_message work;
	orma_message_read(
		&work,
		orma_message_bytes(process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_STATS));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(sums); i++)
		orma_stats_add(&dump->profiles->system->stats, dump->event->machine_idx,
			       sums[i].stat, (int32_t)pid,
			       (int64_t)orma_message_number(&work, sums[i].field));
}

static void read_totals(const struct orma_message *sample, bool is_count_right,
			struct heap_totals *ret)
{
	bool is_max = orma_message_has(sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_SELF_MAX);
	*ret = (struct heap_totals){0};
	if (is_max) {
		ret->size =
			orma_message_number(sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_SELF_MAX);
		ret->count =
			is_count_right
				? orma_message_number(
					  sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_SELF_MAX_COUNT)
				: 0;
		return;
	}
	ret->size = orma_message_number(sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_SELF_ALLOCATED);
	ret->count = orma_message_number(sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_ALLOC_COUNT);
	ret->freed_size =
		orma_message_number(sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_SELF_FREED);
	ret->freed_count =
		orma_message_number(sample, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_FREE_COUNT);
}

static int read_samples(const struct dump *dump, const struct orma_message *process, int64_t upid,
			int64_t ts)
{
	struct orma_heap_sequence *sequence = dump->sequence;
	struct orma_proto_reader reader;
	struct orma_str bytes;
	struct orma_message message;
	struct orma_str heap =
		orma_message_bytes(process, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_HEAP_NAME);
	int64_t name = orma_tables_string(dump->profiles->system->tables,
					  heap.size > 0 ? heap : ORMA_STR("unknown"));
	/* Tracers that tell the interval are those that count a maximum as they should. */
	bool is_count_right =
		orma_message_number(
			process,
			ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_ORIG_SAMPLING_INTERVAL_BYTES) >
		0;
	orma_proto_reader_init(&reader, process->bytes.data, process->bytes.size);
	while (orma_message_next(&reader, ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_SAMPLES,
				 &bytes)) {
		int r = orma_store_grow(&sequence->waiting, (uint64_t)sequence->waiting_count + 1,
					&sequence->waiting_capacity, sizeof(*sequence->waiting));
		if (r < 0)
			return r;
		orma_message_read(&message, bytes);
		struct heap_sample *sample = &sequence->waiting[sequence->waiting_count++];
		*sample = (struct heap_sample){
			.stack = orma_message_number(
				&message, ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_CALLSTACK_ID),
			.ts = ts,
			.upid = upid,
			.heap = name,
		};
		read_totals(&message, is_count_right, &sample->totals);
	}
	return 0;
}

static int take_process(const struct dump *dump, struct orma_str bytes)
{
	struct orma_system *system = dump->profiles->system;
	struct orma_message process;
	int64_t end;
	orma_message_read(&process, bytes);
	int64_t pid = (int32_t)orma_message_number(&process,
						   ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_PID);
	if (!find_time(dump,
		       orma_message_number(&process,
					   ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_TIMESTAMP),
		       &end))
		return 0;
	orma_stats_set(&system->stats, dump->event->machine_idx,
		       ORMA_STAT_heapprofd_last_profile_timestamp, (int32_t)pid, dump->event->ns);
	int64_t upid = orma_processes_process(system->processes, dump->event->machine_idx, pid);
	if (upid < 0)
		return (int)upid;
	int r = add_window(dump, &process, upid, end);
	if (r < 0)
		return r;
	note_health(dump, &process, pid);
	note_work(dump, &process, pid);
	return read_samples(dump, &process, upid, end);
}

int orma_heap_profile_take(struct orma_heap_profiles *profiles,
			   const struct orma_ordered_event *event)
{
	const struct orma_sequence *sequence = event->state->sequence;
	uint64_t key = (uint64_t)sequence->machine_idx << 32 | sequence->id;
	struct dump dump = {profiles, event, find_sequence(profiles, key), key};
	struct orma_message packet;
	struct orma_proto_reader reader;
	struct orma_str bytes;
	if (!dump.sequence)
		return -ENOMEM;
	orma_message_read(&packet, event->packet->content);
	check_index(&dump, orma_message_number(&packet, ORMA_PB_PROFILE_PACKET_INDEX));
	int r = take_tables(&dump);
	if (r == 0)
		r = resolve_tables(&dump);
	orma_proto_reader_init(&reader, packet.bytes.data, packet.bytes.size);
	while (r == 0 && orma_message_next(&reader, ORMA_PB_PROFILE_PACKET_PROCESS_DUMPS, &bytes))
		r = take_process(&dump, bytes);
	if (r == 0 && !orma_message_number(&packet, ORMA_PB_PROFILE_PACKET_CONTINUED))
		r = finish(&dump);
	return r;
}
