/* SPDX-License-Identifier: Apache-2.0
 * rotation_test.c - files of max_file_count, each read alone. The program uses the library; the
 * daemon writes the files.
 *
 * The events of each thread are numbered, so that the test notices events that are missing,
 * doubled or out of order. Decoding follows the rules of Perfetto's Trace Processor.
 */
#include <fcntl.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon.h"
#include "interop/trace_decodable.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(rotation, "rotation", NULL);

enum {
	THREADS = 4, /* the last one emits rarely */
	EVENTS = 50000,
	BURST = 200,
	SELDOM = 500,
	FILES_MAX = 64,
	FILE_BYTES = 1 << 20,
	SEQUENCES_MAX = 64,
	TRACK_EVENT_ANNOTATION = 4,
	ANNOTATION_INT = 4,
};

struct counts {
	struct {
		uint64_t id, next;
	} sequences[SEQUENCES_MAX];
	size_t sequence_count;
	struct decoder decoder; /* the decoder of the current file */
	uint64_t lost;          /* in all files */
};

/* A thread that emits everything at once, or in bursts, after each of which it waits for all
 * others and for a flush. */
struct emitter {
	pthread_t thread;
	pthread_barrier_t *barrier; /* NULL = all at once */
	bool is_seldom;
};

static void *emit_numbers(void *ctx)
{
	const struct emitter *emitter = ctx;

	for (int i = 0; i < EVENTS; i++) {
		if (!emitter->is_seldom)
			ORMA_INSTANT(rotation, "an event", "number", i);
		else if (i % SELDOM == 0)
			ORMA_INSTANT(rotation, "a rare event", "number", i / SELDOM);
		if (emitter->barrier && i % BURST == BURST - 1) {
			pthread_barrier_wait(emitter->barrier);
			pthread_barrier_wait(emitter->barrier);
		}
	}
	return NULL;
}

static uint64_t *next_of(struct counts *counts, uint64_t sequence_id)
{
	size_t i = 0;

	while (i < counts->sequence_count && counts->sequences[i].id != sequence_id)
		i++;
	if (i == counts->sequence_count) {
		CHECK(i < SEQUENCES_MAX);
		counts->sequences[counts->sequence_count++].id = sequence_id;
	}
	return &counts->sequences[i].next;
}

static void count_packet(struct counts *counts, struct wire_span body)
{
	struct wire_span event, annotation;
	struct packet packet;
	uint64_t *next;

	CHECK_INT(packet_decode(body, &packet), 0);
	counts->lost += decoder_show(&counts->decoder, &packet) == DECODE_LOST;
	CHECK_INT(packet.dropped, 0);
	if (!wire_get_bytes(packet.body, PACKET_TRACK_EVENT, &event) ||
	    !wire_get_bytes(event, TRACK_EVENT_ANNOTATION, &annotation))
		return;
	next = next_of(counts, packet.sequence_id);
	CHECK_INT(wire_get(annotation, ANNOTATION_INT, UINT64_MAX), *next);
	++*next;
}

static bool count_file(struct counts *counts, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct wire_field field;
	struct stat info;
	struct wire_span trace;
	void *memory;

	if (fd < 0)
		return false;
	CHECK_INT(fstat(fd, &info), 0);
	CHECK(info.st_size > 0 && info.st_size <= FILE_BYTES);
	memory = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(memory != MAP_FAILED);
	trace = (struct wire_span){memory, (const uint8_t *)memory + info.st_size};
	while (wire_next(&trace, &field) > 0)
		count_packet(counts, field.bytes);
	CHECK(trace.at == trace.end);
	decoder_done(&counts->decoder);
	munmap(memory, (size_t)info.st_size);
	close(fd);
	return true;
}

/* Lists the files, the oldest first; returns their number. */
static int count_files(struct counts *counts, const char *path)
{
	char name[300];
	int files = 0;

	for (int i = FILES_MAX - 1; i >= 0; i--) {
		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
		files += count_file(counts, name);
	}
	return files;
}

static void record(const struct orma_test_daemon *daemon, const char *path, bool is_paced)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon->consumers};
	struct orma_session *session = session_new(&options);
	struct emitter emitters[THREADS];
	pthread_barrier_t barrier;
	char config[1024];

	snprintf(config, sizeof(config),
		 "buffers { size_kb: 32768 } data_sources { config { name: \"track_event\" } } "
		 "write_into_file: true file_write_period_ms: 1000 output_path: \"%s\" "
		 "max_file_size_bytes: %d max_file_count: %d",
		 path, FILE_BYTES, FILES_MAX);
	session_enable(session, config);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
	for (int i = 0; i < THREADS; i++) {
		emitters[i].barrier = is_paced ? &barrier : NULL;
		emitters[i].is_seldom = i == THREADS - 1;
		CHECK_INT(pthread_create(&emitters[i].thread, NULL, emit_numbers, &emitters[i]), 0);
	}
	for (int i = 0; is_paced && i < EVENTS / BURST; i++) {
		pthread_barrier_wait(&barrier);
		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(emitters[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	session_stop(session);
	orma_session_free(session);
}

static uint64_t check_recording(bool is_paced, struct counts *counts)
{
	struct orma_test_daemon daemon;
	uint64_t numbers = 0;
	char path[256];
	int files;

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	orma_test_daemon_start(&daemon);
	const struct orma_init_options init = {.struct_size = sizeof(init),
					       .producer_socket = daemon.producers,
					       .event_policy = ORMA_EXHAUSTED_STALL};
	CHECK_INT(orma_init(&init), 0);
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	record(&daemon, path, is_paced);
	files = count_files(counts, path);
	CHECK(files >= 4);
	for (size_t i = 0; i < counts->sequence_count; i++)
		numbers += counts->sequences[i].next;
	CHECK_INT(numbers, (THREADS - 1) * EVENTS + EVENTS / SELDOM);
	orma_shutdown();
	orma_test_daemon_stop(&daemon);
	return (uint64_t)files;
}

ORMA_TEST(each_rotated_file_decodes_alone_and_together_they_have_every_event)
{
	static struct counts counts;
	uint64_t files = check_recording(true, &counts);

	/* A thread may be interrupted in the middle of an event while its file is cut. */
	CHECK(counts.lost <= files * THREADS);
}

/* A quarter of a file may arrive here before the service can ask for anything. */
ORMA_TEST(files_that_fill_in_milliseconds_have_every_event_in_order)
{
	static struct counts counts;

	(void)check_recording(false, &counts);
}
