/* SPDX-License-Identifier: Apache-2.0
 * track.h - what the files of src/track/ share.
 *
 * Vocabulary: a *sequence* is what one thread writes for one instance of the data source
 * "track_event"; its state says what the reader of the sequence knows already: names, categories,
 * tracks, the time of the last packet. Ids of names and categories are the process's, so that they
 * are the same in all sequences, and "known already" is one bit.
 */
#ifndef ORMA_TRACK_TRACK_H
#define ORMA_TRACK_TRACK_H

#include <orma/data_source.h>
#include <orma/track_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client.h"
#include "schema/gen/track_event_config.pb.h"
#include "track/limits.h"

/* --- names ------------------------------------------------------------------------------------ */

struct orma_track_name {
	const char *text;
	uint64_t counter_hash; /* of a counter track of that name; xor the process's uuid */
	uint32_t id;           /* 1..ORMA_TRACK_NAMES_MAX - 1 */
};

/* The id of a text, made at its first use; 0 = there are too many, or no memory. Takes a lock. */
uint32_t orma_track_name_intern(const char *text);
const struct orma_track_name *orma_track_name_get(uint32_t id);
uint64_t orma_track_counter_hash(const char *text);

/* --- categories ------------------------------------------------------------------------------- */

/* What an instance was configured with; constant while it is started. */
struct orma_track_instance {
	uint64_t unit_ns;  /* of timestamps */
	uint32_t clock_id; /* of timestamps by default */
	bool is_incremental;
	bool is_started; /* mutex of category.c */
	void *config;    /* serialized DataSourceConfig; mutex of category.c */
	size_t config_size;
};

extern struct orma_track_instance orma_track_instances[ORMA_INSTANCES_MAX];

/* Upstream's rules for C++ (PROTOCOL 4.4); `tags` is a comma-separated list or NULL. */
bool orma_track_category_matches(const struct orma_pb_track_event_config *config, const char *name,
				 const char *tags);
/* Decodes an untrusted config. */
void orma_track_configure(uint32_t idx, const void *config, size_t size);
/* Sets the bits of all categories; clears them again. */
void orma_track_enable(uint32_t idx);
void orma_track_disable(uint32_t idx);
/* Clears every bit of every category; async-signal-safe. */
void orma_track_disable_all(void);
void orma_track_unconfigure(uint32_t idx);
/* The fields of the descriptor: track_event_descriptor. */
int orma_track_describe(struct orma_buf *buf);

/* --- the process ------------------------------------------------------------------------------ */

struct orma_track_process {
	uint64_t uuid;
	int32_t pid;
	uint64_t start_ns; /* since boot; 0 = unknown */
	size_t cmdline_size;
	char cmdline[ORMA_TRACK_CMDLINE_BYTES]; /* arguments, each with its NUL */
};

extern struct orma_track_process orma_track_process;
void orma_track_process_init(void);

/* --- sequences -------------------------------------------------------------------------------- */

#define ORMA_TRACK_WORD_BITS 64

/* In each slot of the data source; zero = nothing known, nothing open. */
struct orma_track_sequence {
	/* Forgotten when incremental state is lost. */
	struct {
		uint64_t last_ns;
		uint64_t names[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t counters[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t categories[ORMA_TRACK_CATEGORIES_MAX / ORMA_TRACK_WORD_BITS];
	} known;
	uint64_t unit_ns;
	uint32_t clock_id;
	bool is_incremental;

	/* Bit n = the begin of the n-th open slice is in the trace. */
	uint64_t written[ORMA_TRACK_DEPTH_MAX / ORMA_TRACK_WORD_BITS];
	uint32_t depth;
	uint32_t late_count; /* ends without room so far, the first ORMA_TRACK_LATE_ENDS_MAX with */
	uint64_t late_ns[ORMA_TRACK_LATE_ENDS_MAX]; /* their times */
};

/* Describes thread, process and clock anew. False: lost, and nothing may be emitted. */
bool orma_track_sequence_begin(struct orma_packet *slot, uint32_t idx, uint64_t now_ns);
/* Tag, timestamp and flags of a packet; `at` has room for ORMA_TRACK_HEAD_BYTES. */
uint8_t *orma_track_put_head(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns);
#define ORMA_TRACK_HEAD_BYTES 13
bool orma_track_declare_counter(struct orma_packet *slot, const char *name, uint64_t uuid,
				uint64_t now_ns);

#endif
