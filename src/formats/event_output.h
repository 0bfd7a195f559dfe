/* SPDX-License-Identifier: Apache-2.0
 * event_output.h - track events, their arguments, and names of threads and processes.
 */
#ifndef ORMA_FORMATS_EVENT_OUTPUT_H
#define ORMA_FORMATS_EVENT_OUTPUT_H

#include "formats/packet_output.h"

/* An event of a thread. */
struct orma_output_event {
	uint32_t sequence;
	int64_t ns;
	char phase;     /* X: a slice, whose end is known; B and E: its begin and its end */
	int64_t dur_ns; /* for X */
	uint32_t pid;   /* 0 = not known */
	uint32_t tid;
	uint32_t style;           /* enum orma_event_style; PLAIN if the pid is not known */
	struct orma_str category; /* without data: none */
	struct orma_str name;
};

/* Begins a packet with the event, and leaves its TrackEvent open for arguments. orma_packet_output_end() ends it. Slices of a thread
 * nest. */
struct orma_proto_writer *orma_output_event(struct orma_packet_output *output,
					    const struct orma_output_event *event);
/* Returns the uuid of the track of a thread, or with tid 0 of a process. */
static inline uint64_t orma_output_thread_uuid(uint32_t pid, uint32_t tid)
{
	return UINT64_C(1) << 63 | (uint64_t)pid << 32 | tid;
}
/* Names a thread or a process from the beginning on. 0 or the first error. */
int orma_output_name_thread(struct orma_packet_output *output, uint32_t sequence, uint32_t pid,
			    uint32_t tid, struct orma_str name);
int orma_output_name_process(struct orma_packet_output *output, uint32_t sequence, uint32_t pid,
			     struct orma_str name);

/* Writes the name or a category of the open TrackEvent. */
enum orma_output_text { ORMA_OUTPUT_NAME, ORMA_OUTPUT_CATEGORY };
void orma_output_text(struct orma_packet_output *output, enum orma_output_text kind,
		      struct orma_str text);
/* Writes an argument of the open TrackEvent. */
void orma_output_arg_text(struct orma_packet_output *output, struct orma_str name,
			  struct orma_str value);

#endif
