/* SPDX-License-Identifier: Apache-2.0
 * view_test.c - the service's side: layouts, state changes, and words from a hostile producer.
 */
#include "harness.h"

#include "shm/view.h"

#define PAGES ((size_t)4)

static _Alignas(4096) uint8_t memory[PAGES * 32768];

static _Atomic uint32_t *word_of(const struct orma_shm_view *view, uint32_t page_idx)
{
	return &((struct orma_shm_page_header *)(void *)(view->start +
							 (size_t)page_idx * view->page_bytes))
			->word;
}

static struct orma_shm_view view_of(uint32_t page_bytes)
{
	struct orma_shm_view view;

	CHECK_INT(orma_shm_view_init(&view, memory, (size_t)PAGES * page_bytes, page_bytes), 0);
	return view;
}

static uint32_t word(uint32_t layout, uint32_t states)
{
	return layout << ORMA_SHM_LAYOUT_SHIFT | states;
}

ORMA_TEST(chunk_sizes_are_those_of_the_protocol)
{
	static const uint32_t sizes[][6] = {
		{0, 4088, 2044, 1020, 584, 292},
		{0, 8184, 4092, 2044, 1168, 584},
		{0, 16376, 8188, 4092, 2336, 1168},
		{0, 32760, 16380, 8188, 4680, 2340},
	};

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t layout = 0; layout < 6; layout++)
			CHECK_INT(orma_shm_layout_chunk_bytes(layout, 4096u << i),
				  sizes[i][layout]);
	CHECK_INT(orma_shm_layout_chunk_bytes(6, 4096), 0);
	CHECK_INT(orma_shm_layout_chunk_bytes(7, 4096), 0);
}

ORMA_TEST(sizes_that_no_service_accepts_are_refused)
{
	struct orma_shm_view view;

	CHECK_INT(orma_shm_view_init(&view, memory, 4096, 4096), 0);
	CHECK_INT(view.page_count, 1);
	CHECK_INT(orma_shm_view_init(&view, memory, 0, 4096), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory, 4095, 4096), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory, 4097, 4096), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory, 8192, 2048), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory, 12288, 12288), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory, 65536, 65536), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory, (size_t)64 << 20, 4096), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, memory + 4, 4096, 4096), -EINVAL);
	CHECK_INT(orma_shm_view_init(&view, NULL, 4096, 4096), -EINVAL);
}

ORMA_TEST(every_chunk_of_every_layout_is_read_and_freed)
{
	for (uint32_t page_bytes = 4096; page_bytes <= 32768; page_bytes *= 2) {
		struct orma_shm_view view = view_of(page_bytes);

		for (uint32_t layout = 1; layout <= 5; layout++) {
			uint32_t count = orma_shm_layout_chunk_count(layout);
			uint32_t bytes = orma_shm_layout_chunk_bytes(layout, page_bytes);
			uint32_t states = (uint32_t)((UINT64_C(1) << 2 * count) - 1);
			struct orma_shm_chunk chunk;

			*word_of(&view, 3) = word(layout, states);
			for (uint32_t i = 0; i < count; i++) {
				CHECK_INT(orma_shm_view_begin_read(&view, 3, i, &chunk), 0);
				CHECK(chunk.payload ==
				      memory + (size_t)3 * page_bytes + 8 + (size_t)i * bytes + 8);
				CHECK_INT(chunk.payload_bytes, bytes - 8);
				CHECK(chunk.payload + chunk.payload_bytes <=
				      memory + (size_t)4 * page_bytes);
				CHECK_INT(orma_shm_word_state(*word_of(&view, 3), i),
					  ORMA_SHM_BEING_READ);
				CHECK_INT(orma_shm_view_begin_read(&view, 3, i, &chunk), -EPROTO);
				CHECK_INT(orma_shm_view_end_read(&view, &chunk), 0);
				CHECK_INT(orma_shm_view_end_read(&view, &chunk), -EPROTO);
			}
			CHECK_INT(*word_of(&view, 3), 0);
		}
	}
}

ORMA_TEST(a_page_keeps_its_layout_until_its_last_chunk_is_free)
{
	struct orma_shm_view view = view_of(4096);
	struct orma_shm_chunk chunk;

	/* 0 Complete, 1 BeingWritten */
	*word_of(&view, 0) = word(ORMA_SHM_LAYOUT_4, 3 | 1 << 2);
	CHECK_INT(orma_shm_view_begin_read(&view, 0, 0, &chunk), 0);
	CHECK_INT(orma_shm_view_end_read(&view, &chunk), 0);
	CHECK_INT(*word_of(&view, 0), word(ORMA_SHM_LAYOUT_4, 1 << 2));
	*word_of(&view, 0) = word(ORMA_SHM_LAYOUT_4, 3 << 2);
	CHECK_INT(orma_shm_view_begin_read(&view, 0, 1, &chunk), 0);
	CHECK_INT(orma_shm_view_end_read(&view, &chunk), 0);
	CHECK_INT(*word_of(&view, 0), 0);
}

ORMA_TEST(only_complete_chunks_that_exist_are_read)
{
	struct orma_shm_view view = view_of(4096);
	struct orma_shm_chunk chunk;
	uint32_t before = word(ORMA_SHM_LAYOUT_4, 0 | 1 << 2 | 2 << 4 | 3 << 6);

	*word_of(&view, 1) = before;
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(orma_shm_view_begin_read(&view, 1, i, &chunk), -EPROTO);
	CHECK_INT(orma_shm_view_begin_read(&view, 1, 4, &chunk), -EPROTO);
	CHECK_INT(orma_shm_view_begin_read(&view, 1, 14, &chunk), -EPROTO);
	CHECK_INT(orma_shm_view_begin_read(&view, 1, 16, &chunk), -EPROTO);
	CHECK_INT(orma_shm_view_begin_read(&view, 1, UINT32_MAX, &chunk), -EPROTO);
	CHECK_INT(orma_shm_view_begin_read(&view, PAGES, 0, &chunk), -EPROTO);
	CHECK_INT(orma_shm_view_begin_read(&view, UINT32_MAX, 3, &chunk), -EPROTO);
	CHECK_INT(*word_of(&view, 1), before);
	CHECK_INT(orma_shm_view_begin_read(&view, 1, 3, &chunk), 0);
}

ORMA_TEST(layouts_without_chunks_have_none)
{
	struct orma_shm_view view = view_of(4096);
	struct orma_shm_view_position position = {0};
	struct orma_shm_chunk chunk;
	uint32_t layouts[PAGES] = {0, 6, 7, 8 | 6};

	for (uint32_t i = 0; i < PAGES; i++) {
		*word_of(&view, i) = word(layouts[i], ORMA_SHM_STATES_MASK);
		for (uint32_t j = 0; j < 15; j++)
			CHECK_INT(orma_shm_view_begin_read(&view, i, j, &chunk), -EPROTO);
	}
	CHECK(!orma_shm_view_next(&view, &position, &chunk));
}

ORMA_TEST(a_chunk_that_the_producer_took_away_while_read_is_left_alone)
{
	struct orma_shm_view view = view_of(4096);
	struct orma_shm_chunk chunk;
	uint32_t lies[] = {
		0,
		word(ORMA_SHM_LAYOUT_1, 2),       /* another layout */
		word(ORMA_SHM_LAYOUT_2, 1 << 2),  /* BeingWritten */
		word(ORMA_SHM_LAYOUT_2, 3 << 2),  /* Complete again */
		word(ORMA_SHM_LAYOUT_14, 2 << 2), /* same state, elsewhere */
		word(7, ORMA_SHM_STATES_MASK),
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		*word_of(&view, 2) = word(ORMA_SHM_LAYOUT_2, 3 << 2);
		CHECK_INT(orma_shm_view_begin_read(&view, 2, 1, &chunk), 0);
		*word_of(&view, 2) = lies[i];
		CHECK_INT(orma_shm_view_end_read(&view, &chunk), -EPROTO);
		CHECK_INT(*word_of(&view, 2), lies[i]);
	}
}

static void check_next(const struct orma_shm_view *view, struct orma_shm_view_position *position,
		       uint32_t page_idx, uint32_t chunk_idx, enum orma_shm_state state,
		       struct orma_shm_chunk *ret)
{
	CHECK(orma_shm_view_next(view, position, ret));
	CHECK_INT(ret->page_idx, page_idx);
	CHECK_INT(ret->chunk_idx, chunk_idx);
	CHECK_INT(ret->state, state);
}

ORMA_TEST(scraping_shows_written_and_complete_chunks_and_changes_nothing)
{
	struct orma_shm_view view = view_of(4096);
	struct orma_shm_view_position position = {0};
	struct orma_shm_chunk chunk;
	struct orma_shm_chunk_header *header;
	uint8_t copy[7] = {0}, before[PAGES * 4096];

	*word_of(&view, 0) = word(ORMA_SHM_LAYOUT_14, 1u | 2 << 2 | 3 << 4 | 1u << 26);
	*word_of(&view, 3) = word(ORMA_SHM_LAYOUT_1, 3);
	header = (struct orma_shm_chunk_header *)(void *)(memory + 8 + (size_t)13 * 292);
	header->chunk_id = 0x01020304;
	header->writer_id = 77;
	header->packets = 3 << 10 | 1022;
	memcpy(header + 1, "payload", 7);
	memcpy(before, memory, sizeof(before));

	check_next(&view, &position, 0, 0, ORMA_SHM_BEING_WRITTEN, &chunk);
	CHECK_INT(chunk.writer_id, 0);
	CHECK_INT(chunk.fragment_count, 0);
	check_next(&view, &position, 0, 2, ORMA_SHM_COMPLETE, &chunk);
	check_next(&view, &position, 0, 13, ORMA_SHM_BEING_WRITTEN, &chunk);
	CHECK_INT(chunk.chunk_id, 0x01020304);
	CHECK_INT(chunk.writer_id, 77);
	CHECK_INT(chunk.fragment_count, 1022);
	CHECK_INT(chunk.flags, 3);
	orma_shm_chunk_copy(&chunk, copy, 7);
	CHECK_MEM(copy, 7, "payload", 7);
	check_next(&view, &position, 3, 0, ORMA_SHM_COMPLETE, &chunk);
	CHECK(!orma_shm_view_next(&view, &position, &chunk));
	CHECK(!orma_shm_view_next(&view, &position, &chunk));
	CHECK(memcmp(before, memory, sizeof(before)) == 0);
}

ORMA_TEST(a_page_recut_between_two_scraped_chunks_yields_addresses_inside)
{
	struct orma_shm_view view = view_of(4096);
	struct orma_shm_view_position position = {0};
	struct orma_shm_chunk chunk;
	uint32_t noise = 1, steps = 0;

	for (uint32_t i = 0; i < PAGES; i++)
		*word_of(&view, i) = word(ORMA_SHM_LAYOUT_14, ORMA_SHM_STATES_MASK);
	while (orma_shm_view_next(&view, &position, &chunk)) {
		uint8_t copy[4096];

		CHECK(chunk.payload_bytes < 4096);
		CHECK(chunk.payload >= memory &&
		      chunk.payload + chunk.payload_bytes <= memory + PAGES * 4096);
		orma_shm_chunk_copy(&chunk, copy, chunk.payload_bytes);
		for (uint32_t i = 0; i < PAGES; i++)
			*word_of(&view, i) = noise = noise * 1664525 + 1013904223;
		CHECK(++steps <= PAGES * 14);
	}
}

ORMA_TEST(random_words_never_lead_outside)
{
	struct orma_shm_view view = view_of(4096);
	uint32_t noise = 7;

	for (int round = 0; round < 20000; round++) {
		struct orma_shm_chunk chunk;
		uint32_t page_idx = noise >> 28, chunk_idx = noise >> 20 & 31;

		*word_of(&view, noise >> 8 & 3) = noise;
		noise = noise * 1664525 + 1013904223;
		if (orma_shm_view_begin_read(&view, page_idx, chunk_idx, &chunk) == 0) {
			CHECK(chunk.payload >= memory + (size_t)page_idx * 4096 + 16);
			CHECK(chunk.payload + chunk.payload_bytes <=
			      memory + ((size_t)page_idx + 1) * 4096);
			if (noise >> 31)
				*word_of(&view, page_idx) = noise;
			orma_shm_view_end_read(&view, &chunk);
		}
	}
}
