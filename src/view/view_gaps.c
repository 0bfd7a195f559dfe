/* SPDX-License-Identifier: Apache-2.0
 * view_gaps.c - reads the gaps from the log of the import, which has at most ORMA_IMPORT_LOG_MAX entries.
 *
 * An entry with an argument `dur` tells of a time in which data are missing. The arguments `utid` and `ucpu` say whose they are.
 * Without them the gap is of a sequence whose thread is not known, and only the row of losses shows it.
 * Rejected: a table of gaps of its own, since the log has what a gap needs, is kept in indexes, and is told by SQL.
 */
#include "view/view_gaps.h"

#include "answers/losses.h"
#include "base/json_writer.h"
#include "view/track_list.h"
#include "view/view_json.h"

static int64_t log_cell(const struct orma_view *view, size_t column, uint64_t row)
{
	return orma_trace_database_cell(view->database, ORMA_TABLE_IMPORT_LOG, column, row);
}

/* Says what was lost, and what helps. */
static const char *meaning_of(struct orma_str stat)
{
	if (orma_base_str_is(stat, "traced_buf_sequence_packet_loss"))
		return "Packets of this thread are missing, because shared memory or the buffer "
		       "was "
		       "full; more of it or fewer events help.";
	return orma_loss_meaning(stat);
}

static int append_gap(const struct orma_view *view, struct orma_buf *json, uint64_t row,
		      int64_t dur)
{
	int64_t ts = log_cell(view, ORMA_IMPORT_LOG_TS, row), end;
	int64_t set = log_cell(view, ORMA_IMPORT_LOG_ARG_SET_ID, row);
	struct orma_str stat =
		orma_trace_database_text(view->database, log_cell(view, ORMA_IMPORT_LOG_NAME, row));
	if (__builtin_add_overflow(ts, dur, &end))
		end = INT64_MAX;
	int r = orma_json_begin_element(json);
	if (r == 0)
		r = orma_view_json_time(json, view, "start", ts);
	if (r == 0)
		r = orma_view_json_time(json, view, "end", end);
	if (r == 0)
		r = orma_json_append_text(json, "what", orma_base_str(meaning_of(stat)));
	if (r == 0)
		r = orma_view_json_id(json, "utid", orma_view_int_arg(view, set, "utid", -1));
	if (r == 0)
		r = orma_view_json_id(json, "cpu", orma_view_int_arg(view, set, "ucpu", -1));
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

/* How long the gap of an entry is; -1 = it tells of something else. */
static int64_t gap_dur(const struct orma_view *view, uint64_t row)
{
	return orma_view_int_arg(view, log_cell(view, ORMA_IMPORT_LOG_ARG_SET_ID, row), "dur", -1);
}

bool orma_view_has_gaps(const struct orma_view *view)
{
	const struct orma_table *log = &view->database->tables.all[ORMA_TABLE_IMPORT_LOG];
	for (uint64_t row = 0; row < orma_store_table_rows(log); row++)
		if (gap_dur(view, row) >= 0)
			return true;
	return false;
}

int orma_view_gaps_append(const struct orma_view *view, struct orma_buf *json)
{
	const struct orma_table *log = &view->database->tables.all[ORMA_TABLE_IMPORT_LOG];
	int r = orma_view_json_raw(json, ",\"gaps\":[");
	for (uint64_t row = 0; row < orma_store_table_rows(log) && r == 0; row++) {
		int64_t dur = gap_dur(view, row);
		if (dur >= 0)
			r = append_gap(view, json, row, dur);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]");
}
