/* SPDX-License-Identifier: Apache-2.0
 * module_lines_test.c - functions and lines of this program, as it is and stripped, beside those of addr2line.
 */
#include "symbols/module_lines.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "inlined_code.h"
#include "symbols/mini_debug.h"

static const struct orma_debug_folders no_folders = {NULL, 0};
static const struct orma_build_id any_id = {.size = 0};

/* Runs a command of binutils in the temporary folder, in which `exe` is a copy of this program. */
static bool shell(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "cd '%s' && { [ -e exe ] || cp /proc/%d/exe exe; } && { %s; } >out 2>&1",
		 orma_test_tmpdir(), getpid(), command);
	return system(text) == 0;
}

static const char *in_folder(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), name);
	return path;
}

static int get_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1;
}

static uint64_t address_of(int (*function)(int))
{
	uint64_t bias = 0;

	dl_iterate_phdr(get_bias, &bias);
	return (uint64_t)(uintptr_t)function - bias;
}

/* Appends "function file:line" as addr2line prints it, without the folders of files. */
static int append_line(void *ctx, const struct orma_source_line *line)
{
	const char *slash = line->file ? strrchr(line->file, '/') : NULL;
	const char *file = slash ? slash + 1 : line->file;

	return orma_base_buf_printf(ctx, "%s %s:%u\n", line->function ? line->function : "??",
				    file ? file : "??", line->line);
}

static const char *find(struct orma_module_lines *module, uint64_t address, struct orma_buf *buf)
{
	buf->size = 0;
	CHECK_INT(orma_module_lines_find(module, address, append_line, buf), 0);
	return buf->size > 0 ? orma_base_buf_cstr(buf) : "";
}

/* The answer of addr2line about an address, in the same form. */
static void expect(const char *exe, uint64_t address, struct orma_buf *buf)
{
	char command[PATH_MAX + 64], function[512], place[1024];

	snprintf(command, sizeof(command), "addr2line -i -f -e %s 0x%llx", exe,
		 (unsigned long long)address);
	FILE *out = popen(command, "r");
	CHECK(out);
	buf->size = 0;
	while (fgets(function, sizeof(function), out) && fgets(place, sizeof(place), out)) {
		const char *slash = strrchr(place, '/');
		function[strcspn(function, "\n")] = '\0';
		place[strcspn(place, " \n")] = '\0';
		/* Code that the compiler has made for no line has the number 0. */
		if (strlen(place) > 1 && strcmp(place + strlen(place) - 2, ":?") == 0)
			place[strlen(place) - 1] = '0';
		CHECK_INT(orma_base_buf_printf(buf, "%s %s\n", function, slash ? slash + 1 : place),
			  0);
	}
	pclose(out);
}

ORMA_TEST(inlined_functions_are_those_of_addr2line)
{
	struct orma_buf got = {0}, wanted = {0};
	struct orma_module_lines *module;
	unsigned count = 0, inlined = 0;

	if (!shell("addr2line --version") || !orma_dwarf_is_available())
		orma_test_skip("addr2line and libdw");
	CHECK_INT(orma_module_lines_open("/proc/self/exe", &any_id, &no_folders, &module), 0);
	if (!orma_module_lines_facts(module).has_lines)
		orma_test_skip("debugging information in this program");
	uint64_t begin = address_of(orma_test_inlined_code);
	uint64_t end = address_of((int (*)(int))(uintptr_t)orma_test_inlined_code_end);
	if (end < begin || end - begin > 4096)
		end = begin + 64;
	for (uint64_t address = begin; address + 16 < end; address += 3) {
		const char *text = find(module, address, &got);
		expect(in_folder("exe"), address, &wanted);
		/* Between functions there are bytes of no file. */
		if (!strstr(orma_base_buf_cstr(&wanted), "inlined_code.c"))
			continue;
		CHECK_STR(text, orma_base_buf_cstr(&wanted));
		inlined += strchr(text, '\n')[1] != '\0';
		count++;
	}
	CHECK(count > 10 && inlined > 5);
	orma_module_lines_close(module);
	orma_base_buf_done(&got);
	orma_base_buf_done(&wanted);
}

/* Opens a file in the folder, and says what its names are for a function of this program. */
static const char *name_in(const char *name, const char *folder, struct orma_buf *buf)
{
	const char *paths[] = {folder};
	const struct orma_debug_folders folders = {paths, folder ? 1 : 0};
	struct orma_module_lines *module = NULL;
	int r = orma_module_lines_open(in_folder(name), &any_id, &folders, &module);

	if (r < 0)
		return strerror(-r);
	const char *text = find(module, address_of(orma_test_inlined_code) + 1, buf);
	orma_module_lines_close(module);
	return text;
}

static bool begins_with_name(const char *text)
{
	return strstr(text, "orma_test_inlined_code ") != NULL;
}

ORMA_TEST(a_stripped_program_has_the_names_of_its_debug_file)
{
	struct orma_buf buf = {0};

	if (!shell("objcopy --only-keep-debug exe exe.debug") ||
	    !shell("objcopy --strip-all --add-gnu-debuglink=exe.debug exe stripped"))
		orma_test_skip("objcopy");
	CHECK(begins_with_name(name_in("stripped", NULL, &buf)));
	/* Beside it, in .debug, and below a folder that is searched. */
	CHECK(shell("mkdir .debug && mv exe.debug .debug"));
	CHECK(begins_with_name(name_in("stripped", NULL, &buf)));
	CHECK(shell("mkdir found && mv .debug/exe.debug found"));
	CHECK(!begins_with_name(name_in("stripped", NULL, &buf)));
	char folder[PATH_MAX];
	snprintf(folder, sizeof(folder), "%s", in_folder("found"));
	CHECK(begins_with_name(name_in("stripped", folder, &buf)));
	/* One that was changed is not the one that the link means. */
	CHECK(shell("printf x >>found/exe.debug"));
	CHECK(!begins_with_name(name_in("stripped", folder, &buf)));
	orma_base_buf_done(&buf);
}

static struct orma_build_id read_id(const char *path)
{
	struct orma_debug_file file;
	struct orma_build_id id = {.size = 0};

	CHECK_INT(orma_debug_file_open(path, &any_id, &no_folders, &file), 0);
	id.size = file.elf.build_id_size;
	memcpy(id.bytes, file.elf.build_id, id.size);
	orma_debug_file_close(&file);
	return id;
}

ORMA_TEST(files_are_found_by_build_id_and_others_are_refused)
{
	struct orma_debug_file file;
	struct orma_buf buf = {0};
	struct orma_module_lines *module;
	char folder[PATH_MAX], command[512];

	if (!shell("objcopy --only-keep-debug exe exe.debug"))
		orma_test_skip("objcopy");
	struct orma_build_id id = read_id(in_folder("exe"));
	if (id.size < 2)
		orma_test_skip("a build id in this program");
	size_t size = (size_t)snprintf(command, sizeof(command),
				       "d=ids/.build-id/%02x && mkdir -p $d && "
				       "mv exe.debug $d/",
				       id.bytes[0]);
	for (size_t i = 1; i < id.size; i++)
		size += (size_t)snprintf(command + size, sizeof(command) - size, "%02x",
					 id.bytes[i]);
	snprintf(command + size, sizeof(command) - size, ".debug");
	CHECK(shell(command));
	snprintf(folder, sizeof(folder), "%s", in_folder("ids"));
	const char *paths[] = {folder};
	const struct orma_debug_folders folders = {paths, 1};
	/* The program is gone, and its debugging information is there. */
	CHECK_INT(orma_module_lines_open("/nowhere/exe", &id, &folders, &module), 0);
	struct orma_module_facts facts = orma_module_lines_facts(module);
	CHECK_INT(facts.file_error, -ENOENT);
	CHECK(facts.has_symbols);
	CHECK(begins_with_name(find(module, address_of(orma_test_inlined_code) + 1, &buf)));
	/* Without the program's segments, the trace says how far addresses are from offsets. */
	CHECK_INT(orma_module_lines_address(module, 0x1000, 0x20), 0x1020);
	orma_module_lines_close(module);
	CHECK_INT(orma_debug_file_open("/nowhere/exe", &id, &folders, &file), -ENOENT);
	/* A root with the path, and a folder with the name. */
	snprintf(folder, sizeof(folder), "%s", orma_test_tmpdir());
	CHECK_INT(orma_debug_file_open("/nowhere/exe", &id, &folders, &file), 0);
	orma_debug_file_close(&file);
	/* Another build id. */
	id.bytes[0] ^= 1;
	CHECK_INT(orma_debug_file_open(in_folder("exe"), &id, &no_folders, &file), -ESTALE);
	CHECK_STR(file.path, in_folder("exe"));
	CHECK_INT(orma_debug_file_open("/dev/null", &any_id, &no_folders, &file), -ENOENT);
	orma_base_buf_done(&buf);
}

ORMA_TEST(small_symbol_tables_are_unpacked)
{
	struct orma_debug_file file;
	struct orma_buf buf = {0};

	/* Only functions, as Fedora has them: without debugging information, compressed. */
	if (!shell("strip -g -o mini exe") || !shell("xz -k mini") ||
	    !shell("objcopy --strip-all --add-section .gnu_debugdata=mini.xz exe packed"))
		orma_test_skip("strip, xz and objcopy");
	CHECK_INT(orma_debug_file_open(in_folder("packed"), &any_id, &no_folders, &file), 0);
	int r = orma_mini_debug_read(&file.elf, &buf);
	orma_debug_file_close(&file);
	if (r == -ENOTSUP)
		orma_test_skip("liblzma");
	CHECK_INT(r, 0);
	CHECK(begins_with_name(name_in("packed", NULL, &buf)));
	/* Damage, and something else than xz. */
	CHECK(shell(
		"head -c 200 mini.xz >cut && objcopy --strip-all --add-section .gnu_debugdata=cut "
		"exe damaged"));
	CHECK(!begins_with_name(name_in("damaged", NULL, &buf)));
	orma_base_buf_done(&buf);
}
