/* SPDX-License-Identifier: Apache-2.0
 * page_parse_test.c - every kind of record, on 32 and 64-bit kernels, and pages that are broken.
 */
#include "probes/ftrace/page_parse.h"

#include "ftrace_fixture.h"

static struct orma_ftrace_page_layout layout64 = {4096, 8, 0, 8, 16};
static struct orma_ftrace_page_layout layout32 = {4096, 4, 0, 8, 12};

static struct orma_ftrace_record records[1024];
static size_t record_count;
static struct orma_ftrace_page page;

/* Splits the only page, and frees it. Returns the status. */
static int split(struct test_pages *pages, const struct orma_ftrace_page_layout *layout)
{
	static uint8_t copy[4096];
	memcpy(copy, pages->bytes.data, sizeof(copy));
	orma_base_buf_done(&pages->bytes);
	pages->bytes = (struct orma_buf){0};
	record_count = 0;
	orma_ftrace_page_begin(layout, copy, &page);
	while (orma_ftrace_page_next(&page, &records[record_count]))
		record_count++;
	CHECK(!orma_ftrace_page_next(&page, &records[record_count]));
	return page.status;
}

static void put_small(struct test_pages *pages, uint32_t delta, uint16_t id)
{
	struct test_common event = {.type = id, .pid = 1};
	put_event(pages, delta, &event, sizeof(event));
}

ORMA_TEST(times_add_up_over_all_kinds_of_records)
{
	struct test_pages pages = {0};
	new_page(&pages, 1000);
	put_small(&pages, 5, 11);
	/* A discarded event: its time counts. */
	put_u32(&pages, DELTA(29, 7));
	put_u32(&pages, 12);
	put_u32(&pages, 0xdddddddd);
	put_u32(&pages, 0xdddddddd);
	put_small(&pages, 1, 12);
	/* An extension: 3 << 27, plus 9. */
	put_u32(&pages, DELTA(30, 9));
	put_u32(&pages, 3);
	put_small(&pages, 2, 13);
	/* An absolute time: 5 << 27, plus 100. */
	put_u32(&pages, DELTA(31, 100));
	put_u32(&pages, 5);
	put_small(&pages, 4, 14);
	/* A length of its own: 200 bytes. */
	uint8_t large[200] = {15};
	put_event(&pages, 6, large, sizeof(large));
	CHECK_INT(split(&pages, &layout64), ORMA_FTRACE_STATUS(OK));
	CHECK_INT(record_count, 5);
	static const struct {
		uint64_t timestamp;
		uint16_t id;
		uint32_t size;
	} expected[] = {
		{1005, 11, 8},
		{1013, 12, 8},
		{1013 + (3u << 27) + 9 + 2, 13, 8},
		{(5u << 27) + 104, 14, 8},
		{(5u << 27) + 110, 15, 200},
	};
	for (size_t i = 0; i < record_count; i++) {
		CHECK_INT(records[i].timestamp_ns, expected[i].timestamp);
		CHECK_INT(records[i].id, expected[i].id);
		CHECK_INT(records[i].size, expected[i].size);
	}
}

ORMA_TEST(an_absolute_time_keeps_the_high_bits_of_the_page)
{
	struct test_pages pages = {0};
	new_page(&pages, UINT64_C(0xf800000000001000));
	put_u32(&pages, DELTA(31, 100));
	put_u32(&pages, 5);
	put_small(&pages, 0, 14);
	CHECK_INT(split(&pages, &layout64), ORMA_FTRACE_STATUS(OK));
	CHECK(records[0].timestamp_ns == UINT64_C(0xf800000000000000) + (5u << 27) + 100);
}

ORMA_TEST(a_page_of_a_32_bit_kernel_has_a_shorter_header)
{
	struct test_pages pages = {.page_bytes = 4096, .commit_bytes = 4};
	new_page(&pages, 77);
	put_small(&pages, 3, 21);
	set_commit(&pages, UINT64_C(3) << 30);
	CHECK_INT(split(&pages, &layout32), ORMA_FTRACE_STATUS(OK));
	CHECK_INT(record_count, 1);
	CHECK_INT(records[0].timestamp_ns, 80);
	CHECK(page.has_lost_events);
}

ORMA_TEST(the_flag_of_lost_events_is_not_part_of_the_size)
{
	struct test_pages pages = {0};
	new_page(&pages, 77);
	put_small(&pages, 3, 21);
	set_commit(&pages, UINT64_C(3) << 30);
	CHECK_INT(split(&pages, &layout64), ORMA_FTRACE_STATUS(OK));
	CHECK(page.has_lost_events);
	CHECK_INT(record_count, 1);
	new_page(&pages, 77);
	put_small(&pages, 3, 21);
	set_commit(&pages, UINT64_C(1) << 30);
	CHECK_INT(split(&pages, &layout64), ORMA_FTRACE_STATUS(OK));
	CHECK(!page.has_lost_events);
}

/* ---- broken pages ---- */

/* A page with one good event, these words, and a size that ends `cut` bytes before their end. */
static int split_words(const uint32_t *words, size_t count, size_t cut)
{
	struct test_pages pages = {0};
	new_page(&pages, 50);
	put_small(&pages, 1, 9);
	for (size_t i = 0; i < count; i++)
		put_u32(&pages, words[i]);
	pages.used -= cut;
	set_commit(&pages, 0);
	return split(&pages, &layout64);
}

#define SPLIT(cut, ...)                                                                            \
	split_words((const uint32_t[]){__VA_ARGS__},                                               \
		    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), cut)

ORMA_TEST(broken_records_end_the_page_with_their_status)
{
	CHECK_INT(SPLIT(2, DELTA(2, 1)), ORMA_FTRACE_STATUS(ABI_SHORT_EVENT_HEADER));
	CHECK_INT(SPLIT(0, DELTA(29, 0), 4), ORMA_FTRACE_STATUS(ABI_NULL_PADDING));
	CHECK_INT(SPLIT(0, DELTA(29, 1)), ORMA_FTRACE_STATUS(ABI_SHORT_PADDING_LENGTH));
	CHECK_INT(SPLIT(0, DELTA(29, 1), 3), ORMA_FTRACE_STATUS(ABI_INVALID_PADDING_LENGTH));
	CHECK_INT(SPLIT(1, DELTA(30, 1), 3), ORMA_FTRACE_STATUS(ABI_SHORT_TIME_EXTEND));
	CHECK_INT(SPLIT(1, DELTA(31, 1), 3), ORMA_FTRACE_STATUS(ABI_SHORT_TIME_STAMP));
	CHECK_INT(SPLIT(1, DELTA(0, 1), 3), ORMA_FTRACE_STATUS(ABI_SHORT_DATA_LENGTH));
	CHECK_INT(SPLIT(0, 0, 0, 0), ORMA_FTRACE_STATUS(ABI_ZERO_DATA_LENGTH));
	CHECK_INT(SPLIT(0, DELTA(0, 1), 3), ORMA_FTRACE_STATUS(ABI_INVALID_DATA_LENGTH));
	CHECK_INT(SPLIT(0, DELTA(0, 1), 4), ORMA_FTRACE_STATUS(ABI_SHORT_EVENT_ID));
	CHECK_INT(SPLIT(0, DELTA(3, 1), 9, 9), ORMA_FTRACE_STATUS(ABI_END_OVERFLOW));
	CHECK_INT(SPLIT(0, DELTA(0, 1), UINT32_MAX, 9), ORMA_FTRACE_STATUS(ABI_END_OVERFLOW));
	/* The event before it stays. */
	CHECK_INT(record_count, 1);
	CHECK_INT(records[0].id, 9);
	/* Padding may reach past the end. */
	CHECK_INT(SPLIT(0, DELTA(29, 1), 4000000000), ORMA_FTRACE_STATUS(OK));
}

ORMA_TEST(a_header_without_data_or_with_too_much_is_invalid)
{
	struct test_pages pages = {0};
	new_page(&pages, 50);
	set_commit(&pages, 0);
	CHECK_INT(split(&pages, &layout64), ORMA_FTRACE_STATUS(ABI_INVALID_PAGE_HEADER));
	new_page(&pages, 50);
	put_small(&pages, 1, 9);
	pages.used = 4081;
	set_commit(&pages, 0);
	CHECK_INT(split(&pages, &layout64), ORMA_FTRACE_STATUS(ABI_INVALID_PAGE_HEADER));
	CHECK_INT(page.begin_ns, 50);
}
