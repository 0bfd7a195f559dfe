/* SPDX-License-Identifier: Apache-2.0
 * compression_test.c - compressed data decompresses; damaged data and too much of it is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "codec/compression.h"
#include "harness.h"

static const enum orma_codec codecs[] = {ORMA_CODEC_DEFLATE, ORMA_CODEC_ZSTD};

static bool is_there(enum orma_codec codec)
{
	return orma_tool_codecs() >> codec & 1;
}

/* The bytes are the same in every run. One of 16 is random, or all are. */
static uint8_t *make_data(size_t size, bool is_random)
{
	uint8_t *data = orma_base_alloc(size + 1);
	uint32_t state = 1;

	CHECK(data);
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		data[i] = is_random || i % 16 == 0 ? (uint8_t)(state >> 24) : (uint8_t)(i >> 8);
	}
	return data;
}

static void compress(enum orma_codec codec, int level, const void *data, size_t size,
		     struct orma_buf *ret)
{
	struct orma_tool_compressor *compressor;

	CHECK_INT(orma_tool_compressor_new(codec, level, &compressor), 0);
	CHECK_INT(orma_tool_compress(compressor, data, size, ret), 0);
	orma_tool_compressor_free(compressor);
}

static void check_round(enum orma_codec codec, int level, size_t size, bool is_random)
{
	struct orma_buf packed = {0}, back = {0};
	uint8_t *data = make_data(size, is_random);

	compress(codec, level, data, size, &packed);
	if (size > 1000 && !is_random && level >= 0)
		CHECK(packed.size < size);
	CHECK_INT(orma_tool_decompress(codec, packed.data, packed.size, size, &back), 0);
	CHECK_INT(back.size, size);
	CHECK(size == 0 || memcmp(back.data, data, size) == 0);
	if (size > 0)
		CHECK_INT(orma_tool_decompress(codec, packed.data, packed.size, size - 1, &back),
			  -EMSGSIZE);
	orma_base_buf_done(&packed);
	orma_base_buf_done(&back);
	orma_base_free(data);
}

ORMA_TEST(blocks_of_any_size_come_back)
{
	static const size_t sizes[] = {0, 1, 100, 65536, 65537, 300000, 5000000};

	for (size_t k = 0; k < ORMA_ARRAY_SIZE(codecs); k++)
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(sizes) && is_there(codecs[k]); i++) {
			check_round(codecs[k], 0, sizes[i], false);
			check_round(codecs[k], 0, sizes[i], true);
		}
}

ORMA_TEST(every_level_of_zstd_works)
{
	static const int levels[] = {-131072, -1, 1, 3, 19, 22};

	if (!(orma_tool_codecs() >> ORMA_CODEC_ZSTD & 1))
		orma_test_skip("built without zstd");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(levels); i++)
		check_round(ORMA_CODEC_ZSTD, levels[i], 50000, false);
}

ORMA_TEST(a_compressor_can_be_used_again)
{
	for (size_t k = 0; k < ORMA_ARRAY_SIZE(codecs); k++) {
		enum orma_codec codec = codecs[k];

		if (!is_there(codec))
			continue;
		struct orma_buf packed = {0}, back = {0};
		struct orma_tool_compressor *compressor;

		CHECK_INT(orma_tool_compressor_new(codec, 0, &compressor), 0);
		for (int i = 0; i < 3; i++) {
			CHECK_INT(orma_tool_compress(compressor, "abcabcabc", (size_t)(3 * i + 3),
						     &packed),
				  0);
			CHECK_INT(orma_tool_decompress(codec, packed.data, packed.size, 100, &back),
				  0);
			CHECK_INT(back.size, 3 * i + 3);
		}
		orma_tool_compressor_free(compressor);
		orma_base_buf_done(&packed);
		orma_base_buf_done(&back);
	}
}

ORMA_TEST(bombs_stop_at_the_limit)
{
	for (size_t k = 0; k < ORMA_ARRAY_SIZE(codecs); k++) {
		enum orma_codec codec = codecs[k];

		if (!is_there(codec))
			continue;
		size_t size = 64 << 20;
		uint8_t *zeros = calloc(1, size);
		struct orma_buf packed = {0}, back = {0};

		CHECK(zeros);
		compress(codec, 0, zeros, size, &packed);
		CHECK(packed.size < 100000);
		CHECK_INT(orma_tool_decompress(codec, packed.data, packed.size, 1 << 20, &back),
			  -EMSGSIZE);
		CHECK(back.capacity <= 4 << 20);
		orma_base_buf_done(&packed);
		orma_base_buf_done(&back);
		free(zeros);
	}
}

ORMA_TEST(damage_is_found)
{
	for (size_t k = 0; k < ORMA_ARRAY_SIZE(codecs); k++) {
		enum orma_codec codec = codecs[k];

		if (!is_there(codec))
			continue;
		struct orma_buf packed = {0}, back = {0};
		uint8_t *data = make_data(3000, false);

		compress(codec, 0, data, 3000, &packed);
		/* The data is cut at any byte. */
		for (size_t size = 0; size < packed.size; size++)
			CHECK_INT(orma_tool_decompress(codec, packed.data, size, 10000, &back),
				  -EBADMSG);
		/* A byte follows the data. */
		CHECK_INT(orma_base_buf_append(&packed, "x", 1), 0);
		CHECK_INT(orma_tool_decompress(codec, packed.data, packed.size, 10000, &back),
			  -EBADMSG);
		CHECK_INT(orma_tool_decompress(codec, "nonsense", 8, 10000, &back), -EBADMSG);
		/* Any byte is changed: the result is an error, or other bytes within the limit. */
		packed.size--;
		for (size_t i = 0; i < packed.size; i += 7) {
			packed.data[i] ^= 0x55;
			int r = orma_tool_decompress(codec, packed.data, packed.size, 10000, &back);
			CHECK(r == 0 || r == -EBADMSG || r == -EMSGSIZE);
			CHECK(back.size <= 10000);
			packed.data[i] ^= 0x55;
		}
		orma_base_free(data);
		orma_base_buf_done(&packed);
		orma_base_buf_done(&back);
	}
}

ORMA_TEST(codecs_that_are_not_there_are_not_supported)
{
	struct orma_tool_compressor *compressor;
	struct orma_buf buf = {0};

	CHECK_INT(orma_tool_compressor_new((enum orma_codec)3, 0, &compressor), -ENOTSUP);
	CHECK_INT(orma_tool_decompress((enum orma_codec)3, "x", 1, 10, &buf), -ENOTSUP);
	orma_tool_compressor_free(NULL);
}

ORMA_TEST(a_member_of_gzip_is_unpacked)
{
	/* "abc" four times */
	static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
					 0xff, 0x4b, 0x4c, 0x4a, 0x4e, 0x84, 0x21, 0x00, 0x34,
					 0x2a, 0x6e, 0x5a, 0x0c, 0x00, 0x00, 0x00};
	struct orma_buf out = {0};
	if (!(orma_tool_codecs() & 1u << ORMA_CODEC_DEFLATE))
		orma_test_skip("built without libdeflate");
	CHECK_INT(orma_tool_gunzip(packed, sizeof(packed), 100, &out), 0);
	CHECK_INT(out.size, 12);
	CHECK(memcmp(out.data, "abcabcabcabc", 12) == 0);
	CHECK_INT(orma_tool_gunzip(packed, sizeof(packed), 11, &out), -EMSGSIZE);
	CHECK_INT(orma_tool_gunzip(packed, sizeof(packed) - 1, 100, &out), -EBADMSG);
	orma_base_buf_done(&out);
}
