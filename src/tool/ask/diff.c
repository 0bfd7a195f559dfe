/* SPDX-License-Identifier: Apache-2.0
 * diff.c - prints what differs between the traces of both sides.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/diff_tables.h"
#include "tool/ask/units.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

static void print_side(const struct orma_diff_tables *tables, size_t side)
{
	const struct orma_diff_options *options = tables->options;
	char text[ORMA_UNIT_BYTES];
	for (int i = 0; i < options->counts[side]; i++)
		orma_tool_print_line(stdout, "%c: %s, %s", side == 0 ? 'A' : 'B',
				     orma_trace_input_name(options->paths[side][i]),
				     orma_units_duration(tables->lengths_ns[side][i], text));
}

static void print_page(const struct orma_diff_tables *tables)
{
	struct orma_page page = orma_page_of_output();
	char text[ORMA_DIFF_END_BYTES];
	print_side(tables, 0);
	print_side(tables, 1);
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS; kind++)
		orma_fact_table_print(&tables->tables[kind], &page);
	orma_tool_print_line(stdout, "%s", "");
	orma_tool_print_line(stdout, "%s", orma_diff_tables_end(tables, text));
}

static int append_sides(const struct orma_diff_tables *tables, struct orma_buf *json)
{
	static const struct orma_fact_column trace_columns[] = {
		{"trace", NULL, ORMA_FACT_TEXT}, {"duration_ns", NULL, ORMA_FACT_NS}};
	int r = 0;
	for (size_t side = 0; side < 2 && r == 0; side++) {
		r = orma_json_append_key(json, side == 0 ? "a" : "b");
		if (r == 0)
			r = orma_base_buf_append_str(json, "[");
		for (int i = 0; i < tables->options->counts[side] && r == 0; i++) {
			const struct orma_fact cells[] = {
				orma_fact_text(orma_base_str(tables->options->paths[side][i])),
				orma_fact_integer(tables->lengths_ns[side][i])};
			r = orma_fact_row_append_json(trace_columns, 2, cells, json);
		}
		if (r == 0)
			r = orma_base_buf_append_str(json, "]");
	}
	return r;
}

static int print_json(struct orma_diff_tables *tables)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf json = {0};
	int r = orma_json_begin_element(&json);
	if (r == 0)
		r = append_sides(tables, &json);
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS && r == 0; kind++)
		r = orma_fact_table_append_json(&tables->tables[kind], &json);
	if (r == 0)
		r = orma_base_buf_append_str(&json, "}\n");
	return r == 0 ? orma_tool_write_raw(stdout, json.data, json.size) : r;
}

int orma_diff_run(const struct orma_diff_options *options)
{
	struct orma_diff_tables tables;
	int status = orma_diff_tables_make(options, NULL, NULL, &tables);
	int r = 0;
	if (status == ORMA_EXIT_OK && options->is_json)
		r = print_json(&tables);
	else if (status == ORMA_EXIT_OK)
		print_page(&tables);
	orma_diff_tables_done(&tables);
	return r < 0 && r != -EPIPE ? orma_tool_fail("%s", strerror(-r)) : status;
}
