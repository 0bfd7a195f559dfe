/* SPDX-License-Identifier: Apache-2.0
 * memory_budget_test.c - files for what is beyond the memory, on all kinds of file systems.
 */
#include "store/memory_budget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

/* As in linux/filter.h and linux/seccomp.h, which musl has not. */
struct instruction {
	uint16_t code;
	uint8_t if_true, if_false; /* instructions to skip */
	uint32_t value;
};
struct program {
	unsigned short size;
	struct instruction *code;
};
enum {
	LOAD = 0x20,
	SKIP = 0x05,
	SKIP_IF_EQUAL = 0x15,
	SKIP_IF_BITS = 0x45,
	RETURN = 0x06,
	RETURN_ERRNO = 0x50000,
	RETURN_ALLOW = 0x7fff0000,
	SECCOMP_FILTER = 2,
	NAMELESS = O_TMPFILE & ~O_DIRECTORY,
};

/* The low half of an argument in the kernel's struct of a call: its number, architecture, address, arguments of 64 bits. */
#define ARGUMENT(n) (16 + 8 * (n) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

/* From here on, this process finds only file systems that have no files without a name. */
static void refuse_nameless_files(void)
{
	static struct instruction code[] = {
		{LOAD, 0, 0, 0},
#ifdef __NR_open
		{SKIP_IF_EQUAL, 3, 0, __NR_open},
#else
		{SKIP, 0, 0, 0},
#endif
		{SKIP_IF_EQUAL, 0, 5, __NR_openat},
		{LOAD, 0, 0, ARGUMENT(2)},
		{SKIP, 0, 0, 1},
		{LOAD, 0, 0, ARGUMENT(1)},
		{SKIP_IF_BITS, 0, 1, NAMELESS},
		{RETURN, 0, 0, RETURN_ERRNO | EOPNOTSUPP},
		{RETURN, 0, 0, RETURN_ALLOW},
	};
	struct program program = {sizeof(code) / sizeof(*code), code};
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_FILTER, &program) < 0)
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
