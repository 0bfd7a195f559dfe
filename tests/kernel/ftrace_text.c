/* SPDX-License-Identifier: Apache-2.0
 * ftrace_text.c - prints the kernel events of a trace as text, one per line, so that two traces of the
 * same time can be compared.
 *
 *	ftrace_text [--common] [--pointers FILE] TRACE
 *
 *	CPU TIME PID EVENT [flags=N] FIELD=VALUE...
 *
 * The lines of a CPU are in the order of their times. Fields are in the order of their ids. Values are
 * printed as they are on the wire, so that two encodings of one number differ. A compact scheduling
 * event becomes a line without a pid. A generic event is printed with the names of its description.
 * --pointers names the fields that hold kernel addresses, as lines "EVENT FIELD"; their values are
 * replaced by the names of InternedData.kernel_symbols. Lines that begin with # tell what is not an
 * event: losses, errors and statistics.
 *
 * --common leaves out what only some recordings have, so that recordings with different options can be
 * compared: symbols, and the fields that a scheduling event has in only one of its two forms.
 *
 * The bytes are not read by src/proto (trace_packet.h gives the reason); only the names and kinds of
 * fields come from the schema. Invariant: a line depends on the packet that it is in, on descriptions
 * and names of the same sequence, and on nothing else.
 */
#include "ftrace_text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKET_FTRACE_EVENTS = 1, PACKET_FTRACE_STATS = 34 };
enum { INTERNED_KERNEL_SYMBOLS = 26 };
enum {
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST_EVENTS = 3,
	BUNDLE_COMPACT = 4,
	BUNDLE_CLOCK = 5,
	BUNDLE_ERROR = 8,
	BUNDLE_DESCRIPTOR = 11,
	BUNDLE_BROKEN_PAGE = 512,
};

static struct {
	struct ftrace_line *items;
	size_t count, capacity;
} lines;

void ftrace_line_add(uint64_t cpu, uint64_t time, char *text)
{
	if (lines.count == lines.capacity) {
		lines.capacity = lines.capacity ? lines.capacity * 2 : 4096;
		lines.items = realloc(lines.items, lines.capacity * sizeof(*lines.items));
		if (!lines.items)
			abort();
	}
	lines.items[lines.count] = (struct ftrace_line){cpu, time, lines.count, text};
	lines.count++;
}

_Noreturn void ftrace_die(const char *what)
{
	fprintf(stderr, "ftrace_text: %s\n", what);
	exit(1);
}

static int compare_lines(const void *left, const void *right)
{
	const struct ftrace_line *a = left, *b = right;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Each kind of event must be in the order of time within its CPU, as the kernel's buffer is. */
struct cpu_order {
	uint64_t cpu, last[3];
};

static void check_order(struct cpu_order *order, unsigned int kind, uint64_t time)
{
	if (time < order->last[kind])
		printf("# backwards cpu=%" PRIu64 " kind=%u time=%" PRIu64 " after %" PRIu64 "\n",
		       order->cpu, kind, time, order->last[kind]);
	order->last[kind] = time;
}

static struct cpu_order *find_order(uint64_t cpu)
{
	static struct cpu_order orders[64];
	static size_t count;
	size_t i;

	for (i = 0; i < count; i++) {
		if (orders[i].cpu == cpu)
			return &orders[i];
	}
	if (count == sizeof(orders) / sizeof(*orders))
		ftrace_die("too many CPUs");
	orders[count].cpu = cpu;
	return &orders[count++];
}

static void print_bundle_field(const struct wire_field *field, uint64_t cpu)
{
	switch (field->id) {
	case BUNDLE_LOST_EVENTS:
		if (field->value)
			printf("# lost_events cpu=%" PRIu64 "\n", cpu);
		break;
	case BUNDLE_CLOCK:
		printf("# clock %" PRIu64 "\n", field->value);
		break;
	case BUNDLE_ERROR:
		printf("# error cpu=%" PRIu64 " status=%" PRIu64 "\n", cpu,
		       wire_get(field->bytes, 2, 0));
		break;
	case BUNDLE_BROKEN_PAGE:
		printf("# broken_page cpu=%" PRIu64 "\n", cpu);
		break;
	default:
		break;
	}
}

static void add_bundle(struct wire_span bundle, uint64_t sequence)
{
	uint64_t cpu = wire_get(bundle, BUNDLE_CPU, UINT64_MAX);
	struct cpu_order *order = find_order(cpu);
	static struct compact_times times;
	struct wire_field field;
	size_t i;

	times.switch_count = times.waking_count = 0;
	while (wire_next(&bundle, &field) > 0) {
		if (field.id == BUNDLE_EVENT) {
			check_order(order, 0, wire_get(field.bytes, FTRACE_EVENT_TIMESTAMP, 0));
			ftrace_event_add(field.bytes, cpu, sequence);
		} else if (field.id == BUNDLE_COMPACT) {
			compact_sched_add(field.bytes, cpu, &times);
		} else {
			print_bundle_field(&field, cpu);
		}
	}
	for (i = 0; i < times.switch_count; i++)
		check_order(order, 1, times.switches[i]);
	for (i = 0; i < times.waking_count; i++)
		check_order(order, 2, times.wakings[i]);
}

static double to_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void print_cpu_stats(struct wire_span stats, uint64_t phase)
{
	printf("# stats phase=%" PRIu64 " cpu=%" PRIu64 " entries=%" PRIu64 " overrun=%" PRIu64
	       " commit_overrun=%" PRIu64 " dropped=%" PRIu64 " read=%" PRIu64 " now=%.6f\n",
	       phase, wire_get(stats, 1, UINT64_MAX), wire_get(stats, 2, 0), wire_get(stats, 3, 0),
	       wire_get(stats, 4, 0), wire_get(stats, 8, 0), wire_get(stats, 9, 0),
	       to_double(wire_get(stats, 7, 0)));
}

static void print_stats(struct wire_span stats)
{
	uint64_t phase = wire_get(stats, 1, 0);
	struct wire_field field;

	while (wire_next(&stats, &field) > 0) {
		if (field.id == 2)
			print_cpu_stats(field.bytes, phase);
		else if (field.type == WIRE_BYTES)
			printf("# stats phase=%" PRIu64 " field=%u %.*s\n", phase, field.id,
			       (int)(field.bytes.end - field.bytes.at),
			       (const char *)field.bytes.at);
		else
			printf("# stats phase=%" PRIu64 " field=%u %" PRIu64 "\n", phase, field.id,
			       field.value);
	}
}

/* Descriptions may come after the events that refer to them, so they are gathered first. */
static void gather(struct wire_span body, const struct packet *packet)
{
	struct wire_field field, inner;

	while (wire_next(&body, &field) > 0) {
		struct wire_span bundle = field.bytes;

		if (field.id != PACKET_FTRACE_EVENTS || field.type != WIRE_BYTES)
			continue;
		while (wire_next(&bundle, &inner) > 0) {
			if (inner.id == BUNDLE_DESCRIPTOR && inner.type == WIRE_BYTES)
				generic_description_add(packet->sequence_id, inner.bytes);
		}
	}
}

/* Symbols hold for their packet and the next ones of the sequence, until its state is cleared. */
static void add_symbols(const struct packet *packet)
{
	struct wire_span interned = packet->interned;
	struct wire_field field;

	if (packet->flags & SEQUENCE_STATE_CLEARED)
		ftrace_symbols_clear(packet->sequence_id);
	while (interned.at && wire_next(&interned, &field) > 0) {
		if (field.id == INTERNED_KERNEL_SYMBOLS && field.type == WIRE_BYTES)
			ftrace_symbol_add(packet->sequence_id, field.bytes);
	}
}

static void add_events(struct wire_span body, const struct packet *packet)
{
	struct wire_field field;

	if (packet->has_dropped)
		printf("# packets_dropped %" PRIu64 "\n", packet->dropped);
	add_symbols(packet);
	while (wire_next(&body, &field) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.id == PACKET_FTRACE_EVENTS)
			add_bundle(field.bytes, packet->sequence_id);
		else if (field.id == PACKET_FTRACE_STATS)
			print_stats(field.bytes);
	}
}

static void for_each_packet(struct wire_span trace,
			    void (*visit)(struct wire_span body, const struct packet *packet))
{
	struct wire_field field;
	struct packet packet;
	int r;

	while ((r = wire_next(&trace, &field)) > 0) {
		if (field.id != 1 || field.type != WIRE_BYTES ||
		    packet_decode(field.bytes, &packet) < 0)
			ftrace_die("a packet is malformed");
		visit(field.bytes, &packet);
	}
	if (r < 0)
		ftrace_die("the trace is malformed or cut");
}

static struct wire_span map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint8_t *bytes;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size == 0)
		ftrace_die("cannot open the trace, or it is empty");
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		ftrace_die("cannot map the trace");
	return (struct wire_span){bytes, bytes + status.st_size};
}

int main(int argc, char **argv)
{
	struct wire_span trace;
	size_t j;
	int i;

	for (i = 1; i < argc - 1; i++) {
		if (strcmp(argv[i], "--common") == 0)
			ftrace_common_only = true;
		else if (strcmp(argv[i], "--pointers") == 0 && i + 1 < argc - 1)
			ftrace_pointers_read(argv[++i]);
		else
			break;
	}
	if (i != argc - 1) {
		fputs("usage: ftrace_text [--common] [--pointers FILE] TRACE\n", stderr);
		return 2;
	}
	trace = map_file(argv[i]);
	for_each_packet(trace, gather);
	for_each_packet(trace, add_events);
	qsort(lines.items, lines.count, sizeof(*lines.items), compare_lines);
	for (j = 0; j < lines.count; j++)
		printf("%" PRIu64 " %" PRIu64 " %s\n", lines.items[j].cpu, lines.items[j].time,
		       lines.items[j].text);
	return fflush(stdout) ? 1 : 0;
}
