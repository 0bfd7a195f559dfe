/* SPDX-License-Identifier: Apache-2.0
 * string_pool_test.c - equal strings have one id; texts are kept whole, whatever is in them.
 */
#include "store/string_pool.h"

#include "harness.h"

ORMA_TEST(equal_strings_have_one_id_in_the_order_of_first_use)
{
	struct orma_string_pool pool = {.text = {.fd = -1}, .seed = 99};
	char text[32];
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 100000; i++) {
			uint32_t id;
			int size = snprintf(text, sizeof(text), "name %u", i);
			CHECK_INT(orma_store_pool_add(&pool, (struct orma_str){text, (size_t)size},
						      &id),
				  0);
			CHECK_INT(id, i + 1);
		}
	CHECK_INT(pool.count, 100000);
	CHECK_INT(orma_store_pool_find(&pool, ORMA_STR("name 77")), 78);
	CHECK_INT(orma_store_pool_find(&pool, ORMA_STR("name 100000")), 0);
	orma_store_pool_done(&pool);
	CHECK_INT(orma_store_pool_find(&pool, ORMA_STR("name 77")), 0);
}

ORMA_TEST(a_text_may_be_empty_long_or_hold_any_byte)
{
	struct orma_string_pool pool = {.text = {.fd = -1}};
	static char big[3 << 20];
	memset(big, 'x', sizeof(big));
	const struct orma_str texts[] = {ORMA_STR(""),       {"a\0b", 3}, {"a\0c", 3}, {"a", 1},
					 {big, sizeof(big)}, {big, 255},  {big, 256},  {NULL, 0}};
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t id;
		CHECK_INT(orma_store_pool_add(&pool, texts[i], &id), 0);
		CHECK_INT(id, i == 7 ? 1 : i + 1);
		struct orma_str back = orma_store_pool_get(&pool, id);
		CHECK_MEM(back.data, back.size, texts[i].data, texts[i].size);
		CHECK_INT(back.data[back.size], 0);
	}
	orma_store_pool_done(&pool);
}

ORMA_TEST(each_allocation_of_the_pool_may_fail)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_string_pool pool = {.text = {.fd = -1}};
		char text[400] = {0};
		uint32_t id, added = 0;
		int r = 0;
		orma_test_fail_allocation(nth);
		for (int i = 0; i < 2000 && r == 0; i++) {
			memcpy(text, &i, sizeof(i));
			r = orma_store_pool_add(
				&pool, (struct orma_str){text, i % 2 == 0 ? 8 : sizeof(text)}, &id);
			added += r == 0;
		}
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		CHECK_INT(pool.count, added);
		orma_store_pool_done(&pool);
		if (!has_failed)
			break;
	}
}
