/* SPDX-License-Identifier: Apache-2.0
 * tracefs_state_fuzz.c - a state file of ftrace's journal, restored into a made-up tracefs. Nothing outside of that folder
 * changes, no file appears, and the next open finds nothing to restore but entries of lists.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orma/log.h>

#include "probes/ftrace/tracefs_journal.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static const char header[] = "orma-ftrace 1 boot 1\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64];

static void put(const char *name, const void *data, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void remove_tree(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	(void)!system(command); /* NOLINT(cert-env33-c): the name is of our making */
}

static void make_tree(void)
{
	static const char *const folders[] = {
		"",          "state",           "t",
		"t/events",  "t/events/sched",  "t/events/sched/sched_switch",
		"t/options", "t/instances",     "proc",
		"proc/sys",  "proc/sys/kernel", "proc/sys/kernel/random"};
	static const char *const files[] = {
		"t/tracing_on",         "t/kprobe_events",
		"t/set_ftrace_filter",  "t/events/sched/sched_switch/enable",
		"t/options/event-fork", "t/trace_marker",
		"t/instances/victim",   "victim"};
	char path[128];

	snprintf(root, sizeof(root), "/dev/shm/orma-fuzz-%d", (int)getpid());
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		CHECK(mkdir(path, 0700) == 0);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		put(files[i], "0", 1);
	put("proc/sys/kernel/random/boot_id", "boot\n", 5);
	atexit(remove_tree);
}

static void expect_untouched(const char *name)
{
	char path[128], content[4];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && read(fd, content, sizeof(content)) == 1 && content[0] == '0');
	close(fd);
}

/* Opens and closes the journal. Returns how many bytes its state file has then. */
static off_t restore(void)
{
	struct orma_tracefs fs = {.fd = -1};
	struct orma_tracefs_journal journal;
	struct orma_error error;
	char path[128], proc[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/t", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	CHECK(orma_tracefs_open(path, (struct orma_str){0}, &fs, &error) == 0);
	snprintf(path, sizeof(path), "%s/state", root);
	int folder = orma_tracefs_state_folder_open(path, false);
	CHECK(folder >= 0);
	CHECK(orma_tracefs_journal_open(&journal, &fs, folder, "root", proc, &error) == 0);
	orma_tracefs_journal_close(&journal);
	CHECK(fstatat(folder, "root", &st, 0) == 0);
	close(folder);
	orma_tracefs_close(&fs);
	return st.st_size;
}

static void drop_message(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool has_header = size > 4 && memcmp(data, "orma", 4) == 0;
	size_t header_bytes = has_header ? 0 : sizeof(header) - 1;
	char *text = malloc(header_bytes + size + 1); /* malloc(0) may be NULL */

	if (root[0] == '\0') {
		orma_log_set_sink(drop_message, NULL);
		make_tree();
	}
	memcpy(text, header, header_bytes);
	memcpy(text + header_bytes, data, size);
	put("state/root", text, header_bytes + size);
	free(text);
	CHECK(restore() == 0);
	expect_untouched("victim");
	expect_untouched("t/instances/victim");
	expect_untouched("t/trace_marker");
	/* The lists keep what is appended. */
	put("t/kprobe_events", "0", 1);
	return 0;
}
