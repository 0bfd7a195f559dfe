/* SPDX-License-Identifier: Apache-2.0
 * filtered.c - compares how two services filter the same packets with the same trace filter.
 *
 *   filtered produce        a producer that sends the same packets in each run, until it is killed
 *   filtered config [file]  a TraceConfig with a filter on standard output; file = write_into_file
 *   filtered compare A B    checks that the traces have the same filtered packets, byte for byte, and
 *                           that the statistics of B account for all that were sent
 *
 * A random generator with a fixed seed makes the packets: nested messages, redundant varints, every
 * wire type, strings that rules match, messages that are cut. The services' own packets are not
 * compared: the filter removes all of them but the statistics.
 */
#include <errno.h>
#include <orma/orma.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "filter_program.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"

enum { PACKETS = 3000, MESSAGE_BYTES = 2000, DEPTH = 6 };

/* --- producing -------------------------------------------------------------------------------- */

static uint32_t seed = 1;
static sem_t started;

static uint32_t pick(uint32_t count)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % count;
}

static size_t put_redundant(uint8_t *at, uint64_t value)
{
	size_t size = (size_t)(orma_proto_put_varint(at, value) - at);

	for (uint32_t more = pick(8) == 0 ? pick(3) : 0; more > 0; more--) {
		at[size - 1] |= 0x80;
		at[size++] = 0;
	}
	return size;
}

static size_t put_string(uint8_t *at)
{
	const struct orma_str texts[] = {
		ORMA_STR(""),
		ORMA_STR("plain"),
		ORMA_STR("user=karl"),
		ORMA_STR("user=karl home=/home/karl"),
		ORMA_STR("keep user=karl"),
		ORMA_STR("B|123|open /etc/passwd"),
		ORMA_STR("B|123|open /"),
		ORMA_STR("B|9|find x:12 x:3456 y:78 x:z"),
		ORMA_STR("B|9|find nothing"),
		ORMA_STR("E|123"),
		ORMA_STR("E|123|open /etc/passwd"),
		ORMA_STR("token 0123456789abcdef0123456789abcdef"),
		ORMA_STR("\xff\xfe user=karl"),
		ORMA_STR("line\nuser=karl"),
	};
	struct orma_str text = texts[pick(sizeof(texts) / sizeof(texts[0]))];
	size_t size = put_redundant(at, text.size);

	memcpy(at + size, text.data, text.size);
	return size + text.size;
}

static size_t put_field(uint8_t *at, const uint8_t *message, size_t message_size)
{
	static const uint32_t ids[] = {1, 1, 2, 2,   3,   4,   5,   5,   5,
				       6, 7, 8, 100, 127, 131, 200, 1000};
	uint32_t id = ids[pick(sizeof(ids) / sizeof(ids[0]))], kind = pick(7);
	static const enum orma_proto_wire_type types[] = {
		ORMA_PROTO_VARINT, ORMA_PROTO_FIXED32, ORMA_PROTO_FIXED64, ORMA_PROTO_BYTES,
		ORMA_PROTO_BYTES,  ORMA_PROTO_BYTES,   ORMA_PROTO_BYTES};
	size_t size = put_redundant(at, orma_proto_tag(id, types[kind]));

	if (kind == 0)
		return size + put_redundant(at + size, (uint64_t)pick(1u << 24) << pick(40));
	if (kind <= 2) {
		memset(at + size, (int)pick(256), 8);
		return size + (kind == 1 ? 4 : 8);
	}
	if (kind == 3 || message_size == 0)
		return size + put_string(at + size);
	size += put_redundant(at + size, message_size);
	memcpy(at + size, message, message_size);
	return size + message_size;
}

/* Begins with the innermost message. Each message may contain the one before it several times. */
static size_t make_message(uint8_t *to)
{
	static uint8_t inner[MESSAGE_BYTES + 100];
	size_t inner_size = 0, size = 0;

	for (uint32_t depth = pick(DEPTH);; depth--) {
		size = 0;
		for (uint32_t fields = 1 + pick(6); fields > 0; fields--)
			if (size + inner_size + 100 < MESSAGE_BYTES)
				size += put_field(to + size, inner, inner_size);
		if (depth == 0)
			return pick(50) == 0 && size > 0 ? size - 1 : size;
		memcpy(inner, to, size);
		inner_size = size;
	}
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	sem_post(&started);
}

static int produce(void)
{
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "test.filtered",
		.policy = ORMA_EXHAUSTED_STALL,
		.on_start = on_start,
	};
	struct orma_data_source *source;
	uint8_t message[MESSAGE_BYTES + 100];

	sem_init(&started, 0, 0);
	if (orma_init(NULL) < 0 || orma_data_source_register(&options, &source) < 0)
		return 1;
	while (sem_wait(&started) < 0 && errno == EINTR)
		;
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct orma_packet *packet = orma_packet_begin(source, 0);
		size_t size = make_message(message);

		if (!packet)
			return 1;
		orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, i + 1);
		orma_packet_bytes(packet, ORMA_PB_TRACE_PACKET_FOR_TESTING, message, size);
		orma_packet_end(packet);
	}
	orma_data_source_flush_thread(source, 0);
	for (;;)
		pause();
}

/* --- the config ------------------------------------------------------------------------------- */

#define RULE(policy, pattern, more)                                                                \
	"rules { policy: SFP_" policy " regex_pattern: '" pattern "' " more "} "

static const char config_text[] =
	"buffers { size_kb: 16384 } duration_ms: 1500 "
	"data_sources { config { name: 'test.filtered' } } "
	"trace_filter { bytecode: 'not looked at' string_filter_chain { " RULE(
		"MATCH_BREAK", "keep .*",
		"") RULE("MATCH_REDACT_GROUPS", "user=([a-z]+)",
			 "") RULE("MATCH_REDACT_GROUPS", "user=([a-z]+) home=(.*)",
				  "") RULE("ATRACE_MATCH_BREAK", "B[|][0-9]+[|]open /",
					   "atrace_payload_starts_with: 'open' ")
		RULE("ATRACE_MATCH_REDACT_GROUPS", "B[|][0-9]+[|]open (.*)",
		     "atrace_payload_starts_with: 'open' ") RULE("ATRACE_REPEATED_SEARCH_REDACT_"
								 "GROUPS",
								 "x:([0-9]+)",
								 "atrace_payload_starts_with: "
								 "'find' ")
			RULE("MATCH_REDACT_GROUPS", "nothing (.*)",
			     "name: 'token' ") "} string_filter_chain_v54 { " RULE("MATCH_REDACT_"
										   "GROUPS",
										   "token "
										   "([0-9a-f]*)",
										   "name: 'token' ")
				RULE("MATCH_REDACT_GROUPS", "(pl)ain",
				     "semantic_type: SEMANTIC_TYPE_ATRACE ") "} } ";

static int print_config(const char *file)
{
	struct orma_buf bytecode = program(WORDS(
		N(1u, 1u), END,                                                   /* Trace */
		N(900u, 2u), END,                                                 /* TracePacket */
		S(1u), F(3u), N(5u, 3u), R(126u, 6u), T(200u, 1u), F(1000u), END, /* TestEvent */
		S(1u), N(2u, 3u), S(4u), N(5u, 2u), R(6u, 2u), END));             /* TestPayload */
	struct orma_buf overlay = program(
		WORDS(OVER(2u, S(7u), 0u), OVER(3u, S(6u), 0u), OVER(3u, 200u << 3 | 5, 1u)));
	struct orma_pb_trace_config *config;
	struct orma_arena arena = {0};
	struct orma_error error;
	struct orma_buf bytes = {0};
	void *message;

	if (orma_proto_text_parse(&orma_pb_trace_config_desc, "config", config_text,
				  strlen(config_text), 0, &arena, &message, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	config = message;
	orma_pb_trace_config_trace_filter_set_bytecode_v2(config->trace_filter,
							  program_str(&bytecode));
	orma_pb_trace_config_trace_filter_set_bytecode_overlay_v54(config->trace_filter,
								   program_str(&overlay));
	if (file) {
		orma_pb_trace_config_set_write_into_file(config, true);
		orma_pb_trace_config_set_file_write_period_ms(config, 200);
	}
	if (orma_proto_encode(config, &bytes) < 0)
		return 1;
	return fwrite(bytes.data, 1, bytes.size, stdout) != bytes.size;
}

/* --- comparing -------------------------------------------------------------------------------- */

struct trace {
	const char *name;
	struct orma_buf data;
	struct orma_proto_reader reader;
	uint64_t packets, errors, empty;
	bool has_stats;
};

static int open_trace(struct trace *trace, const char *name)
{
	FILE *file = fopen(name, "rbe");
	char part[65536];
	size_t size;

	trace->name = name;
	if (!file)
		return -1;
	while ((size = fread(part, 1, sizeof(part), file)) > 0)
		if (orma_base_buf_append(&trace->data, part, size) < 0)
			abort();
	fclose(file);
	orma_proto_reader_init(&trace->reader, trace->data.data, trace->data.size);
	return 0;
}

static void take_stats(struct trace *trace, struct orma_str stats)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *decoded;

	if (orma_proto_decode(&orma_pb_trace_stats_desc, stats.data, stats.size, &arena,
			      &decoded) == 0 &&
	    decoded->filter_stats) {
		trace->has_stats = true;
		trace->errors = decoded->filter_stats->errors;
	}
	orma_base_arena_done(&arena);
}

/* Finds the next packet that is not empty and does not contain the statistics; false at the end. */
static bool next_packet(struct trace *trace, struct orma_str *ret)
{
	struct orma_proto_field packet, field;

	while (orma_proto_reader_next(&trace->reader, &packet) > 0) {
		struct orma_proto_reader inner;
		bool is_stats = false;

		*ret = (struct orma_str){(const char *)packet.bytes.data, packet.bytes.size};
		trace->empty += ret->size == 0;
		orma_proto_reader_init(&inner, ret->data, ret->size);
		while (orma_proto_reader_next(&inner, &field) > 0) {
			if (field.id != ORMA_PB_TRACE_PACKET_TRACE_STATS)
				continue;
			is_stats = true;
			take_stats(trace, (struct orma_str){(const char *)field.bytes.data,
							    field.bytes.size});
		}
		if (ret->size && !is_stats) {
			trace->packets++;
			return true;
		}
	}
	*ret = (struct orma_str){0};
	return false;
}

static void print_packet(const struct trace *trace, struct orma_str packet)
{
	fprintf(stderr, "%s packet %llu:", trace->name, (unsigned long long)trace->packets);
	for (size_t i = 0; i < packet.size; i++)
		fprintf(stderr, " %02x", (uint8_t)packet.data[i]);
	fprintf(stderr, "\n");
}

static int compare(const char *const names[2])
{
	struct trace traces[2] = {0};
	struct orma_str packets[2] = {0};

	for (size_t i = 0; i < 2; i++)
		if (open_trace(&traces[i], names[i]) < 0) {
			fprintf(stderr, "%s: cannot be read\n", names[i]);
			return 1;
		}
	for (;;) {
		bool has_first = next_packet(&traces[0], &packets[0]);
		bool has_second = next_packet(&traces[1], &packets[1]);

		if (!has_first && !has_second)
			break;
		if (has_first && has_second && orma_base_str_is_equal(packets[0], packets[1]))
			continue;
		for (size_t i = 0; i < 2; i++)
			print_packet(&traces[i], packets[i]);
		return 1;
	}
	for (size_t i = 0; i < 2; i++)
		printf("%s: %llu packets, %llu empty, %llu errors\n", names[i],
		       (unsigned long long)traces[i].packets, (unsigned long long)traces[i].empty,
		       (unsigned long long)traces[i].errors);
	/* Each packet has a test event, so that only packets with errors are missing. Perfetto 56
	 * removes its statistics too, and sends nothing for packets with errors. */
	return !(traces[1].has_stats && traces[1].errors > 0 &&
		 traces[1].packets + traces[1].errors == PACKETS);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "produce") == 0)
		return produce();
	if (argc >= 2 && argc <= 3 && strcmp(argv[1], "config") == 0)
		return print_config(argc > 2 ? argv[2] : NULL);
	if (argc == 4 && strcmp(argv[1], "compare") == 0)
		return compare((const char *const[]){argv[2], argv[3]});
	fprintf(stderr, "usage: filtered produce | config [file] | compare A B\n");
	return 2;
}
