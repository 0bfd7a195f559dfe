/* SPDX-License-Identifier: Apache-2.0
 * packet_select.h - options that choose packets, for the commands that read traces.
 */
#ifndef ORMA_TOOL_PACKET_SELECT_H
#define ORMA_TOOL_PACKET_SELECT_H

#include "base/map.h"
#include "tool/option.h"
#include "tool/trace/packet_time.h"
#include "tool/trace/packet_view.h"

#define ORMA_SELECT_MAX 64 /* values of one option */

/* Numbers of the options; the commands' own begin at the last. */
enum {
	ORMA_SELECT_FROM = ORMA_OPTION_FIRST_OWN,
	ORMA_SELECT_TO,
	ORMA_SELECT_SEQUENCE,
	ORMA_SELECT_FIRST_FREE,
};

/* Rows of a command's table. */
#define ORMA_SELECT_TIME_OPTIONS                                                                   \
	{ORMA_SELECT_FROM, "from", "TIME",                                                         \
	 "Leave out what happened before TIME: 1.5s or 200ms after the first event, -3s before "   \
	 "the last, or @N nanoseconds on the trace's clock.",                                      \
	 NULL},                                                                                    \
	{                                                                                          \
		ORMA_SELECT_TO, "to", "TIME", "Leave out what happened after TIME.", NULL          \
	}

enum orma_time_base {
	ORMA_TIME_NONE,        /* the option was not given */
	ORMA_TIME_AFTER_BEGIN, /* "5s" */
	ORMA_TIME_BEFORE_END,  /* "-5s" */
	ORMA_TIME_ABSOLUTE,    /* "@123": nanoseconds on the trace's clock */
};

struct orma_time_limit {
	enum orma_time_base base;
	uint64_t ns;
};

/* Reads the value of such an option. False when it is none. */
bool orma_time_limit_parse(const char *text, struct orma_time_limit *ret);

struct orma_packet_select {
	uint32_t kinds[ORMA_SELECT_MAX], sequences[ORMA_SELECT_MAX];
	const char *processes[ORMA_SELECT_MAX]; /* ids, or patterns for names */
	size_t kind_count, sequence_count, process_count;
	struct orma_time_limit from, to;
	/* orma_packet_select_prepare() sets these. */
	uint64_t from_ns, to_ns; /* both included */
	struct orma_map pids;    /* key: a pid + 1 */
};

void orma_packet_select_done(struct orma_packet_select *select);
/* Takes one value of an option: a field of TracePacket, a time, a process, a sequence. Returns -1, or the
 * exit status after a message. Values are borrowed. */
int orma_packet_select_add_kind(struct orma_packet_select *select, const char *value);
int orma_packet_select_add_process(struct orma_packet_select *select, const char *value);
/* The same for ORMA_SELECT_FROM, _TO and _SEQUENCE. */
int orma_packet_select_take(struct orma_packet_select *select, int id, const char *value);
/*
 * Finds out what the options mean in this trace. If a time is relative, or a process is named, that takes
 * a first pass over the file, which must not be a pipe. Returns ORMA_EXIT_OK, or the exit status after a
 * message. A damaged trace is looked at up to the damage.
 */
int orma_packet_select_prepare(struct orma_packet_select *select, int fd, const char *name);

bool orma_packet_select_has_time(const struct orma_packet_select *select);
bool orma_packet_select_wants_kind(const struct orma_packet_select *select, uint32_t kind);
bool orma_packet_select_wants_sequence(const struct orma_packet_select *select, uint32_t sequence);
/* True without a pid only if no process was chosen. */
bool orma_packet_select_wants_process(const struct orma_packet_select *select,
				      const struct orma_packet_view *packet);
static inline bool orma_packet_select_overlaps(const struct orma_packet_select *select,
					       const struct orma_packet_times *times)
{
	return times->last_ns >= select->from_ns && times->first_ns <= select->to_ns;
}

#endif
