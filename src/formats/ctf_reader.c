/* SPDX-License-Identifier: Apache-2.0
 * ctf_reader.c - runs plans.
 *
 * Bits are numbered from the lowest of a byte in little-endian fields, and from the highest in big-endian ones. Alignment
 * counts from the beginning of the packet.
 */
#include "formats/ctf_reader.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "store/grow.h"

static inline int align_to(struct orma_ctf_reader *reader, uint32_t mask)
{
	reader->at = (reader->at + mask) & ~(uint64_t)mask;
	return reader->at <= reader->end ? 0 : -ENODATA;
}

static inline uint64_t load(const uint8_t *at, unsigned bytes, bool is_big_endian)
{
	uint64_t value = 0;
	ORMA_ASSERT(bytes > 0 && bytes <= 8);
	memcpy(&value, at, 8);
	if (is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		value = __builtin_bswap64(value);
	unsigned unused = 64 - bytes * 8;
	return is_big_endian ? value >> unused : value << unused >> unused;
}

/* Any number of bits at any place. */
static uint64_t load_bits(const uint8_t *data, uint64_t at, unsigned bits, bool is_big_endian)
{
	uint64_t value = 0;
	const uint8_t *byte = data + at / 8;
	unsigned skipped = (unsigned)(at % 8), taken = 0;
	while (taken < bits) {
		unsigned count = ORMA_MIN(8 - skipped, bits - taken);
		unsigned part = is_big_endian ? (unsigned)*byte >> (8 - skipped - count)
					      : (unsigned)*byte >> skipped;
		part &= (1u << count) - 1;
		value = is_big_endian ? value << count | part : value | (uint64_t)part << taken;
		taken += count;
		skipped = 0;
		byte++;
	}
	return value;
}

static inline uint64_t extend(uint64_t value, unsigned bits)
{
	ORMA_ASSERT(bits >= 1 && bits <= 64);
	unsigned unused = 64 - bits;
	return (uint64_t)((int64_t)(value << unused) >> unused);
}

/* Readings have as many bits as fit: they wrap around, and never go back. */
static uint64_t advance_clock(uint64_t clock, uint64_t value, unsigned bits)
{
	if (bits == 64)
		return value;
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	value &= mask;
	uint64_t next = (clock & ~mask) | value;
	return value < (clock & mask) ? next + mask + 1 : next;
}

static inline void take_number(struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
			       uint64_t value)
{
	if (step->slot != ORMA_CTF_NO_SLOT)
		reader->slots[step->slot] = value;
	if (step->roles & ORMA_CTF_IS_ID)
		reader->id = value;
	if (step->roles & ORMA_CTF_IS_TIME)
		reader->clock = advance_clock(reader->clock, value, step->bits);
}

static inline int read_number(struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
			      uint64_t *ret)
{
	if (align_to(reader, step->align_mask) < 0 || step->bits > reader->end - reader->at)
		return -ENODATA;
	*ret = step->op != ORMA_CTF_READ_BITS && reader->at % 8 == 0
		       ? load(reader->data + reader->at / 8, step->bits / 8u, step->is_big_endian)
		       : load_bits(reader->data, reader->at, step->bits, step->is_big_endian);
	reader->at += step->bits;
	return 0;
}

static inline int read_integer(struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
			       struct orma_ctf_value *value)
{
	int r = read_number(reader, step, &value->number);
	if (r < 0)
		return r;
	if (step->is_signed)
		value->number = extend(value->number, step->bits);
	if (step->slot != ORMA_CTF_NO_SLOT || step->roles)
		take_number(reader, step, value->number);
	return 0;
}

static int read_float(struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
		      struct orma_ctf_value *value)
{
	uint64_t bits = 0;
	int r = read_number(reader, step, &bits);
	if (r == 0 && step->bits == 32) {
		uint32_t half = (uint32_t)bits;
		float single;
		memcpy(&single, &half, sizeof(single));
		double number = single;
		memcpy(&bits, &number, sizeof(bits));
	}
	value->number = bits;
	return r;
}

static int read_string(struct orma_ctf_reader *reader, struct orma_ctf_value *value)
{
	if (align_to(reader, 7) < 0)
		return -ENODATA;
	const char *text = (const char *)reader->data + reader->at / 8;
	const char *end = memchr(text, 0, (size_t)((reader->end - reader->at) / 8));
	if (!end || (uint64_t)(end - text) > UINT32_MAX)
		return -ENODATA;
	value->text = text;
	value->size = (uint32_t)(end - text);
	reader->at += (uint64_t)(end - text + 1) * 8;
	return 0;
}

static uint64_t length_of(const struct orma_ctf_reader *reader, const struct orma_ctf_step *step)
{
	return step->has_length ? step->length : reader->slots[step->from];
}

/* Text ends at its first zero, or fills the array. */
static int read_text(struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
		     struct orma_ctf_value *value)
{
	uint64_t length = length_of(reader, step);
	if (align_to(reader, step->align_mask) < 0 || length > (reader->end - reader->at) / 8 ||
	    length > UINT32_MAX)
		return -ENODATA;
	value->text = (const char *)reader->data + reader->at / 8;
	value->size = (uint32_t)strnlen(value->text, (size_t)length);
	reader->at += length * 8;
	return 0;
}

/* Finds the alternative of the tag. */
static int choose(const struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
		  uint32_t *ret_target)
{
	struct orma_ctf_type tag = {.is_signed = step->is_signed};
	uint64_t value = reader->slots[step->from];
	for (uint32_t i = 0; i < step->choice_count; i++)
		if (orma_ctf_is_in(&tag, value, step->choices[i].first, step->choices[i].last)) {
			*ret_target = step->choices[i].target;
			return 0;
		}
	return -EBADMSG;
}

/* Begins the next element of an array; false: there is none. Elements without bits, of which there may be any number, are
 * read once. */
static bool next_element(struct orma_ctf_reader *reader, struct orma_ctf_loop *loop)
{
	if (loop->left == 0 || loop->begin == reader->at)
		return false;
	loop->left--;
	loop->begin = reader->at;
	return true;
}

static int grow_values(struct orma_ctf_reader *reader)
{
	return reader->value_count == ORMA_CTF_VALUES_MAX
		       ? -EMSGSIZE
		       : orma_store_grow(&reader->values, (uint64_t)reader->value_count + 1,
					 &reader->value_capacity, sizeof(*reader->values));
}

static int read_value(struct orma_ctf_reader *reader, const struct orma_ctf_step *step,
		      struct orma_ctf_value *value)
{
	switch ((enum orma_ctf_op)step->op) {
	case ORMA_CTF_READ_FLOAT:
		return read_float(reader, step, value);
	case ORMA_CTF_READ_STRING:
		return read_string(reader, value);
	case ORMA_CTF_READ_TEXT:
		return read_text(reader, step, value);
	case ORMA_CTF_BEGIN_STRUCT:
	case ORMA_CTF_BEGIN_ARRAY:
		return align_to(reader, step->align_mask);
	default:
		return 0;
	}
}

int orma_ctf_reader_run(struct orma_ctf_reader *reader, const struct orma_ctf_plan *plan)
{
	const struct orma_ctf_step *steps = plan->steps;
	struct orma_ctf_loop *loops = reader->loops;
	uint32_t depth = 0, i = 0;
	int r = 0;
	while (i < plan->count && r == 0) {
		const struct orma_ctf_step *step = &steps[i++];
		if (step->op == ORMA_CTF_JUMP) {
			i = step->jump;
			continue;
		}
		if (step->op == ORMA_CTF_END_ARRAY) {
			if (next_element(reader, &loops[depth - 1])) {
				i = step->jump;
				continue;
			}
			depth--;
		}
		if (reader->value_count == reader->value_capacity) {
			r = grow_values(reader);
			if (r < 0)
				break;
		}
		struct orma_ctf_value *value = &reader->values[reader->value_count++];
		value->step = step;
		if (step->op <= ORMA_CTF_READ_BITS)
			r = read_integer(reader, step, value);
		else
			r = read_value(reader, step, value);
		if (step->op == ORMA_CTF_BEGIN_ARRAY) {
			loops[depth++] =
				(struct orma_ctf_loop){length_of(reader, step), UINT64_MAX};
			i = step->jump - 1; /* the end of the array begins its elements */
		} else if (step->op == ORMA_CTF_BEGIN_VARIANT) {
			r = choose(reader, step, &i);
		}
	}
	return r;
}

const struct orma_ctf_value *orma_ctf_reader_find(const struct orma_ctf_reader *reader,
						  const char *name)
{
	for (uint32_t i = 0; i < reader->value_count; i++) {
		const struct orma_ctf_value *value = &reader->values[i];
		if (value->step->op < ORMA_CTF_END && orma_base_str_is(value->step->raw_name, name))
			return value;
	}
	return NULL;
}

void orma_ctf_reader_done(struct orma_ctf_reader *reader)
{
	orma_base_free(reader->values);
	*reader = (struct orma_ctf_reader){0};
}
