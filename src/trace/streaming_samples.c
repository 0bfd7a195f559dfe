/* SPDX-License-Identifier: Apache-2.0
 * streaming_samples.c - see streaming_samples.h.
 */
#include "trace/streaming_samples.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/profile_packet.pb.h"
#include "store/grow.h"
#include "trace/message_fields.h"
#include "trace/sequence_time.h"
#include "trace/track_event_read.h"

void orma_streaming_samples_done(struct orma_streaming_samples *samples)
{
	orma_base_free(samples->waiting);
}

static bool is_before(const struct orma_streaming_sample *a, const struct orma_streaming_sample *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a->order < b->order;
}

static void swap(struct orma_streaming_sample *a, struct orma_streaming_sample *b)
{
	struct orma_streaming_sample other = *a;
	*a = *b;
	*b = other;
}

static int push(struct orma_streaming_samples *samples, struct orma_streaming_sample sample)
{
	int r = orma_store_grow(&samples->waiting, (uint64_t)samples->count + 1, &samples->capacity,
				sizeof(*samples->waiting));
	if (r < 0)
		return r;
	sample.order = samples->order++;
	uint32_t at = samples->count++;
	samples->waiting[at] = sample;
	for (; at > 0 && is_before(&samples->waiting[at], &samples->waiting[(at - 1) / 2]);
	     at = (at - 1) / 2)
		swap(&samples->waiting[at], &samples->waiting[(at - 1) / 2]);
	return 0;
}

static struct orma_streaming_sample pop(struct orma_streaming_samples *samples)
{
	struct orma_streaming_sample *heap = samples->waiting, first = heap[0];
	uint32_t at = 0, count = --samples->count;
	heap[0] = heap[count];
	for (;;) {
		uint32_t least = at;
		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (is_before(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return first;
		swap(&heap[at], &heap[least]);
		at = least;
	}
}

int orma_streaming_samples_write(struct orma_streaming_samples *samples, int64_t until)
{
	int r = 0;
	while (r == 0 && samples->count > 0 && samples->waiting[0].ts <= until) {
		struct orma_streaming_sample first = pop(samples);
		struct orma_profiler_sample sample = {
			.ts = first.ts,
			.source = "chrome",
			.task_id = first.task_id,
			.execution_id = ORMA_CELL_NULL,
			.callsite_id = first.callsite_id,
			.session_id = ORMA_CELL_NULL,
			.priority = first.priority,
		};
		r = orma_profiler_add(samples->profiler, &sample);
	}
	return r;
}

/* Returns the task of the sequence's thread, ORMA_CELL_NULL when it is not known, or a negative errno value. */
static int64_t find_task(const struct orma_streaming_samples *samples,
			 const struct orma_ordered_event *event, int64_t *ret_upid)
{
	const struct orma_sequence_thread *thread = &event->state->thread;
	struct orma_processes *processes = samples->profiler->system->processes;
	if (!thread->is_known)
		return ORMA_CELL_NULL;
	int64_t utid =
		orma_processes_thread_of(processes, event->machine_idx, thread->tid, thread->pid);
	*ret_upid = orma_processes_process(processes, event->machine_idx, thread->pid);
	if (utid < 0 || *ret_upid < 0)
		return utid < 0 ? utid : *ret_upid;
	return orma_profiler_task(samples->profiler, *ret_upid, utid, ORMA_CELL_NULL);
}

static void count_error(const struct orma_streaming_samples *samples,
			const struct orma_ordered_event *event)
{
	orma_stats_add(&samples->profiler->system->stats, event->machine_idx,
		       ORMA_STAT_stackprofile_parser_error, 0, 1);
}

/* Returns how much later than the profile's beginning its earliest sample is, in nanoseconds. */
static int64_t find_earliest(struct orma_str profile)
{
	struct orma_repeated deltas;
	uint64_t delta_us;
	int64_t at_ns = 0, earliest_ns = INT64_MAX;
	orma_repeated_init(&deltas, profile, ORMA_PB_STREAMING_PROFILE_PACKET_TIMESTAMP_DELTA_US);
	while (orma_repeated_next(&deltas, &delta_us)) {
		at_ns = orma_add_us(at_ns, (int64_t)delta_us);
		earliest_ns = ORMA_MIN(earliest_ns, at_ns);
	}
	return earliest_ns == INT64_MAX ? 0 : earliest_ns;
}

int orma_streaming_samples_take(struct orma_streaming_samples *samples,
				const struct orma_ordered_event *event)
{
	struct orma_message message;
	struct orma_repeated stacks, deltas;
	uint64_t iid, delta_us;
	int64_t upid = ORMA_CELL_NULL, offset;
	orma_message_read(&message, event->packet->content);
	if (__builtin_sub_overflow(event->ns, find_earliest(message.bytes), &offset))
		offset = event->ns;
	struct orma_streaming_sample sample = {
		.task_id = find_task(samples, event, &upid),
		.priority = (int32_t)orma_message_number(
			&message, ORMA_PB_STREAMING_PROFILE_PACKET_PROCESS_PRIORITY),
	};
	if (sample.task_id == ORMA_CELL_NULL)
		count_error(samples, event);
	if (sample.task_id < 0)
		return orma_is_failure(sample.task_id) ? (int)sample.task_id : 0;
	if (sample.priority == 0)
		sample.priority = ORMA_CELL_NULL;
	orma_repeated_init(&stacks, message.bytes, ORMA_PB_STREAMING_PROFILE_PACKET_CALLSTACK_IID);
	orma_repeated_init(&deltas, message.bytes,
			   ORMA_PB_STREAMING_PROFILE_PACKET_TIMESTAMP_DELTA_US);
	int r = 0;
	while (r == 0 && orma_repeated_next(&stacks, &iid)) {
		if (!orma_repeated_next(&deltas, &delta_us)) {
			count_error(samples, event);
			break;
		}
		offset = orma_add_us(offset, (int64_t)delta_us);
		sample.ts = ORMA_MAX(offset, event->ns);
		sample.callsite_id = orma_interned_stacks_find(samples->profiler->interned,
							       event->state, upid, iid);
		if (sample.callsite_id == ORMA_CELL_NULL)
			continue;
		r = sample.callsite_id < 0 ? (int)sample.callsite_id : push(samples, sample);
	}
	return r;
}
