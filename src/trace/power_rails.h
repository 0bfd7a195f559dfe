/* SPDX-License-Identifier: Apache-2.0
 * power_rails.h - energy that meters of power rails report, many samples in one packet, each with a time of its own.
 */
#ifndef ORMA_TRACE_POWER_RAILS_H
#define ORMA_TRACE_POWER_RAILS_H

#include <stdint.h>

#include "base/str.h"

/* More that wait at one time are dropped and counted. */
#define ORMA_POWER_SAMPLES_MAX (1 << 22)

struct orma_power_sample {
	int64_t ns;
	uint64_t arrival; /* samples of one time are in the order of the file */
	int64_t packet_ns;
	uint64_t energy_uws;
	uint64_t rail; /* a hash of the session and the index */
	uint32_t machine_idx;
};

/* Samples whose time has not come, as a heap with the earliest at its top. {0} is empty. */
struct orma_power_samples {
	struct orma_power_sample *heap;
	uint32_t count, capacity;
	uint64_t arrivals;
};

struct orma_system;

void orma_power_samples_done(struct orma_power_samples *samples);
/* Takes the rails of a packet, and remembers its samples. Packets come in the order of the file, and `packet_ns` is the time of
 * this one. 0 or a negative errno value. */
int orma_power_rails_take(struct orma_system *system, uint32_t machine_idx, int64_t packet_ns,
			  struct orma_str content);
/* Makes counters of the samples up to a time. 0 or a negative errno value. */
int orma_power_samples_count(struct orma_system *system, int64_t until_ns);

#endif
