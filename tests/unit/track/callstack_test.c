/* SPDX-License-Identifier: Apache-2.0
 * callstack_test.c - the item ORMA_CALLSTACK() from the macro to decoded packets, and to `orma sql`.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/track_event.pb.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG "buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }"

#if defined(__x86_64__) || defined(__aarch64__)

/* The function of the test below is short; what a sanitizer adds to it is not. */
#define OUTER_BYTES (ORMA_TEST_HAS_ASAN ? 1024u : 64u)

/* musl-gcc's static programs have no .eh_frame_hdr. */
static void need_stacks(void)
{
	if (orma_callstack() == 0)
		orma_test_skip("rules of this program");
}

__attribute__((noinline)) static void inner(const char *text)
{
	ORMA_INSTANT(gfx, "inner", "text", text, ORMA_CALLSTACK());
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(const char *text)
{
	inner(text);
	__asm__ volatile("");
}

/* The knowledge of a reader of one sequence. */
struct reader {
	struct packets packets;
	const struct orma_pb_callstack *stacks[64];
	const struct orma_pb_frame *frames[1024];
	const struct orma_pb_mapping *mappings[64];
	struct orma_str paths[64];
	size_t declared; /* stacks, each time */
	uint64_t iids[64];
	size_t count; /* events */
};

static void learn(struct reader *reader, const struct orma_pb_interned_data *data)
{
	for (size_t i = 0; i < data->callstacks.count; i++, reader->declared++)
		reader->stacks[data->callstacks.items[i]->iid] = data->callstacks.items[i];
	for (size_t i = 0; i < data->frames.count; i++)
		reader->frames[data->frames.items[i]->iid] = data->frames.items[i];
	for (size_t i = 0; i < data->mappings.count; i++)
		reader->mappings[data->mappings.items[i]->iid] = data->mappings.items[i];
	for (size_t i = 0; i < data->mapping_paths.count; i++)
		reader->paths[data->mapping_paths.items[i]->iid] =
			data->mapping_paths.items[i]->str;
}

static void read_all(struct reader *reader, struct orma_session *session)
{
	session_finish(session, &reader->packets);
	for (size_t i = 0; i < reader->packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = reader->packets.list.items[i];

		if (packet->interned_data)
			learn(reader, packet->interned_data);
		if (packet->track_event && reader->count < 64)
			reader->iids[reader->count++] = packet->track_event->callstack_iid;
	}
}

/* The name of the function of a frame; 0 = innermost. */
static const char *function_of(const struct reader *reader, uint64_t iid, size_t depth)
{
	const struct orma_pb_callstack *stack = reader->stacks[iid];
	CHECK(stack && depth < stack->frame_ids.count);
	const struct orma_pb_frame *frame =
		reader->frames[stack->frame_ids.items[stack->frame_ids.count - 1 - depth]];
	CHECK(frame && reader->mappings[frame->mapping_id]);
	const struct orma_pb_mapping *mapping = reader->mappings[frame->mapping_id];
	uint64_t pc = frame->rel_pc + mapping->start - mapping->exact_offset - mapping->load_bias;
	Dl_info info;

	CHECK(reader->paths[mapping->path_string_ids.items[0]].size > 0);
	CHECK(pc >= mapping->start && pc < mapping->end);
	if (pc >= (uintptr_t)inner && pc < (uintptr_t)inner + 4096 &&
	    (pc < (uintptr_t)outer || (uintptr_t)outer < (uintptr_t)inner))
		return "inner";
	if (pc >= (uintptr_t)outer && pc < (uintptr_t)outer + OUTER_BYTES)
		return "outer";
	return dladdr((void *)(uintptr_t)pc, &info) && info.dli_sname ? info.dli_sname : "?";
}

ORMA_TEST(an_event_has_the_stack_of_the_function_that_emits_it)
{
	need_stacks();
	struct reader reader = {0};
	struct orma_session *session = session_start_events(CONFIG);

	errno = 7;
	for (int i = 0; i < 3; i++)
		outer("a");
	CHECK_INT(errno, 7);
	inner("b");
	ORMA_INSTANT(gfx, "without");
	read_all(&reader, session);
	CHECK_INT(reader.count, 5);
	CHECK(reader.iids[0] > 0 && reader.iids[0] == reader.iids[1]);
	CHECK_INT(reader.iids[2], reader.iids[0]);
	CHECK(reader.iids[3] > 0 && reader.iids[3] != reader.iids[0]);
	CHECK_INT(reader.iids[4], 0);
	/* Each is declared once. */
	CHECK_INT(reader.declared, 2);
	CHECK_STR(function_of(&reader, reader.iids[0], 0), "inner");
	CHECK_STR(function_of(&reader, reader.iids[0], 1), "outer");
	CHECK_STR(function_of(&reader, reader.iids[3], 0), "inner");
	CHECK_INT(reader.stacks[reader.iids[0]]->frame_ids.count,
		  reader.stacks[reader.iids[3]]->frame_ids.count + 1);
	packets_done(&reader.packets);
	/* Another session's reader knows nothing yet. */
	session = session_start(CONFIG);
	outer("c");
	struct reader second = {0};
	read_all(&second, session);
	CHECK_INT(second.count, 1);
	CHECK_INT(second.declared, 1);
	CHECK_STR(function_of(&second, second.iids[0], 1), "outer");
	packets_done(&second.packets);
	orma_shutdown();
}

ORMA_TEST(ends_and_scopes_have_stacks_too)
{
	need_stacks();
	struct reader reader = {0};
	struct orma_session *session = session_start_events(CONFIG);

	for (int i = 0; i < 2; i++) {
		ORMA_BEGIN(gfx, "slice", ORMA_CALLSTACK());
		ORMA_END(gfx, ORMA_CALLSTACK());
		ORMA_SCOPE(gfx, "scope", "n", i, ORMA_CALLSTACK());
	}
	read_all(&reader, session);
	CHECK_INT(reader.count, 8);
	for (size_t i = 0; i < 3; i++) {
		CHECK(reader.iids[i] > 0);
		CHECK_INT(reader.iids[i + 4], reader.iids[i]);
	}
	CHECK_INT(reader.iids[3], 0);
	packets_done(&reader.packets);
	orma_shutdown();
}

static void *emit_on_thread(void *arg)
{
	outer(arg);
	return NULL;
}

static void emit_in_handler(int number)
{
	(void)number;
	inner("signal");
}

ORMA_TEST(threads_have_their_own_stacks_and_other_stacks_have_none)
{
	need_stacks();
	struct reader reader = {0};
	struct orma_session *session = session_start_events(CONFIG);
	pthread_t thread;
	stack_t other = {.ss_size = 65536, .ss_sp = malloc(65536)};
	struct sigaction action = {.sa_handler = emit_in_handler, .sa_flags = SA_ONSTACK};

	inner("main");
	CHECK_INT(pthread_create(&thread, NULL, emit_on_thread, "thread"), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(sigaltstack(&other, NULL), 0);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(raise(SIGUSR1), 0);
	read_all(&reader, session);
	CHECK_INT(reader.count, 3);
	size_t with = 0;
	for (size_t i = 0; i < 3; i++)
		with += reader.iids[i] > 0;
	CHECK_INT(with, 2);
	packets_done(&reader.packets);
	orma_shutdown();
	other.ss_flags = SS_DISABLE;
	CHECK_INT(sigaltstack(&other, NULL), 0);
	free(other.ss_sp);
}

ORMA_TEST(a_child_has_the_stacks_of_its_parent)
{
	need_stacks();
	uint64_t before = orma_callstack();
	pid_t pid = fork();

	CHECK(before > 0);
	if (pid == 0)
		_exit(orma_callstack() > 0 && orma_callstack() == orma_callstack() ? 0 : 1);
	int status;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 1 << 8); /* three places, so three stacks */
}

/* NOLINTNEXTLINE(misc-no-recursion): a deep stack is what the test needs */
__attribute__((noinline)) static uint64_t go_down(unsigned depth)
{
	uint64_t result = depth > 0 ? go_down(depth - 1) : orma_callstack();

	__asm__ volatile("");
	return result;
}

ORMA_TEST(deep_stacks_are_cut)
{
	uint64_t last = 0, count = 0;

	need_stacks();
	CHECK(go_down(1000) > 0);
	/* Cut after 128 frames they are the same. */
	CHECK_INT(go_down(1001), go_down(1002));
	for (unsigned depth = 0; depth < 100; depth++) {
		uint64_t id = go_down(depth);

		CHECK(id > 0 && id != last);
		count++;
		last = id;
	}
	CHECK_INT(count, 100);
}

/* Each number of 14 bits is a way down, and so a stack. */
static uint64_t go_left(unsigned bits, unsigned way);

/* NOLINTNEXTLINE(misc-no-recursion): many stacks are what the test needs */
__attribute__((noinline)) static uint64_t go_right(unsigned bits, unsigned way)
{
	uint64_t result = bits == 0 ? orma_callstack()
			  : way & 1 ? go_left(bits - 1, way >> 1)
				    : go_right(bits - 1, way >> 1);

	__asm__ volatile("");
	return result;
}

/* NOLINTNEXTLINE(misc-no-recursion): many stacks are what the test needs */
__attribute__((noinline)) static uint64_t go_left(unsigned bits, unsigned way)
{
	uint64_t result = bits == 0 ? orma_callstack()
			  : way & 1 ? go_left(bits - 1, way >> 1)
				    : go_right(bits - 1, way >> 1);

	__asm__ volatile("");
	return result;
}

ORMA_TEST(too_many_stacks_are_left_out_and_the_known_ones_are_kept)
{
	unsigned known = 0;
	uint64_t first;

	need_stacks();
	/* One place of the call, so that the ways are all that differs. */
	for (unsigned way = 0; way <= 1u << 14; way++) {
		uint64_t id = go_left(14, way == 1u << 14 ? 0 : way);

		first = way == 0 ? id : first;
		known += id > 0;
		if (way == 1u << 14)
			CHECK_INT(id, first);
	}
	CHECK(known > 4000 && known < 8194);
}

/* --- `orma sql` ------------------------------------------------------------------------------- */

static int append_packet(void *ctx, const void *data, size_t size)
{
	struct orma_buf *trace = ctx;
	uint8_t head[11] = {0x0a};
	size_t at = 1;

	for (size_t rest = size; at == 1 || rest > 0; rest >>= 7)
		head[at++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
	CHECK_INT(orma_base_buf_append(trace, head, at), 0);
	CHECK_INT(orma_base_buf_append(trace, data, size), 0);
	return 0;
}

ORMA_TEST(orma_sql_shows_them)
{
	need_stacks();
	struct orma_session *session = session_start_events(CONFIG);
	struct orma_buf trace = {0};
	char path[256], command[1024];

	orma_test_skip_if_emulated("a binary that this machine runs");
	if (access(ORMA_BUILD_DIR "/orma", X_OK) < 0)
		orma_test_skip("the binary");
	outer("a");
	session_stop(session);
	CHECK_INT(orma_session_read(session, append_packet, &trace), 0);
	orma_session_free(session);
	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(orma_base_fd_write_all(fd, trace.data, trace.size), 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "%s/orma sql %s \"select count(*) as stacks, max(depth) > 2 as is_deep from "
		 "__intrinsic_track_event_callstacks e join stack_profile_callsite c on "
		 "e.callsite_id = c.id; select count(*) as errors from stats where value > 0 and "
		 "severity = 'error'\" 2>&1",
		 ORMA_BUILD_DIR, path);
	FILE *pipe = popen(command, "r");
	CHECK(pipe);
	char text[4096];
	size_t size = fread(text, 1, sizeof(text) - 1, pipe);
	text[size] = 0;
	int status = pclose(pipe);
	if (status != 0 && strstr(text, "without sqlite3"))
		orma_test_skip("sqlite3");
	if (!strstr(text, "\n1,1\n") || !strstr(text, "\n0\n") || status != 0)
		orma_test_fail(__FILE__, __LINE__, "%d: %s", status, text);
	orma_base_buf_done(&trace);
	orma_shutdown();
}

#else
ORMA_TEST(other_machines_have_no_stacks)
{
	CHECK_INT(orma_callstack(), 0);
}
#endif
