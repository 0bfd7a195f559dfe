/* SPDX-License-Identifier: Apache-2.0
 * proto_text_fuzz.c - text is parsed into a message and printed again.
 *
 * The first byte chooses the type of the message, and whether unknown names are skipped. A text that
 * parses and is not too deep must print. The printed text must parse to a message that prints the
 * same, and that encodes the same unless it has a NaN. A text that does not parse must give an error
 * message. Rejected: a dictionary file (libFuzzer learns the few words from the comparisons).
 */
#include <errno.h>
#include <stdlib.h>

#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/other_data_source_config.pb.h"
#include "schema/gen/test_config.pb.h"
#include "schema/gen/trace_config.pb.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct orma_buf *a, const struct orma_buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Prints the message, parses the text and prints the result. Both texts must be equal. */
static void *check_text(const struct orma_proto_desc *desc, const void *message,
			struct orma_arena *arena, bool *ret_has_nan)
{
	struct orma_buf text = {0}, again = {0};
	struct orma_error error;
	void *back = NULL;
	int r = orma_proto_text_print(message, 0, &text);

	if (r == 0) {
		CHECK(orma_proto_text_parse(desc, "text", (const char *)text.data, text.size, 0,
					    arena, &back, &error) == 0);
		CHECK(orma_proto_text_print(back, 0, &again) == 0);
		CHECK(is_same(&text, &again));
		*ret_has_nan = text.size > 0 && strstr(orma_base_buf_cstr(&text), "nan");
	} else {
		CHECK(r == -EMSGSIZE);
	}
	orma_base_buf_done(&text);
	orma_base_buf_done(&again);
	return back;
}

static void check_message(const struct orma_proto_desc *desc, const void *message,
			  struct orma_arena *arena)
{
	struct orma_buf first = {0}, second = {0};
	bool has_nan = false;
	void *once = check_text(desc, message, arena, &has_nan);
	void *twice = once ? check_text(desc, once, arena, &has_nan) : NULL;

	if (twice && !has_nan) {
		CHECK(orma_proto_encode(once, &first) == 0);
		CHECK(orma_proto_encode(twice, &second) == 0);
		CHECK(is_same(&first, &second));
	}
	orma_base_buf_done(&first);
	orma_base_buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct orma_proto_desc *const descs[] = {
		&orma_pb_trace_config_desc, &orma_pb_debug_annotation_desc,
		&orma_pb_test_config_dummy_fields_desc};
	static const struct orma_proto_extension extension = {
		&orma_pb_data_source_config_desc, &orma_pb_other_data_source_config_desc};
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	const struct orma_proto_desc *desc;
	void *message;
	int r;

	if (size < 1)
		return 0;
	desc = descs[data[0] / 2 % ORMA_ARRAY_SIZE(descs)];
	const struct orma_proto_text_options options = {&extension, data[0] % 2};
	r = orma_proto_text_parse_extended(desc, &options, "text", (const char *)data + 1, size - 1,
					   &arena, &message, &error);
	if (r == 0)
		check_message(desc, message, &arena);
	else
		CHECK(r == -EBADMSG && error.code == r && error.message[0] != '\0');
	orma_base_arena_done(&arena);
	return 0;
}
