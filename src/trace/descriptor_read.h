/* SPDX-License-Identifier: Apache-2.0
 * descriptor_read.h - one TrackDescriptor, with its strings in the pool.
 */
#ifndef ORMA_TRACE_DESCRIPTOR_READ_H
#define ORMA_TRACE_DESCRIPTOR_READ_H

#include "trace/descriptor_tracks.h"

enum orma_sibling_merge { ORMA_MERGE_BY_NAME, ORMA_MERGE_BY_KEY, ORMA_MERGE_NEVER };

/* Strings are cells. */
struct orma_descriptor {
	uint64_t uuid, parent_uuid;
	int64_t name, description;
	int64_t pid, tid; /* -1 = none */
	int64_t merge_key;
	int64_t unit, counter_category, counter_type, share_key;
	double multiplier;
	int64_t rank;
	uint32_t child_ordering; /* 0 = none */
	enum orma_sibling_merge merge;
	bool has_uuid, has_rank, has_thread, has_process;
	bool is_counter, is_state, is_incremental, is_separate;
	bool is_process_order_explicit, is_thread_order_explicit;
	bool is_bad_ordering;
	/* The track, once it is resolved. */
	bool is_resolved, is_unusable, is_root;
	enum orma_track_scope scope;
	int64_t utid, upid;
	int64_t track_id; /* -1 = none */
	struct orma_track_group *group;
};

/* Reads an untrusted descriptor. Fields that can't be read are left out. */
void orma_descriptor_read(struct orma_tables *tables, struct orma_str content,
			  struct orma_descriptor *ret);

#endif
