/* SPDX-License-Identifier: Apache-2.0
 * memory_limit_test.c - the limits of control groups, in files that look like those of Linux.
 */
#include "store/memory_limit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

/* Writes a file below the test's folder, and makes the folders that lead to it. */
static void put(const char *name, const char *content)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), name);
	for (char *at = path + strlen(orma_test_tmpdir()) + 1; (at = strchr(at, '/'));
	     *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	FILE *file = fopen(path, "w");
	CHECK(file);
	CHECK(fputs(content, file) >= 0);
	CHECK_INT(fclose(file), 0);
}

static uint64_t limit(void)
{
	return orma_store_memory_limit(orma_test_tmpdir());
}

static uint64_t machine(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

ORMA_TEST(without_groups_the_machine_is_the_limit)
{
	CHECK_INT(limit(), machine());
	put("proc/self/cgroup", "0::/user.slice\n");
	CHECK_INT(limit(), machine());
	put("sys/fs/cgroup/user.slice/memory.max", "max\n");
	CHECK_INT(limit(), machine());
}

ORMA_TEST(the_least_limit_of_the_path_counts)
{
	put("proc/self/cgroup", "0::/a/b/c\n");
	put("sys/fs/cgroup/a/b/c/memory.max", "3000000\n");
	put("sys/fs/cgroup/a/b/memory.max", "max\n");
	put("sys/fs/cgroup/a/memory.max", "2000000\n");
	put("sys/fs/cgroup/other/memory.max", "1\n");
	CHECK_INT(limit(), 2000000);
	put("sys/fs/cgroup/a/b/c/memory.max", "1000000\n");
	CHECK_INT(limit(), 1000000);
}

ORMA_TEST(the_root_of_a_container_is_its_own_group)
{
	put("proc/self/cgroup", "0::/system.slice/container-7\n");
	put("sys/fs/cgroup/memory.max", "5000000\n");
	CHECK_INT(limit(), 5000000);
}

ORMA_TEST(version_1_names_its_controllers)
{
	put("proc/self/cgroup",
	    "9:name=systemd:/\n5:cpuset,memory:/a:b\n4:memory_of_another_name:/\n0::/\n");
	put("sys/fs/cgroup/memory/a:b/memory.limit_in_bytes", "7000000\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory.limit_in_bytes", "1\n");
	CHECK_INT(limit(), 7000000);
}

ORMA_TEST(what_is_no_limit_is_skipped)
{
	put("proc/self/cgroup", "\n0\n0:\n0::\n0::/a");
	put("sys/fs/cgroup/memory.max", "12x\n");
	CHECK_INT(limit(), machine());
	put("sys/fs/cgroup/memory.max", "");
	CHECK_INT(limit(), machine());
	put("sys/fs/cgroup/memory.max", "4000000\n");
	CHECK_INT(limit(), 4000000);
}
