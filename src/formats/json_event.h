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

/* The fields that most events have. Any other is ORMA_JSON_FIELD_OTHER. */
enum orma_json_field {
	ORMA_JSON_FIELD_NONE, /* before the first one */
	ORMA_JSON_FIELD_OTHER,
	ORMA_JSON_FIELD_ARGS,
	ORMA_JSON_FIELD_CATEGORY,
	ORMA_JSON_FIELD_DURATION,
	ORMA_JSON_FIELD_NAME,
	ORMA_JSON_FIELD_PHASE,
	ORMA_JSON_FIELD_PID,
	ORMA_JSON_FIELD_TID,
	ORMA_JSON_FIELD_TIME,
	ORMA_JSON_FIELD_THREAD_DURATION,
	ORMA_JSON_FIELD_THREAD_TIME,
	ORMA_JSON_FIELDS,
};

enum { ORMA_JSON_GUESS_WORDS = 2 };

/* A text from the end of one value to the first character of the next: a comma, a key, a colon, and blanks. */
struct orma_json_guess {
	uint64_t text[ORMA_JSON_GUESS_WORDS], mask[ORMA_JSON_GUESS_WORDS];
	uint8_t size;  /* 0 = none */
	uint8_t field; /* enum orma_json_field */
	uint8_t key, key_size;
};

enum { ORMA_JSON_GUESSES = 2 };

/* The texts that were last met behind each field, the latest first. {0} is empty. */
struct orma_json_guesses {
	struct orma_json_guess after[ORMA_JSON_FIELDS][ORMA_JSON_GUESSES];
};

/* Reads an event from behind its opening bracket to behind its closing one. Texts are valid as long as the scanned text and
 * the arena. MEMBER, CUT or DAMAGED. */
enum orma_json_next orma_json_event_read(struct orma_json_scan *scan,
					 struct orma_json_guesses *guesses,
					 struct orma_arena *arena, struct orma_json_event *ret);

/* Returns the number that LegacyEvent has a field for: a text's is its hexadecimal one, or a hash. */
uint64_t orma_json_id_number(const struct orma_json_id *id);
/* Ids of flows are numbers, or texts with a hexadecimal one. */
bool orma_json_id_is_flow(const struct orma_json_id *id);
/* Returns the scope of an instant as in LegacyEvent; 0 = none that is known. */
static inline uint8_t orma_json_scope_number(char scope)
{
	return scope == 'g' ? 1 : scope == 'p' ? 2 : scope == 't' ? 3 : 0;
}

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
/* Writes an event as a record into a sequence. 1, 0 (it has to be written as fields, as everything is unless `output->has_records`),
 * or the first error. */
int orma_json_record_write(struct orma_packet_output *output, const struct orma_json_event *event,
			   uint32_t sequence, uint32_t order);
/* Writes the members of an object as arguments of the open TrackEvent. */
void orma_json_args_write(struct orma_packet_output *output, struct orma_arena *arena,
			  struct orma_str object);

#endif
