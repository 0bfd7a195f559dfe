/* SPDX-License-Identifier: Apache-2.0
 * power_packets.h - packets of phones about energy, the screen and properties of the system.
 */
#ifndef ORMA_TRACE_POWER_PACKETS_H
#define ORMA_TRACE_POWER_PACKETS_H

#include "trace/system.h"

/* Fields of TracePacket that the schema does not have. */
enum {
	ORMA_PACKET_DISPLAY_STATE = 70,
	ORMA_PACKET_ENERGY_BREAKDOWN = 77,
	ORMA_PACKET_SYSTEM_PROPERTIES = 86,
	ORMA_PACKET_ENTITY_STATE = 91,
};

/* Takes what a packet of one of the two kinds describes, in the order of the file. All return 0 or a negative errno value. */
int orma_power_describe(struct orma_system *system, uint32_t machine_idx, uint32_t kind,
			struct orma_str content);
/* Take values, in the order of time. */
int orma_energy_breakdown(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			  struct orma_str content);
int orma_entity_states(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		       struct orma_str content);
int orma_display_state(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		       struct orma_str content);
int orma_system_properties(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			   struct orma_str content);

/* Some counters that processes write into the kernel's buffer are of the whole system. Adds a value to such a one, or returns
 * ORMA_NOT_PROMOTED. */
enum { ORMA_NOT_PROMOTED = 1 };
int orma_promoted_counter(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			  struct orma_str name, double value);

#endif
