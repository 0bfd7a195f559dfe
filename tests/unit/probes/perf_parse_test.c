/* SPDX-License-Identifier: Apache-2.0
 * perf_parse_test.c - records of perf events and their ring, from made-up bytes.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "harness.h"
#include "probes/perf/perf_parse.h"
#include "probes/perf/perf_ring.h"

#define IDENTITY (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

static void put(struct orma_buf *buf, const void *data, size_t size)
{
	CHECK(orma_base_buf_append(buf, data, size) == 0);
}

static void put_u64(struct orma_buf *buf, uint64_t value)
{
	put(buf, &value, sizeof(value));
}

static void put_u32s(struct orma_buf *buf, uint32_t a, uint32_t b)
{
	put(buf, &a, sizeof(a));
	put(buf, &b, sizeof(b));
}

/* Begins a record; end_record() fills the size in. */
static size_t begin_record(struct orma_buf *buf, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};
	size_t at = buf->size;

	put(buf, &header, sizeof(header));
	return at;
}

static void end_record(struct orma_buf *buf, size_t at)
{
	static const uint8_t zeros[8];
	put(buf, zeros, (8 - (buf->size - at) % 8) % 8);
	uint16_t size = (uint16_t)(buf->size - at);
	memcpy(buf->data + at + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void put_identity(struct orma_buf *buf, uint32_t pid, uint32_t tid, uint64_t time,
			 uint32_t cpu)
{
	put_u32s(buf, pid, tid);
	put_u64(buf, time);
	put_u32s(buf, cpu, 0);
}

static void put_text(struct orma_buf *buf, const char *text)
{
	static const char zeros[8];
	size_t size = strlen(text) + 1;

	put(buf, text, size);
	put(buf, zeros, (8 - size % 8) % 8);
}

static const struct orma_perf_layout identity_layout = {.sample_type = IDENTITY};

ORMA_TEST(a_sample_with_everything_is_read_in_place)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_perf_layout layout = {
		.sample_type = PERF_SAMPLE_IP | IDENTITY | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.user_regs = 7 << 6,
		.is_group = true,
	};
	struct orma_perf_record record;
	uint64_t time;
	uint8_t stack[32] = {1, 2, 3};

	begin_record(&buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(&buf, 0x1234);
	put_identity(&buf, 10, 11, 1000, 3);
	put_u64(&buf, 7);
	put_u64(&buf, 2); /* counts */
	put_u64(&buf, 100);
	put_u64(&buf, 200);
	put_u64(&buf, 2); /* chain */
	put_u64(&buf, (uint64_t)PERF_CONTEXT_KERNEL);
	put_u64(&buf, 0xffffffff81000000);
	put_u64(&buf, PERF_SAMPLE_REGS_ABI_64);
	put_u64(&buf, 1);
	put_u64(&buf, 2);
	put_u64(&buf, 3);
	put_u64(&buf, sizeof(stack));
	put(&buf, stack, sizeof(stack));
	put_u64(&buf, 24);
	end_record(&buf, 0);

	CHECK(orma_perf_ring_record_size(buf.data) == buf.size);
	CHECK(orma_perf_ring_record_time(&layout, buf.data, buf.size, &time) && time == 1000);
	CHECK(orma_perf_ring_record_parse(&layout, buf.data, buf.size, &record) == 0);
	CHECK(record.pid == 10 && record.tid == 11 && record.cpu == 3 && record.time == 1000);
	CHECK(record.sample.ip == 0x1234 && record.sample.period == 7);
	CHECK(record.sample.counts.count == 2 && orma_perf_word(record.sample.counts, 1) == 200);
	CHECK(record.sample.chain.count == 2);
	CHECK(orma_perf_word(record.sample.chain, 1) == 0xffffffff81000000);
	CHECK(record.sample.regs.count == 3 && orma_perf_word(record.sample.regs, 2) == 3);
	CHECK(record.sample.stack_size == 24 && !record.sample.is_stack_cut);
	CHECK(record.sample.stack[2] == 3);
	/* Each shorter record is refused or has less, and nothing is read behind its end. */
	for (size_t size = 0; size < buf.size; size += 8) {
		uint8_t *copy = orma_base_memdup(buf.data, size ? size : 1);
		CHECK(orma_perf_ring_record_parse(&layout, copy, size, &record) == -EBADMSG);
		orma_base_free(copy);
	}
}

ORMA_TEST(a_kernel_thread_has_no_registers_and_no_stack)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_perf_layout layout = {
		.sample_type = IDENTITY | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.user_regs = 7 << 6,
	};
	struct orma_perf_record record;

	begin_record(&buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	put_identity(&buf, 2, 2, 5, 0);
	put_u64(&buf, PERF_SAMPLE_REGS_ABI_NONE);
	put_u64(&buf, 0);
	end_record(&buf, 0);
	CHECK(orma_perf_ring_record_parse(&layout, buf.data, buf.size, &record) == 0);
	CHECK(record.sample.abi == 0 && record.sample.stack_size == 0 && !record.sample.stack);
}

ORMA_TEST(a_stack_that_fills_its_copy_is_cut)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_perf_layout layout = {.sample_type = IDENTITY | PERF_SAMPLE_STACK_USER};
	struct orma_perf_record record;
	uint8_t stack[16] = {0};

	begin_record(&buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_identity(&buf, 1, 1, 5, 0);
	put_u64(&buf, sizeof(stack));
	put(&buf, stack, sizeof(stack));
	put_u64(&buf, sizeof(stack));
	end_record(&buf, 0);
	CHECK(orma_perf_ring_record_parse(&layout, buf.data, buf.size, &record) == 0);
	CHECK(record.sample.is_stack_cut && record.sample.stack_size == sizeof(stack));
}

/* A sample of a stack alone: the size of the copy, its bytes, and how many the kernel has used. */
static int parse_stack(uint64_t room, size_t present, const uint64_t *used,
		       struct orma_perf_record *ret)
{
	static uint8_t stack[65536];
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_perf_layout layout = {.sample_type = PERF_SAMPLE_STACK_USER};

	begin_record(&buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(&buf, room);
	put(&buf, stack, present);
	if (used)
		put_u64(&buf, *used);
	return orma_perf_ring_record_parse(&layout, buf.data, buf.size, ret);
}

ORMA_TEST(a_copy_of_a_stack_has_any_size_that_fits_into_its_record)
{
	struct orma_perf_record record;
	uint64_t none = 0, some = 8, all = 65528, more = 65536, most = UINT64_MAX;

	CHECK(parse_stack(0, 0, NULL, &record) == 0 && record.sample.stack_size == 0);
	CHECK(!record.sample.stack && !record.sample.is_stack_cut);
	CHECK(parse_stack(65528, 65528, &none, &record) == 0 && record.sample.stack_size == 0);
	CHECK(!record.sample.is_stack_cut);
	CHECK(parse_stack(65528, 65528, &some, &record) == 0 && record.sample.stack_size == 8);
	CHECK(parse_stack(65528, 65528, &all, &record) == 0 && record.sample.stack_size == 65528);
	CHECK(record.sample.is_stack_cut);
	/* More than there is room for is as much as there is room for. */
	CHECK(parse_stack(65528, 65528, &more, &record) == 0 && record.sample.stack_size == 65528);
	CHECK(parse_stack(16, 16, &most, &record) == 0 && record.sample.stack_size == 16);
	CHECK(record.sample.is_stack_cut);
	/* The record ends within the copy, or before the number behind it. */
	CHECK(parse_stack(65528, 16, &some, &record) == -EBADMSG);
	CHECK(parse_stack(16, 16, NULL, &record) == -EBADMSG);
	CHECK(parse_stack(UINT64_MAX, 16, &some, &record) == -EBADMSG);
	CHECK(parse_stack(UINT64_MAX - 7, 16, &some, &record) == -EBADMSG);
}

ORMA_TEST(counts_of_words_that_overflow_are_refused)
{
	static const uint64_t counts[] = {3, UINT64_C(1) << 61, (UINT64_C(1) << 61) + 1,
					  UINT64_MAX};
	static const uint64_t kinds[] = {PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN};
	struct orma_perf_record record;

	for (size_t kind = 0; kind < 2; kind++)
		for (size_t i = 0; i < 4; i++) {
			ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
			struct orma_perf_layout layout = {.sample_type = kinds[kind],
							  .is_group = true};
			begin_record(&buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
			put_u64(&buf, counts[i]);
			put_u64(&buf, 1);
			put_u64(&buf, 2);
			CHECK(orma_perf_ring_record_parse(&layout, buf.data, buf.size, &record) ==
			      -EBADMSG);
		}
}

ORMA_TEST(mappings_have_an_inode_whatever_events_of_others_ask_for)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_perf_record record;

	begin_record(&buf, PERF_RECORD_MMAP2, 0);
	put_u32s(&buf, 5, 6);
	put_u64(&buf, 0x1000);
	put_u64(&buf, 0x2000);
	put_u64(&buf, 0x3000);
	put_u32s(&buf, 8, 1);
	put_u64(&buf, 99);
	put_u64(&buf, 0);
	put_u32s(&buf, 5, 2);
	put_text(&buf, "/lib/a.so");
	put_identity(&buf, 5, 6, 77, 1);
	end_record(&buf, 0);
	CHECK(orma_perf_ring_record_parse(&identity_layout, buf.data, buf.size, &record) == 0);
	CHECK(record.pid == 5 && record.time == 77 && record.mapping.start == 0x1000);
	CHECK(record.mapping.size == 0x2000 && record.mapping.offset == 0x3000);
	CHECK(record.mapping.device_major == 8 && record.mapping.inode == 99);
	CHECK(orma_base_str_is(record.mapping.path, "/lib/a.so"));

	/* Linux 6.18 leaves this bit set when an event of somebody else has asked for build ids. */
	enum { MMAP_BUILD_ID = 1 << 14 };
	size_t misc_at = offsetof(struct perf_event_header, misc);
	uint16_t misc = MMAP_BUILD_ID;
	memcpy(buf.data + misc_at, &misc, sizeof(misc));
	CHECK(orma_perf_ring_record_parse(&identity_layout, buf.data, buf.size, &record) == 0);
	CHECK(record.mapping.device_major == 8 && record.mapping.inode == 99);
	CHECK(orma_base_str_is(record.mapping.path, "/lib/a.so"));
}

ORMA_TEST(the_lives_of_tasks_are_read)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_perf_record record;

	begin_record(&buf, PERF_RECORD_FORK, 0);
	put_u32s(&buf, 20, 10);
	put_u32s(&buf, 21, 11);
	put_u64(&buf, 500);
	put_identity(&buf, 10, 11, 501, 0);
	end_record(&buf, 0);
	CHECK(orma_perf_ring_record_parse(&identity_layout, buf.data, buf.size, &record) == 0);
	CHECK(record.pid == 20 && record.tid == 21 && record.parent.pid == 10);
	CHECK(record.parent.tid == 11 && record.time == 501);

	size_t at = begin_record(&buf, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32s(&buf, 20, 21);
	put_text(&buf, "worker");
	put_identity(&buf, 20, 21, 502, 0);
	end_record(&buf, at);
	CHECK(orma_perf_ring_record_parse(&identity_layout, buf.data + at, buf.size - at,
					  &record) == 0);
	CHECK(orma_base_str_is(record.comm, "worker"));
	CHECK(record.misc & PERF_RECORD_MISC_COMM_EXEC);

	at = begin_record(&buf, PERF_RECORD_SWITCH, 1 << 13);
	put_identity(&buf, 20, 21, 503, 0);
	end_record(&buf, at);
	CHECK(orma_perf_ring_record_parse(&identity_layout, buf.data + at, buf.size - at,
					  &record) == 0);
	CHECK(record.turn.is_out && !record.turn.is_preempted && record.time == 503);

	at = begin_record(&buf, PERF_RECORD_LOST, 0);
	put_u64(&buf, 1);
	put_u64(&buf, 42);
	put_identity(&buf, 20, 21, 504, 0);
	end_record(&buf, at);
	CHECK(orma_perf_ring_record_parse(&identity_layout, buf.data + at, buf.size - at,
					  &record) == 0);
	CHECK(record.lost == 42);
}

/* ---- the ring ---- */

struct made_ring {
	uint8_t *memory;
	size_t page_size, size;
	struct perf_event_mmap_page *page;
	struct orma_perf_ring ring;
};

static void make_ring(struct made_ring *made)
{
	void *memory = NULL;
	made->page_size = (size_t)getpagesize();
	made->size = 256;
	CHECK(posix_memalign(&memory, made->page_size, made->page_size + made->size) == 0);
	memset(memory, 0, made->page_size + made->size);
	made->memory = memory;
	made->page = memory;
	orma_perf_ring_init(&made->ring, memory, made->page_size, made->size);
}

static void free_ring(struct made_ring *made)
{
	orma_perf_ring_done(&made->ring);
	free(made->memory);
}

/* As the kernel does it: the record first, and then the head. */
static void write_record(struct made_ring *made, uint8_t fill, uint16_t size)
{
	struct perf_event_header header = {.type = fill, .size = size};
	uint8_t record[256];

	memset(record, fill, sizeof(record));
	memcpy(record, &header, sizeof(header));
	for (size_t i = 0; i < size; i++)
		made->memory[made->page_size + ((made->page->data_head + i) & (made->size - 1))] =
			record[i];
	__atomic_store_n(&made->page->data_head, made->page->data_head + size, __ATOMIC_RELEASE);
}

ORMA_TEST(a_record_that_wraps_is_whole)
{
	struct made_ring made;
	size_t size;

	make_ring(&made);
	CHECK(!orma_perf_ring_peek(&made.ring, &size));
	for (unsigned i = 0; i < 100; i++) {
		uint16_t wanted = (uint16_t)(8 * (1 + i % 20));
		write_record(&made, (uint8_t)(i + 1), wanted);
		CHECK(!orma_perf_ring_peek(&made.ring, &size)); /* not refreshed yet */
		orma_perf_ring_refresh(&made.ring);
		const uint8_t *record = orma_perf_ring_peek(&made.ring, &size);
		CHECK(record && size == wanted);
		for (size_t k = 8; k < size; k++)
			CHECK(record[k] == i + 1);
		orma_perf_ring_advance(&made.ring, size);
		CHECK(!orma_perf_ring_peek(&made.ring, &size));
		orma_perf_ring_release(&made.ring);
		CHECK(made.page->data_tail == made.page->data_head);
	}
	CHECK(made.ring.damaged_count == 0);
	free_ring(&made);
}

ORMA_TEST(a_size_that_makes_no_sense_drops_the_rest)
{
	struct made_ring made;
	struct perf_event_header header = {.type = 1, .size = 200};
	size_t size;

	make_ring(&made);
	write_record(&made, 1, 16);
	orma_perf_ring_refresh(&made.ring);
	/* It claims to reach behind what was written. */
	memcpy(made.memory + made.page_size, &header, sizeof(header));
	CHECK(!orma_perf_ring_peek(&made.ring, &size));
	CHECK(made.ring.damaged_count == 1);
	write_record(&made, 2, 24);
	orma_perf_ring_refresh(&made.ring);
	CHECK(orma_perf_ring_peek(&made.ring, &size) && size == 24);
	/* A head that lies further ahead than the ring is long. */
	made.page->data_head += 4096;
	orma_perf_ring_refresh(&made.ring);
	CHECK(!orma_perf_ring_peek(&made.ring, &size));
	CHECK(made.ring.damaged_count == 2);
	free_ring(&made);
}

ORMA_TEST(sizes_that_no_record_has_drop_the_rest)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 65535};
	struct perf_event_header header = {.type = 1};
	struct made_ring made;
	size_t size;

	make_ring(&made);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t offset = made.page->data_head & (made.size - 1);
		write_record(&made, 1, 16);
		header.size = sizes[i];
		memcpy(made.memory + made.page_size + offset, &header, sizeof(header));
		orma_perf_ring_refresh(&made.ring);
		CHECK(!orma_perf_ring_peek(&made.ring, &size));
		CHECK(made.ring.damaged_count == i + 1);
		CHECK(!orma_perf_ring_peek(&made.ring, &size));
		CHECK(made.ring.damaged_count == i + 1);
	}
	/* Headers are aligned. With this head, the next one is cut at the end of the ring. */
	made.page->data_head += 4;
	orma_perf_ring_refresh(&made.ring);
	CHECK(!orma_perf_ring_peek(&made.ring, &size));
	write_record(&made, 1, 248);
	orma_perf_ring_refresh(&made.ring);
	CHECK(!orma_perf_ring_peek(&made.ring, &size));
	CHECK(made.ring.damaged_count == 7);
	/* A head that goes back. */
	made.page->data_head -= 16;
	orma_perf_ring_refresh(&made.ring);
	CHECK(!orma_perf_ring_peek(&made.ring, &size));
	orma_perf_ring_release(&made.ring);
	CHECK(made.page->data_tail == made.page->data_head);
	free_ring(&made);
}

ORMA_TEST(a_record_that_fills_the_ring_is_read)
{
	struct made_ring made;
	size_t size;

	make_ring(&made);
	write_record(&made, 1, 40);
	orma_perf_ring_refresh(&made.ring);
	CHECK(orma_perf_ring_peek(&made.ring, &size) && size == 40);
	orma_perf_ring_advance(&made.ring, size);
	orma_perf_ring_release(&made.ring);
	write_record(&made, 2, 256);
	orma_perf_ring_refresh(&made.ring);
	const uint8_t *record = orma_perf_ring_peek(&made.ring, &size);
	CHECK(record && size == 256 && record[8] == 2 && record[255] == 2);
	/* Without memory for the copy that makes it straight, it is dropped, and the ring goes on. */
	orma_perf_ring_advance(&made.ring, size);
	write_record(&made, 3, 256);
	orma_perf_ring_refresh(&made.ring);
	orma_base_buf_done(&made.ring.straight);
	orma_base_alloc_fail_nth(1);
	CHECK(!orma_perf_ring_peek(&made.ring, &size) && made.ring.damaged_count == 1);
	orma_base_alloc_fail_nth(0);
	write_record(&made, 4, 16);
	orma_perf_ring_refresh(&made.ring);
	CHECK(orma_perf_ring_peek(&made.ring, &size) && size == 16);
	free_ring(&made);
}
