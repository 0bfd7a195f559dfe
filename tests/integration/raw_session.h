/* SPDX-License-Identifier: Apache-2.0
 * raw_session.h - a producer of a test, with a session that records it.
 */
#ifndef ORMA_TESTS_INTEGRATION_RAW_SESSION_H
#define ORMA_TESTS_INTEGRATION_RAW_SESSION_H

#include "daemon.h"
#include "raw_consumer.h"
#include "raw_producer.h"

struct orma_raw_session {
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	const struct orma_raw_instance *instance;
	uint32_t target_buffer;
	uint32_t next_chunk_id;
};

/*
 * Producer and data source called `name`, a buffer of 1 MiB, started. `descriptor` and `config` are
 * added to the data source's descriptor and to the trace config, in text format.
 */
void orma_raw_session_open(struct orma_raw_session *session, const struct orma_test_daemon *daemon,
			   const char *name, const char *descriptor, const char *config);
/* Both disconnect without any call. */
void orma_raw_session_close(struct orma_raw_session *session);

/* Writes one packet as a chunk of writer 1 into page 0 and commits it; the page is free again when
 * this returns. */
void orma_raw_session_emit(struct orma_raw_session *session, const char *text);
/* Makes a flush that the producer acknowledges. */
void orma_raw_session_flush(struct orma_raw_session *session);

#endif
