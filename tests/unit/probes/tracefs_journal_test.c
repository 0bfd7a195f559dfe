/* SPDX-License-Identifier: Apache-2.0
 * tracefs_journal_test.c - changes of tracefs and how they are restored: at the end, after errors, after a kill.
 */
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fake_api.h"
#include "fake_tracefs.h"
#include "probes/ftrace/tracefs_journal.h"

static struct orma_tracefs fs = {.fd = -1};
static struct orma_tracefs_journal journal;
static int folder_fd = -1;
static struct orma_error error;
static bool is_trace_pipe_open; /* the kernel then refuses to change the tracer */
static bool is_instance_gone;   /* its files then give ENODEV */
static enum {
	STATE_FITS,
	STATE_IS_FULL,
	STATE_KILLS
} new_state; /* at the first write of a state file */

ssize_t write(int fd, const void *data, size_t size)
{
	char link[64], path[512];

	if (new_state != STATE_FITS && size > 4 && memcmp(data, "orma", 4) == 0) {
		if (new_state == STATE_KILLS)
			raise(SIGKILL);
		errno = ENOSPC;
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length =
		is_trace_pipe_open || is_instance_gone ? readlink(link, path, sizeof(path) - 1) : 0;
	path[length > 0 ? length : 0] = '\0';
	if (is_trace_pipe_open && strstr(path, "/current_tracer")) {
		errno = EBUSY;
		return -1;
	}
	if (is_instance_gone && strstr(path, "/tracing/")) {
		errno = ENODEV;
		return -1;
	}
	return syscall(SYS_write, fd, data, size);
}

static bool must_replace;

/* Another process replaces the file before it is locked. */
int flock(int fd, int operation)
{
	if (must_replace)
		CHECK_INT(unlinkat(folder_fd, "root", 0), 0);
	return (int)syscall(SYS_flock, fd, operation);
}

static void make_tree(void)
{
	fake_capture_log();
	fake_tracefs_make();
	CHECK_INT(orma_tracefs_open(fake_tracefs_path, (struct orma_str){0}, &fs, &error), 0);
	folder_fd = orma_tracefs_state_folder_open(fake_state_path, true);
	CHECK(folder_fd >= 0);
}

static int open_journal(void)
{
	char proc_path[1024];

	snprintf(proc_path, sizeof(proc_path), "%s/proc", fake_root);
	return orma_tracefs_journal_open(&journal, &fs, folder_fd, "root", proc_path, &error);
}

static void free_tree(void)
{
	orma_tracefs_close(&fs);
	close(folder_fd);
	orma_base_buf_done(&fake_log);
}

static int set(const char *file, const char *value)
{
	return orma_tracefs_journal_set(&journal, file, orma_base_str(value));
}

ORMA_TEST(what_is_set_is_restored_at_the_end)
{
	make_tree();
	char *before = fake_tracefs_state(NULL);
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	CHECK_INT(set("trace_clock", "boot"), 0);
	CHECK_INT(set("buffer_size_kb", "4096"), 0);
	CHECK_INT(set("events/sched/sched_switch/enable", "1"), 0);
	CHECK_INT(set("events/raw_syscalls/sys_enter/filter", "id == 0"), 0);
	CHECK_INT(set("tracing_on", "1"), 0);
	CHECK_STR(fake_get("tracing/trace_clock"), "boot");
	CHECK_STR(fake_get("tracing/buffer_size_kb"), "4096");
	CHECK_STR(fake_get("tracing/events/sched/sched_switch/enable"), "1");
	orma_tracefs_journal_close(&journal);
	char *after = fake_tracefs_state(NULL);
	CHECK_STR(after, before);
	CHECK_STR(fake_get("state/root"), "");
	CHECK_INT(fake_log.size, 0);
	free(before);
	free(after);
	free_tree();
}

ORMA_TEST(the_state_file_names_each_change_once_and_before_it_is_made)
{
	make_tree();
	CHECK_INT(open_journal(), 0);
	int sealed = fake_seal("tracing/trace_clock");
	CHECK_INT(set("tracing_on", "0"), 0);
	CHECK_INT(set("tracing_on", "1"), 0);
	/* The kernel refuses, and the line is there already. */
	CHECK_INT(set("trace_clock", "boot"), -EPERM);
	CHECK_INT(orma_tracefs_journal_append(&journal, "kprobe_events",
					      ORMA_STR("p:perfetto_kprobes/f f"),
					      ORMA_STR("-:perfetto_kprobes/f")),
		  0);
	CHECK_INT(orma_tracefs_journal_set_from(&journal, "set_event_pid", ORMA_STR("1\n2\\3"),
						ORMA_STR("9")),
		  0);
	char expected[512];
	snprintf(expected, sizeof(expected),
		 "orma-ftrace 1 " FAKE_BOOT_ID " %d\nw tracing_on 1\nw trace_clock local\n"
		 "a kprobe_events -:perfetto_kprobes/f\nw set_event_pid 1\\n2\\\\3",
		 (int)getpid());
	CHECK_STR(fake_get("state/root"), expected);
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/set_event_pid"), "1\n2\\3");
	CHECK_STR(fake_get("tracing/kprobe_events"), "p:perfetto_kprobes/f f-:perfetto_kprobes/f");
	CHECK(fake_log_has("cannot restore"));
	CHECK(fake_log_has("trace_clock"));
	close(sealed);
	free_tree();
}

ORMA_TEST(an_instance_that_goes_meanwhile_needs_no_restoring)
{
	make_tree();
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	is_instance_gone = true;
	orma_tracefs_journal_close(&journal);
	is_instance_gone = false;
	CHECK_INT(fake_log.size, 0);
	free_tree();
}

ORMA_TEST(a_file_that_cannot_be_read_is_not_changed)
{
	make_tree();
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("no_such_file", "1"), -ENOENT);
	CHECK_INT(set("options", "1"), -EISDIR);
	orma_tracefs_journal_close(&journal);
	CHECK_INT(fake_log.size, 0);
	free_tree();
}

/* A line that is too long is refused here as a function that has gone is refused by the kernel. */
ORMA_TEST(a_list_of_functions_is_restored_but_for_what_is_refused)
{
	char text[2 * ORMA_TRACEFS_LINE_BYTES], long_line[ORMA_TRACEFS_LINE_BYTES + 1];

	make_tree();
	CHECK_INT(open_journal(), 0);
	memset(long_line, 'x', ORMA_TRACEFS_LINE_BYTES);
	long_line[ORMA_TRACEFS_LINE_BYTES] = '\0';
	snprintf(text, sizeof(text), "schedule\n%s\nvfs_read [vfs]\n", long_line);
	fake_put("tracing/set_ftrace_filter", text);
	CHECK_INT(set("set_ftrace_filter", "do_exit"), 0);
	CHECK_STR(fake_get("tracing/set_ftrace_filter"), "do_exit");
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/set_ftrace_filter"), "schedule\nvfs_read");
	CHECK(fake_log_has("cannot restore"));
	free_tree();
}

ORMA_TEST(a_change_whose_undo_cannot_be_saved_is_not_made)
{
	make_tree();
	CHECK_INT(open_journal(), 0);
	/* The state file has no room. */
	CHECK_INT(ftruncate(journal.state_fd, ORMA_TRACEFS_STATE_BYTES_MAX), 0);
	CHECK_INT(lseek(journal.state_fd, 0, SEEK_END), ORMA_TRACEFS_STATE_BYTES_MAX);
	for (int i = 0; i < 2; i++)
		CHECK_INT(set("tracing_on", "0"), -EFBIG);
	CHECK_INT(orma_tracefs_journal_append(&journal, "kprobe_events", ORMA_STR("p:g/f f"),
					      ORMA_STR("-:g/f")),
		  -EFBIG);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	/* Nor is anything restored: somebody else may have set it meanwhile. */
	fake_put("tracing/tracing_on", "0\n");
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/tracing_on"), "0");
	CHECK_STR(fake_get("tracing/kprobe_events"), "");
	free_tree();
}

/* ---- after a kill ---- */

static void put_state(const char *lines)
{
	char text[4096];

	snprintf(text, sizeof(text), "orma-ftrace 1 " FAKE_BOOT_ID " 1\n%s", lines);
	fake_put("state/root", text);
	CHECK_INT(chmod((snprintf(text, sizeof(text), "%s/state/root", fake_root), text), 0600), 0);
}

/* Makes a file that fake_seal() has replaced writable, and empty. */
static void unseal(const char *file, int sealed)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", fake_tracefs_path, file);
	CHECK_INT(unlink(path), 0);
	close(sealed);
	snprintf(path, sizeof(path), "tracing/%s", file);
	fake_put(path, "");
}

ORMA_TEST(what_a_killed_process_has_left_is_restored_newest_first)
{
	make_tree();
	fake_put("tracing/tracing_on", "0\n");
	fake_put("tracing/events/sched/sched_switch/enable", "1\n");
	put_state("w tracing_on 1\nw trace \na kprobe_events -:perfetto_kprobes/f\n"
		  "a kprobe_events -:perfetto_kprobes/g\n"
		  "w events/sched/sched_switch/enable 0\nw set_event_pid 7\\n8\n");
	CHECK_INT(open_journal(), 0);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	CHECK_STR(fake_get("tracing/trace"), "");
	CHECK_STR(fake_get("tracing/events/sched/sched_switch/enable"), "0");
	CHECK_STR(fake_get("tracing/set_event_pid"), "7\n8");
	CHECK_STR(fake_get("tracing/kprobe_events"), "-:perfetto_kprobes/g-:perfetto_kprobes/f");
	CHECK(fake_log_has("which an earlier recording has left changed"));
	orma_tracefs_journal_close(&journal);
	free_tree();
}

ORMA_TEST(entries_of_lists_that_cannot_be_removed_are_tried_again)
{
	make_tree();
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	CHECK_INT(orma_tracefs_journal_append(&journal, "kprobe_events", ORMA_STR("p:g/f f"),
					      ORMA_STR("-:g/f")),
		  0);
	CHECK_INT(orma_tracefs_journal_append(&journal, "uprobe_events", ORMA_STR("p:g/u /u:0x1"),
					      ORMA_STR("-:g/u")),
		  0);
	int sealed = fake_seal("tracing/kprobe_events");
	int sealed_too = fake_seal("tracing/uprobe_events");
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	CHECK(strstr(fake_get("state/root"), "a kprobe_events -:g/f\na uprobe_events -:g/u") !=
	      NULL);
	/* Later than this one too. */
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	CHECK(strstr(fake_get("state/root"),
		     "a kprobe_events -:g/f\na uprobe_events -:g/u\nw tracing_on 1") != NULL);
	unseal("kprobe_events", sealed);
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/kprobe_events"), "-:g/f");
	CHECK(strstr(fake_get("state/root"), "a uprobe_events -:g/u") != NULL);
	CHECK(strstr(fake_get("state/root"), "kprobe") == NULL);
	unseal("uprobe_events", sealed_too);
	CHECK_INT(open_journal(), 0);
	CHECK_STR(fake_get("tracing/uprobe_events"), "-:g/u");
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("state/root"), "");
	free_tree();
}

/* Leaves a state file with a probe that cannot be removed, and opens the journal as a child would that is then killed or
 * has no room: the next one still removes the probe. */
static void expect_kept_undo(bool is_killed)
{
	int status;

	make_tree();
	CHECK_INT(open_journal(), 0);
	CHECK_INT(orma_tracefs_journal_append(&journal, "kprobe_events", ORMA_STR("p:g/f f"),
					      ORMA_STR("-:g/f")),
		  0);
	int sealed = fake_seal("tracing/kprobe_events");
	new_state = is_killed ? STATE_KILLS : STATE_IS_FULL;
	fflush(NULL);
	pid_t pid = is_killed ? fork() : -1;
	if (pid <= 0)
		orma_tracefs_journal_close(&journal);
	new_state = STATE_FITS;
	if (is_killed) {
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		/* Only the lock of this copy is left. */
		close(journal.state_fd);
		journal.state_fd = -1;
		journal.last = NULL;
		orma_tracefs_journal_close(&journal);
	} else {
		CHECK(fake_log_has("cannot write the state file"));
	}
	CHECK(strstr(fake_get("state/root"), "a kprobe_events -:g/f") != NULL);
	unseal("kprobe_events", sealed);
	CHECK_INT(open_journal(), 0);
	CHECK_STR(fake_get("tracing/kprobe_events"), "-:g/f");
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("state/root"), "");
	CHECK(faccessat(folder_fd, "new.root", F_OK, 0) < 0);
	free_tree();
}

ORMA_TEST(kept_undos_survive_a_kill_while_the_state_file_is_written)
{
	expect_kept_undo(true);
}

ORMA_TEST(kept_undos_survive_a_full_file_system)
{
	expect_kept_undo(false);
}

ORMA_TEST(a_state_file_that_was_replaced_while_it_was_opened_is_not_taken)
{
	make_tree();
	CHECK_INT(open_journal(), 0);
	orma_tracefs_journal_close(&journal);
	must_replace = true;
	CHECK_INT(open_journal(), -EBUSY);
	must_replace = false;
	CHECK_INT(open_journal(), 0);
	orma_tracefs_journal_close(&journal);
	free_tree();
}

ORMA_TEST(a_tracer_that_cannot_be_ended_records_nothing_and_is_tried_again)
{
	make_tree();
	char *before = fake_tracefs_state(NULL);
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	CHECK_INT(set("trace_clock", "boot"), 0);
	CHECK_INT(set("set_ftrace_filter", "do_exit"), 0);
	CHECK_INT(set("current_tracer", "function_graph"), 0);
	CHECK_INT(set("events/sched/sched_switch/enable", "1"), 0);
	CHECK_INT(set("tracing_on", "1"), 0);
	is_trace_pipe_open = true;
	for (int i = 0; i < 2; i++) {
		orma_tracefs_journal_close(&journal);
		CHECK_STR(fake_get("tracing/tracing_on"), "0");
		CHECK_STR(fake_get("tracing/set_ftrace_filter"), "do_exit");
		CHECK_STR(fake_get("tracing/trace_clock"), "local");
		CHECK_STR(fake_get("tracing/events/sched/sched_switch/enable"), "0");
		CHECK(strstr(fake_get("state/root"), "w tracing_on 1\nw set_ftrace_filter \n"
						     "w current_tracer nop") != NULL);
		CHECK_INT(open_journal(), 0);
	}
	orma_tracefs_journal_close(&journal);
	is_trace_pipe_open = false;
	CHECK_INT(open_journal(), 0);
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("state/root"), "");
	char *after = fake_tracefs_state(NULL);
	CHECK_STR(after, before);
	free(before);
	free(after);
	free_tree();
}

ORMA_TEST(a_last_line_that_was_cut_was_never_acted_upon)
{
	make_tree();
	put_state("w tracing_on 0\nw trace_clock boo");
	CHECK_INT(open_journal(), 0);
	CHECK_STR(fake_get("tracing/tracing_on"), "0");
	CHECK(strstr(fake_get("tracing/trace_clock"), "[local]") != NULL);
	orma_tracefs_journal_close(&journal);
	free_tree();
}

ORMA_TEST(hostile_lines_of_a_state_file_change_nothing)
{
	static const char *const lines[] = {
		"w ../victim 1\n",
		"w /etc/hostname 1\n",
		"w events/../../victim 1\n",
		"w events/sched/../sched/enable 1\n",
		"w instances/side/tracing_on 0\n",
		"w trace_marker x\n",
		"a tracing_on 0\n",
		"a events/sched 0\n",
		"w set_event *:*\n",
		"x tracing_on 0\n",
		"w tracing_on\n",
		"wtracing_on 0\n",
		"w tracing_on 0\\\n",
		"w tracing_on 0\\t\n",
		" w tracing_on 0\n",
		"w  0\n",
		"w events/a/b/c/d/e/enable 1\n",
		"w events//enable 1\n",
		"w options/ 1\n",
		"\n",
	};

	make_tree();
	fake_put("victim", "0\n");
	char *before = fake_tracefs_state(NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		fake_log.size = 0;
		put_state(lines[i]);
		CHECK_INT(open_journal(), 0);
		CHECK(fake_log_has("a line that orma does not write"));
		orma_tracefs_journal_close(&journal);
	}
	char *after = fake_tracefs_state(NULL);
	CHECK_STR(after, before);
	CHECK_STR(fake_get("victim"), "0");
	free(before);
	free(after);
	free_tree();
}

ORMA_TEST(a_state_file_of_another_boot_or_kind_is_ignored)
{
	static const char *const texts[] = {
		"orma-ftrace 1 another-boot 1\nw tracing_on 0\n",
		"orma-ftrace 2 " FAKE_BOOT_ID " 1\nw tracing_on 0\n",
		"something 1 " FAKE_BOOT_ID " 1\nw tracing_on 0\n",
		"orma-ftrace 1\nw tracing_on 0\n",
		"orma-ftrace 1 " FAKE_BOOT_ID " 1",
		"w tracing_on 0\n",
		"\n\n",
	};
	char path[1024];

	make_tree();
	snprintf(path, sizeof(path), "%s/state/root", fake_root);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fake_put("state/root", texts[i]);
		CHECK_INT(chmod(path, 0600), 0);
		CHECK_INT(open_journal(), 0);
		CHECK_STR(fake_get("tracing/tracing_on"), "1");
		orma_tracefs_journal_close(&journal);
	}
	free_tree();
}

ORMA_TEST(a_state_file_that_others_could_have_written_is_refused)
{
	char path[1024];

	make_tree();
	put_state("w tracing_on 0\n");
	snprintf(path, sizeof(path), "%s/state/root", fake_root);
	CHECK_INT(chmod(path, 0666), 0);
	CHECK_INT(open_journal(), -EPERM);
	CHECK(strstr(error.message, "belongs to somebody else") != NULL);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(symlink("../tracing/trace", path), 0);
	CHECK_INT(open_journal(), -ELOOP);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	free_tree();
	snprintf(path, sizeof(path), "%s/state", fake_root);
	CHECK_INT(chmod(path, 0777), 0);
	CHECK_INT(orma_tracefs_state_folder_open(fake_state_path, true), -EPERM);
}

ORMA_TEST(a_state_file_that_is_too_large_is_ignored)
{
	char path[1024];

	make_tree();
	put_state("w tracing_on 0\n");
	snprintf(path, sizeof(path), "%s/state/root", fake_root);
	CHECK_INT(truncate(path, ORMA_TRACEFS_STATE_BYTES_MAX + 1), 0);
	CHECK_INT(open_journal(), 0);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	CHECK(fake_log_has("too large to be orma's"));
	orma_tracefs_journal_close(&journal);
	free_tree();
}

ORMA_TEST(an_instance_in_use_by_another_process_is_refused_by_its_number)
{
	struct orma_tracefs_journal other;
	char expected[64];

	make_tree();
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	CHECK_INT(orma_tracefs_journal_open(&other, &fs, folder_fd, "root", "/proc", &error),
		  -EBUSY);
	snprintf(expected, sizeof(expected), "another orma (process %d) records from",
		 (int)getpid());
	CHECK(strstr(error.message, expected) != NULL);
	/* Its changes are not taken for left-overs. */
	CHECK_STR(fake_get("tracing/tracing_on"), "0");
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	free_tree();
}

ORMA_TEST(without_a_place_for_state_files_changes_are_restored_at_the_end)
{
	make_tree();
	close(folder_fd);
	folder_fd = -1;
	CHECK_INT(open_journal(), 0);
	CHECK_INT(set("tracing_on", "0"), 0);
	orma_tracefs_journal_close(&journal);
	CHECK_STR(fake_get("tracing/tracing_on"), "1");
	free_tree();
}

ORMA_TEST(without_memory_nothing_stays_changed)
{
	make_tree();
	char *before = fake_tracefs_state(NULL);
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		int r = open_journal();
		if (r == 0)
			r = set("tracing_on", "0");
		if (r == 0)
			r = orma_tracefs_journal_append(&journal, "kprobe_events",
							ORMA_STR("p:g/f f"), ORMA_STR("-:g/f"));
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(failed ? r == 0 || r == -ENOMEM : r == 0);
		orma_tracefs_journal_close(&journal);
		char *after = fake_tracefs_state(NULL);
		CHECK_STR(after, before);
		free(after);
		if (!failed)
			break;
	}
	free(before);
	free_tree();
}

ORMA_TEST(an_open_without_memory_leaves_the_undos_for_the_next_one)
{
	make_tree();
	for (uint64_t nth = 1;; nth++) {
		fake_put("tracing/trace_clock", "[boot] local\n");
		fake_put("tracing/tracing_on", "0\n");
		put_state("w tracing_on 1\na kprobe_events -:g/f\nw trace_clock local\n");
		orma_test_fail_allocation(nth);
		int r = open_journal();
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(r == 0 || (failed && r == -ENOMEM));
		if (r < 0)
			CHECK_INT(open_journal(), 0);
		CHECK_STR(fake_get("tracing/tracing_on"), "1");
		CHECK_STR(fake_get("tracing/trace_clock"), "local");
		orma_tracefs_journal_close(&journal);
		if (!failed)
			break;
		CHECK(nth > 1 || r < 0);
	}
	free_tree();
}

/* ---- values ---- */

static const char *value_of(const char *file, int expected)
{
	static char text[256];
	struct orma_buf buf = {0};
	struct orma_str value = {0};

	CHECK_INT(orma_tracefs_value(&fs, file, &buf, &value), expected);
	snprintf(text, sizeof(text), "%.*s", (int)value.size, value.size > 0 ? value.data : "");
	orma_base_buf_done(&buf);
	return text;
}

ORMA_TEST(values_are_read_in_the_form_in_which_they_are_written)
{
	make_tree();
	CHECK_STR(value_of("trace_clock", 0), "local");
	CHECK_STR(value_of("buffer_size_kb", 0), "1408");
	fake_put("tracing/buffer_size_kb", "7 (expanded: 1411)\n");
	CHECK_STR(value_of("buffer_size_kb", 0), "1411");
	fake_put("tracing/buffer_size_kb", "X\n");
	CHECK_STR(value_of("buffer_size_kb", -EBADMSG), "");
	CHECK_STR(value_of("events/raw_syscalls/sys_enter/filter", 0), "0");
	fake_put("tracing/events/raw_syscalls/sys_enter/filter", "id == 3\n");
	CHECK_STR(value_of("events/raw_syscalls/sys_enter/filter", 0), "id == 3");
	fake_put("tracing/events/sched/sched_switch/enable", "1*\n");
	CHECK_STR(value_of("events/sched/sched_switch/enable", 0), "1");
	CHECK_STR(value_of("set_ftrace_filter", 0), "");
	fake_put("tracing/set_ftrace_filter", "#### all ####\nschedule\nvfs_read\n");
	CHECK_STR(value_of("set_ftrace_filter", 0), "schedule\nvfs_read");
	fake_put("tracing/set_ftrace_filter", "schedule:traceoff:unlimited\nschedule\n"
					      "ext4_sync_fs [ext4]\nvfs_read:stacktrace:count=3\n");
	CHECK_STR(value_of("set_ftrace_filter", 0), "schedule\next4_sync_fs");
	fake_put("tracing/set_graph_function", "ext4_sync_fs [ext4]\n");
	CHECK_STR(value_of("set_graph_function", 0), "ext4_sync_fs");
	/* These lines have colons of their own. */
	fake_put("tracing/set_event", "sched:sched_switch\n");
	CHECK_STR(value_of("set_event", 0), "sched:sched_switch");
	fake_put("tracing/trace_clock", "no brackets\n");
	CHECK_STR(value_of("trace_clock", -EBADMSG), "");
	free_tree();
}

/* ---- the folder ---- */

ORMA_TEST(a_missing_tracefs_is_named_with_the_command_that_mounts_it)
{
	make_tree();
	orma_tracefs_close(&fs);
	CHECK_INT(orma_tracefs_open("/no/such/tracing", (struct orma_str){0}, &fs, &error),
		  -ENOENT);
	CHECK(strstr(error.message, "tracefs is not mounted at /no/such/tracing") != NULL);
	CHECK(strstr(error.message, "mount -t tracefs nodev /sys/kernel/tracing") != NULL);
	CHECK_INT(orma_tracefs_open(fake_tracefs_path, ORMA_STR("none"), &fs, &error), -ENOENT);
	CHECK(strstr(error.message, "mkdir") != NULL);
	CHECK_INT(orma_tracefs_open(fake_tracefs_path, ORMA_STR("../x"), &fs, &error), -EINVAL);
	CHECK_INT(orma_tracefs_open(fake_tracefs_path, ORMA_STR("side"), &fs, &error), 0);
	CHECK(strstr(fs.path, "/tracing/instances/side") != NULL);
	free_tree();
}

ORMA_TEST(somebody_elses_tracing_is_named)
{
	make_tree();
	CHECK_INT(orma_tracefs_check_unused(&fs, "/proc", &error), 0);
	fake_put("tracing/current_tracer", "function\n");
	CHECK_INT(orma_tracefs_check_unused(&fs, "/proc", &error), -EBUSY);
	CHECK(strstr(error.message, "is \"function\"; end that tracing") != NULL);
	fake_put("tracing/current_tracer", "nop\n");
	fake_put("tracing/set_event", "sched:sched_switch\nirq:irq_handler_entry\n");
	CHECK_INT(orma_tracefs_check_unused(&fs, "/proc", &error), -EBUSY);
	CHECK(strstr(error.message, "is recording sched:sched_switch and other events") != NULL);
	/* Events that are enabled in a buffer that is off are left-overs. */
	fake_put("tracing/tracing_on", "0\n");
	CHECK_INT(orma_tracefs_check_unused(&fs, "/proc", &error), 0);
	free_tree();
}

ORMA_TEST(the_process_that_reads_the_buffer_is_named)
{
	char path[1024], target[1024];

	make_tree();
	fake_put("tracing/set_event", "sched:sched_switch\n");
	fake_put("proc/4711/comm", "trace-cmd\n");
	fake_put("proc/4711/fd/.keep", "");
	fake_put("proc/12/comm", "innocent\n");
	snprintf(path, sizeof(path), "%s/proc/4711/fd/5", fake_root);
	snprintf(target, sizeof(target), "%s/per_cpu/cpu0/trace_pipe_raw", fake_tracefs_path);
	CHECK_INT(symlink(target, path), 0);
	snprintf(path, sizeof(path), "%s/proc", fake_root);
	CHECK_INT(orma_tracefs_check_unused(&fs, path, &error), -EBUSY);
	CHECK(strstr(error.message, "(trace-cmd, process 4711, has it open)") != NULL);
	free_tree();
}
