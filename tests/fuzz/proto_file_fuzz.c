/* SPDX-License-Identifier: Apache-2.0
 * proto_file_fuzz.c - any text as a .proto file, and the header that is made of it.
 *
 * A file is either refused with an error message, or gives a complete header.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/protogen/proto_setters.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_tool_proto_set set = {0};
	struct orma_tool_proto_file *file;
	struct orma_buf out = {0};
	int r = orma_tool_proto_parse(&set, "fuzz.proto", (const char *)data, size, &file);

	if (r == 0)
		r = orma_tool_proto_resolve(&set);
	if (r == 0)
		r = orma_tool_proto_emit_setters(&set, file, "FUZZ_H", size % 2 ? "prefix" : NULL,
						 &out);
	if (r == 0)
		CHECK(strstr(orma_base_buf_cstr(&out), "#endif\n") != NULL);
	else
		CHECK(r == -EBADMSG && set.error.code == r && set.error.message[0] != '\0');
	orma_base_buf_done(&out);
	orma_tool_proto_set_done(&set);
	return 0;
}
