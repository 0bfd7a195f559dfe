/* SPDX-License-Identifier: Apache-2.0
 * perf_map_test.c - names of machine code from a text that the traced program writes.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness.h"
#include "unwind/perf_map.h"

static struct orma_perf_map *parse(const char *text)
{
	struct orma_perf_map *map = NULL;

	CHECK_INT(orma_perf_map_parse(orma_base_str(text), &map), 0);
	return map;
}

static void check_name(const struct orma_perf_map *map, uint64_t address, const char *expected)
{
	struct orma_str name = orma_perf_map_find(map, address);

	if (!orma_base_str_is(name, expected))
		orma_test_fail(__FILE__, __LINE__, "name at %llx is %.*s",
			       (unsigned long long)address, (int)name.size, name.data);
}

ORMA_TEST(names_are_found_by_address)
{
	struct orma_perf_map *map = parse("2000 10 second one\n"
					  "0x1000 0x20 py::main:/a b.py\n"
					  "FFFFFFFFFFFFFF00 ff last\n");

	check_name(map, 0xfff, "");
	check_name(map, 0x1000, "py::main:/a b.py");
	check_name(map, 0x101f, "py::main:/a b.py");
	check_name(map, 0x1020, "");
	check_name(map, 0x200f, "second one");
	check_name(map, 0xffffffffffffffff, "");
	check_name(map, 0xfffffffffffffffe, "last");
	orma_perf_map_free(map);
}

ORMA_TEST(code_that_replaces_other_code_gets_its_own_name)
{
	struct orma_perf_map *map = parse("1000 20 old\n1000 10 new\n");

	check_name(map, 0x1008, "new");
	check_name(map, 0x1018, "");
	orma_perf_map_free(map);
}

ORMA_TEST(malformed_lines_are_skipped)
{
	struct orma_perf_map *map = parse("\n"
					  "x 1 a\n"
					  "1000\n"
					  "1000 0 empty\n"
					  "1000 10\n"
					  "1000 10 \n"
					  "10000000000000000 1 too_far\n"
					  "1000 100000000 too_large\n"
					  "ffffffffffffffff 2 wraps\n"
					  "1000 10 good\n"
					  "1000 20 without_an_end");

	check_name(map, 0x100f, "good");
	check_name(map, 0x1010, "");
	orma_perf_map_free(map);
	CHECK_INT(orma_perf_map_parse(ORMA_STR("nothing\n"), &map), -ENODATA);
}

ORMA_TEST(long_names_are_cut)
{
	char text[2000];
	int size = snprintf(text, sizeof(text), "1000 10 ");

	memset(text + size, 'n', 1000);
	memcpy(text + size + 1000, "\n", 2);
	struct orma_perf_map *map = parse(text);
	CHECK_INT(orma_perf_map_find(map, 0x1000).size, 512);
	orma_perf_map_free(map);
}

ORMA_TEST(reading_a_map_without_memory_is_an_error)
{
	struct orma_perf_map *map = NULL;

	for (uint64_t nth = 1; !map; nth++) {
		orma_base_alloc_fail_nth(nth);
		int r = orma_perf_map_parse(ORMA_STR("1000 10 a\n2000 10 b\n"), &map);
		CHECK_INT(r, orma_base_alloc_has_failed() ? -ENOMEM : 0);
	}
	orma_base_alloc_fail_nth(0);
	orma_perf_map_free(map);
}

/* --- the file --------------------------------------------------------------------------------- */

static char own_path[64];

static void remove_file(void)
{
	unlink(own_path);
}

static void begin_file(void)
{
	snprintf(own_path, sizeof(own_path), "/tmp/perf-%d.map", (int)getpid());
	remove_file();
}

static int read_own(void)
{
	struct orma_perf_map_mark mark = {0};
	struct orma_perf_map *map = NULL;
	int r = orma_perf_map_read(getpid(), &mark, &map);

	orma_perf_map_free(map);
	return r;
}

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, "1000 10 name\n", 13) == 13);
	close(fd);
}

ORMA_TEST(a_link_or_a_fifo_is_not_a_map)
{
	char other[256];

	begin_file();
	CHECK_INT(read_own(), -ENOENT);
	snprintf(other, sizeof(other), "%s/other", orma_test_tmpdir());
	write_file(other);
	/* It would be followed with the rights of the profiler. */
	CHECK_INT(symlink(other, own_path), 0);
	int link_error = read_own();
	remove_file();
	/* Opening it would wait. */
	CHECK_INT(mkfifo(own_path, 0600), 0);
	int fifo_error = read_own();
	remove_file();
	write_file(own_path);
	int r = read_own();
	remove_file();
	CHECK_INT(link_error, -EPERM);
	CHECK_INT(fifo_error, -EPERM);
	CHECK_INT(r, 0);
}

ORMA_TEST(a_map_of_another_user_is_refused)
{
	if (geteuid() != 0)
		orma_test_skip("the right to give a file away");
	begin_file();
	write_file(own_path);
	int given = chown(own_path, 65534, 65534);
	int r = read_own();
	remove_file();
	if (given < 0)
		orma_test_skip("the right to give a file away");
	CHECK_INT(r, -EPERM);
}

/* --- containers ------------------------------------------------------------------------------- */

static void write_name(int pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	FILE *file = fopen(path, "we");
	if (!file || fprintf(file, "1000 10 %s\n", name) < 0 || fclose(file) != 0)
		_exit(1);
}

/* The first process of a pid namespace, with a /tmp of its own. Says in the pipe that its maps are there. */
static void live_in_container(int outer_pid, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmp", "/tmp", "tmpfs", 0, NULL) < 0)
		_exit(1);
	write_name(getpid(), "of_the_container");
	write_name(outer_pid, "of_nobody");
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

ORMA_TEST(a_container_has_its_maps_under_its_own_pids)
{
	struct orma_perf_map_mark mark = {0};
	struct orma_perf_map *map = NULL;
	int outer[2], ready[2], outer_pid = 0;
	char letter;

	CHECK(pipe2(outer, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
	/* As fork() does it, but only the child is in the namespace. */
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		orma_test_skip("the right to make a pid namespace");
	if (pid == 0) {
		if (read(outer[0], &outer_pid, sizeof(outer_pid)) == sizeof(outer_pid))
			live_in_container(outer_pid, ready[1]);
		_exit(1);
	}
	close(ready[1]);
	CHECK(write(outer[1], &pid, sizeof(pid)) == sizeof(pid));
	bool is_ready = read(ready[0], &letter, 1) == 1;
	int r = is_ready ? orma_perf_map_read(pid, &mark, &map) : 0;
	kill(pid, SIGKILL);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	if (!is_ready)
		orma_test_skip("the right to mount a folder");
	CHECK_INT(r, 0);
	CHECK(map != NULL);
	check_name(map, 0x1000, "of_the_container");
	orma_perf_map_free(map);
	close(outer[0]);
	close(outer[1]);
	close(ready[0]);
}
