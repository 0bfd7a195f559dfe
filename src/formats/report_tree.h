/* SPDX-License-Identifier: Apache-2.0
 * report_tree.h - the tracks, threads, processes and states of a report, and the descriptors that they become.
 */
#ifndef ORMA_FORMATS_REPORT_TREE_H
#define ORMA_FORMATS_REPORT_TREE_H

#include "formats/packet_output.h"
#include "formats/report_file.h"

/* The packets of tracks and their events; kernel events have another one. */
enum { ORMA_REPORT_SEQUENCE = 2 };

struct orma_report_thread {
	int64_t utid, upid; /* upid: -1 = none */
	uint32_t tid;
	struct orma_str name;
	bool has_tracks; /* with events */
};

struct orma_report_process {
	int64_t upid;
	uint32_t pid;
	struct orma_str name;
};

/* A track that has boxes. */
struct orma_report_track {
	uint32_t lane;
	int64_t utid, upid, cpu; /* -1 = none */
	uint64_t uuid;
	bool is_thread; /* its slices are those of the thread itself */
	/* The reader of events sets these. */
	bool has_events, is_counter, is_state;
	struct orma_str name, unit;
};

struct orma_report_tree {
	struct orma_report_thread *threads;
	struct orma_report_process *processes;
	struct orma_report_track *tracks;
	struct orma_str *states;
	uint32_t thread_count, thread_capacity, process_count, process_capacity;
	uint32_t track_count, track_capacity, state_count, state_capacity;
	struct orma_map by_lane; /* track + 1 */
	struct orma_map by_utid; /* thread + 1 */
	struct orma_map by_upid; /* process + 1 */
	struct orma_arena arena;
};

/* {0} is empty. Reads the text of the column `tracks`, which lives as long as the tree. 0, -EBADMSG or -ENOMEM; the caller calls done() in any
 * case. */
int orma_report_tree_read(struct orma_report_tree *tree, struct orma_str json);
void orma_report_tree_done(struct orma_report_tree *tree);
/* Return NULL when there is none. */
const struct orma_report_track *orma_report_tree_track(const struct orma_report_tree *tree,
						       uint32_t lane);
const struct orma_report_thread *orma_report_tree_thread(const struct orma_report_tree *tree,
							 int64_t utid);
/* Returns the pid of a thread's process; of a thread without one its own number. */
uint32_t orma_report_tree_pid(const struct orma_report_tree *tree,
			      const struct orma_report_thread *thread);
/* Names processes and threads, and describes the tracks whose boxes are slices or values of counters. 0 or the first error. */
int orma_report_tree_write(struct orma_report_tree *tree, struct orma_packet_output *output);

#endif
