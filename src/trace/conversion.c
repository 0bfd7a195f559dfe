/* SPDX-License-Identifier: Apache-2.0
 * conversion.c - what the conversion of a trace counted becomes statistics of the trace.
 */
#include "trace/conversion.h"

#include <errno.h>

#include "schema/gen/conversion_report.pb.h"
#include "trace/system_packets.h"

int orma_conversion_report_take(struct orma_system *system, uint32_t machine_idx,
				struct orma_str content)
{
	struct orma_pb_conversion_report *report;
	struct orma_arena arena = {0};
	int r = orma_pb_conversion_report_decode(content.data, content.size, &arena, &report);
	for (size_t i = 0; r == 0 && i < report->stats.count; i++) {
		const struct orma_pb_conversion_report_stat *stat = report->stats.items[i];
		enum orma_stat found;
		if (orma_stats_find(stat->name, &found))
			orma_stats_add(&system->stats, machine_idx, found, stat->idx, stat->value);
	}
	if (r == 0)
		r = orma_metadata_text(system, "trace_type", ORMA_METADATA_TRACE, 0,
				       report->format);
	if (r == 0)
		r = orma_metadata_number(system, "trace_size_bytes", ORMA_METADATA_TRACE, 0,
					 (int64_t)report->size_bytes);
	system->is_converted = true;
	system->has_no_idle_task = r == 0 && report->lacks_idle_task;
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}
