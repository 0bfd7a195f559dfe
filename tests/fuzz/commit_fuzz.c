/* SPDX-License-Identifier: Apache-2.0
 * commit_fuzz.c - any bytes as a CommitDataRequest.
 */
#include <orma/service.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/host_commit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_host_commit scratch = {0};
	struct orma_commit commit;
	if (orma_host_commit_decode(&scratch, data, size, &commit) == 0)
		for (size_t i = 0; i < commit.patch_count; i++)
			if (commit.patches[i].count > 0 && commit.patches[i].patches == NULL)
				abort();
	orma_host_commit_done(&scratch);
	return 0;
}
