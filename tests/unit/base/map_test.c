/* SPDX-License-Identifier: Apache-2.0
 * map_test.c - the map compared with an array, removals from clusters, lists.
 */
#include "base/map.h"

#include "base/list.h"
#include "harness.h"

ORMA_TEST(an_empty_map_has_nothing_in_it)
{
	struct orma_map map = {0};
	size_t position = 0;
	CHECK(!orma_base_map_get(&map, 0));
	CHECK(!orma_base_map_remove(&map, 0));
	CHECK(!orma_base_map_next(&map, &position));
	CHECK_INT(orma_base_map_put(&map, 1, NULL), -EINVAL);
	orma_base_map_done(&map);
}

ORMA_TEST(a_map_agrees_with_an_array_through_many_puts_and_removals)
{
	enum { KEYS = 257 };
	static uint32_t storage[KEYS];
	void *model[KEYS] = {0};
	struct orma_map map = {0};
	uint32_t random = 12345;
	for (int step = 0; step < 20000; step++) {
		random = random * 1664525 + 1013904223;
		uint32_t key = (random >> 8) % KEYS;
		if (random >> 31) {
			void *value = &storage[(random >> 3) % KEYS];
			CHECK_INT(orma_base_map_put(&map, key * UINT64_C(0x100000001), value), 0);
			model[key] = value;
		} else {
			CHECK(orma_base_map_remove(&map, key * UINT64_C(0x100000001)) ==
			      model[key]);
			model[key] = NULL;
		}
		random = random * 1664525 + 1013904223;
		key = (random >> 8) % KEYS;
		CHECK(orma_base_map_get(&map, key * UINT64_C(0x100000001)) == model[key]);
	}
	size_t present = 0, seen = 0;
	for (int key = 0; key < KEYS; key++)
		present += model[key] != NULL;
	for (size_t position = 0; orma_base_map_next(&map, &position);)
		seen++;
	CHECK_INT(seen, present);
	CHECK_INT(map.count, present);
	orma_base_map_done(&map);
}

/* The keys in the order of their slots, as text. */
static void order_of(uint64_t seed, char text[64])
{
	struct orma_map map = {.seed = seed};
	size_t size = 0;
	int value;

	for (int round = 0; round < 2; round++) {
		for (uint64_t key = 0; key < 9; key++)
			CHECK_INT(orma_base_map_put(&map, key, &value), 0);
		for (uint64_t key = 0; key < 9; key++)
			CHECK(orma_base_map_get(&map, key) == &value);
		for (size_t position = 0; round == 1;) {
			struct orma_map_slot *slot = orma_base_map_next(&map, &position);

			if (!slot)
				break;
			text[size++] = (char)('0' + slot->key);
		}
		orma_base_map_done(&map);
	}
	text[size] = '\0';
}

ORMA_TEST(where_a_key_lies_depends_on_the_seed)
{
	char plain[64], same[64], other[64];

	order_of(0, plain);
	order_of(0, same);
	order_of(UINT64_C(0x123456789abcdef), other);
	CHECK_STR(same, plain);
	CHECK_INT(strlen(other), strlen(plain));
	CHECK(strcmp(other, plain) != 0);
}

ORMA_TEST(putting_an_existing_key_replaces_without_memory)
{
	int a, b;
	struct orma_map map = {0};
	for (uint64_t key = 0; key < 6; key++)
		CHECK_INT(orma_base_map_put(&map, key, &a), 0);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_base_map_put(&map, 3, &b), 0);
	CHECK_INT(orma_base_map_put(&map, 6, &b), -ENOMEM);
	CHECK_INT(map.count, 6);
	CHECK(orma_base_map_get(&map, 3) == &b);
	CHECK(!orma_base_map_get(&map, 6));
	orma_base_map_done(&map);
}

ORMA_TEST(fnv1a_gives_the_published_values_and_can_be_continued)
{
	CHECK(orma_base_fnv1a(ORMA_FNV1A_INIT, "", 0) == ORMA_FNV1A_INIT);
	CHECK(orma_base_fnv1a(ORMA_FNV1A_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(orma_base_fnv1a(orma_base_fnv1a(ORMA_FNV1A_INIT, "foo", 3), "bar", 3) ==
	      UINT64_C(0x85944171f73967e8));
}

struct numbered {
	int number;
	struct orma_list link;
};

ORMA_TEST(a_list_keeps_order_and_survives_double_removal)
{
	struct orma_list head;
	struct numbered items[4], *item, *next;
	orma_base_list_init(&head);
	CHECK(orma_base_list_is_empty(&head));
	for (int i = 0; i < 4; i++) {
		items[i].number = i;
		orma_base_list_append(&head, &items[i].link);
	}
	int sum = 0;
	ORMA_LIST_FOR_EACH (item, &head, link)
		sum = sum * 10 + item->number;
	CHECK_INT(sum, 123);
	ORMA_LIST_FOR_EACH_SAFE (item, next, &head, link)
		if (item->number % 2)
			orma_base_list_remove(&item->link);
	orma_base_list_remove(&items[1].link);
	CHECK(head.next == &items[0].link && head.prev == &items[2].link);
	CHECK(items[0].link.next == &items[2].link);
}

ORMA_TEST(words_with_one_bit_changed_or_in_another_order_have_other_hashes)
{
	struct orma_map map = {0};
	uint64_t words[3] = {0};
	size_t count = 0;

	for (size_t word = 0; word < 3; word++)
		for (unsigned bit = 0; bit < 64; bit++) {
			words[word] ^= UINT64_C(1) << bit;
			CHECK(orma_base_map_put(&map, orma_base_hash_words(words, 3), &map) == 0);
			words[word] ^= UINT64_C(1) << bit;
			count++;
		}
	for (size_t size = 0; size <= 3; size++, count++)
		CHECK(orma_base_map_put(&map, orma_base_hash_words(words, size), &map) == 0);
	CHECK(map.count == count);
	orma_base_map_done(&map);
	CHECK(orma_base_hash_words((const uint64_t[]){1, 2}, 2) !=
	      orma_base_hash_words((const uint64_t[]){2, 1}, 2));
}
