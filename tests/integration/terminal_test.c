/* SPDX-License-Identifier: Apache-2.0
 * terminal_test.c - a recorder on a terminal: when the disk is full it asks for another file, and the
 * whole trace gets there; Ctrl-C reaches the program that it records.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "harness.h"
#include "tool/trace/trace_file.h"

#define QUESTION "give the rest up): "

struct terminal {
	pid_t pid; /* the recorder's */
	int fd;
	char text[65536]; /* its output */
	size_t size;
};

/* Gives the recorder a disk of one page in a mount namespace. Another program does this, because
 * a process under ThreadSanitizer has a second thread and may not unshare its user namespace. */
static const char *const on_small_disk[] = {"unshare",
					    "--user",
					    "--map-root-user",
					    "--mount",
					    "sh",
					    "-c",
					    "mount -t tmpfs -o size=4k none \"$0\" && exec \"$@\""};

static const char *command = "record";

static _Noreturn void become_recorder(const char *terminal, const char *const *arguments,
				      const char *small_disk)
{
	const char *argv[32];
	char producers[128], consumers[128];
	size_t count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(producers, sizeof(producers), "%s/p", orma_test_tmpdir());
	snprintf(consumers, sizeof(consumers), "%s/c", orma_test_tmpdir());
	setenv("PERFETTO_PRODUCER_SOCK_NAME", producers, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", consumers, 1);
	setenv("TMPDIR", orma_test_tmpdir(), 1);
	setsid();
	int fd = open(terminal, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 ||
	    dup2(fd, 2) < 0)
		_exit(125);
	if (small_disk) {
		memcpy(argv, on_small_disk, sizeof(on_small_disk));
		count = ORMA_ARRAY_SIZE(on_small_disk);
		argv[count++] = small_disk;
	}
	argv[count++] = ORMA_BUILD_DIR "/orma";
	argv[count++] = command;
	for (size_t i = 0; arguments[i]; i++)
		argv[count++] = arguments[i];
	argv[count] = NULL;
	execvp(argv[0], (char **)argv);
	_exit(125);
}

static void start_arguments(struct terminal *terminal, const char *const *arguments,
			    const char *small_disk)
{
	char name[64];

	(void)orma_test_tmpdir(); /* created before the fork, for the child too */
	terminal->size = 0;
	terminal->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(terminal->fd >= 0);
	CHECK_INT(grantpt(terminal->fd), 0);
	CHECK_INT(unlockpt(terminal->fd), 0);
	CHECK_INT(ptsname_r(terminal->fd, name, sizeof(name)), 0);
	terminal->pid = fork();
	CHECK(terminal->pid >= 0);
	if (terminal->pid == 0)
		become_recorder(name, arguments, small_disk);
}

static void start(struct terminal *terminal, const char *out, const char *small_disk)
{
	const char *const arguments[] = {"-t", "100ms", "-o", out, "linux.process_stats", NULL};

	start_arguments(terminal, arguments, small_disk);
}

/* Returns false if it ended instead. */
static bool await(struct terminal *terminal, const char *text)
{
	terminal->size = 0;
	for (;;) {
		ssize_t got = read(terminal->fd, terminal->text + terminal->size,
				   sizeof(terminal->text) - 1 - terminal->size);
		if (got <= 0)
			return false;
		terminal->size += (size_t)got;
		terminal->text[terminal->size] = '\0';
		if (strstr(terminal->text, text))
			return true;
	}
}

static void answer(struct terminal *terminal, const char *line)
{
	CHECK_INT(orma_base_fd_write_all(terminal->fd, line, strlen(line)), 0);
}

static int finish(struct terminal *terminal)
{
	int status;

	(void)await(terminal, "what it does not show");
	CHECK_INT(waitpid(terminal->pid, &status, 0), terminal->pid);
	close(terminal->fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *in_folder(char *path, const char *name)
{
	CHECK((size_t)snprintf(path, 256, "%s/%s", orma_test_tmpdir(), name) < 256);
	return path;
}

static void check_is_whole(const char *path)
{
	struct orma_tool_summary summary;
	struct orma_error error = {0};
	bool has_processes = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_INT(orma_tool_trace_summarize(fd, &summary, &error), 0);
	for (size_t i = 0; i < summary.source_count; i++)
		has_processes |= strcmp(summary.sources[i].name, "linux.process_stats") == 0;
	CHECK(has_processes);
	close(fd);
}

ORMA_TEST(a_recorder_that_cannot_write_asks_for_another_file)
{
	const struct timespec thinking = {.tv_nsec = 300000000};
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), end_ns;
	struct terminal terminal;
	char path[256], line[300];

	start(&terminal, "/dev/full", NULL);
	CHECK(await(&terminal, QUESTION));
	end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	nanosleep(&thinking, NULL);
	/* A file that exists is not replaced. */
	answer(&terminal, "/dev/null\n");
	CHECK(await(&terminal, QUESTION));
	CHECK(strstr(terminal.text, "/dev/null: File exists."));
	/* Standard output is not a file, and here it is the terminal. */
	answer(&terminal, "-\n");
	CHECK(await(&terminal, QUESTION));
	CHECK(strstr(terminal.text, "-: this stands for standard output; the trace needs a file"));
	snprintf(line, sizeof(line), "%s\n", in_folder(path, "other.pftrace"));
	answer(&terminal, line);
	CHECK_INT(finish(&terminal), 0);
	CHECK(strstr(terminal.text, "lost: nothing"));
	/* The recording was over when the recorder asked. */
	const char *recorded = strstr(terminal.text, "Recorded ");
	CHECK(recorded);
	CHECK(strtod(recorded + strlen("Recorded "), NULL) <=
	      (double)(end_ns - begin_ns) / 1e9 + 0.05);
	check_is_whole(path);
}

ORMA_TEST(a_recording_shows_its_numbers)
{
	char path[256];
	const char *const arguments[] = {
		"-t", "0", "-o", in_folder(path, "numbers.pftrace"), "linux.process_stats", NULL};
	struct terminal terminal;

	setenv("TERM", "xterm", 1);
	start_arguments(&terminal, arguments, NULL);
	CHECK(await(&terminal, " packets/s  buffer "));
	CHECK(await(&terminal, "%  lost: nothing  (Ctrl-C stops)"));
	answer(&terminal, "\003");
	CHECK_INT(finish(&terminal), 0);
	CHECK(strstr(terminal.text, "Next: "));
}

ORMA_TEST(a_dumb_terminal_gets_the_summary_alone)
{
	char path[256];
	struct terminal terminal;

	setenv("TERM", "dumb", 1);
	start(&terminal, in_folder(path, "dumb.pftrace"), NULL);
	CHECK_INT(finish(&terminal), 0);
	CHECK(strncmp(terminal.text, "Recorded ", 9) == 0);
	CHECK(strstr(terminal.text, "Next: "));
}

ORMA_TEST(an_empty_answer_gives_the_rest_of_the_trace_up)
{
	struct terminal terminal;

	start(&terminal, "/dev/full", NULL);
	CHECK(await(&terminal, QUESTION));
	answer(&terminal, "\n");
	CHECK_INT(finish(&terminal), 1);
	CHECK(strstr(terminal.text, "/dev/full: No space left on device; nothing is written"));
	CHECK(strstr(terminal.text, "of linux.process_stats"));
}

ORMA_TEST(what_a_full_disk_has_of_a_trace_moves_to_the_other_file)
{
	struct terminal terminal;
	char folder[256], full[300], path[256], line[300];

	CHECK_INT(mkdir(in_folder(folder, "small"), 0755), 0);
	snprintf(full, sizeof(full), "%s/x.pftrace", folder);
	start(&terminal, full, folder);
	if (!await(&terminal, QUESTION)) {
		CHECK(finish(&terminal) != 0);
		orma_test_skip("user and mount namespaces");
	}
	CHECK(strstr(terminal.text, "x.pftrace: No space left on device. It has "));
	snprintf(line, sizeof(line), "%s\n", in_folder(path, "other.pftrace"));
	answer(&terminal, line);
	CHECK_INT(finish(&terminal), 0);
	check_is_whole(path);
}

ORMA_TEST(the_terminals_interrupt_reaches_the_recorded_program_once)
{
	static const char program[] =
		"n=0; trap 'n=$((n+1)); echo \"interrupt $n\"' INT; echo ready; "
		"while [ $n -eq 0 ]; do sleep 0.05; done; sleep 0.2; exit $((10 + n))";
	char path[256];
	const char *const arguments[] = {
		"-q",    "-o", in_folder(path, "x"), "linux.process_stats", "--", "bash", "-c",
		program, NULL};
	struct terminal terminal;

	start_arguments(&terminal, arguments, NULL);
	CHECK(await(&terminal, "ready"));
	answer(&terminal, "\003");
	/* The exit status is the number of signals that the program received; the recording is
	 * complete. */
	CHECK_INT(finish(&terminal), 11);
	CHECK(strstr(terminal.text, "interrupt 1"));
	CHECK(!strstr(terminal.text, "interrupt 2"));
	check_is_whole(path);
}

#ifdef ORMA_HAVE_PROFILERS
ORMA_TEST(a_profile_without_an_end_says_how_it_ends)
{
	char pid[16];
	const char *const arguments[] = {"--pid", pid, NULL};
	struct terminal terminal;

	command = "heap";
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	start_arguments(&terminal, arguments, NULL);
	CHECK(await(&terminal, "Sampling until Ctrl-C"));
	answer(&terminal, "\003");
	/* This process has not loaded the library. */
	CHECK_INT(finish(&terminal), 1);
	CHECK(strstr(terminal.text, "liborma-heap.so"));
}
#endif
