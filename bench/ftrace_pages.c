/* SPDX-License-Identifier: Apache-2.0
 * ftrace_pages.c - a made-up tracefs. Formats and pages are as a 64-bit kernel makes them.
 */
#include "ftrace_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"

#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define FORMAT(name, id, fields)                                                                   \
	"name: " name "\nID: " #id "\nformat:\n" FIELD("unsigned short common_type", 0, 2, 0)      \
		FIELD("unsigned char common_flags", 2, 1, 0)                                       \
			FIELD("unsigned char common_preempt_count", 3, 1, 0)                       \
				FIELD("int common_pid", 4, 4, 1) "\n" fields

static const struct {
	const char *path, *text;
} files[] = {
	{"events/header_page", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"},
	{"events/sched/sched_switch/format",
	 FORMAT("sched_switch", 314,
		FIELD("char prev_comm[16]", 8, 16, 0) FIELD("pid_t prev_pid", 24, 4, 1)
			FIELD("int prev_prio", 28, 4, 1) FIELD("long prev_state", 32, 8, 1) FIELD(
				"char next_comm[16]", 40, 16, 0) FIELD("pid_t next_pid", 56, 4, 1)
				FIELD("int next_prio", 60, 4, 1))},
	{"events/sched/sched_waking/format",
	 FORMAT("sched_waking", 317,
		FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)
			FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1))},
	{"events/raw_syscalls/sys_enter/format",
	 FORMAT("sys_enter", 22,
		FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0))},
	{"events/ftrace/print/format",
	 FORMAT("print", 5, FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0))},
	{"events/vendor/made_up/format",
	 FORMAT("made_up", 1300,
		FIELD("u32 count", 8, 4, 0) FIELD("s32 level", 12, 4, 1)
			FIELD("u64 bytes", 16, 8, 0) FIELD("char name[16]", 24, 16, 0))},
};

void bench_put_file(const char *folder, const char *name, const void *data, size_t size)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	FILE *file = fopen(path, "we");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		abort();
}

void bench_put_formats(const char *folder)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(files); i++)
		bench_put_file(folder, files[i].path, files[i].text, strlen(files[i].text));
}

/* --- pages ------------------------------------------------------------------------------------ */

uint32_t bench_random(struct bench_page *at)
{
	at->random = at->random * 1664525 + 1013904223;
	return at->random >> 8;
}

/* Returns false when the page is full. */
bool bench_put_event(struct bench_page *at, void *data, size_t size, uint16_t id)
{
	size_t words = (size + 3) / 4;
	uint32_t delta_ns = 1 + bench_random(at) % (2 * at->gap_ns);
	uint32_t header = (uint32_t)words | delta_ns << 5;
	uint8_t *to = at->page + BENCH_PAGE_HEAD + at->used;

	if (at->used + 4 + 4 * words > BENCH_PAGE_BYTES - BENCH_PAGE_HEAD)
		return false;
	memcpy(data, &id, sizeof(id));
	memcpy(to, &header, 4);
	memcpy(to + 4, data, 4 * words);
	at->used += 4 + 4 * words;
	at->span_ns += delta_ns;
	at->events++;
	return true;
}

void bench_put_i32(uint8_t *data, size_t offset, int32_t value)
{
	memcpy(data + offset, &value, sizeof(value));
}

static int32_t put_task(struct bench_page *at, uint8_t *data, size_t comm_offset, size_t pid_offset)
{
	uint32_t task = bench_random(at) % 24;
	int32_t pid = task < 6 ? 0 : (int32_t)(800 + 37 * task);

	snprintf((char *)data + comm_offset, 16, pid ? "worker-%u" : "swapper/0", task);
	bench_put_i32(data, pid_offset, pid);
	return pid;
}

static bool put_switch(struct bench_page *at)
{
	uint8_t data[64] = {0};

	bench_put_i32(data, 4, put_task(at, data, 8, 24));
	put_task(at, data, 40, 56);
	bench_put_i32(data, 28, 120);
	bench_put_i32(data, 32, (int32_t)(bench_random(at) % 3));
	bench_put_i32(data, 60, 120);
	return bench_put_event(at, data, sizeof(data), 314);
}

static bool put_waking(struct bench_page *at)
{
	uint8_t data[36] = {0};

	bench_put_i32(data, 4, 1500);
	put_task(at, data, 8, 24);
	bench_put_i32(data, 28, 120);
	bench_put_i32(data, 32, (int32_t)(bench_random(at) % 8));
	return bench_put_event(at, data, sizeof(data), 317);
}

bool bench_put_sched(struct bench_page *at)
{
	return put_waking(at) && put_switch(at);
}

void bench_fill_page(struct bench_page *at, uint8_t *page, uint64_t timestamp_ns,
		     bool (*put)(struct bench_page *at))
{
	at->page = page;
	at->used = 0;
	at->span_ns = 0;
	while (put(at))
		continue;
	uint64_t commit = at->used;
	memcpy(page, &timestamp_ns, 8);
	memcpy(page + 8, &commit, 8);
}
