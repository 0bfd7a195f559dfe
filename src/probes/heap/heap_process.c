/* SPDX-License-Identifier: Apache-2.0
 * heap_process.c - takes the records of a process, and keeps its totals.
 *
 * The records of different threads come in any order. A sample that comes before the maps that it refers to is deferred. A free that
 * comes before its sample waits in the table of live blocks. A heap has no name until its description comes.
 * orma_heap_process_settle() ends all waiting. So the totals at the end of a flush do not depend on the order.
 *
 * The process may lie, but that only affects its own numbers. Sizes are limited to the address space of a process, and totals
 * saturate. Everything that grows has a limit (heap_limits.h), and what exceeds it is counted as lost.
 *
 * An allocation of `size` bytes is sampled with the probability 1 - exp(-size / interval). So the weight of a sample is
 * size / (1 - exp(-size / interval)) bytes. Upstream uses the interval times the number of points that hit the allocation, which
 * has the same mean but more noise.
 */
#include "probes/heap/heap_process.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/heap/heap_frames.h"
#include "proto/wire.h"

/* More than the address space of a process. The sum of all live samples of this size fits into 64 bits. */
#define SIZE_MAX_BYTES    (UINT64_C(1) << 43)
#define WAITING_BYTES_MAX (16u << 20)

int orma_heap_process_new(const struct orma_heap_process_options *options,
			  struct orma_heap_process **ret)
{
	struct orma_heap_process *process = orma_base_zalloc(sizeof(*process));

	if (!process)
		return -ENOMEM;
	process->pid = options->pid;
	process->uid = -1;
	process->epoch = 1;
	process->default_interval_bytes = options->interval_bytes;
	process->tracks_max = options->tracks_max;
	process->live.seed = options->seed;
	orma_heap_stacks_init(&process->stacks, options->seed);
	process->frames = orma_base_alloc_array(ORMA_HEAP_STACK_PLACES, sizeof(*process->frames));
	process->addresses =
		orma_base_alloc_array(ORMA_HEAP_STACK_PLACES, sizeof(*process->addresses));
	process->cached_frames =
		orma_base_alloc_array(ORMA_HEAP_CACHED_FRAMES, sizeof(*process->cached_frames));
	if (!process->frames || !process->addresses || !process->cached_frames ||
	    orma_heap_modules_init(&process->modules, options->files, options->patience,
				   options->pid) < 0) {
		orma_heap_process_free(process);
		return -ENOMEM;
	}
	*ret = process;
	return 0;
}

void orma_heap_process_free(struct orma_heap_process *process)
{
	if (!process)
		return;
	for (size_t i = 0; i <= ORMA_HEAP_HEAPS_MAX; i++)
		orma_base_free(process->heaps[i]);
	orma_heap_modules_done(&process->modules);
	orma_heap_stacks_done(&process->stacks);
	orma_heap_live_done(&process->live);
	orma_base_buf_done(&process->command);
	orma_base_buf_done(&process->maps_text);
	orma_base_buf_done(&process->waiting);
	orma_base_buf_done(&process->jit_names);
	orma_base_free(process->frames);
	orma_base_free(process->addresses);
	orma_base_free(process->cached_frames);
	orma_base_free(process);
}

uint64_t orma_heap_weigh(uint64_t size, uint64_t interval_bytes)
{
	if (interval_bytes <= 1 || size == 0)
		return size;
	double bytes = (double)size / -expm1(-(double)size / (double)interval_bytes);
	return (uint64_t)(bytes + 0.5);
}

/* --- heaps ------------------------------------------------------------------------------------ */

static struct orma_heap_heap *find_heap(struct orma_heap_process *process, uint32_t id)
{
	if (id == 0 || id > ORMA_HEAP_HEAPS_MAX) {
		process->faults.bad_records++;
		return NULL;
	}
	struct orma_heap_heap *heap = process->heaps[id];
	if (heap)
		return heap;
	heap = orma_base_zalloc(sizeof(*heap));
	if (!heap)
		return NULL;
	heap->id = id;
	heap->interval_bytes = heap->original_interval_bytes = process->default_interval_bytes;
	process->heaps[id] = heap;
	return heap;
}

static void take_heap(struct orma_heap_process *process, const struct orma_heap_record_heap *record)
{
	struct orma_heap_heap *heap = find_heap(process, record->id);

	if (!heap)
		return;
	if (heap->name[0] == '\0' && record->name.size > 0) {
		size_t size = ORMA_MIN(record->name.size, sizeof(heap->name) - 1);
		memcpy(heap->name, record->name.data, size);
	}
	/* A description without the original interval keeps the configured one. */
	if (record->interval_bytes > 0)
		heap->interval_bytes = record->interval_bytes;
	if (record->original_interval_bytes > 0)
		heap->original_interval_bytes = record->original_interval_bytes;
}

/* --- sites ------------------------------------------------------------------------------------ */

static void note_change(struct orma_heap_process *process, struct orma_heap_heap *heap,
			uint32_t site_idx)
{
	struct orma_heap_site *site = orma_heap_stacks_site(&process->stacks, site_idx);

	site->flags |= ORMA_HEAP_SITE_UNWRITTEN;
	if (!process->tracks_max || site->flags & ORMA_HEAP_SITE_CHANGED)
		return;
	site->flags |= ORMA_HEAP_SITE_CHANGED;
	site->next_changed = heap->first_changed;
	heap->first_changed = site_idx + 1;
}

/* Saves the state of the heap as its maximum. Only sites that have changed since the last maximum are copied, so that the cost of a
 * change does not depend on the number of sites. */
static void note_max(struct orma_heap_process *process, struct orma_heap_heap *heap,
		     uint64_t live_bytes, uint64_t timestamp_ns)
{
	heap->max_bytes = live_bytes;
	heap->max_timestamp_ns = timestamp_ns;
	while (heap->first_changed) {
		struct orma_heap_site *site =
			orma_heap_stacks_site(&process->stacks, heap->first_changed - 1);
		site->max_bytes = site->totals.bytes - site->totals.freed_bytes;
		site->max_count = site->totals.count - site->totals.freed_count;
		site->flags &= ~(uint32_t)ORMA_HEAP_SITE_CHANGED;
		heap->first_changed = site->next_changed;
	}
}

static void count_allocation(struct orma_heap_process *process, struct orma_heap_heap *heap,
			     uint32_t site_idx, uint64_t bytes, uint64_t timestamp_ns)
{
	struct orma_heap_site *site = orma_heap_stacks_site(&process->stacks, site_idx);

	site->totals.bytes = orma_heap_add_up(site->totals.bytes, bytes);
	site->totals.count++;
	heap->totals.bytes = orma_heap_add_up(heap->totals.bytes, bytes);
	heap->totals.count++;
	note_change(process, heap, site_idx);
	uint64_t live_bytes = heap->totals.bytes - heap->totals.freed_bytes;
	if (process->tracks_max && live_bytes > heap->max_bytes)
		note_max(process, heap, live_bytes, timestamp_ns);
}

static void count_free(struct orma_heap_process *process, uint32_t site_idx, uint64_t bytes)
{
	struct orma_heap_site *site = orma_heap_stacks_site(&process->stacks, site_idx);
	struct orma_heap_heap *heap = process->heaps[site->heap];

	site->totals.freed_bytes = orma_heap_add_up(site->totals.freed_bytes, bytes);
	site->totals.freed_count++;
	heap->totals.freed_bytes = orma_heap_add_up(heap->totals.freed_bytes, bytes);
	heap->totals.freed_count++;
	note_change(process, heap, site_idx);
}

/* --- samples and frees ------------------------------------------------------------------------ */

static void lose_sample(struct orma_heap_process *process, int error)
{
	process->faults.lost_samples++;
	process->faults.is_full |= error == -ENOBUFS;
}

static void count_sample(struct orma_heap_process *process,
			 const struct orma_heap_record_sample *sample, orma_heap_event_fn *fn,
			 void *ctx)
{
	struct orma_heap_heap *heap = find_heap(process, sample->heap_id);
	uint64_t size = ORMA_MIN(sample->size, SIZE_MAX_BYTES);
	uint32_t site;

	if (!heap)
		return;
	uint64_t interval_bytes =
		ORMA_MIN(sample->interval_bytes ? sample->interval_bytes : heap->interval_bytes,
			 SIZE_MAX_BYTES);
	uint64_t bytes = sample->has_points ? orma_heap_weigh(size, interval_bytes) : size;
	int count = orma_heap_frames_find(process, sample);
	int r = count < 0 ? count
			  : orma_heap_stacks_take_site(&process->stacks, heap->id, process->frames,
						       (size_t)count, &site);
	if (r < 0) {
		lose_sample(process, r);
		return;
	}
	struct orma_heap_live_block block = {
		.serial = sample->serial,
		.address = sample->address,
		.bytes = bytes,
		.site = site,
	};
	r = orma_heap_live_add(&process->live, &block);
	if (r < 0) {
		process->faults.bad_records += r == -EEXIST;
		if (r != -EEXIST)
			lose_sample(process, r);
		return;
	}
	count_allocation(process, heap, site, bytes, sample->timestamp_ns);
	struct orma_heap_event event = {true, heap->id, sample->serial,      sample->address,
					size, bytes,    sample->timestamp_ns};
	if (fn)
		fn(ctx, &event);
	if (r > 0)
		return;
	count_free(process, site, bytes);
	event.is_sample = false;
	if (fn)
		fn(ctx, &event);
}

/* Keeps the packet of a sample until its maps come. False if there is no room. */
static bool defer_sample(struct orma_heap_process *process, struct orma_str packet)
{
	uint32_t size = (uint32_t)packet.size;
	struct orma_buf *waiting = &process->waiting;

	if (waiting->size + packet.size + sizeof(size) > WAITING_BYTES_MAX ||
	    orma_base_buf_reserve(waiting, packet.size + sizeof(size)) < 0)
		return false;
	(void)orma_base_buf_append(waiting, &size, sizeof(size));
	(void)orma_base_buf_append(waiting, packet.data, packet.size);
	return true;
}

/* Takes the deferred samples, as if they had come just now. */
static void take_deferred(struct orma_heap_process *process, orma_heap_event_fn *fn, void *ctx)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf waiting = process->waiting;
	struct orma_heap_record record;
	uint32_t size;

	process->waiting = (struct orma_buf){0};
	for (size_t at = 0; at < waiting.size; at += sizeof(size) + size) {
		memcpy(&size, waiting.data + at, sizeof(size));
		struct orma_str packet = {(const char *)waiting.data + at + sizeof(size), size};
		if (orma_heap_record_parse(packet, &record) == 0)
			count_sample(process, &record.sample, fn, ctx);
	}
}

static void note_time(struct orma_heap_process *process, uint64_t timestamp_ns)
{
	if (timestamp_ns > process->last_timestamp_ns)
		process->last_timestamp_ns = timestamp_ns;
	if (process->start_timestamp_ns == 0)
		process->start_timestamp_ns = timestamp_ns;
}

static void take_sample(struct orma_heap_process *process,
			const struct orma_heap_record_sample *sample, struct orma_str packet,
			orma_heap_event_fn *fn, void *ctx)
{
	if (sample->serial == 0) {
		process->faults.bad_records++;
		return;
	}
	process->sample_count++;
	note_time(process, sample->timestamp_ns);
	if (sample->maps_generation > process->maps_generation) {
		if (defer_sample(process, packet))
			return;
		/* Without room the samples do without their maps, because exact totals matter more than the names of a library
		 * that was loaded a moment ago. */
		take_deferred(process, fn, ctx);
	}
	count_sample(process, sample, fn, ctx);
}

static void end_block(struct orma_heap_process *process, const struct orma_heap_live_block *block,
		      uint64_t timestamp_ns, orma_heap_event_fn *fn, void *ctx)
{
	uint32_t heap_id = orma_heap_stacks_site(&process->stacks, block->site)->heap;
	struct orma_heap_event event = {false, heap_id,      block->serial, block->address,
					0,     block->bytes, timestamp_ns};

	count_free(process, block->site, block->bytes);
	if (fn)
		fn(ctx, &event);
}

static void take_free(struct orma_heap_process *process, uint64_t serial, uint64_t timestamp_ns,
		      orma_heap_event_fn *fn, void *ctx)
{
	struct orma_heap_live_block block;

	if (serial == 0) {
		process->faults.bad_records++;
		return;
	}
	int r = orma_heap_live_remove(&process->live, serial, process->epoch, &block);
	if (r <= 0) {
		process->faults.bad_records += r == -EEXIST;
		process->faults.lost_frees += r < 0 && r != -EEXIST;
		return;
	}
	end_block(process, &block, timestamp_ns, fn, ctx);
}

static void take_frees(struct orma_heap_process *process,
		       const struct orma_heap_record_free *record, orma_heap_event_fn *fn,
		       void *ctx)
{
	const uint8_t *at = (const uint8_t *)record->serials.data;
	const uint8_t *end = at ? at + record->serials.size : NULL;
	uint64_t serial;

	note_time(process, record->timestamp_ns);
	while (at < end) {
		at = orma_proto_get_varint(at, end, &serial);
		if (!at) {
			process->faults.bad_records++;
			return;
		}
		process->free_count++;
		take_free(process, serial, record->timestamp_ns, fn, ctx);
	}
}

/* --- maps ------------------------------------------------------------------------------------- */

static void use_maps(struct orma_heap_process *process, uint32_t generation, orma_heap_event_fn *fn,
		     void *ctx)
{
	struct orma_str text = orma_base_buf_str(&process->maps_text);

	if (orma_unwind_process_set_maps(process->modules.process, text) == 0) {
		orma_heap_frames_forget(process);
		process->maps_generation = generation;
		process->maps_count++;
	}
	process->maps_text.size = 0;
	process->maps_parts = 0;
	take_deferred(process, fn, ctx);
}

/* The parts of a text come in order, because one thread writes them. */
static void take_maps(struct orma_heap_process *process, uint32_t writer,
		      const struct orma_heap_record_maps *record, orma_heap_event_fn *fn, void *ctx)
{
	if (record->part == 0) {
		process->maps_text.size = 0;
		process->maps_parts = 0;
		process->maps_writer = writer;
	}
	if (record->part != process->maps_parts || writer != process->maps_writer ||
	    record->text.size > ORMA_HEAP_MAPS_BYTES - process->maps_text.size ||
	    orma_base_buf_append(&process->maps_text, record->text.data, record->text.size) < 0) {
		process->faults.bad_records++;
		process->maps_text.size = 0;
		process->maps_parts = UINT32_MAX; /* until the next text begins */
		return;
	}
	process->maps_parts++;
	if (record->is_last_part)
		use_maps(process, record->generation, fn, ctx);
}

/* --- the process ------------------------------------------------------------------------------ */

/* The process chooses its own name. The pid of its parent is only used if the process has our pid namespace. */
static void take_identity(struct orma_heap_process *process, const struct orma_heap_record *record)
{
	struct orma_str argument;
	size_t offset = 0;

	process->uid = record->uid;
	if (record->process.pid == (uint64_t)process->pid &&
	    record->process.parent_pid <= INT32_MAX)
		process->parent_pid = (int32_t)record->process.parent_pid;
	process->command.size = 0;
	process->named_state = 0;
	while (process->command.size + 1 < ORMA_HEAP_COMMAND_BYTES &&
	       orma_heap_record_next_argument(record->process.message, &offset, &argument)) {
		size_t room = ORMA_HEAP_COMMAND_BYTES - 1 - process->command.size;

		argument.size = ORMA_MIN(strnlen(argument.data, argument.size), room);
		if (orma_base_buf_append(&process->command, argument.data, argument.size) < 0 ||
		    orma_base_buf_append(&process->command, "", 1) < 0)
			break;
	}
}

void orma_heap_process_take(struct orma_heap_process *process,
			    const struct orma_heap_record *record, struct orma_str packet,
			    orma_heap_event_fn *fn, void *ctx)
{
	switch (record->kind) {
	case ORMA_HEAP_RECORD_PROCESS:
		take_identity(process, record);
		process->was_reconnected |= process->is_introduced;
		process->is_introduced = true;
		process->is_from_startup = record->process.is_from_startup;
		process->program_start_ns = record->process.program_start_ns;
		if (record->process.start_timestamp_ns)
			process->start_timestamp_ns = record->process.start_timestamp_ns;
		break;
	case ORMA_HEAP_RECORD_HEAP:
		take_heap(process, &record->heap);
		break;
	case ORMA_HEAP_RECORD_MAPS:
		take_maps(process, record->writer, &record->maps, fn, ctx);
		break;
	case ORMA_HEAP_RECORD_SAMPLE:
		process->has_threads |=
			process->sample_writer != 0 && process->sample_writer != record->writer;
		process->sample_writer = record->writer;
		take_sample(process, &record->sample, packet, fn, ctx);
		break;
	case ORMA_HEAP_RECORD_FREE:
		take_frees(process, &record->free, fn, ctx);
		break;
	case ORMA_HEAP_RECORD_LOST:
		process->own_losses = record->lost;
		break;
	case ORMA_HEAP_RECORD_BYE:
		process->has_said_bye = true;
		break;
	case ORMA_HEAP_RECORD_NONE:
		break;
	}
}

void orma_heap_process_replace(struct orma_heap_process *process, orma_heap_event_fn *fn, void *ctx)
{
	const struct orma_heap_live_block *block;
	size_t position = 0;

	process->is_replaced = true;
	while ((block = orma_heap_live_next(&process->live, &position)))
		end_block(process, block, process->last_timestamp_ns, fn, ctx);
	orma_heap_live_done(&process->live);
}

void orma_heap_process_settle(struct orma_heap_process *process)
{
	take_deferred(process, NULL, NULL);
	/* The memory of what was deferred is gone, too. */
	if (process->is_replaced && !process->has_said_bye)
		orma_heap_process_replace(process, NULL, NULL);
	/* Only frees from before the last flush expire, because the sample of a later one may still come. */
	process->faults.orphaned_frees += orma_heap_live_expire(&process->live, process->epoch);
	process->epoch++;
}
