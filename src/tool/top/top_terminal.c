/* SPDX-License-Identifier: Apache-2.0
 * top_terminal.c - whatever ends the program, the terminal is as it was before.
 *
 * There is one terminal, and handlers of signals need its old mode, so that is static. It is given back by the caller, by
 * exit(), and by the handlers of the signals of failed assertions and crashes, which then die of the same signal. Signals that
 * ask for the end are read by the loop (top_run.c), which leaves in order. Only functions that are safe in signal
 * handlers are used to give it back.
 *
 * Rejected: terminfo and curses, for sequences that every terminal has understood for decades (line_keys.c).
 */
#include "tool/top/top_terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

#define ENTER "\x1b[?1049h\x1b[?25l\x1b[2J"
#define LEAVE "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l"

enum { USUAL_COLUMNS = 80, USUAL_LINES = 24, COLUMNS_MAX = 1000, LINES_MAX = 500 };

static const int fatal_signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct termios usual_mode;
static volatile sig_atomic_t is_taken;

bool orma_top_terminal_works(void)
{
	const char *kind = getenv("TERM");
	return kind && strcmp(kind, "dumb") != 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void orma_top_terminal_leave(void)
{
	int error = errno;
	if (is_taken) {
		is_taken = 0;
		(void)!write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &usual_mode);
	}
	errno = error;
}

static void leave_and_die(int signal_number)
{
	orma_top_terminal_leave();
	sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal_number);
}

/* The first of these variables that is set says it. */
static bool is_utf8_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);
		const char *charset = value ? strchr(value, '.') : NULL;
		if (value && value[0])
			return charset && (strncasecmp(charset, ".utf-8", 6) == 0 ||
					   strncasecmp(charset, ".utf8", 5) == 0);
	}
	return false;
}

static int take(void)
{
	struct termios mode = usual_mode;
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	mode.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	is_taken = 1;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &mode) < 0) {
		int error = errno;
		orma_top_terminal_leave();
		return -error;
	}
	return orma_base_fd_write_all(STDOUT_FILENO, ENTER, sizeof(ENTER) - 1);
}

int orma_top_terminal_enter(struct orma_top_terminal *terminal)
{
	const char *no_colour = getenv("NO_COLOR");
	if (tcgetattr(STDIN_FILENO, &usual_mode) < 0)
		return -errno;
	terminal->is_utf8 = is_utf8_locale();
	terminal->has_colour = !no_colour || !no_colour[0];
	orma_top_terminal_measure(terminal);
	if (atexit(orma_top_terminal_leave) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fatal_signals); i++)
		sigaction(fatal_signals[i], &(struct sigaction){.sa_handler = leave_and_die}, NULL);
	return take();
}

int orma_top_terminal_suspend(struct orma_top_terminal *terminal)
{
	orma_top_terminal_leave();
	/* SIGTSTP is blocked in all threads, and would be read by the loop again. */
	raise(SIGSTOP);
	/* The shell may have changed the mode. */
	if (tcgetattr(STDIN_FILENO, &usual_mode) < 0)
		return -errno;
	orma_top_terminal_measure(terminal);
	return take();
}

void orma_top_terminal_measure(struct orma_top_terminal *terminal)
{
	struct winsize window;
	terminal->columns = USUAL_COLUMNS;
	terminal->lines = USUAL_LINES;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 || window.ws_col == 0 ||
	    window.ws_row == 0)
		return;
	terminal->columns = ORMA_MIN((unsigned)window.ws_col, (unsigned)COLUMNS_MAX);
	terminal->lines = ORMA_MIN((unsigned)window.ws_row, (unsigned)LINES_MAX);
}

int orma_top_terminal_show(const void *frame, size_t size)
{
	return orma_base_fd_write_all(STDOUT_FILENO, frame, size);
}
