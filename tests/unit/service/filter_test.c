/* SPDX-License-Identifier: Apache-2.0
 * filter_test.c - packets through a filter, byte for byte, and what its string rules make of them.
 *
 * Packets are written in hexadecimal. Each goes through whole, and in two pieces cut at every
 * place, and byte by byte: the result must be the same.
 */
#include "service/filter/filter.h"

#include "filter_program.h"
#include "fixture.h"
#include "tool/daemon/regex_pcre2.h"

struct scene {
	struct world world;
	uint64_t now_ns, tick_ns; /* the clock goes on by a tick with each look at it */
	bool thread_stands_still;
	struct orma_arena arena;
	struct orma_service_filter *filter;
	struct orma_error error;
};

static uint64_t ticking_clock(void *ctx, int clock_id)
{
	struct scene *s = ctx;

	if (clock_id == CLOCK_THREAD_CPUTIME_ID && s->thread_stands_still)
		return START_NS;
	s->now_ns += s->tick_ns;
	return s->now_ns;
}

static void open_scene(struct scene *s)
{
	struct orma_service_options options = {
		.struct_size = sizeof(options),
		.ctx = s,
		.now_ns = ticking_clock,
		.regex_ops = orma_tool_regex_ops,
	};

	memset(s, 0, sizeof(*s));
	s->now_ns = START_NS;
	CHECK_INT(orma_service_new(&options, &s->world.service), 0);
}

/* `rules` is a text config of the chains. */
static int try_filter(struct scene *s, const uint32_t *words, size_t count, const char *rules)
{
	struct orma_pb_trace_config_trace_filter *config;
	struct orma_buf bytes = program(words, count);
	void *message;
	int r;

	orma_service_filter_free(ORMA_TAKE(s->filter));
	orma_base_arena_done(&s->arena);
	s->error = (struct orma_error){0};
	if (orma_proto_text_parse(&orma_pb_trace_config_trace_filter_desc, "rules", rules,
				  strlen(rules), 0, &s->arena, &message, &s->error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", s->error.message);
	config = message;
	if (bytes.size)
		orma_pb_trace_config_trace_filter_set_bytecode_v2(
			config,
			(struct orma_str){orma_base_arena_memdup(&s->arena, bytes.data, bytes.size),
					  bytes.size});
	r = orma_service_filter_new(s->world.service, config, &s->filter, &s->error);
	orma_base_buf_done(&bytes);
	return r;
}

static void use_filter(struct scene *s, const uint32_t *words, size_t count, const char *rules)
{
	if (try_filter(s, words, count, rules) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", s->error.message);
}

static void close_scene(struct scene *s)
{
	orma_service_filter_free(s->filter);
	orma_base_arena_done(&s->arena);
	world_close(&s->world);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static size_t from_hex(const char *hex, uint8_t *to)
{
	size_t size = 0;
	unsigned byte;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		CHECK(sscanf(hex, "%2x", &byte) == 1);
		to[size++] = (uint8_t)byte;
		hex++;
	}
	return size;
}

static const char *to_hex(const uint8_t *data, size_t size)
{
	static char text[4096];

	CHECK(size * 3 < sizeof(text));
	text[0] = '\0';
	for (size_t i = 0; i < size; i++)
		snprintf(&text[3 * i], 4, "%02x ", data[i]);
	if (size)
		text[3 * size - 1] = '\0';
	return text;
}

/* Heap copies of exactly their size, for the sanitizers to watch. */
static int run_cut(struct scene *s, const uint8_t *packet, size_t size, size_t cut, size_t step,
		   uint8_t *out, size_t *out_size)
{
	struct orma_trace_slice slices[600];
	void *copies[600];
	size_t count = 0;
	uint8_t *exact = orma_base_alloc(size);
	int r;

	for (size_t at = 0; at < size;) {
		size_t part = at < cut ? cut - at : ORMA_MIN(step, size - at);

		CHECK(count < ORMA_ARRAY_SIZE(slices));
		copies[count] = orma_base_memdup(packet + at, part);
		slices[count] = (struct orma_trace_slice){copies[count], part, false};
		count++;
		at += part;
	}
	*out_size = SIZE_MAX;
	r = orma_service_filter_packet(s->filter, slices, count, exact, out_size);
	if (r == 0) {
		CHECK(*out_size <= size);
		memcpy(out, exact, *out_size);
	} else {
		CHECK(*out_size == SIZE_MAX);
	}
	for (size_t i = 0; i < count; i++)
		orma_base_free(copies[i]);
	orma_base_free(exact);
	return r;
}

static const char *run_bytes(struct scene *s, const uint8_t *packet, size_t size)
{
	static uint8_t first[2048], again[2048];
	size_t first_size, again_size;
	int r = run_cut(s, packet, size, size, size, first, &first_size);

	for (size_t cut = 0; cut < size; cut++) {
		CHECK_INT(run_cut(s, packet, size, cut, cut ? size : 1, again, &again_size), r);
		if (r == 0)
			CHECK_MEM(again, again_size, first, first_size);
	}
	if (r == 0)
		return to_hex(first, first_size);
	return r == -EBADMSG ? "malformed" : r == -ETIMEDOUT ? "timeout" : "?";
}

static const char *run(struct scene *s, const char *hex)
{
	uint8_t packet[2048] = {0};

	return run_bytes(s, packet, from_hex(hex, packet));
}

ORMA_TEST(fields_pass_when_they_are_allowed_with_the_wire_types_of_simple_ones)
{
	struct scene s;

	open_scene(&s);
	use_filter(&s,
		   WORDS(N(1u, 1u), END, F(1u), S(3u), N(6u, 2u), R(11u, 10u), F(1000u), END, F(2u),
			 F(5u), END),
		   "");
	CHECK_STR(run(&s, ""), "");
	CHECK_STR(run(&s, "08 2a"), "08 2a");
	CHECK_STR(run(&s, "10 2a"), "");
	CHECK_STR(run(&s, "08 80 ec 94 a3 fc ff ff ff ff 01"), "08 80 ec 94 a3 fc ff ff ff ff 01");
	CHECK_STR(run(&s, "1a 06 66 6f 6f 62 61 72"), "1a 06 66 6f 6f 62 61 72");
	CHECK_STR(run(&s, "22 06 66 6f 6f 62 61 72 08 01"), "08 01");
	CHECK_STR(run(&s, "5d 01 02 03 04 61 01 02 03 04 05 06 07 08"),
		  "5d 01 02 03 04 61 01 02 03 04 05 06 07 08");
	CHECK_STR(run(&s, "25 01 02 03 04 21 01 02 03 04 05 06 07 08 08 01"), "08 01");
	CHECK_STR(run(&s, "c0 3e 07"), "c0 3e 07");
	/* Strings and messages with the wire type of numbers do not pass. */
	CHECK_STR(run(&s, "18 01 1d 01 02 03 04 19 01 02 03 04 05 06 07 08"), "");
	CHECK_STR(run(&s, "30 01 35 01 02 03 04 31 01 02 03 04 05 06 07 08"), "");
	/* A simple field may be a string, and is not looked into. */
	CHECK_STR(run(&s, "0a 02 10 01"), "0a 02 10 01");
	close_scene(&s);
}

ORMA_TEST(nested_messages_keep_the_size_of_their_lengths)
{
	struct scene s;
	uint8_t packet[600] = {0x32, 0x85, 0x01};
	char expected[64];

	open_scene(&s);
	use_filter(&s, WORDS(N(1u, 1u), END, N(6u, 2u), END, F(2u), S(5u), N(6u, 2u), END), "");
	CHECK_STR(run(&s, "32 05 15 01 02 03 04"), "32 05 15 01 02 03 04");
	CHECK_STR(run(&s, "32 07 08 0a 10 02 22 01 61"), "32 02 10 02");
	CHECK_STR(run(&s, "32 00"), "32 00");
	CHECK_STR(run(&s, "32 02 2a 00"), "32 02 2a 00");
	CHECK_STR(run(&s, "32 02 08 01"), "32 00");
	CHECK_STR(run(&s, "32 02 32 00 32 00"), "32 02 32 00 32 00");
	CHECK_STR(run(&s, "32 04 32 02 10 01 32 02 08 07"), "32 04 32 02 10 01 32 00");
	/* 133 bytes of which two are left: the length still takes two. */
	packet[3] = 0x22;
	packet[4] = 0x80;
	packet[5] = 0x01;
	packet[134] = 0x10;
	packet[135] = 0x01;
	CHECK_STR(run_bytes(&s, packet, 136), "32 82 00 10 01");
	/* Redundant tags, lengths and numbers of the input become short. */
	snprintf(expected, sizeof(expected), "32 05 10 01 2a 01 61");
	CHECK_STR(run(&s, "b2 80 00 89 80 80 00 90 00 81 00 aa 00 81 00 61"), expected);
	close_scene(&s);
}

ORMA_TEST(a_packet_may_be_nested_as_deep_as_the_limit)
{
	static uint8_t packet[16384], out[16384];
	struct orma_trace_slice slice;
	struct scene s;

	open_scene(&s);
	use_filter(&s, WORDS(N(1u, 1u), END, N(1u, 1u), F(2u), END), "");
	for (size_t depth = ORMA_SERVICE_FILTER_DEPTH_MAX - 1;
	     depth <= ORMA_SERVICE_FILTER_DEPTH_MAX; depth++) {
		size_t at = sizeof(packet), out_size = 0;
		int r;

		packet[--at] = 1;
		packet[--at] = 0x10;
		for (size_t level = 1; level <= depth; level++) {
			size_t size = sizeof(packet) - at;

			at -= orma_proto_varint_size(size);
			orma_proto_put_varint(&packet[at], size);
			packet[--at] = 0x0a;
		}
		slice = (struct orma_trace_slice){&packet[at], sizeof(packet) - at, true};
		r = orma_service_filter_packet(s.filter, &slice, 1, out, &out_size);
		if (depth < ORMA_SERVICE_FILTER_DEPTH_MAX) {
			CHECK_INT(r, 0);
			CHECK_MEM(out, out_size, &packet[at], sizeof(packet) - at);
		} else {
			CHECK_INT(r, -EBADMSG);
		}
	}
	close_scene(&s);
}

ORMA_TEST(malformed_packets_are_errors_wherever_the_fault_is)
{
	static const char *const cases[] = {
		"52 21 a0 a4",                /* a string longer than the packet */
		"08 2a 08 ff",                /* a varint that does not end */
		"08 2a 1a 04 25 00 00 00 01", /* a fixed field across the end of its message */
		"1a 02 08 ff 01",             /* a varint across it */
		"1a 01 08 01",                /* its value across it */
		"1a 03 2a 02 61 61",          /* a string across it */
		"1a 02 2a 81 01",             /* a length across it */
		"08",                         /* no value */
		"1a",                         /* no length */
		"25 00",                      /* half a value */
		"21 00 00 00 00",             /* the same */
		"0b",                         /* a group */
		"0c",                         /* its end */
		"0e 00",                      /* type 6 */
		"0f 00",                      /* type 7 */
		"00 00",                      /* field 0 */
		"02 00",                      /* the same */
		"08 ff ff ff ff ff ff ff ff ff ff 01", /* a number of eleven bytes */
		"88 80 80 80 80 80 80 80 80 80 00 01", /* a tag of eleven bytes */
		"88 80 80 80 10 01",                   /* a tag of more than 32 bits */
		"12 80 80 80 80 01",                   /* 2^28 bytes */
		"12 ff ff ff ff ff ff ff ff ff 01",    /* all that there are */
		"1a ff ff ff ff 0f",                   /* the same, a message */
		"2a 05 61",                            /* a field that is not allowed */
	};
	struct scene s;

	open_scene(&s);
	use_filter(&s, WORDS(N(1u, 1u), END, F(1u), F(2u), N(3u, 2u), END, F(4u), F(5u), END), "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
		if (strcmp(run(&s, cases[i]), "malformed") != 0)
			orma_test_fail(__FILE__, __LINE__, "%s gives %s", cases[i],
				       run(&s, cases[i]));
	/* One does not spoil the next. */
	CHECK_STR(run(&s, "08 2a 1a 05 25 00 00 00 01 38 42"), "08 2a 1a 05 25 00 00 00 01");
	close_scene(&s);
}

ORMA_TEST(the_root_is_the_packet_of_a_trace)
{
	struct scene s;

	open_scene(&s);
	CHECK_INT(try_filter(&s, WORDS(F(1u), END), ""), -EINVAL);
	CHECK_STR(s.error.message, "trace_filter.bytecode_v2: field 1 of message 0, Trace.packet, "
				   "is no message in it");
	CHECK_INT(try_filter(&s, NULL, 0, ""), -EINVAL);
	use_filter(&s, WORDS(N(1u, 0u), F(2u), END), "");
	CHECK_STR(run(&s, "10 01 0a 02 18 01"), "10 01 0a 00");
	close_scene(&s);
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Returns the filtered field 3 of a packet. */
static const char *redact(struct scene *s, const char *text)
{
	static uint8_t packet[2048], out[2048];
	struct orma_trace_slice slice = {packet, 0, true};
	size_t size = strlen(text), out_size;
	uint8_t *at = packet;

	*at++ = 0x1a;
	at = orma_proto_put_varint(at, size);
	CHECK(size < 1024);
	memcpy(at, text, size);
	slice.size = (size_t)(at - packet) + size;
	CHECK_INT(orma_service_filter_packet(s->filter, &slice, 1, out, &out_size), 0);
	CHECK_INT(out_size, slice.size);
	CHECK_MEM(out, (size_t)(at - packet), packet, (size_t)(at - packet));
	out[out_size] = '\0';
	return (const char *)&out[at - packet];
}

static void use_rules(struct scene *s, uint32_t semantic_type, const char *rules)
{
	use_filter(s, WORDS(N(1u, 1u), END, T(3u, semantic_type), END), rules);
}

#define RULE(policy, pattern, more)                                                                \
	"rules { policy: SFP_" policy " regex_pattern: '" pattern "' " more "} "
#define CHAIN(rules)   "string_filter_chain { " rules "} "
#define NEWER(rules)   "string_filter_chain_v54 { " rules "} "
#define STARTS(prefix) "atrace_payload_starts_with: '" prefix "' "

ORMA_TEST(the_first_rule_that_matches_decides)
{
	static const struct {
		const char *rules, *text, *result;
	} cases[] = {
		{RULE("MATCH_REDACT_GROUPS", "B\\\\|\\\\d+\\\\|foo (.*)", ""),
		 "B|1234|foo 1234 bar baz", "B|1234|foo P60REDACTED-"},
		{RULE("MATCH_REDACT_GROUPS", "B\\\\|\\\\d+\\\\|foo (.*)", ""), "B|1234|foo 1234",
		 "B|1234|foo P60R"},
		{RULE("MATCH_REDACT_GROUPS", "B\\\\|\\\\d+\\\\|foo (.*)", ""), "B|1234|fooo",
		 "B|1234|fooo"},
		{RULE("MATCH_REDACT_GROUPS", "B\\\\|\\\\d+\\\\|foo (.*)", ""), "", ""},
		{RULE("MATCH_REDACT_GROUPS", "(a+)-(b+)", ""), "aaaaaaaaaaaaaa-bb",
		 "P60REDACTED----P6"},
		{RULE("MATCH_REDACT_GROUPS", "(?:(x)|y)(z)", ""), "yz", "yP"},
		{RULE("MATCH_REDACT_GROUPS", "((a+)b)", ""), "aaab", "P60R"},
		{RULE("MATCH_REDACT_GROUPS", "abc", "") RULE("MATCH_REDACT_GROUPS", "(.*)", ""),
		 "abc", "abc"},
		{RULE("MATCH_BREAK", "B\\\\|\\\\d+", "")
			 RULE("MATCH_REDACT_GROUPS", "B\\\\|(\\\\d+)", ""),
		 "B|1234", "B|1234"},
		{RULE("MATCH_BREAK", "B", "") RULE("MATCH_REDACT_GROUPS", "B\\\\|(\\\\d+)", ""),
		 "B|1234", "B|P60R"},
		{RULE("ATRACE_MATCH_REDACT_GROUPS", "B\\\\|\\\\d+\\\\|foo (.*)", STARTS("foo"))
			 RULE("MATCH_REDACT_GROUPS", "B\\\\|\\\\d+\\\\|(.*)", ""),
		 "B|1234|foo", "B|1234|P60"},
	};
	struct scene s;

	open_scene(&s);
	if (!orma_tool_regex_ops)
		orma_test_skip("PCRE2");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		char config[1024];

		snprintf(config, sizeof(config), CHAIN("%s"), cases[i].rules);
		use_rules(&s, 0, config);
		CHECK_STR(redact(&s, cases[i].text), cases[i].result);
	}
	close_scene(&s);
}

ORMA_TEST(atrace_rules_look_at_the_payload_first)
{
#define ATRACE(pattern, start) RULE("ATRACE_MATCH_REDACT_GROUPS", pattern, STARTS(start))
#define FOO                    "B\\\\|\\\\d+\\\\|foo (.*)"
	static const struct {
		const char *rules, *text, *result;
	} cases[] = {
		{ATRACE(FOO, "foo"), "B|1234|foo 1234 bar baz", "B|1234|foo P60REDACTED-"},
		{ATRACE("B\\\\|\\\\d+\\\\|(.*)", ""), "B|1234|", "B|1234|"},
		{ATRACE(FOO, "foo 1234 bar baz"), "B|1234|foo 1234 bar baz",
		 "B|1234|foo P60REDACTED-"},
		{ATRACE(FOO, ""), "B|1234|foo 1234", "B|1234|foo P60R"},
		{ATRACE(FOO, "foo 1234 bar baz "), "B|1234|foo 1234 bar baz",
		 "B|1234|foo 1234 bar baz"},
		{ATRACE(FOO, "foo 2"), "B|1234|foo 1234 bar baz", "B|1234|foo 1234 bar baz"},
		{ATRACE("E\\\\|(\\\\d+)", ""), "E|1234", "E|1234"},
		{ATRACE("E\\\\|(\\\\d+\\\\|a)", ""), "E|1234|a", "E|1234|a"},
		{ATRACE("B\\\\|(\\\\d+)", ""), "B|1", "B|1"},
		{ATRACE("(.*)", ""), "B|", "B|"},
		{ATRACE("(.*)", ""), "B", "B"},
		{ATRACE("(.*)", ""), "x||", "P60"},
		{ATRACE(FOO, "foo") ATRACE("B\\\\|\\\\d+\\\\|(.*)", "bar")
			 ATRACE("B\\\\|\\\\d+\\\\|R(.*)", "R"),
		 "B|1|bar 1234567", "B|1|P60REDACTED"},
		{RULE("ATRACE_MATCH_BREAK", "B\\\\|\\\\d+\\\\|foo .*", STARTS("foo"))
			 ATRACE("B\\\\|(\\\\d+)\\\\|foo (.*)", "foo"),
		 "B|1234|foo 1234", "B|1234|foo 1234"},
		{RULE("ATRACE_MATCH_BREAK", "B\\\\|\\\\d+\\\\|foo .*", STARTS("fox"))
			 ATRACE("B\\\\|(\\\\d+)\\\\|foo (.*)", "foo"),
		 "B|1234|foo 1234", "B|P60R|foo P60R"},
	};
	struct scene s;

	open_scene(&s);
	if (!orma_tool_regex_ops)
		orma_test_skip("PCRE2");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		char config[1024];

		snprintf(config, sizeof(config), CHAIN("%s"), cases[i].rules);
		use_rules(&s, 0, config);
		CHECK_STR(redact(&s, cases[i].text), cases[i].result);
	}
	close_scene(&s);
}

ORMA_TEST(searches_redact_every_match)
{
#define SEARCH(pattern) RULE("ATRACE_REPEATED_SEARCH_REDACT_GROUPS", pattern, STARTS("foo"))
	static const struct {
		const char *rules, *text, *result;
	} cases[] = {
		{SEARCH("x:(\\\\d+)"), "B|1234|foo x:1234 x:494 y:4904 x:dfja x:239039",
		 "B|1234|foo x:P60R x:P60 y:4904 x:dfja x:P60RED"},
		{SEARCH("x:(\\\\d+)") SEARCH("y:(\\\\d+)"),
		 "B|1234|foo x:1234 x:494 y:4904 x:dfja x:239039",
		 "B|1234|foo x:P60R x:P60 y:4904 x:dfja x:P60RED"},
		{SEARCH("x:(\\\\d+)"), "B|1234|foo x:dfja", "B|1234|foo x:dfja"},
		{SEARCH("x:(\\\\d+)") SEARCH("x:(.*)"), "B|1234|foo x:dfja", "B|1234|foo x:P60R"},
		{SEARCH("x:(\\\\d+)|y:(\\\\d+)"), "B|1234|foo x:1234 x:494 y:4904 x:dfja x:239039",
		 "B|1234|foo x:P60R x:P60 y:P60R x:dfja x:P60RED"},
		{SEARCH("x:([^\\\\s-]*)"), "B|1234|foo x:1234 x:494 y:4904 x:dfja x:239039",
		 "B|1234|foo x:P60R x:P60 y:4904 x:P60R x:P60RED"},
		{SEARCH("x:(\\\\d+)"), "B|1234|fox x:1234", "B|1234|fox x:1234"},
		{SEARCH("x:(\\\\d+)"), "foo x:1234", "foo x:1234"},
		{SEARCH("(\\\\d*)"), "B|12|foo 34", "B|P6|foo P6"},
		{SEARCH("^(.)"), "B|12|foo 34", "P|12|foo 34"},
	};
	struct scene s;

	open_scene(&s);
	if (!orma_tool_regex_ops)
		orma_test_skip("PCRE2");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		char config[1024];

		snprintf(config, sizeof(config), CHAIN("%s"), cases[i].rules);
		use_rules(&s, 0, config);
		CHECK_STR(redact(&s, cases[i].text), cases[i].result);
	}
	close_scene(&s);
}

ORMA_TEST(rules_are_for_the_semantic_types_that_they_name)
{
	static const struct {
		uint32_t type;
		const char *types, *result;
	} cases[] = {
		{0, "", "P60R"},
		{1, "", "abcd"},
		{0, "semantic_type: SEMANTIC_TYPE_UNSPECIFIED", "P60R"},
		{1, "semantic_type: SEMANTIC_TYPE_UNSPECIFIED", "abcd"},
		{1, "semantic_type: SEMANTIC_TYPE_ATRACE", "P60R"},
		{0, "semantic_type: SEMANTIC_TYPE_ATRACE", "abcd"},
		{2, "semantic_type: SEMANTIC_TYPE_ATRACE", "abcd"},
		{2, "semantic_type: SEMANTIC_TYPE_ATRACE semantic_type: 2", "P60R"},
		{63, "semantic_type: 63", "P60R"},
		{64, "semantic_type: 63", "abcd"},
		{64, "semantic_type: 64", "P60R"},
		{127, "semantic_type: 127", "P60R"},
		{126, "semantic_type: 127", "abcd"},
		{128, "semantic_type: 1", "P60R"},
		{65535, "", "P60R"},
	};
	struct scene s;

	open_scene(&s);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		char config[512];

		snprintf(config, sizeof(config), CHAIN(RULE("MATCH_REDACT_GROUPS", "(.*)", "%s ")),
			 cases[i].types);
		use_rules(&s, cases[i].type, config);
		CHECK_STR(redact(&s, "abcd"), cases[i].result);
	}
	close_scene(&s);
}

ORMA_TEST(the_newer_chain_replaces_rules_by_name_and_adds_others)
{
	struct scene s;

	open_scene(&s);
	use_rules(&s, 0,
		  CHAIN(RULE("MATCH_REDACT_GROUPS", "a(.*)", "name: 'one' ")
				RULE("MATCH_REDACT_GROUPS", "b(.*)", ""))
			  NEWER(RULE("MATCH_REDACT_GROUPS", "c(.*)", "name: 'one' ")
					RULE("MATCH_REDACT_GROUPS", "d(.*)", "")
						RULE("MATCH_REDACT_GROUPS", "bb(.*)", "")));
	CHECK_STR(redact(&s, "abc"), "abc");
	CHECK_STR(redact(&s, "bbc"), "bP6");
	CHECK_STR(redact(&s, "cbc"), "cP6");
	CHECK_STR(redact(&s, "dbc"), "dP6");
	/* The same holds within a chain. */
	use_rules(&s, 0,
		  CHAIN(RULE("MATCH_REDACT_GROUPS", "(a.*)", "name: 'one' ")
				RULE("MATCH_BREAK", "a.*", "name: 'one' ")));
	CHECK_STR(redact(&s, "abc"), "abc");
	close_scene(&s);
}

ORMA_TEST(rules_that_make_no_sense_are_refused_by_name)
{
	static const struct {
		const char *rules, *error;
	} cases[] = {
		{CHAIN("rules { regex_pattern: 'a' }"),
		 "trace_filter.string_filter_chain.rules[0].policy: 0 is not a policy"},
		{CHAIN(RULE("MATCH_BREAK", "a", "")) NEWER("rules { policy: 6 }"),
		 "trace_filter.string_filter_chain_v54.rules[0].policy: 6 is not a policy"},
		{CHAIN(RULE("MATCH_BREAK", "a", "") "rules { policy: -1 }"),
		 "trace_filter.string_filter_chain.rules[1].policy: -1 is not a policy"},
		{CHAIN(RULE("MATCH_BREAK", "a", "semantic_type: 128 ")),
		 "trace_filter.string_filter_chain.rules[0].semantic_type: 128 is not a type"},
		{CHAIN(RULE("MATCH_BREAK", "a", "semantic_type: -1 ")),
		 "trace_filter.string_filter_chain.rules[0].semantic_type: -1 is not a type"},
	};
	struct scene s;

	open_scene(&s);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		CHECK_INT(try_filter(&s, WORDS(N(1u, 1u), END, END), cases[i].rules), -EINVAL);
		CHECK_STR(s.error.message, cases[i].error);
	}
	CHECK_INT(try_filter(&s, WORDS(N(1u, 1u), END, END),
			     CHAIN(RULE("MATCH_BREAK", "a", "") RULE("MATCH_BREAK", "(a", ""))),
		  -EINVAL);
	CHECK(strncmp(s.error.message,
		      "trace_filter.string_filter_chain.rules[1].regex_pattern: not a", 62) == 0);
	close_scene(&s);
}

ORMA_TEST(more_rules_than_the_maximum_are_refused)
{
	struct orma_buf rules = {0};
	struct scene s;

	open_scene(&s);
	CHECK_INT(orma_base_buf_append_str(&rules, "string_filter_chain { "), 0);
	for (size_t i = 0; i <= ORMA_SERVICE_FILTER_RULES_MAX; i++)
		CHECK_INT(orma_base_buf_append_str(&rules, RULE("MATCH_BREAK", "a", "")), 0);
	CHECK_INT(orma_base_buf_append_str(&rules, "}"), 0);
	CHECK_INT(try_filter(&s, WORDS(N(1u, 1u), END, END), orma_base_buf_cstr(&rules)), -EINVAL);
	CHECK_STR(s.error.message, "trace_filter.string_filter_chain: 257 rules are more than the "
				   "maximum of 256");
	orma_base_buf_done(&rules);
	close_scene(&s);
}

ORMA_TEST(where_an_expression_cannot_tell_the_whole_string_is_redacted)
{
#define EXPLODING "(a+)+b"
#define STRING    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabz"
#define HIDDEN    "P60REDACTED-----------------------------"
	struct scene s;

	open_scene(&s);
	if (!orma_tool_regex_ops)
		orma_test_skip("PCRE2");
	use_rules(&s, 0, CHAIN(RULE("MATCH_REDACT_GROUPS", EXPLODING, "")));
	CHECK_STR(redact(&s, STRING), HIDDEN);
	CHECK_STR(redact(&s, "aab"), "P6b");
	CHECK_STR(redact(&s, "xaab"), "xaab");
	/* One that would let it pass does not. */
	use_rules(
		&s, 0,
		CHAIN(RULE("MATCH_BREAK", EXPLODING, "") RULE("MATCH_REDACT_GROUPS", ".*(.)", "")));
	CHECK_STR(redact(&s, STRING), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabP");
	CHECK_STR(redact(&s, "aab"), "aab");
	use_rules(&s, 0, CHAIN(RULE("ATRACE_REPEATED_SEARCH_REDACT_GROUPS", "(?:a+)+(c)", "")));
	CHECK_STR(redact(&s, "B|1|" STRING "c"), HIDDEN "-----");
	close_scene(&s);
}

#define FIVE_STRINGS "1a 02 61 62 1a 02 61 62 1a 02 61 62 1a 02 61 62 1a 02 61 62"

ORMA_TEST(a_packet_whose_strings_take_too_long_is_given_up)
{
	struct scene s;

	open_scene(&s);
	use_rules(&s, 0, CHAIN(RULE("MATCH_REDACT_GROUPS", "a(.)", "")));
	/* One look each, and from the second on two; the third would be the fifth tick. */
	s.tick_ns = ORMA_SERVICE_FILTER_PACKET_NS * 2;
	CHECK_STR(run(&s, "1a 02 61 62 1a 02 61 62"), "1a 02 61 50 1a 02 61 50");
	CHECK_STR(run(&s, FIVE_STRINGS), "timeout");
	/* Strings that no rule is for cost nothing. */
	use_rules(&s, 1, CHAIN(RULE("MATCH_REDACT_GROUPS", "a(.)", "")));
	CHECK_STR(run(&s, FIVE_STRINGS), FIVE_STRINGS);
	close_scene(&s);
}

ORMA_TEST(time_in_which_the_thread_did_not_run_is_not_the_packet_s)
{
	struct scene s;

	open_scene(&s);
	use_rules(&s, 0, CHAIN(RULE("MATCH_REDACT_GROUPS", "a(.)", "")));
	s.tick_ns = ORMA_NS_PER_SEC;
	s.thread_stands_still = true;
	CHECK_STR(run(&s, FIVE_STRINGS),
		  "1a 02 61 50 1a 02 61 50 1a 02 61 50 1a 02 61 50 1a 02 61 50");
	close_scene(&s);
}

ORMA_TEST(every_allocation_of_a_filter_may_fail)
{
	struct orma_buf bytes = program(WORDS(N(1u, 1u), END, END));
	struct orma_pb_trace_config_trace_filter *config;
	const char *text = CHAIN(RULE("MATCH_REDACT_GROUPS", "a(.)", "name: 'a' ") RULE(
		"MATCH_BREAK", "b", "")) NEWER(RULE("MATCH_BREAK", "c", "name: 'a' "));
	struct scene s;
	void *message;
	int r = -ENOMEM;

	open_scene(&s);
	CHECK_INT(orma_proto_text_parse(&orma_pb_trace_config_trace_filter_desc, "rules", text,
					strlen(text), 0, &s.arena, &message, &s.error),
		  0);
	config = message;
	orma_pb_trace_config_trace_filter_set_bytecode(config, program_str(&bytes));
	for (uint64_t nth = 1; r == -ENOMEM; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_service_filter_new(s.world.service, config, &s.filter, &s.error);
		orma_test_fail_allocation(0);
	}
	CHECK_INT(r, 0);
	orma_base_buf_done(&bytes);
	close_scene(&s);
}
