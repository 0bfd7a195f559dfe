/* SPDX-License-Identifier: Apache-2.0
 * category_test.c - which categories a config enables.
 */
#include <sys/mman.h>

#include "harness.h"
#include "proto/codec.h"
#include "track/track.h"

static bool is_enabled(const char *config_text, const char *name, const char *tags)
{
	struct orma_arena arena = {0};
	struct orma_pb_track_event_config *config;
	struct orma_error error;
	bool result;

	if (orma_proto_text_parse(&orma_pb_track_event_config_desc, "test", config_text,
				  strlen(config_text), 0, &arena, &config, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	result = orma_track_category_matches(config, name, tags);
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
	/* Naming tags takes the default away. */
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
	CHECK_INT(orma_track_describe(&buf), 0);
	orma_track_enable(0);
	orma_track_disable(0);
	CHECK_STR(orma_track_name_get(id)->text, "unloaded");
	CHECK_INT(orma_track_name_intern("unloaded"), id);
	orma_base_buf_done(&buf);
}
