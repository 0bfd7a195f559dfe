/* SPDX-License-Identifier: Apache-2.0
 * shm_hostile_test.c - hostile shared memory: garbage while the service reads and scrapes it,
 * chunks left in the middle, impossible headers, and memory of every wrong kind that a producer
 * provides.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"

/* --- garbage ---------------------------------------------------------------------------------- */

struct scribbler {
	pthread_t thread;
	uint8_t *memory;
	size_t size;
	uint32_t page_bytes;
	bool keeps_page_words; /* every page stays one complete chunk; only what is in it changes */
	bool must_stop;        /* atomic: set by the test, read by the thread */
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 16;
}

static void *scribble(void *arg)
{
	struct scribbler *scribbler = arg;
	uint64_t random = 4711;

	while (!__atomic_load_n(&scribbler->must_stop, __ATOMIC_RELAXED)) {
		size_t at = (size_t)next_random(&random) % (scribbler->size / 4);
		uint32_t value = (uint32_t)next_random(&random);
		bool is_page_word = at * 4 % scribbler->page_bytes == 0;
		/* Often the headers, where it does most harm. */
		if (value % 4 == 0) {
			at = at * 4 / scribbler->page_bytes * scribbler->page_bytes / 4;
			at += (value >> 8) % 5;
			is_page_word = at * 4 % scribbler->page_bytes == 0;
		}
		if (is_page_word && scribbler->keeps_page_words)
			value = (uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT |
				ORMA_SHM_COMPLETE;
		__atomic_store_n((uint32_t *)(void *)scribbler->memory + at, value,
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

static void commit_all_pages(struct orma_raw_session *session, const char *chunk_field)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	for (size_t page = 0; page * 4096 < session->producer.shm_bytes; page++)
		CHECK_INT(orma_base_buf_printf(&text,
					       "chunks_to_move { page: %zu %s target_buffer: %u }",
					       page, chunk_field, session->target_buffer),
			  0);
	orma_raw_producer_commit(&session->producer, "%.*s", (int)text.size,
				 (const char *)text.data);
}

static void register_writers(struct orma_raw_session *session)
{
	for (uint32_t id = 1; id < 200; id++)
		orma_raw_invoke(&session->producer.client, "RegisterTraceWriter",
				orma_raw_text(&session->producer.client,
					      &orma_pb_register_trace_writer_request_desc,
					      "trace_writer_id: %u target_buffer: %u", id,
					      session->target_buffer),
				-1, ORMA_RAW_DROP_REPLY);
}

static void scribble_while_committing(bool keeps_page_words)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "scribbler", "", "");
	register_writers(&session);
	struct scribbler scribbler = {.memory = session.producer.shm,
				      .size = session.producer.shm_bytes,
				      .page_bytes = session.producer.page_bytes,
				      .keeps_page_words = keeps_page_words};
	CHECK_INT(pthread_create(&scribbler.thread, NULL, scribble, &scribbler), 0);
	for (int round = 0; round < 60; round++) {
		static const char *const chunks[] = {"", "chunk: 1", "chunk: 6", "chunk: 13"};
		commit_all_pages(&session, chunks[round % 4]);
		orma_raw_session_flush(&session); /* scrapes */
		if (round % 8 == 0)
			orma_raw_consumer_read(&session.consumer); /* whatever it is, it decodes */
		if (round % 16 == 0)
			orma_bystander_check(&stage.bystander);
	}
	__atomic_store_n(&scribbler.must_stop, true, __ATOMIC_RELAXED);
	CHECK_INT(pthread_join(scribbler.thread, NULL), 0);
	orma_raw_consumer_read(&session.consumer);
	/* The buffer works as before. */
	memset(session.producer.shm, 0, session.producer.shm_bytes);
	session.next_chunk_id = 1;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	orma_raw_test_packet(&payload, "after the storm");
	/* Garbage may have used any writer's id, with a chunk id that makes this one old; not 20 of them. */
	for (uint32_t i = 0; i < 20; i++) {
		struct orma_raw_chunk chunk = {
			.page_idx = i,
			.writer_id = (uint16_t)(31000 + i),
			.fragment_count = 1,
			.payload = {(const char *)payload.data, payload.size},
		};
		orma_raw_producer_write_and_commit(&session.producer, &chunk,
						   session.target_buffer);
	}
	orma_raw_producer_sync(&session.producer);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "after the storm"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(garbage_over_the_whole_memory_while_committing_and_scraping)
{
	scribble_while_committing(false);
}

ORMA_TEST(garbage_in_complete_chunks_while_they_are_copied)
{
	scribble_while_committing(true);
}

ORMA_TEST(every_page_word_is_survived)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "words", "", "");
	register_writers(&session);
	uint32_t *word = (uint32_t *)(void *)session.producer.shm;
	for (uint32_t layout = 0; layout < 16; layout++) { /* with the reserved bit 31 */
		for (uint32_t state = 0; state < 4; state++) {
			uint32_t states = state * 0x05555555u;
			for (size_t i = 1; i < 1024; i++)
				word[i] = 0x00010001u * (uint32_t)(i + layout);
			__atomic_store_n(word, layout << ORMA_SHM_LAYOUT_SHIFT | states,
					 __ATOMIC_RELEASE);
			orma_raw_session_flush(&session);
			for (uint32_t chunk = 0; chunk < 15; chunk++)
				orma_raw_producer_commit(
					&session.producer,
					"chunks_to_move { chunk: %u target_buffer: %u }", chunk,
					session.target_buffer);
		}
	}
	orma_raw_producer_sync(&session.producer);
	orma_raw_consumer_read(&session.consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- headers that cannot be ------------------------------------------------------------------- */

ORMA_TEST(headers_that_lie_about_the_payload_cost_only_their_own_chunk)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static uint8_t payload[4080];
	/* Fragments: too many, one that ends outside, a size without end, the drop marker, 0. */
	static const struct {
		uint16_t count;
		uint8_t flags;
		uint8_t bytes[6];
	} lies[] = {
		{1023, 0, {0}},
		{1, 0, {0xff, 0xff, 0xff, 0x7f}},
		{1, 0, {0xff, 0x7f}},
		{1, 0, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{1, 0, {0xfe, 0xff, 0xff, 0x7f}},
		{2, 0, {0x01, 0x08, 0xff, 0xff, 0xff, 0x7f}},
		{0, 1, {0}},
		{0, 2, {0}},
		{0, 3, {0}},
		{0, 7, {0}},
		{1, 63, {0x02, 0x08, 0x01}},
		{5, 3, {0}},
	};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "liar", "", "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lies); i++) {
		memset(payload, 0, sizeof(payload));
		memcpy(payload, lies[i].bytes, sizeof(lies[i].bytes));
		struct orma_raw_chunk chunk = {
			.chunk_id = (uint32_t)i,
			.writer_id = (uint16_t)(2 + i),
			.fragment_count = lies[i].count,
			.flags = lies[i].flags,
			.payload = {(const char *)payload, sizeof(payload)},
		};
		orma_raw_producer_write_and_commit(&session.producer, &chunk,
						   session.target_buffer);
		orma_raw_producer_sync(&session.producer);
		orma_raw_session_emit(&session, "honest");
	}
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), ORMA_ARRAY_SIZE(lies));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(chunk_ids_that_jump_and_repeat_are_sorted_or_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const uint32_t ids[] = {5,           4,          3, UINT32_MAX, 0,      0,
				       0x80000000u, 0x7fffffff, 5, 6,          1000000};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "jumper", "", "");
	orma_raw_test_packet(&payload, "jump");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(ids); i++) {
		struct orma_raw_chunk chunk = {
			.chunk_id = ids[i],
			.writer_id = 3,
			.fragment_count = 1,
			.payload = {(const char *)payload.data, payload.size},
		};
		orma_raw_producer_write_and_commit(&session.producer, &chunk,
						   session.target_buffer);
		orma_raw_producer_sync(&session.producer);
		if (i % 3 == 2)
			orma_raw_consumer_read(&session.consumer);
	}
	orma_raw_session_emit(&session, "honest");
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "honest"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- leaving in the middle -------------------------------------------------------------------- */

ORMA_TEST(a_producer_that_dies_in_the_middle_of_a_chunk_leaves_what_was_finished)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf first = {0}, second = {0};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "dying", "", "");
	register_writers(&session);
	orma_raw_test_packet(&first, "complete, never committed");
	orma_raw_test_packet(&second, "in progress 1");
	orma_raw_test_packet(&second, "in progress 2");
	orma_raw_test_packet(&second, "unfinished");
	struct orma_raw_chunk chunks[] = {
		{.page_idx = 0,
		 .writer_id = 1,
		 .fragment_count = 1,
		 .payload = {(const char *)first.data, first.size}},
		{.page_idx = 1,
		 .layout = ORMA_SHM_LAYOUT_14,
		 .chunk_idx = 13,
		 .state = ORMA_SHM_BEING_WRITTEN,
		 .writer_id = 2,
		 .fragment_count = 3,
		 .payload = {(const char *)second.data, second.size}},
	};
	orma_raw_producer_write(&session.producer, &chunks[0]);
	orma_raw_producer_write(&session.producer, &chunks[1]);
	orma_raw_producer_sync(&session.producer); /* the writers are known */
	orma_raw_producer_close(&session.producer);
	while (orma_raw_consumer_query(&stage.bystander.consumer)->producers.count > 1)
		;
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 3);
	CHECK(orma_raw_trace_has(trace, "complete, never committed"));
	CHECK(orma_raw_trace_has(trace, "in progress 1"));
	CHECK(orma_raw_trace_has(trace, "in progress 2"));
	orma_raw_consumer_close(&session.consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_packet_whose_writer_dies_half_way_is_not_read)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const uint8_t half[] = {3, 0xa2, 0x38,
				       0x7f}; /* the begin of a for_testing of 127 bytes */

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "dying", "", "");
	orma_raw_session_emit(&session, "before");
	struct orma_raw_chunk chunk = {
		.chunk_id = session.next_chunk_id,
		.writer_id = 1,
		.fragment_count = 1,
		.flags = ORMA_SHM_CONTINUES_IN_NEXT | ORMA_SHM_NEEDS_PATCHING,
		.payload = {(const char *)half, sizeof(half)},
	};
	orma_raw_producer_write_and_commit(&session.producer, &chunk, session.target_buffer);
	orma_raw_producer_sync(&session.producer);
	orma_raw_producer_close(&session.producer);
	orma_bystander_check(&stage.bystander);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 1);
	orma_raw_consumer_close(&session.consumer);
	orma_stage_close(&stage);
}

/* --- memory brought along --------------------------------------------------------------------- */

#define OWN_BYTES ((size_t)256 << 10)
/* More than a producer may provide; 32 bits allow no more. */
#define TOO_LARGE_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 36 : 31))
#define HUGE_BYTES      (2 << 20)
#define SMALL_BYTES     ((size_t)64 << 10)

enum memory_kind {
	SEALED,
	UNSEALED,
	HALF_SEALED,
	WRITE_SEALED,
	READ_ONLY,
	EMPTY,
	NOT_A_PAGE_MULTIPLE,
	TOO_LARGE,
	A_FILE,
	A_DIRECTORY,
	DEV_NULL,
	A_PIPE,
	A_SOCKET,
	A_PATH,
	HUGE_PAGES, /* -1 where the kernel has none */
	NOTHING,
	MEMORY_KIND_COUNT,
};

static int new_memfd(size_t size, unsigned seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0);
	CHECK_INT(ftruncate(fd, (off_t)size), 0);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* This takes no page of the pool until it is mapped. */
static int new_huge_memfd(unsigned seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0)
		return -1;
	CHECK_INT(ftruncate(fd, HUGE_BYTES), 0);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int reopen(int fd_to_take, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd_to_take);
	int fd = open(path, flags | O_CLOEXEC);
	close(fd_to_take);
	return fd;
}

static int half_of_a_pair(bool is_socket)
{
	int pair[2];

	CHECK_INT(is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
			    : pipe2(pair, O_CLOEXEC),
		  0);
	close(pair[0]);
	return pair[1];
}

static int new_memory(enum memory_kind kind)
{
	const unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	switch (kind) {
	case SEALED:
		return new_memfd(OWN_BYTES, seals);
	case UNSEALED:
		return new_memfd(OWN_BYTES, 0);
	case HALF_SEALED:
		return new_memfd(OWN_BYTES, F_SEAL_GROW);
	case WRITE_SEALED:
		return new_memfd(OWN_BYTES, seals | F_SEAL_WRITE);
	case READ_ONLY:
		return reopen(new_memfd(OWN_BYTES, seals), O_RDONLY);
	case EMPTY:
		return new_memfd(0, seals);
	case NOT_A_PAGE_MULTIPLE:
		return new_memfd(OWN_BYTES + 1, seals);
	case TOO_LARGE:
		return new_memfd(TOO_LARGE_BYTES, seals);
	case A_FILE:
		return open(orma_test_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	case A_DIRECTORY:
		return open(orma_test_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case DEV_NULL:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case A_PIPE:
		return half_of_a_pair(false);
	case A_SOCKET:
		return half_of_a_pair(true);
	case A_PATH:
		return open("/proc/self/exe", O_PATH | O_CLOEXEC);
	case HUGE_PAGES:
		return new_huge_memfd(seals);
	case NOTHING:
	case MEMORY_KIND_COUNT:
		break;
	}
	return -1;
}

ORMA_TEST(memory_of_every_wrong_kind_is_not_taken)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;

	orma_stage_open(&stage);
	for (enum memory_kind kind = 0; kind < MEMORY_KIND_COUNT; kind++) {
		ORMA_AUTO(orma_base_fd_closep) int fd = new_memory(kind);
		CHECK(fd >= 0 || kind == NOTHING || kind == A_FILE || kind == HUGE_PAGES);
		orma_raw_producer_connect(&producer, stage.daemon.producers);
		/* This is not an error: the producer learns of it, and may continue with the
		 * service's memory. */
		CHECK(orma_raw_producer_initialize(
			      &producer,
			      "producer_name: \"own\" producer_provided_shmem: true "
			      "shared_memory_page_size_hint_bytes: 4096",
			      fd)
			      ->success);
		CHECK_INT(producer.uses_own_memory, kind == SEALED);
		orma_raw_producer_close(&producer);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(own_memory_works_and_its_page_size_is_checked)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	static const struct {
		size_t size;
		uint32_t page_bytes;
		bool is_taken;
	} cases[] = {
		{SMALL_BYTES, 4096, true},
		{SMALL_BYTES, 32768, true},
		{32768, 32768, true},
		{SMALL_BYTES, 65536, false},
		{SMALL_BYTES, 2048, false},
		{SMALL_BYTES, 5000, false},
		{SMALL_BYTES, 12288, false},
		{(size_t)16 << 10, 32768, false},
		{SMALL_BYTES, 1, false},
		{SMALL_BYTES, UINT32_MAX, false},
		{SMALL_BYTES, 0x80000000u, false},
		{(size_t)33 << 20, 4096, false},
	};

	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		char args[200];
		ORMA_AUTO(orma_base_fd_closep)
		int fd = new_memfd(cases[i].size, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		snprintf(args, sizeof(args),
			 "producer_name: \"own\" producer_provided_shmem: true "
			 "shared_memory_page_size_hint_bytes: %u",
			 cases[i].page_bytes);
		orma_raw_producer_connect(&producer, stage.daemon.producers);
		CHECK(orma_raw_producer_initialize(&producer, args, fd)->success);
		CHECK_INT(producer.uses_own_memory, cases[i].is_taken);
		orma_raw_producer_close(&producer);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(wishes_for_impossible_sizes_get_the_defaults)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	static const uint32_t sizes[][2] = {
		{1, 1}, {UINT32_MAX, UINT32_MAX}, {4095, 4096}, {5000, 4097}};

	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(sizes); i++) {
		char args[200];
		snprintf(args, sizeof(args),
			 "producer_name: \"wish\" shared_memory_page_size_hint_bytes: %u "
			 "shared_memory_size_hint_bytes: %u",
			 sizes[i][1], sizes[i][0]);
		orma_raw_producer_connect(&producer, stage.daemon.producers);
		CHECK(orma_raw_producer_initialize(&producer, args, -1)->success);
		orma_raw_producer_listen(&producer);
		orma_raw_producer_register(&producer, "name: \"wish\"");
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		orma_raw_consumer_enable(
			&consumer, -1,
			"buffers { size_kb: 64 } "
			"data_sources { config { name: \"wish\" } } producers { "
			"producer_name: \"wish\" shm_size_kb: %u page_size_kb: %u }",
			i % 2 ? 0 : UINT32_MAX, i % 2 ? 0 : 3);
		orma_raw_producer_await_start(&producer, "wish");
		CHECK(orma_shm_sizes_are_valid(producer.shm_bytes, producer.page_bytes));
		orma_raw_consumer_close(&consumer);
		orma_raw_producer_close(&producer);
	}
	orma_stage_close(&stage);
}
