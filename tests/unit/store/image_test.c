/* SPDX-License-Identifier: Apache-2.0
 * image_test.c - columns that are saved and restored; headers and data that lie; the sum.
 */
#include "store/image.h"

#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

enum { ROWS = 3 * ORMA_BLOCK_ROWS + 77, COLUMNS = 5, BLOCK_WORDS = 4 };

static const struct orma_column_spec specs[COLUMNS] = {
	{"small", ORMA_COLUMN_INT, 0},   {"mixed", ORMA_COLUMN_INT, 0},
	{"same", ORMA_COLUMN_STRING, 0}, {"real", ORMA_COLUMN_DOUBLE, 0},
	{"wide", ORMA_COLUMN_INT, 0},
};

struct saved {
	struct orma_extents extents;
	struct orma_table table;
	struct orma_image_writer writer;
	struct orma_image_reader reader;
	void *mapped;
	size_t size;
};

/* Numbers with NULLs and exceptions among them, equal ones, doubles, and some that do not pack. */
static void make_row(uint64_t row, int64_t cells[COLUMNS])
{
	uint64_t random = (row + 1) * UINT64_C(0x9e3779b97f4a7c15);
	cells[0] = (int64_t)(random >> 55);
	cells[1] = random % 50 == 0   ? ORMA_CELL_NULL
		   : random % 70 == 0 ? (int64_t)(random >> 2)
				      : (int64_t)(random >> 52);
	cells[2] = 1;
	cells[3] = orma_store_cell_of_double(row < ORMA_BLOCK_ROWS ? (double)row : (double)row / 3);
	cells[4] = (int64_t)random;
}

static void save(struct saved *saved)
{
	static const uint8_t key[ORMA_SUM_KEY_BYTES] = "a key";
	*saved = (struct saved){.extents = {.fd = -1},
				.writer = {.fd = memfd_create("image", MFD_CLOEXEC)}};
	CHECK(saved->writer.fd >= 0);
	CHECK_INT(orma_store_table_init(&saved->table, "t", specs, COLUMNS, &saved->extents), 0);
	for (uint64_t row = 0; row < ROWS; row++) {
		int64_t cells[COLUMNS];
		make_row(row, cells);
		CHECK_INT(orma_store_table_append(&saved->table, cells), 0);
	}
	CHECK_INT(orma_store_table_seal(&saved->table), 0);
	orma_keyed_sum_init(&saved->writer.sum, key);
	orma_store_table_save(&saved->table, &saved->writer);
	uint64_t notes_bytes = saved->writer.notes.size;
	orma_image_finish(&saved->writer);
	CHECK_INT(saved->writer.error, 0);
	saved->size = (size_t)saved->writer.written_bytes;
	CHECK_INT(saved->size, orma_image_part_bytes(saved->writer.data_bytes) +
				       orma_image_part_bytes(notes_bytes));
	saved->mapped =
		mmap(NULL, saved->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, saved->writer.fd, 0);
	CHECK(saved->mapped != MAP_FAILED);
	uint8_t *data = saved->mapped;
	uint8_t *notes = data + orma_image_part_bytes(saved->writer.data_bytes);
	saved->reader = (struct orma_image_reader){.data = data,
						   .data_bytes = saved->writer.data_bytes,
						   .notes = notes,
						   .end = notes + notes_bytes};
}

static void saved_done(struct saved *saved)
{
	munmap(saved->mapped, saved->size);
	close(saved->writer.fd);
	orma_image_writer_done(&saved->writer);
	orma_store_table_done(&saved->table);
	orma_store_extents_done(&saved->extents);
}

/* Restores the table, and reads all of it if that was possible. */
static int restore(const struct saved *saved, struct orma_table *ret)
{
	static struct orma_extents extents = {.fd = -1};
	struct orma_image_reader reader = saved->reader;
	CHECK_INT(orma_store_table_init(ret, "t", specs, COLUMNS, &extents), 0);
	return orma_store_table_restore(ret, &reader);
}

static int64_t read_all(const struct orma_table *table)
{
	static int64_t cells[ORMA_BLOCK_ROWS];
	int64_t sum = 0;
	for (size_t i = 0; i < COLUMNS; i++)
		for (size_t block = 0; block < orma_store_column_blocks(&table->columns[i]);
		     block++) {
			size_t count = orma_store_column_read(&table->columns[i], block, cells);
			for (size_t row = 0; row < count; row++)
				sum = (int64_t)((uint64_t)sum * 31 + (uint64_t)cells[row]);
			sum ^= orma_store_column_get(&table->columns[i],
						     block * ORMA_BLOCK_ROWS + count - 1);
		}
	return sum;
}

ORMA_TEST(a_restored_table_is_the_one_that_was_saved)
{
	struct saved saved;
	struct orma_table table;
	save(&saved);
	CHECK_INT(restore(&saved, &table), 0);
	CHECK_INT(orma_store_table_rows(&table), ROWS);
	CHECK_INT(read_all(&table), read_all(&saved.table));
	int64_t min, max, cells[COLUMNS];
	make_row(ROWS - 1, cells);
	for (size_t i = 0; i < COLUMNS; i++)
		CHECK_INT(orma_store_column_get(&table.columns[i], ROWS - 1), cells[i]);
	CHECK(orma_store_column_range(&table.columns[0], 1, &min, &max));
	CHECK(min >= 0 && max < 512);
	orma_store_table_done(&table);
	saved_done(&saved);
}

ORMA_TEST(headers_of_blocks_that_lie_are_refused)
{
	/* Words of the first column: a count, four for each block, the tail. */
	static const struct {
		size_t word;
		uint64_t value;
	} lies[] = {
		{0, UINT64_MAX},                            /* blocks */
		{0, 2},                                     /* fewer rows than the next column */
		{BLOCK_WORDS - 1, UINT64_MAX - 100},        /* the place */
		{BLOCK_WORDS, 57 << 16},                    /* a width that there is not */
		{BLOCK_WORDS, 9 << 16 | 5},                 /* exceptions without escapes */
		{BLOCK_WORDS, 1 << 24 | 9 << 16 | 0xffff},  /* too many exceptions */
		{BLOCK_WORDS, UINT64_C(4) << 24 | 9 << 16}, /* raw */
		{BLOCK_WORDS, UINT64_C(8) << 24 | 9 << 16}, /* doubles in a column of integers */
		{BLOCK_WORDS, UINT64_C(1) << 32},           /* more than the header has */
		{3 * BLOCK_WORDS + 1, 5000},                /* rows of the tail */
		{3 * BLOCK_WORDS + 2, 77},                  /* the kind of the tail */
	};
	struct saved saved;
	struct orma_table table;
	save(&saved);
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)saved.reader.notes + lies[i].word * 8;
		uint64_t before;
		memcpy(&before, at, 8);
		memcpy(at, &lies[i].value, 8);
		int r = restore(&saved, &table);
		if (r != -EBADMSG)
			orma_test_fail(__FILE__, __LINE__, "lie %zu is taken: %d", i, r);
		memcpy(at, &before, 8);
		orma_store_table_done(&table);
	}
	saved_done(&saved);
}

ORMA_TEST(notes_that_end_early_are_refused)
{
	struct saved saved;
	struct orma_table table;
	save(&saved);
	const uint8_t *end = saved.reader.end;
	for (size_t cut = 8; cut <= (size_t)(end - saved.reader.notes); cut += 8) {
		saved.reader.end = end - cut;
		CHECK_INT(restore(&saved, &table), -EBADMSG);
		orma_store_table_done(&table);
	}
	saved_done(&saved);
}

ORMA_TEST(data_that_lies_is_read_within_its_bounds)
{
	struct saved saved;
	struct orma_table table;
	save(&saved);
	memset((uint8_t *)saved.mapped, 0xff, saved.writer.data_bytes);
	CHECK_INT(restore(&saved, &table), 0);
	read_all(&table);
	orma_store_table_done(&table);
	saved_done(&saved);
}

ORMA_TEST(no_failure_of_memory_is_overlooked)
{
	struct saved saved;
	struct orma_table table;
	save(&saved);
	for (uint64_t nth = 2;; nth++) {
		orma_test_fail_allocation(nth);
		int r = restore(&saved, &table);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_store_table_done(&table);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (!has_failed)
			break;
	}
	saved_done(&saved);
}

ORMA_TEST(strings_keep_their_ids)
{
	struct orma_string_pool pool = {.text = {.fd = -1}, .seed = 1},
				other = {.text = {.fd = -1}, .seed = 2};
	struct orma_image_writer writer = {.fd = -1};
	uint32_t id;
	CHECK_INT(orma_store_pool_add(&pool, ORMA_STR("first"), &id), 0);
	CHECK_INT(orma_store_pool_add(&pool, ORMA_STR(""), &id), 0);
	CHECK_INT(orma_store_pool_add(&pool, ORMA_STR("a longer text"), &id), 0);
	orma_store_pool_save(&pool, &writer);
	struct orma_image_reader reader = {.notes = writer.notes.data,
					   .end = writer.notes.data + writer.notes.size};
	CHECK_INT(orma_store_pool_restore(&other, &reader), 0);
	CHECK_INT(other.count, 3);
	CHECK_INT(orma_store_pool_find(&other, ORMA_STR("a longer text")), 3);
	CHECK_INT(orma_store_pool_find(&other, ORMA_STR("")), 2);
	/* One text twice would give two strings one id. */
	memcpy(writer.notes.data + 8, writer.notes.data + 24, 8);
	reader = (struct orma_image_reader){.notes = writer.notes.data,
					    .end = writer.notes.data + writer.notes.size};
	orma_store_pool_done(&other);
	other = (struct orma_string_pool){.text = {.fd = -1}};
	CHECK_INT(orma_store_pool_restore(&other, &reader), -EBADMSG);
	orma_store_pool_done(&other);
	orma_store_pool_done(&pool);
	orma_image_writer_done(&writer);
}

static uint64_t sum_of(const char *key, const uint8_t *data, size_t blocks, uint64_t word)
{
	struct orma_keyed_sum sum;
	uint8_t bytes[ORMA_SUM_KEY_BYTES] = {0};
	snprintf((char *)bytes, sizeof(bytes), "%s", key);
	orma_keyed_sum_init(&sum, bytes);
	orma_keyed_sum_blocks(&sum, data, blocks);
	orma_keyed_sum_word(&sum, word);
	return orma_keyed_sum_finish(&sum);
}

ORMA_TEST(a_sum_depends_on_each_byte_and_on_the_key)
{
	static uint8_t data[2 * ORMA_SUM_BLOCK_BYTES];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	uint64_t whole = sum_of("key", data, 2, 5);
	CHECK(whole == sum_of("key", data, 2, 5));
	CHECK(whole != sum_of("kez", data, 2, 5));
	CHECK(whole != sum_of("key", data, 2, 6));
	CHECK(whole != sum_of("key", data, 1, 5));
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] ^= 1;
		CHECK(whole != sum_of("key", data, 2, 5));
		data[i] ^= 1;
	}
	/* Words that change their places are another block. */
	memcpy(data, data + 8, 8);
	CHECK(whole != sum_of("key", data, 2, 5));
}
