/* SPDX-License-Identifier: Apache-2.0
 * system_packets.h - packets about the system and the recording.
 */
#ifndef ORMA_TRACE_SYSTEM_PACKETS_H
#define ORMA_TRACE_SYSTEM_PACKETS_H

#include "trace/kernel_event.h"

/* Which machine_id and trace_id a piece of metadata has. */
enum orma_metadata_scope {
	ORMA_METADATA_GLOBAL,
	ORMA_METADATA_TRACE,
	ORMA_METADATA_MACHINE,
	ORMA_METADATA_BOTH
};
/* One piece of metadata: a number or a text, the other one NULL. */
struct orma_metadata {
	struct orma_str name;
	enum orma_metadata_scope scope;
	uint32_t machine_idx;
	bool is_list;         /* values are added, not replaced */
	int64_t number, text; /* cells */
};

/* All return 0 or a negative errno value. */
int orma_metadata_set(struct orma_system *system, const struct orma_metadata *metadata);
int orma_metadata_number(struct orma_system *system, const char *name,
			 enum orma_metadata_scope scope, uint32_t machine_idx, int64_t number);
/* A text without data is left out. */
int orma_metadata_text(struct orma_system *system, const char *name, enum orma_metadata_scope scope,
		       uint32_t machine_idx, struct orma_str text);

/* Takes a packet in the order of the file, if it is about the system as a whole or the recording; others are ignored. */
int orma_system_packet_early(struct orma_system *system, const struct orma_sequence *sequence,
			     const struct orma_packet *packet);
/* Takes a packet in the order of time. */
int orma_system_packet(struct orma_system *system, const struct orma_ordered_event *event);

/* The parts of it. */
int orma_system_info(struct orma_system *system, uint32_t machine_idx, struct orma_str content);
int orma_trace_attributes(struct orma_system *system, uint32_t machine_idx,
			  struct orma_str content);
int orma_trace_uuid(struct orma_system *system, uint32_t machine_idx, int64_t msb, int64_t lsb);
int orma_trace_config(struct orma_system *system, uint32_t machine_idx, struct orma_str content);
int orma_trace_stats(struct orma_system *system, uint32_t machine_idx, struct orma_str content);
int orma_ftrace_stats(struct orma_system *system, uint32_t machine_idx, struct orma_str content);
int orma_cpu_info(struct orma_system *system, uint32_t machine_idx, struct orma_str content);
int orma_process_tree(struct orma_system *system, uint32_t machine_idx, struct orma_str content);
int orma_process_set_uid(struct orma_system *system, int64_t upid, uint32_t uid);
int orma_process_stats(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		       struct orma_str content);
int orma_sys_stats(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		   struct orma_str content);
int orma_battery(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		 struct orma_str content);
/* Takes packets of kernels other than Linux; others are ignored. */
int orma_generic_task_packet(struct orma_system *system, const struct orma_ordered_event *event);
int orma_clock_rows(struct orma_system *system, const struct orma_clock_reading *readings,
		    size_t count);

/* Adds the metadata that is known when all of the trace has been read. */
int orma_trace_facts(struct orma_system *system);

#endif
