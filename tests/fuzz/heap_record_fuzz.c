/* SPDX-License-Identifier: Apache-2.0
 * heap_record_fuzz.c - any bytes as the packets that profiled processes write. Freed blocks were allocated, the totals of a
 * heap are those of its sites, and packets that are written are well-formed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "probes/heap/heap_output.h"
#include "probes/heap/heap_processes.h"
#include "proto/reader.h"
#include "proto/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
	struct orma_heap_output *output;
	size_t *written_bytes;
};

static void check_heap(const struct orma_heap_process *process, const struct orma_heap_heap *heap)
{
	struct orma_heap_totals sum = {0};

	for (uint32_t i = 0; i < process->stacks.sites.count; i++) {
		const struct orma_heap_site *site = orma_heap_stacks_site(&process->stacks, i);
		if (site->heap != heap->id)
			continue;
		if (site->totals.freed_bytes > site->totals.bytes ||
		    site->totals.freed_count > site->totals.count)
			abort();
		sum.bytes += site->totals.bytes;
		sum.freed_bytes += site->totals.freed_bytes;
		sum.count += site->totals.count;
		sum.freed_count += site->totals.freed_count;
	}
	if (sum.bytes != heap->totals.bytes || sum.freed_bytes != heap->totals.freed_bytes ||
	    sum.count != heap->totals.count || sum.freed_count != heap->totals.freed_count)
		abort();
}

static bool dump_process(void *ctx, struct orma_heap_process *process)
{
	struct sums *sums = ctx;

	for (size_t id = 0; id <= ORMA_HEAP_HEAPS_MAX; id++)
		if (process->heaps[id])
			check_heap(process, process->heaps[id]);
	orma_heap_output_counters(sums->output, process, 1000);
	orma_heap_output_process(sums->output, process, 1000, 0);
	orma_heap_output_process(sums->output, process, 1000, ORMA_HEAP_DUMP_MAX);
	return process->has_said_bye;
}

static void count_packet(void *ctx, const void *packet, size_t size)
{
	size_t *written_bytes = ctx;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&reader, packet, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		;
	if (r < 0)
		abort();
	*written_bytes += size;
}

static void dump(struct orma_heap_processes *tracker, struct orma_heap_output *output,
		 size_t *written_bytes)
{
	struct sums sums = {output, written_bytes};

	orma_heap_processes_settle(tracker);
	orma_heap_output_begin(output);
	orma_heap_processes_visit(tracker, dump_process, &sums);
	orma_heap_output_end(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_heap_config config = {.interval_bytes = 4096, .dumps_at_max = true};
	struct orma_unwind_files *files;
	struct orma_heap_processes tracker;
	struct orma_heap_output output;
	const uint8_t *at = data, *end = data + size;
	size_t written_bytes = 0;
	uint64_t tag, length;

	if (orma_unwind_files_new(NULL, &files) < 0 ||
	    orma_heap_processes_init(&tracker, &config, files, "/proc") < 0)
		abort();
	tracker.seed = 1;
	orma_heap_output_init(&output, 1, count_packet, &written_bytes);
	for (size_t count = 0; at < end; count++) {
		at = orma_proto_get_varint(at, end, &tag);
		at = at ? orma_proto_get_varint(at, end, &length) : NULL;
		if (!at || length > (size_t)(end - at))
			break;
		orma_heap_processes_take(&tracker,
					 (struct orma_str){(const char *)at, (size_t)length});
		at += length;
		if (count % 16 == 15)
			dump(&tracker, &output, &written_bytes);
	}
	dump(&tracker, &output, &written_bytes);
	orma_heap_output_done(&output);
	orma_heap_processes_done(&tracker);
	orma_unwind_files_free(files);
	return 0;
}
