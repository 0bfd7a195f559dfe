/* SPDX-License-Identifier: Apache-2.0
 * json_events.h - the events of Chrome's JSON that slices and flows become.
 */
#ifndef ORMA_TOOL_JSON_EVENTS_H
#define ORMA_TOOL_JSON_EVENTS_H

#include "tool/export/export_file.h"
#include "tool/export/json_ids.h"

struct orma_json_output {
	struct orma_trace_database *database;
	struct orma_export_file *file;
	struct orma_json_ids ids;
	struct orma_buf event; /* that is being made */
	bool has_events;
};

/* All return 0 or the exit status. */
int orma_json_write_slices(struct orma_json_output *output);
int orma_json_write_flows(struct orma_json_output *output);
/* Writes output->event, an object without its closing brace, with a comma before it when it is not the first. */
int orma_json_end_event(struct orma_json_output *output, int error);
/* Appends `,"name":number`. 0 or -ENOMEM. */
int orma_json_append_int(struct orma_buf *json, const char *name, int64_t value);

#endif
