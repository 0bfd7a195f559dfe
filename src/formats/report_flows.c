/* SPDX-License-Identifier: Apache-2.0
 * report_flows.c - the flows of a report: pairs of boxes, found by either end.
 *
 * The file has them in the order of their first box. The order of the second one is an array of their places beside it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "formats/report_file.h"

static int compare_ends(const void *a, const void *b, void *ctx)
{
	const struct orma_report_flow *flows = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (flows[x].to != flows[y].to)
		return flows[x].to < flows[y].to ? -1 : 1;
	return x < y ? -1 : x > y;
}

int orma_report_flows_read(struct orma_report_file *file)
{
	const struct orma_report_planes *from = &file->flow_planes[0], *to = &file->flow_planes[1];
	uint64_t boxes = file->columns[ORMA_REPORT_SLICE][ORMA_REPORT_GAP].count, at = 0;
	if (from->count != to->count || from->count > UINT32_MAX)
		return -EBADMSG;
	file->flows = orma_base_alloc_array((size_t)from->count + 1, sizeof(*file->flows));
	file->flows_by_to =
		orma_base_alloc_array((size_t)from->count + 1, sizeof(*file->flows_by_to));
	if (!file->flows || !file->flows_by_to)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->count; i++) {
		uint64_t gap = orma_report_number(from, i), end = orma_report_number(to, i);
		if (gap >= boxes - at || end >= boxes)
			return -EBADMSG;
		at += gap;
		file->flows[i] = (struct orma_report_flow){(uint32_t)at, (uint32_t)end};
		file->flows_by_to[i] = i;
	}
	file->flow_count = (uint32_t)from->count;
	qsort_r(file->flows_by_to, file->flow_count, sizeof(*file->flows_by_to), compare_ends,
		file->flows);
	return 0;
}

/* Finds the first flow whose end is this box or a later one. */
static uint32_t find_first(const struct orma_report_file *file, uint64_t box, bool is_to)
{
	uint32_t low = 0, high = file->flow_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t end = is_to ? file->flows[file->flows_by_to[middle]].to
				     : file->flows[middle].from;
		if (end < box)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t orma_report_flows_from(const struct orma_report_file *file, uint32_t box,
				uint32_t *ret_first)
{
	*ret_first = find_first(file, box, false);
	return find_first(file, (uint64_t)box + 1, false);
}

uint32_t orma_report_flows_to(const struct orma_report_file *file, uint32_t box,
			      uint32_t *ret_first)
{
	*ret_first = find_first(file, box, true);
	return find_first(file, (uint64_t)box + 1, true);
}
