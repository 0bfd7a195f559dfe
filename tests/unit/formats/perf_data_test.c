/* SPDX-License-Identifier: Apache-2.0
 * perf_data_test.c - files of `perf record`, as a file and through a pipe.
 */
#include <errno.h>

#include "convert_fixture.h"
#include "formats/perf_spaces.h"
#include "formats/zstd_unpack.h"

static struct import_fixture fixture;

/* A file that is written piece by piece. */
struct bytes {
	uint8_t data[8192];
	size_t size;
};

static void put(struct bytes *bytes, const void *data, size_t size)
{
	CHECK(size <= sizeof(bytes->data) - bytes->size);
	if (size > 0)
		memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

static void put32(struct bytes *bytes, uint32_t value)
{
	put(bytes, &value, sizeof(value));
}

static void put64(struct bytes *bytes, uint64_t value)
{
	put(bytes, &value, sizeof(value));
}

/* Texts end at a multiple of eight. */
static void put_text(struct bytes *bytes, const char *text)
{
	static const char zeros[8];
	size_t size = strlen(text) + 1;
	put(bytes, text, size);
	put(bytes, zeros, (8 - size % 8) % 8);
}

static size_t begin_record(struct bytes *bytes, uint32_t type, uint16_t misc)
{
	put32(bytes, type);
	put32(bytes, misc);
	return bytes->size - 8;
}

static void end_record(struct bytes *bytes, size_t begin)
{
	uint16_t size = (uint16_t)(bytes->size - begin);
	memcpy(bytes->data + begin + 6, &size, sizeof(size));
}

enum {
	IP = 1,
	TID = 2,
	TIME = 4,
	CHAIN = 1 << 5,
	ID = 1 << 6,
	CPU = 1 << 7,
	PERIOD = 1 << 8,
	SAMPLE_BITS = IP | TID | TIME | CHAIN | ID | CPU | PERIOD,
};

/* The event of 64 + 64 bytes: its type, what it counts, and that all records have ids. */
static void put_attr(struct bytes *bytes, uint32_t type, uint64_t config)
{
	static const uint8_t zeros[80];
	put32(bytes, type);
	put32(bytes, 128);
	put64(bytes, config);
	put64(bytes, 1000);
	put64(bytes, SAMPLE_BITS);
	put64(bytes, 0);
	put64(bytes, 1 << 18);
	put(bytes, zeros, sizeof(zeros));
}

/* All records but samples end with these fields. */
static void put_sample_id(struct bytes *bytes, uint32_t pid, uint64_t time)
{
	put32(bytes, pid);
	put32(bytes, pid);
	put64(bytes, time);
	put64(bytes, 0);
	put64(bytes, 0);
}

static void put_mapping(struct bytes *bytes, uint64_t time, uint32_t pid, uint64_t start,
			uint64_t size, uint64_t offset, const char *name)
{
	size_t begin = begin_record(bytes, 1, pid == UINT32_MAX ? 1 : 2);
	put32(bytes, pid);
	put32(bytes, pid);
	put64(bytes, start);
	put64(bytes, size);
	put64(bytes, offset);
	put_text(bytes, name);
	put_sample_id(bytes, pid, time);
	end_record(bytes, begin);
}

static void put_comm(struct bytes *bytes, uint64_t time, uint32_t pid, bool is_exec,
		     const char *comm)
{
	size_t begin = begin_record(bytes, 3, is_exec ? 1 << 13 : 0);
	put32(bytes, pid);
	put32(bytes, pid);
	put_text(bytes, comm);
	put_sample_id(bytes, pid, time);
	end_record(bytes, begin);
}

static void put_fork(struct bytes *bytes, uint64_t time, uint32_t pid, uint32_t tid,
		     uint32_t parent)
{
	size_t begin = begin_record(bytes, 7, 0);
	put32(bytes, pid);
	put32(bytes, parent);
	put32(bytes, tid);
	put32(bytes, parent);
	put64(bytes, time);
	put_sample_id(bytes, parent, time);
	end_record(bytes, begin);
}

static void put_sample(struct bytes *bytes, uint64_t time, uint32_t pid, uint64_t id,
		       const uint64_t *chain, uint64_t count)
{
	size_t begin = begin_record(bytes, 9, 2);
	put64(bytes, count > 0 ? chain[count - 1] : 0x1010);
	put32(bytes, pid);
	put32(bytes, pid);
	put64(bytes, time);
	put64(bytes, id);
	put64(bytes, 3); /* CPU */
	put64(bytes, 500);
	put64(bytes, count);
	put(bytes, chain, count * 8);
	end_record(bytes, begin);
}

/* Two processes, of which the second is the first's child; the sample at 60 comes before the mapping at 50. */
static void put_records(struct bytes *bytes)
{
	static const uint64_t kernel_and_user[] = {(uint64_t)-128, 0xffff0010, (uint64_t)-512,
						   0x1020, 0x2030};
	static const uint64_t user[] = {(uint64_t)-512, 0x1020};
	put_mapping(bytes, 0, UINT32_MAX, 0xffff0000, 0x1000, 0xffff0000, "[kernel.kallsyms]_text");
	put_comm(bytes, 10, 70, true, "prog");
	put_mapping(bytes, 20, 70, 0x1000, 0x1000, 0x100, "/bin/prog");
	put_sample(bytes, 30, 70, 1, kernel_and_user, 5);
	put_fork(bytes, 40, 80, 80, 70);
	put_sample(bytes, 60, 80, 2, user, 2);
	put_mapping(bytes, 50, 80, 0x1800, 0x1000, 0, "/lib/x.so");
	put_sample(bytes, 70, 80, 1, NULL, 0);
	put_sample(bytes, 80, 80, 99, NULL, 0);
	put_comm(bytes, 90, 80, true, "other");
	put_sample(bytes, 100, 80, 1, user, 2);
	size_t lost = begin_record(bytes, 2, 0);
	put64(bytes, 1);
	put64(bytes, 12);
	put_sample_id(bytes, 70, 110);
	end_record(bytes, lost);
}

static void put_string(struct bytes *bytes, const char *text)
{
	put32(bytes, (uint32_t)strlen(text) + 1);
	put(bytes, text, strlen(text) + 1);
}

static void set64(struct bytes *bytes, size_t at, uint64_t value)
{
	memcpy(bytes->data + at, &value, sizeof(value));
}

/* Features: build ids, the name of the machine, its kernel, the command. */
static void put_features(struct bytes *bytes)
{
	static const uint8_t id[] = {1, 0xab};
	static const uint8_t zeros[22];
	size_t places = bytes->size;
	for (int i = 0; i < 8; i++)
		put64(bytes, 0);
	size_t starts[5] = {bytes->size};
	size_t record = begin_record(bytes, 0, 1 << 15 | 2);
	put32(bytes, (uint32_t)-1);
	put(bytes, id, 2);
	put(bytes, zeros, 18);
	put32(bytes, 2); /* how long the id is */
	put_text(bytes, "/bin/prog");
	end_record(bytes, record);
	starts[1] = bytes->size;
	put_string(bytes, "box");
	starts[2] = bytes->size;
	put_string(bytes, "6.1.0");
	starts[3] = bytes->size;
	put32(bytes, 2);
	put_string(bytes, "perf");
	put_string(bytes, "record");
	starts[4] = bytes->size;
	for (size_t i = 0; i < 4; i++) {
		set64(bytes, places + i * 16, starts[i]);
		set64(bytes, places + i * 16 + 8, starts[i + 1] - starts[i]);
	}
}

static void put_file(struct bytes *bytes)
{
	bytes->size = 0;
	put(bytes, "PERFILE2", 8);
	put64(bytes, 104);
	put64(bytes, 128 + 16);
	put64(bytes, 104);
	put64(bytes, 2 * (128 + 16)); /* events */
	put64(bytes, 104 + 2 * (128 + 16) + 16);
	put64(bytes, 0); /* the data's size, which is known later */
	put64(bytes, 0);
	put64(bytes, 0);
	put64(bytes, 1 << 2 | 1 << 3 | 1 << 4 | 1 << 11);
	for (int i = 0; i < 3; i++)
		put64(bytes, 0);
	uint64_t ids = bytes->size + 2 * (128 + 16);
	put_attr(bytes, 0, 0);
	put64(bytes, ids);
	put64(bytes, 8);
	put_attr(bytes, 1, 2);
	put64(bytes, ids + 8);
	put64(bytes, 8);
	put64(bytes, 1);
	put64(bytes, 2);
	size_t begin = bytes->size;
	put_records(bytes);
	set64(bytes, 48, bytes->size - begin);
	put_features(bytes);
}

static void check_samples(void)
{
	CHECK_STR(import_rows(
			  &fixture, ORMA_TABLE_PROFILER_SAMPLE,
			  "ts source task_context_id execution_context_id callsite_id session_id"),
		  "30 linux.perf 0 0 2 0\n60 linux.perf 1 0 3 1\n70 linux.perf 1 0 4 0\n"
		  "100 linux.perf 1 0 5 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_CALLSITE, "depth parent_id frame_id"),
		  "0 - 0\n1 0 1\n2 1 2\n0 - 3\n0 - 4\n0 - 5\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "mapping rel_pc"),
		  "0 8240\n1 288\n2 4294901776\n3 288\n3 272\n0 4128\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name parent_upid"),
		  "0 - -\n70 prog 0\n80 other 1\n");
	CHECK_STR(import_counters(&fixture), "cpu-cycles: 500 1000 1500\npage-faults: 500\n");
	CHECK_INT(import_stat(&fixture, "perf_cpu_lost_records"), 12);
	CHECK_INT(import_stat(&fixture, "perf_record_skipped"), 1);
	CHECK_INT(import_stat(&fixture, "perf_dummy_mapping_used"), 2);
}

ORMA_TEST(samples_are_resolved_with_the_mappings_of_their_time)
{
	static struct bytes bytes;
	put_file(&bytes);
	CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, NULL), 1);
	CHECK_INT(fixture.result, 0);
	check_samples();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING,
			      "build_id exact_offset start end name"),
		  " 0 0 0 [unknown]\n01ab 256 4096 8192 /bin/prog\n"
		  " 4294901760 4294901760 4294905856 [kernel.kallsyms]_text\n"
		  "01ab 256 4096 6144 /bin/prog\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SESSION, "timebase_unit cmdline"),
		  "cycles perf record\ncount perf record\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_MACHINE, "name sysname release"),
		  "box Linux 6.1.0\n");
	import_done(&fixture);
}

/* The header of a pipe, and its events, which are records. */
static void put_pipe_start(struct bytes *bytes)
{
	bytes->size = 0;
	put(bytes, "PERFILE2", 8);
	put64(bytes, 16);
	for (uint64_t i = 0; i < 2; i++) {
		size_t record = begin_record(bytes, 64, 0);
		put_attr(bytes, (uint32_t)i, 2 * i);
		put64(bytes, i + 1);
		end_record(bytes, record);
	}
}

/* A pipe with all records, and rounds that say how far the order goes. */
static void put_pipe(struct bytes *bytes)
{
	put_pipe_start(bytes);
	size_t feature = begin_record(bytes, 80, 0);
	put64(bytes, 4);
	put_string(bytes, "6.1.0");
	end_record(bytes, feature);
	put_records(bytes);
	for (int i = 0; i < 3; i++)
		end_record(bytes, begin_record(bytes, 68, 0));
	end_record(bytes, begin_record(bytes, 81, 0));
	end_record(bytes, begin_record(bytes, 200, 0));
}

enum { LOST = 2, LOST_SAMPLES = 13, LOST_BY_FILTER = 1 << 15 };

static void put_lost(struct bytes *bytes, uint32_t type, uint16_t misc, uint64_t count,
		     uint64_t time)
{
	size_t record = begin_record(bytes, type, misc);

	if (type == LOST)
		put64(bytes, 1);
	put64(bytes, count);
	put_sample_id(bytes, 70, time);
	end_record(bytes, record);
}

/* perf 6.1 writes the counts of the events at its end; 12 records were lost before, see put_records(). */
ORMA_TEST(records_that_were_lost_count_once)
{
	static const struct {
		uint32_t type;
		uint16_t misc;
		uint64_t count, time;
		int64_t sum;
	} cases[] = {
		{LOST, 0, 5, 120, 17},
		/* The same ones, and with three more after the last LOST. */
		{LOST_SAMPLES, 0, 9, 0, 12},
		{LOST_SAMPLES, 0, 15, 0, 15},
		/* The processor dropped samples. */
		{LOST_SAMPLES, 0, 7, 120, 19},
		{LOST_SAMPLES, LOST_BY_FILTER, 1000, 0, 12},
		{LOST_SAMPLES, 0, UINT64_MAX, 0, INT64_MAX},
	};
	static struct bytes bytes;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		put_pipe_start(&bytes);
		put_records(&bytes);
		put_lost(&bytes, cases[i].type, cases[i].misc, cases[i].count, cases[i].time);
		CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, NULL), 1);
		CHECK_INT(import_stat(&fixture, "perf_cpu_lost_records"), cases[i].sum);
		import_done(&fixture);
	}
}

/* A mapping whose 24 bytes begin with `number`: the size of a build id, or a device. */
static void put_mapping2(struct bytes *bytes, uint64_t time, uint32_t number)
{
	static const uint8_t id[20] = {0xcd};
	size_t begin = begin_record(bytes, 10, 1 << 14 | 2);

	put32(bytes, 70);
	put32(bytes, 70);
	put64(bytes, 0x1000);
	put64(bytes, 0x1000);
	put64(bytes, 0);
	put32(bytes, number);
	put(bytes, id, sizeof(id));
	put64(bytes, 0);
	put_text(bytes, "/bin/mapped");
	put_sample_id(bytes, 70, time);
	end_record(bytes, begin);
}

/* Linux sets the bit for a build id also when it is another program that has asked for build ids. */
ORMA_TEST(build_ids_in_mappings_are_those_that_were_asked_for)
{
	static const struct {
		bool asks;
		uint32_t number;
		const char *build_id;
	} cases[] = {
		{false, 8, ""},
		{false, 20, "cd00000000000000000000000000000000000000"},
		{true, 8, "cd00000000000000"},
		{true, 21, ""},
	};
	static const uint64_t chain[] = {(uint64_t)-512, 0x1020};
	static struct bytes bytes;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		put_pipe_start(&bytes);
		if (cases[i].asks)
			set64(&bytes, 16 + 8 + 40, 1 << 18 | UINT64_C(1) << 34);
		put_mapping2(&bytes, 10, cases[i].number);
		put_sample(&bytes, 20, 70, 1, chain, 2);
		CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, NULL), 1);
		ORMA_AUTO(orma_base_buf_done) struct orma_buf expected = {0};
		orma_base_buf_printf(&expected, "%s 4096 /bin/mapped\n", cases[i].build_id);
		CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING, "build_id start name"),
			  orma_base_buf_cstr(&expected));
		import_done(&fixture);
	}
}

ORMA_TEST(a_pipe_has_its_events_among_the_records)
{
	static struct bytes bytes;
	put_pipe(&bytes);
	CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts callsite_id"),
		  "30 2\n60 3\n70 4\n100 5\n");
	CHECK_STR(import_counters(&fixture), "cpu-cycles: 500 1000 1500\npage-faults: 500\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_MACHINE, "release"), "6.1.0\n");
	CHECK_INT(import_stat(&fixture, "perf_unknown_record_type"), 1);
	import_done(&fixture);
}

static void put_packed(struct bytes *bytes, const uint8_t *data, size_t size)
{
	size_t record = begin_record(bytes, 81, 0);
	put(bytes, data, size);
	end_record(bytes, record);
}

/* The start of a frame of zstd, and a block in it that holds its bytes as they are. */
static void put_frame_start(struct bytes *bytes, size_t block_size)
{
	static const uint8_t header[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x50};
	put(bytes, header, sizeof(header));
	uint32_t block = (uint32_t)block_size << 3;
	put(bytes, &block, 3);
}

static bool has_zstd(void)
{
	struct orma_zstd_stream stream = {.context = NULL};
	int r = orma_zstd_begin(&stream);
	orma_zstd_done(&stream);
	return r == 0;
}

/* A pipe whose records are packed, with a cut inside one of them. */
static void put_packed_pipe(struct bytes *bytes, size_t first_size)
{
	static struct bytes records, frame;
	records.size = frame.size = 0;
	put_records(&records);
	put_frame_start(&frame, records.size);
	put(&frame, records.data, records.size);
	put_pipe_start(bytes);
	put_packed(bytes, frame.data, first_size);
	put_packed(bytes, frame.data + first_size, frame.size - first_size);
}

ORMA_TEST(packed_records_may_begin_in_one_piece_and_end_in_the_next)
{
	static struct bytes bytes;
	if (!has_zstd())
		orma_test_skip("built without zstd");
	for (size_t cut = 0; cut < 200; cut += 13) {
		put_packed_pipe(&bytes, cut);
		CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, NULL), 1);
		CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts callsite_id"),
			  "30 2\n60 3\n70 4\n100 5\n");
		CHECK_INT(import_stat(&fixture, "perf_record_skipped"), 1);
		import_done(&fixture);
	}
}

ORMA_TEST(packed_records_that_are_damaged_are_counted)
{
	static struct bytes bytes;
	struct orma_error error = {0};
	put_pipe(&bytes);
	put_packed(&bytes, (const uint8_t *)"no zstd at all..", 16);
	put_packed(&bytes, (const uint8_t *)"no zstd at all..", 16);
	CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts"), "30\n60\n70\n100\n");
	const char *stats = import_rows(&fixture, ORMA_TABLE_STATS, "name idx value");
	CHECK(strstr(stats,
		     has_zstd() ? "perf_record_skipped 81 2\n" : "perf_record_skipped 81 3\n"));
	import_done(&fixture);
	if (!has_zstd())
		return;
	put_packed_pipe(&bytes, 100);
	bytes.size -= 200;
	CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size, &error), -EBADMSG);
	import_done(&fixture);
}

ORMA_TEST(of_a_file_that_is_cut_the_rest_is_shown)
{
	static struct bytes bytes;
	struct orma_error error = {0};
	put_pipe(&bytes);
	CHECK_INT(convert_bytes(&fixture, bytes.data, bytes.size - 60, &error), -EBADMSG);
	CHECK(strstr(error.message, "the file of perf is damaged at byte"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts"), "30\n60\n70\n100\n");
	import_done(&fixture);
	put_file(&bytes);
	CHECK_INT(convert_bytes(&fixture, bytes.data, 80, &error), -EBADMSG);
	CHECK_STR(error.message, "the header of the file of perf is damaged");
	import_done(&fixture);
}

ORMA_TEST(a_mapping_cuts_what_it_covers)
{
	struct orma_perf_spaces spaces = {0};
	struct orma_perf_mapping whole = {.start = 100, .end = 200, .name = ORMA_STR("a")};
	struct orma_perf_mapping middle = {.start = 140, .end = 160, .name = ORMA_STR("b")};
	CHECK_INT(orma_perf_spaces_add(&spaces, 7, &whole), 0);
	CHECK_INT(orma_perf_spaces_add(&spaces, 7, &middle), 0);
	CHECK_INT(orma_perf_spaces_begin(&spaces, 8, 7), 0);
	CHECK_INT(orma_perf_spaces_find(&spaces, 8, 139)->end, 140);
	CHECK_STR(orma_perf_spaces_find(&spaces, 8, 140)->name.data, "b");
	CHECK_INT(orma_perf_spaces_find(&spaces, 8, 160)->offset, 60);
	CHECK(!orma_perf_spaces_find(&spaces, 8, 200));
	CHECK_INT(orma_perf_spaces_begin(&spaces, 8, -1), 0);
	CHECK(!orma_perf_spaces_find(&spaces, 8, 140));
	orma_perf_spaces_done(&spaces);
}

ORMA_TEST(mappings_take_a_limited_amount_of_work)
{
	struct orma_perf_spaces spaces = {.moves = ORMA_PERF_MOVES_MAX - 2};
	struct orma_perf_mapping later = {.start = 200, .end = 300, .name = ORMA_STR("a")};
	struct orma_perf_mapping before = {.start = 100, .end = 150, .name = ORMA_STR("b")};
	CHECK_INT(orma_perf_spaces_add(&spaces, 7, &later), 0);
	CHECK_INT(orma_perf_spaces_add(&spaces, 7, &before), -ENOSPC);
	CHECK_INT(orma_perf_spaces_begin(&spaces, 8, 7), 0);
	CHECK_INT(orma_perf_spaces_begin(&spaces, 9, 7), -ENOSPC);
	orma_perf_spaces_done(&spaces);
}
