/* SPDX-License-Identifier: Apache-2.0
 * record_json.c - the report of a recording as JSON.
 *
 *   {"file":"trace.pftrace","files":1,"bytes":40832,"seconds":10.002,"packets":22,
 *    "sources":{"service":14,"linux.sys_stats":8},"is_full":true,"has_statistics":true,
 *    "lost":{"packets_without_room":0,"chunks_overwritten":0, ...},
 *    "buffers":[{"size_bytes":33554432,"written_bytes":40000,"written_packets":12,
 *                "overwritten_chunks":0,"covers_ns":0}]}
 *
 * Members are added in later versions and never renamed. covers_ns is 0 when it is not known.
 * is_full is there when the file has reached its maximum size, so that later data is not in it, and
 * ftrace_problem when events of the kernel are missing.
 */
#include "tool/record/record_json.h"

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/print.h"

static int append_sources(const struct orma_tool_summary *summary, struct orma_buf *json)
{
	int r = orma_json_append_key(json, "sources");

	if (r == 0)
		r = orma_json_begin_element(json);
	for (size_t i = 0; i < summary->source_count && r == 0; i++)
		r = orma_json_append_number(json, summary->sources[i].name,
					    summary->sources[i].packets);
	return r ? r : orma_base_buf_append_str(json, "}");
}

static int append_losses(const struct orma_tool_summary *summary, struct orma_buf *json)
{
	struct orma_tool_loss losses[ORMA_TOOL_LOSS_KINDS];
	int r = orma_base_buf_append_str(json, summary->has_stats ? ",\"has_statistics\":true"
								  : ",\"has_statistics\":false");

	orma_tool_summary_get_losses(summary, losses);
	if (r == 0)
		r = orma_json_append_key(json, "lost");
	if (r == 0)
		r = orma_json_begin_element(json);
	for (size_t i = 0; i < ORMA_TOOL_LOSS_KINDS && r == 0; i++)
		r = orma_json_append_number(json, losses[i].key, losses[i].count);
	return r ? r : orma_base_buf_append_str(json, "}");
}

static int append_buffer(const struct orma_tool_buffer *buffer, struct orma_buf *json)
{
	int r = orma_json_begin_element(json);

	if (r == 0)
		r = orma_json_append_number(json, "size_bytes", buffer->size_bytes);
	if (r == 0)
		r = orma_json_append_number(json, "written_bytes", buffer->written_bytes);
	if (r == 0)
		r = orma_json_append_number(json, "written_packets", buffer->written_packets);
	if (r == 0)
		r = orma_json_append_number(json, "overwritten_chunks", buffer->overwritten_chunks);
	if (r == 0)
		r = orma_json_append_number(json, "covers_ns", buffer->last_ns - buffer->first_ns);
	return r ? r : orma_base_buf_append_str(json, "}");
}

static int append_buffers(const struct orma_tool_summary *summary, struct orma_buf *json)
{
	int r = orma_json_append_key(json, "buffers");

	if (r == 0)
		r = orma_base_buf_append_str(json, "[");
	for (size_t i = 0; i < summary->buffer_count && r == 0; i++)
		r = append_buffer(&summary->buffers[i], json);
	return r ? r : orma_base_buf_append_str(json, "]");
}

int orma_record_print_json(const struct orma_record_facts *facts)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf json = {0};
	int r = orma_json_begin_element(&json);

	if (r == 0)
		r = orma_json_append_text(&json, "file", orma_base_str(facts->path));
	if (r == 0)
		r = orma_json_append_number(&json, "files", facts->files);
	if (r == 0)
		r = orma_json_append_number(&json, "bytes", facts->bytes);
	if (r == 0)
		r = orma_base_buf_printf(&json, ",\"seconds\":%.3f", facts->seconds);
	if (r == 0)
		r = orma_json_append_number(&json, "packets", facts->summary->packets);
	if (r == 0)
		r = append_sources(facts->summary, &json);
	if (r == 0 && facts->summary->is_full)
		r = orma_base_buf_append_str(&json, ",\"is_full\":true");
	if (r == 0 && facts->summary->ftrace_problem[0])
		r = orma_json_append_text(&json, "ftrace_problem",
					  orma_base_str(facts->summary->ftrace_problem));
	if (r == 0)
		r = append_losses(facts->summary, &json);
	if (r == 0)
		r = append_buffers(facts->summary, &json);
	if (r == 0)
		r = orma_base_buf_append_str(&json, "}\n");
	if (r == 0)
		(void)orma_tool_write_raw(stdout, json.data,
					  json.size); /* main() reports a failure */
	return r;
}
