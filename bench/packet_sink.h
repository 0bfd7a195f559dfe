/* SPDX-License-Identifier: Apache-2.0
 * packet_sink.h - packets that nobody reads: the functions of orma/packet.h that probes call, without a service.
 */
#ifndef ORMA_BENCH_PACKET_SINK_H
#define ORMA_BENCH_PACKET_SINK_H

#include <stdint.h>

/* The packets since the last call, and their bytes. */
struct bench_packets {
	uint64_t count, bytes;
};
struct bench_packets bench_take_packets(void);

#endif
