/* SPDX-License-Identifier: Apache-2.0
 * cfi_parse.c - takes the records of .eh_frame apart.
 *
 * .eh_frame is a list of records {u32 size, u32 id, content}. A record with id 0 is common to several
 * functions; DWARF calls it a CIE. Any other record is one function, an FDE. Its id is the distance in
 * bytes from the id back to the common record. A size of 0 ends the list.
 *
 * The file is hostile. All reads go through a cursor, which cannot pass the end of its record. A read
 * beyond the end marks the cursor as bad and gives zeros, so callers check once per record. The work
 * is linear in the size of the section: each record is visited once, and the program of a common
 * record, which runs again for each function, has at most COMMON_PROGRAM_MAX bytes.
 */
#include "unwind/cfi_parse.h"

#include <errno.h>
#include <string.h>

#define COMMON_PROGRAM_MAX 256u
#define LEB_BYTES_MAX      10u

/* Encodings of pointers (DW_EH_PE_*). */
#define POINTER_FORMAT  0x0f
#define POINTER_BASE    0x70
#define POINTER_PCREL   0x10
#define POINTER_OMITTED 0xff

/* --- values ----------------------------------------------------------------------------------- */

/*
 * Returns the next bytes, up to 8, or zeros at the end. The callers copy a constant number of them, which is one instruction.
 * Copying `size` bytes here took half of the time in which a table is made: compilers choose `rep movsb` for it.
 */
static const uint8_t *take(struct orma_cfi_cursor *cursor, size_t size)
{
	static const uint8_t zeros[8];
	const uint8_t *bytes = cursor->at;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->is_bad = true;
		cursor->at = cursor->end;
		return zeros;
	}
	cursor->at += size;
	cursor->address += size;
	return bytes;
}

uint8_t orma_cfi_read_u8(struct orma_cfi_cursor *cursor)
{
	return *take(cursor, 1);
}

uint16_t orma_cfi_read_u16(struct orma_cfi_cursor *cursor)
{
	uint16_t value;

	memcpy(&value, take(cursor, sizeof(value)), sizeof(value));
	return value;
}

uint32_t orma_cfi_read_u32(struct orma_cfi_cursor *cursor)
{
	uint32_t value;

	memcpy(&value, take(cursor, sizeof(value)), sizeof(value));
	return value;
}

static uint64_t read_u64(struct orma_cfi_cursor *cursor)
{
	uint64_t value;

	memcpy(&value, take(cursor, sizeof(value)), sizeof(value));
	return value;
}

/* Returns the number of bits that were read. */
static unsigned read_leb(struct orma_cfi_cursor *cursor, uint64_t *ret, bool *ret_is_negative)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;
	unsigned bits = 0;

	for (unsigned i = 0; i < LEB_BYTES_MAX && (byte & 0x80); i++) {
		byte = orma_cfi_read_u8(cursor);
		value |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	}
	if (byte & 0x80)
		cursor->is_bad = true;
	*ret = value;
	*ret_is_negative = byte & 0x40;
	return bits;
}

uint64_t orma_cfi_read_uleb(struct orma_cfi_cursor *cursor)
{
	uint64_t value;
	bool is_negative;

	read_leb(cursor, &value, &is_negative);
	return value;
}

int64_t orma_cfi_read_sleb(struct orma_cfi_cursor *cursor)
{
	uint64_t value;
	bool is_negative;
	unsigned bits = read_leb(cursor, &value, &is_negative);

	if (is_negative && bits < 64)
		value |= UINT64_MAX << bits;
	return (int64_t)value;
}

uint64_t orma_cfi_read_pointer(struct orma_cfi_cursor *cursor, uint8_t encoding)
{
	uint64_t base = (encoding & POINTER_BASE) == POINTER_PCREL ? cursor->address : 0;

	/* Code has no other base, and no pointers to pointers. */
	if ((encoding & ~POINTER_FORMAT) != 0 && (encoding & ~POINTER_FORMAT) != POINTER_PCREL)
		cursor->is_bad = true;
	switch (encoding & POINTER_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return base + read_u64(cursor);
	case 0x01:
		return base + orma_cfi_read_uleb(cursor);
	case 0x02:
		return base + orma_cfi_read_u16(cursor);
	case 0x03:
		return base + orma_cfi_read_u32(cursor);
	case 0x09:
		return base + (uint64_t)orma_cfi_read_sleb(cursor);
	case 0x0a:
		return base + (uint64_t)(int64_t)(int16_t)orma_cfi_read_u16(cursor);
	case 0x0b:
		return base + (uint64_t)(int64_t)(int32_t)orma_cfi_read_u32(cursor);
	default:
		cursor->is_bad = true;
		return 0;
	}
}

struct orma_cfi_cursor orma_cfi_read_block(struct orma_cfi_cursor *cursor, uint64_t size)
{
	struct orma_cfi_cursor block = *cursor;

	if (size > (size_t)(cursor->end - cursor->at)) {
		cursor->is_bad = block.is_bad = true;
		size = (size_t)(cursor->end - cursor->at);
	}
	block.end = block.at + size;
	cursor->at += size;
	cursor->address += size;
	return block;
}

/* --- records ---------------------------------------------------------------------------------- */

/* True and the id and content of the record at the offset; false at the end of the list. */
static bool record_at(const struct orma_cfi_section *section, size_t offset,
		      struct orma_cfi_cursor *ret)
{
	if (offset > section->size)
		return false;
	struct orma_cfi_cursor cursor = {section->data + offset, section->data + section->size,
					 section->address + offset, false};
	uint64_t size = orma_cfi_read_u32(&cursor);

	/* UINT32_MAX begins a size of 8 bytes, for records over 4 GiB. No linker writes them. */
	if (cursor.is_bad || size == 0 || size == UINT32_MAX)
		return false;
	*ret = orma_cfi_read_block(&cursor, size);
	return !ret->is_bad;
}

/* Reads what the letters of the augmentation announce. */
static void read_augmentation(struct orma_cfi_cursor *cursor, struct orma_cfi_cursor letters,
			      struct orma_cfi_common *common)
{
	struct orma_cfi_cursor values = orma_cfi_read_block(cursor, orma_cfi_read_uleb(cursor));

	while (letters.at < letters.end && !values.is_bad) {
		switch (orma_cfi_read_u8(&letters)) {
		case 'L':
			orma_cfi_read_u8(&values);
			break;
		case 'P': {
			/* The pointer to the personality routine is not used, so its base is
			 * ignored. */
			uint8_t encoding = orma_cfi_read_u8(&values);
			orma_cfi_read_pointer(&values, encoding & POINTER_FORMAT);
			break;
		}
		case 'R':
			common->pointer_encoding = orma_cfi_read_u8(&values);
			break;
		case 'S':
			common->is_signal = true;
			break;
		case 'B': /* arm64: which key signs return addresses */
		case 'G': /* arm64: tagged stack */
			break;
		default:
			values.is_bad = true;
		}
	}
	cursor->is_bad |= values.is_bad;
}

int orma_cfi_common_parse(const struct orma_cfi_section *section, uint32_t offset,
			  struct orma_cfi_common *ret)
{
	struct orma_cfi_common common = {0};
	struct orma_cfi_cursor cursor;

	if (!record_at(section, offset, &cursor) || orma_cfi_read_u32(&cursor) != 0)
		return -EBADMSG;
	uint8_t version = orma_cfi_read_u8(&cursor);
	struct orma_cfi_cursor letters = cursor;
	const uint8_t *nul = memchr(cursor.at, 0, (size_t)(cursor.end - cursor.at));
	if (!nul || (version != 1 && version != 3))
		return -EBADMSG;
	letters.end = nul;
	orma_cfi_read_block(&cursor, (uint64_t)(nul + 1 - cursor.at));
	common.code_align = orma_cfi_read_uleb(&cursor);
	common.data_align = orma_cfi_read_sleb(&cursor);
	common.return_register =
		version == 1 ? orma_cfi_read_u8(&cursor) : orma_cfi_read_uleb(&cursor);
	if (letters.at < letters.end) {
		/* Only augmentations that give their size can be understood in part. */
		if (orma_cfi_read_u8(&letters) != 'z')
			return -EBADMSG;
		common.has_augmentation = true;
		read_augmentation(&cursor, letters, &common);
	}
	if (cursor.is_bad || (size_t)(cursor.end - cursor.at) > COMMON_PROGRAM_MAX)
		return -EBADMSG;
	common.program = cursor;
	*ret = common;
	return 0;
}

static bool use_common(struct orma_cfi_walk *walk, uint64_t offset)
{
	if (offset > UINT32_MAX)
		return false;
	if (walk->has_last && walk->last_offset == offset)
		return true;
	walk->has_last = orma_cfi_common_parse(walk->section, (uint32_t)offset, &walk->last) == 0;
	walk->last_offset = (uint32_t)offset;
	return walk->has_last;
}

static bool parse_function(struct orma_cfi_walk *walk, struct orma_cfi_cursor cursor,
			   struct orma_cfi_function *ret)
{
	uint64_t id_offset = (uint64_t)(cursor.at - walk->section->data);
	uint32_t distance = orma_cfi_read_u32(&cursor);

	if (distance > id_offset || !use_common(walk, id_offset - distance))
		return false;
	uint8_t encoding = walk->last.pointer_encoding;
	if (encoding == POINTER_OMITTED)
		return false;
	ret->start = orma_cfi_read_pointer(&cursor, encoding);
	ret->size = orma_cfi_read_pointer(&cursor, encoding & POINTER_FORMAT);
	if (walk->last.has_augmentation)
		orma_cfi_read_block(&cursor, orma_cfi_read_uleb(&cursor));
	ret->common_offset = walk->last_offset;
	ret->program = cursor;
	return !cursor.is_bad && ret->size > 0 && ret->size <= UINT64_MAX - ret->start;
}

bool orma_cfi_walk_next(struct orma_cfi_walk *walk, struct orma_cfi_function *ret)
{
	struct orma_cfi_cursor record;

	while (record_at(walk->section, walk->offset, &record)) {
		struct orma_cfi_cursor id = record;

		walk->offset = (size_t)(record.end - walk->section->data);
		if (orma_cfi_read_u32(&id) == 0)
			continue;
		if (parse_function(walk, record, ret))
			return true;
		walk->skipped_count++;
	}
	return false;
}
