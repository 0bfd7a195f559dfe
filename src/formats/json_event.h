/* SPDX-License-Identifier: Apache-2.0
 * json_event.h - one event of Chrome's JSON format: its fields, and the packets that it becomes.
 */
#ifndef ORMA_FORMATS_JSON_EVENT_H
#define ORMA_FORMATS_JSON_EVENT_H

#include "formats/event_output.h"
#include "trace/json_scan.h"

/* A process, a thread, or an id of an event: a number or a text. */
struct orma_json_id {
	enum { ORMA_JSON_ID_NONE, ORMA_JSON_ID_NUMBER, ORMA_JSON_ID_TEXT } kind;
	uint64_t number;
	struct orma_str text;
};

struct orma_json_event {
	char phase; /* 0 = none */
	char scope; /* of an instant: g, p, t; 0 = none, ? = another */
	bool has_fields, has_ts, has_dur, has_tts, has_tdur;
	bool flow_in, flow_out, binds_enclosing;
	bool is_wrong; /* a time is not a number */
	int64_t ns, dur_ns, tts_ns, tdur_ns;
	struct orma_json_id pid, tid, id, local_id, global_id, bind_id;
	struct orma_str name, category; /* without data: none */
	struct orma_str args;           /* the text between the brackets */
};

/* Reads an event from behind its opening bracket to behind its closing one. Texts are valid as long as the scanned text and
 * the arena. MEMBER, CUT or DAMAGED. */
enum orma_json_next orma_json_event_read(struct orma_json_scan *scan, struct orma_arena *arena,
					 struct orma_json_event *ret);

enum { ORMA_JSON_SEQUENCES = 64 };

/* The time of the last packet of a sequence, and its order among those of one time. */
struct orma_json_end {
	int64_t ns;
	uint32_t order;
};

/* The events of a file share it. {.output = ...} is empty. */
struct orma_json_writer {
	struct orma_packet_output *output;
	struct orma_arena arena;  /* for the texts of one event */
	struct orma_map names;    /* number of a process or thread that has a name only, by hash */
	struct orma_map counters; /* counters that are described, by hash */
	struct orma_buf text;
	struct orma_json_end ends[ORMA_JSON_SEQUENCES]; /* ever earlier */
	uint32_t sequence_count;
};

void orma_json_writer_done(struct orma_json_writer *writer);
/* Writes the packets of an event. One that makes no sense is counted. 0 or the first error. */
int orma_json_event_write(struct orma_json_writer *writer, struct orma_json_event *event);
/* Writes the members of an object as arguments of the open TrackEvent. */
void orma_json_args_write(struct orma_packet_output *output, struct orma_arena *arena,
			  struct orma_str object);

#endif
