/* SPDX-License-Identifier: Apache-2.0
 * sql_terminal_test.c - `orma sql` on a terminal: keys, completion, history, commands, the pager, and what Ctrl-C stops.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"

#define READY "sql > "

enum { PATIENCE_MS = 10000 };

static const char instant[] = "\x0a\x0c\x40\x64\x50\x01\x5a\x06\x48\x03\xba\x01\x01n";

struct terminal {
	pid_t pid;
	int fd;
	char text[1 << 17]; /* printed since the last await() */
	size_t size;
};

static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static unsigned at;
	char *path = paths[at++ % 4];
	CHECK((size_t)snprintf(path, sizeof(paths[0]), "%s/%s", orma_test_tmpdir(), name) <
	      sizeof(paths[0]));
	return path;
}

static void write_file(const char *name, const void *data, size_t size, size_t times)
{
	struct orma_buf bytes = {0};
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	CHECK(fd >= 0);
	for (size_t i = 0; i < times; i++)
		CHECK_INT(orma_base_buf_append(&bytes, data, size), 0);
	CHECK_INT(orma_base_fd_write_all(fd, bytes.data, bytes.size), 0);
	orma_base_buf_done(&bytes);
	close(fd);
}

static _Noreturn void become_shell(const char *name, const char *trace)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("TMPDIR", orma_test_tmpdir(), 1);
	setenv("XDG_STATE_HOME", in_folder("state"), 1);
	setsid();
	int fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 ||
	    dup2(fd, 2) < 0)
		_exit(125);
	execl(ORMA_BUILD_DIR "/orma", "orma", "sql", trace, (char *)NULL);
	_exit(125);
}

/* Returns false if it ended instead. */
static bool await(struct terminal *terminal, const char *text)
{
	terminal->size = 0;
	for (;;) {
		struct pollfd input = {.fd = terminal->fd, .events = POLLIN};
		if (poll(&input, 1, PATIENCE_MS) == 0)
			orma_test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", text,
				       terminal->text);
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

/* Adds what is printed until nothing comes for some time. */
static void collect(struct terminal *terminal, int quiet_ms)
{
	struct pollfd input = {.fd = terminal->fd, .events = POLLIN};
	while (poll(&input, 1, quiet_ms) > 0) {
		ssize_t got = read(terminal->fd, terminal->text + terminal->size,
				   sizeof(terminal->text) - 1 - terminal->size);
		CHECK(got > 0);
		terminal->size += (size_t)got;
		terminal->text[terminal->size] = '\0';
	}
}

static void start_with(struct terminal *terminal, const char *trace, const char *kind,
		       unsigned short rows)
{
	struct winsize window = {.ws_row = rows, .ws_col = 100};
	char name[64];
	setenv("TERM", kind, 1);
	(void)orma_test_tmpdir(); /* created before the fork, for the child too */
	terminal->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(terminal->fd >= 0);
	CHECK_INT(grantpt(terminal->fd), 0);
	CHECK_INT(unlockpt(terminal->fd), 0);
	CHECK_INT(ptsname_r(terminal->fd, name, sizeof(name)), 0);
	CHECK_INT(ioctl(terminal->fd, TIOCSWINSZ, &window), 0);
	terminal->pid = fork();
	CHECK(terminal->pid >= 0);
	if (terminal->pid == 0)
		become_shell(name, trace);
}

static void start(struct terminal *terminal)
{
	write_file("t.pftrace", instant, sizeof(instant) - 1, 1);
	start_with(terminal, in_folder("t.pftrace"), "xterm", 24);
	CHECK(await(terminal, READY));
}

static void type(struct terminal *terminal, const char *keys)
{
	CHECK_INT(orma_base_fd_write_all(terminal->fd, keys, strlen(keys)), 0);
}

/* Types, and waits for what is shown then. */
static void see(struct terminal *terminal, const char *keys, const char *expected)
{
	type(terminal, keys);
	if (!await(terminal, expected))
		orma_test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", expected, terminal->text);
}

/* Types a query, and waits for its answer and for the next prompt: what is typed before that is not all the shell's. */
static void ask(struct terminal *terminal, const char *keys, const char *expected)
{
	see(terminal, keys, expected);
	if (!strstr(strstr(terminal->text, expected), READY))
		CHECK(await(terminal, READY));
}

static int end(struct terminal *terminal)
{
	int status;
	while (await(terminal, "\1"))
		;
	CHECK_INT(waitpid(terminal->pid, &status, 0), terminal->pid);
	close(terminal->fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ORMA_TEST(tab_completes_names)
{
	struct terminal terminal;
	start(&terminal);
	/* A keyword, a table, a column by the table's other name, and a column of that table. */
	ask(&terminal,
	    "selec\tts + 7000 from sli\t s where s.thread_instruction_c\tis null and paren\tis "
	    "null;\r",
	    "7100\r\n");
	ask(&terminal, "include perfetto module slices.wi\t;\r", "slices.with_context ;");
	ask(&terminal, ".sche\tthread_tra\t\r", "source_arg_set_id\r\n");
	/* Twice lists what there is. */
	see(&terminal, "select * from thread_s\t\t", "thread_state_track");
	ask(&terminal, "\x15select json_arr\t('a') as x;\r", "[\"a\"]\r\n");
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(keys_edit_the_text)
{
	struct terminal terminal;
	start(&terminal);
	/* "select 12345" by way of mistakes: in the middle, at the begin, at the end, by words. */
	ask(&terminal,
	    "elect 1245\x01s\x05\x1b[D\x1b[D\x1b[C\x1b[D3\x1b[D\x1b[D\x1b[C\x1b[C;\x7f\x05;\r",
	    "12345\r\n");
	ask(&terminal, "select 77 bad words\x17\x17;\r", "77\r\n");
	ask(&terminal, "\x19select 1 as \x1b[200~a,\n2 as b;\x1b[201~\r", "1  2\r\n");
	/* Characters of several bytes are one. */
	ask(&terminal, "select '\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82x\x1b[D\x7f\x7f\x05' as t;\r",
	    "\xc3\xa4x\r\n");
	/* Enter begins a line until a semicolon outside of strings and comments is there. */
	ask(&terminal, "select ';\r' || 4400 -- ;\r as y;\r", "4400\r\n");
	/* Ctrl-C drops the text. */
	ask(&terminal, "select 1 as stopped;\x03select 9900 as done;\r", "9900\r\n");
	CHECK(!strstr(terminal.text, "syntax"));
	see(&terminal, ".quit\r", "quit");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(the_history_outlives_the_shell)
{
	struct terminal terminal;
	struct stat info;
	start(&terminal);
	ask(&terminal, "select 1000 +\r1 as a;\r", "1001\r\n");
	ask(&terminal, "select 2000 + 2 as b;\r", "2002\r\n");
	ask(&terminal, " select 3000 + 3 as secret;\r", "3003\r\n");
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
	CHECK_INT(stat(in_folder("state/orma/sql_history"), &info), 0);
	CHECK_INT(info.st_mode & 0777, 0600);

	start(&terminal);
	see(&terminal, "\x1b[A", "select 2000 + 2 as b;");
	/* The entry before it has two lines: up goes to its first line, and down back again. */
	ask(&terminal, "\x1b[A\x1b[A\x1b[B\x1b[B\x1b[A\x05\r", "1001\r\n");
	ask(&terminal,
	    "\x12"
	    "2000\r",
	    "2002\r\n");
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(ctrl_c_stops_a_query_and_not_the_shell)
{
	struct terminal terminal;
	start(&terminal);
	see(&terminal,
	    "with recursive c(x) as (select 1 union all select x + 1 from c) select sum(x) from "
	    "c;\r",
	    "\x1b[?2004l");
	/* A key that comes before the query has no effect. */
	for (int tries = 0; !strstr(terminal.text, "stopped"); tries++) {
		CHECK(tries < 100);
		type(&terminal, "\3");
		collect(&terminal, 500);
	}
	ask(&terminal, "\x15select 5500 as again;\r", "5500\r\n");
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}

/* SQLite does not look at the question within one call of a function. */
ORMA_TEST(a_second_ctrl_c_ends_a_query_that_does_not_stop)
{
	static const char query[] =
		"select instr(zeroblob(16000000), cast(zeroblob(8000000) || 'a' as blob))";
	write_file("t.pftrace", instant, sizeof(instant) - 1, 1);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(ORMA_BUILD_DIR "/orma", "orma", "sql", in_folder("t.pftrace"), query,
		      (char *)NULL);
		_exit(125);
	}
	int status;
	for (int tries = 0; waitpid(pid, &status, WNOHANG) == 0; tries++) {
		CHECK(tries < 100);
		CHECK_INT(poll(NULL, 0, 300), 0);
		CHECK_INT(kill(pid, SIGINT), 0);
	}
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

ORMA_TEST(commands_of_the_shell)
{
	struct terminal terminal;
	start(&terminal);
	write_file("q.sql", "select 6600 as n; select 6601 as n", 34, 1);
	ask(&terminal, ".help\r", "Ctrl-C stops a query.\r\n");
	ask(&terminal, ".tables thread_t\r", "thread_track\r\n");
	ask(&terminal, ".functions extract_a\r", "extract_arg\r\n");
	ask(&terminal, ".modules slices.f\r", "slices.flow\r\n");
	ask(&terminal, ".schema nothing\r", "there is no table nothing");
	ask(&terminal, ".mode csv\rselect 'x' as a;\r", "\"x\"\r\n");
	ask(&terminal, ".mode loud\r", "\"loud\" is not one of: table, csv, json, markdown");
	ask(&terminal, ".timer on\rselect 1 as a;\r", " ms\r\n");
	ask(&terminal, ".timer off\r.mode\r", ".mode needs MODE");
	ask(&terminal, ".nothing\r", "there is no command .nothing; .help lists them");
	char command[300];
	snprintf(command, sizeof(command), ".read %s\r", in_folder("q.sql"));
	ask(&terminal, command, "6600\r\n\r\n\"n\"\r\n6601\r\n");
	snprintf(command, sizeof(command), ".dump %s\r", in_folder("dump.db"));
	ask(&terminal, command, "2004l");
	CHECK_INT(access(in_folder("dump.db"), F_OK), 0);
	snprintf(command, sizeof(command), ".output %s\r", in_folder("out.csv"));
	ask(&terminal, command, "2004l");
	ask(&terminal, "select 8800 as into_file;\r", "2004l");
	ask(&terminal, ".output\r", "2004l");
	ask(&terminal, "select 8801 as a;\r", "8801\r\n");
	struct orma_buf written = {0};
	CHECK_INT(orma_base_file_read(AT_FDCWD, in_folder("out.csv"), 4096, &written), 0);
	CHECK_STR(orma_base_buf_cstr(&written), "\"into_file\"\n8800\n");
	orma_base_buf_done(&written);
	type(&terminal, ".q\r");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(long_output_goes_to_the_pager)
{
	static const char program[] = "#!/bin/sh\nwc -l | sed 's/^/paged: /'\n";
	struct terminal terminal;
	write_file("pager", program, sizeof(program) - 1, 1);
	setenv("PAGER", in_folder("pager"), 1);
	start(&terminal);
	ask(&terminal, "values (1), (2), (5);\r", "5\r\n");
	static const char many[] = "with recursive c(x) as (select 1 union all select x + 1 from c "
				   "limit 3000) select x from c;\r";
	ask(&terminal, many, "paged: 3002\r\n");
	ask(&terminal, ".pager off\r", READY);
	ask(&terminal, many, "3000\r\n");
	CHECK(!strstr(terminal.text, "paged"));
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(a_pager_that_the_user_leaves_ends_the_output)
{
	struct terminal terminal;
	setenv("PAGER", "head -n 1", 1);
	start(&terminal);
	ask(&terminal,
	    "with recursive c(x) as (select 1 union all select x + 1 from c) select x as zz from "
	    "c;\r",
	    "zz\r\n");
	ask(&terminal, "select 4242 as n;\r", "4242\r\n");
	CHECK(!strstr(terminal.text, "orma sql:"));
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(a_terminal_without_cursor_reads_lines)
{
	struct terminal terminal;
	write_file("t.pftrace", instant, sizeof(instant) - 1, 1);
	start_with(&terminal, in_folder("t.pftrace"), "dumb", 24);
	CHECK(await(&terminal, READY));
	CHECK(!strstr(terminal.text, "\x1b"));
	see(&terminal, "select 1 +\n", "  ... ");
	ask(&terminal, "2000 as n;\n", "2001\r\n");
	ask(&terminal, ".mode json\nselect 3 as n;\n", "{\"n\":3}");
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}

ORMA_TEST(a_signal_that_ends_the_shell_restores_the_terminal)
{
	struct terminal terminal;
	struct termios mode;
	start(&terminal);
	CHECK_INT(tcgetattr(terminal.fd, &mode), 0);
	CHECK(!(mode.c_lflag & ICANON));
	/* The prompt may come before the shell waits for keys. */
	CHECK_INT(kill(terminal.pid, SIGTERM), 0);
	int status;
	CHECK_INT(waitpid(terminal.pid, &status, 0), terminal.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK_INT(tcgetattr(terminal.fd, &mode), 0);
	CHECK(mode.c_lflag & ICANON && mode.c_lflag & ECHO);
	close(terminal.fd);
}

ORMA_TEST(the_loading_of_a_large_trace_is_shown)
{
	struct terminal terminal;
	write_file("large.pftrace", instant, sizeof(instant) - 1, 1500000);
	start_with(&terminal, in_folder("large.pftrace"), "xterm", 24);
	CHECK(await(&terminal, "Loading the trace: "));
	CHECK(await(&terminal, " %"));
	CHECK(await(&terminal, "\r\x1b[K"));
	ask(&terminal, "select 7 * 7 as n;\r", "49\r\n");
	type(&terminal, "\4");
	CHECK_INT(end(&terminal), 0);
}
