/* SPDX-License-Identifier: Apache-2.0
 * annotation_json.h - annotations whose value is a JSON text, as in traces of before 2021, and arguments of events of Chrome's JSON
 * format.
 */
#ifndef ORMA_TRACE_ANNOTATION_JSON_H
#define ORMA_TRACE_ANNOTATION_JSON_H

#include "trace/arg_walk.h"

/* Adds the values of the text, below the path. 1 (some were added), 0 (none), -EBADMSG (the text is damaged; what comes before the
 * damage was added) or -ENOMEM. */
int orma_annotation_json_add(struct orma_arg_walk *walk, struct orma_str text);
/* Adds the members of an object, which stand between its brackets, below the path: the arguments of a record. 0 or -ENOMEM. */
int orma_record_args_add(struct orma_arg_walk *walk, struct orma_str members);

#endif
