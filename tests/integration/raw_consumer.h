/* SPDX-License-Identifier: Apache-2.0
 * raw_consumer.h - a consumer without the client library: one session, from EnableTracing to
 * reading back its packets.
 */
#ifndef ORMA_TESTS_INTEGRATION_RAW_CONSUMER_H
#define ORMA_TESTS_INTEGRATION_RAW_CONSUMER_H

#include "raw_client.h"
#include "schema/gen/consumer_port.pb.h"
#include "schema/gen/trace.pb.h"

struct orma_raw_consumer {
	struct orma_raw_client client;
	uint64_t enable_id;     /* the id of the EnableTracing call, which is answered when
	 * tracing ends */
	size_t garbled_packets; /* read so far: whole at the top level, but not below */
};

void orma_raw_consumer_open(struct orma_raw_consumer *consumer, const char *path);
void orma_raw_consumer_close(struct orma_raw_consumer *consumer);

/* Sends EnableTracing with a config in text format, and a file or -1; waits for nothing. */
void orma_raw_consumer_enable(struct orma_raw_consumer *consumer, int file_fd, const char *format,
			      ...) __attribute__((format(printf, 3, 4)));
/* The same with an encoded config. */
void orma_raw_consumer_enable_bytes(struct orma_raw_consumer *consumer, int file_fd,
				    struct orma_str config);
/* Waits for the end of tracing; returns the error's text ("" = none), NUL-terminated. */
const char *orma_raw_consumer_await_disabled(struct orma_raw_consumer *consumer);
/* Waits until the session has begun, by a call that is answered after EnableTracing. */
void orma_raw_consumer_fence(struct orma_raw_consumer *consumer);
/* Flush; returns the request id, to be awaited. */
uint64_t orma_raw_consumer_flush(struct orma_raw_consumer *consumer, uint32_t timeout_ms);
/* Reads all packets that can be read now. */
struct orma_pb_trace *orma_raw_consumer_read(struct orma_raw_consumer *consumer);
struct orma_pb_trace_stats *orma_raw_consumer_stats(struct orma_raw_consumer *consumer);
/* QueryServiceState, all its replies merged; each must fit a frame. */
struct orma_pb_tracing_service_state *orma_raw_consumer_query(struct orma_raw_consumer *consumer);

/* The number of test packets in the trace, and one of them by its index; NULL = there are fewer. */
size_t orma_raw_test_packet_count(const struct orma_pb_trace *trace);
const struct orma_pb_trace_packet *orma_raw_test_packet_at(const struct orma_pb_trace *trace,
							   size_t idx);
bool orma_raw_trace_has(const struct orma_pb_trace *trace, const char *test_packet_text);

#endif
