/* SPDX-License-Identifier: Apache-2.0
 * register_files.c - trace_processor_shell's --register-files-dir: the names and sizes of files, and of programs and libraries
 * their build ids and load biases, by which queries find the file that a mapping is of.
 */
#include "tool/ask/register_files.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "store/grow.h"
#include "tool/tool.h"

enum { PATHS_MAX = 1 << 20, SEGMENTS_MAX = 128, NOTES_MAX_BYTES = 64 << 10, ID_MAX_BYTES = 64 };

/* Folders that are still to be read. */
struct walk {
	struct orma_trace_database *database;
	char **folders;
	uint32_t count, capacity;
	int64_t files, elf_files;
};

/* A program header of an ELF file of either size. */
struct segment {
	uint32_t type, flags;
	uint64_t offset, address, size;
};

static bool read_at(int fd, void *ret, size_t size, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, ret, size, (off_t)at) == (ssize_t)size;
}

/* Reads the program headers of a file in this machine's byte order. Returns their number, or -1 for a file that is not ELF. */
static int read_segments(int fd, struct segment ret[SEGMENTS_MAX])
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr small;
		Elf64_Ehdr large;
	} head;
	const unsigned char order =
		*(const uint8_t *)&(const uint16_t){1} ? ELFDATA2LSB : ELFDATA2MSB;
	memset(&head, 0, sizeof(head));
	if (!read_at(fd, &head.small, sizeof(head.small), 0) ||
	    memcmp(head.ident, ELFMAG, SELFMAG) != 0 || head.ident[EI_DATA] != order)
		return -1;
	bool is_large = head.ident[EI_CLASS] == ELFCLASS64;
	if (is_large && !read_at(fd, &head.large, sizeof(head.large), 0))
		return -1;
	uint64_t at = is_large ? head.large.e_phoff : head.small.e_phoff;
	int count = is_large ? head.large.e_phnum : head.small.e_phnum;
	for (int i = 0; i < count && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr large;
		Elf32_Phdr small;
		if (is_large
			    ? !read_at(fd, &large, sizeof(large), at + (uint64_t)i * sizeof(large))
			    : !read_at(fd, &small, sizeof(small), at + (uint64_t)i * sizeof(small)))
			return i;
		ret[i] = is_large ? (struct segment){large.p_type, large.p_flags, large.p_offset,
						     large.p_vaddr, large.p_filesz}
				  : (struct segment){small.p_type, small.p_flags, small.p_offset,
						     small.p_vaddr, small.p_filesz};
	}
	return ORMA_MIN(count, (int)SEGMENTS_MAX);
}

/* Finds the build id among notes, as hexadecimal digits. */
static bool find_build_id(const uint8_t *notes, size_t size, char ret[2 * ID_MAX_BYTES + 1])
{
	Elf64_Nhdr note; /* is the same for both sizes */
	for (size_t at = 0; size - at >= sizeof(note);) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		size_t content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || content > size - at - name)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= ID_MAX_BYTES) {
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(ret + 2 * i, 3, "%02x", notes[at + name + i]);
			return note.n_descsz > 0;
		}
		at += name + content;
	}
	return false;
}

static bool read_build_id(int fd, const struct segment *segment, char ret[2 * ID_MAX_BYTES + 1])
{
	size_t size = (size_t)ORMA_MIN(segment->size, (uint64_t)NOTES_MAX_BYTES);
	uint8_t *notes = orma_base_alloc(ORMA_MAX(size, (size_t)1));
	bool is_found = notes && read_at(fd, notes, size, segment->offset) &&
			find_build_id(notes, size, ret);
	orma_base_free(notes);
	return is_found;
}

static int insert(struct orma_trace_database *database, const char *table, int64_t id,
		  const char *text, const int64_t numbers[2], int count)
{
	struct orma_error error = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf sql = {0};
	sqlite3_stmt *insert;
	int r = orma_base_buf_printf(&sql, "insert into %s values (?1, %s)", table,
				     count == 1 ? "?2, ?3" : "?3, ?4, ?2");
	if (r >= 0)
		r = orma_sql_prepare(database->sql,
				     (struct orma_str){(const char *)sql.data, sql.size}, &insert,
				     &error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(insert, 1, id);
	sqlite3_bind_text(insert, 2, text, -1, SQLITE_TRANSIENT);
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(insert, 3 + i, numbers[i]);
	r = sqlite3_step(insert) == SQLITE_DONE ? 0 : -ENOMEM;
	sqlite3_finalize(insert);
	return r;
}

static int add_file(struct walk *walk, const char *path, int64_t size)
{
	static struct segment segments[SEGMENTS_MAX];
	char build_id[2 * ID_MAX_BYTES + 1];
	const char *id = NULL;
	int64_t bias = 0;
	ORMA_AUTO(orma_base_fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int r = insert(walk->database, "__intrinsic_file", walk->files, path, (int64_t[]){size, 0},
		       1);
	int count = read_segments(fd, segments);
	bool has_bias = false;
	for (int i = 0; i < count; i++) {
		if (segments[i].type == PT_LOAD && segments[i].flags & PF_X && !has_bias) {
			bias = (int64_t)(segments[i].address - segments[i].offset);
			has_bias = true;
		}
		if (segments[i].type == PT_NOTE && !id && read_build_id(fd, &segments[i], build_id))
			id = build_id;
	}
	if (r == 0 && count >= 0)
		r = insert(walk->database, "__intrinsic_elf_file", walk->elf_files++, id,
			   (int64_t[]){walk->files, bias}, 2);
	walk->files++;
	return r;
}

static int add_folder(struct walk *walk, const char *path)
{
	if (walk->count == PATHS_MAX)
		return -EMSGSIZE;
	int r = orma_store_grow(&walk->folders, (uint64_t)walk->count + 1, &walk->capacity,
				sizeof(*walk->folders));
	char *copy = r == 0 ? orma_base_strdup(path) : NULL;
	if (!copy)
		return -ENOMEM;
	walk->folders[walk->count++] = copy;
	return 0;
}

/* Links are not followed, so that folders do not contain themselves. */
static int add_entry(struct walk *walk, const char *path)
{
	struct stat info;
	if (lstat(path, &info) < 0)
		return -errno;
	if (S_ISDIR(info.st_mode))
		return add_folder(walk, path);
	return S_ISREG(info.st_mode) ? add_file(walk, path, info.st_size) : 0;
}

static int read_folder(struct walk *walk, const char *folder, char *path)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	int r = 0;
	if (!entries)
		return -errno;
	snprintf(path, PATH_MAX, "%s", folder);
	while (r == 0 && (entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = snprintf(path, PATH_MAX, "%s/%s", folder, entry->d_name) < PATH_MAX
			    ? add_entry(walk, path)
			    : -ENAMETOOLONG;
	}
	closedir(entries);
	return r;
}

int orma_register_files(struct orma_trace_database *database, const char *folder)
{
	struct walk walk = {.database = database};
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s", folder);
	int r = add_folder(&walk, folder);
	while (r == 0 && walk.count > 0) {
		char *next = walk.folders[--walk.count];
		r = read_folder(&walk, next, path);
		orma_base_free(next);
	}
	while (walk.count > 0)
		orma_base_free(walk.folders[--walk.count]);
	orma_base_free(walk.folders);
	return r < 0 ? orma_tool_fail("cannot read %s: %s", path, strerror(-r)) : 0;
}
