/* SPDX-License-Identifier: Apache-2.0
 * unwind_files_test.c - files are opened only when they are what was mapped, and shared.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "unwind/unwind_files.h"

/* A copy of this program. */
static const char *copy_program(const char *name)
{
	static char path[2][256];
	static unsigned turn;
	struct orma_buf content = {0};

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", orma_test_tmpdir(), name);
	CHECK_INT(orma_base_file_read(AT_FDCWD, "/proc/self/exe", 64u << 20, &content), 0);
	int fd = open(path[turn], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, content.data, content.size), 0);
	close(fd);
	orma_base_buf_done(&content);
	return path[turn];
}

static struct orma_process_map map_of(const char *path)
{
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	return (struct orma_process_map){
		.start = 0x1000,
		.end = 0x2000,
		.inode = st.st_ino,
		.device_major = major(st.st_dev),
		.device_minor = minor(st.st_dev),
		.is_executable = true,
		.path = orma_base_str(path),
	};
}

static struct orma_unwind_files *files;

static int load(const struct orma_process_map *map, const struct orma_unwind_file **ret)
{
	return orma_unwind_files_load(files, getpid(), map, ret);
}

ORMA_TEST(files_with_one_build_id_and_owner_share_a_table)
{
	const struct orma_unwind_file *first, *second, *third;

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	CHECK_INT(load(&map, &first), 0);
	CHECK(first->table && first->table_error == 0);
	CHECK_INT(load(&map, &second), 0);
	CHECK(second == first);
	map = map_of(copy_program("b"));
	CHECK_INT(load(&map, &third), 0);
	CHECK((third == first) == (first->elf.build_id_size > 0));
	orma_unwind_file_unref(first);
	orma_unwind_file_unref(second);
	/* It can still be read. */
	struct orma_buf symbols = {0};
	if (third->elf.symbols.size > 0)
		CHECK_INT(orma_elf_file_read_part(&third->elf, &third->elf.symbols, 64u << 20,
						  &symbols),
			  0);
	orma_base_buf_done(&symbols);
	orma_unwind_file_unref(third);
	CHECK_INT(orma_unwind_files_facts(files).open_count, 0);
	CHECK(orma_unwind_files_facts(files).file_count > 0);
	orma_unwind_files_free(files);
}

static void write_content(const char *path, const struct orma_buf *content)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, content->data, content->size), 0);
	close(fd);
}

/* Moves the symbols of a program to the end of its file, and leaves zeros where they were. */
static void move_symbols(const char *path, const struct orma_elf_part *symbols)
{
	struct orma_buf content = {0};
	Elf64_Ehdr header;
	Elf64_Shdr section;

	CHECK_INT(orma_base_file_read(AT_FDCWD, path, 64u << 20, &content), 0);
	memcpy(&header, content.data, sizeof(header));
	for (unsigned i = 0; i < header.e_shnum; i++) {
		uint64_t at = header.e_shoff + i * sizeof(section), end = content.size;
		memcpy(&section, content.data + at, sizeof(section));
		if (section.sh_offset != symbols->offset || section.sh_size != symbols->size)
			continue;
		section.sh_offset = end;
		memcpy(content.data + at, &section, sizeof(section));
		/* With room for all of it, the bytes that are appended stay where they are read. */
		CHECK_INT(orma_base_buf_reserve(&content, (size_t)symbols->size), 0);
		for (uint64_t k = 0; k < symbols->size; k++) {
			CHECK_INT(orma_base_buf_append(&content, content.data + symbols->offset + k,
						       1),
				  0);
			content.data[symbols->offset + k] = 0;
		}
	}
	write_content(path, &content);
	orma_base_buf_done(&content);
}

ORMA_TEST(the_symbols_of_a_file_that_was_replaced_are_read_where_they_lie)
{
	const struct orma_unwind_file *first, *second;
	struct orma_buf symbols = {0};

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	CHECK_INT(load(&map, &first), 0);
	if (first->elf.build_id_size == 0 || !first->elf.has_symtab)
		orma_test_skip("a build with build ids and symbols");
	struct orma_elf_part part = first->elf.symbols;
	orma_unwind_file_unref(first);
	const char *path = copy_program("b");
	move_symbols(path, &part);
	map = map_of(path);
	CHECK_INT(load(&map, &second), 0);
	CHECK(second == first && second->elf.fd >= 0);
	CHECK_INT(orma_elf_file_read_part(&second->elf, &second->elf.symbols, 64u << 20, &symbols),
		  0);
	uint64_t sum = 0;
	for (size_t i = 0; i < symbols.size; i++)
		sum += symbols.data[i];
	CHECK(sum > 0);
	orma_base_buf_done(&symbols);
	orma_unwind_file_unref(second);
	orma_unwind_files_free(files);
}

ORMA_TEST(beyond_the_limit_of_descriptors_files_are_opened_again)
{
	const struct orma_unwind_files_limits limits = {.open_count = 1};
	const struct orma_unwind_file *first, *second;
	struct orma_buf content = {0};
	struct orma_file_identity identity;
	int fd;

	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	CHECK_INT(load(&map, &first), 0);
	if (first->elf.build_id_size == 0)
		orma_test_skip("a build with build ids");
	const char *path = copy_program("b");
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, 64u << 20, &content), 0);
	uint8_t *id =
		memmem(content.data, content.size, first->elf.build_id, first->elf.build_id_size);
	CHECK(id);
	id[0] ^= 1;
	write_content(path, &content);
	map = map_of(path);
	CHECK_INT(load(&map, &second), 0);
	CHECK(second != first && second->elf.fd < 0);
	identity = orma_unwind_file_identity(second);
	CHECK_INT(identity.size, content.size);
	fd = orma_mapped_file_reopen(&identity, map.path);
	CHECK(fd >= 0);
	close(fd);
	id[0] ^= 2;
	CHECK_INT(unlink(path), 0);
	path = copy_program("b");
	write_content(path, &content);
	CHECK_INT(orma_mapped_file_reopen(&identity, orma_base_str(path)), -ESTALE);
	orma_base_buf_done(&content);
	orma_unwind_file_unref(first);
	orma_unwind_file_unref(second);
	orma_unwind_files_free(files);
}

#define BTRFS   0x9123683eu
#define OVERLAY 0x794c7630u

ORMA_TEST(a_file_that_was_not_mapped_is_refused)
{
	const struct orma_unwind_file *file;
	char path[256];

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	map.inode++;
	CHECK_INT(load(&map, &file), -ESTALE);
	map.inode--;
	/* Another file system may use the same number. Where maps have other devices than stat(), nobody knows. */
	struct statfs fs;
	CHECK_INT(statfs(orma_test_tmpdir(), &fs), 0);
	map.device_minor++;
	if ((uint32_t)fs.f_type != BTRFS && (uint32_t)fs.f_type != OVERLAY)
		CHECK_INT(load(&map, &file), -ESTALE);
	map.device_minor--;
	map.inode = 0;
	CHECK_INT(load(&map, &file), -ENOENT);
	snprintf(path, sizeof(path), "%s/fifo", orma_test_tmpdir());
	CHECK_INT(mkfifo(path, 0600), 0);
	map = map_of(path);
	CHECK_INT(load(&map, &file), -ENOEXEC);
	map = map_of("/dev/null");
	CHECK_INT(load(&map, &file), -ENOEXEC);
	map = map_of("/proc/self/status");
	CHECK_INT(load(&map, &file), -ENOEXEC);
	map = map_of("/etc/passwd");
	CHECK_INT(load(&map, &file), -ENOEXEC);
	map.path = ORMA_STR("relative");
	CHECK_INT(load(&map, &file), -ENOENT);
	CHECK_INT(orma_unwind_files_facts(files).file_count, 0);
	orma_unwind_files_free(files);
}

/* The path leads to it no more, but it is used already. */
ORMA_TEST(a_file_in_use_is_found_by_its_inode)
{
	const struct orma_unwind_file *file, *second;

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	const char *path = copy_program("a");
	struct orma_process_map map = map_of(path);
	CHECK_INT(load(&map, &file), 0);
	CHECK_INT(unlink(path), 0);
	struct statfs fs;
	CHECK_INT(statfs(orma_test_tmpdir(), &fs), 0);
	/* Elsewhere maps have the device that stat() says. */
	if ((uint32_t)fs.f_type != BTRFS && (uint32_t)fs.f_type != OVERLAY) {
		CHECK_INT(load(&map, &second), 0);
		CHECK(second == file);
		orma_unwind_file_unref(second);
	}
	orma_unwind_file_unref(file);
	/* Without a descriptor, another file may have the inode. */
	CHECK_INT(load(&map, &second), -ENOENT);
	orma_unwind_files_free(files);
}

ORMA_TEST(unused_files_go_when_they_are_too_large)
{
	const struct orma_unwind_files_limits limits = {.unused_bytes = 1};
	const struct orma_unwind_file *file;

	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	CHECK_INT(load(&map, &file), 0);
	CHECK_INT(orma_unwind_files_facts(files).file_count, 1);
	orma_unwind_file_unref(orma_unwind_file_ref(file));
	CHECK_INT(orma_unwind_files_facts(files).file_count, 1);
	orma_unwind_file_unref(file);
	CHECK_INT(orma_unwind_files_facts(files).file_count, 0);
	CHECK_INT(orma_unwind_files_facts(files).table_bytes, 0);
	orma_unwind_files_free(files);
}

ORMA_TEST(no_tables_are_built_beyond_their_limit)
{
	const struct orma_unwind_files_limits limits = {.table_bytes = 1};
	const struct orma_unwind_file *file, *second;

	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	CHECK_INT(load(&map, &file), 0);
	CHECK(file->table);
	map = map_of("/bin/sh");
	CHECK_INT(load(&map, &second), 0);
	CHECK(!second->table);
	CHECK_INT(second->table_error, -EFBIG);
	orma_unwind_file_unref(second);
	orma_unwind_file_unref(file);
	orma_unwind_files_free(files);
}

ORMA_TEST(a_file_that_was_deleted_is_read_through_its_mapping)
{
	const struct orma_unwind_file *file;

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	const char *path = copy_program("a");
	struct orma_process_map map = map_of(path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(memory != MAP_FAILED);
	close(fd);
	CHECK_INT(unlink(path), 0);
	map.start = (uint64_t)(uintptr_t)memory;
	map.end = map.start + 4096;
	int r = load(&map, &file);
	/* The administrator's right. */
	if (r == -ENOENT || r == -EPERM)
		orma_test_skip("the right to open /proc/PID/map_files");
	CHECK_INT(r, 0);
	CHECK(file->table);
	orma_unwind_file_unref(file);
	orma_unwind_files_free(files);
}

/* The test's failures of allocations are its own. */
static void run_child(int socket)
{
	orma_base_alloc_fail_nth(0);
	orma_table_child_run(socket);
}

ORMA_TEST(loading_a_file_without_memory_is_an_error)
{
	const struct orma_unwind_files_limits limits = {.builder = {.child = run_child}};

	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	struct orma_process_map map = map_of(copy_program("a"));
	for (uint64_t nth = 1;; nth++) {
		const struct orma_unwind_file *file = NULL;

		orma_base_alloc_fail_nth(nth);
		int r = load(&map, &file);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		CHECK(r == 0 || (has_failed && r == -ENOMEM));
		if (r == 0 && !has_failed)
			CHECK(file->table);
		orma_unwind_file_unref(file);
		orma_unwind_files_free(files);
		CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
		if (!has_failed) {
			CHECK(nth > 1);
			break;
		}
	}
	orma_unwind_files_free(files);
}
