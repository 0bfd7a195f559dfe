/* SPDX-License-Identifier: Apache-2.0
 * raw_clone.c - code that tests of clones share.
 */
#include "raw_clone.h"

#include "harness.h"

void orma_raw_clone_source_open(struct orma_raw_session *session,
				const struct orma_test_daemon *daemon, uint32_t size_kb,
				int file_fd, const char *config)
{
	*session = (struct orma_raw_session){0};
	orma_raw_producer_open(&session->producer, daemon->producers, "source");
	orma_raw_producer_register(&session->producer, "name: \"source\" no_flush: true");
	orma_raw_consumer_open(&session->consumer, daemon->consumers);
	orma_raw_consumer_enable(&session->consumer, file_fd,
				 "unique_session_name: \"source\" buffers { size_kb: %u } "
				 "data_sources { config { name: \"source\" } } %s",
				 size_kb, config);
	session->instance = orma_raw_producer_await_start(&session->producer, "source");
	session->target_buffer = session->instance->target_buffer;
}

uint64_t orma_raw_clone_invoke(struct orma_raw_consumer *consumer, int fd, const char *request)
{
	struct orma_str args = orma_raw_text(&consumer->client, &orma_pb_clone_session_request_desc,
					     "%s", request);
	uint64_t id = orma_raw_invoke(&consumer->client, "CloneSession", args, fd, 0);

	CHECK(id);
	return id;
}

struct orma_pb_clone_session_response *orma_raw_clone_await(struct orma_raw_consumer *consumer,
							    uint64_t id)
{
	struct orma_pb_clone_session_response *response;

	orma_raw_decode(&consumer->client, &orma_pb_clone_session_response_desc,
			orma_raw_await(&consumer->client, id), &response);
	return response;
}

struct orma_pb_clone_session_response *orma_raw_clone_make(struct orma_raw_consumer *consumer,
							   int fd, const char *request)
{
	return orma_raw_clone_await(consumer, orma_raw_clone_invoke(consumer, fd, request));
}
