/* SPDX-License-Identifier: Apache-2.0
 * filter_bytecode_test.c - programs and overlays of trace filters: what loads, and what it allows.
 */
#include "service/filter/filter_bytecode.h"

#include "base/alloc.h"
#include "filter_program.h"
#include "harness.h"
#include "service/service_limits.h"

static struct orma_filter_bytecode loaded;
static struct orma_error error;

static int load_bytes(struct orma_buf bytes, struct orma_buf overlay)
{
	int r;

	error = (struct orma_error){0};
	orma_service_bytecode_done(&loaded);
	r = orma_service_bytecode_load(&loaded, "program", program_str(&bytes),
				       program_str(&overlay), &error);
	orma_base_buf_done(&bytes);
	orma_base_buf_done(&overlay);
	if (r < 0)
		CHECK(loaded.messages == NULL && loaded.message_count == 0);
	return r;
}

static int load(const uint32_t *words, size_t count)
{
	return load_bytes(program(words, count), (struct orma_buf){0});
}

static int load_with(const uint32_t *words, size_t count, const uint32_t *overlay,
		     size_t overlay_count)
{
	return load_bytes(program(words, count), program(overlay, overlay_count));
}

/* "s" simple, "N" + index nested, "S" + type string, "-" denied. */
static const char *ask(uint32_t message_idx, uint32_t field_id)
{
	uint32_t action = orma_service_bytecode_query(&loaded, message_idx, field_id);
	uint32_t value = action & ORMA_FILTER_VALUE_MASK;
	static char text[32];

	switch (action & ORMA_FILTER_KIND_MASK) {
	case ORMA_FILTER_SIMPLE:
		return "s";
	case ORMA_FILTER_NESTED:
		snprintf(text, sizeof(text), "N%u", value);
		return text;
	case ORMA_FILTER_STRING:
		snprintf(text, sizeof(text), "S%u", value);
		return text;
	default:
		return "-";
	}
}

/* The fields of message 0 that are allowed, of [1, end). */
static const char *allowed(uint32_t end)
{
	static char text[256];

	text[0] = '\0';
	for (uint32_t id = 0; id < end; id++)
		if (orma_service_bytecode_query(&loaded, 0, id) != ORMA_FILTER_DENIED)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
				 text[0] ? " " : "", id);
	return text;
}

static void done(void)
{
	orma_service_bytecode_done(&loaded);
}

ORMA_TEST(a_program_without_messages_loads)
{
	CHECK_INT(load(NULL, 0), 0);
	CHECK_INT(loaded.message_count, 0);
	done();
}

ORMA_TEST(fields_are_allowed_one_by_one)
{
	CHECK_INT(load(WORDS(F(2u), END)), 0);
	CHECK_STR(allowed(300), "2");
	CHECK_STR(ask(0, 2), "s");
	CHECK_STR(ask(0, UINT32_MAX), "-");
	CHECK_INT(load(WORDS(F(1u), F(7u), F(8u), F(127u), END)), 0);
	CHECK_STR(allowed(300), "1 7 8 127");
	CHECK_INT(load(WORDS(F(1000u), F(1001u), F(2000u), F(ORMA_PROTO_FIELD_ID_MAX), END)), 0);
	CHECK_STR(allowed(3000), "1000 1001 2000");
	CHECK_STR(ask(0, ORMA_PROTO_FIELD_ID_MAX), "s");
	CHECK_INT(load(WORDS(END)), 0);
	CHECK_STR(allowed(300), "");
	done();
}

ORMA_TEST(ranges_may_be_empty_and_may_cross_the_limit_of_the_table)
{
	CHECK_INT(load(WORDS(R(2u, 0u), R(127u, 0u), R(128u, 0u), R(128u, 0u), END)), 0);
	CHECK_STR(allowed(300), "");
	CHECK_INT(load(WORDS(R(2u, 1u), R(10u, 5u), END)), 0);
	CHECK_STR(allowed(300), "2 10 11 12 13 14");
	CHECK_INT(load(WORDS(R(1u, 2u), F(4u), R(126u, 4u), F(150u), END)), 0);
	CHECK_STR(allowed(300), "1 2 4 126 127 128 129 150");
	CHECK_INT(load(WORDS(R(1u, ORMA_PROTO_FIELD_ID_MAX), END)), 0);
	CHECK_STR(ask(0, ORMA_PROTO_FIELD_ID_MAX), "s");
	CHECK_STR(ask(0, ORMA_PROTO_FIELD_ID_MAX + 1), "-");
	done();
}

ORMA_TEST(messages_refer_to_each_other_in_circles)
{
	CHECK_INT(load(WORDS(R(1u, 2u), N(4u, 3u), F(10u), N(127u, 1u), N(128u, 2u), END, /* 0 */
			     N(2u, 1u), F(11u), END,                                      /* 1 */
			     N(2u, 3u), END,                                              /* 2 */
			     N(2u, 2u), N(3u, 0u), END)),                                 /* 3 */
		  0);
	CHECK_STR(allowed(300), "1 2 4 10 127 128");
	CHECK_STR(ask(0, 4), "N3");
	CHECK_STR(ask(0, 127), "N1");
	CHECK_STR(ask(0, 128), "N2");
	CHECK_STR(ask(1, 2), "N1");
	CHECK_STR(ask(1, 11), "s");
	CHECK_STR(ask(1, 1), "-");
	CHECK_STR(ask(2, 2), "N3");
	CHECK_STR(ask(3, 2), "N2");
	CHECK_STR(ask(3, 3), "N0");
	done();
}

ORMA_TEST(strings_have_types)
{
	CHECK_INT(load(WORDS(S(1u), T(2u, 0u), T(3u, 1u), T(200u, 0xffffu), S(300u), END)), 0);
	CHECK_STR(ask(0, 1), "S0");
	CHECK_STR(ask(0, 2), "S0");
	CHECK_STR(ask(0, 3), "S1");
	CHECK_STR(ask(0, 200), "S65535");
	CHECK_STR(ask(0, 300), "S0");
	done();
}

ORMA_TEST(many_ranges_are_found)
{
	uint32_t words[401];

	for (size_t i = 0; i < 200; i++) {
		words[2 * i] = (1000 + 10 * (uint32_t)i) << 3 | 2;
		words[2 * i + 1] = 3;
	}
	words[400] = END;
	CHECK_INT(load(words, 401), 0);
	for (uint32_t id = 900; id < 3200; id++)
		CHECK_STR(ask(0, id), id >= 1000 && id < 3000 && id % 10 < 3 ? "s" : "-");
	done();
}

ORMA_TEST(overlays_add_and_change_fields)
{
	CHECK_INT(load_with(WORDS(F(1u), F(5u), F(10u), END),
			    WORDS(OVER(0u, S(3u), 0u), OVER(0u, S(5u), 0u), OVER(0u, F(7u), 0u),
				  OVER(0u, F(20u), 9u))),
		  0);
	CHECK_STR(allowed(300), "1 3 5 7 10 20");
	CHECK_STR(ask(0, 1), "s");
	CHECK_STR(ask(0, 3), "S0");
	CHECK_STR(ask(0, 5), "S0");
	CHECK_STR(ask(0, 7), "s");
	CHECK_STR(ask(0, 20), "s");
	done();
}

ORMA_TEST(overlays_reach_every_message_and_large_field_ids)
{
	CHECK_INT(
		load_with(WORDS(F(1u), F(150u), N(300u, 1u), END, F(2u), END, END),
			  WORDS(OVER(0u, S(128u), 0u), OVER(0u, 150u << 3 | 5, 3u),
				OVER(0u, F(200u), 0u), OVER(0u, S(300u), 0u), OVER(0u, F(400u), 0u),
				OVER(1u, S(4u), 0u), OVER(2u, 500u << 3 | 5, 7u))),
		0);
	CHECK_STR(allowed(1000), "1 128 150 200 300 400");
	CHECK_STR(ask(0, 128), "S0");
	CHECK_STR(ask(0, 150), "S3");
	CHECK_STR(ask(0, 300), "S0");
	CHECK_STR(ask(0, 400), "s");
	CHECK_STR(ask(1, 2), "s");
	CHECK_STR(ask(1, 4), "S0");
	CHECK_STR(ask(2, 500), "S7");
	/* Within a range of the table it wins; an empty one changes nothing. */
	CHECK_INT(load_with(WORDS(R(1u, 5u), END), WORDS(OVER(0u, S(3u), 0u))), 0);
	CHECK_STR(ask(0, 3), "S0");
	CHECK_INT(load_with(WORDS(F(5u), S(2u), END), NULL, 0), 0);
	CHECK_STR(allowed(300), "2 5");
	done();
}

ORMA_TEST(programs_that_make_no_sense_are_refused)
{
	const struct {
		const uint32_t *words;
		size_t count;
		const char *error;
	} cases[] = {
		{WORDS(F(1u)), "program: the last message does not end"},
		{WORDS(END, F(1u)), "program: the last message does not end"},
		{WORDS(F(0u), END), "program: word 0 names field 0"},
		{WORDS(2 | 1u << 3), "program: the last word lacks its argument"},
		{WORDS(3 | 1u << 3), "program: the last word lacks its argument"},
		{WORDS(5 | 1u << 3), "program: the last word lacks its argument"},
		{WORDS(6 | 1u << 3, END), "program: word 0 has opcode 6"},
		{WORDS(F(1u), 7 | 1u << 3, END), "program: word 1 has opcode 7"},
		{WORDS(N(4u, 1u), END), "program: there is no message 1"},
		{WORDS(N(4u, UINT32_MAX), END), "program: there is no message 4294967295"},
		{WORDS(F(200u), F(200u), END), "program: field 200 of message 0 is not in order"},
		{WORDS(END, F(201u), F(200u), END),
		 "program: field 200 of message 1 is not in order"},
		{WORDS(R(130u, 20u), F(149u), END),
		 "program: field 149 of message 0 is not in order"},
		{WORDS(R(1u, UINT32_MAX), END),
		 "program: word 1 counts more fields than there are"},
		{WORDS(R(2u, ORMA_PROTO_FIELD_ID_MAX), END),
		 "program: word 1 counts more fields than there are"},
		{WORDS(T(1u, 0x10000u), END), "program: word 1 is no semantic type"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(load(cases[i].words, cases[i].count), -EINVAL);
		CHECK_STR(error.message, cases[i].error);
	}
}

ORMA_TEST(overlays_that_make_no_sense_are_refused)
{
#define OVERLAY "trace_filter.bytecode_overlay_v54: "
	const struct {
		const uint32_t *words;
		size_t count;
		const char *error;
	} cases[] = {
		{WORDS(0u), OVERLAY "1 word, not a multiple of 3"},
		{WORDS(0u, S(1u)), OVERLAY "2 words, not a multiple of 3"},
		{WORDS(OVER(0u, 0 | 1u << 3, 0u)), OVERLAY "word 1 has opcode 0"},
		{WORDS(OVER(0u, 2 | 1u << 3, 0u)), OVERLAY "word 1 has opcode 2"},
		{WORDS(OVER(0u, 3 | 1u << 3, 0u)), OVERLAY "word 1 has opcode 3"},
		{WORDS(OVER(0u, S(0u), 0u)), OVERLAY "word 1 names field 0"},
		{WORDS(OVER(0u, 5 | 1u << 3, 0x10000u)), OVERLAY "word 2 is no semantic type"},
		{WORDS(OVER(1u, S(3u), 0u), OVER(0u, S(4u), 0u)), OVERLAY "word 3 is not in order"},
		{WORDS(OVER(0u, S(3u), 0u), OVER(0u, F(3u), 0u)), OVERLAY "word 3 is not in order"},
		{WORDS(OVER(2u, S(3u), 0u)), OVERLAY "there is no message 2"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(load_with(WORDS(F(1u), END, F(2u), END), cases[i].words, cases[i].count),
			  -EINVAL);
		CHECK_STR(error.message, cases[i].error);
	}
	CHECK_INT(load_with(WORDS(R(150u, 100u), END), WORDS(OVER(0u, S(200u), 0u))), -EINVAL);
	CHECK_STR(error.message, "program: field 200 of message 0 is not in order");
}

static int load_raw(const void *data, size_t size)
{
	struct orma_buf bytes = {0};

	CHECK_INT(orma_base_buf_append(&bytes, data, size), 0);
	return load_bytes(bytes, (struct orma_buf){0});
}

ORMA_TEST(bytes_that_are_no_program_are_refused)
{
	struct orma_buf bytes = program(WORDS(F(2u), END)), overlay = {0};

	CHECK_INT(load_raw("", 0), -EINVAL);
	CHECK_STR(error.message, "program: empty");
	CHECK_INT(load_raw("\x11\x80", 2), -EINVAL);
	CHECK_STR(error.message, "program: word 1 is no 32-bit varint");
	CHECK_INT(load_raw("\xff\xff\xff\xff\x1f", 5), -EINVAL);
	CHECK_STR(error.message, "program: word 0 is no 32-bit varint");
	CHECK_INT(load_raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), -EINVAL);
	CHECK_INT(load_raw("\x11\x00\x07", 3), -EINVAL);
	CHECK_STR(error.message, "program: the checksum is 7, not cc1f91b4");
	program_put(&overlay, 7);
	CHECK_INT(load_bytes(bytes, overlay), -EINVAL);
	CHECK_STR(error.message,
		  "trace_filter.bytecode_overlay_v54: the checksum is 7, not 84222325");
}

ORMA_TEST(programs_that_are_too_large_are_refused)
{
	size_t count = ORMA_SERVICE_FILTER_BYTES_MAX;
	uint32_t *words = orma_base_alloc_array(count, sizeof(*words));

	CHECK_INT(load(words, count), -EINVAL);
	CHECK_STR(error.message, "program: longer than 131072 bytes");
	/* Each message of four bytes asks for a table of 128 words. */
	for (size_t i = 0; i < 10000; i += 2)
		words[i] = F(127u);
	CHECK_INT(load(words, 10000), -EINVAL);
	CHECK_STR(error.message, "program: its tables are too large");
	CHECK_INT(load(words, 3000), 0);
	CHECK_INT(loaded.message_count, 1500);
	for (size_t i = 0; i < count; i++)
		words[i] = F(128u + (uint32_t)i);
	CHECK_INT(load(words, 30000), -EINVAL);
	orma_base_free(words);
	done();
}

ORMA_TEST(every_allocation_of_loading_may_fail)
{
	int r = -ENOMEM;

	for (uint64_t nth = 1; r == -ENOMEM; nth++) {
		struct orma_buf bytes = program(WORDS(F(1u), F(200u), END));
		struct orma_buf overlay = program(WORDS(OVER(0u, S(300u), 0u)));

		orma_test_fail_allocation(nth);
		r = load_bytes(bytes, overlay);
		orma_test_fail_allocation(0);
	}
	CHECK_INT(r, 0);
	CHECK_STR(allowed(400), "1 200 300");
	done();
}
