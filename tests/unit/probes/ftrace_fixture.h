/* SPDX-License-Identifier: Apache-2.0
 * ftrace_fixture.h - a made-up tracefs: formats as Linux 6.1 and 6.12 have them, and raw pages.
 *
 * Include it after fake_api.h.
 */
#ifndef ORMA_TESTS_FTRACE_FIXTURE_H
#define ORMA_TESTS_FTRACE_FIXTURE_H

#include "fake_api.h"
#include "probes/ftrace/ftrace_cpu_reader.h"
#include "probes/ftrace/ftrace_events.h"
#include "probes/ftrace/ftrace_sink.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/interned_data.pb.h"

#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define FORMAT(name, id, fields)                                                                   \
	"name: " name "\nID: " #id "\nformat:\n" FIELD("unsigned short common_type", 0, 2, 0)      \
		FIELD("unsigned char common_flags", 2, 1, 0)                                       \
			FIELD("unsigned char common_preempt_count", 3, 1, 0)                       \
				FIELD("int common_pid", 4, 4, 1) "\n" fields                       \
								 "\nprint fmt: \"x=%d\", REC->x\n"

#define HEADER_PAGE_64                                                                             \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                 \
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"                                \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"                                 \
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
#define HEADER_PAGE_32                                                                             \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                 \
	"\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"                                \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"                                 \
	"\tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n"

enum {
	ID_PRINT = 5,
	ID_SWITCH = 314,
	ID_WAKING = 317,
	ID_NEWTASK = 119,
	ID_RENAME = 120,
	ID_SYS_ENTER = 22,
	ID_SYS_EXIT = 23,
	ID_INODE = 900,
	ID_GENERIC = 1300,
	ID_WORK = 101,
	ID_EXEC = 311,
};

#define FORMAT_SWITCH                                                                              \
	FORMAT("sched_switch", 314,                                                                \
	       FIELD("char prev_comm[16]", 8, 16, 0) FIELD("pid_t prev_pid", 24, 4,                \
							   1) FIELD("int prev_prio", 28, 4, 1)     \
		       FIELD("long prev_state", 32, 8, 1) FIELD("char next_comm[16]", 40, 16, 0)   \
			       FIELD("pid_t next_pid", 56, 4, 1) FIELD("int next_prio", 60, 4, 1))
#define FORMAT_WAKING                                                                              \
	FORMAT("sched_waking", 317,                                                                \
	       FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)                       \
		       FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1))
#define FORMAT_PRINT                                                                               \
	FORMAT("print", 5, FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0))
#define FORMAT_RENAME                                                                              \
	FORMAT("task_rename", 120,                                                                 \
	       FIELD("pid_t pid", 8, 4, 1) FIELD("char oldcomm[16]", 12, 16, 0)                    \
		       FIELD("char newcomm[16]", 28, 16, 0)                                        \
			       FIELD("short oom_score_adj", 44, 2, 1))
#define FORMAT_NEWTASK                                                                             \
	FORMAT("task_newtask", 119,                                                                \
	       FIELD("pid_t pid", 8, 4, 1) FIELD("char comm[16]", 12, 16, 0)                       \
		       FIELD("unsigned long clone_flags", 28, 8, 0))
#define FORMAT_SYS_ENTER                                                                           \
	FORMAT("sys_enter", 22, FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0))
#define FORMAT_SYS_EXIT                                                                            \
	FORMAT("sys_exit", 23, FIELD("long id", 8, 8, 1) FIELD("long ret", 16, 8, 1))
#define FORMAT_EXEC                                                                                \
	FORMAT("sched_process_exec", 311,                                                          \
	       FIELD("__data_loc char[] filename", 8, 4, 0) FIELD("pid_t pid", 12, 4, 1)           \
		       FIELD("pid_t old_pid", 16, 4, 1))
#define FORMAT_INODE                                                                               \
	FORMAT("mm_filemap_add_to_page_cache", 900,                                                \
	       FIELD("unsigned long pfn", 8, 8, 0) FIELD("unsigned long i_ino", 16, 8, 0)          \
		       FIELD("unsigned long index", 24, 8, 0) FIELD("dev_t s_dev", 32, 4, 0))
#define FORMAT_GENERIC                                                                             \
	FORMAT("made_up", 1300,                                                                    \
	       FIELD("u32 count", 8, 4, 0) FIELD("s8 level", 12, 1, 1)                             \
		       FIELD("__rel_loc char[] label", 16, 4, 0) FIELD("__u8 mac[6]", 20, 6, 0)    \
			       FIELD("u16 ports[3]", 26, 6, 0)                                     \
				       FIELD("struct thing whole", 32, 12, 0)                      \
					       FIELD("__data_loc u32[] words", 44, 4, 0))
#define FORMAT_WORK                                                                                \
	FORMAT("workqueue_execute_start", 101,                                                     \
	       FIELD("void * work", 8, 8, 0) FIELD("void * function", 16, 8, 0))

/* ---- the tree ---- */

/* Makes the tree, once. Tests that need other formats put them afterwards. */
__attribute__((unused)) static void put_tracefs(void)
{
	static bool is_put;

	if (is_put)
		return;
	is_put = true;
	fake_put("t/events/header_page", HEADER_PAGE_64);
	fake_put("t/events/enable", "0");
	fake_put("t/events/sched/enable", "0");
	fake_put("t/events/sched/sched_switch/format", FORMAT_SWITCH);
	fake_put("t/events/sched/sched_waking/format", FORMAT_WAKING);
	fake_put("t/events/sched/sched_process_exec/format", FORMAT_EXEC);
	fake_put("t/events/ftrace/print/format", FORMAT_PRINT);
	fake_put("t/events/task/task_rename/format", FORMAT_RENAME);
	fake_put("t/events/task/task_newtask/format", FORMAT_NEWTASK);
	fake_put("t/events/raw_syscalls/sys_enter/format", FORMAT_SYS_ENTER);
	fake_put("t/events/raw_syscalls/sys_exit/format", FORMAT_SYS_EXIT);
	fake_put("t/events/filemap/mm_filemap_add_to_page_cache/format", FORMAT_INODE);
	fake_put("t/events/vendor/made_up/format", FORMAT_GENERIC);
	fake_put("t/events/workqueue/workqueue_execute_start/format", FORMAT_WORK);
}

__attribute__((unused)) static const char *tracefs_path(void)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/t", fake_root);
	return path;
}

/* ---- pages ---- */

struct test_pages {
	struct orma_buf bytes; /* whole pages */
	size_t begin;          /* offset of the last page */
	uint32_t page_bytes, data_offset, commit_bytes;
	size_t used; /* bytes of records in the last page */
};

__attribute__((unused)) static void put_bytes(struct test_pages *pages, const void *data,
					      size_t size)
{
	CHECK(pages->data_offset + pages->used + size <= pages->page_bytes);
	memcpy(pages->bytes.data + pages->begin + pages->data_offset + pages->used, data, size);
	pages->used += size;
}

__attribute__((unused)) static void put_u32(struct test_pages *pages, uint32_t value)
{
	put_bytes(pages, &value, sizeof(value));
}

/* Sets the size of the last page, with flags. */
__attribute__((unused)) static void set_commit(struct test_pages *pages, uint64_t flags)
{
	uint64_t commit = pages->used | flags;
	memcpy(pages->bytes.data + pages->begin + 8, &commit, pages->commit_bytes);
}

__attribute__((unused)) static void new_page(struct test_pages *pages, uint64_t timestamp)
{
	if (pages->page_bytes == 0) {
		pages->page_bytes = 4096;
		pages->commit_bytes = 8;
	}
	pages->data_offset = 8 + pages->commit_bytes;
	pages->begin = pages->bytes.size;
	pages->used = 0;
	CHECK_INT(orma_base_buf_reserve(&pages->bytes, pages->page_bytes), 0);
	memset(pages->bytes.data + pages->begin, 0, pages->page_bytes);
	memcpy(pages->bytes.data + pages->begin, &timestamp, sizeof(timestamp));
	pages->bytes.size += pages->page_bytes;
}

#define DELTA(type, delta) ((uint32_t)(delta) << 5 | (uint32_t)(type))

/* Adds an event of up to 112 bytes, a multiple of 4, and the sizes up to it. */
__attribute__((unused)) static void put_event(struct test_pages *pages, uint32_t delta,
					      const void *data, size_t size)
{
	uint8_t padded[4096] = {0};
	size_t words = (size + 3) / 4;
	memcpy(padded, data, size);
	if (words <= 28) {
		put_u32(pages, DELTA(words, delta));
	} else {
		put_u32(pages, DELTA(0, delta));
		put_u32(pages, (uint32_t)(4 * words + 4));
	}
	put_bytes(pages, padded, 4 * words);
	set_commit(pages, 0);
}

struct __attribute__((packed)) test_common {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
};
struct __attribute__((packed)) test_switch {
	struct test_common common;
	char prev_comm[16];
	int32_t prev_pid, prev_prio;
	int64_t prev_state;
	char next_comm[16];
	int32_t next_pid, next_prio;
};
struct __attribute__((packed)) test_waking {
	struct test_common common;
	char comm[16];
	int32_t pid, prio, target_cpu;
};

__attribute__((unused)) static void put_switch(struct test_pages *pages, uint32_t delta,
					       int32_t prev, const char *prev_comm, int32_t next,
					       const char *next_comm)
{
	struct test_switch event = {.common = {ID_SWITCH, 0, 0, prev},
				    .prev_pid = prev,
				    .prev_prio = 120,
				    .prev_state = 1,
				    .next_pid = next,
				    .next_prio = 110};
	memcpy(event.prev_comm, prev_comm, strlen(prev_comm));
	memcpy(event.next_comm, next_comm, strlen(next_comm));
	put_event(pages, delta, &event, sizeof(event));
}

__attribute__((unused)) static void put_waking(struct test_pages *pages, uint32_t delta,
					       int32_t running, int32_t pid, const char *comm)
{
	struct test_waking event = {
		.common = {ID_WAKING, 1, 0, running}, .pid = pid, .prio = 100, .target_cpu = 3};
	memcpy(event.comm, comm, strlen(comm));
	put_event(pages, delta, &event, sizeof(event));
}

/* ---- a session ---- */

struct test_session {
	struct orma_ftrace_events *events;
	struct orma_ftrace_drain drain;
};

__attribute__((unused)) static void open_session(struct test_session *session)
{
	put_tracefs();
	CHECK_INT(orma_ftrace_events_new(tracefs_path(), &session->events), 0);
	CHECK_INT(orma_ftrace_drain_init(&session->drain, tracefs_path()), 0);
}

__attribute__((unused)) static struct orma_ftrace_sink *
add_sink(struct test_session *session, struct orma_ftrace_sink_options options)
{
	struct orma_ftrace_sink *sink;
	options.source = &fake_source;
	options.instance_idx = session->drain.sink_count;
	options.cpu_count = 4;
	fake_source.started |= 1u << options.instance_idx;
	CHECK_INT(orma_ftrace_sink_new(session->events, &options, &sink), 0);
	session->drain.sinks[session->drain.sink_count++] = sink;
	return sink;
}

__attribute__((unused)) static const struct orma_ftrace_event *want(struct test_session *session,
								    struct orma_ftrace_sink *sink,
								    const char *group,
								    const char *name)
{
	const struct orma_ftrace_event *event;
	CHECK_INT(orma_ftrace_events_load(session->events, group, name, &event), 0);
	CHECK_INT(orma_ftrace_sink_want(sink, event), 0);
	return event;
}

/* Gives the pages to the sinks, as the buffer of CPU 2. */
__attribute__((unused)) static uint32_t drain_pages(struct test_session *session,
						    struct test_pages *pages)
{
	struct orma_ftrace_cpu_reader *reader;
	fake_put_bytes("t/per_cpu/cpu2/trace_pipe_raw", pages->bytes.data, pages->bytes.size);
	CHECK_INT(orma_ftrace_cpu_reader_new(tracefs_path(), 2, &reader), 0);
	uint32_t count = orma_ftrace_cpu_reader_drain(reader, &session->drain, 256, false).pages;
	orma_ftrace_cpu_reader_free(reader);
	orma_base_buf_done(&pages->bytes);
	*pages = (struct test_pages){0};
	return count;
}

__attribute__((unused)) static struct orma_pb_ftrace_event_bundle *bundle_at(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->ftrace_events);
	return packet->ftrace_events;
}

__attribute__((unused)) static void close_session(struct test_session *session)
{
	for (uint32_t i = 0; i < session->drain.sink_count; i++)
		orma_ftrace_sink_free(session->drain.sinks[i]);
	orma_ftrace_drain_done(&session->drain);
	orma_ftrace_events_free(session->events);
	*session = (struct test_session){0};
	fake_forget_packets();
	orma_base_arena_done(&fake_arena);
	orma_base_buf_done(&fake_log);
}

#endif
