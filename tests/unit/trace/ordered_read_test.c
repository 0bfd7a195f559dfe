/* SPDX-License-Identifier: Apache-2.0
 * ordered_read_test.c - events of many sources come in the order of time on one thread and on two, and errors end the pass.
 */
#include "trace/ordered_read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/map.h"
#include "harness.h"
#include "proto/wire.h"

enum { SEQUENCES = 13, CPUS = 3, BUNDLE_EVENTS = 40, SEEN_MAX = 200000 };

struct message {
	size_t size;
	uint8_t bytes[4096];
};

static void put_number(struct message *message, uint32_t field, uint64_t value)
{
	uint8_t *at = message->bytes + message->size;
	at = orma_proto_put_varint(at, orma_proto_tag(field, ORMA_PROTO_VARINT));
	at = orma_proto_put_varint(at, value);
	message->size = (size_t)(at - message->bytes);
}

static void put_bytes(struct message *message, uint32_t field, const void *data, size_t size)
{
	uint8_t *at = message->bytes + message->size;
	at = orma_proto_put_varint(at, orma_proto_tag(field, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, size);
	if (size > 0)
		memcpy(at, data, size);
	message->size = (size_t)(at - message->bytes) + size;
}

static void put_message(struct message *message, uint32_t field, const struct message *inner)
{
	put_bytes(message, field, inner->bytes, inner->size);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33) % below;
}

/* A packet of one of the sequences; the last one's times go back. */
static void write_packet(int fd, uint64_t *state, uint64_t now_ns[SEQUENCES])
{
	struct message packet = {0}, event = {0}, entry = {0};
	uint32_t idx = draw(state, SEQUENCES), kind = draw(state, 20);
	bool is_cleared = kind == 0 || now_ns[idx] == 0;
	now_ns[idx] += draw(state, 30) + (now_ns[idx] == 0);
	uint64_t ns = now_ns[idx] + (idx == SEQUENCES - 1 ? draw(state, 500) : 0);
	if (kind != 1)
		put_number(&packet, 8, ns);
	put_number(&packet, 10, idx + 1);
	put_number(&packet, 13, is_cleared ? 1 : 2);
	if (kind < 3) {
		/* Process statistics: not a track event, with or without a time. */
		put_bytes(&packet, 9, NULL, 0);
	} else {
		put_number(&event, 9, 1 + draw(state, 2));
		put_number(&event, 11, draw(state, UINT32_MAX));
		if (draw(state, 2) == 0) {
			put_bytes(&event, 23, "a name of the event", draw(state, 19));
		} else {
			/* A plain event, which is read on either thread. */
			struct message arg = {0};
			put_number(&event, 10, 1 + draw(state, 50));
			put_number(&arg, 1, 1);
			put_number(&arg, 4, draw(state, 1000));
			if (draw(state, 2) == 0)
				put_message(&event, 4, &arg);
		}
		put_message(&packet, 11, &event);
	}
	put_message(&entry, 1, &packet);
	CHECK_INT(write(fd, entry.bytes, entry.size), (long long)entry.size);
}

/* Plain and compact events of one CPU. */
static void write_bundle(int fd, uint64_t *state, uint32_t cpu, uint64_t now_ns[CPUS])
{
	struct message packet = {0}, bundle = {0}, compact = {0}, entry = {0}, columns[10] = {{0}};
	static const uint32_t fields[10] = {1, 2, 3, 4, 6, 7, 8, 9, 10, 11};
	uint64_t last_ns[2] = {0};
	now_ns[cpu]++; /* each bundle is later than the last one */
	put_number(&bundle, 1, cpu);
	put_bytes(&compact, 5, "task", 4);
	for (int i = 0; i < BUNDLE_EVENTS; i++) {
		uint32_t kind = draw(state, 3);
		now_ns[cpu] += draw(state, 20);
		if (kind == 0) {
			struct message event = {0};
			put_number(&event, 1, now_ns[cpu]);
			put_number(&event, 2, draw(state, 100));
			put_message(&bundle, 2, &event);
			continue;
		}
		const uint64_t values[5] = {now_ns[cpu] - last_ns[kind - 1], 1, draw(state, 100),
					    120, 0};
		last_ns[kind - 1] = now_ns[cpu];
		for (int n = 0; n < 5; n++) {
			struct message *column = &columns[(kind - 1) * 5 + (uint32_t)n];
			column->size = (size_t)(orma_proto_put_varint(column->bytes + column->size,
								      values[n]) -
						column->bytes);
		}
	}
	for (int i = 0; i < 10; i++)
		put_message(&compact, fields[i], &columns[i]);
	put_message(&bundle, 4, &compact);
	put_number(&packet, 10, 100);
	put_message(&packet, 1, &bundle);
	put_message(&entry, 1, &packet);
	CHECK_INT(write(fd, entry.bytes, entry.size), (long long)entry.size);
}

static int write_trace(unsigned packets, uint64_t seed)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	uint64_t now_ns[SEQUENCES] = {0}, bundle_ns[CPUS] = {0}, state = seed;
	uint32_t bundles = 0;
	/* Each CPU in turn, so that they are met in the order of their numbers. */
	for (unsigned i = 0; i < packets; i++)
		if (draw(&state, 40) == 0)
			write_bundle(fd, &state, bundles++ % CPUS, bundle_ns);
		else
			write_packet(fd, &state, now_ns);
	return fd;
}

/* An event's place, and a hash of all that it points to. */
struct seen {
	int64_t ns;
	uint64_t address, hash;
	uint32_t rank, order;
};

struct pass {
	struct seen *seen;
	size_t count, fail_at, plain;
};

static int see(void *ctx, const struct orma_ordered_event *event)
{
	struct pass *pass = ctx;
	struct seen seen = {.ns = event->ns, .address = event->address};
	struct orma_str bytes = {NULL, 0};
	uint64_t numbers[4] = {event->kind, event->machine_idx};
	seen.rank = event->kind;
	if (event->kind > ORMA_ORDERED_TRACK_EVENT)
		seen.rank = 2 + event->cpu * 3 + event->kind - ORMA_ORDERED_KERNEL_EVENT;
	if (event->kind == ORMA_ORDERED_KERNEL_EVENT) {
		bytes = event->kernel_event->bytes;
		seen.order = event->kernel_event->order;
		numbers[2] = event->kernel_event->offset;
	} else if (event->kind == ORMA_ORDERED_SWITCH) {
		bytes = orma_compact_name_text(event->compact_switch->next_comm);
		seen.order = event->compact_switch->order;
		numbers[2] = (uint64_t)event->compact_switch->prev_state;
		numbers[3] = (uint64_t)event->compact_switch->next_pid << 32 |
			     (uint32_t)event->compact_switch->next_prio;
	} else if (event->kind == ORMA_ORDERED_WAKING) {
		bytes = orma_compact_name_text(event->compact_waking->comm);
		seen.order = event->compact_waking->order;
		numbers[2] = (uint64_t)event->compact_waking->pid << 32 |
			     (uint32_t)event->compact_waking->prio;
		numbers[3] = (uint64_t)event->compact_waking->target_cpu;
	} else {
		bytes = event->packet->content;
		numbers[2] = event->packet->kind;
		numbers[3] = (uint64_t)event->state->generation << 32 | event->state->sequence->id;
		CHECK_INT(event->packet->address, event->address);
		if (event->kind == ORMA_ORDERED_TRACK_EVENT)
			CHECK_INT(event->packet->header, 2);
	}
	seen.hash = orma_base_fnv1a(ORMA_FNV1A_INIT, numbers, sizeof(numbers));
	if (bytes.size > 0)
		seen.hash = orma_base_fnv1a(seen.hash, bytes.data, bytes.size);
	if (event->kind == ORMA_ORDERED_TRACK_EVENT && event->plain) {
		const uint64_t plain[] = {event->plain->name_iid, event->plain->track_uuid,
					  event->plain->type,
					  event->args ? (uint64_t)event->args->value : 0};
		seen.hash = orma_base_fnv1a(seen.hash, plain, sizeof(plain));
		pass->plain++;
	}
	CHECK(pass->count < SEEN_MAX);
	pass->seen[pass->count++] = seen;
	return pass->count == pass->fail_at ? -EPERM : 0;
}

/* How far reading is, which only the caller's thread is told. */
struct progress {
	pthread_t thread;
	uint64_t bytes;
};

static int add_progress(void *ctx, uint64_t bytes)
{
	struct progress *progress = ctx;
	CHECK(pthread_equal(pthread_self(), progress->thread));
	progress->bytes += bytes;
	return 0;
}

static int run(int fd, enum orma_read_threads threads, struct pass *pass)
{
	struct progress progress = {.thread = pthread_self()};
	struct orma_trace_bytes input;
	struct orma_error error = {0};
	CHECK_INT(orma_trace_bytes_open(&input, fd, NULL), 0);
	struct orma_packet_index index = {.input = &input, .threads = threads};
	CHECK_INT(orma_packet_index_build(&index, &error), 0);
	pass->count = 0;
	input.progress = add_progress;
	input.progress_ctx = &progress;
	int r = orma_ordered_read(&index, see, pass);
	CHECK(r < 0 || progress.bytes >= input.size / 2);
	orma_packet_index_done(&index);
	orma_trace_bytes_done(&input);
	return r;
}

/* The stream of kernel events that goes on. */
static uint32_t current_rank;

static int compare_places(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->rank != y->rank && (x->rank == current_rank || y->rank == current_rank))
		return x->rank == current_rank ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Sorts by time first, and then the events of each time with what is known of the event before. */
static void sort_seen(struct seen *seen, size_t count)
{
	enum { FIRST_KERNEL_RANK = 2 };
	current_rank = UINT32_MAX;
	if (count > 0)
		qsort(seen, count, sizeof(*seen), compare_places);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && seen[end].ns == seen[begin].ns;)
			end++;
		qsort(seen + begin, end - begin, sizeof(*seen), compare_places);
		current_rank =
			seen[end - 1].rank >= FIRST_KERNEL_RANK ? seen[end - 1].rank : UINT32_MAX;
	}
}

ORMA_TEST(two_threads_give_what_one_gives_which_is_sorted)
{
	static struct seen one[SEEN_MAX], two[SEEN_MAX], sorted[SEEN_MAX];
	/* Traces are shorter than a batch, or have some dozen of them. */
	static const unsigned sizes[] = {0, 1, 30, 3000, 40000};
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int fd = write_trace(sizes[i], i + 1);
		struct pass first = {.seen = one}, second = {.seen = two};
		CHECK_INT(run(fd, ORMA_THREADS_ONE, &first), 0);
		CHECK_INT(run(fd, ORMA_THREADS_TWO, &second), 0);
		CHECK_INT(first.count, second.count);
		CHECK_INT(first.plain, second.plain);
		CHECK(first.plain >= sizes[i] / 4);
		CHECK(memcmp(one, two, first.count * sizeof(*one)) == 0);
		memcpy(sorted, one, first.count * sizeof(*one));
		sort_seen(sorted, first.count);
		CHECK(memcmp(one, sorted, first.count * sizeof(*one)) == 0);
		/* Each packet but those that the sequence's state is missing for, and each event of a bundle. */
		CHECK(first.count >= sizes[i] * 9 / 10);
		close(fd);
	}
}

ORMA_TEST(an_error_ends_both_threads)
{
	static struct seen seen[SEEN_MAX];
	int fd = write_trace(30000, 7);
	for (size_t fail_at = 1; fail_at < 40000; fail_at = fail_at * 3 + 1)
		for (int threads = ORMA_THREADS_ONE; threads <= ORMA_THREADS_TWO; threads++) {
			struct pass pass = {.seen = seen, .fail_at = fail_at};
			CHECK_INT(run(fd, (enum orma_read_threads)threads, &pass), -EPERM);
			CHECK_INT(pass.count, fail_at);
		}
	close(fd);
}

ORMA_TEST(a_file_that_is_cut_between_the_passes_is_an_error_on_either_thread)
{
	static struct seen seen[SEEN_MAX];
	for (int threads = ORMA_THREADS_ONE; threads <= ORMA_THREADS_TWO; threads++) {
		struct pass pass = {.seen = seen};
		struct orma_trace_bytes input;
		struct orma_error error = {0};
		int fd = write_trace(30000, 9);
		CHECK_INT(orma_trace_bytes_open(&input, fd, NULL), 0);
		struct orma_packet_index index = {.input = &input,
						  .threads = (enum orma_read_threads)threads};
		CHECK_INT(orma_packet_index_build(&index, &error), 0);
		CHECK_INT(ftruncate(fd, (off_t)input.size / 2), 0);
		CHECK_INT(orma_ordered_read(&index, see, &pass), -EIO);
		orma_packet_index_done(&index);
		orma_trace_bytes_done(&input);
		close(fd);
	}
}

ORMA_TEST(a_failing_allocation_ends_the_pass)
{
	static struct seen seen[SEEN_MAX];
	/* Each bundle on its way has memory of its own, so a long trace would have thousands of allocations. */
	int fd = write_trace(300, 11), r = -ENOMEM;
	for (int threads = ORMA_THREADS_ONE; threads <= ORMA_THREADS_TWO; threads++) {
		struct orma_trace_bytes input;
		struct orma_error error = {0};
		CHECK_INT(orma_trace_bytes_open(&input, fd, NULL), 0);
		struct orma_packet_index index = {.input = &input,
						  .threads = (enum orma_read_threads)threads};
		CHECK_INT(orma_packet_index_build(&index, &error), 0);
		for (uint64_t nth = 1;; nth++) {
			struct pass pass = {.seen = seen};
			orma_test_fail_allocation(nth);
			r = orma_ordered_read(&index, see, &pass);
			bool has_failed = orma_test_allocation_failed();
			orma_test_fail_allocation(0);
			if (!has_failed)
				break;
			CHECK_INT(r, -ENOMEM);
		}
		CHECK_INT(r, 0);
		orma_packet_index_done(&index);
		orma_trace_bytes_done(&input);
	}
	close(fd);
}

/* Blocks end anywhere in a piece, and those of the file end where the spool begins. */
ORMA_TEST(pieces_from_shared_blocks_are_those_of_the_input)
{
	enum { FILE_BYTES = 100001, SPOOL_BYTES = 70000, PIECE_BYTES = 300 };
	static uint8_t bytes[FILE_BYTES + SPOOL_BYTES];
	static struct orma_trace_blocks blocks;
	struct orma_trace_window windows[] = {{.blocks = &blocks}, {.blocks = &blocks}};
	struct orma_trace_bytes input;
	uint64_t state = 3, address;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)draw(&state, 256);
	int fd = memfd_create("input", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, bytes, FILE_BYTES) == FILE_BYTES);
	CHECK_INT(orma_trace_bytes_open(&input, fd, orma_test_tmpdir()), 0);
	CHECK_INT(orma_trace_bytes_add(&input, bytes + FILE_BYTES, SPOOL_BYTES, &address), 0);
	for (int i = 0; i < 20000; i++) {
		struct orma_trace_window *window = &windows[i % 2];
		size_t size = 1 + draw(&state, PIECE_BYTES);
		bool is_spool = draw(&state, 2) > 0;
		size_t at = is_spool ? FILE_BYTES + draw(&state, SPOOL_BYTES - PIECE_BYTES)
				     : draw(&state, FILE_BYTES - PIECE_BYTES);
		const uint8_t *data;
		CHECK_INT(orma_trace_window_read(window, &input, at, size, size, &data), 1);
		CHECK(memcmp(data, bytes + at, size) == 0);
	}
	/* A piece that the input ends in is not there. */
	const uint8_t *data;
	CHECK_INT(orma_trace_window_read(&windows[0], &input, sizeof(bytes) - 10, 11, 11, &data),
		  0);
	CHECK_INT(orma_trace_window_read(&windows[0], &input, sizeof(bytes) - 10, 10, 10, &data),
		  1);
	CHECK(memcmp(data, bytes + sizeof(bytes) - 10, 10) == 0);
	/* One that the input has is there, though it ends before what was to be read ahead. */
	static const size_t ends[] = {FILE_BYTES, sizeof(bytes)};
	for (size_t i = 0; i < 2; i++) {
		size_t at = ends[i] - 20;
		CHECK_INT(orma_trace_window_read(&windows[1], &input, at, 20, 1000, &data), 1);
		CHECK(memcmp(data, bytes + at, 20) == 0);
	}
	for (int i = 0; i < 2; i++)
		orma_trace_window_done(&windows[i]);
	orma_trace_blocks_done(&blocks);
	orma_trace_bytes_done(&input);
	close(fd);
}
