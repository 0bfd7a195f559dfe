/* SPDX-License-Identifier: Apache-2.0
 * raw_clone.h - sessions to clone, and CloneSession as a raw call.
 */
#ifndef ORMA_TESTS_INTEGRATION_RAW_CLONE_H
#define ORMA_TESTS_INTEGRATION_RAW_CLONE_H

#include "raw_session.h"

/*
 * A session called "source" with one buffer, started. Its data source does not want to be flushed,
 * so clones of it do not wait for the test. `config` is added to the trace config, in text format.
 */
void orma_raw_clone_source_open(struct orma_raw_session *session,
				const struct orma_test_daemon *daemon, uint32_t size_kb,
				int file_fd, const char *config);

/* CloneSession with a request in text format, and a file or -1; returns the id of the call. */
uint64_t orma_raw_clone_invoke(struct orma_raw_consumer *consumer, int fd, const char *request);
struct orma_pb_clone_session_response *orma_raw_clone_await(struct orma_raw_consumer *consumer,
							    uint64_t id);
/* Both. */
struct orma_pb_clone_session_response *orma_raw_clone_make(struct orma_raw_consumer *consumer,
							   int fd, const char *request);

#endif
