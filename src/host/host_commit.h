/* SPDX-License-Identifier: Apache-2.0
 * host_commit.h - decodes a CommitDataRequest into a struct orma_commit, without allocations once
 * the arrays have grown.
 */
#ifndef ORMA_HOST_HOST_COMMIT_H
#define ORMA_HOST_HOST_COMMIT_H

#include <orma/service.h>
#include <stddef.h>

/* {0} is empty. The arrays only grow; the size of a frame bounds them. */
struct orma_host_commit {
	struct orma_chunk_move *moves;
	size_t move_count, move_capacity;
	struct orma_chunk_patch *chunk_patches;
	size_t *first_patch; /* chunk_patches[i].patches begins at patches[first_patch[i]] */
	size_t chunk_patch_count, chunk_patch_capacity;
	struct orma_patch *patches;
	size_t patch_count, patch_capacity;
	uint64_t flush_request_id;
};

void orma_host_commit_done(struct orma_host_commit *commit);
/* `ret` points into `commit` and into `data`. Values that do not fit their type are cut; they are
 * not checked otherwise. 0, -EBADMSG or -ENOMEM. */
int orma_host_commit_decode(struct orma_host_commit *commit, const void *data_untrusted,
			    size_t size, struct orma_commit *ret);

#endif
