/* SPDX-License-Identifier: Apache-2.0
 * trace_check.c - checks a trace file with assertions that are its arguments, and prints each that
 * fails.
 *
 * Owns the mapped file, and reads it once: every packet is decoded and passed to all checks, which
 * report at the end. Rejected: a script that reads `orma dump` (a fault of the printer could hide
 * itself), SQL with Perfetto's trace processor (Debian does not package it).
 */
#include "trace_check.h"

#include "trace_decodable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_REPORTS = 40 };

static const char usage_text[] =
	"usage: trace_check FILE [ASSERTION...]\n"
	"Checks a trace, says which assertions fail; exits 0 (none), 1 (some) or 2 (bad usage).\n"
	"  --compressed CODEC\n"
	"                 all packets are compressed, by deflate or zstd; their content is judged\n"
	"  --message      FILE is one message, not a trace: paths begin at its own fields\n"
	"  --has PATH[=V][@PID][:MIN]\n"
	"                 at least MIN (1) fields at PATH, such as 7.1.2; V is a number, or\n"
	"                 a text that a bytes field must equal; PID: in that producer's packets\n"
	"  --none PATH[=V][@PID]\n"
	"                 no such field\n"
	"  --count PATH[=V][@PID]:N\n"
	"                 exactly N such fields\n"
	"  --covers PATH PID PID\n"
	"                 every value that the second process sent, the first one sent too\n"
	"  --source NAME[@PID][:MIN]\n"
	"                 packets of a data source: process_tree process_stats sys_stats\n"
	"                 system_info cpu_info track_event track_descriptor\n"
	"  --sequences    per sequence: time does not go back, flags and first-packet marks are\n"
	"                 right, interned names are declared before use\n"
	"  --decodable PERCENT\n"
	"                 at least so many of the track events decode, and there are some\n"
	"  --slices N     at most N slices are left open or closed twice, per track\n"
	"  --trusted UID  every packet has uid, pid and sequence id from the service, once; UID "
	"is\n"
	"                 the service's own, and the producers' where --owners is silent\n"
	"  --owners PID[=UID],...\n"
	"                 exactly these processes own sequences\n"
	"  --no-loss      statistics and packets tell of no loss\n"
	"  --no-loss-marks\n"
	"                 as --no-loss, and first packets are not marked either\n"
	"  --packets      print the number of packets\n";

struct trace_check trace_check;
static bool is_message, print_packets;
static struct decoder decoder;
static uint64_t decodable_percent; /* 0 = not asked */
static const char *codec;          /* NULL = packets are not compressed */

void fail(const char *format, ...)
{
	va_list args;

	if (trace_check.failures++ >= MAX_REPORTS)
		return;
	fprintf(stderr, "trace_check: %s: ", trace_check.file);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

_Noreturn void die_usage(const char *what, const char *argument)
{
	fprintf(stderr, "trace_check: %s: %s\n%s", what, argument ? argument : "(nothing)",
		usage_text);
	exit(2);
}

static void check_packet(struct wire_span body)
{
	struct packet packet;

	trace_check.packets++;
	if (packet_decode(body, &packet) < 0) {
		fail("packet %" PRIu64 " is malformed", trace_check.packets);
		return;
	}
	assertions_count(&packet);
	sequences_check(&packet);
	(void)decoder_show(&decoder, &packet);
}

static void check_packets(struct wire_span trace, void (*check)(struct wire_span body))
{
	struct wire_field field;
	int r;

	while ((r = wire_next(&trace, &field)) > 0) {
		if (field.id == 1 && field.type == WIRE_BYTES)
			check(field.bytes);
		else
			fail("field %" PRIu32 " beside the packets", field.id);
	}
	if (r < 0)
		fail("malformed or cut after packet %" PRIu64, trace_check.packets);
}

static void check_compressed(struct wire_span body)
{
	struct wire_span content;

	if (packet_inflate(body, codec, &content))
		check_packets(content, check_packet);
	else
		fail("a packet after packet %" PRIu64 " is not compressed by %s",
		     trace_check.packets, codec);
}

static void check_trace(struct wire_span trace)
{
	check_packets(trace, codec ? check_compressed : check_packet);
	if (trace_check.packets == 0)
		fail("no packets");
}

static void judge_decodable(void)
{
	uint64_t decoded = decoder.events - decoder.lost;

	if (decodable_percent &&
	    (decoder.events == 0 || decoded * 100 < decoder.events * decodable_percent))
		fail("%" PRIu64 " of %" PRIu64 " track events decode", decoded, decoder.events);
	decoder_done(&decoder);
}

static void judge(void)
{
	assertions_judge();
	judge_decodable();
	if (!is_message)
		sequences_judge();
	if (trace_check.failures > MAX_REPORTS)
		fprintf(stderr, "trace_check: %s: and %d more\n", trace_check.file,
			trace_check.failures - MAX_REPORTS);
	if (print_packets)
		printf("%" PRIu64 "\n", trace_check.packets);
}

static bool parse_switch(const char *option)
{
	if (strcmp(option, "--message") == 0)
		is_message = true;
	else if (strcmp(option, "--sequences") == 0)
		sequence_rules.sequences = true;
	else if (strcmp(option, "--no-loss") == 0)
		sequence_rules.no_loss = true;
	else if (strcmp(option, "--no-loss-marks") == 0)
		sequence_rules.no_loss = sequence_rules.no_loss_marks = true;
	else if (strcmp(option, "--packets") == 0)
		print_packets = true;
	else
		return false;
	return true;
}

static bool parse_option(const char *option, const char *value)
{
	if (strcmp(option, "--has") == 0) {
		assertion_add(HAS, value, value);
	} else if (strcmp(option, "--none") == 0) {
		assertion_add(NONE, value, value);
	} else if (strcmp(option, "--count") == 0) {
		assertion_add(COUNT, value, value);
	} else if (strcmp(option, "--source") == 0) {
		assertion_add_source(value);
	} else if (strcmp(option, "--decodable") == 0) {
		decodable_percent = parse_number(value, value);
	} else if (strcmp(option, "--slices") == 0) {
		sequence_rules.max_open_slices = (int64_t)parse_number(value, value);
	} else if (strcmp(option, "--trusted") == 0) {
		sequence_rules.trusted = true;
		sequence_rules.uid = (int64_t)parse_number(value, value);
	} else if (strcmp(option, "--owners") == 0) {
		sequence_rules.owners = value;
	} else if (strcmp(option, "--compressed") == 0) {
		codec = value;
	} else {
		return false;
	}
	return true;
}

static void parse_arguments(int argc, char **argv)
{
	int i;

	if (argc < 2 || argv[1][0] == '-')
		die_usage("the first argument must be a file", argv[1]);
	trace_check.file = argv[1];
	for (i = 2; i < argc; i++) {
		if (parse_switch(argv[i]))
			continue;
		if (strcmp(argv[i], "--covers") == 0 && i + 3 < argc) {
			assertion_add_covers(&argv[i + 1]);
			i += 3;
			continue;
		}
		if (i + 1 >= argc || !parse_option(argv[i], argv[i + 1]))
			die_usage("unknown or incomplete option", argv[i]);
		i++;
	}
}

static void map_file(struct wire_span *ret_span)
{
	int fd = open(trace_check.file, O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint8_t *bytes;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size == 0) {
		fprintf(stderr, "trace_check: %s: %s\n", trace_check.file,
			fd < 0 ? strerror(errno) : "empty");
		exit(1);
	}
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED) {
		fprintf(stderr, "trace_check: %s: %s\n", trace_check.file, strerror(errno));
		exit(1);
	}
	ret_span->at = bytes;
	ret_span->end = bytes + status.st_size;
}

int main(int argc, char **argv)
{
	struct packet whole = {0};
	struct wire_span content;

	parse_arguments(argc, argv);
	map_file(&content);
	if (is_message) {
		if (wire_check(content) < 0)
			fail("malformed message");
		whole.body = content;
		assertions_count(&whole);
	} else {
		check_trace(content);
	}
	judge();
	return trace_check.failures > 0;
}
