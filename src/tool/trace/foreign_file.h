/* SPDX-License-Identifier: Apache-2.0
 * foreign_file.h - names the kind of a file that is not a trace.
 */
#ifndef ORMA_TOOL_FOREIGN_FILE_H
#define ORMA_TOOL_FOREIGN_FILE_H

#include <stdbool.h>

#include "base/str.h"

#define ORMA_TOOL_BEGINNING_BYTES 64 /* enough to tell all kinds */

/* Returns the kind of a file with this beginning and what to do with it, as a clause: "this is
 * JSON; ...". NULL when the kind is unknown. For files that could not be read as a trace. */
const char *orma_tool_foreign_file_words(struct orma_str beginning);
/* True for the beginning of a text that can be a config. */
bool orma_tool_may_be_config(struct orma_str beginning);

#endif
