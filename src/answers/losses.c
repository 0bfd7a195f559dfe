/* SPDX-License-Identifier: Apache-2.0
 * losses.c - the statistics of a trace that tell of data which is not there.
 */
#include "answers/losses.h"

#include <errno.h>

#include "answers/column_scan.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

/* Numbers that are no losses by their severity, but tell of data that is not there. */
static const struct {
	const char *name, *meaning;
} notes[] = {
	{"traced_buf_chunks_overwritten",
	 "The ring buffer was full, and its oldest data made room for newer data."},
	{"traced_buf_chunks_discarded", "A buffer was full and refused data."},
	{"traced_chunks_discarded", "Data came from programs that the service no longer knew."},
	{"ftrace_cpu_overrun_delta", "The kernel's buffer overwrote events before they were read."},
	{"traced_buf_data_loss_read_gap",
	 "Data of a sequence is missing between two of its parts."},
	{"clock_sync_failure_no_path", "Events whose clock cannot be converted are left out."},
	{"clock_sync_failure_unknown_source_clock",
	 "Events of a clock that the trace does not describe are left out."},
	{"tokenizer_skipped_packets", "Packets were skipped, as what they refer to is missing."},
	{"track_event_counter_invalid_track_uuid", "Values of counters are left out that are on a "
						   "track of another kind; orma_track_counter() "
						   "makes a track of a counter."},
};

static struct orma_str text(const struct orma_trace_database *database, size_t column, uint64_t row)
{
	return orma_trace_database_text(
		database, orma_trace_database_cell(database, ORMA_TABLE_STATS, column, row));
}

/* Returns NULL when the number is no loss. */
static const char *meaning_of(const struct orma_trace_database *database, uint64_t row,
			      struct orma_str name)
{
	struct orma_str severity = text(database, ORMA_STATS_SEVERITY, row);
	struct orma_str description = text(database, ORMA_STATS_DESCRIPTION, row);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(notes); i++)
		if (orma_base_str_is(name, notes[i].name))
			return notes[i].meaning;
	if (!orma_base_str_is(severity, "data_loss") && !orma_base_str_is(severity, "error"))
		return NULL;
	return description.size > 0 ? description.data : "Something in the trace makes no sense.";
}

/* Returns the loss of a name, which is new unless it is there, or NULL when memory is short. */
static struct orma_loss *get(struct orma_losses *losses, struct orma_str name)
{
	for (uint32_t i = 0; i < losses->count; i++)
		if (orma_base_str_is_equal(losses->items[i].name, name))
			return &losses->items[i];
	if (orma_store_grow(&losses->items, (uint64_t)losses->count + 1, &losses->capacity,
			    sizeof(*losses->items)) < 0)
		return NULL;
	losses->items[losses->count] = (struct orma_loss){.name = name};
	return &losses->items[losses->count++];
}

int orma_losses_find(const struct orma_trace_database *database, struct orma_losses *ret)
{
	const struct orma_table *table = &database->tables.all[ORMA_TABLE_STATS];
	*ret = (struct orma_losses){0};
	for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
		int64_t value = orma_store_column_get(&table->columns[ORMA_STATS_VALUE], row);
		struct orma_str name = text(database, ORMA_STATS_NAME, row);
		const char *meaning = value > 0 ? meaning_of(database, row, name) : NULL;
		if (!meaning)
			continue;
		struct orma_loss *loss = get(ret, name);
		if (!loss)
			return -ENOMEM;
		loss->severity = text(database, ORMA_STATS_SEVERITY, row);
		loss->meaning = meaning;
		orma_add_ns(&loss->count, value);
	}
	return 0;
}

const char *orma_loss_meaning(struct orma_str stat)
{
	enum orma_stat found;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(notes); i++)
		if (orma_base_str_is(stat, notes[i].name))
			return notes[i].meaning;
	const char *description =
		orma_stats_find(stat, &found) ? orma_stat_description(found) : NULL;
	return description ? description : "Data are missing here.";
}

void orma_losses_done(struct orma_losses *losses)
{
	orma_base_free(losses->items);
	*losses = (struct orma_losses){0};
}
