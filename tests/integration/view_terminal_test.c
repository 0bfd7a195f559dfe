/* SPDX-License-Identifier: Apache-2.0
 * view_terminal_test.c - `orma view` on a terminal: it opens a browser where there is a desktop, and makes a new address upon
 * Enter.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

enum { PATIENCE_MS = 10000, URL_BYTES = 128 };

struct terminal {
	pid_t pid;
	int fd;
	char text[1 << 14]; /* all that was printed */
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

static void write_file(const char *name, const char *data)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, data, strlen(data)), 0);
	close(fd);
}

/* Writes a program that notes what it was called with. */
static void write_browser(const char *name)
{
	char text[512];
	(void)unlink(in_folder("opened"));
	snprintf(text, sizeof(text), "#!/bin/sh\necho \"$0 $#\" \"$@\" >%s/part\nmv %s/part %s\n",
		 orma_test_tmpdir(), orma_test_tmpdir(), in_folder("opened"));
	write_file(name, text);
}

static _Noreturn void become_view(const char *name)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	int fd = open(name, O_RDWR | O_CLOEXEC);
	if (chdir(orma_test_tmpdir()) < 0 || fd < 0 || ioctl(fd, TIOCSCTTY, 0) || dup2(fd, 0) < 0 ||
	    dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		_exit(125);
	execl(ORMA_BUILD_DIR "/orma", "orma", "view", "t.json", (char *)NULL);
	_exit(125);
}

static void start(struct terminal *terminal)
{
	char name[64];
	setenv("PATH", orma_test_tmpdir(), 1);
	write_file("t.json", "{\"traceEvents\":[]}");
	terminal->size = 0;
	terminal->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(terminal->fd >= 0);
	CHECK(grantpt(terminal->fd) == 0 && unlockpt(terminal->fd) == 0);
	CHECK_INT(ptsname_r(terminal->fd, name, sizeof(name)), 0);
	terminal->pid = fork();
	if (terminal->pid == 0)
		become_view(name);
	CHECK(terminal->pid > 0);
}

/* Waits for a line that begins so, behind the first `from` bytes of all that was printed. */
static void await_line(struct terminal *terminal, const char *begin, size_t from,
		       char ret[URL_BYTES])
{
	for (;;) {
		terminal->text[terminal->size] = '\0';
		const char *found = strstr(terminal->text + from, begin);
		if (found && strchr(found, '\r')) {
			snprintf(ret, URL_BYTES, "%.*s", (int)strcspn(found, "\r"), found);
			return;
		}
		struct pollfd input = {.fd = terminal->fd, .events = POLLIN};
		if (poll(&input, 1, PATIENCE_MS) == 0)
			orma_test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", begin,
				       terminal->text);
		ssize_t got = read(terminal->fd, terminal->text + terminal->size,
				   sizeof(terminal->text) - 1 - terminal->size);
		CHECK(got > 0);
		terminal->size += (size_t)got;
	}
}

/* Ends it as Ctrl-C does. */
static void finish(struct terminal *terminal)
{
	int status;
	CHECK_INT(write(terminal->fd, "\x03", 1), 1);
	CHECK_INT(waitpid(terminal->pid, &status, 0), terminal->pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* A browser is no child of the command, and becomes one of the harness. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	close(terminal->fd);
}

/* Waits for the browser, which the command does not wait for. */
static void check_opened(const char *program, const char *url)
{
	char expected[512], text[512] = {0};
	struct timespec pause = {.tv_nsec = 10000000};
	int fd = -1;
	for (int i = 0; i < PATIENCE_MS / 10 && fd < 0; i++) {
		fd = open(in_folder("opened"), O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			nanosleep(&pause, NULL);
	}
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	snprintf(expected, sizeof(expected), "%s/%s 1 %s\n", orma_test_tmpdir(), program, url);
	CHECK_STR(text, expected);
}

static void set_desktop(const char *display, const char *ssh, const char *browser)
{
	unsetenv("WAYLAND_DISPLAY");
	setenv("DISPLAY", display, 1);
	setenv("SSH_CONNECTION", ssh, 1);
	setenv("BROWSER", browser, 1);
}

/* Runs the command until it has told its hints, by which time a browser is about to be opened. Returns the address. */
static void visit(struct terminal *terminal, char ret_url[URL_BYTES])
{
	char hint[URL_BYTES];
	start(terminal);
	await_line(terminal, "http://127.0.0.1:", 0, ret_url);
	await_line(terminal, "The address can be used once", 0, hint);
}

ORMA_TEST(a_browser_is_opened_where_there_is_a_desktop)
{
	static struct terminal terminal;
	char url[URL_BYTES];
	/* The shell of the program below has no commands but its own and `mv`. */
	CHECK_INT(symlink("/bin/mv", in_folder("mv")), 0);
	set_desktop(":0", "", "");
	write_browser("xdg-open");
	visit(&terminal, url);
	check_opened("xdg-open", url);
	finish(&terminal);
	/* The first of a list. */
	set_desktop(":0", "", "chosen:xdg-open");
	write_browser("chosen");
	visit(&terminal, url);
	check_opened("chosen", url);
	finish(&terminal);
}

ORMA_TEST(no_browser_is_opened_without_a_desktop_or_over_ssh)
{
	static struct terminal terminal;
	char url[URL_BYTES];
	write_browser("xdg-open");
	set_desktop("", "", "");
	visit(&terminal, url);
	finish(&terminal);
	set_desktop(":0", "192.0.2.1 5000 192.0.2.2 22", "");
	visit(&terminal, url);
	finish(&terminal);
	CHECK(strstr(terminal.text, "ssh -L "));
	/* A browser that cannot be started ends nothing. */
	set_desktop(":0", "", "nowhere");
	visit(&terminal, url);
	finish(&terminal);
	CHECK(access(in_folder("opened"), F_OK) < 0);
}

ORMA_TEST(enter_makes_a_new_address)
{
	static struct terminal terminal;
	char first[URL_BYTES], second[URL_BYTES];
	set_desktop("", "", "");
	visit(&terminal, first);
	size_t seen = terminal.size;
	CHECK_INT(write(terminal.fd, "\n", 1), 1);
	await_line(&terminal, "http://127.0.0.1:", seen, second);
	/* The same page, and another ticket. */
	size_t ticket = (size_t)(strstr(first, "#k=") - first);
	CHECK_INT(memcmp(first, second, ticket), 0);
	CHECK_INT(strlen(first), strlen(second));
	CHECK(strcmp(first, second) != 0);
	finish(&terminal);
}
