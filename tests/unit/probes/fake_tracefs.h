/* SPDX-License-Identifier: Apache-2.0
 * fake_tracefs.h - a made-up tracefs: a folder of text files, which keep what is written to them. Include it after fake_api.h.
 */
#ifndef ORMA_TESTS_FAKE_TRACEFS_H
#define ORMA_TESTS_FAKE_TRACEFS_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_api.h"

#define FAKE_BOOT_ID "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

static char fake_tracefs_path[512], fake_state_path[512];

static void fake_put_event(const char *folder, const char *group, const char *name, int id,
			   const char *fields)
{
	char path[256], text[2048];

	snprintf(path, sizeof(path), "%s/events/%s/%s/enable", folder, group, name);
	fake_put(path, "0\n");
	snprintf(path, sizeof(path), "%s/events/%s/%s/filter", folder, group, name);
	fake_put(path, "none\n");
	snprintf(path, sizeof(path), "%s/events/%s/%s/id", folder, group, name);
	snprintf(text, sizeof(text), "%d\n", id);
	fake_put(path, text);
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", folder, group, name);
	snprintf(text, sizeof(text),
		 "name: %s\nID: %d\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\n"
		 "print fmt: \"\"\n",
		 name, id, fields);
	fake_put(path, text);
}

static void fake_put_file(const char *folder, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fake_put(path, text);
}

static void fake_put_buffer(const char *folder)
{
	static const char *const files[][2] = {
		{"tracing_on", "1\n"},
		{"trace", "# tracer: nop\n"},
		{"current_tracer", "nop\n"},
		{"trace_clock", "[local] global counter uptime perf mono mono_raw boot\n"},
		{"buffer_size_kb", "1408\n"},
		{"buffer_percent", "50\n"},
		{"set_event", ""},
		{"set_event_pid", ""},
		{"tracing_cpumask", "3\n"},
		{"set_ftrace_filter", "#### all functions enabled ####\n"},
		{"options/event-fork", "0\n"},
		{"per_cpu/cpu0/trace_pipe_raw", ""},
		{"per_cpu/cpu0/stats", "entries: 3\noverrun: 0\nnow ts: 12.5\n"},
		{"per_cpu/cpu0/buffer_size_kb", "1408\n"},
		{"per_cpu/cpu1/trace_pipe_raw", ""},
		{"per_cpu/cpu1/stats", "entries: 4\noverrun: 0\nnow ts: 12.5\n"},
		{"per_cpu/cpu1/buffer_size_kb", "1408\n"},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fake_put_file(folder, files[i][0], files[i][1]);
	fake_put_event(folder, "sched", "sched_switch", 314, "");
	fake_put_event(folder, "sched", "sched_waking", 317, "");
	fake_put_event(folder, "raw_syscalls", "sys_enter", 400,
		       "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n");
	fake_put_event(folder, "raw_syscalls", "sys_exit", 401,
		       "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n");
	fake_put_event(folder, "kmem", "rss_stat", 500, "");
	fake_put_event(folder, "vendor", "secret", 600,
		       "\tfield:int level;\toffset:8;\tsize:4;\tsigned:1;\n");
}

/* Makes the tree with a root and the instance "side", and an empty folder for state files. */
static void fake_tracefs_make(void)
{
	fake_put_buffer("tracing");
	fake_put_buffer("tracing/instances/side");
	fake_put("tracing/set_graph_function", "#### all functions enabled ####\n");
	fake_put("tracing/max_graph_depth", "0\n");
	fake_put("tracing/kprobe_events", "");
	fake_put("tracing/uprobe_events", "");
	fake_put("tracing/kprobe_profile", "  do_exit   12   1\n");
	fake_put("tracing/synthetic_events", "");
	fake_put("tracing/events/kmem/rss_stat/trigger", "# Available triggers:\n# traceon hist\n");
	fake_put("proc/sys/kernel/random/boot_id", FAKE_BOOT_ID "\n");
	fake_put("state/.keep", "");
	snprintf(fake_tracefs_path, sizeof(fake_tracefs_path), "%s/tracing", fake_root);
	snprintf(fake_state_path, sizeof(fake_state_path), "%s/state", fake_root);
}

/* The content of a file without its last newline. Valid until the next call. */
static const char *fake_get(const char *name)
{
	static char text[8192];
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", fake_root, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	ssize_t size = read(fd, text, sizeof(text) - 1);
	CHECK(size >= 0);
	close(fd);
	if (size > 0 && text[size - 1] == '\n')
		size--;
	text[size] = '\0';
	return text;
}

/* Replaces a file by one that can be read and never written: an error that permissions do not give to root. Returns a
 * descriptor that the caller closes. */
__attribute__((unused)) static int fake_seal(const char *name)
{
	char path[512], target[64];
	const char *text = fake_get(name);
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	CHECK_INT(write(fd, "\n", 1), 1);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
	snprintf(path, sizeof(path), "%s/%s", fake_root, name);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(symlink(target, path), 0);
	return fd;
}

/* --- the state of the whole tree ------------------------------------------------------------------ */

static struct orma_buf fake_tree;
static const char *fake_tree_without;

/* Files that only record what was appended, and the trace, which shows nothing here. */
static bool fake_is_log(const char *path)
{
	static const char *const ends[] = {"/kprobe_events", "/uprobe_events", "/synthetic_events",
					   "/trigger", "/trace"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strlen(path) > strlen(ends[i]) &&
		    strcmp(path + strlen(path) - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

static int fake_visit(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	const char *name = path + strlen(fake_root) + 1;

	(void)st;
	(void)ftw;
	if ((kind != FTW_F && kind != FTW_SL) || fake_is_log(path) ||
	    (fake_tree_without && strcmp(name, fake_tree_without) == 0))
		return 0;
	const char *text = fake_get(name);
	/* A value in brackets is the one that is set; what is written back has no brackets. */
	const char *open_bracket = strchr(text, '[');
	if (open_bracket)
		CHECK_INT(orma_base_buf_printf(&fake_tree, "%s=%.*s\n", name,
					       (int)strcspn(open_bracket + 1, "]"),
					       open_bracket + 1) < 0,
			  0);
	else if (strcmp(text, "none") == 0)
		CHECK_INT(orma_base_buf_printf(&fake_tree, "%s=0\n", name) < 0, 0);
	else
		CHECK_INT(orma_base_buf_printf(&fake_tree, "%s=%s\n", name,
					       text[0] == '#' ? "" : text) < 0,
			  0);
	return 0;
}

static int fake_compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All values of the tree as text, in the order of names; the caller frees it. `without` is left out. */
__attribute__((unused)) static char *fake_tracefs_state(const char *without)
{
	char path[512], *lines[1024], *save = NULL;
	size_t count = 0;
	struct orma_buf sorted = {0};

	fake_tree.size = 0;
	fake_tree_without = without;
	snprintf(path, sizeof(path), "%s/tracing", fake_root);
	CHECK_INT(nftw(path, fake_visit, 16, FTW_PHYS), 0);
	CHECK(orma_base_buf_cstr(&fake_tree) != NULL);
	for (char *line = strtok_r((char *)fake_tree.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		CHECK(count < 1024);
		lines[count++] = line;
	}
	qsort(lines, count, sizeof(lines[0]), fake_compare_lines);
	for (size_t i = 0; i < count; i++)
		CHECK(orma_base_buf_printf(&sorted, "%s\n", lines[i]) >= 0);
	char *result = strdup(orma_base_buf_cstr(&sorted));
	orma_base_buf_done(&sorted);
	orma_base_buf_done(&fake_tree);
	fake_tree = (struct orma_buf){0};
	return result;
}

#endif
