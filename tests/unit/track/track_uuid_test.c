/* SPDX-License-Identifier: Apache-2.0
 * track_uuid_test.c - uuids of tracks, and the set of those that a sequence has described.
 */
#include <orma/track.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "harness.h"
#include "track/process_info.h"
#include "track/track_set.h"
#include "track/track_uuid.h"

#define PROCESS UINT64_C(0x1234567890abcdef)

static uint64_t hash(const char *text)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text));
}

ORMA_TEST(uuids_follow_the_rules_of_the_c_sdk)
{
	struct orma_track parent = {.name = "parent", .id = 3};
	struct orma_track child = {.name = "child", .id = 4, .parent = &parent};
	struct orma_track counter = {.kind = ORMA_TRACK_COUNTER, .name = "fps"};
	struct orma_track state = {.kind = ORMA_TRACK_STATE, .name = "mode", .parent = &child};
	struct orma_track global = {.name = "all", .root = ORMA_TRACK_OF_NOBODY};
	struct orma_track thread = {.name = "mine", .root = ORMA_TRACK_OF_THREAD};
	uint64_t tid = (uint64_t)gettid(), parent_uuid = PROCESS ^ hash("parent") ^ 3;

	orma_track_process.uuid = PROCESS;
	CHECK(orma_track_uuid(NULL) == (PROCESS ^ tid));
	CHECK(orma_track_uuid(&parent) == parent_uuid);
	CHECK(orma_track_uuid(&child) == (parent_uuid ^ hash("child") ^ 4));
	CHECK(orma_track_uuid(&counter) == (PROCESS ^ hash("fps") ^ UINT64_C(0xb1a4a67d7970839e)));
	CHECK(orma_track_uuid(&state) ==
	      (orma_track_uuid(&child) ^ hash("mode") ^ UINT64_C(0x9b6c5d2f1e3a47c8)));
	CHECK(orma_track_uuid(&global) == hash("all"));
	CHECK(orma_track_uuid(&thread) == (PROCESS ^ tid ^ hash("mine")));
	/* The C++ SDK mixes numbers of its own into the uuids of such tracks. */
	parent.id ^= ORMA_TRACK_ID_CPP_NAMED;
	CHECK(orma_track_uuid(&parent) == (parent_uuid ^ UINT64_C(0xcd571ec5ead37024)));
	state.id ^= ORMA_TRACK_ID_CPP_STATE;
	state.parent = NULL;
	CHECK(orma_track_uuid(&state) == (PROCESS ^ hash("mode") ^ UINT64_C(0x2e2398ec92e89138)));
}

ORMA_TEST(tracks_made_by_functions_are_those_made_by_hand)
{
	const struct orma_track named = {.name = "a"}, numbered = {.name = "a", .id = 5},
				counter = {.kind = ORMA_TRACK_COUNTER, .name = "a"},
				state = {.kind = ORMA_TRACK_STATE, .name = "a"},
				thread = {.kind = ORMA_TRACK_THREAD, .id = 77},
				process = {.kind = ORMA_TRACK_PROCESS},
				child = {.name = "a", .id = 5, .parent = &named};
	const struct orma_track made[] = {
		orma_track_named("a"),
		orma_track_numbered("a", 5),
		orma_track_counter("a"),
		orma_track_state("a"),
		orma_track_of_thread(77),
		orma_track_of_process(),
		orma_track_under(&named, orma_track_numbered("a", 5)),
	};
	const struct orma_track *const expected[] = {&named,  &numbered, &counter, &state,
						     &thread, &process,  &child};
	struct orma_track all;

	orma_track_process.uuid = PROCESS;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(made); i++) {
		CHECK(orma_track_uuid(&made[i]) == orma_track_uuid(expected[i]));
		CHECK_INT(made[i].kind, expected[i]->kind);
		CHECK(made[i].parent == expected[i]->parent);
	}
	all = orma_track_named(NULL);
	CHECK(!all.description && !all.fields && all.uuid == 0 && all.registered[0] == 0);
}

ORMA_TEST(threads_processes_and_the_root_of_the_trace_have_uuids_of_their_own)
{
	const struct orma_track thread = {.kind = ORMA_TRACK_THREAD},
				other = {.kind = ORMA_TRACK_THREAD, .id = 77},
				process = {.kind = ORMA_TRACK_PROCESS, .name = "ignored"},
				root = {.kind = ORMA_TRACK_GLOBAL},
				raw = {.uuid = 99, .name = "ignored", .parent = &thread},
				below = {.id = 1, .parent = &other};

	orma_track_process.uuid = PROCESS;
	CHECK(orma_track_uuid(&thread) == (PROCESS ^ (uint64_t)gettid()));
	CHECK(orma_track_uuid(&other) == (PROCESS ^ 77));
	CHECK(orma_track_uuid(&process) == PROCESS);
	CHECK(orma_track_uuid(&root) == 0);
	CHECK(orma_track_uuid(&raw) == 99);
	CHECK(orma_track_uuid(&below) == (PROCESS ^ 77 ^ 1));
}

ORMA_TEST(registered_tracks_have_the_same_uuids_also_in_another_process)
{
	struct orma_track parent = {.name = "parent", .root = ORMA_TRACK_OF_THREAD};
	struct orma_track child = {.name = "child", .parent = &parent};
	struct orma_track *copy;
	uint64_t uuid;

	orma_track_process.uuid = PROCESS;
	uuid = orma_track_uuid(&child);
	CHECK_INT(orma_track_register(&parent), 0);
	CHECK(orma_track_uuid(&child) == uuid);
	CHECK_INT(orma_track_register(&child), 0);
	CHECK_INT(orma_track_register(&child), 0);
	CHECK(orma_track_uuid(&child) == uuid);
	CHECK_INT(orma_track_new(&child, &copy), 0);
	CHECK(copy->name != child.name);
	CHECK(orma_track_uuid(copy) == uuid);
	orma_track_process.uuid = 1;
	CHECK(orma_track_uuid(copy) == (uuid ^ PROCESS ^ 1));
	CHECK(orma_track_uuid(&child) == orma_track_uuid(copy));
	orma_track_free(copy);
	orma_track_free(NULL);
	CHECK_INT(orma_track_register(NULL), -EINVAL);
	CHECK_INT(orma_track_new(NULL, &copy), -EINVAL);
	CHECK_INT(orma_track_new(&child, NULL), -EINVAL);
}

ORMA_TEST(a_track_among_its_own_parents_counts_as_one_without_any)
{
	struct orma_track first = {.name = "first"}, second = {.name = "second", .parent = &first};
	struct orma_track deep[ORMA_TRACK_PARENTS_MAX + 2] = {{.id = 1}}, *copy;

	orma_track_process.uuid = PROCESS;
	first.parent = &second;
	CHECK(orma_track_uuid(&first) == (PROCESS ^ hash("first")));
	CHECK(orma_track_uuid(&second) == (PROCESS ^ hash("second")));
	CHECK_INT(orma_track_register(&first), -EINVAL);
	CHECK_INT(orma_track_new(&first, &copy), -EINVAL);
	for (uint64_t i = 1; i < ORMA_ARRAY_SIZE(deep); i++)
		deep[i] = (struct orma_track){.id = UINT64_C(1) << i, .parent = &deep[i - 1]};
	CHECK(orma_track_uuid(&deep[16]) == (PROCESS ^ 0x1ffff));
	CHECK(orma_track_uuid(&deep[17]) == (PROCESS ^ 0x20000));
	CHECK_INT(orma_track_register(&deep[16]), 0);
	CHECK_INT(orma_track_register(&deep[17]), 0);
	CHECK(orma_track_uuid(&deep[17]) == (PROCESS ^ 0x3ffff));
}

ORMA_TEST(a_copy_without_memory_is_none)
{
	const struct orma_track model = {.name = "name",
					 .merge_key = "key",
					 .description = "description",
					 .unit_name = "unit",
					 .y_axis_share_key = "axis",
					 .categories = "a,b",
					 .fields = "x",
					 .fields_size = 1};
	struct orma_track *copy = NULL;
	uint64_t nth = 1;

	for (;; nth++) {
		orma_base_alloc_fail_nth(nth);
		if (orma_track_new(&model, &copy) == 0)
			break;
		CHECK(!copy);
	}
	orma_base_alloc_fail_nth(0);
	CHECK_INT(nth, 9);
	CHECK_STR(copy->categories, "a,b");
	CHECK(copy->fields != model.fields);
	orma_track_free(copy);
}

ORMA_TEST(a_set_of_tracks_grows_to_its_limit_and_forgets_nothing_before)
{
	struct orma_track_set set = {0};
	uint64_t count = 0;

	CHECK(!orma_track_set_find(&set, 0));
	CHECK(orma_track_set_add(&set, 0));
	CHECK(orma_track_set_find(&set, 0));
	orma_track_set_find(&set, 0)->last = 5;
	for (uint64_t i = 2; orma_track_set_add(&set, i << 32); i++) {
		orma_track_set_find(&set, i << 32)->last = i;
		count++;
	}
	CHECK_INT(count, (1 << ORMA_TRACK_SET_BITS_MAX) / 4 * 3 - 1);
	for (uint64_t i = 2; i < count + 2; i++)
		CHECK_INT(orma_track_set_find(&set, i << 32)->last, i);
	CHECK_INT(orma_track_set_find(&set, 0)->last, 5);
	CHECK(orma_track_set_add(&set, UINT64_C(2) << 32));
	CHECK(!orma_track_set_find(&set, 1234567));
	orma_track_set_done(&set);
	CHECK(!orma_track_set_find(&set, UINT64_C(2) << 32));
	orma_base_alloc_fail_nth(1);
	count = 0;
	for (uint64_t i = 2; orma_track_set_add(&set, i); i++)
		count++;
	CHECK_INT(count, (1 << ORMA_TRACK_SET_EMBEDDED_BITS) / 4 * 3);
	orma_base_alloc_fail_nth(0);
	orma_track_set_done(&set);
}
