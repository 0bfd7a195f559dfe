/* SPDX-License-Identifier: Apache-2.0
 * heap_trace.c - imports a trace of heaps, and sums up its rows.
 */
#include "heap_trace.h"

#include "unit/trace/import_fixture.h"

static struct import_fixture fixture;
static char heaps[4096], mappings[1 << 16];

static void sum_up(struct heap_trace *ret)
{
	const struct orma_table *table = &fixture.tables.all[ORMA_TABLE_HEAP_ALLOCATION];

	for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
		int64_t size =
			orma_store_column_get(&table->columns[ORMA_HEAP_ALLOCATION_SIZE], row);
		int64_t count =
			orma_store_column_get(&table->columns[ORMA_HEAP_ALLOCATION_COUNT], row);
		*(count > 0 ? &ret->count : &ret->freed_count) += count;
		*(count > 0 ? &ret->bytes : &ret->freed_bytes) += size;
	}
}

void heap_trace_read(const void *trace, size_t size, struct heap_trace *ret)
{
	*ret = (struct heap_trace){0};
	import_bytes(&fixture, trace, size);
	CHECK_INT(fixture.result, 0);
	CHECK_INT(import_stat(&fixture, "heapprofd_missing_packet"), 0);
	CHECK(import_stat(&fixture, "heapprofd_malformed_packet") <= 0);
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_callstack_id"), 0);
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_frame_id"), 0);
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_mapping_id"), 0);
	sum_up(ret);
	ret->dump_count = orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_HEAP_PROFILE]);
	ret->is_disconnected = import_stat(&fixture, "heapprofd_client_disconnected") > 0;
	ret->has_hit_guardrail = import_stat(&fixture, "heapprofd_hit_guardrail") > 0;
	ret->is_overrun = import_stat(&fixture, "heapprofd_buffer_overran") > 0;
	ret->is_corrupted = import_stat(&fixture, "heapprofd_buffer_corrupted") > 0;
	snprintf(heaps, sizeof(heaps), "%s",
		 import_rows(&fixture, ORMA_TABLE_HEAP_PROFILE, "heap_name"));
	snprintf(mappings, sizeof(mappings), "%s",
		 import_rows(&fixture, ORMA_TABLE_STACK_MAPPING, "name"));
	import_done(&fixture);
}

const char *heap_trace_heaps(void)
{
	return heaps;
}

const char *heap_trace_mappings(void)
{
	return mappings;
}
