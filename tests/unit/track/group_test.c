/* SPDX-License-Identifier: Apache-2.0
 * group_test.c - categories that are groups of others: when they are enabled, and which categories their
 * events have.
 */
#include <orma/track.h>
#include <orma/track_event.h>
#include <string.h>

#include "base/alloc.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/category_list.h"
#include "track/lookup.h"
#include "unit/client/fixture.h"
#include "unit/track/configure.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");
ORMA_CATEGORY_DEFINE(upload, "gfx,net", "Textures on their way");
ORMA_CATEGORY_DEFINE(wide, "gfx,net,disk,cpu", "More than a site remembers");
ORMA_CATEGORY_DEFINE_TAGGED(heavy, "heavy", NULL, "slow");

#define CONFIG "buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }"

/* --- when they are enabled -------------------------------------------------------------------- */

static bool is_enabled_by(const char *config, struct orma_category *category)
{
	bool is_enabled;

	configure(3, config);
	orma_track_categories_enable(3);
	is_enabled = category->enabled >> 3 & 1;
	orma_track_categories_disable(3);
	orma_track_unconfigure(3);
	return is_enabled;
}

/* The same facts as in upstream's test of groups. */
ORMA_TEST(a_group_is_enabled_when_one_of_its_members_is)
{
	static struct orma_category foo = {.name = "foo"}, bar = {.name = "bar"};
	static struct orma_category groups[] = {
		{.name = "foo,bar"},
		{.name = "baz,bar,quux"},
		{.name = "red,green,blue,foo"},
		{.name = "red,green,blue,yellow"},
		{.name = ",,foo,"},
	};
	static const struct {
		const char *config;
		unsigned enabled;
	} cases[] = {
		{"", 31},
		{"disabled_categories: '*'", 0},
		{"disabled_categories: '*' enabled_categories: 'foo'", 1 | 4 | 16},
		{"disabled_categories: '*' enabled_categories: 'bar'", 1 | 2},
		{"disabled_categories: '*' enabled_categories: 'fo*'", 1 | 4 | 16},
		{"disabled_categories: '*' enabled_categories: 'yellow'", 8},
		{"disabled_categories: '*' enabled_categories: 'foo,bar'", 0},
		{"disabled_categories: 'foo'", 1 | 2 | 4 | 8},
		{"disabled_categories: 'foo' disabled_categories: 'bar'", 2 | 4 | 8},
		{"disabled_categories: 'foo,bar'", 31},
	};

	orma_category_add(&foo);
	orma_category_add(&bar);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(groups); i++)
		orma_category_add(&groups[i]);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		unsigned enabled = 0;

		for (unsigned j = 0; j < ORMA_ARRAY_SIZE(groups); j++)
			enabled |= (unsigned)is_enabled_by(cases[i].config, &groups[j]) << j;
		if (enabled != cases[i].enabled)
			orma_test_fail(__FILE__, __LINE__, "%s: %u, not %u", cases[i].config,
				       enabled, cases[i].enabled);
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(groups); i++)
		orma_category_remove(&groups[i]);
	orma_category_remove(&bar);
	orma_category_remove(&foo);
}

ORMA_TEST(members_are_judged_with_their_own_tags_and_others_with_the_groups)
{
	static struct orma_category slow = {.name = "snail", .tags = "slow"},
				    group = {.name = "snail,tortoise", .tags = "slow"},
				    plain = {.name = "snail,snail"};

	orma_category_add(&slow);
	orma_category_add(&group);
	orma_category_add(&plain);
	CHECK(!is_enabled_by("", &group));
	CHECK(!is_enabled_by("", &plain));
	CHECK(is_enabled_by("enabled_categories: 'tortoise'", &group));
	CHECK(is_enabled_by("enabled_tags: 'slow' disabled_categories: '*'", &plain));
	/* Its tags are unknown while the category is not in the program. */
	orma_category_remove(&slow);
	CHECK(is_enabled_by("", &plain));
	CHECK(!is_enabled_by("", &group));
	orma_category_remove(&plain);
	orma_category_remove(&group);
}

ORMA_TEST(tags_are_found_whoever_came_and_went_and_without_memory_too)
{
	static struct orma_category first = {.name = "twin", .tags = "slow"},
				    second = {.name = "twin", .tags = "slow"},
				    third = {.name = "poor", .tags = "debug"},
				    group = {.name = "twin,poor"};

	orma_category_add(&group);
	orma_category_add(&first);
	orma_category_add(&second);
	orma_base_alloc_fail_nth(1);
	orma_category_add(&third);
	orma_base_alloc_fail_nth(0);
	CHECK(!is_enabled_by("", &group));
	orma_category_remove(&second);
	CHECK(!is_enabled_by("", &group));
	CHECK(is_enabled_by("enabled_tags: 'debug' disabled_categories: '*'", &group));
	orma_category_remove(&first);
	CHECK(is_enabled_by("", &group));
	orma_category_remove(&third);
	orma_category_remove(&group);
}

/* --- categories of events -------------------------------------------------------------------- */

/* The names of the event's categories, in order, joined. */
static const char *categories_of(const struct orma_pb_track_event *event, const char *const *names)
{
	static char text[256];

	text[0] = '\0';
	for (size_t i = 0; i < event->category_iids.count; i++) {
		strcat(text, names[event->category_iids.items[i]]);
		strcat(text, " ");
	}
	for (size_t i = 0; i < event->categories.count; i++) {
		strncat(text, event->categories.items[i].data, event->categories.items[i].size);
		strcat(text, ". ");
	}
	return text;
}

ORMA_TEST(events_of_a_group_name_its_members_on_the_slow_path_and_the_fast_one)
{
	const char *names[ORMA_TRACK_CATEGORIES_MAX] = {0};
	size_t events = 0;
	static const char *const expected[] = {"gfx net ", "gfx net disk cpu ", "gfx ", "gfx net ",
					       "gfx. new. "};
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	session = session_start(CONFIG);
	for (int i = 0; i < 4; i++) {
		ORMA_INSTANT(upload, "plain");
		ORMA_INSTANT(wide, "wide", "i", i);
		ORMA_INSTANT(gfx, "one");
		ORMA_INSTANT(upload, "with an argument", "i", i);
		ORMA_INSTANT(dynamic, "dynamic", ORMA_CATEGORY("gfx,new"));
	}
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];
		const struct orma_pb_interned_data *data = packet->interned_data;

		for (size_t j = 0; data && j < data->event_categories.count; j++)
			names[data->event_categories.items[j]->iid] = orma_base_arena_strdup(
				&packets.arena, data->event_categories.items[j]->name);
		if (packet->track_event)
			CHECK_STR(categories_of(packet->track_event, names),
				  expected[events++ % ORMA_ARRAY_SIZE(expected)]);
	}
	CHECK_INT(events, 20);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(events_of_a_group_of_strangers_are_wanted_by_their_names)
{
	static struct orma_track_sequence sequence;

	configure(2, "disabled_categories: '*' enabled_categories: 'net'");
	orma_track_categories_enable(2);
	CHECK(orma_track_named_category_is_wanted(&sequence, 2, "a,net", NULL));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, "a,b", NULL));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, ",", NULL));
	orma_track_categories_disable(2);
	configure(2, "");
	orma_track_categories_enable(2);
	memset(&sequence, 0, sizeof(sequence));
	CHECK(orma_track_named_category_is_wanted(&sequence, 2, "heavy,light", NULL));
	CHECK(!orma_track_named_category_is_wanted(&sequence, 2, "heavy,light", "debug"));
	orma_track_categories_disable(2);
	orma_track_unconfigure(2);
}
