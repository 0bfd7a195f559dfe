/* SPDX-License-Identifier: Apache-2.0
 * heap_program.c - finds liborma-heap.so, and checks that it can be preloaded into a program.
 *
 * If the loader cannot use the library, it ignores LD_PRELOAD silently or ends the program. So its conditions are checked before: the
 * program must be linked dynamically, for the same kind of processor and C library, and run with the rights of this user. For a
 * script, its interpreter is checked.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "tool/profile/heap.h"
#include "tool/record/record_app.h"
#include "tool/tool.h"

#define LIBRARY_NAME "liborma-heap"
#define LIBRARY      LIBRARY_NAME ".so"
#define HEADERS_MAX  128
#define LINE_BYTES   256
#define SCRIPT_DEPTH 4

#ifdef __aarch64__
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

/* --- the library ------------------------------------------------------------------------------ */

static bool try_library(struct orma_buf *path, const char *folder, const char *rest)
{
	char real[PATH_MAX];

	path->size = 0;
	if (orma_base_buf_printf(path, "%s/%s" LIBRARY, folder, rest) < 0 ||
	    !orma_base_buf_cstr(path) || access(orma_base_buf_cstr(path), R_OK) < 0)
		return false;
	if (!realpath(orma_base_buf_cstr(path), real))
		return false;
	path->size = 0;
	return orma_base_buf_append_str(path, real) == 0;
}

/* The library takes itself out of LD_PRELOAD, by its name. */
static int use_library(const char *wanted, struct orma_buf *ret_path)
{
	char real[PATH_MAX];
	const char *slash;

	if (!realpath(wanted, real) || access(real, R_OK) < 0)
		return orma_tool_fail("cannot preload %s: %s", wanted, strerror(errno));
	slash = strrchr(real, '/');
	if (strncmp(slash ? slash + 1 : real, LIBRARY_NAME, strlen(LIBRARY_NAME)) != 0)
		return orma_tool_fail(
			"cannot preload %s: its name does not begin with " LIBRARY_NAME
			"; rename it",
			wanted);
	return orma_base_buf_append_str(ret_path, real) == 0 ? ORMA_EXIT_OK
							     : orma_tool_fail("no memory");
}

int orma_heap_find_library(const char *wanted, struct orma_buf *ret_path)
{
	static const char of_debian[] = "../lib/" ORMA_LIBRARY_TRIPLET "/";
	static const char *const places[] = {
		"", "../lib/", of_debian, "src/heap/", "../src/heap/", "../lib64/",
	};
	char self[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (wanted)
		return use_library(wanted, ret_path);
	self[size > 0 ? size : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(places); i++)
		if (try_library(ret_path, self, places[i]))
			return ORMA_EXIT_OK;
	return orma_tool_fail("cannot find " LIBRARY
			      ": it is neither in %s nor in ../lib beside it; install it there",
			      self);
}

/* --- the program ------------------------------------------------------------------------------ */

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "arm64";
	case EM_386:
		return "32-bit x86";
	case EM_ARM:
		return "32-bit ARM";
	case EM_RISCV:
		return "RISC-V";
	default:
		return "another kind of processor";
	}
}

/* Reads the path of the program's loader. False if the program is static or damaged. */
static bool read_interpreter(int fd, const Elf64_Ehdr *header, char *ret, size_t size)
{
	Elf64_Phdr segment;

	for (unsigned i = 0; i < header->e_phnum && i < HEADERS_MAX; i++) {
		off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
		if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		size_t wanted = ORMA_MIN((size_t)segment.p_filesz, size - 1);
		ssize_t got = pread(fd, ret, wanted, (off_t)segment.p_offset);
		ret[got > 0 ? got : 0] = '\0';
		return got > 0;
	}
	return false;
}

static bool is_musl(const char *interpreter)
{
	return strstr(interpreter, "ld-musl") != NULL;
}

/* True if a shared library needs musl, by the name of the libc in it. */
static bool needs_musl(const char *library)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	if (orma_base_file_read(AT_FDCWD, library, 64u << 20, &text) < 0)
		return false;
	return memmem(text.data, text.size, "libc.musl", 9) ||
	       !memmem(text.data, text.size, "libc.so.6", 9);
}

static int check_elf(const char *name, int fd, const Elf64_Ehdr *header, const char *library)
{
	char interpreter[LINE_BYTES];

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE)
		return orma_tool_fail("cannot profile %s: it is a program for %s, and this orma is "
				      "for %s; use an orma of its kind",
				      name, machine_name(header->e_machine),
				      machine_name(OWN_MACHINE));
	if (!read_interpreter(fd, header, interpreter, sizeof(interpreter)))
		return orma_tool_fail("cannot profile %s: it is linked statically, so no library "
				      "can be preloaded; link it dynamically",
				      name);
	if (is_musl(interpreter) != needs_musl(library))
		return orma_tool_fail("cannot profile %s: it uses another C library (%s) than %s; "
				      "build liborma-heap.so with that one, and name it with "
				      "--library",
				      name, interpreter, library);
	return ORMA_EXIT_OK;
}

static int check_rights(const char *name, const char *path)
{
	struct stat info;
	bool is_root = geteuid() == 0;

	if (stat(path, &info) < 0)
		return ORMA_EXIT_OK;
	bool is_of_root = info.st_mode & S_ISUID && info.st_uid == 0 && !(info.st_mode & S_ISGID);
	if ((info.st_mode & S_ISUID && info.st_uid != geteuid()) ||
	    (info.st_mode & S_ISGID && info.st_gid != getegid()) ||
	    (!is_root && getxattr(path, "security.capability", NULL, 0) > 0))
		return orma_tool_fail("cannot profile %s: it runs with other rights than yours "
				      "(setuid, setgid or capabilities), so no library can be "
				      "preloaded; %s",
				      name,
				      is_of_root ? "profile it as root"
						 : "profile a copy of it, which has your rights");
	return ORMA_EXIT_OK;
}

/* Finds the interpreter in the first line of a script: the word after "#!", or after env. Puts a NUL at the end of the line. */
static char *script_interpreter(char *line)
{
	char *rest = line + 2, *word;

	rest[strcspn(rest, "\n")] = '\0';
	while ((word = strtok_r(rest, " \t", &rest))) {
		const char *slash = strrchr(word, '/');
		if (strcmp(slash ? slash + 1 : word, "env") != 0 && word[0] != '-')
			return word;
	}
	return NULL;
}

/* The beginning of a file. */
union head {
	Elf64_Ehdr elf;
	char line[LINE_BYTES];
};

/* Opens a program, or the interpreter of a script. Returns its descriptor, with its path and its beginning. Returns -1 if it cannot be
 * read; *ret_status is ORMA_EXIT_OK then, unless there is no such program, because some programs can be run but not read. */
static int open_program(const char *name, struct orma_buf *ret_path, union head *ret,
			int *ret_status)
{
	char interpreter[LINE_BYTES];

	for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
		*ret = (union head){0};
		ret_path->size = 0;
		*ret_status = orma_record_app_locate(name, ret_path);
		if (*ret_status != ORMA_EXIT_OK || !orma_base_buf_cstr(ret_path))
			return -1;
		int fd = open(orma_base_buf_cstr(ret_path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return -1;
		if (pread(fd, ret, sizeof(*ret) - 1, 0) < 4 || ret->line[0] != '#' ||
		    ret->line[1] != '!')
			return fd;
		orma_base_fd_close(fd);
		name = script_interpreter(ret->line);
		if (!name)
			return -1;
		snprintf(interpreter, sizeof(interpreter), "%s", name);
		name = interpreter;
	}
	return -1;
}

int orma_heap_check_program(const char *name, const char *library)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};
	union head head;
	int status;
	ORMA_AUTO(orma_base_fd_closep) int fd = open_program(name, &path, &head, &status);

	if (fd < 0 || memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0)
		return status;
	status = check_elf(name, fd, &head.elf, library);
	return status ? status : check_rights(name, orma_base_buf_cstr(&path));
}
