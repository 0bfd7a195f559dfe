/* SPDX-License-Identifier: Apache-2.0
 * tables_pack.c - packs the names of a large enum (byte pair encoding).
 *
 * The pair of bytes that occurs most often in all names is replaced by a byte that does not occur, and
 * so on until no byte is left. The 1,207 names of AtomId take 18 KB instead of 41, and
 * orma_proto_enum_name() unpacks them in a few lines. Rejected: packing all names, because callers keep
 * pointers to the names of fields, and because names without much in common shrink by a third only.
 */
#include <errno.h>

#include "base/error_message.h"
#include "tables.h"

enum { PLAIN_BYTES_MAX = 8192 };

struct packed {
	uint8_t *text; /* the names, each with its NUL */
	size_t size;
	uint8_t pairs[ORMA_PROTO_PAIRS][2];
};

/* Finds the first of the pairs that occur most often. False: none occurs thrice. */
static bool find_pair(const struct packed *packed, uint8_t ret_pair[2])
{
	static uint32_t counts[256][256];
	uint32_t best = 2;

	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i + 1 < packed->size; i++)
		counts[packed->text[i]][packed->text[i + 1]]++;
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 1; b < 256; b++) {
			if (counts[a][b] <= best)
				continue;
			best = counts[a][b];
			ret_pair[0] = (uint8_t)a;
			ret_pair[1] = (uint8_t)b;
		}
	}
	return best > 2;
}

static void replace_pair(struct packed *packed, const uint8_t pair[2], uint8_t byte)
{
	size_t to = 0;

	for (size_t i = 0; i < packed->size; i++) {
		bool is_pair = i + 1 < packed->size && memcmp(packed->text + i, pair, 2) == 0;

		packed->text[to++] = is_pair ? byte : packed->text[i];
		i += is_pair;
	}
	packed->size = to;
}

static void put_bytes(struct pg_generator *generator, const uint8_t *bytes, size_t size)
{
	PG_PUT("\n\t\"");
	for (size_t i = 0; i < size; i++)
		PG_PUT(bytes[i] > ' ' && bytes[i] < 127 ? "%c" : "\\%03o", bytes[i]);
	PG_PUT("\"");
}

/* Copies the names. NULL: there is no memory, or a name is too long to be unpacked. */
static uint8_t *join(struct pg_generator *generator, const struct orma_tool_proto_type *type,
		     size_t size)
{
	uint8_t *text = orma_base_arena_alloc(generator->output.arena, size), *at = text;
	int r = text ? 0 : -ENOMEM;

	for (const struct orma_tool_proto_value *value = type->values; value && r == 0;
	     value = value->next) {
		if (value->name.size >= ORMA_PROTO_ENUM_NAME_BYTES)
			r = orma_base_error_set(&generator->set.error, -EMSGSIZE,
						"%s has a name that is too long for its tables",
						pg_local_name(type));
		else
			at = (uint8_t *)memcpy(at, value->name.data, value->name.size) +
			     value->name.size + 1;
	}
	orma_tool_proto_note_failure(&generator->output, r);
	return r == 0 ? text : NULL;
}

bool pg_emit_packed_names(struct pg_generator *generator, const struct orma_tool_proto_type *type)
{
	struct packed packed = {0};

	for (const struct orma_tool_proto_value *value = type->values; value; value = value->next)
		packed.size += value->name.size + 1;
	if (packed.size <= PLAIN_BYTES_MAX)
		return false;
	packed.text = join(generator, type, packed.size);
	if (!packed.text)
		return true;
	for (unsigned i = 0; i < ORMA_PROTO_PAIRS && find_pair(&packed, packed.pairs[i]); i++)
		replace_pair(&packed, packed.pairs[i], (uint8_t)(128 + i));
	PG_PUT("\n\t\"\\0\"");
	for (unsigned i = 0; i < ORMA_PROTO_PAIRS; i += 16)
		put_bytes(generator, packed.pairs[i], 32);
	for (size_t i = 0, end; i < packed.size; i = end) {
		end = i + strlen((const char *)packed.text + i) + 1;
		/* The array ends with a NUL of its own. */
		put_bytes(generator, packed.text + i, end - i - (end == packed.size));
	}
	return true;
}
