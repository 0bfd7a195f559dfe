/* SPDX-License-Identifier: Apache-2.0
 * proto_setters.h - the header that `orma protogen` makes of a .proto file.
 */
#ifndef ORMA_TOOL_PROTO_SETTERS_H
#define ORMA_TOOL_PROTO_SETTERS_H

#include "tool/protogen/proto_file.h"

/*
 * Appends the C header for the types and extensions of a file of a resolved set. `guard` is its
 * include guard; `prefix` begins all names instead of the package, unless it is NULL. Returns 0,
 * -EBADMSG (the set's error says where and what) or -ENOMEM.
 */
int orma_tool_proto_emit_setters(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
				 const char *guard, const char *prefix, struct orma_buf *out);

#endif
