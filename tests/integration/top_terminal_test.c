/* SPDX-License-Identifier: Apache-2.0
 * top_terminal_test.c - `orma top` on a terminal: it fills the window, follows its size, its keys and the environment, stops and goes
 * on, saves a trace, and gives the terminal back whatever ends it.
 */
#include <fcntl.h>
#include <orma/orma.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "harness.h"

ORMA_CATEGORY_DEFINE(work, "work", NULL);

#define LEFT      "\x1b[?1049l"
#define END_FRAME "\x1b[?2026l"
#define GREEN     "\x1b[32m"

enum { PATIENCE_MS = 10000 };

struct terminal {
	const char *variable; /* "NAME=value" that the program has besides, or NULL */
	pid_t pid;
	int fd, other_fd; /* ours, and the program's end, which keeps the mode */
	struct termios usual;
	char text[1 << 18]; /* printed since the last await() */
	size_t size;
};

static void use_own_sockets(void)
{
	char producers[128], consumers[128];
	snprintf(producers, sizeof(producers), "%s/p", orma_test_tmpdir());
	snprintf(consumers, sizeof(consumers), "%s/c", orma_test_tmpdir());
	setenv("PERFETTO_PRODUCER_SOCK_NAME", producers, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", consumers, 1);
}

static _Noreturn void become_top(const char *name, const char *variable)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_own_sockets();
	setenv("TMPDIR", orma_test_tmpdir(), 1);
	setenv("TERM", "xterm", 1);
	unsetenv("DISPLAY");
	unsetenv("WAYLAND_DISPLAY");
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("NO_COLOR");
	if (variable)
		putenv((char *)variable);
	setsid();
	int fd = open(name, O_RDWR | O_CLOEXEC);
	if (chdir(orma_test_tmpdir()) < 0 || fd < 0 || ioctl(fd, TIOCSCTTY, 0) || dup2(fd, 0) < 0 ||
	    dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		_exit(125);
	execl(ORMA_BUILD_DIR "/orma", "orma", "top", "-d", "200ms", (char *)NULL);
	_exit(125);
}

static void resize(const struct terminal *terminal, unsigned short columns, unsigned short lines)
{
	struct winsize size = {.ws_col = columns, .ws_row = lines};
	CHECK_INT(ioctl(terminal->fd, TIOCSWINSZ, &size), 0);
}

static void start(struct terminal *terminal)
{
	char name[64];
	terminal->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(terminal->fd >= 0);
	CHECK(grantpt(terminal->fd) == 0 && unlockpt(terminal->fd) == 0);
	CHECK_INT(ptsname_r(terminal->fd, name, sizeof(name)), 0);
	terminal->other_fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(terminal->other_fd >= 0);
	CHECK_INT(tcgetattr(terminal->other_fd, &terminal->usual), 0);
	resize(terminal, 90, 12);
	(void)orma_test_tmpdir(); /* The child shall not make one of its own. */
	terminal->pid = fork();
	if (terminal->pid == 0)
		become_top(name, terminal->variable);
	CHECK(terminal->pid > 0);
}

/* Starts a program that emits slices of two names. */
static pid_t start_program(void)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_own_sockets();
	orma_init(NULL);
	for (;;) {
		ORMA_SCOPE(work, "bake bread");
		ORMA_SCOPE(work, "eat");
		usleep(1000);
	}
}

static void stop_program(pid_t pid)
{
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

static void await(struct terminal *terminal, const char *text)
{
	terminal->size = 0;
	for (;;) {
		struct pollfd input = {.fd = terminal->fd, .events = POLLIN};
		if (poll(&input, 1, PATIENCE_MS) == 0)
			orma_test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", text,
				       terminal->text);
		CHECK(terminal->size < sizeof(terminal->text) - 1);
		ssize_t got = read(terminal->fd, terminal->text + terminal->size,
				   sizeof(terminal->text) - 1 - terminal->size);
		CHECK(got > 0);
		terminal->size += (size_t)got;
		terminal->text[terminal->size] = '\0';
		if (strstr(terminal->text, text))
			return;
	}
}

static void press(const struct terminal *terminal, const char *keys)
{
	CHECK_INT(write(terminal->fd, keys, strlen(keys)), (long long)strlen(keys));
}

static bool is_mode_usual(const struct terminal *terminal)
{
	struct termios mode;
	CHECK_INT(tcgetattr(terminal->other_fd, &mode), 0);
	return mode.c_lflag == terminal->usual.c_lflag && mode.c_iflag == terminal->usual.c_iflag;
}

/* Waits for the end: exit status, or 128 + signal. */
static int finish(struct terminal *terminal)
{
	int status;
	CHECK_INT(waitpid(terminal->pid, &status, 0), terminal->pid);
	CHECK(is_mode_usual(terminal));
	close(terminal->fd);
	close(terminal->other_fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

ORMA_TEST(the_terminal_is_taken_and_given_back)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "own service");
	CHECK(!is_mode_usual(&terminal));
	press(&terminal, "q");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
}

ORMA_TEST(the_probes_of_its_own_service_are_no_program)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "0:00:02");
	await(&terminal, "No program is connected.");
	CHECK(strstr(terminal.text, " 0 producers"));
	press(&terminal, "q");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
}

ORMA_TEST(sigterm_gives_the_terminal_back)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "own service");
	CHECK_INT(kill(terminal.pid, SIGTERM), 0);
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
}

ORMA_TEST(a_crash_gives_the_terminal_back)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "own service");
	CHECK_INT(kill(terminal.pid, SIGABRT), 0);
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 128 + SIGABRT);
}

ORMA_TEST(a_new_size_of_the_window_is_followed)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "Histogram");
	resize(&terminal, 20, 12);
	await(&terminal, "\x1b[2J");
	await(&terminal, "\x1b[?2026l");
	await(&terminal, "\x1b[?2026l");
	CHECK(!strstr(terminal.text, "Histogram"));
	resize(&terminal, 200, 50);
	await(&terminal, "Quit");
	press(&terminal, "q");
	CHECK_INT(finish(&terminal), 0);
}

static void stop_and_go_on(struct terminal *terminal)
{
	int status;
	await(terminal, LEFT);
	CHECK_INT(waitpid(terminal->pid, &status, WUNTRACED), terminal->pid);
	CHECK(WIFSTOPPED(status));
	CHECK(is_mode_usual(terminal));
	CHECK_INT(kill(terminal->pid, SIGCONT), 0);
	await(terminal, "\x1b[?1049h");
	await(terminal, "own service");
	CHECK(!is_mode_usual(terminal));
}

ORMA_TEST(it_stops_and_goes_on)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "own service");
	press(&terminal, "\x1a");
	stop_and_go_on(&terminal);
	CHECK_INT(kill(terminal.pid, SIGTSTP), 0);
	stop_and_go_on(&terminal);
	press(&terminal, "\x03");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
}

ORMA_TEST(a_pause_draws_nothing)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "own service");
	press(&terminal, " ");
	await(&terminal, "PAUSED");
	/* The round that was on its way may end with one more frame. */
	struct pollfd input = {.fd = terminal.fd, .events = POLLIN};
	int frames = 0;
	while (poll(&input, 1, 1000) > 0 && frames < 20) {
		CHECK(read(terminal.fd, terminal.text, sizeof(terminal.text)) > 0);
		frames++;
	}
	CHECK(frames < 5);
	press(&terminal, " ");
	await(&terminal, "own service");
	await(&terminal, "own service");
	press(&terminal, "q");
	CHECK_INT(finish(&terminal), 0);
}

ORMA_TEST(the_last_seconds_are_saved)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "0:00:01");
	press(&terminal, "s");
	await(&terminal, "saved ");
	char *name = strstr(terminal.text, "orma-top-");
	CHECK(name && strstr(name, ".pftrace"));
	*(strstr(name, ".pftrace") + 8) = '\0';
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), name);
	CHECK_INT(access(path, R_OK), 0);
	press(&terminal, "bbb");
	await(&terminal, "by cpu");
	await(&terminal, "No scheduling events");
	press(&terminal, "zq");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
}

ORMA_TEST(a_key_shows_the_last_seconds_in_a_page_until_the_end)
{
	static struct terminal terminal;
	start(&terminal);
	await(&terminal, "0:00:01");
	press(&terminal, "o");
	await(&terminal, "look at it");
	/* The table goes on. */
	await(&terminal, "0:00:03");
	press(&terminal, "Z");
	await(&terminal, "PAUSED");
	press(&terminal, "q");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
}

/* Waits for a frame that has both names and is whole. */
static void await_rows(struct terminal *terminal)
{
	do {
		await(terminal, END_FRAME);
	} while (!strstr(terminal->text, "bake bread") || !strstr(terminal->text, "eat"));
}

static bool is_ascii(const char *text)
{
	while (*text && (*text & 0x80) == 0)
		text++;
	return *text == '\0';
}

/* The frame with rows, as the program draws it with this variable. */
static void draw_rows(struct terminal *terminal, const char *variable)
{
	terminal->variable = variable;
	start(terminal);
	resize(terminal, 120, 12);
	pid_t program = start_program();
	await_rows(terminal);
	char *frame = strdup(terminal->text);
	press(terminal, "q");
	await(terminal, LEFT);
	CHECK_INT(finish(terminal), 0);
	stop_program(program);
	strcpy(terminal->text, frame);
	free(frame);
}

ORMA_TEST(rows_have_colours_and_blocks_unless_the_environment_says_otherwise)
{
	static struct terminal terminal;
	draw_rows(&terminal, NULL);
	CHECK(strstr(terminal.text, GREEN));
	CHECK(!is_ascii(terminal.text));
	draw_rows(&terminal, "NO_COLOR=1");
	CHECK(!strstr(terminal.text, GREEN));
	CHECK(!is_ascii(terminal.text));
	draw_rows(&terminal, "NO_COLOR=");
	CHECK(strstr(terminal.text, GREEN));
	draw_rows(&terminal, "LC_ALL=C");
	CHECK(strstr(terminal.text, GREEN));
	CHECK(is_ascii(terminal.text));
}

ORMA_TEST(a_dumb_terminal_gets_lines)
{
	static struct terminal terminal = {.variable = "TERM=dumb"};
	start(&terminal);
	pid_t program = start_program();
	await(&terminal, "bake bread\r\n");
	CHECK(!strchr(terminal.text, '\x1b'));
	CHECK(is_ascii(terminal.text));
	CHECK(is_mode_usual(&terminal));
	press(&terminal, "\x03");
	CHECK_INT(finish(&terminal), 0);
	stop_program(program);
}

/* Runs a command, and reads the last line that it prints. */
static void read_command(const char *command, char *ret, int size)
{
	FILE *file = popen(command, "r");
	CHECK(file);
	ret[0] = '\0';
	while (fgets(ret, size, file))
		;
	CHECK_INT(pclose(file), 0);
}

/* Asks the trace for the names of its slices. Without SQLite there is no `orma sql`, and its packets are printed. */
static void read_saved_names(char *ret, int size)
{
	char command[512], version[128];
	read_command(ORMA_BUILD_DIR "/orma --version", version, sizeof(version));
	bool has_sql = strstr(version, "+sqlite") != NULL;
	snprintf(command, sizeof(command), "%s/orma %s %s/orma-top-*.pftrace %s", ORMA_BUILD_DIR,
		 has_sql ? "sql --csv" : "dump", orma_test_tmpdir(),
		 has_sql ? "\"select distinct name from slice order by name\" | tail -n 2 | xargs"
			 : "| grep -o -e 'bake bread' -e eat | sort -u | xargs");
	read_command(command, ret, size);
}

ORMA_TEST(what_is_saved_is_a_trace)
{
	static struct terminal terminal;
	char names[128];
	start(&terminal);
	pid_t program = start_program();
	await_rows(&terminal);
	press(&terminal, "s");
	await(&terminal, "saved ");
	await(&terminal, END_FRAME);
	press(&terminal, "q");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
	stop_program(program);
	read_saved_names(names, sizeof(names));
	CHECK_STR(names, "bake bread eat\n");
}

ORMA_TEST(the_function_keys_search_filter_and_sort)
{
	static struct terminal terminal;
	start(&terminal);
	pid_t program = start_program();
	await_rows(&terminal);
	/* F3 as xterm sends it, and as terminals with numbers do. */
	press(&terminal, "\x1bORnone\rn");
	await(&terminal, "no row has a name with \"none\"");
	press(&terminal, "\x1b[13~bread\r\r");
	await(&terminal, "bake bread: how often");
	press(&terminal, "\r\x1bOReat\r\r");
	await(&terminal, "eat: how often");
	press(&terminal, "\r\x1bOSBREAD\r");
	await(&terminal, "filter: \x1b[1mBREAD");
	await(&terminal, END_FRAME);
	await(&terminal, END_FRAME);
	CHECK(strstr(terminal.text, "bake bread") && !strstr(terminal.text, "eat"));
	press(&terminal, "\x1b[17~");
	await(&terminal, "vAVG");
	press(&terminal, "\x1b[21~");
	await(&terminal, LEFT);
	CHECK_INT(finish(&terminal), 0);
	stop_program(program);
}
