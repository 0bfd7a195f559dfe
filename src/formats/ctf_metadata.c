/* SPDX-License-Identifier: Apache-2.0
 * ctf_metadata.c - the bytes of a metadata file: plain text, or packets of text.
 */
#include "formats/ctf_metadata.h"

#include <errno.h>

#include "base/error_message.h"

enum {
	PACKET_MAGIC = 0x75d11d57,
	/* The header of a packet; its integers have the order of the magic number. */
	CONTENT_BITS = 24,
	PACKET_BITS = 28,
	COMPRESSION = 32,
	ENCRYPTION = 33,
	HEADER_BYTES = 37,
};

static uint32_t read_u32(const char *at, bool is_big_endian)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	if (is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		value = __builtin_bswap32(value);
	return value;
}

static bool is_packet(struct orma_str file, bool *ret_is_big_endian)
{
	if (file.size < 4)
		return false;
	*ret_is_big_endian = read_u32(file.data, true) == PACKET_MAGIC;
	return *ret_is_big_endian || read_u32(file.data, false) == PACKET_MAGIC;
}

bool orma_ctf_metadata_is(struct orma_str begin)
{
	static const char comment[] = "/* CTF 1.8";
	bool is_big_endian;
	return is_packet(begin, &is_big_endian) ||
	       (begin.size >= sizeof(comment) - 1 &&
		memcmp(begin.data, comment, sizeof(comment) - 1) == 0);
}

/* Appends the text of the first packet, and sets the size of the whole packet. */
static int unpack_one(struct orma_str file, struct orma_buf *ret, size_t *ret_size,
		      struct orma_error *reterr)
{
	bool is_big_endian;
	if (!is_packet(file, &is_big_endian))
		return orma_base_error_set(reterr, -EBADMSG,
					   "a packet of the metadata begins with a wrong number");
	size_t content = read_u32(file.data + CONTENT_BITS, is_big_endian) / 8;
	size_t packet = read_u32(file.data + PACKET_BITS, is_big_endian) / 8;
	if (file.data[COMPRESSION] || file.data[ENCRYPTION])
		return orma_base_error_set(reterr, -EBADMSG,
					   "the metadata is compressed or encrypted");
	if (content < HEADER_BYTES || packet < content)
		return orma_base_error_set(reterr, -EBADMSG,
					   "a packet of the metadata has a wrong size");
	*ret_size = packet < file.size ? packet : file.size;
	content = content < file.size ? content : file.size;
	return orma_base_buf_append(ret, file.data + HEADER_BYTES, content - HEADER_BYTES);
}

int orma_ctf_metadata_unpack(struct orma_str file, struct orma_buf *ret, struct orma_error *reterr)
{
	bool is_big_endian;
	if (!is_packet(file, &is_big_endian))
		return orma_base_buf_append(ret, file.data, file.size);
	int r = 0;
	while (r == 0 && file.size >= HEADER_BYTES) {
		size_t size = 0;
		r = unpack_one(file, ret, &size, reterr);
		file.data += size;
		file.size -= size;
	}
	return r;
}

void orma_ctf_metadata_done(struct orma_ctf_metadata *metadata)
{
	orma_base_arena_done(&metadata->arena);
	*metadata = (struct orma_ctf_metadata){0};
}

struct orma_str orma_ctf_metadata_env(const struct orma_ctf_metadata *metadata, const char *name)
{
	for (const struct orma_ctf_env *env = metadata->env; env; env = env->next)
		if (orma_base_str_is(env->name, name))
			return env->text;
	return ORMA_STR("");
}
