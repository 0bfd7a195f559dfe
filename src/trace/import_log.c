/* SPDX-License-Identifier: Apache-2.0
 * import_log.c - entries of the log have the name and the severity of the statistic that counts them.
 */
#include "trace/import_log.h"

#include <errno.h>

#include "base/macros.h"
#include "trace/cpus.h"

static int64_t slice_cell(struct orma_system *system, int64_t row, size_t column)
{
	return orma_store_column_get(orma_tables_column(system->tables, ORMA_TABLE_SLICE, column),
				     (uint64_t)row);
}

static void add_name(struct orma_arg_list *args, const char *key, int64_t name)
{
	if (name != ORMA_CELL_NULL)
		orma_arg_list_add(args, orma_base_str(key), orma_base_str(key), ORMA_ARG_STRING,
				  name);
}

static struct orma_arg_list *begin_args(struct orma_system *system)
{
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	return &system->args;
}

/* Adds an entry with the arguments that were made. */
static int add_entry(struct orma_system *system, enum orma_stat stat, int64_t ts)
{
	struct orma_table *log = &system->tables->all[ORMA_TABLE_IMPORT_LOG];
	int64_t cells[ORMA_IMPORT_LOG_COLUMNS] = {
		[ORMA_IMPORT_LOG_TRACE_ID] = 0,
		[ORMA_IMPORT_LOG_TS] = ts,
		[ORMA_IMPORT_LOG_BYTE_OFFSET] = ORMA_CELL_NULL,
		[ORMA_IMPORT_LOG_SEVERITY] =
			orma_tables_string(system->tables, orma_base_str(orma_stat_severity(stat))),
		[ORMA_IMPORT_LOG_NAME] =
			orma_tables_string(system->tables, orma_base_str(orma_stat_name(stat))),
		[ORMA_IMPORT_LOG_ARG_SET_ID] = orma_system_take_args(system)};
	return orma_store_table_append(log, cells);
}

static bool has_room(const struct orma_system *system)
{
	const struct orma_table *log = &system->tables->all[ORMA_TABLE_IMPORT_LOG];
	return system->has_log && orma_store_table_rows(log) < ORMA_IMPORT_LOG_MAX;
}

int orma_import_log_overlap(struct orma_system *system, enum orma_stat stat,
			    const struct orma_slice_begin *slice, int64_t other)
{
	if (!has_room(system))
		return 0;
	struct orma_arg_list *args = begin_args(system);
	int64_t ts = slice_cell(system, other, ORMA_SLICE_TS);
	int64_t dur = slice_cell(system, other, ORMA_SLICE_DUR);
	add_name(args, "event_name", slice->name);
	orma_arg_list_add_string(args, "event_phase", ORMA_STR("X"));
	orma_arg_list_add_int(args, "overlap_start", slice->ts);
	orma_arg_list_add_int(args, "overlap_end", ts + dur);
	add_name(args, "conflicting_slice_name", slice_cell(system, other, ORMA_SLICE_NAME));
	orma_arg_list_add_int(args, "conflicting_slice_ts", ts);
	orma_arg_list_add_int(args, "conflicting_slice_dur", dur);
	return add_entry(system, stat, slice->ts);
}

int orma_import_log_depth(struct orma_system *system, const struct orma_slice_begin *slice,
			  int64_t other)
{
	if (!has_room(system))
		return 0;
	struct orma_arg_list *args = begin_args(system);
	add_name(args, "parent_slice_name", slice_cell(system, other, ORMA_SLICE_NAME));
	add_name(args, "current_slice_name", slice->name);
	return add_entry(system, ORMA_STAT_slice_max_depth_exceeded, slice->ts);
}

enum orma_stat orma_import_log_cause(unsigned bit)
{
	static const enum orma_stat causes[ORMA_LOSS_CAUSES] = {
		ORMA_STATS, /* no cause is given */
		ORMA_STAT_traced_buf_data_loss_read_gap,
		ORMA_STAT_traced_buf_data_loss_chunk_corrupted,
		ORMA_STAT_traced_buf_data_loss_orphan_continuation,
		ORMA_STAT_traced_buf_data_loss_reassembly_gap,
		ORMA_STAT_traced_buf_data_loss_reassembly_broken_chain,
		ORMA_STAT_traced_buf_data_loss_overwrite,
		ORMA_STAT_traced_buf_data_loss_writer_abort,
		ORMA_STAT_traced_buf_data_loss_smb_full,
	};
	return bit < ORMA_LOSS_CAUSES ? causes[bit] : ORMA_STATS;
}

/* Returns the statistic that counts the gap. When it has several causes, the last ones say most about what helps. */
static enum orma_stat stat_of_gap(const struct orma_gap *gap)
{
	if (!gap->sequence)
		return ORMA_STAT_ftrace_cpu_has_data_loss;
	for (unsigned bit = ORMA_LOSS_CAUSES; bit-- > 1;)
		if (gap->causes >> bit & 1)
			return orma_import_log_cause(bit);
	return ORMA_STAT_traced_buf_sequence_packet_loss;
}

static int add_gap(struct orma_system *system, const struct orma_gap *gap)
{
	if (!has_room(system))
		return 0;
	struct orma_arg_list *args = begin_args(system);
	orma_arg_list_add_int(args, "dur", gap->end_ns - gap->first_ns);
	if (gap->sequence && gap->sequence->utid >= 0)
		orma_arg_list_add_int(args, "utid", gap->sequence->utid);
	if (!gap->sequence) {
		int64_t ucpu = orma_cpus_get(system->tables, gap->machine_idx, gap->cpu);
		if (ucpu < 0 && ucpu != -ERANGE)
			return (int)ucpu;
		if (ucpu >= 0)
			orma_arg_list_add_int(args, "ucpu", ucpu);
	}
	return add_entry(system, stat_of_gap(gap), gap->first_ns);
}

int orma_import_log_gaps(struct orma_system *system)
{
	const struct orma_packet_index *index = system->index;
	int r = 0;
	for (uint32_t i = 0; i < index->gap_count && r == 0; i++)
		r = add_gap(system, &index->gaps[i]);
	/* No packet with a time ended these. */
	for (uint32_t i = 0; i < index->sequence_count && r == 0; i++) {
		const struct orma_sequence *sequence = index->sequences[i];
		struct orma_gap gap = {.sequence = sequence,
				       .causes = sequence->gap_causes,
				       .first_ns = sequence->gap_first_ns,
				       .end_ns = index->max_ns};
		if (gap.causes && gap.first_ns != INT64_MIN)
			r = add_gap(system, &gap);
	}
	return r;
}
