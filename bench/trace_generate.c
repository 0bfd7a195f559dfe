/* SPDX-License-Identifier: Apache-2.0
 * trace_generate.c - writes large traces for answers_bench.c: slices of sixteen threads, and switches of eight CPUs.
 *
 * Usage: trace_generate slices|args|sched|json FILE EVENTS
 *
 * `slices` are begins and ends of 24 bytes with a time, a track and an interned name; `args` have an integer annotation
 * besides. A thread's packets come in pieces of 4 KB, as the service writes them. `sched` has compact switches, a thousand
 * in a bundle. `json` is text as Chrome's tracer writes it: nested slices, most of them with arguments, counters, flows and
 * asynchronous events of four processes; a thread's events come 64 at a time. Everything depends on the number of events only.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"

enum {
	THREADS = 16,
	NAMES = 2000,
	DEPTH_MAX = 8,
	PIECE_BYTES = 4000,
	CPUS = 8,
	TASKS = 200,
	BUNDLE_SWITCHES = 1000,
	FIRST_PID = 100,
	PROCESS_THREADS = 4,
	CHUNK_EVENTS = 64,
};

struct message {
	uint8_t *at;
	uint8_t bytes[80000];
};

struct thread {
	uint8_t piece[PIECE_BYTES + 256];
	size_t size;
	uint64_t now_ns;
	int depth;
};

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % below;
}

static void begin(struct message *message)
{
	message->at = message->bytes;
}

static void put_number(struct message *message, uint32_t field, uint64_t value)
{
	message->at = orma_proto_put_varint(message->at, orma_proto_tag(field, ORMA_PROTO_VARINT));
	message->at = orma_proto_put_varint(message->at, value);
}

static void put_bytes(struct message *message, uint32_t field, const void *data, size_t size)
{
	message->at = orma_proto_put_varint(message->at, orma_proto_tag(field, ORMA_PROTO_BYTES));
	message->at = orma_proto_put_varint(message->at, size);
	memcpy(message->at, data, size);
	message->at += size;
}

static void put_text(struct message *message, uint32_t field, const char *text)
{
	put_bytes(message, field, text, strlen(text));
}

static void put_message(struct message *message, uint32_t field, const struct message *inner)
{
	put_bytes(message, field, inner->bytes, (size_t)(inner->at - inner->bytes));
}

/* Writes an entry of a Trace message to `out`, and returns the address behind it. */
static uint8_t *put_packet(uint8_t *out, const struct message *packet)
{
	size_t size = (size_t)(packet->at - packet->bytes);
	out = orma_proto_put_varint(out, orma_proto_tag(1, ORMA_PROTO_BYTES));
	out = orma_proto_put_varint(out, size);
	memcpy(out, packet->bytes, size);
	return out + size;
}

static void write_packet(FILE *file, const struct message *packet)
{
	static uint8_t out[sizeof(packet->bytes) + 16];
	fwrite(out, 1, (size_t)(put_packet(out, packet) - out), file);
}

static uint64_t uuid_of(unsigned thread)
{
	return UINT64_C(0x1234567890) + thread * UINT64_C(0x101010101);
}

static void put_interned(struct message *data, uint32_t field, unsigned iid, const char *text)
{
	struct message entry;
	begin(&entry);
	put_number(&entry, 1, iid);
	put_text(&entry, 2, text);
	put_message(data, field, &entry);
}

/* The track of a thread, and the names that its events have. */
static void write_thread(FILE *file, unsigned thread)
{
	static struct message packet, data, inner;
	char text[40];
	begin(&packet);
	begin(&data);
	for (unsigned i = 1; i <= NAMES; i++) {
		snprintf(text, sizeof(text), "function_name_%u", i);
		put_interned(&data, 2, i, text);
	}
	put_interned(&data, 1, 1, "category");
	put_interned(&data, 3, 1, "count");
	put_number(&packet, 10, thread + 2);
	put_number(&packet, 13, 1);
	put_message(&packet, 12, &data);
	write_packet(file, &packet);

	begin(&packet);
	begin(&data);
	begin(&inner);
	put_number(&inner, 1, 77);
	put_number(&inner, 2, FIRST_PID + thread);
	snprintf(text, sizeof(text), "thread %u", thread);
	put_text(&inner, 5, text);
	put_number(&data, 1, uuid_of(thread));
	put_message(&data, 4, &inner);
	put_number(&packet, 8, 0);
	put_number(&packet, 10, thread + 2);
	put_message(&packet, 60, &data);
	write_packet(file, &packet);
}

static void add_event(struct thread *threads, unsigned idx, bool has_args)
{
	static struct message packet, event, annotation;
	struct thread *thread = &threads[idx];
	bool begins = thread->depth == 0 || (thread->depth < DEPTH_MAX && draw(2) > 0);
	thread->depth += begins ? 1 : -1;
	thread->now_ns += draw(24000);
	begin(&packet);
	begin(&event);
	put_number(&event, 9, begins ? 1 : 2);
	put_number(&event, 11, uuid_of(idx));
	if (begins) {
		put_number(&event, 3, 1);
		put_number(&event, 10, 1 + draw(NAMES));
	}
	if (begins && has_args) {
		begin(&annotation);
		put_number(&annotation, 1, 1);
		put_number(&annotation, 4, draw(1u << 30));
		put_message(&event, 4, &annotation);
	}
	put_number(&packet, 8, UINT64_C(1000000000) + thread->now_ns);
	put_number(&packet, 10, idx + 2);
	put_number(&packet, 13, 2);
	put_message(&packet, 11, &event);
	thread->size = (size_t)(put_packet(thread->piece + thread->size, &packet) - thread->piece);
}

static void write_slices(FILE *file, uint64_t events, bool has_args)
{
	static struct thread threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		write_thread(file, i);
	while (events > 0) {
		unsigned idx = draw(THREADS);
		struct thread *thread = &threads[idx];
		for (; events > 0 && thread->size < PIECE_BYTES; events--)
			add_event(threads, idx, has_args);
		fwrite(thread->piece, 1, thread->size, file);
		thread->size = 0;
	}
}

static void write_bundle(FILE *file, unsigned cpu, uint64_t *now_ns, unsigned switches)
{
	static struct message packet, bundle, compact, columns[5];
	char name[24];
	for (int i = 0; i < 5; i++)
		begin(&columns[i]);
	for (unsigned i = 0; i < switches; i++) {
		uint64_t delta = 1000 + draw(30000);
		unsigned task = draw(4) == 0 ? 0 : 1 + draw(TASKS - 1);
		uint64_t values[] = {i == 0 ? *now_ns + delta : delta, draw(3) > 0 ? 1 : 0,
				     task == 0 ? 0 : FIRST_PID + task, 120, task};
		*now_ns += delta;
		for (int n = 0; n < 5; n++)
			columns[n].at = orma_proto_put_varint(columns[n].at, values[n]);
	}
	begin(&compact);
	for (unsigned i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), i == 0 ? "swapper" : "task %u", i);
		put_text(&compact, 5, name);
	}
	for (uint32_t i = 0; i < 4; i++)
		put_message(&compact, i + 1, &columns[i]);
	put_message(&compact, 6, &columns[4]);
	begin(&bundle);
	put_number(&bundle, 1, cpu);
	put_message(&bundle, 4, &compact);
	begin(&packet);
	put_number(&packet, 10, 1);
	put_message(&packet, 1, &bundle);
	write_packet(file, &packet);
}

static void write_switches(FILE *file, uint64_t events)
{
	uint64_t now_ns[CPUS];
	for (unsigned i = 0; i < CPUS; i++)
		now_ns[i] = UINT64_C(1000000000) + i;
	for (unsigned cpu = 0; events > 0; cpu = (cpu + 1) % CPUS) {
		unsigned count = events < BUNDLE_SWITCHES ? (unsigned)events : BUNDLE_SWITCHES;
		write_bundle(file, cpu, &now_ns[cpu], count);
		events -= count;
	}
}

/* A thread of a JSON trace: the slices that are open, of which those of B need an event at their end. */
struct json_thread {
	uint64_t now_ns;
	int depth;
	struct {
		uint64_t end_ns;
		bool is_begin;
	} open[DEPTH_MAX];
};

static const char *const categories[] = {"toplevel", "cc,benchmark", "ipc,toplevel.flow",
					 "disabled-by-default-v8.gc"};

static void print_event(FILE *file, unsigned idx, char phase, uint64_t ns)
{
	fprintf(file, ",\n{\"pid\":%u,\"tid\":%u,\"ts\":%llu.%03u,\"ph\":\"%c\"",
		FIRST_PID + idx / PROCESS_THREADS, FIRST_PID + idx, (unsigned long long)(ns / 1000),
		(unsigned)(ns % 1000), phase);
}

static void print_name(FILE *file)
{
	unsigned name = draw(NAMES);
	fprintf(file, ",\"cat\":\"%s\",\"name\":\"Scheduler::FunctionName%u\"",
		categories[name % 4], name);
}

static void print_args(FILE *file)
{
	unsigned kind = draw(4);
	if (kind == 0)
		fprintf(file, ",\"args\":{}}");
	else if (kind == 1)
		fprintf(file, ",\"args\":{\"frame\":%u,\"visible\":%s,\"scale\":%u.25}}",
			draw(1u << 20), draw(2) ? "true" : "false", draw(50));
	else if (kind == 2)
		fprintf(file,
			",\"args\":{\"src_file\":\"../../base/"
			"file_%u.cc\",\"src_func\":\"Run%u\"}}",
			draw(300), draw(1000));
	else
		fprintf(file,
			",\"args\":{\"data\":{\"type\":\"gc \\\"minor\\\"\",\"sizes\":[%u,%u]},"
			"\"id\":\"0x%x\"}}",
			draw(9999), draw(9999), draw(1u << 30));
}

static void print_other(FILE *file, unsigned idx, uint64_t ns)
{
	switch (draw(4)) {
	case 0:
		print_event(file, idx, 'C', ns);
		fprintf(file, ",\"name\":\"memory %u\",\"args\":{\"used\":%u,\"free\":%u.5}}",
			draw(8), draw(1u << 30), draw(1u << 20));
		break;
	case 1:
		print_event(file, idx, draw(2) ? 's' : 'f', ns);
		print_name(file);
		fprintf(file, ",\"id\":%u,\"bp\":\"e\",\"args\":{}}", draw(1u << 16));
		break;
	case 2:
		print_event(file, idx, draw(2) ? 'b' : 'e', ns);
		fprintf(file, ",\"cat\":\"loading\",\"name\":\"Resource\",\"id\":\"0x%x\"",
			draw(64));
		print_args(file);
		break;
	default:
		print_event(file, idx, 'I', ns);
		print_name(file);
		fprintf(file, ",\"s\":\"t\"");
		print_args(file);
	}
}

static void print_slice(FILE *file, struct json_thread *thread, unsigned idx)
{
	uint64_t end_ns = thread->now_ns + 1 + draw(1u << (27 - 3 * thread->depth));
	bool is_begin = draw(3) == 0;
	if (thread->depth > 0 && end_ns > thread->open[thread->depth - 1].end_ns)
		end_ns = thread->open[thread->depth - 1].end_ns;
	uint64_t ns = end_ns - thread->now_ns;
	print_event(file, idx, is_begin ? 'B' : 'X', thread->now_ns);
	print_name(file);
	if (!is_begin)
		fprintf(file, ",\"dur\":%llu.%03u", (unsigned long long)(ns / 1000),
			(unsigned)(ns % 1000));
	print_args(file);
	thread->open[thread->depth].end_ns = end_ns;
	thread->open[thread->depth++].is_begin = is_begin;
}

/* Goes on in a thread: one event, or the silent end of a slice whose length is written. */
static bool print_next(FILE *file, struct json_thread *thread, unsigned idx)
{
	uint64_t ns = thread->now_ns + 1 + draw(20000);
	if (thread->depth > 0 && thread->open[thread->depth - 1].end_ns <= ns) {
		thread->now_ns = thread->open[--thread->depth].end_ns;
		if (!thread->open[thread->depth].is_begin)
			return false;
		print_event(file, idx, 'E', thread->now_ns);
		fprintf(file, "}");
		return true;
	}
	thread->now_ns = ns;
	if (thread->depth < DEPTH_MAX && draw(8) > 0)
		print_slice(file, thread, idx);
	else
		print_other(file, idx, ns);
	return true;
}

static void write_json(FILE *file, uint64_t events)
{
	static struct json_thread threads[THREADS];
	fprintf(file, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"cpu\":8},\"traceEvents\":[");
	for (unsigned i = 0; i < THREADS; i++) {
		fprintf(file,
			"%s\n{\"pid\":%u,\"tid\":%u,\"ts\":0,\"ph\":\"M\",\"cat\":\"__metadata\",",
			i > 0 ? "," : "", FIRST_PID + i / PROCESS_THREADS, FIRST_PID + i);
		fprintf(file, "\"name\":\"thread_name\",\"args\":{\"name\":\"Worker %u\"}}", i);
		threads[i].now_ns = UINT64_C(123456789000) + i;
	}
	for (unsigned idx = 0; events > 0; idx = draw(THREADS))
		for (unsigned i = 0; events > 0 && i < CHUNK_EVENTS; i++)
			events -= print_next(file, &threads[idx], idx);
	fprintf(file, "\n]}\n");
}

int main(int argc, char **argv)
{
	FILE *file = argc == 4 ? fopen(argv[2], "w") : NULL;
	if (!file) {
		fprintf(stderr,
			argc == 4 ? "%s: %s\n" : "usage: %s slices|args|sched|json FILE EVENTS\n",
			argv[argc == 4 ? 2 : 0], strerror(errno));
		return 2;
	}
	uint64_t events = strtoull(argv[3], NULL, 10);
	if (strcmp(argv[1], "sched") == 0)
		write_switches(file, events);
	else if (strcmp(argv[1], "json") == 0)
		write_json(file, events);
	else
		write_slices(file, events, strcmp(argv[1], "args") == 0);
	return fclose(file) != 0;
}
