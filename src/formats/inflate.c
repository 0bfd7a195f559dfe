/* SPDX-License-Identifier: Apache-2.0
 * inflate.c - decodes Huffman codes with a table for short codes, and counts for long ones.
 *
 * The output is a window of 64 KB, of which the older half stays for matches when the newer half goes to the spool. Rejected:
 * libdeflate, which needs all of the output in memory, and zlib, which would be one more library.
 */
#include "formats/inflate.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"

enum {
	WINDOW_BYTES = 32 << 10,
	BUFFER_BYTES = 256 << 10,
	INPUT_BYTES = 64 << 10,
	CODE_BITS_MAX = 15,
	FAST_BITS = 10,
	LITERALS = 288,
	DISTANCES = 32,
	LENGTH_CODES = 19,
	END_OF_BLOCK = 256,
};

/* A canonical Huffman code. */
struct code {
	uint16_t fast[1 << FAST_BITS]; /* symbol << 4 | bits; 0 = a longer code */
	uint16_t counts[CODE_BITS_MAX + 1];
	uint16_t symbols[LITERALS];
};

struct inflate {
	const struct orma_trace_bytes *input;
	struct orma_trace_window window;
	uint64_t address, end; /* where the next window of the input begins, and its end */
	const uint8_t *at, *at_end;
	uint64_t bits;
	unsigned bit_count;
	unsigned phantom_bits; /* zeros behind the end of the input that are in `bits` */
	struct orma_trace_bytes *output;
	uint64_t written, max_bytes;
	uint32_t crc;
	int error;
	size_t size; /* bytes in the buffer */
	struct code literals, distances;
	uint8_t buffer[BUFFER_BYTES];
};

/* --- checksum --------------------------------------------------------------------------------- */

static const uint32_t *crc_table(void)
{
	static uint32_t table[8][256];
	if (table[0][1] == 0)
		for (int k = 0; k < 8; k++)
			for (uint32_t i = 0; i < 256; i++) {
				uint32_t c = k == 0 ? i : table[k - 1][i];
				if (k == 0)
					for (int bit = 0; bit < 8; bit++)
						c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
				else
					c = c >> 8 ^ table[0][c & 0xff];
				table[k][i] = c;
			}
	return &table[0][0];
}

static uint32_t add_to_crc(uint32_t crc, const void *data, size_t size)
{
	const uint32_t *table = crc_table();
	const uint8_t *at = data, *end = at + size;
	crc = ~crc;
	for (; end - at >= 8; at += 8) {
		uint32_t a = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
				    (uint32_t)at[3] << 24);
		crc = table[7 * 256 + (a & 0xff)] ^ table[6 * 256 + (a >> 8 & 0xff)] ^
		      table[5 * 256 + (a >> 16 & 0xff)] ^ table[4 * 256 + (a >> 24)] ^
		      table[3 * 256 + at[4]] ^ table[2 * 256 + at[5]] ^ table[256 + at[6]] ^
		      table[at[7]];
	}
	for (; at < end; at++)
		crc = crc >> 8 ^ table[(crc ^ *at) & 0xff];
	return ~crc;
}

/* --- input ------------------------------------------------------------------------------------ */

static void refill(struct inflate *inflate)
{
	size_t size = (size_t)ORMA_MIN(inflate->end - inflate->address, (uint64_t)INPUT_BYTES);
	int r = size > 0 ? orma_trace_window_refill(&inflate->window, inflate->input,
						    inflate->address, size, size, &inflate->at)
			 : 0;
	inflate->at_end = r > 0 ? inflate->at + size : NULL;
	inflate->at = r > 0 ? inflate->at : NULL;
	inflate->address += r > 0 ? size : 0;
	if (r < 0)
		inflate->error = r;
}

/* Makes at least `count` bits available, up to 48; behind the end they are zeros. */
static inline void need_bits(struct inflate *inflate, unsigned count)
{
	while (inflate->bit_count < count) {
		if (inflate->at == inflate->at_end)
			refill(inflate);
		uint64_t byte = 0;
		if (inflate->at)
			byte = *inflate->at++;
		else
			inflate->phantom_bits += 8;
		inflate->bits |= byte << inflate->bit_count;
		inflate->bit_count += 8;
	}
}

/* True when bits behind the end were used. */
static bool is_cut(const struct inflate *inflate)
{
	return inflate->bit_count < inflate->phantom_bits;
}

static inline void drop_bits(struct inflate *inflate, unsigned count)
{
	inflate->bits >>= count;
	inflate->bit_count -= count;
}

static inline uint32_t take_bits(struct inflate *inflate, unsigned count)
{
	need_bits(inflate, count);
	uint32_t value = (uint32_t)(inflate->bits & ((UINT64_C(1) << count) - 1));
	drop_bits(inflate, count);
	return value;
}

/* --- output ----------------------------------------------------------------------------------- */

static int write_out(struct inflate *inflate, size_t size)
{
	uint64_t address;
	inflate->written += size;
	if (inflate->written > inflate->max_bytes)
		return -EMSGSIZE;
	inflate->crc = add_to_crc(inflate->crc, inflate->buffer + inflate->size - size, size);
	return orma_trace_bytes_add(inflate->output, inflate->buffer + inflate->size - size, size,
				    &address);
}

/* Makes room in the buffer; `*fresh` bytes at its end are not written yet. */
static int make_room(struct inflate *inflate, size_t *fresh)
{
	if (inflate->size < BUFFER_BYTES - 512)
		return 0;
	int r = write_out(inflate, *fresh);
	memmove(inflate->buffer, inflate->buffer + inflate->size - WINDOW_BYTES, WINDOW_BYTES);
	inflate->size = WINDOW_BYTES;
	*fresh = 0;
	return r;
}

/* --- codes ------------------------------------------------------------------------------------ */

static unsigned reverse(unsigned code, unsigned bits)
{
	unsigned reversed = 0;
	for (; bits > 0; bits--, code >>= 1)
		reversed = reversed << 1 | (code & 1);
	return reversed;
}

/* Makes a code of the lengths of its symbols. False when there are more codes than bits allow. A code may be incomplete. */
static bool make_code(struct code *code, const uint8_t *lengths, unsigned count)
{
	uint16_t offsets[CODE_BITS_MAX + 2] = {0}, next[CODE_BITS_MAX + 1];
	memset(code->counts, 0, sizeof(code->counts));
	memset(code->fast, 0, sizeof(code->fast));
	for (unsigned i = 0; i < count; i++)
		code->counts[lengths[i]]++;
	code->counts[0] = 0;
	int left = 1;
	unsigned first = 0;
	for (unsigned bits = 1; bits <= CODE_BITS_MAX; bits++) {
		left = left * 2 - code->counts[bits];
		if (left < 0)
			return false;
		first = (first + code->counts[bits - 1]) << 1;
		next[bits] = (uint16_t)first;
		offsets[bits + 1] = (uint16_t)(offsets[bits] + code->counts[bits]);
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned bits = lengths[i];
		if (bits == 0)
			continue;
		code->symbols[offsets[bits]++] = (uint16_t)i;
		unsigned reversed = reverse(next[bits]++, bits);
		for (; bits <= FAST_BITS && reversed < 1u << FAST_BITS; reversed += 1u << bits)
			code->fast[reversed] = (uint16_t)(i << 4 | bits);
	}
	return true;
}

/* Returns the next symbol, or -1 for bits that are no code. */
static inline int read_symbol(struct inflate *inflate, const struct code *code)
{
	need_bits(inflate, CODE_BITS_MAX);
	unsigned entry = code->fast[inflate->bits & ((1u << FAST_BITS) - 1)];
	if (entry) {
		drop_bits(inflate, entry & 15);
		return (int)(entry >> 4);
	}
	unsigned value = 0, first = 0, idx = 0;
	for (unsigned bits = 1; bits <= CODE_BITS_MAX; bits++) {
		value |= (unsigned)(inflate->bits >> (bits - 1)) & 1;
		unsigned count = code->counts[bits];
		if (value < first + count && value >= first) {
			drop_bits(inflate, bits);
			return code->symbols[idx + value - first];
		}
		idx += count;
		first = (first + count) << 1;
		value <<= 1;
	}
	return -1;
}

static bool read_codes(struct inflate *inflate)
{
	static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						    11, 4,  12, 3, 13, 2, 14, 1, 15};
	uint8_t lengths[LITERALS + DISTANCES] = {0};
	unsigned literals = take_bits(inflate, 5) + 257, distances = take_bits(inflate, 5) + 1;
	unsigned count = take_bits(inflate, 4) + 4, i = 0;
	for (unsigned k = 0; k < count; k++)
		lengths[order[k]] = (uint8_t)take_bits(inflate, 3);
	if (literals > LITERALS || !make_code(&inflate->distances, lengths, LENGTH_CODES))
		return false;
	memset(lengths, 0, LENGTH_CODES);
	while (i < literals + distances) {
		int symbol = read_symbol(inflate, &inflate->distances);
		unsigned repeat = 1;
		uint8_t length = (uint8_t)symbol;
		if (symbol < 0 || is_cut(inflate) || (symbol == 16 && i == 0))
			return false;
		if (symbol == 16)
			repeat = 3 + take_bits(inflate, 2);
		else if (symbol == 17)
			repeat = 3 + take_bits(inflate, 3);
		else if (symbol == 18)
			repeat = 11 + take_bits(inflate, 7);
		if (symbol >= 16)
			length = symbol == 16 ? lengths[i - 1] : 0;
		if (repeat > literals + distances - i)
			return false;
		while (repeat-- > 0)
			lengths[i++] = length;
	}
	return lengths[END_OF_BLOCK] != 0 && make_code(&inflate->literals, lengths, literals) &&
	       make_code(&inflate->distances, lengths + literals, distances);
}

static void make_fixed_codes(struct inflate *inflate)
{
	uint8_t lengths[LITERALS];
	for (unsigned i = 0; i < LITERALS; i++)
		lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	make_code(&inflate->literals, lengths, LITERALS);
	memset(lengths, 5, DISTANCES);
	make_code(&inflate->distances, lengths, DISTANCES);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static const uint16_t length_bases[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
					15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
					67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
				      2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_bases[] = {
	1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
	193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

/* Copies a match, which may overlap with what it writes. */
static void copy_match(struct inflate *inflate, size_t length, size_t distance)
{
	uint8_t *to = inflate->buffer + inflate->size;
	const uint8_t *from = to - distance;
	inflate->size += length;
	if (distance >= length) {
		memcpy(to, from, length);
		return;
	}
	while (length-- > 0)
		*to++ = *from++;
}

static int read_match(struct inflate *inflate, unsigned symbol, size_t *fresh)
{
	symbol -= END_OF_BLOCK + 1;
	if (symbol >= sizeof(length_bits))
		return -EBADMSG;
	size_t length = length_bases[symbol] + take_bits(inflate, length_bits[symbol]);
	int code = read_symbol(inflate, &inflate->distances);
	if (code < 0 || (size_t)code >= sizeof(distance_bases) / sizeof(*distance_bases))
		return -EBADMSG;
	unsigned extra = code < 2 ? 0 : (unsigned)code / 2 - 1;
	size_t distance = distance_bases[code] + take_bits(inflate, extra);
	if (distance > inflate->size)
		return -EBADMSG;
	copy_match(inflate, length, distance);
	*fresh += length;
	return 0;
}

static int read_compressed(struct inflate *inflate, size_t *fresh)
{
	for (;;) {
		int r = make_room(inflate, fresh);
		int symbol = r < 0 ? r : read_symbol(inflate, &inflate->literals);
		if (r < 0 || symbol < 0 || is_cut(inflate))
			return r < 0 ? r : -EBADMSG;
		if (symbol == END_OF_BLOCK)
			return 0;
		if (symbol < END_OF_BLOCK) {
			inflate->buffer[inflate->size++] = (uint8_t)symbol;
			(*fresh)++;
			continue;
		}
		r = read_match(inflate, (unsigned)symbol, fresh);
		if (r < 0)
			return r;
	}
}

static int read_stored(struct inflate *inflate, size_t *fresh)
{
	drop_bits(inflate, inflate->bit_count % 8);
	uint32_t size = take_bits(inflate, 16), check = take_bits(inflate, 16);
	if (size != (~check & 0xffff))
		return -EBADMSG;
	for (; size > 0; size--) {
		int r = make_room(inflate, fresh);
		uint8_t byte = (uint8_t)take_bits(inflate, 8);
		if (r < 0 || is_cut(inflate))
			return r < 0 ? r : -EBADMSG;
		inflate->buffer[inflate->size++] = byte;
		(*fresh)++;
	}
	return 0;
}

static int read_blocks(struct inflate *inflate, size_t *fresh)
{
	bool is_last = false;
	int r = 0;
	while (r == 0 && !is_last) {
		is_last = take_bits(inflate, 1);
		switch (take_bits(inflate, 2)) {
		case 0:
			r = read_stored(inflate, fresh);
			break;
		case 1:
			make_fixed_codes(inflate);
			r = read_compressed(inflate, fresh);
			break;
		case 2:
			r = read_codes(inflate) ? read_compressed(inflate, fresh) : -EBADMSG;
			break;
		default:
			r = -EBADMSG;
			break;
		}
		if (inflate->error < 0)
			r = inflate->error;
		else if (r == 0 && is_cut(inflate))
			r = -EBADMSG;
	}
	return r;
}

int orma_inflate(const struct orma_trace_bytes *input, uint64_t *address, uint64_t end,
		 uint64_t max_bytes, struct orma_trace_bytes *output, uint32_t *ret_crc,
		 uint64_t *ret_bytes)
{
	struct inflate *inflate = orma_base_alloc(sizeof(*inflate));
	size_t fresh = 0;
	if (!inflate)
		return -ENOMEM;
	memset(inflate, 0, offsetof(struct inflate, literals));
	inflate->input = input;
	inflate->address = *address;
	inflate->end = end;
	inflate->output = output;
	inflate->max_bytes = max_bytes;
	int r = read_blocks(inflate, &fresh);
	int last = r == 0 || r == -EBADMSG ? write_out(inflate, fresh) : 0;
	/* Whole bytes that were read ahead are given back. */
	unsigned real_bits = is_cut(inflate) ? 0 : inflate->bit_count - inflate->phantom_bits;
	uint64_t unread = (uint64_t)(inflate->at_end - inflate->at) + real_bits / 8;
	*address = inflate->address - ORMA_MIN(unread, inflate->address);
	*ret_crc = inflate->crc;
	*ret_bytes = inflate->written;
	orma_trace_window_done(&inflate->window);
	orma_base_free(inflate);
	return last < 0 ? last : r;
}
