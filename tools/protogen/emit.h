/* SPDX-License-Identifier: Apache-2.0
 * emit.h - C text for one .proto file.
 */
#ifndef ORMA_TOOLS_PROTOGEN_EMIT_H
#define ORMA_TOOLS_PROTOGEN_EMIT_H

#include "model.h"

/* Both append to `out`; out of memory shows as -ENOMEM. */
int pg_emit_header(struct pg_model *model, const struct pg_file *file, struct orma_buf *out);
int pg_emit_source(struct pg_model *model, const struct pg_file *file, struct orma_buf *out);

#endif
