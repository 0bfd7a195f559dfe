/* SPDX-License-Identifier: Apache-2.0
 * memory_budget.c - the files that take what is beyond the budget, and the default.
 */
#include "store/memory_budget.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "store/memory_limit.h"

enum { DEFAULT_MIN_BYTES = 64 << 20 };

/* For file systems that have no files without a name: NFS, and overlays of older kernels, which containers lie on. */
static int open_named(const char *folder)
{
	char path[PATH_MAX];
	if ((size_t)snprintf(path, sizeof(path), "%s/orma-XXXXXX", folder) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

int orma_memory_budget_open_file(const struct orma_memory_budget *budget)
{
	const char *folder = budget && budget->folder ? budget->folder : getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/var/tmp";
	int fd = orma_base_fd_avoid_standard(
		open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		fd = orma_base_fd_avoid_standard(open_named(folder));
	return fd < 0 ? -errno : fd;
}

size_t orma_memory_budget_default(void)
{
	uint64_t bytes = ORMA_MAX(orma_store_memory_limit("") / 4, (uint64_t)DEFAULT_MIN_BYTES);

	/* A process of 32 bits has less address space than the machine may have memory. */
	return (size_t)ORMA_MIN(bytes, (uint64_t)SIZE_MAX / 4);
}
