/* SPDX-License-Identifier: Apache-2.0
 * pack_test.c - blocks of every shape come back as they were, whole and cell by cell, and are as small as they should be.
 */
#include "store/pack.h"

#include "base/macros.h"
#include "harness.h"

static int64_t cells[ORMA_BLOCK_ROWS];
static uint8_t bytes[ORMA_PACK_MAX_BYTES];

/* Compares packed cells with ranges whose ends are at and beside cells, and beyond all. */
static void check_matches(const struct orma_block *block, size_t count)
{
	_Alignas(uint64_t) uint8_t mask[ORMA_BLOCK_ROWS / 8];
	for (size_t n = 0; n < 8; n++) {
		int64_t low = cells[n * 31 % count], high = cells[(n * 57 + 1) % count];
		if (n == 1)
			low = INT64_MIN;
		if (n == 2)
			high = INT64_MAX;
		if (n == 3 && high < INT64_MAX)
			high++;
		if (n == 4)
			high = low;
		if (!orma_store_pack_match(block, count, low, high, mask)) {
			CHECK(block->width == 64);
			return;
		}
		for (size_t i = 0; i < count; i++)
			CHECK_INT(mask[i / 8] >> i % 8 & 1, cells[i] != ORMA_CELL_NULL &&
								    cells[i] >= low &&
								    cells[i] <= high);
	}
}

/* Adds all cells, none, and some, where packed cells can be added. */
static void check_sums(const struct orma_block *block, size_t count)
{
	uint8_t mask[ORMA_BLOCK_ROWS / 8];
	for (unsigned n = 0; n < 4; n++) {
		int64_t expected = 0, sum;
		uint64_t number = 0, added;
		bool fits = true;
		for (size_t i = 0; i < sizeof(mask); i++)
			mask[i] = (uint8_t)(n < 2 ? 0 - n : i * 37 + n * 101);
		for (size_t i = 0; i < count; i++) {
			if (!(mask[i / 8] >> i % 8 & 1) || cells[i] == ORMA_CELL_NULL)
				continue;
			fits = fits && !__builtin_add_overflow(expected, cells[i], &expected);
			number++;
		}
		if (!orma_store_pack_sum(block, count, mask, &sum, &added))
			continue;
		CHECK_INT(added, number);
		if (fits)
			CHECK_INT(sum, expected);
	}
}

/* Reads every third cell, and the last one. */
static void check_some(const struct orma_block *block, size_t count)
{
	static uint16_t places[ORMA_BLOCK_ROWS];
	static int64_t some[ORMA_BLOCK_ROWS];
	size_t place_count = 0;
	for (size_t i = count - 1; i < count; i -= 3)
		places[place_count++] = (uint16_t)i;
	orma_store_unpack_some(block, count, places, place_count, some);
	for (size_t i = 0; i < place_count; i++)
		CHECK_INT(some[i], cells[places[i]]);
}

/* Packs the cells, compares all ways of reading them with the originals, and returns the size. */
static size_t round_trip(size_t count, struct orma_block *ret)
{
	static int64_t back[ORMA_BLOCK_ROWS];
	size_t size = orma_store_pack(cells, count, ret, bytes);
	CHECK(size <= sizeof(bytes));
	/* The copy is exact, so that AddressSanitizer sees a read beyond it. */
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, bytes, size);
	ret->data = copy;
	orma_store_unpack(ret, count, back);
	for (size_t i = 0; i < count; i++) {
		CHECK_INT(back[i], cells[i]);
		CHECK_INT(orma_store_unpack_one(ret, count, i), cells[i]);
	}
	check_some(ret, count);
	check_matches(ret, count);
	check_sums(ret, count);
	free(copy);
	ret->data = NULL;
	return size;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state ^ *state >> 29;
}

ORMA_TEST(a_block_of_equal_cells_takes_no_bytes)
{
	struct orma_block block;
	for (int i = 0; i < ORMA_BLOCK_ROWS; i++)
		cells[i] = -17;
	CHECK_INT(round_trip(ORMA_BLOCK_ROWS, &block), 0);
	CHECK_INT(block.min, -17);
	CHECK_INT(block.max, -17);
	for (int i = 0; i < ORMA_BLOCK_ROWS; i++)
		cells[i] = ORMA_CELL_NULL;
	CHECK_INT(round_trip(ORMA_BLOCK_ROWS, &block), 0);
	CHECK(block.min > block.max);
}

ORMA_TEST(each_width_and_count_comes_back)
{
	static const size_t counts[] = {1, 2, 7, 63, 64, 65, 4095, ORMA_BLOCK_ROWS};
	uint64_t state = 1;
	for (unsigned width = 1; width <= 64; width++)
		for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++)
			for (int has_nulls = 0; has_nulls < 2; has_nulls++) {
				struct orma_block block;
				uint64_t base = next_random(&state);
				for (size_t i = 0; i < counts[n]; i++) {
					uint64_t code = next_random(&state) >> (64 - width);
					cells[i] = (int64_t)(base + code);
					if (has_nulls && next_random(&state) % 3 == 0)
						cells[i] = ORMA_CELL_NULL;
				}
				round_trip(counts[n], &block);
			}
}

ORMA_TEST(cells_at_the_limits_of_a_width_come_back)
{
	for (unsigned width = 1; width < 64; width++)
		for (uint64_t below = 0; below < 4; below++) {
			struct orma_block block;
			uint64_t top = (UINT64_C(1) << width) - 1;
			for (int i = 0; i < ORMA_BLOCK_ROWS; i++)
				cells[i] = (int64_t)(i % 2 == 0 ? 0
								: top - (top >= below ? below : 0));
			round_trip(ORMA_BLOCK_ROWS, &block);
			cells[0] = ORMA_CELL_NULL;
			size_t size = round_trip(ORMA_BLOCK_ROWS, &block);
			/* A NULL costs one bit a cell at most. */
			CHECK(size <= (size_t)ORMA_BLOCK_ROWS * (ORMA_MAX(width, 1u) + 1) / 8 +
					      16 ||
			      width > 55);
		}
}

ORMA_TEST(both_ends_of_the_integers_come_back)
{
	struct orma_block block;
	for (int i = 0; i < 100; i++)
		cells[i] = i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? INT64_MAX : ORMA_CELL_NULL;
	round_trip(100, &block);
	CHECK(block.min == INT64_MIN && block.max == INT64_MAX);
}

ORMA_TEST(a_few_large_cells_cost_only_themselves)
{
	struct orma_block block;
	uint64_t state = 7;
	for (int i = 0; i < ORMA_BLOCK_ROWS; i++)
		cells[i] = (int64_t)(next_random(&state) % 1000);
	size_t plain = round_trip(ORMA_BLOCK_ROWS, &block);
	CHECK_INT(block.width, 10);
	for (int i = 0; i < 20; i++)
		cells[next_random(&state) % ORMA_BLOCK_ROWS] = (int64_t)(next_random(&state) >> 8);
	size_t mixed = round_trip(ORMA_BLOCK_ROWS, &block);
	CHECK(block.exceptions > 15 && block.exceptions <= 20);
	CHECK(mixed <= plain + 20 * 10 + 16);
}

ORMA_TEST(timestamps_of_a_busy_trace_take_less_than_three_bytes)
{
	struct orma_block block;
	uint64_t state = 3;
	int64_t now = INT64_C(1700000000000000000);
	for (int i = 0; i < ORMA_BLOCK_ROWS; i++)
		cells[i] = now += (int64_t)(next_random(&state) % 1500);
	CHECK(round_trip(ORMA_BLOCK_ROWS, &block) < ORMA_BLOCK_ROWS * 3);
}
