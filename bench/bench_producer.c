/* SPDX-License-Identifier: Apache-2.0
 * bench_producer.c - the producer of every benchmark: threads that send packets of one size to the
 * daemon that $PERFETTO_PRODUCER_SOCK_NAME names.
 *
 * It prints "ready" when the daemon knows its data source, emits when a session starts it, and
 * prints "result ..." when it has emitted all packets. It stays connected until its standard input
 * ends, which also ends emitting. With --idle it emits nothing and is one more connected client.
 *
 * A packet is one copy of bytes that were encoded before, so that the way through shared memory and
 * daemon is measured, not this program. The clock is read once per 64 KiB.
 *
 * Rejected: timing single packets (the clock would cost as much as the packet); a fixed count
 * instead of a time (the slow daemon's runs would last too long, or the fast one's be too short).
 */
#include <errno.h>
#include <getopt.h>
#include <orma/data_source.h>
#include <orma/init.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "proto/wire.h"

#define THREADS_MAX     64
#define PACKET_SIZE_MAX (1u << 20)
#define STRIDE_BYTES    (64u << 10)
#define CONNECT_MS      10000

/* The fields TracePacket.timestamp, and TracePacket.for_testing with TestEvent.str inside. */
#define FIELD_TIMESTAMP   8
#define FIELD_FOR_TESTING 900
#define FIELD_STR         1

static struct {
	uint32_t threads, packet_bytes, shm_kib;
	uint64_t count;       /* packets per thread; 0 = until the time is over */
	uint64_t duration_ns; /* 0 = until standard input ends */
	uint64_t bytes_per_s; /* all threads together; 0 = no limit */
	bool is_idle, is_dropping;
	const char *name;
} args = {.threads = 1, .packet_bytes = 64, .name = "orma.bench"};

static struct {
	struct orma_data_source *source;
	uint8_t packet[PACKET_SIZE_MAX];
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_started;
	_Atomic bool
		is_over; /* written by main, read by emitting threads; relaxed, since it only ends a loop */
	uint64_t begin_ns;
	uint64_t packets[THREADS_MAX];
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void usage(FILE *to)
{
	fputs("usage: bench_producer [--threads N] [--size BYTES] [--count PACKETS | --ms MS]\n"
	      "                      [--rate MB_PER_S] [--shm KIB] [--drop] [--idle] [--name "
	      "NAME]\n",
	      to);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "bench_producer: \"%s\" is no number\n", text);
		exit(2);
	}
	return value;
}

static void parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'}, {"size", required_argument, NULL, 's'},
		{"count", required_argument, NULL, 'c'},   {"ms", required_argument, NULL, 'm'},
		{"rate", required_argument, NULL, 'r'},    {"shm", required_argument, NULL, 'k'},
		{"drop", no_argument, NULL, 'd'},          {"idle", no_argument, NULL, 'i'},
		{"name", required_argument, NULL, 'n'},    {NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 't':
			args.threads = (uint32_t)number(optarg);
			break;
		case 's':
			args.packet_bytes = (uint32_t)number(optarg);
			break;
		case 'c':
			args.count = number(optarg);
			break;
		case 'm':
			args.duration_ns = number(optarg) * ORMA_NS_PER_MS;
			break;
		case 'r':
			args.bytes_per_s = number(optarg) * 1000000;
			break;
		case 'k':
			args.shm_kib = (uint32_t)number(optarg);
			break;
		case 'd':
			args.is_dropping = true;
			break;
		case 'i':
			args.is_idle = true;
			break;
		case 'n':
			args.name = optarg;
			break;
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (args.threads < 1 || args.threads > THREADS_MAX || args.packet_bytes < 32 ||
	    args.packet_bytes > PACKET_SIZE_MAX) {
		fprintf(stderr, "bench_producer: 1 to %d threads, packets of 32 to %u bytes\n",
			THREADS_MAX, PACKET_SIZE_MAX);
		exit(2);
	}
}

/* Encodes a packet of exactly the wanted size: a timestamp, and text in two nested messages. */
static void encode_packet(void)
{
	uint8_t *at = state.packet;
	size_t rest, text, inner;

	at = orma_proto_put_varint(at, orma_proto_tag(FIELD_TIMESTAMP, ORMA_PROTO_VARINT));
	at = orma_proto_put_varint(at, orma_base_clock_ns(CLOCK_BOOTTIME));
	at = orma_proto_put_varint(at, orma_proto_tag(FIELD_FOR_TESTING, ORMA_PROTO_BYTES));
	rest = args.packet_bytes - (size_t)(at - state.packet);
	/* When a length needs one more byte, the exact size may be impossible: one byte is missing. */
	for (text = rest;; text--) {
		inner = 1 + orma_proto_varint_size(text) + text;
		if (orma_proto_varint_size(inner) + inner <= rest)
			break;
	}
	at = orma_proto_put_varint(at, inner);
	at = orma_proto_put_varint(at, orma_proto_tag(FIELD_STR, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, text);
	memset(at, 'o', text);
	args.packet_bytes = (uint32_t)(at + text - state.packet);
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	pthread_mutex_lock(&state.mutex);
	state.is_started = true;
	pthread_cond_broadcast(&state.changed);
	pthread_mutex_unlock(&state.mutex);
}

/* Sleeps until a thread with a limited rate may have emitted so much. */
static void keep_pace(uint64_t bytes)
{
	uint64_t due_ns, seconds, rest;
	struct timespec due;

	if (!args.bytes_per_s)
		return;
	seconds = bytes * args.threads / args.bytes_per_s;
	rest = bytes * args.threads % args.bytes_per_s;
	due_ns = state.begin_ns + seconds * ORMA_NS_PER_SEC +
		 rest * ORMA_NS_PER_SEC / args.bytes_per_s;
	due.tv_sec = (time_t)(due_ns / ORMA_NS_PER_SEC);
	due.tv_nsec = (long)(due_ns % ORMA_NS_PER_SEC);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static bool is_time_over(void)
{
	return atomic_load_explicit(&state.is_over, memory_order_relaxed) ||
	       (args.duration_ns &&
		orma_base_clock_ns(CLOCK_MONOTONIC) - state.begin_ns >= args.duration_ns);
}

static void *emit(void *ctx)
{
	uint64_t *packets = ctx, stride = STRIDE_BYTES / args.packet_bytes, emitted = 0;

	stride = stride ? stride : 1;
	while (!is_time_over() && (!args.count || emitted < args.count)) {
		uint64_t next =
			args.count && args.count - emitted < stride ? args.count - emitted : stride;

		for (uint64_t i = 0; i < next; i++) {
			struct orma_packet *packet = orma_packet_begin(state.source, 0);

			if (!packet)
				goto out;
			orma_packet_raw(packet, state.packet, args.packet_bytes);
			orma_packet_end(packet);
			emitted++;
		}
		keep_pace(emitted * args.packet_bytes);
	}
out:
	orma_data_source_flush_thread(state.source, 0);
	*packets = emitted;
	return NULL;
}

static void *emit_from_all_threads(void *ctx)
{
	pthread_t threads[THREADS_MAX];
	uint64_t total = 0, end_ns;
	uint32_t started = 0;

	(void)ctx;
	pthread_mutex_lock(&state.mutex);
	while (!state.is_started)
		pthread_cond_wait(&state.changed, &state.mutex);
	pthread_mutex_unlock(&state.mutex);
	state.begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	for (; started < args.threads; started++)
		if (pthread_create(&threads[started], NULL, emit, &state.packets[started]))
			break;
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		total += state.packets[i];
	}
	end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	printf("result packets=%llu bytes=%llu wall_ns=%llu cpu_ns=%llu dropped=%llu\n",
	       (unsigned long long)total, (unsigned long long)(total * args.packet_bytes),
	       (unsigned long long)(end_ns - state.begin_ns),
	       (unsigned long long)orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	       (unsigned long long)orma_data_source_dropped(state.source, 0));
	fflush(stdout);
	return NULL;
}

static int join_service(void)
{
	const struct orma_init_options init = {
		.struct_size = sizeof(init),
		.producer_name = "bench_producer",
		.shm_size_bytes = args.shm_kib << 10,
	};
	const struct orma_data_source_options source = {
		.struct_size = sizeof(source),
		.name = args.name,
		.policy = args.is_dropping ? ORMA_EXHAUSTED_DROP : ORMA_EXHAUSTED_STALL,
		.on_start = on_start,
	};
	int r = orma_init(&init);

	if (r == 0)
		r = orma_data_source_register(&source, &state.source);
	return r < 0 ? r : orma_sync(CONNECT_MS);
}

int main(int argc, char **argv)
{
	pthread_t emitter;
	char byte;
	int r;

	parse_args(argc, argv);
	encode_packet();
	r = join_service();
	if (r < 0) {
		fprintf(stderr, "bench_producer: no connection: %s\n", strerror(-r));
		return 1;
	}
	if (!args.is_idle && pthread_create(&emitter, NULL, emit_from_all_threads, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR)
		errno = 0;
	atomic_store_explicit(&state.is_over, true, memory_order_relaxed);
	/* orma_shutdown() is not called: if no session started, the emitting thread still waits. */
	fflush(stdout);
	_exit(0);
}
