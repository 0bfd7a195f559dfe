/* SPDX-License-Identifier: Apache-2.0
 * memory_budget_test.c - files for what is beyond the memory, on all kinds of file systems.
 */
#include "store/memory_budget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

#define NAMELESS    (O_TMPFILE & ~O_DIRECTORY)
#define ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))

/* From here on, this process finds only file systems that have no files without a name. */
static void refuse_nameless_files(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __NR_open
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_open, 3, 0),
#else
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 0),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 5),
		ARGUMENT(2),
		BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
		ARGUMENT(1),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMELESS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		orma_test_skip("seccomp filters");
}

static int entries_of(const char *folder)
{
	int count = 0;
	DIR *dir = opendir(folder);
	CHECK(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void check_file(const struct orma_memory_budget *budget)
{
	struct stat info;
	int fd = orma_memory_budget_open_file(budget);
	CHECK(fd > 2);
	CHECK_INT(fstat(fd, &info), 0);
	CHECK_INT(info.st_nlink, 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_INT(pwrite(fd, "x", 1, 0), 1);
	CHECK_INT(entries_of(budget->folder), 0);
	close(fd);
}

ORMA_TEST(a_file_has_no_name)
{
	const struct orma_memory_budget budget = {.folder = orma_test_tmpdir()};
	const struct orma_memory_budget nowhere = {.folder = "/nonexistent"};
	check_file(&budget);
	CHECK_INT(orma_memory_budget_open_file(&nowhere), -ENOENT);
}

ORMA_TEST(file_systems_without_nameless_files_will_do)
{
	const struct orma_memory_budget budget = {.folder = orma_test_tmpdir()};
	refuse_nameless_files();
	CHECK(open(budget.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) < 0 && errno == EOPNOTSUPP);
	check_file(&budget);
}
