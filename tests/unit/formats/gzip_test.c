/* SPDX-License-Identifier: Apache-2.0
 * gzip_test.c - compressed files: whole, cut, damaged, of several members, and made to fill a disk.
 */
#include <errno.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert_fixture.h"
#include "formats/formats.h"
#include "formats/inflate.h"

static size_t pack(const void *data, size_t size, int level, uint8_t *ret, size_t room)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
	size_t packed = libdeflate_gzip_compress(compressor, data, size, ret, room);
	libdeflate_free_compressor(compressor);
	CHECK(packed > 0);
	return packed;
}

/* Text that repeats in part, so that there are literals and matches of all distances. */
static void fill(char *text, size_t size)
{
	uint32_t seed = 1;
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = seed >> 28 < 6 && i > 40000 ? text[i - 1 - (seed >> 8) % 40000]
						      : (char)(' ' + (seed >> 24) % 90);
	}
}

static struct orma_trace_bytes spool_of(const void *data, size_t size)
{
	struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1};
	uint64_t address;
	CHECK_INT(orma_trace_bytes_add(&bytes, data, size, &address), 0);
	return bytes;
}

ORMA_TEST(each_kind_of_block_is_inflated)
{
	enum { SIZE = 1 << 20, GZIP_HEADER = 10, GZIP_TRAILER = 8 };
	static char text[SIZE], copy[SIZE];
	static uint8_t packed[2 * SIZE];
	fill(text, SIZE);
	for (int level = 0; level <= 12; level += 3)
		for (size_t size = 1; size <= SIZE; size *= 32) {
			size_t packed_size = pack(text, size, level, packed, sizeof(packed));
			struct orma_trace_bytes in = spool_of(packed, packed_size);
			struct orma_trace_bytes out = {.fd = -1, .spool_fd = -1};
			uint64_t address = GZIP_HEADER, bytes;
			uint32_t crc;
			CHECK_INT(orma_inflate(&in, &address, packed_size, UINT64_MAX, &out, &crc,
					       &bytes),
				  0);
			CHECK_INT(address, (long long)packed_size - GZIP_TRAILER);
			CHECK_INT(bytes, (long long)size);
			CHECK_INT(crc, libdeflate_crc32(0, text, size));
			CHECK_INT(pread(out.spool_fd, copy, size, 0), (long long)size);
			CHECK(memcmp(copy, text, size) == 0);
			orma_trace_bytes_done(&in);
			orma_trace_bytes_done(&out);
		}
}

static const char log_text[] = "# ninja log v5\n0\t1\t0\ta\tff\n1\t2\t0\tb\tfe\n";

ORMA_TEST(a_compressed_trace_is_read_also_in_several_members)
{
	static struct import_fixture fixture;
	static uint8_t packed[1000];
	size_t size = pack(log_text, 20, 6, packed, sizeof(packed));
	size += pack(log_text + 20, sizeof(log_text) - 21, 1, packed + size, sizeof(packed) - size);
	/* Some programs add zeros. */
	CHECK_INT(convert_bytes(&fixture, packed, size + 100, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "a\nb\n");
	import_done(&fixture);
}

ORMA_TEST(a_file_may_be_compressed_twice)
{
	static struct import_fixture fixture;
	static uint8_t once[1000], twice[1000];
	size_t size = pack(log_text, sizeof(log_text) - 1, 6, once, sizeof(once));
	size = pack(once, size, 6, twice, sizeof(twice));
	CHECK_INT(convert_bytes(&fixture, twice, size, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "a\nb\n");
	import_done(&fixture);
}

ORMA_TEST(what_comes_before_damage_is_read)
{
	enum { COUNT = 20000 };
	static struct import_fixture fixture;
	static char text[COUNT * 20];
	static uint8_t packed[COUNT * 20];
	struct orma_error error = {0};
	size_t size = (size_t)sprintf(text, "# ninja log v5\n");
	for (int i = 0; i < COUNT; i++)
		size += (size_t)sprintf(text + size, "%d\t%d\t0\ta\t%x\n", i, i + 1, i);
	size = pack(text, size, 6, packed, sizeof(packed));
	CHECK_INT(convert_bytes(&fixture, packed, size / 2, &error), -EBADMSG);
	CHECK(strstr(error.message, "the compressed file is cut or damaged before byte"));
	uint64_t rows = orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_SLICE]);
	CHECK(rows > COUNT / 4 && rows < COUNT * 3 / 4);
	import_done(&fixture);
	fixture = (struct import_fixture){0};
	packed[size - 5] ^= 1; /* a byte in the checksum */
	CHECK_INT(convert_bytes(&fixture, packed, size, NULL), -EBADMSG);
	CHECK_INT(orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_SLICE]), COUNT);
	import_done(&fixture);
}

ORMA_TEST(data_that_grows_beyond_a_limit_is_refused)
{
	enum { SIZE = 1 << 20 };
	static char zeros[SIZE];
	static uint8_t packed[SIZE];
	size_t size = pack(zeros, SIZE, 9, packed, sizeof(packed));
	struct orma_trace_bytes in = spool_of(packed, size), out = {.fd = -1, .spool_fd = -1};
	uint64_t address = 10, bytes;
	uint32_t crc;
	CHECK_INT(orma_inflate(&in, &address, size, SIZE - 1, &out, &crc, &bytes), -EMSGSIZE);
	CHECK(out.spool_size < SIZE);
	orma_trace_bytes_done(&in);
	orma_trace_bytes_done(&out);
	CHECK_INT(orma_unpacked_limit(1000), (256 << 20) + 250000);
}

ORMA_TEST(bytes_that_are_no_deflate_data_are_refused)
{
	static const struct {
		uint8_t data[8];
		size_t size;
	} cases[] = {{{0}, 0},
		     {{0x07}, 1},
		     {{0x01, 1, 0, 0, 0, 1}, 6},
		     {{0x01, 1, 0}, 3},
		     {{0x03, 0x02}, 2},
		     {{0x05, 0xff, 0xff, 0xff}, 4},
		     {{0x4b, 0x04, 0x82}, 3}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct orma_trace_bytes in = spool_of(cases[i].data, cases[i].size + 1);
		struct orma_trace_bytes out = {.fd = -1, .spool_fd = -1};
		uint64_t address = 0, bytes;
		uint32_t crc;
		CHECK_INT(
			orma_inflate(&in, &address, cases[i].size, UINT64_MAX, &out, &crc, &bytes),
			-EBADMSG);
		orma_trace_bytes_done(&in);
		orma_trace_bytes_done(&out);
	}
}

ORMA_TEST(what_is_unpacked_and_not_known_is_shown)
{
	static struct import_fixture fixture;
	const struct {
		struct orma_str content;
		const char *shown;
	} cases[] = {{ORMA_STR("hello \xc3\xa9\nmore"), "\"hello \xc3\xa9\""},
		     {ORMA_STR("\x01\x02z\xff\x05\x06\x07\x08\x09"), "01 02 7a ff 05 06 07 08"},
		     {ORMA_STR("text\x1b[2J"), "74 65 78 74 1b 5b 32 4a"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct orma_error error = {0};
		uint8_t packed[200];
		char expected[200];
		size_t size = pack(cases[i].content.data, cases[i].content.size, 6, packed,
				   sizeof(packed));
		CHECK_INT(convert_bytes(&fixture, packed, size, &error), -EPROTONOSUPPORT);
		snprintf(expected, sizeof(expected),
			 "Unknown trace type provided (ERR:fmt): what was unpacked begins with %s",
			 cases[i].shown);
		CHECK_STR(error.message, expected);
	}
}
