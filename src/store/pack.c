/* SPDX-License-Identifier: Apache-2.0
 * pack.c - frame of reference: a cell is stored as its distance from the least one, in a fixed number of bits.
 *
 * A block is the codes, `width` bits each, little-endian; then, if there are exceptions, their values of eight bytes
 * and their positions of two, both in the order of positions. An exception is a cell that needs more bits than most:
 * its code is the largest one. The second largest is NULL. The width is the one with the smallest sum of both.
 * Invariant: eight bytes from the first byte of any code can be read, so a code of up to 56 bits is one load, a shift
 * and a mask. Wider blocks take 64 bits a cell, which loses little, because such values are rare and random.
 *
 * Rejected: deltas between neighbours, which take a third fewer bits for timestamps but have to be summed from the
 * start of the block for a single row; SQL's joins read single rows. Also rejected: a bitmap of NULLs beside the codes,
 * which costs a second load for each cell although most blocks have no NULL.
 */
#include "store/pack.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "store/wide_codes.h"

enum {
	EXCEPTION_BITS = 80, /* value and position */
	WIDTH_MAX = 56, /* one load of eight bytes reads such a code at any bit of its first byte */
	RESERVED_CODES = 2,
	SAMPLE_STEP = 8,
};

static unsigned bits_of(uint64_t value)
{
	return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/* Cells below this distance have a code of their own. */
static uint64_t limit_of(unsigned width, bool has_escapes)
{
	if (width == 64)
		return UINT64_MAX;
	return (UINT64_C(1) << width) - (has_escapes ? RESERVED_CODES : 0);
}

static bool find_range(const int64_t *cells, size_t count, struct orma_block *ret)
{
	int64_t min = INT64_MAX, max = INT64_MIN;
	size_t nulls = 0;
	for (size_t i = 0; i < count; i++) {
		min = cells[i] < min ? cells[i] : min;
		max = cells[i] > max ? cells[i] : max;
	}
	/* A NULL is nearly the least integer, so most blocks without one are known by now. */
	if (min <= ORMA_CELL_NULL) {
		min = INT64_MAX;
		max = INT64_MIN;
		for (size_t i = 0; i < count; i++) {
			bool is_null = cells[i] == ORMA_CELL_NULL;
			nulls += is_null;
			min = !is_null && cells[i] < min ? cells[i] : min;
			max = !is_null && cells[i] > max ? cells[i] : max;
		}
	}
	ret->min = min;
	ret->max = max;
	return nulls > 0;
}

/* Returns how many cells need each number of bits, as distances from the least. */
static void count_widths(const int64_t *cells, size_t count, size_t step, int64_t min,
			 uint32_t counts[65])
{
	/* Four tables, because neighbours often have one width, and adding to one number twice is slow. Width 65 is NULL's. */
	uint16_t parts[4][66] = {{0}};
	for (size_t i = 0; i < count; i += step) {
		unsigned bits = bits_of((uint64_t)cells[i] - (uint64_t)min);
		parts[i / step % 4][cells[i] == ORMA_CELL_NULL ? 65 : bits]++;
	}
	for (size_t i = 0; i < 65; i++)
		counts[i] = (uint32_t)parts[0][i] + parts[1][i] + parts[2][i] + parts[3][i];
}

static size_t count_exceptions(const int64_t *cells, size_t count, int64_t min, uint64_t limit)
{
	size_t exceptions = 0;
	for (size_t i = 0; i < count; i++)
		exceptions +=
			cells[i] != ORMA_CELL_NULL && (uint64_t)cells[i] - (uint64_t)min >= limit;
	return exceptions;
}

/* Returns the width with the smallest block for these numbers of cells, `all` in total; `whole` needs no exceptions. */
static unsigned find_best(const uint32_t counts[65], uint64_t all, unsigned whole,
			  uint64_t *retbits)
{
	uint64_t best_bits = all * whole;
	unsigned best = whole;
	uint32_t above = 0;
	for (unsigned width = 63; width >= 2; width--) {
		above += counts[width + 1];
		uint64_t bits = all * width + (uint64_t)above * EXCEPTION_BITS;
		if (width <= WIDTH_MAX && width < whole && bits < best_bits) {
			best_bits = bits;
			best = width;
		}
	}
	*retbits = best_bits;
	return best;
}

/*
 * Returns the width with the smallest block. Most blocks have no use for exceptions, which an eighth of the cells shows. The two
 * reserved codes make exceptions of cells that the width would hold otherwise; if those are many, because cells lie close
 * to a power of two, one bit more is cheaper.
 */
static unsigned choose_width(const int64_t *cells, size_t count, const struct orma_block *block,
			     bool has_nulls)
{
	uint64_t range = (uint64_t)block->max - (uint64_t)block->min, best_bits;
	unsigned whole = bits_of(
		has_nulls && range <= UINT64_MAX - RESERVED_CODES ? range + RESERVED_CODES : range);
	if (whole > WIDTH_MAX)
		whole = 64;
	if (whole <= 2)
		return has_nulls ? 2 : whole;
	uint32_t counts[65];
	count_widths(cells, count, SAMPLE_STEP, block->min, counts);
	if (find_best(counts, (count + SAMPLE_STEP - 1) / SAMPLE_STEP, whole, &best_bits) == whole)
		return whole;
	count_widths(cells, count, 1, block->min, counts);
	unsigned best = find_best(counts, count, whole, &best_bits);
	if (best < whole) {
		size_t exceptions =
			count_exceptions(cells, count, block->min, limit_of(best, true));
		if (exceptions * EXCEPTION_BITS + (uint64_t)count * best > best_bits + count)
			best = best < WIDTH_MAX ? best + 1 : whole;
	}
	return best;
}

static size_t code_bytes(size_t count, unsigned width)
{
	return (count * width + 7) / 8;
}

/* Most columns of most traces have one value in a block, so this is looked at first. */
static bool is_uniform(const int64_t *cells, size_t count)
{
	uint64_t differences = 0;
	for (size_t i = 0; i < count && differences == 0;) {
		size_t end = ORMA_MIN(count, i + 64);
		for (; i < end; i++)
			differences |= (uint64_t)cells[i] ^ (uint64_t)cells[0];
	}
	return differences == 0;
}

/* Codes one behind the other; they become bytes a word at a time. */
struct code_writer {
	uint8_t *at;
	uint64_t word;
	unsigned bits, width;
};

static inline void put_code(struct code_writer *writer, uint64_t code)
{
	_Static_assert(WIDTH_MAX < 64, "a code that begins in a word leaves a part of it free");
	writer->word |= code << writer->bits;
	writer->bits += writer->width;
	if (writer->bits >= 64) {
		memcpy(writer->at, &writer->word, 8);
		writer->at += 8;
		writer->bits -= 64;
		writer->word = code >> (writer->width - writer->bits);
	}
}

/* Writes what is left, with zeros behind it: unpacking reads whole words. */
static void end_codes(const struct code_writer *writer)
{
	memset(writer->at, 0, 16);
	memcpy(writer->at, &writer->word, 8);
}

static void put_codes(const int64_t *cells, size_t count, const struct orma_block *block,
		      uint8_t *out)
{
	struct code_writer writer = {.at = out, .width = block->width};
	for (size_t i = 0; i < count; i++)
		put_code(&writer, (uint64_t)cells[i] - (uint64_t)block->min);
	end_codes(&writer);
}

/* The same with the codes `limit` for NULL and `limit` + 1 for exceptions, whose places it lists. Returns their number. */
static size_t put_escaped(const int64_t *cells, size_t count, const struct orma_block *block,
			  uint64_t limit, uint8_t *out, uint16_t places[ORMA_BLOCK_ROWS])
{
	struct code_writer writer = {.at = out, .width = block->width};
	size_t exceptions = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t code = (uint64_t)cells[i] - (uint64_t)block->min;
		bool is_null = cells[i] == ORMA_CELL_NULL, is_exception = !is_null && code >= limit;
		places[exceptions] = (uint16_t)i;
		exceptions += is_exception;
		put_code(&writer, is_null || is_exception ? limit + is_exception : code);
	}
	end_codes(&writer);
	return exceptions;
}

size_t orma_store_pack(const int64_t *cells, size_t count, struct orma_block *ret, uint8_t *out)
{
	ORMA_ASSERT(count <= ORMA_BLOCK_ROWS);
	if (is_uniform(cells, count)) {
		bool is_null = count == 0 || cells[0] == ORMA_CELL_NULL;
		*ret = (struct orma_block){.min = is_null ? INT64_MAX : cells[0],
					   .max = is_null ? INT64_MIN : cells[0],
					   .flags = is_null ? ORMA_BLOCK_IS_NULL : 0};
		return 0;
	}
	*ret = (struct orma_block){0};
	bool has_nulls = find_range(cells, count, ret);
	unsigned width = choose_width(cells, count, ret, has_nulls);
	uint64_t range = (uint64_t)ret->max - (uint64_t)ret->min;
	ret->width = (uint8_t)width;
	if (width == 64) {
		memcpy(out, cells, count * sizeof(*cells));
		return count * sizeof(*cells);
	}
	bool has_escapes = has_nulls || range >= limit_of(width, false);
	uint64_t limit = limit_of(width, has_escapes);
	ret->flags = has_escapes ? ORMA_BLOCK_HAS_ESCAPES : 0;

	uint16_t places[ORMA_BLOCK_ROWS];
	size_t size = code_bytes(count, width), exceptions = 0;
	if (has_escapes)
		exceptions = put_escaped(cells, count, ret, limit, out, places);
	else
		put_codes(cells, count, ret, out);
	for (size_t i = 0; i < exceptions; i++, size += 8)
		memcpy(out + size, &cells[places[i]], 8);
	memcpy(out + size, places, exceptions * sizeof(*places));
	size += exceptions * sizeof(*places);
	ret->exceptions = (uint16_t)exceptions;
	return size + 8;
}

size_t orma_store_packed_bytes(const struct orma_block *block, size_t count)
{
	if (block->width == 0 || block->width == 64)
		return count * block->width / 8;
	return code_bytes(count, block->width) + (size_t)block->exceptions * (EXCEPTION_BITS / 8) +
	       8;
}

bool orma_store_pack_width_is_valid(const struct orma_block *block)
{
	return block->width <= WIDTH_MAX || block->width == 64;
}

static int64_t exception_at(const struct orma_block *block, size_t count, size_t n)
{
	int64_t value;
	memcpy(&value, block->data + code_bytes(count, block->width) + n * 8, sizeof(value));
	return value;
}

static size_t exception_place(const struct orma_block *block, size_t count, size_t n)
{
	uint16_t place;
	memcpy(&place,
	       block->data + code_bytes(count, block->width) + block->exceptions * (size_t)8 +
		       n * 2,
	       sizeof(place));
	/* A block of a file may say anything. */
	return place % ORMA_BLOCK_ROWS;
}

static uint64_t code_at(const struct orma_block *block, size_t idx)
{
	uint64_t word;
	memcpy(&word, block->data + (idx * block->width >> 3), sizeof(word));
	return word >> (idx * block->width & 7) & ((UINT64_C(1) << block->width) - 1);
}

/* The cells but for exceptions, whose places get any values. */
static void unpack_codes(const struct orma_block *block, size_t count, int64_t *ret)
{
	uint64_t limit = limit_of(block->width, true);
	bool has_escapes = block->flags & ORMA_BLOCK_HAS_ESCAPES;
	for (size_t i = orma_store_wide_unpack(block, count, ret); i < count; i++) {
		uint64_t code = code_at(block, i);
		ret[i] = has_escapes && code == limit ? ORMA_CELL_NULL
						      : (int64_t)((uint64_t)block->min + code);
	}
}

static void fill(int64_t *cells, size_t count, int64_t cell)
{
	for (size_t i = 0; i < count; i++)
		cells[i] = cell;
}

static int64_t only_value(const struct orma_block *block)
{
	return block->flags & ORMA_BLOCK_IS_NULL ? ORMA_CELL_NULL : block->min;
}

static bool is_array(const struct orma_block *block)
{
	return block->flags & ORMA_BLOCK_IS_RAW || block->width == 64;
}

void orma_store_unpack(const struct orma_block *block, size_t count, int64_t *ret)
{
	ORMA_ASSERT(count <= ORMA_BLOCK_ROWS);
	if (is_array(block)) {
		memcpy(ret, block->data, count * sizeof(*ret));
		return;
	}
	if (block->width == 0) {
		fill(ret, count, only_value(block));
		return;
	}
	unpack_codes(block, count, ret);
	for (size_t i = 0; i < block->exceptions; i++)
		ret[exception_place(block, count, i)] = exception_at(block, count, i);
}

/* Sets the bits of the codes in [low, high], which are no escapes. */
static void match_codes(const struct orma_block *block, size_t count, uint64_t low, uint64_t high,
			uint8_t *mask)
{
	size_t done = 0;
	if (high <= UINT32_MAX)
		done = orma_store_wide_match(block, count, (uint32_t)low, (uint32_t)(high - low),
					     mask);
	for (size_t i = done; i < count; i++)
		mask[i / 8] |= (uint8_t)((code_at(block, i) - low <= high - low) << i % 8);
}

bool orma_store_pack_match(const struct orma_block *block, size_t count, int64_t low, int64_t high,
			   uint8_t mask[ORMA_BLOCK_ROWS / 8])
{
	if (is_array(block))
		return false;
	memset(mask, 0, ORMA_BLOCK_ROWS / 8);
	low = ORMA_MAX(low, block->min);
	high = ORMA_MIN(high, block->max);
	if (low > high)
		return true;
	if (block->width == 0) {
		memset(mask, 0xff, ORMA_BLOCK_ROWS / 8);
		return true;
	}
	bool has_escapes = block->flags & ORMA_BLOCK_HAS_ESCAPES;
	uint64_t first = (uint64_t)low - (uint64_t)block->min,
		 limit = limit_of(block->width, has_escapes);
	uint64_t last = ORMA_MIN((uint64_t)high - (uint64_t)block->min, limit - 1);
	if (first <= last)
		match_codes(block, count, first, last, mask);
	for (size_t i = 0; i < block->exceptions; i++) {
		int64_t cell = exception_at(block, count, i);
		size_t place = exception_place(block, count, i);
		mask[place / 8] |= (uint8_t)((cell >= low && cell <= high) << place % 8);
	}
	return true;
}

static bool has_bit(const uint8_t *mask, size_t place)
{
	return mask[place / 8] >> place % 8 & 1;
}

bool orma_store_pack_sum(const struct orma_block *block, size_t count,
			 const uint8_t mask[ORMA_BLOCK_ROWS / 8], int64_t *ret_sum,
			 uint64_t *ret_number)
{
	if (is_array(block) || block->width == 0 || block->width > 32)
		return false;
	uint64_t limit = limit_of(block->width, block->flags & ORMA_BLOCK_HAS_ESCAPES);
	uint64_t codes, number;
	size_t done = orma_store_wide_sum(block, count, (uint32_t)limit, mask, &codes, &number);
	if (done == 0)
		return false;
	for (size_t i = done; i < count; i++) {
		uint64_t code = code_at(block, i);
		bool is_counted = has_bit(mask, i) && code < limit;
		codes += is_counted ? code : 0;
		number += is_counted;
	}
	int64_t total;
	if (__builtin_mul_overflow(block->min, (int64_t)number, &total) ||
	    __builtin_add_overflow(total, (int64_t)codes, &total))
		return false;
	for (size_t i = 0; i < block->exceptions; i++) {
		if (!has_bit(mask, exception_place(block, count, i)))
			continue;
		number++;
		if (__builtin_add_overflow(total, exception_at(block, count, i), &total))
			return false;
	}
	*ret_sum = total;
	*ret_number = number;
	return true;
}

static int64_t find_exception(const struct orma_block *block, size_t count, size_t idx)
{
	size_t low = 0, high = block->exceptions;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (exception_place(block, count, middle) <= idx)
			low = middle;
		else
			high = middle;
	}
	return exception_at(block, count, low);
}

/* The cell at `idx` of a block that has codes. */
static inline int64_t cell_at(const struct orma_block *block, size_t count, size_t idx,
			      bool has_escapes, uint64_t limit)
{
	uint64_t code = code_at(block, idx);
	if (has_escapes && ORMA_UNLIKELY(code >= limit))
		return code == limit ? ORMA_CELL_NULL : find_exception(block, count, idx);
	return (int64_t)((uint64_t)block->min + code);
}

int64_t orma_store_unpack_one(const struct orma_block *block, size_t count, size_t idx)
{
	ORMA_ASSERT(idx < count && count <= ORMA_BLOCK_ROWS);
	if (is_array(block)) {
		int64_t value;
		memcpy(&value, block->data + idx * sizeof(value), sizeof(value));
		return value;
	}
	if (block->width == 0)
		return only_value(block);
	return cell_at(block, count, idx, block->flags & ORMA_BLOCK_HAS_ESCAPES,
		       limit_of(block->width, true));
}

void orma_store_unpack_some(const struct orma_block *block, size_t count, const uint16_t *places,
			    size_t place_count, int64_t *ret)
{
	bool has_escapes = block->flags & ORMA_BLOCK_HAS_ESCAPES;
	if (is_array(block)) {
		for (size_t i = 0; i < place_count; i++)
			memcpy(&ret[i], block->data + places[i] * sizeof(*ret), sizeof(*ret));
		return;
	}
	if (block->width == 0) {
		fill(ret, place_count, only_value(block));
		return;
	}
	/* The block is copied, because the compiler cannot know that the cells are not written into it. */
	const struct orma_block codes = *block;
	uint64_t limit = limit_of(codes.width, true);
	for (size_t i = 0; i < place_count; i++)
		ret[i] = cell_at(&codes, count, places[i], has_escapes, limit);
}
