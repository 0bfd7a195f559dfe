/* SPDX-License-Identifier: Apache-2.0
 * regex_test.c - expressions on the POSIX engine and, where it is built in, the daemon's PCRE2.
 */
#include "service/filter/regex.h"

#include "fixture.h"
#include "service/service_core.h"
#include "tool/daemon/regex_pcre2.h"

static void open_with(struct world *world, const struct orma_regex_ops *ops)
{
	struct orma_service_options options = {.struct_size = sizeof(options), .regex_ops = ops};

	memset(world, 0, sizeof(*world));
	CHECK_INT(orma_service_new(&options, &world->service), 0);
}

static const struct orma_regex_ops *engine(size_t i)
{
	return i == 0 ? &orma_service_regex_ops_posix : orma_tool_regex_ops;
}

static size_t engine_count(void)
{
	return orma_tool_regex_ops ? 2 : 1;
}

/* "begin-end" of the match and its groups; "" = no match, "?" = cannot tell. */
static const char *find(struct world *world, const char *pattern, bool is_whole,
			struct orma_str text, size_t offset)
{
	struct orma_regex_group groups[ORMA_SERVICE_REGEX_GROUPS_MAX + 1];
	static char found[ORMA_ERROR_MESSAGE_BYTES];
	struct orma_service_regex regex;
	struct orma_error error;
	int r = orma_service_regex_compile(world->service, orma_base_str(pattern), is_whole, &regex,
					   &error);

	if (r < 0) {
		snprintf(found, sizeof(found), "%s", error.message);
		return found;
	}
	r = orma_service_regex_match(&regex, text, offset, 100000, groups, ORMA_ARRAY_SIZE(groups));
	found[0] = '\0';
	for (size_t i = 0; r > 0 && i <= regex.group_count; i++)
		snprintf(found + strlen(found), sizeof(found) - strlen(found),
			 groups[i].begin == SIZE_MAX ? "%sx" : "%s%zu-%zu", i ? " " : "",
			 groups[i].begin, groups[i].end);
	for (size_t i = regex.group_count + 1; r > 0 && i < ORMA_ARRAY_SIZE(groups); i++)
		CHECK(groups[i].begin == SIZE_MAX);
	orma_service_regex_done(&regex);
	return r < 0 ? "?" : found;
}

ORMA_TEST(whole_matches_and_searches_say_where_groups_are)
{
	static const struct {
		const char *pattern, *text;
		bool is_whole;
		size_t offset;
		const char *found;
	} cases[] = {
		{"abc", "abc", true, 0, "0-3"},
		{"ab", "abc", true, 0, ""},
		{"bc", "abc", true, 0, ""},
		{"a|abc", "abc", true, 0, "0-3"},
		{"(a)|(b)", "b", true, 0, "0-1 x 0-1"},
		{"a(.*)c([0-9]+)", "axxc12", true, 0, "0-6 1-3 4-6"},
		{"((a)b)c", "abc", true, 0, "0-3 0-2 0-1"},
		{"", "", true, 0, "0-0"},
		{"", "a", true, 0, ""},
		{"abc", "abc\n", true, 0, ""},
		{"a$", "a\n", true, 0, ""},
		{"b", "abc", false, 0, "1-2"},
		{"b", "abcb", false, 2, "3-4"},
		{"b", "abc", false, 2, ""},
		{"^b", "abc", false, 1, ""},
		{"x*", "abc", false, 3, "3-3"},
		{"foo=([0-9]+)", "a foo=12;foo=3", false, 8, "9-14 13-14"},
	};

	for (size_t e = 0; e < engine_count(); e++) {
		struct world world;

		open_with(&world, engine(e));
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
			CHECK_STR(find(&world, cases[i].pattern, cases[i].is_whole,
				       orma_base_str(cases[i].text), cases[i].offset),
				  cases[i].found);
		world_close(&world);
	}
}

ORMA_TEST(a_text_is_bytes_and_not_utf)
{
	for (size_t e = 0; e < engine_count(); e++) {
		struct world world;

		open_with(&world, engine(e));
		CHECK_STR(find(&world, "a(.*)b", true, ORMA_STR("a\xff\xc0:b"), 0), "0-5 1-4");
		world_close(&world);
	}
}

ORMA_TEST(a_text_with_a_nul_is_for_pcre2_only)
{
	struct world world;

	open_with(&world, NULL);
	CHECK_STR(find(&world, "a", true, ORMA_STR("a\0b"), 0), "?");
	world_close(&world);
	if (!orma_tool_regex_ops)
		return; /* a build without it */
	open_with(&world, orma_tool_regex_ops);
	CHECK_STR(find(&world, "a(.*)b", true, ORMA_STR("a\0\0b"), 0), "0-4 1-3");
	CHECK_STR(find(&world, "a", true, ORMA_STR("a\0b"), 0), "");
	CHECK_STR(find(&world, "b", false, ORMA_STR("a\0b"), 0), "2-3");
	world_close(&world);
}

ORMA_TEST(the_posix_engine_refuses_what_perl_like_ones_understand_otherwise)
{
	static const struct {
		const char *pattern, *error;
	} cases[] = {
		{"\\d+", "\"\\d\" is not supported here"},
		{"a\\b", "\"\\b\" is not supported here"},
		{"(a)\\1", "\"\\1\" is not supported here"},
		{"(?:a)", "groups that begin with \"(?\" are not supported here"},
		{"a*?b", "repeats of repeats are not supported here"},
		{"a{2}{3}", "repeats of repeats are not supported here"},
		{"[\\]]", "escapes in brackets are not supported here"},
		{"[[:alpha:", "escapes in brackets are not supported here"},
		{"a)|(b", "a \")\" too many"},
		{"(a", "not a POSIX expression"},
		{"[a", "not a POSIX expression"},
		{"a{1001}", "repeats too often"},
		{"(a{40}){40}", "repeats too often"},
		{"a\\", "not a POSIX expression"},
	};
	struct world world;

	open_with(&world, NULL);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
		CHECK_STR(find(&world, cases[i].pattern, true, ORMA_STR("a"), 0), cases[i].error);
	CHECK_STR(find(&world, "[]a-][^]b][[:digit:]]\\.\\{{2}", true, ORMA_STR("]x1.{{"), 0),
		  "0-6");
	world_close(&world);
}

ORMA_TEST(expressions_that_are_too_large_are_refused)
{
	char pattern[ORMA_SERVICE_REGEX_BYTES_MAX + 2], expected[64];
	struct world world;

	for (size_t e = 0; e < engine_count(); e++) {
		open_with(&world, engine(e));
		memset(pattern, 'a', sizeof(pattern));
		pattern[sizeof(pattern) - 1] = '\0';
		CHECK_STR(find(&world, pattern, true, ORMA_STR("a"), 0), "longer than 4096 bytes");
		for (size_t i = 0; i <= ORMA_SERVICE_REGEX_GROUPS_MAX; i++)
			memcpy(&pattern[3 * i], "(a)", 4);
		snprintf(expected, sizeof(expected), "more than %u capturing groups",
			 ORMA_SERVICE_REGEX_GROUPS_MAX);
		CHECK_STR(find(&world, pattern, true, ORMA_STR("a"), 0), expected);
		world_close(&world);
	}
	open_with(&world, NULL);
	memset(pattern, 'a', ORMA_SERVICE_REGEX_POSIX_BYTES_MAX + 1);
	pattern[ORMA_SERVICE_REGEX_POSIX_BYTES_MAX + 1] = '\0';
	CHECK_STR(find(&world, pattern, true, ORMA_STR("a"), 0), "longer than 512 bytes");
	world_close(&world);
}

ORMA_TEST(a_pattern_with_a_nul_is_no_posix_expression)
{
	struct orma_service_regex regex;
	struct orma_error error;
	struct world world;

	open_with(&world, NULL);
	CHECK_INT(orma_service_regex_compile(world.service, (struct orma_str){"a\0b", 3}, true,
					     &regex, &error),
		  -EINVAL);
	CHECK_STR(error.message, "holds a NUL");
	world_close(&world);
}

ORMA_TEST(a_text_that_is_too_long_is_neither_matched_nor_not)
{
	size_t size = 64u << 10;
	char *text = orma_base_zalloc(size);

	for (size_t e = 0; e < engine_count(); e++) {
		struct world world;

		open_with(&world, engine(e));
		CHECK_STR(find(&world, "a", false, (struct orma_str){text, size}, 0), "?");
		world_close(&world);
	}
	orma_base_free(text);
}

ORMA_TEST(pcre2_speaks_the_language_of_perfetto_s_configs)
{
	struct world world;

	if (!orma_tool_regex_ops)
		return; /* a build without it */
	open_with(&world, orma_tool_regex_ops);
	CHECK_STR(find(&world, "(?:B\\|\\d+\\|)(.*?)\\s+(\\w+)", true, ORMA_STR("B|12|ab  cd"), 0),
		  "0-11 5-7 9-11");
	CHECK_STR(find(&world, "(*UTF)a", true, ORMA_STR("a"), 0),
		  "not an expression: using UTF is disabled by the application at byte 6");
	CHECK_STR(find(&world, "(a", true, ORMA_STR("a"), 0),
		  "not an expression: missing closing parenthesis at byte 2");
	world_close(&world);
}

ORMA_TEST(an_expression_that_explodes_gives_up)
{
	static const char *const patterns[] = {
		"(a+)+b", "(a|a)*b", "(a|aa)*c", "(?:.*){20}x", "(\\w*)*(\\w*)*\\d", "((a*)*)*b",
	};
	static const char tail[] = {'b', 'c', 'x', '1', 'b', 'z'};
	char text[2000];
	struct world world;

	if (!orma_tool_regex_ops)
		return; /* a build without it */
	open_with(&world, orma_tool_regex_ops);
	memset(text, 'a', sizeof(text));
	/* PCRE2 notices when a letter that is needed is missing. */
	memcpy(&text[sizeof(text) - sizeof(tail)], tail, sizeof(tail));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(patterns); i++) {
		CHECK_STR(find(&world, patterns[i], true, (struct orma_str){text, sizeof(text)}, 0),
			  "?");
	}
	world_close(&world);
}

ORMA_TEST(a_producer_s_name_that_cannot_be_judged_does_not_match)
{
	struct orma_service_regex regex;
	struct orma_error error;
	struct world world;

	if (!orma_tool_regex_ops)
		return; /* a build without it */
	open_with(&world, orma_tool_regex_ops);
	CHECK_INT(orma_service_regex_compile(world.service, ORMA_STR("(a+)+b?"), true, &regex,
					     &error),
		  0);
	CHECK(orma_service_regex_matches_name(&regex, "aaaa", 2000));
	CHECK(!orma_service_regex_matches_name(&regex, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabz",
					       2000));
	orma_service_regex_done(&regex);
	orma_service_regex_done(&regex);
	world_close(&world);
}

ORMA_TEST(every_allocation_of_an_expression_may_fail)
{
	for (size_t e = 0; e < engine_count(); e++) {
		struct world world;
		int r = -ENOMEM;

		open_with(&world, engine(e));
		for (uint64_t nth = 1; r == -ENOMEM; nth++) {
			struct orma_service_regex regex;
			struct orma_error error;

			orma_test_fail_allocation(nth);
			r = orma_service_regex_compile(world.service, ORMA_STR("a(b|c)*d"), true,
						       &regex, &error);
			orma_test_fail_allocation(0);
			if (r >= 0)
				orma_service_regex_done(&regex);
			else
				CHECK_STR(error.message, "cannot be compiled");
		}
		CHECK_INT(r, 0);
		world_close(&world);
	}
}

ORMA_TEST(a_service_wants_whole_ops)
{
	struct orma_regex_ops ops = {.struct_size = 8};
	struct orma_service_options options = {.struct_size = sizeof(options), .regex_ops = &ops};
	struct orma_service *service;

	CHECK_INT(orma_service_new(&options, &service), -EINVAL);
}
