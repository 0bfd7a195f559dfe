/* SPDX-License-Identifier: Apache-2.0
 * buf_test.c - growing, formatting and consuming buffers; parsing numbers (str.h).
 */
#include "base/buf.h"

#include "base/alloc.h"
#include "harness.h"

ORMA_TEST(a_buffer_keeps_everything_appended_across_many_growths)
{
	struct orma_buf buf = {0};
	for (int i = 0; i < 10000; i++) {
		uint8_t byte = (uint8_t)i;
		CHECK_INT(orma_base_buf_append(&buf, &byte, 1), 0);
	}
	CHECK_INT(buf.size, 10000);
	for (int i = 0; i < 10000; i++)
		CHECK_INT(buf.data[i], (uint8_t)i);
	orma_base_buf_done(&buf);
	CHECK(!buf.data && buf.capacity == 0);
}

ORMA_TEST(appending_nothing_to_an_empty_buffer_allocates_nothing)
{
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_buf_append(&buf, NULL, 0), 0);
	CHECK(!buf.data);
}

ORMA_TEST(printf_appends_and_the_nul_is_not_counted)
{
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_buf_append_str(&buf, "a="), 0);
	CHECK_INT(orma_base_buf_printf(&buf, "%d, %0*d", 1, 200, 7), 0);
	CHECK_INT(buf.size, 2 + 3 + 200);
	CHECK_INT(strlen(orma_base_buf_cstr(&buf)), buf.size);
	CHECK(strncmp(orma_base_buf_cstr(&buf), "a=1, 000", 8) == 0);
	orma_base_buf_done(&buf);
}

ORMA_TEST(cstr_of_an_empty_buffer_is_the_empty_string)
{
	struct orma_buf buf = {0};
	CHECK_STR(orma_base_buf_cstr(&buf), "");
	orma_base_buf_done(&buf);
}

ORMA_TEST(consume_keeps_the_rest_and_never_underflows)
{
	struct orma_buf buf = {0};
	orma_base_buf_consume(&buf, 5);
	CHECK_INT(orma_base_buf_append_str(&buf, "abcdef"), 0);
	orma_base_buf_consume(&buf, 4);
	CHECK_STR(orma_base_buf_cstr(&buf), "ef");
	orma_base_buf_consume(&buf, 100);
	CHECK_INT(buf.size, 0);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_buffer_that_cannot_grow_keeps_its_content)
{
	struct orma_buf buf = {0};
	CHECK_INT(orma_base_buf_append_str(&buf, "kept"), 0);
	CHECK_INT(orma_base_buf_reserve(&buf, SIZE_MAX), -ENOMEM);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_base_buf_printf(&buf, "%0*d", 1000, 1), -ENOMEM);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_base_buf_reserve(&buf, 1000), -ENOMEM);
	CHECK_STR(orma_base_buf_cstr(&buf), "kept");
	orma_base_buf_done(&buf);
	orma_test_fail_allocation(1);
	CHECK(!orma_base_buf_cstr(&buf));
}

ORMA_TEST(strings_compare_by_length_and_bytes)
{
	CHECK(orma_base_str_is(ORMA_STR("abc"), "abc"));
	CHECK(!orma_base_str_is(ORMA_STR("abc"), "ab"));
	CHECK(!orma_base_str_is(ORMA_STR("a\0c"), "a"));
	CHECK(orma_base_str_is_equal(orma_base_str(NULL), ORMA_STR("")));
	char *copy = orma_base_str_dup((struct orma_str){"abcdef", 3});
	CHECK_STR(copy, "abc");
	orma_base_free(copy);
	orma_test_fail_allocation(1);
	CHECK(!orma_base_str_dup(ORMA_STR("abc")));
}

ORMA_TEST(unsigned_numbers_parse_only_as_the_whole_string)
{
	uint64_t value = 7;
	CHECK_INT(orma_base_parse_u64("18446744073709551615", 10, &value), 0);
	CHECK(value == UINT64_MAX);
	CHECK_INT(orma_base_parse_u64("0x1f", 0, &value), 0);
	CHECK_INT(value, 31);
	CHECK_INT(orma_base_parse_u64("18446744073709551616", 10, &value), -ERANGE);
	static const char *const wrong[] = {"", " 1", "1 ", "+1", "-1", "x", "12a", "0x", "\n"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++)
		CHECK_INT(orma_base_parse_u64(wrong[i], 0, &value), -EINVAL);
	CHECK_INT(value, 31);
}
