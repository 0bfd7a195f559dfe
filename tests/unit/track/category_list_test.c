/* SPDX-License-Identifier: Apache-2.0
 * category_list_test.c - which categories a config enables.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "track/category_list.h"
#include "track/category_rule.h"
#include "track/instance_config.h"
#include "track/interned_name.h"
#include "track/lookup.h"
#include "unit/track/configure.h"

static bool is_enabled(const char *config_text, const char *name, const char *tags)
{
	struct orma_arena arena = {0};
	struct orma_pb_track_event_config *config;
	struct orma_error error;
	bool result;

	if (orma_proto_text_parse(&orma_pb_track_event_config_desc, "test", config_text,
				  strlen(config_text), 0, &arena, &config, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	result = orma_track_category_matches(config, orma_base_str(name), tags);
	orma_base_arena_done(&arena);
	return result;
}

ORMA_TEST(an_empty_config_enables_all_but_slow_and_debug)
{
	CHECK(is_enabled("", "a", NULL));
	CHECK(is_enabled("", "a", ""));
	CHECK(is_enabled("", "a", "x,y"));
	CHECK(!is_enabled("", "a", "slow"));
	CHECK(!is_enabled("", "a", "x,debug"));
	CHECK(is_enabled("", "a", "slower"));
}

ORMA_TEST(an_exact_name_wins_over_everything)
{
	CHECK(is_enabled("enabled_categories: 'a' disabled_categories: 'a'", "a", "slow"));
	CHECK(is_enabled("enabled_categories: 'a' disabled_tags: '*'", "a", "x"));
	CHECK(!is_enabled("disabled_categories: 'a' enabled_categories: '*'", "a", NULL));
	CHECK(!is_enabled("disabled_categories: 'a' enabled_tags: 'x'", "a", "x"));
}

ORMA_TEST(tags_are_judged_after_names_of_the_same_kind)
{
	CHECK(!is_enabled("disabled_tags: 'x' enabled_tags: 'x'", "a", "x"));
	CHECK(is_enabled("enabled_tags: 'x' disabled_categories: '*'", "a", "x"));
	CHECK(!is_enabled("enabled_tags: 'y' disabled_categories: '*'", "a", "x"));
	/* A config that names tags has no default tags. */
	CHECK(is_enabled("enabled_tags: 'y'", "a", "slow"));
	CHECK(is_enabled("disabled_tags: 'y'", "a", "slow"));
	CHECK(!is_enabled("disabled_tags: 'y*'", "a", "yy"));
}

ORMA_TEST(a_pattern_is_a_prefix_and_goes_before_the_lone_star)
{
	CHECK(is_enabled("enabled_categories: 'ab*' disabled_categories: '*'", "abc", NULL));
	CHECK(is_enabled("enabled_categories: 'ab*' disabled_categories: '*'", "ab", NULL));
	CHECK(!is_enabled("enabled_categories: 'ab*' disabled_categories: '*'", "a", NULL));
	CHECK(!is_enabled("disabled_categories: 'ab*' enabled_categories: '*'", "abc", NULL));
	CHECK(is_enabled("disabled_categories: 'ab*'", "b", NULL));
	CHECK(is_enabled("enabled_categories: '' disabled_categories: 'x'", "a", NULL));
	/* The default tags are exact names. */
	CHECK(!is_enabled("enabled_categories: '*'", "a", "slow"));
	CHECK(!is_enabled("enabled_categories: 'a*'", "ab", "slow"));
	CHECK(is_enabled("enabled_categories: 'ab'", "ab", "slow"));
}

/* The same facts as in upstream's test of this name. */
ORMA_TEST(configs_enable_what_they_enable_with_the_cpp_library)
{
	enum { TEST = 1, VERBOSE = 2, FOO = 4, BAR = 8, CAT = 16, CAT_VERBOSE = 32, SLOW = 64 };
	static const struct {
		const char *name, *tags;
	} categories[] = {
		{"test", "tag"},
		{"test.verbose", "tag,debug"},
		{"foo", NULL},
		{"bar", NULL},
		{"cat", "slow"},
		{"cat.verbose", "debug"},
		{"slow_category", "slow"},
	};
	static const struct {
		const char *config;
		unsigned enabled;
	} cases[] = {
		{"", TEST | FOO | BAR},
		{"disabled_categories: '*' enabled_categories: 'foo'", FOO},
		{"disabled_categories: '*' enabled_categories: 'foo' enabled_categories: 'bar'",
		 FOO | BAR},
		{"enabled_categories: '*'", TEST | FOO | BAR},
		{"disabled_categories: '*' enabled_categories: 'fo*'", FOO},
		{"disabled_categories: '*' enabled_tags: 'tag'", TEST | VERBOSE},
		{"disabled_categories: '*' enabled_tags: 'slow'", CAT | SLOW},
		{"enabled_categories: '*' enabled_tags: 'slow' enabled_tags: 'debug'", 127},
		{"enabled_categories: '*' disabled_categories: 'foo'", TEST | BAR},
		{"enabled_categories: '*' disabled_categories: 'fo*'", TEST | BAR},
		{"enabled_categories: 'slow_*' disabled_tags: 'slow'",
		 TEST | VERBOSE | FOO | BAR | CAT_VERBOSE},
		{"disabled_categories: 'slow_category' enabled_tags: 'slow' "
		 "disabled_categories: '*'",
		 CAT},
		{"enabled_tags: 'tag' disabled_tags: 'debug' disabled_categories: '*'", TEST},
		{"disabled_categories: '*' enabled_categories: 'cat*'", 0},
		{"disabled_categories: '*' enabled_categories: 'cat*' enabled_tags: 'none'",
		 CAT | CAT_VERBOSE},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		unsigned enabled = 0;

		for (unsigned j = 0; j < ORMA_ARRAY_SIZE(categories); j++)
			if (is_enabled(cases[i].config, categories[j].name, categories[j].tags))
				enabled |= 1u << j;
		if (enabled != cases[i].enabled)
			orma_test_fail(__FILE__, __LINE__, "%s: %u, not %u", cases[i].config,
				       enabled, cases[i].enabled);
	}
}

/* The rule has twelve steps. Each of the 4,096 sets of steps that match is tried: the first step of the set
 * decides. */
ORMA_TEST(of_all_that_match_the_first_step_decides)
{
	static const char *const steps[] = {
		"enabled_categories: 'alpha' ", "disabled_categories: 'alpha' ",
		"disabled_tags: 'one' ",        "enabled_tags: 'one' ",
		"enabled_categories: 'al*' ",   "disabled_categories: 'al*' ",
		"disabled_tags: 'on*' ",        "enabled_tags: 'on*' ",
		"enabled_categories: '*' ",     "disabled_categories: '*' ",
		"disabled_tags: '*' ",          "enabled_tags: '*' ",
	};

	for (unsigned set = 0; set < 1u << ORMA_ARRAY_SIZE(steps); set++) {
		/* Steps that do not match change nothing. */
		char config[1024] = "enabled_categories: 'alph' disabled_categories: 'alphab' "
				    "disabled_tags: 'on' enabled_tags: 'ones' "
				    "enabled_categories: 'b*' disabled_categories: 'alphas*' "
				    "disabled_tags: 'onex*' enabled_tags: 't*' "
				    "enabled_categories: '' disabled_tags: '' ";
		bool is_expected =
			set == 0 || __builtin_ctz(set) % 4 == 0 || __builtin_ctz(set) % 4 == 3;

		for (unsigned i = 0; i < ORMA_ARRAY_SIZE(steps); i++)
			if (set >> i & 1)
				strcat(config, steps[i]);
		if (is_enabled(config, "alpha", ",one,") != is_expected)
			orma_test_fail(__FILE__, __LINE__, "%s", config);
	}
}

ORMA_TEST(what_is_off_by_default_is_so_with_configs_that_name_no_tags)
{
	static const struct {
		const char *config;
		bool slow, debug, other;
	} cases[] = {
		{"", false, false, true},
		{"enabled_categories: 'alpha'", true, true, true},
		{"enabled_categories: 'al*'", false, false, true},
		{"enabled_categories: '*'", false, false, true},
		{"disabled_categories: '*'", false, false, false},
		{"disabled_tags: 'x'", true, true, true},
		{"disabled_tags: 'slow'", false, true, true},
		{"disabled_tags: 's*'", false, true, true},
		{"disabled_tags: '*'", false, false, false},
		{"enabled_tags: 'x'", true, true, true},
		{"enabled_tags: 'slow'", true, true, true},
		{"enabled_tags: 'slow' disabled_categories: '*'", true, false, false},
		{"enabled_tags: 'slow' disabled_tags: 'debug'", true, false, true},
		{"enabled_tags: 'd*' disabled_categories: '*'", false, true, false},
		{"enabled_tags: 'slow' disabled_tags: 'slow'", false, true, true},
		{"enabled_categories: '*' disabled_tags: 'slow'", false, true, true},
		{"enabled_categories: 'alpha' disabled_tags: 'slow'", true, true, true},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		if (is_enabled(cases[i].config, "alpha", "slow") != cases[i].slow ||
		    is_enabled(cases[i].config, "alpha", "a,debug") != cases[i].debug ||
		    is_enabled(cases[i].config, "alpha", "a") != cases[i].other)
			orma_test_fail(__FILE__, __LINE__, "%s", cases[i].config);
	}
}

ORMA_TEST(names_with_the_same_text_have_one_id)
{
	char text[] = "name", other[] = "other";
	uint32_t id = orma_track_name_intern("name");

	CHECK(id > 0);
	CHECK_INT(orma_track_name_intern(text), id);
	CHECK(orma_track_name_intern(other) != id);
	CHECK_STR(orma_track_name_get(id)->text, "name");
}

ORMA_TEST(names_beyond_the_limit_have_no_id)
{
	static char names[ORMA_TRACK_NAMES_MAX + 10][16];
	int with_id = 0;

	for (int i = 0; i < ORMA_TRACK_NAMES_MAX + 10; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		with_id += orma_track_name_intern(names[i]) != 0;
	}
	CHECK_INT(with_id, ORMA_TRACK_NAMES_MAX - 1);
	CHECK(orma_track_name_intern(names[0]) != 0);
}

ORMA_TEST(a_module_that_is_unloaded_takes_its_categories_along_and_leaves_its_names)
{
	struct orma_buf buf = {0};
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	struct orma_category *category = (void *)page;
	char *name = strcpy(page + sizeof(*category), "unloaded");
	category->name = name;
	orma_category_add(category);
	uint32_t id = orma_track_name_intern(name);
	CHECK(id != 0);
	orma_category_remove(category);
	orma_category_remove(category);
	CHECK_INT(munmap(page, 4096), 0);
	CHECK_INT(orma_track_categories_describe(&buf), 0);
	orma_track_categories_enable(0);
	orma_track_categories_disable(0);
	CHECK_STR(orma_track_name_get(id)->text, "unloaded");
	CHECK_INT(orma_track_name_intern("unloaded"), id);
	orma_base_buf_done(&buf);
}

/* In quadratic time a million categories would take hours, and the test would time out. */
ORMA_TEST(a_million_categories_come_and_go_in_any_order)
{
	enum { COUNT = 1000000 };
	struct orma_category *many = calloc(COUNT, sizeof(*many));
	char(*names)[16] = calloc(COUNT, sizeof(*names));
	struct orma_buf buf = {0};

	CHECK(many && names);
	orma_track_configure(0, NULL, 0);
	orma_track_categories_enable(0);
	for (int i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "c%d", i);
		many[i].name = names[i];
		orma_category_add(&many[i]);
		orma_category_add(&many[i]);
	}
	CHECK_INT(many[0].enabled, 1);
	CHECK_INT(many[COUNT - 1].enabled, 1);
	CHECK(many[510].id > 0 && many[510].id < ORMA_TRACK_CATEGORIES_MAX);
	CHECK_INT(many[COUNT - 1].id, ORMA_TRACK_CATEGORIES_MAX);
	CHECK_INT(orma_track_categories_describe(&buf), 0);
	CHECK(buf.size > 100000 && buf.size <= ORMA_TRACK_DESCRIPTION_BYTES);
	/* The first ones are not listed, but are enabled like the others. */
	CHECK(!memmem(buf.data, buf.size, "\n\2c0", 4));
	configure(1, "disabled_categories: '*' enabled_categories: 'c0' enabled_categories: 'c1*'");
	orma_track_categories_enable(1);
	CHECK_INT(many[0].enabled, 3);
	CHECK_INT(many[1].enabled, 3);
	CHECK_INT(many[2].enabled, 1);
	CHECK_INT(many[19].enabled, 3);
	CHECK_INT(many[COUNT - 1].enabled, 1);
	orma_track_categories_disable(1);
	orma_track_unconfigure(1);
	for (int i = 0; i < COUNT; i += 2)
		orma_category_remove(&many[i]);
	for (int i = COUNT - 1; i > 0; i -= 2)
		orma_category_remove(&many[i]);
	CHECK_INT(many[COUNT / 2].enabled, 0);
	buf.size = 0;
	CHECK_INT(orma_track_categories_describe(&buf), 0);
	CHECK(buf.size < 10);
	orma_track_categories_disable(0);
	orma_track_unconfigure(0);
	orma_base_buf_done(&buf);
	free(names);
	free(many);
}

static bool is_announced(const struct orma_buf *buf, const char *text)
{
	return memmem(buf->data, buf->size, text, strlen(text)) != NULL;
}

ORMA_TEST(names_and_tags_are_announced_before_descriptions)
{
	enum { SIZE = 60 * 1024 };
	static char essay[SIZE];
	struct orma_category categories[] = {
		{.name = "oldest", .description = "in a word", .tags = "old,first"},
		{.name = "essay one", .description = essay, .tags = "long"},
		{.name = "essay two", .description = essay},
		{.name = "essay three", .description = essay},
		{.name = "newest,oldest", .description = "a group"},
	};
	struct orma_buf buf = {0};

	memset(essay, 'e', SIZE - 1);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(categories); i++)
		orma_category_add(&categories[i]);
	CHECK_INT(orma_track_categories_describe(&buf), 0);
	CHECK(buf.size > 2 * SIZE && buf.size <= ORMA_TRACK_DESCRIPTION_BYTES);
	CHECK(is_announced(&buf, "oldest") && is_announced(&buf, "in a word"));
	CHECK(is_announced(&buf, "first") && is_announced(&buf, "long"));
	CHECK(is_announced(&buf, "essay one") && is_announced(&buf, "essay two"));
	CHECK(is_announced(&buf, "essay three"));
	CHECK(!is_announced(&buf, "newest") && !is_announced(&buf, "a group"));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(categories); i++)
		orma_category_remove(&categories[i]);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_library_that_is_loaded_again_has_the_ids_that_it_had)
{
	struct orma_category first = {.name = "again"}, second = {.name = "again"},
			     other = {.name = "other"};
	uint32_t id;

	orma_category_add(&first);
	id = first.id;
	CHECK(id > 0);
	orma_category_remove(&first);
	orma_category_add(&other);
	orma_category_add(&second);
	CHECK_INT(second.id, id);
	CHECK(other.id != id);
	orma_category_add(&first);
	CHECK_INT(first.id, id);
	orma_category_add(NULL);
	orma_category_remove(NULL);
	orma_category_add(&(struct orma_category){.name = NULL});
	orma_category_remove(&other);
	orma_category_remove(&second);
	orma_category_remove(&first);
}

ORMA_TEST(enormous_and_strange_names_are_categories_too)
{
	enum { SIZE = 1 << 20 };
	char *enormous = malloc(SIZE);
	struct orma_category big = {.tags = ",,a,,"}, empty = {.name = "", .tags = ""},
			     small = {.name = "small"};
	struct orma_buf buf = {0};

	memset(enormous, 'x', SIZE);
	enormous[SIZE - 1] = '\0';
	big.name = enormous;
	orma_category_add(&small);
	orma_category_add(&big);
	orma_category_add(&empty);
	CHECK_INT(big.id, ORMA_TRACK_CATEGORIES_MAX);
	/* The big one is not listed; the others are. */
	CHECK_INT(orma_track_categories_describe(&buf), 0);
	CHECK(buf.size < 1000);
	CHECK(memmem(buf.data, buf.size, "small", 5));
	CHECK(is_enabled("", enormous, enormous));
	CHECK(!is_enabled("disabled_tags: 'x*'", "a", enormous));
	orma_category_remove(&empty);
	orma_category_remove(&big);
	orma_category_remove(&small);
	orma_base_buf_done(&buf);
	free(enormous);
}

ORMA_TEST(categories_named_by_events_are_judged_once_per_sequence_and_name)
{
	static struct orma_track_sequence sequence;
	char name[16];

	configure(2, "disabled_categories: '*' enabled_categories: 'net*' enabled_tags: 'on'");
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, "net", NULL));
	memset(&sequence, 0, sizeof(sequence));
	orma_track_categories_enable(2);
	CHECK_INT(orma_category_dynamic.enabled, 4);
	CHECK(orma_track_named_category_is_wanted(&sequence, 2, "net", NULL));
	CHECK(orma_track_named_category_is_wanted(&sequence, 2, "net.dns", NULL));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, "disk", NULL));
	CHECK(orma_track_named_category_is_wanted(&sequence, 2, "disk", "off,on"));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, "disk", NULL));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, NULL, "on"));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, "", NULL));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "%s%d", i % 3 ? "disk" : "net", i);
			CHECK_INT(orma_track_named_category_is_wanted(&sequence, 2, name, NULL),
				  i % 3 == 0);
		}
	}
	orma_track_categories_disable(2);
	CHECK_INT(orma_category_dynamic.enabled, 0);
	orma_track_unconfigure(2);
}

ORMA_TEST(an_instance_without_a_config_that_can_be_read_enables_as_with_an_empty_one)
{
	/* The field track_event_config is cut short, of the wrong type, or damaged inside. */
	static const uint8_t damaged[][5] = {
		{0x8a, 0x07, 0x7f}, {0x88, 0x07, 0x01}, {0x8a, 0x07, 0x02, 0x0a, 0x7f}};
	struct orma_category category = {.name = "any"};

	orma_category_add(&category);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(damaged); i++) {
		orma_track_configure(1, damaged[i], i == 2 ? 5 : 3);
		orma_track_categories_enable(1);
		CHECK_INT(category.enabled, 2);
		CHECK_INT(orma_track_instances[1].unit_ns, 1);
		orma_track_categories_disable(1);
		orma_track_unconfigure(1);
	}
	orma_base_alloc_fail_nth(1);
	orma_track_configure(1, NULL, 0);
	orma_base_alloc_fail_nth(0);
	orma_track_categories_enable(1);
	CHECK_INT(category.enabled, 0);
	orma_track_categories_disable(1);
	orma_category_remove(&category);
}
