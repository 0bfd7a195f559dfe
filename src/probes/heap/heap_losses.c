/* SPDX-License-Identifier: Apache-2.0
 * heap_losses.c - decides whether a profile lacks so many records that its totals are wrong.
 *
 * There are four sources of losses: limits of the profiler (`faults`), packets that the process has dropped and counted (`own_losses`),
 * packets that it has written and that did not come, and gaps in a sequence. More than 1 % of the samples or of the frees must be
 * missing, because totals with a larger interval are estimates in any case.
 */
#include "base/macros.h"
#include "probes/heap/heap_process.h"

/* Returns the number of losses that is tolerated. With an interval of 1 the totals are exact, so it is 0. */
static uint64_t losses_allowed(const struct orma_heap_process *process, uint64_t count)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(process->heaps); i++)
		if (process->heaps[i] && process->heaps[i]->original_interval_bytes == 1)
			return 0;
	return count / 100;
}

/* Returns the number of records that the program has written, as its last packet says, and that did not come. The flush after its end
 * brings all that are left, so the missing ones were overwritten in shared memory. */
static uint64_t missing_records(const struct orma_heap_process *process, uint64_t written,
				uint64_t taken)
{
	return process->has_said_bye && process->has_ended && written > taken ? written - taken : 0;
}

bool orma_heap_process_was_cut_off(const struct orma_heap_process *process)
{
	return process->has_ended && !process->has_said_bye && process->has_threads;
}

bool orma_heap_process_has_overrun(const struct orma_heap_process *process)
{
	uint64_t lost =
		orma_heap_add_up(process->faults.lost_samples,
				 orma_heap_add_up(process->own_losses.samples,
						  process->own_losses.samples_beyond_live_set));

	lost = orma_heap_add_up(lost, missing_records(process, process->own_losses.samples_written,
						      process->sample_count));

	/* The process counts what it drops, unless it was killed before it could send the counts. */
	if (process->faults.gaps > 0 && lost == 0)
		return true;
	uint64_t lost_frees =
		orma_heap_add_up(process->own_losses.frees, process->faults.lost_frees);
	lost_frees = orma_heap_add_up(
		lost_frees,
		missing_records(process, process->own_losses.frees_written, process->free_count));
	return lost > losses_allowed(process, process->sample_count) ||
	       lost_frees > losses_allowed(process, process->free_count);
}
