/* SPDX-License-Identifier: Apache-2.0
 * filter_fuzz.c - untrusted programs, overlays, string rules and packets through a trace filter.
 *
 * The input is three lengths of two bytes, then the program, the overlay and an expression of these
 * lengths, then the packet. The checksums of program and overlay are corrected. A filter that loads
 * must give the same result for a packet whether it is in one piece or in several. The result must
 * not be larger than the packet, and filtering it again must work. The second result may differ,
 * because redacted text may match another rule.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "proto/wire.h"
#include "service/filter/filter.h"
#include "tool/daemon/regex_pcre2.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t no_clock(void *ctx, int clock_id)
{
	(void)ctx;
	(void)clock_id;
	return 1;
}

/* Appends the varints at the beginning of the bytes, and their checksum. */
static void append_program(struct orma_buf *buf, struct orma_str words)
{
	const uint8_t *at = (const uint8_t *)words.data, *end = at + words.size;
	uint64_t hash = ORMA_FNV1A_INIT, word;
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];

	CHECK(orma_base_buf_append(buf, words.data, words.size) == 0);
	while (at < end && (at = orma_proto_get_varint(at, end, &word)) != NULL) {
		for (unsigned i = 0; i < 4; i++)
			bytes[i] = (uint8_t)(word >> 8 * i);
		hash = orma_base_fnv1a(hash, bytes, 4);
	}
	end = orma_proto_put_varint(bytes, (uint32_t)hash);
	CHECK(orma_base_buf_append(buf, bytes, (size_t)(end - bytes)) == 0);
}

static struct orma_str cut(const uint8_t **at, size_t *left, size_t wanted)
{
	struct orma_str part = {(const char *)*at, ORMA_MIN(wanted, *left)};

	*at += part.size;
	*left -= part.size;
	return part;
}

static int run(struct orma_service_filter *filter, const uint8_t *packet, size_t size, size_t step,
	       uint8_t *out, size_t *out_size)
{
	size_t count = 0;
	struct orma_trace_slice *slices = orma_base_alloc_array(size / step + 1, sizeof(*slices));
	int r;

	CHECK(slices);
	for (size_t at = 0; at < size; at += step)
		slices[count++] =
			(struct orma_trace_slice){packet + at, ORMA_MIN(step, size - at), false};
	r = orma_service_filter_packet(filter, slices, count, out, out_size);
	CHECK(r != 0 || *out_size <= size);
	orma_base_free(slices);
	return r;
}

static void filter_packet(struct orma_service_filter *filter, const uint8_t *packet, size_t size)
{
	uint8_t *first = orma_base_alloc(size + 1), *again = orma_base_alloc(size + 1);
	size_t first_size, again_size;
	int r = run(filter, packet, size, size + 1, first, &first_size);

	for (size_t step = 1; step <= 5; step += 2) {
		CHECK(run(filter, packet, size, step, again, &again_size) == r);
		CHECK(r != 0 ||
		      (again_size == first_size && memcmp(first, again, again_size) == 0));
	}
	if (r == 0)
		CHECK(run(filter, first, first_size, 7, again, &again_size) == 0);
	orma_base_free(first);
	orma_base_free(again);
}

static void add_rules(struct orma_pb_trace_config_trace_filter *config, struct orma_arena *arena,
		      struct orma_str pattern)
{
	struct orma_pb_trace_config_trace_filter_string_filter_chain *chain =
		orma_pb_trace_config_trace_filter_set_new_string_filter_chain(config, arena);

	for (int32_t policy = 1; chain && policy <= 5; policy++) {
		struct orma_pb_trace_config_trace_filter_string_filter_rule *rule =
			orma_pb_trace_config_trace_filter_string_filter_chain_add_rules(chain,
											arena);

		CHECK(rule);
		orma_pb_trace_config_trace_filter_string_filter_rule_set_policy(rule, policy);
		orma_pb_trace_config_trace_filter_string_filter_rule_set_regex_pattern(rule,
										       pattern);
	}
}

static void run_config(const struct orma_pb_trace_config_trace_filter *config,
		       const uint8_t *packet, size_t size)
{
	struct orma_service_options options = {.struct_size = sizeof(options),
					       .now_ns = no_clock,
					       .regex_ops = orma_tool_regex_ops};
	struct orma_service_filter *filter;
	struct orma_service *service;

	CHECK(orma_service_new(&options, &service) == 0);
	if (orma_service_filter_new(service, config, &filter, NULL) == 0) {
		filter_packet(filter, packet, size);
		orma_service_filter_free(filter);
	}
	orma_service_free(service);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_pb_trace_config_trace_filter *config;
	struct orma_buf program = {0}, overlay = {0};
	struct orma_arena arena = {0};
	size_t wanted[3], left;
	const uint8_t *at;

	if (size < 6)
		return 0;
	for (size_t i = 0; i < 3; i++)
		wanted[i] = data[2 * i] | (size_t)data[2 * i + 1] << 8;
	at = data + 6;
	left = size - 6;
	config = orma_pb_trace_config_trace_filter_new(&arena);
	CHECK(config);
	append_program(&program, cut(&at, &left, wanted[0]));
	if (wanted[1])
		append_program(&overlay, cut(&at, &left, wanted[1]));
	config->bytecode = (struct orma_str){(const char *)program.data, program.size};
	config->bytecode_overlay_v54 = (struct orma_str){(const char *)overlay.data, overlay.size};
	if (wanted[2])
		add_rules(config, &arena, cut(&at, &left, wanted[2]));
	run_config(config, at, left);
	orma_base_arena_done(&arena);
	orma_base_buf_done(&program);
	orma_base_buf_done(&overlay);
	return 0;
}
