/* SPDX-License-Identifier: Apache-2.0
 * proto_output.c - generated C text and its names.
 *
 * Names follow from the rule of orma_tool_proto_snake_case() alone. Rejected: a table of
 * exceptions, which users of a generated header would have to look up.
 */
#include "tool/protogen/proto_output.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

void orma_tool_proto_note_failure(struct orma_tool_proto_output *output, int r)
{
	if (r < 0 && output->failure == 0)
		output->failure = r;
}

void orma_tool_proto_put(struct orma_tool_proto_output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (output->failure == 0)
		orma_tool_proto_note_failure(output,
					     orma_base_buf_vprintf(output->text, format, args));
	va_end(args);
}

/* Copies the built text to the arena, unless building it failed (r < 0). */
static const char *keep(struct orma_tool_proto_output *output, const struct orma_buf *built, int r)
{
	char *kept = NULL;

	if (r == 0)
		kept = orma_base_arena_strdup(
			output->arena, (struct orma_str){(const char *)built->data, built->size});
	if (!kept)
		orma_tool_proto_note_failure(output, -ENOMEM);
	return kept ? kept : "";
}

const char *orma_tool_proto_format(struct orma_tool_proto_output *output, const char *format, ...)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) built = {0};
	va_list args;
	int r;

	va_start(args, format);
	r = orma_base_buf_vprintf(&built, format, args);
	va_end(args);
	return keep(output, &built, r);
}

/* Returns true when a word begins at i: at B in "fooBar", and at F in "IPCFrame". */
static bool begins_word(const char *name, size_t i)
{
	unsigned char previous = i > 0 ? (unsigned char)name[i - 1] : '_';

	if (!isupper((unsigned char)name[i]) || previous == '_' || previous == '.')
		return false;
	return !isupper(previous) || islower((unsigned char)name[i + 1]);
}

const char *orma_tool_proto_snake_case(struct orma_tool_proto_output *output, const char *name)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) built = {0};
	int r = 0;

	for (size_t i = 0; name[i] != '\0' && r == 0; i++) {
		unsigned char c = (unsigned char)name[i];

		r = orma_base_buf_printf(&built, "%s%c", begins_word(name, i) ? "_" : "",
					 c == '.' ? '_' : tolower(c));
	}
	return keep(output, &built, r);
}

const char *orma_tool_proto_upper_case(struct orma_tool_proto_output *output, const char *name)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) built = {0};
	int r = 0;

	for (size_t i = 0; name[i] != '\0' && r == 0; i++) {
		char c = (char)toupper((unsigned char)name[i]);

		r = orma_base_buf_append(&built, &c, 1);
	}
	return keep(output, &built, r);
}
