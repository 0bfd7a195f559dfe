/* SPDX-License-Identifier: Apache-2.0
 * process_maps_test.c - the mappings of this process beside the dynamic loader's modules, and lines
 * that make no sense.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "unwind/process_maps.h"

struct search {
	struct orma_str text;
	unsigned found_count;
};

static uint64_t bias_of(const struct orma_process_map *map)
{
	char path[1024];
	struct orma_elf_file file;
	uint64_t bias;

	snprintf(path, sizeof(path), "%.*s", (int)map->path.size, map->path.data);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT(orma_elf_file_init(&file, fd), 0);
	CHECK_INT(orma_process_map_bias(map, &file, &bias), 0);
	close(fd);
	return bias;
}

/* The code of each module of the loader lies in one mapping, whose bias is the loader's. */
static int find_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *search = ctx;

	(void)size;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		struct orma_process_maps maps = {.rest = search->text};
		struct orma_process_map map;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		while (orma_process_maps_next(&maps, &map)) {
			uint64_t address = info->dlpi_addr + segment->p_vaddr;

			if (address < map.start || address >= map.end || map.path.data[0] != '/')
				continue;
			CHECK(map.is_executable && map.inode > 0 && !map.is_deleted);
			CHECK_INT(bias_of(&map), info->dlpi_addr);
			search->found_count++;
		}
	}
	return 0;
}

ORMA_TEST(the_mappings_of_this_process_fit_the_loaders_modules)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct search search = {{0}, 0};
	struct orma_process_map map;

	CHECK_INT(orma_base_file_read(AT_FDCWD, "/proc/self/maps", 1u << 20, &buf), 0);
	search.text = orma_base_buf_str(&buf);
	dl_iterate_phdr(find_module, &search);
	/* The program itself; libc and the loader too, unless all is one file. */
	CHECK(search.found_count >= 1);
	struct orma_process_maps maps = {.rest = search.text};
	while (orma_process_maps_next(&maps, &map))
		CHECK(map.start < map.end);
	CHECK_INT(maps.bad_count, 0);
}

static void check_line(const char *line, bool is_good)
{
	struct orma_process_maps maps = {.rest = orma_base_str(line)};
	struct orma_process_map map;

	CHECK_INT(orma_process_maps_next(&maps, &map), is_good);
	CHECK_INT(maps.bad_count, !is_good);
}

ORMA_TEST(lines_of_other_forms_are_skipped_and_counted)
{
	check_line("1000-2000 r-xp 00000000 fe:01 12 /a\n", true);
	check_line("1000-2000 rw-p 00000000 00:00 0 \n", true);
	check_line("1000-2000 r-xp 00000000 fe:01 12 /a", false); /* cut */
	check_line("1000-2000 r-xp 00000000 fe:01 12\n", false);
	check_line("2000-1000 r-xp 00000000 fe:01 12 /a\n", false);
	check_line("1000-1000 r-xp 00000000 fe:01 12 /a\n", false);
	check_line("10000000000000000-2 r-xp 0 fe:01 12 /a\n", false);
	check_line("1000-2000 r-xp 0 fe:100000000 12 /a\n", false);
	check_line("1000-2000 r-x\n", false);
	check_line("-2000 r-xp 00000000 fe:01 12 /a\n", false);
	check_line("1000-2000 r-xp 00000000 fe:01 1f /a\n", false);
	check_line("\n", false);
}

ORMA_TEST(paths_are_given_as_the_kernel_writes_them)
{
	struct orma_process_maps maps = {
		.rest = ORMA_STR("1000-2000 r-xp 00003000 fe:01 12    /a b\\012c (deleted)\n"
				 "1800-2800 r-xp 00000000 fe:01 12 /overlaps\n"
				 "3000-4000 rw-p 00000000 00:00 0    [heap]\n")};
	struct orma_process_map map;

	CHECK(orma_process_maps_next(&maps, &map));
	CHECK(orma_base_str_is(map.path, "/a b\\012c") && map.is_deleted && map.is_executable);
	CHECK_INT(map.offset, 0x3000);
	CHECK_INT(map.device_major, 0xfe);
	CHECK_INT(map.inode, 12);
	CHECK(orma_process_maps_next(&maps, &map));
	CHECK(orma_base_str_is(map.path, "[heap]") && !map.is_deleted && !map.is_executable);
	CHECK(!orma_process_maps_next(&maps, &map));
	CHECK_INT(maps.bad_count, 1);
}

ORMA_TEST(a_mapping_without_code_of_the_file_has_no_bias)
{
	struct orma_elf_file file = {
		.load_count = 2,
		.loads = {
			{.offset = 0x1000, .file_size = 0x1000, .address = 0x401000, .flags = PF_X},
			{.offset = 0x2000, .file_size = 0x1000, .flags = PF_R}}};
	struct orma_process_map map = {.start = 0x7000, .end = 0x8000, .offset = 0x1000};
	uint64_t bias;

	CHECK_INT(orma_process_map_bias(&map, &file, &bias), 0);
	CHECK_INT(bias, 0x7000 - 0x401000);
	map.offset = 0x2000;
	CHECK_INT(orma_process_map_bias(&map, &file, &bias), -ENODATA);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strrchr(text, ')')[2];
}

ORMA_TEST(mappings_are_read_after_the_end_of_the_main_thread)
{
	struct orma_buf text = {0};
	struct orma_process_map map;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		pthread_t thread;
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	while (state_of(pid) != 'Z')
		usleep(1000);
	CHECK_INT(orma_process_maps_read(pid, &text), 0);
	struct orma_process_maps maps = {.rest = orma_base_buf_str(&text)};
	CHECK(orma_process_maps_next(&maps, &map));
	orma_base_buf_done(&text);
	/* A process that has ended has none. */
	CHECK_INT(kill(pid, SIGKILL), 0);
	siginfo_t info;
	CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	CHECK_INT(orma_process_maps_read(pid, &text), -ESRCH);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(orma_process_maps_read(pid, &text), -ESRCH);
	orma_base_buf_done(&text);
}
