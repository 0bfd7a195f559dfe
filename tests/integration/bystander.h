/* SPDX-License-Identifier: Apache-2.0
 * bystander.h - a well-behaved producer and consumer that record beside hostile ones. Its trace
 * must be complete and its flushes must work, whatever the hostile clients do.
 */
#ifndef ORMA_TESTS_INTEGRATION_BYSTANDER_H
#define ORMA_TESTS_INTEGRATION_BYSTANDER_H

#include "daemon.h"
#include "raw_consumer.h"
#include "raw_producer.h"

struct orma_bystander {
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	uint32_t target_buffer;
	uint32_t written;   /* chunks so far */
	uint32_t read_back; /* packets so far */
	uint64_t longest_flush_ns;
};

/* The session runs, and some packets are in its buffer. */
void orma_bystander_start(struct orma_bystander *bystander, const struct orma_test_daemon *daemon);
/* Writes and commits one chunk of packets. */
void orma_bystander_write(struct orma_bystander *bystander);
/* Writes, flushes, reads: every packet since the last time, in order, once, and nothing lost. */
void orma_bystander_check(struct orma_bystander *bystander);
/* Checks once more, stops the session and disconnects. */
void orma_bystander_finish(struct orma_bystander *bystander);

/* A daemon with a bystander; nearly every test begins and ends with these. If
 * ORMA_PRINT_FLUSHES is in the environment, the end prints how long the bystander's longest flush
 * took. */
struct orma_stage {
	struct orma_test_daemon daemon;
	struct orma_bystander bystander;
};
void orma_stage_open(struct orma_stage *stage);
void orma_stage_close(struct orma_stage *stage);

#endif
