/* SPDX-License-Identifier: Apache-2.0
 * hooks_test.c - the allocation functions above an allocator of the test, with a session of the service in this process.
 *
 * The functions have other names here, so that the test's own allocations do not go through them.
 */
#include <errno.h>
#include <malloc.h>
#include <orma/field.h>
#include <orma/init.h>
#include <orma/session.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/arena.h"
#include "harness.h"
#include "heap/heap_source.h"
#include "heap/stack_capture.h"
#include "heap/tracker.h"
#include "heap/visit.h"
#include "schema/gen/orma_heap_record.pb.h"

#define malloc             hook_malloc
#define free               hook_free
#define calloc             hook_calloc
#define realloc            hook_realloc
#define reallocarray       hook_reallocarray
#define posix_memalign     hook_posix_memalign
#define aligned_alloc      hook_aligned_alloc
#define memalign           hook_memalign
#define valloc             hook_valloc
#define pvalloc            hook_pvalloc
#define free_sized         hook_free_sized
#define free_aligned_sized hook_free_aligned_sized
void *malloc(size_t size);
void free(void *block);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);
void *reallocarray(void *old, size_t count, size_t size);
int posix_memalign(void **ret, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
#include "../../../src/heap/hooks.c" /* also the members of struct orma_heap_next */
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef reallocarray
#undef posix_memalign
#undef aligned_alloc
#undef memalign
#undef valloc
#undef pvalloc

static bool is_before_begin; /* as in a constructor that runs before that of the C library */
static unsigned begins;      /* calls of the function below */

bool orma_heap_begin(void)
{
	begins++;
	return !is_before_begin;
}

/* --- an allocator below ----------------------------------------------------------------------- */

static bool is_full;      /* every allocation fails */
static bool calls_malloc; /* calloc() and realloc() call malloc(), as musl's do */

static void *next_malloc(size_t size)
{
	return is_full ? NULL : malloc(size);
}

static void next_free(void *block)
{
	free(block);
}

static void *next_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (is_full || __builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return calls_malloc ? memset(hook_malloc(bytes), 0, bytes) : calloc(count, size);
}

static void *next_realloc(void *block, size_t size)
{
	if (is_full)
		return NULL;
	if (calls_malloc && !block)
		return hook_malloc(size);
	return realloc(block, size);
}

static int next_posix_memalign(void **ret, size_t alignment, size_t size)
{
	return is_full ? ENOMEM : posix_memalign(ret, alignment, size);
}

static void *next_aligned_alloc(size_t alignment, size_t size)
{
	return is_full ? NULL : aligned_alloc(alignment, size);
}

static void *next_memalign(size_t alignment, size_t size)
{
	return is_full ? NULL : memalign(alignment, size);
}

struct orma_heap_next orma_heap_next = {
	next_malloc,         next_free,          next_calloc,   next_realloc,
	next_posix_memalign, next_aligned_alloc, next_memalign, next_malloc,
};

bool orma_heap_is_early(const void *block)
{
	(void)block;
	return false;
}

void *orma_heap_early_realloc(void *block, size_t size)
{
	(void)size;
	return block;
}

void orma_heap_next_find(void)
{
}

/* --- a session -------------------------------------------------------------------------------- */

enum { BLOCKS_MAX = 20000 };

struct seen {
	unsigned samples, frees, processes, heaps, maps;
	uint64_t bytes;             /* live blocks together */
	uint64_t sizes[BLOCKS_MAX]; /* by serial */
	/* This has the serials of sampled blocks that are not freed. A block may have no size. */
	bool is_live[BLOCKS_MAX];
	uint64_t serials[BLOCKS_MAX]; /* freed */
};

static struct seen seen;
static struct orma_session *session;

static void note_record(const struct orma_pb_orma_heap_record *record)
{
	seen.processes += record->process != NULL;
	seen.heaps += record->heap != NULL;
	seen.maps += record->maps != NULL;
	if (record->sample) {
		CHECK(record->sample->serial > 0 && record->sample->serial < BLOCKS_MAX);
		seen.sizes[record->sample->serial] = record->sample->size;
		seen.is_live[record->sample->serial] = true;
		seen.samples++;
	}
	for (size_t i = 0; record->free && i < record->free->serials.count; i++)
		seen.serials[seen.frees++] = record->free->serials.items[i];
}

static int note_packet(void *ctx, const void *packet, size_t size)
{
	struct orma_arena arena = {0};
	struct orma_pb_orma_heap_record *record;
	struct orma_field field;

	(void)ctx;
	if (orma_field_find(packet, size, ORMA_PB_ORMA_HEAP_RECORD_PACKET_FIELD_PACKET_FIELD,
			    &field) != 1)
		return 0;
	CHECK_INT(orma_pb_orma_heap_record_decode(field.data, field.size, &arena, &record), 0);
	note_record(record);
	orma_base_arena_done(&arena);
	return 0;
}

static void begin(const char *heapprofd)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .shm_size_bytes = 8 << 20};
	const struct orma_session_options in_process = {.struct_size = sizeof(in_process),
							.in_process = true};
	char text[512];

	CHECK_INT(orma_heap_visit_init(), 0);
	orma_heap_stack_init();
	CHECK_INT(orma_init(&options), 0);
	CHECK_INT(orma_heap_source_register(false), 0);
	CHECK_INT(orma_session_new(&in_process, &session, NULL), 0);
	snprintf(text, sizeof(text),
		 "buffers { size_kb: 65536 } data_sources { config { name: \"orma.heap\" "
		 "buffer_exhausted_policy: BUFFER_EXHAUSTED_STALL_THEN_DROP "
		 "heapprofd_config { all: true %s } } }",
		 heapprofd);
	CHECK_INT(orma_session_enable_text(session, "test", text, strlen(text), -1, NULL), 0);
	CHECK_INT(orma_session_wait_started(session, 5000), 0);
	orma_heap_self.left = 0;
}

/* Ends the session and reads everything. */
static void end(void)
{
	CHECK_INT(orma_session_stop(session), 0);
	CHECK_INT(orma_session_wait_stopped(session, 5000, NULL), 0);
	CHECK(orma_session_read(session, note_packet, NULL) >= 0);
	orma_session_free(session);
	/* liborma-heap never shuts down. */
	atomic_store(&orma_heap_tracker.source, NULL);
	orma_shutdown();
	for (unsigned i = 0; i < seen.frees; i++) {
		/* A free of a block that was never sampled, or a second free. */
		CHECK(seen.is_live[seen.serials[i]]);
		seen.is_live[seen.serials[i]] = false;
	}
	for (unsigned i = 0; i < BLOCKS_MAX; i++)
		seen.bytes += seen.is_live[i] ? seen.sizes[i] : 0;
}

/* Live blocks of this size. */
static unsigned live(uint64_t size)
{
	unsigned count = 0;

	for (unsigned i = 0; i < BLOCKS_MAX; i++)
		count += seen.is_live[i] && seen.sizes[i] == size;
	return count;
}

ORMA_TEST(every_function_is_counted_once)
{
	void *blocks[12];

	begin("sampling_interval_bytes: 1");
	blocks[0] = hook_malloc(101);
	blocks[1] = hook_calloc(3, 34);
	blocks[2] = hook_realloc(NULL, 103);
	blocks[3] = hook_reallocarray(NULL, 8, 13);
	CHECK_INT(hook_posix_memalign(&blocks[4], 64, 105), 0);
	blocks[5] = hook_aligned_alloc(64, 128);
	blocks[6] = hook_memalign(64, 107);
	blocks[7] = hook_valloc(108);
	blocks[8] = hook_pvalloc(109);
	blocks[9] = hook_malloc(110);
	blocks[10] = hook_malloc(111);
	blocks[11] = hook_malloc(112);
	hook_free(blocks[9]);
	hook_free_sized(blocks[10], 111);
	hook_free_aligned_sized(blocks[11], 16, 112);
	end();
	CHECK_INT(seen.processes, 1);
	CHECK_INT(seen.heaps, 1);
	CHECK(seen.maps >= 1);
	CHECK_INT(seen.samples, 12);
	CHECK_INT(seen.frees, 3);
	CHECK(live(101) == 1 && live(102) == 1 && live(103) == 1 && live(104) == 1);
	CHECK(live(105) == 1 && live(128) == 1 && live(107) == 1 && live(108) == 1);
	CHECK_INT(live((uint64_t)sysconf(_SC_PAGESIZE)), 1);
	for (unsigned i = 0; i < 9; i++)
		hook_free(blocks[i]);
}

ORMA_TEST(functions_that_call_each_other_count_once)
{
	void *blocks[2];

	calls_malloc = true;
	begin("sampling_interval_bytes: 1");
	blocks[0] = hook_calloc(10, 10);
	blocks[1] = hook_realloc(NULL, 55);
	end();
	CHECK_INT(seen.samples, 2);
	CHECK(live(100) == 1 && live(55) == 1);
	hook_free(blocks[0]);
	hook_free(blocks[1]);
}

ORMA_TEST(realloc_frees_the_old_block_only_if_it_succeeds)
{
	void *block, *other;

	begin("sampling_interval_bytes: 1");
	block = hook_malloc(100);
	is_full = true;
	errno = 0;
	CHECK(!hook_realloc(block, 200));
	is_full = false;
	block = hook_realloc(block, 300);
	other = hook_malloc(50);
	hook_free(other);
	end();
	CHECK_INT(seen.samples, 3);
	CHECK_INT(seen.frees, 2);
	CHECK_INT(live(300), 1);
	CHECK_INT(seen.bytes, 300);
	hook_free(block);
}

/* Some C libraries return NULL then, and have freed the block; others return a block of nothing. */
ORMA_TEST(realloc_to_nothing_frees_the_old_block)
{
	void *block, *nothing;

	begin("sampling_interval_bytes: 1");
	block = hook_malloc(100);
	nothing = hook_realloc(block, 0);
	hook_free(nothing);
	end();
	CHECK_INT(seen.frees, seen.samples);
	CHECK_INT(live(100), 0);
	CHECK_INT(seen.bytes, 0);
}

ORMA_TEST(failures_are_not_samples)
{
	void *block = NULL;

	begin("sampling_interval_bytes: 1");
	is_full = true;
	CHECK(!hook_malloc(1) && !hook_calloc(1, 1) && !hook_realloc(NULL, 1));
	CHECK(!hook_aligned_alloc(64, 64) && !hook_memalign(64, 1) && !hook_valloc(1));
	CHECK_INT(hook_posix_memalign(&block, 64, 1), ENOMEM);
	is_full = false;
	CHECK(!hook_calloc(SIZE_MAX, 2));
	errno = 0;
	CHECK(!hook_reallocarray(NULL, SIZE_MAX, 2));
	CHECK_INT(errno, ENOMEM);
	errno = 0;
	CHECK(!hook_pvalloc(SIZE_MAX));
	CHECK_INT(errno, ENOMEM);
	hook_free(NULL);
	end();
	CHECK_INT(seen.samples, 0);
	CHECK_INT(seen.frees, 0);
}

/* The sizes are variables, because compilers warn of such constants. */
ORMA_TEST(an_allocation_that_no_memory_has_room_for_does_not_end_sampling)
{
	volatile size_t sizes[] = {(size_t)1 << 63, ((size_t)1 << 63) + (1u << 30), (size_t)3 << 62,
				   SIZE_MAX - (1u << 20), SIZE_MAX};

	begin("sampling_interval_bytes: 2000");
	hook_free(hook_malloc(1));
	is_full = true; /* the allocator of AddressSanitizer ends the process at such sizes */
	for (unsigned i = 0; i < ORMA_ARRAY_SIZE(sizes); i++) {
		int64_t left = orma_heap_self.left;

		CHECK(!hook_malloc(sizes[i]) && !hook_calloc(1, sizes[i]) &&
		      !hook_realloc(NULL, sizes[i]));
		CHECK(orma_heap_self.left == left);
	}
	is_full = false;
	end();
}

ORMA_TEST(errno_is_kept)
{
	begin("sampling_interval_bytes: 1");
	errno = 4711;
	void *block = hook_malloc(10);
	CHECK_INT(errno, 4711);
	hook_free(block);
	CHECK_INT(errno, 4711);
	end();
}

ORMA_TEST(without_a_session_nothing_is_recorded)
{
	for (unsigned i = 0; i < 5000; i++)
		hook_free(hook_malloc(1000));
	begin("sampling_interval_bytes: 1");
	void *block = hook_malloc(11);
	CHECK_INT(orma_session_stop(session), 0);
	CHECK_INT(orma_session_wait_stopped(session, 5000, NULL), 0);
	hook_free(hook_malloc(12));
	/* Its session is gone. */
	hook_free(block);
	end();
	CHECK_INT(seen.samples, 1);
	CHECK_INT(seen.frees, 0);
}

/* A constructor may allocate before that of the C library. */
ORMA_TEST(every_allocation_tries_to_begin_the_profile_until_it_has_begun)
{
	void *blocks[5];

	is_before_begin = true;
	begins = 0;
	orma_heap_self.left = 0;
	blocks[0] = hook_malloc(10);
	blocks[1] = hook_calloc(1, 10);
	blocks[2] = hook_realloc(NULL, 10);
	CHECK_INT(hook_posix_memalign(&blocks[3], 64, 10), 0);
	CHECK_INT(begins, 4);
	is_before_begin = false;
	blocks[4] = hook_malloc(10);
	hook_free(hook_malloc(10));
	CHECK_INT(begins, 5);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(blocks); i++)
		hook_free(blocks[i]);
}

ORMA_TEST(samples_estimate_what_was_allocated)
{
	enum { COUNT = 100000, SIZE = 200, INTERVAL = 4096 };
	double weight = SIZE / (1 - __builtin_exp(-(double)SIZE / INTERVAL)), sigma;

	begin("sampling_interval_bytes: 4096");
	for (unsigned i = 0; i < COUNT; i++)
		hook_free(hook_malloc(SIZE));
	end();
	sigma = weight * __builtin_sqrt(COUNT * (SIZE / weight) * (1 - SIZE / weight));
	CHECK(__builtin_fabs(seen.samples * weight - (double)COUNT * SIZE) < 4 * sigma);
	CHECK_INT(seen.frees, seen.samples);
}

/* --- where a call can come from --------------------------------------------------------------- */

static void *allocate_in_thread(void *ctx)
{
	void *block = hook_malloc(70);

	hook_free(block);
	return hook_malloc((size_t)(uintptr_t)ctx);
}

static void free_in_destructor(void *block)
{
	hook_free(block);
	hook_free(hook_malloc(31));
}

static pthread_key_t key;

static void *leave_to_destructor(void *ctx)
{
	(void)ctx;
	CHECK_INT(pthread_setspecific(key, hook_malloc(30)), 0);
	return NULL;
}

ORMA_TEST(threads_and_their_destructors_are_counted)
{
	enum { THREADS = 200 };
	pthread_t thread;
	void *block;

	CHECK_INT(pthread_key_create(&key, free_in_destructor), 0);
	begin("sampling_interval_bytes: 1");
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK_INT(pthread_create(&thread, NULL, allocate_in_thread, (void *)(uintptr_t)71),
			  0);
		CHECK_INT(pthread_join(thread, &block), 0);
		hook_free(block);
		CHECK_INT(pthread_create(&thread, NULL, leave_to_destructor, NULL), 0);
		CHECK_INT(pthread_join(thread, NULL), 0);
	}
	end();
	CHECK_INT(seen.samples, 4 * THREADS);
	CHECK_INT(seen.frees, 4 * THREADS);
	CHECK_INT(seen.bytes, 0);
}

static void *only_free(void *block)
{
	hook_free(block);
	return NULL;
}

ORMA_TEST(a_thread_that_only_frees_is_counted)
{
	pthread_t thread;

	begin("sampling_interval_bytes: 1");
	for (unsigned i = 0; i < 100; i++) {
		CHECK_INT(pthread_create(&thread, NULL, only_free, hook_malloc(90)), 0);
		CHECK_INT(pthread_join(thread, NULL), 0);
	}
	end();
	CHECK_INT(seen.frees, 100);
}

static void *volatile from_handler;

static void on_signal(int signal)
{
	(void)signal;
	from_handler = hook_malloc(40);
}

ORMA_TEST(a_signal_handler_on_its_own_stack_is_counted)
{
	static char stack[65536];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	begin("sampling_interval_bytes: 1");
	CHECK_INT(sigaltstack(&alternate, NULL), 0);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	for (unsigned i = 0; i < 100; i++) {
		CHECK_INT(raise(SIGUSR1), 0);
		hook_free(from_handler);
	}
	end();
	CHECK_INT(seen.samples, 100);
	CHECK_INT(seen.frees, 100);
}

/* --- heaps of the program --------------------------------------------------------------------- */

static unsigned enabled, disabled;
static uint64_t enabled_interval;

static void on_enabled(void *data, const struct orma_heap_enabled *event)
{
	CHECK(data == &enabled);
	enabled++;
	enabled_interval = AHeapProfileEnableCallbackInfo_getSamplingInterval(event);
}

static void on_disabled(void *data, const struct orma_heap_disabled *event)
{
	(void)event;
	CHECK(data == &disabled);
	disabled++;
}

ORMA_TEST(heaps_of_the_program_have_callbacks_and_samples)
{
	uint32_t pool, other;

	AHeapInfo *info = AHeapInfo_create("my.pool");
	CHECK(AHeapInfo_setEnabledCallback(info, on_enabled, &enabled) == info);
	CHECK(AHeapInfo_setDisabledCallback(info, on_disabled, &disabled) == info);
	pool = AHeapProfile_registerHeap(info);
	other = orma_heap_register(orma_heap_new("other"));
	CHECK(pool > 1 && other > 1 && pool != other);
	begin("sampling_interval_bytes: 1 heaps: \"my.pool\"");
	CHECK_INT(enabled, 1);
	CHECK_INT(enabled_interval, 1);
	CHECK(AHeapProfile_reportAllocation(pool, 0, 1001));
	CHECK(AHeapProfile_reportAllocation(pool, 1, 1002));
	CHECK(orma_heap_report_sample(pool, 2, 1003));
	CHECK(!orma_heap_report_allocation(other, 1, 1004));
	CHECK(!orma_heap_report_sample(other, 1, 1005));
	CHECK(!orma_heap_report_allocation(0, 1, 1006));
	CHECK(!orma_heap_report_allocation(60, 1, 1007));
	CHECK(!orma_heap_report_allocation(256, 1, 1008));
	CHECK(!orma_heap_report_allocation(UINT32_MAX, 1, 1009));
	AHeapProfile_reportFree(pool, 1);
	AHeapProfile_reportFree(pool, 4711);
	orma_heap_report_free(other, 0);
	end();
	CHECK_INT(disabled, 1);
	CHECK_INT(seen.samples, 3);
	CHECK_INT(seen.frees, 1);
	CHECK(live(1001) == 1 && live(1003) == 1);
}

ORMA_TEST(a_heap_may_report_any_size)
{
	static const uint64_t sizes[] = {0, UINT64_C(1) << 62, UINT64_C(1) << 63,
					 (UINT64_C(1) << 63) + 4096, UINT64_MAX};
	uint32_t dense = orma_heap_register(orma_heap_new("dense"));
	uint32_t rare = orma_heap_register(orma_heap_new("rare"));

	begin("heaps: \"dense\" heaps: \"rare\" heap_sampling_intervals: 4096 "
	      "heap_sampling_intervals: 4611686018427387904");
	for (unsigned i = 1; i < ORMA_ARRAY_SIZE(sizes); i++) {
		CHECK(orma_heap_report_allocation(dense, i, sizes[i]));
		orma_heap_report_allocation(rare, i, sizes[i]);
	}
	/* The interval is 4 KiB still. */
	for (unsigned i = 0; i < 1000; i++)
		orma_heap_report_allocation(dense, 100 + i, 4000);
	end();
	CHECK(live(4000) > 500 && live(4000) < 750);
}

static void *report_to_each_heap(void *first_id)
{
	for (uint32_t heap = 2; heap <= 255; heap++) {
		CHECK(orma_heap_report_allocation(heap, (uintptr_t)first_id, 2000 + heap));
		orma_heap_report_free(heap, (uintptr_t)first_id);
	}
	return NULL;
}

ORMA_TEST(each_thread_may_report_to_254_heaps)
{
	pthread_t thread;

	for (uint32_t heap = 2; heap <= 255; heap++)
		CHECK_INT(orma_heap_register(orma_heap_new("pool")), heap);
	begin("sampling_interval_bytes: 1 heaps: \"pool\"");
	report_to_each_heap((void *)16);
	for (uintptr_t i = 2; i < 12; i++) {
		CHECK_INT(pthread_create(&thread, NULL, report_to_each_heap, (void *)(16 * i)), 0);
		pthread_join(thread, NULL);
	}
	end();
	CHECK_INT(seen.samples, 11 * 254);
	CHECK_INT(seen.frees, 11 * 254);
	CHECK_INT(seen.heaps, 254);
}

ORMA_TEST(each_heap_has_a_countdown_of_its_own)
{
	uint32_t dense, rare;

	for (unsigned i = 0; i < 252; i++)
		CHECK(orma_heap_register(orma_heap_new("unused")));
	dense = orma_heap_register(orma_heap_new("dense"));
	rare = orma_heap_register(orma_heap_new("rare"));
	CHECK_INT(rare, 255);
	begin("heaps: \"dense\" heaps: \"rare\" heap_sampling_intervals: 1 "
	      "heap_sampling_intervals: 2000");
	for (uint64_t id = 1; id <= 8000; id++) {
		CHECK(orma_heap_report_allocation(dense, id, 1));
		orma_heap_report_allocation(rare, id, 1001);
	}
	end();
	/* Each is sampled with a probability of 0.394; five sigma are 218. */
	CHECK_INT(live(1), 8000);
	CHECK(live(1001) > 3150 - 218 && live(1001) < 3150 + 218);
}

ORMA_TEST(names_of_heaps_are_checked)
{
	char name[65] = "";

	CHECK(!orma_heap_new(NULL) && !orma_heap_new(""));
	memset(name, 'x', 64);
	CHECK(!orma_heap_new(name));
	name[63] = '\0';
	for (unsigned i = 0; i < 254; i++)
		CHECK(orma_heap_register(orma_heap_new(name)) == i + 2);
	CHECK(!orma_heap_new(name));
	CHECK_INT(orma_heap_register(NULL), 0);
	CHECK(!orma_heap_set_enabled_callback(NULL, on_enabled, NULL));
	CHECK_INT(orma_heap_enabled_interval(NULL), 0);
}

ORMA_TEST(a_child_has_the_memory_of_threads_that_do_not_exist_there)
{
	for (unsigned i = 0; orma_heap_scratch_get(); i++)
		CHECK(i < 64);
	orma_heap_scratch_forked();
	CHECK(orma_heap_scratch_get());
}
