/* SPDX-License-Identifier: Apache-2.0
 * names.c - from the names of .proto files to those of C.
 *
 * Text lives in the model's arena; out of memory ends the program (a development tool). Rejected:
 * keeping CamelCase in symbols (house style), a table of exceptions per message (names must follow
 * from the rule alone).
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

const char *pg_printf(struct orma_arena *arena, const char *format, ...)
{
	struct orma_buf buf = {0};
	const char *copy = NULL;
	va_list args;

	va_start(args, format);
	if (orma_base_buf_vprintf(&buf, format, args) == 0)
		copy = orma_base_arena_strdup(arena,
					      (struct orma_str){(const char *)buf.data, buf.size});
	va_end(args);
	orma_base_buf_done(&buf);
	if (!copy) {
		fputs("protogen: out of memory\n", stderr);
		exit(1);
	}
	return copy;
}

/* "FFlushMode" -> "f_flush_mode", "IPCFrame" -> "ipc_frame", "already_snake" stays. */
const char *pg_snake(struct orma_arena *arena, const char *camel)
{
	char out[512];
	size_t size = 0;

	for (size_t i = 0; camel[i] != '\0' && size + 3 < sizeof(out); i++) {
		unsigned char c = (unsigned char)camel[i], next = (unsigned char)camel[i + 1];
		unsigned char last = i > 0 ? (unsigned char)camel[i - 1] : '_';

		if (isupper(c) && last != '_' && last != '.' && (!isupper(last) || islower(next)))
			out[size++] = '_';
		out[size++] = (char)(c == '.' ? '_' : tolower(c));
	}
	return pg_printf(arena, "%.*s", (int)size, out);
}

const char *pg_upper(struct orma_arena *arena, const char *text)
{
	char *upper = (char *)pg_printf(arena, "%s", text);

	for (char *at = upper; *at != '\0'; at++)
		*at = (char)toupper((unsigned char)*at);
	return upper;
}
